package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/gate/gatetest"
	"github.com/spf13/cobra"
)

func newExplain() *cobra.Command {
	var rules, event string
	cmd := &cobra.Command{
		Use:   "explain [--rules FILE] --event 'NAME name=value …'",
		Short: "Say which rules an event meets, and why",
		Long: `Explain says for every rule whether it applies to an event and why, which key
was built, and how its windows stand before anything was counted. It records
nothing.`,
		Example: `  slidegate explain --event 'sms.send phone=13800000000 ip=192.0.2.9'
  slidegate explain --rules rules.yaml --event 'http path=/login ip=192.0.2.9 cost=2'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if event == "" {
				return errors.New("explain needs --event 'NAME name=value …'")
			}
			words, err := gatetest.SplitWords(event)
			if err != nil {
				return fmt.Errorf("--event: %w", err)
			}
			ev, err := gatetest.ParseEvent(words)
			if err != nil {
				return fmt.Errorf("--event: %w", err)
			}
			f, err := loadRules(rules, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			g, err := gate.New(f.Plan, gate.Options{})
			if err != nil {
				return fail(err)
			}
			defer g.Close()
			return fail(explain(cmd.Context(), g, ev, cmd.OutOrStdout()))
		},
	}
	cmd.Flags().StringVar(&rules, "rules", "", "rule file (default: the starter rules)")
	cmd.Flags().StringVar(&event, "event", "", "the event, as in test scripts")
	return cmd
}

func explain(ctx context.Context, g *gate.Gate, ev slidegate.Event, out io.Writer) error {
	x, err := g.Explain(ctx, ev)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s would be: %s\n\n", printable(ev.Name), verdict(&x.Decision))
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"rule", "applies", "why", "key", "limit", "used", "max"})
	for _, r := range x.Rules {
		applies := "no"
		if r.Applies {
			applies = "yes"
		}
		row := table.Row{r.Rule, applies, r.Why, keyText(r), "", "", ""}
		if len(r.Windows) == 0 {
			t.AppendRow(row)
		}
		for _, w := range r.Windows {
			row[4], row[5], row[6] = w.Limit, slidegate.FormatUnits(w.Used, w.Scale), slidegate.FormatUnits(w.Max, w.Scale)
			t.AppendRow(row)
			row = table.Row{"", "", "", "", "", "", ""}
		}
	}
	fmt.Fprintln(out, t.Render())
	return nil
}

func verdict(d *slidegate.Decision) string {
	text := d.Action.String()
	if d.Rule != "" {
		text += " by " + d.Rule
	}
	if d.Reason != "" {
		text += " (" + d.Reason + ")"
	}
	switch {
	case d.Never:
		text += ", never passes"
	case d.RetryAfter > 0:
		text += ", passes in " + d.RetryAfter.String()
	}
	return text
}

func keyText(r gate.RuleExplanation) string {
	if r.Applies && len(r.Key) == 0 {
		return "(one window for all)"
	}
	var parts []string
	for _, a := range r.Key {
		parts = append(parts, a.Name+"="+printable(a.Value.String()))
	}
	return strings.Join(parts, " ")
}
