package main

import (
	"fmt"

	"github.com/slidegate/slidegate/rule/rulefile/schema"
	"github.com/spf13/cobra"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the rule file",
		Long: `Schema prints the JSON Schema of the rule file, with which editors complete
rules and mark what is wrong while they are written. A schema does not see all
that check sees.`,
		Example: `  slidegate schema > slidegate.schema.json`,
		Args:    cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprint(cmd.OutOrStdout(), schema.Text())
		},
	}
}
