package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/gate/gatetest"
	"github.com/slidegate/slidegate/rule"
	"github.com/spf13/cobra"
)

func newExplain() *cobra.Command {
	var rules, event string
	cmd := &cobra.Command{
		Use:   "explain [--rules FILE] --event 'NAME name=value …'",
		Short: "Say which rules an event meets, and why",
		Long: `Explain says for every rule whether it applies to an event and why, which key
was built, and what its limits would say. Its windows are empty: it explains the
rules of a file, and does not ask a running server. It records nothing.`,
		Example: `  slidegate explain --event 'sms.send phone=13800000000 ip=192.0.2.9'
  slidegate explain --rules rules.yaml --event 'http path=/login ip=192.0.2.9 cost=2'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 && event == "" {
				return fmt.Errorf("explain takes the event as a flag: write --event '%s'", strings.Join(args, " "))
			}
			if len(args) > 0 {
				return fmt.Errorf("unexpected %q: put all of the event in quotes, as in --event 'NAME name=value …'", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if event == "" {
				return errors.New("explain needs --event 'NAME name=value …'")
			}
			ev, err := readEvent(event)
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
			return fail(explain(cmd.Context(), g, f.Plan, ev, cmd.OutOrStdout()))
		},
	}
	cmd.Flags().StringVar(&rules, "rules", "", "rule file (default: the starter rules)")
	cmd.Flags().StringVar(&event, "event", "", "the event, as in test scripts")
	return cmd
}

// readEvent reads an event as test scripts write it.
func readEvent(text string) (slidegate.Event, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return slidegate.Event{}, errors.New("an event is not written in JSON here, but as a name and attributes: --event 'sms.send phone=13800000000 ip=192.0.2.9'")
	}
	words, err := gatetest.SplitWords(text)
	if err != nil {
		return slidegate.Event{}, err
	}
	return gatetest.ParseEvent(words)
}

func explain(ctx context.Context, g *gate.Gate, plan *rule.Plan, ev slidegate.Event, out io.Writer) error {
	x, err := g.Explain(ctx, ev)
	if err != nil {
		return err
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"rule", "why", "key", "limit", "used", "max", "verdict"})
	var others []string
	applies := false
	for _, r := range x.Rules {
		if !r.Applies {
			others = append(others, r.Rule+": "+r.Why)
			continue
		}
		applies = true
		appendRule(t, r, plan.Rule(r.Rule), &x.Decision)
	}
	fmt.Fprintf(out, "%s would be: %s", printable(ev.Name), verdict(&x.Decision))
	if !applies && x.Decision.Rule == "" {
		fmt.Fprint(out, " (no rule applies)")
	}
	fmt.Fprintln(out)
	if applies {
		fmt.Fprintf(out, "\n%s\n", t.Render())
	}
	if len(others) > 0 {
		fmt.Fprintf(out, "\n%s\n", strings.Join(others, "\n"))
	}
	return nil
}

// appendRule adds a rule that applies, with a row for each of its limits.
func appendRule(t table.Writer, r gate.RuleExplanation, compiled *rule.Compiled, d *slidegate.Decision) {
	row := table.Row{r.Rule, r.Why, keyText(r), "unlimited", "", "", "admits"}
	if len(r.Windows) == 0 {
		t.AppendRow(row)
	}
	for i, w := range r.Windows {
		row[3], row[4], row[5] = w.Limit, slidegate.FormatUnits(w.Used, w.Scale), slidegate.FormatUnits(w.Max, w.Scale)
		shadow := inShadow(i, &w, compiled, d)
		switch {
		case shadow && w.Refused:
			row[6] = "shadow: would refuse"
		case shadow:
			row[6] = "shadow: would admit"
		case w.Refused:
			row[6] = "refuses"
		default:
			row[6] = "admits"
		}
		t.AppendRow(row)
		row = table.Row{"", "", "", "", "", "", ""}
	}
}

// inShadow reports whether the window in the place i of a rule is one of a shadow
// limit. Limits of overrides are known by the decision.
func inShadow(i int, w *slidegate.WindowState, compiled *rule.Compiled, d *slidegate.Decision) bool {
	if all := compiled.All(); i < len(all) && all[i].Text == w.Limit {
		return all[i].Shadow
	}
	return slices.ContainsFunc(d.Shadow(), func(s slidegate.WindowState) bool { return s.Rule == w.Rule && s.Limit == w.Limit })
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
