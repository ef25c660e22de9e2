package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// addHelp gives root the commands that cobra brings, help and completion, made so
// that a word which is none of theirs is an error.
func addHelp(root *cobra.Command) {
	root.SetHelpCommand(newHelp())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Use, cmd.DisableFlagsInUseLine = "completion SHELL", true
			cmd.Args = noCommand
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:                   "help [COMMAND]",
		Short:                 "Say all about a command",
		Long:                  "Help says all about a command; without one, which there are.",
		Example:               "  slidegate help check",
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     subcommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if err := noCommand(about, rest); err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			return about.Help()
		},
	}
}

// subcommands offers the commands below the one that args name.
func subcommands(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	above, _, err := cmd.Root().Find(args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, c := range above.Commands() {
		if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), begun) {
			names = append(names, c.Name()+"\t"+c.Short)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// noCommand refuses arguments where a command is wanted.
func noCommand(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !cmd.HasSubCommands():
		return fmt.Errorf("%s has no command %q", cmd.Name(), args[0])
	}
	what := "command"
	if cmd.Name() == "completion" {
		what = "shell"
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	hint := meant("", args[0], names)
	if hint == "" {
		hint = "; there are " + strings.Join(names, ", ")
	}
	return fmt.Errorf("unknown %s %q%s", what, args[0], hint)
}
