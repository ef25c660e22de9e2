package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/slidegate/slidegate/gate/gatetest"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/rule/rulefile"
	"github.com/spf13/cobra"
)

func newCheck() *cobra.Command {
	var test, against string
	var rewrite bool
	cmd := &cobra.Command{
		Use:   "check [FILE…] [--against OLD] [--test DIR [--rewrite]]",
		Short: "Check rule files, and run their test scripts",
		Long: `Check reads rule files and prints everything that is wrong with them, each with
file, line and column, and how to write it. With --test it runs the scripts
(*.gate) of a directory. With --against it names every limit whose history a
reload from the old file would forget.`,
		Example: `  slidegate check rules.yaml
  slidegate check rules.yaml --test tests/
  slidegate check new.yaml --against rules.yaml`,
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) == 0 && test == "" {
				return errors.New("check needs a rule file, or --test DIR")
			}
			if against != "" && len(files) != 1 {
				return errors.New("--against compares with exactly one rule file")
			}
			if rewrite && test == "" {
				return errors.New("--rewrite goes with --test DIR")
			}
			c := checker{out: cmd.OutOrStdout(), err: cmd.ErrOrStderr()}
			c.files(files, against)
			if test != "" {
				c.scripts(test, rewrite)
			}
			if c.failed {
				return &failure{}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&test, "test", "", "run the test scripts of this directory")
	cmd.Flags().BoolVar(&rewrite, "rewrite", false, "with --test: write what came back into the scripts")
	cmd.Flags().StringVar(&against, "against", "", "name the limits whose history a reload from this file forgets")
	return cmd
}

type checker struct {
	out, err io.Writer
	failed   bool
}

func (c *checker) fail(err error) {
	fmt.Fprintln(c.err, message(err))
	c.failed = true
}

func (c *checker) files(files []string, against string) {
	for _, name := range files {
		f, err := rulefile.Load(name)
		if err != nil {
			c.fail(err)
			continue
		}
		printWarnings(c.err, f)
		fmt.Fprintf(c.out, "%s: ok: %s, %s\n", name, plural(len(f.Plan.Rules()), "rule"), plural(f.Plan.Limits(), "limit"))
		if against != "" {
			c.compare(name, f.Plan, against)
		}
	}
}

func (c *checker) compare(name string, plan *rule.Plan, against string) {
	old, err := rulefile.Load(against)
	if err != nil {
		c.fail(err)
		return
	}
	lost := rule.Forgets(old.Plan, plan)
	if len(lost) == 0 {
		fmt.Fprintf(c.out, "%s: a reload from %s keeps the history of every limit\n", name, against)
	}
	for _, l := range lost {
		fmt.Fprintf(c.out, "%s: a reload from %s forgets rule %s: %q: %s\n", name, against, l.Rule, l.Limit, l.Why)
	}
}

func (c *checker) scripts(dir string, rewrite bool) {
	r, err := gatetest.Dir(dir, gatetest.Options{Load: loadPlan, Rewrite: rewrite})
	if err != nil {
		c.fail(err)
		return
	}
	if rewrite {
		fmt.Fprintf(c.out, "%s: rewrote %s\n", dir, plural(r.Rewritten, "line"))
	}
	for _, f := range r.Failures {
		fmt.Fprintln(c.err, f)
		c.failed = true
	}
	fmt.Fprintf(c.out, "%s: %s, %s, %s\n", dir, plural(r.Scripts, "script"), plural(r.Lines, "expectation"), plural(len(r.Failures), "failure"))
}

func loadPlan(path string) (*rule.Plan, error) {
	f, err := rulefile.Load(path)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(message(err), "slidegate: ")) // it stands behind the line of a script
	}
	return f.Plan, nil
}
