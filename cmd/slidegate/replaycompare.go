package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/replay"
)

// maxKeyWidth is how much of a key stands in a table.
const maxKeyWidth = 60

// printComparison shows what each limit let through under each algorithm.
func printComparison(w io.Writer, c *replay.Comparison) {
	first := c.Algorithms[0]
	if len(first.Limits) == 0 {
		fmt.Fprintln(w, "\nno limit counts or sums over a sliding window of time: there are no algorithms to compare")
		return
	}
	fmt.Fprintln(w, "\nby algorithm; the worst window is that in which a key was let through the most, of all real ones:")
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"rule", "limit", "algorithm", "admitted", "refused", "worst window", "over", "until", "key"})
	var columns []table.ColumnConfig
	for i := 4; i <= 7; i++ { // numbers; columns are counted from 1
		columns = append(columns, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	for i, l := range first.Limits {
		if l.Admitted+l.Refused == 0 && l.Impossible == "" {
			continue // that no event met it is said already
		}
		for _, a := range c.Algorithms {
			t.AppendRow(comparisonRow(a.Name, a.Limits[i]))
		}
		t.AppendSeparator()
	}
	fmt.Fprintln(w, t.Render())
	printComparisonNotes(w, c)
}

func comparisonRow(algorithm string, l *replay.LimitComparison) table.Row {
	name := l.Rule
	if l.Shadow {
		name += " (shadow)"
	}
	if l.Impossible != "" {
		return table.Row{name, l.Limit, algorithm, "not possible"}
	}
	row := table.Row{name, l.Limit, algorithm, l.Admitted, l.Refused}
	worst := &l.Worst
	if worst.Through == 0 {
		return append(row, "-")
	}
	through := slidegate.FormatUnits(worst.Through, l.Scale)
	if worst.AtLeast {
		through = "at least " + through
	}
	over := "-"
	if worst.Over() > 0 {
		over = slidegate.FormatUnits(worst.Over(), l.Scale)
	}
	return append(row, through, over, worst.At.Format(time.RFC3339Nano), text.Trim(keyWords(worst.Key), maxKeyWidth))
}

// printComparisonNotes says what the table does not.
func printComparisonNotes(w io.Writer, c *replay.Comparison) {
	atLeast := false
	for _, a := range c.Algorithms {
		for _, l := range a.Limits {
			atLeast = atLeast || l.Worst.AtLeast
			if l.Impossible != "" {
				fmt.Fprintf(w, "%s: %q cannot be %s, and was judged there as it is written: %s\n", l.Rule, l.Limit, a.Name, l.Impossible)
			}
		}
	}
	if slices.ContainsFunc(c.Algorithms, func(a *replay.AlgorithmSummary) bool { return a.Name == "gcra" }) {
		fmt.Fprintln(w, "gcra has the maximum of each limit as its burst, unless the rule file gives one")
	}
	if atLeast {
		fmt.Fprintln(w, "where it says at least, more hits were to be remembered than there is room for")
	}
	for _, a := range c.Algorithms {
		fmt.Fprintf(w, "%s: %d admitted, %d refused over all rules\n", a.Name, a.Admitted, a.Refused)
	}
}

// keyWords writes a key as events are written, with everything escaped that a
// terminal would act on.
func keyWords(key []slidegate.Attr) string {
	if len(key) == 0 {
		return "(without a key)"
	}
	var parts []string
	for _, a := range key {
		parts = append(parts, fmt.Sprintf("%s=%q", a.Name, a.Value.String()))
	}
	return strings.Join(parts, " ")
}
