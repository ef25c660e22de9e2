package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/gate/gatetest"
	"github.com/spf13/cobra"
)

func newExplain() *cobra.Command {
	var rules, event, keyFile string
	cmd := &cobra.Command{
		Use:   "explain [--rules FILE] [--secret-key-file FILE] --event 'NAME name=value …'",
		Short: "Say which rules an event meets, and why",
		Long: `Explain says for every rule whether it applies to an event and why, which key
was built, and what its limits would say. It explains the rules of a file and asks
no server: all windows are empty, as if the event were the first. What is in the
windows of a server now, POST /v1/explain says. It records nothing.

` + secretHelp + ` Such a value is shown as it
is kept, never as it is; with the key of a server, as that server keeps it.`,
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
			key, err := secretKey(keyFile, os.Getenv)
			if err != nil {
				return fail(err)
			}
			f, err := loadRules(rules, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			g, err := gate.New(f.Plan, gate.Options{SecretKey: key})
			if err != nil {
				return fail(err)
			}
			defer g.Close()
			return fail(explain(cmd.Context(), g, ev, cmd.OutOrStdout()))
		},
	}
	cmd.Flags().StringVar(&rules, "rules", "", "rule file (default: the starter rules)")
	cmd.Flags().StringVar(&event, "event", "", "the event, as in test scripts")
	cmd.Flags().StringVar(&keyFile, "secret-key-file", "", "file with the key that hides secret attributes")
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

func explain(ctx context.Context, g *gate.Gate, ev slidegate.Event, out io.Writer) error {
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
		appendRule(t, r)
	}
	fmt.Fprintf(out, "%s would be: %s", printable(ev.Name), verdict(&x.Decision))
	switch {
	case x.Listed != "":
		fmt.Fprintf(out, ", on a list: %s", x.Listed)
	case !applies && x.Decision.Rule == "":
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

// appendRule adds a rule that applies, with a row for each of its limits, of which
// the idle ones come last.
func appendRule(t table.Writer, r gate.RuleExplanation) {
	row := table.Row{r.Rule, r.Why, keyText(r), "unlimited", "", "", "admits"}
	if len(r.Limits)+len(r.Idle) == 0 {
		t.AppendRow(row)
	}
	for i := range r.Limits {
		l := &r.Limits[i]
		w := &l.Window
		row[3], row[4], row[5] = w.Limit, slidegate.FormatUnits(w.Used, w.Scale), slidegate.FormatUnits(w.Max, w.Scale)
		switch {
		case l.Shadow && w.Refused:
			row[6] = "shadow: would refuse"
		case l.Shadow:
			row[6] = "shadow: would admit"
		case w.Locked:
			row[6] = "locked"
		case w.Refused:
			row[6] = refusal(l.Action)
		case w.RetryAfter > 0:
			row[6] = "queue"
		default:
			row[6] = "admits"
		}
		t.AppendRow(row)
		row = table.Row{"", "", "", "", "", "", ""}
	}
	for _, l := range r.Idle {
		row[3], row[4], row[5], row[6] = l.Limit, "", "", "idle: "+l.Why
		t.AppendRow(row)
		row = table.Row{"", "", "", "", "", "", ""}
	}
}

// refusal says what a limit does with an event that does not fit.
func refusal(a slidegate.Action) string {
	if a == slidegate.Degrade || a == slidegate.Challenge {
		return a.String()
	}
	return "refuses" // a queue, too, when it is full
}

func verdict(d *slidegate.Decision) string {
	text := d.Action.String()
	if d.Rule != "" {
		text += " by " + d.Rule
	}
	if d.Reason != "" {
		text += " (" + d.Reason + ")"
	}
	if d.With != "" {
		text += ", with " + d.With
	}
	switch {
	case d.Action == slidegate.Queue:
		text += ", goes on in " + d.RetryAfter.String()
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
