package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/slidegate/slidegate/internal/replay"
)

// printCandidate says whose verdict the rules of the file called name change.
func printCandidate(w io.Writer, c *replay.Candidate, name string) {
	changed := c.Refused + c.Freed
	fmt.Fprintf(w, "\nwith %s, %d of %s would get another verdict: %d newly refused, %d freed\n", name, changed, plural(c.Events, "event"), c.Refused, c.Freed)
	if c.OtherAction > 0 {
		fmt.Fprintf(w, "%s get another action, and may go on as before or may not\n", plural(c.OtherAction, "event"))
	}
	if c.Unjudged > 0 {
		fmt.Fprintf(w, "%s not compared, because %s cannot read them; the first: %s: %s\n", were(c.Unjudged, "event"), name, c.Where, c.Why)
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"rule", "refused before", "refused after", "newly refused", "freed"})
	var columns []table.ColumnConfig
	for i := 2; i <= 5; i++ { // numbers; columns are counted from 1
		columns = append(columns, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	for _, r := range c.Rules {
		t.AppendRow(changeRow(r))
	}
	fmt.Fprintln(w, t.Render())
	for _, f := range c.Forgotten {
		fmt.Fprintf(w, "a reload forgets rule %s: %q: %s\n", f.Rule, f.Limit, f.Why)
	}
	for _, r := range c.Rules {
		printAffected(w, "newly refused by "+r.Name, &r.Refused)
		printAffected(w, "freed from "+r.Name, &r.Freed)
	}
}

func changeRow(r *replay.RuleChange) table.Row {
	switch {
	case r.Added:
		return table.Row{r.Name + " (new)", "", r.After, r.Refused.Events, ""}
	case r.Removed:
		return table.Row{r.Name + " (removed)", r.Before, "", "", r.Freed.Events}
	default:
		return table.Row{r.Name, r.Before, r.After, r.Refused.Events, r.Freed.Events}
	}
}

// printAffected names whose verdict changes, and the first of the events.
func printAffected(w io.Writer, what string, a *replay.Affected) {
	if a.Events == 0 {
		return
	}
	var places []string
	for _, p := range a.Examples {
		places = append(places, p.String())
	}
	fmt.Fprintf(w, "%s (such as %s):\n", what, strings.Join(places, ", "))
	for _, k := range a.Top {
		fmt.Fprintf(w, "  %8d  %s\n", k.Events, keyWords(k.Key))
	}
	if a.Capped {
		fmt.Fprintln(w, "  and keys that came when too many were counted already")
	}
}
