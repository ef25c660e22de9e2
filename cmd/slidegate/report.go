package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/slidegate/slidegate/internal/replay"
	"github.com/slidegate/slidegate/rule"
)

// showProgress shows on a terminal how far reader has come, until stop is
// called. Elsewhere it shows nothing.
func showProgress(w io.Writer, reader *replay.Reader) (stop func()) {
	f, ok := w.(*os.File)
	if !ok {
		return func() {}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func() {}
	}
	_, total := reader.Progress()
	tracker := &progress.Tracker{Message: "reading", Total: max(total, 0), Units: progress.UnitsBytes}
	pw := progress.NewWriter()
	pw.SetOutputWriter(f)
	pw.SetUpdateFrequency(100 * time.Millisecond)
	pw.SetAutoStop(true) // once the tracker is done
	pw.AppendTracker(tracker)
	done, ended, rendered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(rendered)
		pw.Render()
	}()
	go func() {
		defer close(ended)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			read, _ := reader.Progress()
			tracker.SetValue(read)
			select {
			case <-done:
				tracker.MarkAsDone()
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		<-rendered
	}
}

func printFiles(w io.Writer, files []replay.File) {
	for _, f := range files {
		zip := ""
		if f.Gzip {
			zip = ", gzip"
		}
		if f.Format == replay.FormatAuto {
			fmt.Fprintf(w, "%s: empty%s\n", f.Name, zip)
			continue
		}
		fmt.Fprintf(w, "%s: %s%s%s; %s, %s, %s not understood\n",
			f.Name, f.Format, zip, timesOf(f), plural(f.Lines, "line"), plural(f.Events, "event"), plural(f.Skipped, "line"))
	}
}

// timesOf says how the times of a file are written, and what was taken for what
// they do not say.
func timesOf(f replay.File) string {
	if f.Times == replay.KindNone {
		return ""
	}
	var taken []string
	switch f.Zone {
	case "":
	case "UTC":
		taken = append(taken, "UTC assumed")
	default:
		taken = append(taken, f.Zone)
	}
	switch {
	case f.Derived:
		taken = append(taken, fmt.Sprintf("begun in %d, so that it does not end in the future", f.Year))
	case f.Year != 0:
		taken = append(taken, fmt.Sprintf("begun in %d", f.Year))
	}
	text := ", times in " + f.Times.String()
	if len(taken) > 0 {
		text += " (" + strings.Join(taken, ", ") + ")"
	}
	return text
}

// printSkips says what could not be read, each reason once.
func printSkips(w io.Writer, what string, s *replay.Skips) {
	if s.Total == 0 {
		return
	}
	fmt.Fprintf(w, "%s:\n", what)
	for _, skip := range s.First {
		fmt.Fprintf(w, "  %s:%d: %s", skip.File, skip.Line, skip.Reason)
		if skip.Text != "" {
			fmt.Fprintf(w, ": %s", skip.Text)
		}
		if skip.Count > 1 {
			fmt.Fprintf(w, " (and %d more)", skip.Count-1)
		}
		fmt.Fprintln(w)
	}
	if n := s.Others(); n > 0 {
		fmt.Fprintf(w, "  and %d for other reasons\n", n)
	}
}

func printSummary(w io.Writer, s *replay.Summary, set *rule.Set) {
	fmt.Fprintf(w, "%s: %d admitted, %d refused (%s), from %s to %s\n", plural(s.Events, "event"), s.Admitted, s.Refused,
		share(s.Refused, s.Events), s.First.Format(time.RFC3339), s.Last.Format(time.RFC3339))
	if s.Ceiling > 0 {
		fmt.Fprintf(w, "%s refused at the ceiling of memory, by no rule\n", were(s.Ceiling, "event"))
	}
	printLate(w, s)
	printTable(w, s)
	printUnmet(w, s, set)
	for _, r := range s.Rules {
		printRefused(w, r)
	}
}

// trustedLateness is how late events may be without the results being far off.
const trustedLateness = time.Minute

func printLate(w io.Writer, s *replay.Summary) {
	if s.Late == 0 {
		return
	}
	judged := "were judged"
	if s.Late == 1 {
		judged = "was judged"
	}
	fmt.Fprintf(w, "%s came late, by up to %s, and %s at the newest time before; --sort puts them in order\n", plural(s.Late, "event"), s.LateMax, judged)
	if s.LateMax > trustedLateness {
		fmt.Fprintln(w, "these results are not to be trusted without --sort")
	}
}

func printTable(w io.Writer, s *replay.Summary) {
	mixed := slices.ContainsFunc(s.Rules, (*replay.RuleSummary).Mixed)
	header := table.Row{"rule", "events", "admitted", "refused", "share refused"}
	through := slices.ContainsFunc(s.Rules, func(r *replay.RuleSummary) bool { return r.LetThrough > 0 })
	if mixed {
		header = append(header, "shadow refused")
	}
	if through {
		header = append(header, "over, let through")
	}
	header = append(header, "keys", "keys refused", "busiest second")
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(header)
	var columns []table.ColumnConfig
	for i := 2; i < len(header); i++ { // numbers; columns are counted from 1
		columns = append(columns, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	for _, r := range s.Rules {
		t.AppendRow(ruleRow(r, mixed, through))
	}
	fmt.Fprintln(w, t.Render())
}

func ruleRow(r *replay.RuleSummary, mixed, through bool) table.Row {
	name, busiest, keys := r.Name, "", strconv.FormatInt(r.Keys, 10)
	if r.Shadow {
		name += " (shadow)"
	}
	if r.BusiestCount > 0 {
		busiest = fmt.Sprintf("%s (%d)", r.Busiest.Format(time.RFC3339), r.BusiestCount)
	}
	if r.KeysCapped {
		keys = "over " + keys
	}
	events := r.Admitted + r.Refused
	row := table.Row{name, events, r.Admitted, r.Refused, share(r.Refused, events)}
	switch {
	case r.Mixed():
		row = append(row, r.ShadowRefused)
	case mixed:
		row = append(row, "")
	}
	if through {
		row = append(row, r.LetThrough)
	}
	return append(row, keys, r.KeysRefused, busiest)
}

// printUnmet names the rules that no event met, and, where there is no other,
// what may be the reason.
func printUnmet(w io.Writer, s *replay.Summary, set *rule.Set) {
	met := false
	for _, r := range s.Rules {
		if r.Admitted+r.Refused > 0 {
			met = true
		} else {
			fmt.Fprintf(w, "no event met rule %s\n", r.Name)
		}
	}
	if met {
		return
	}
	wanted, named := eventNames(set)
	names := slices.Sorted(maps.Keys(s.Names))
	if !named || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(wanted, n) }) {
		fmt.Fprintln(w, "to see why, give an event of the log to: slidegate explain --rules FILE --event 'NAME name=value …'")
		return
	}
	for i, n := range names {
		names[i] = strconv.Quote(n)
	}
	fmt.Fprintf(w, "the log's events are named %s (see --event); the rules match %s\n", some(names), some(wanted))
}

// eventNames returns the names of events that rules match, and whether every
// rule names some.
func eventNames(set *rule.Set) (names []string, all bool) {
	all = true
	for i := range set.Rules {
		r := &set.Rules[i]
		all = all && len(r.Match) > 0
		for _, m := range r.Match {
			all = all && len(m["event"]) > 0
			for _, v := range m["event"] {
				names = append(names, v.String())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), all
}

// some lists the first of many words.
func some(words []string) string {
	const most = 8
	if len(words) > most {
		return fmt.Sprintf("%s and %d others", strings.Join(words[:most], ", "), len(words)-most)
	}
	return strings.Join(words, ", ")
}

// printRefused says which limits of a rule refused how often, where there are
// several, and which keys.
func printRefused(w io.Writer, r *replay.RuleSummary) {
	limits := slices.Clone(r.Limits)
	slices.SortStableFunc(limits, func(a, b replay.LimitSummary) int { return cmp.Compare(b.Refused, a.Refused) })
	var parts []string
	for _, l := range limits {
		trial := ""
		if l.Shadow && !r.Shadow {
			trial = " (shadow)"
		}
		parts = append(parts, fmt.Sprintf("%s%s %d", l.Limit, trial, l.Refused))
	}
	if len(limits) > 1 && limits[0].Refused > 0 {
		fmt.Fprintf(w, "\n%s, by limit: %s\n", r.Name, strings.Join(parts, ", "))
	}
	if len(r.Top) > 0 && len(limits) == 1 {
		fmt.Fprintln(w)
	}
	printTop(w, r)
}

func printTop(w io.Writer, r *replay.RuleSummary) {
	if len(r.Top) == 0 {
		return
	}
	fmt.Fprintf(w, "most refused by %s:\n", r.Name)
	for _, k := range r.Top {
		fmt.Fprintf(w, "  %8d  %s\n", k.Events, keyWords(k.Key))
	}
}

// printable returns s as it is, or quoted where a terminal would act on it.
func printable(s string) string {
	if quoted := strconv.Quote(s); quoted != `"`+s+`"` {
		return quoted
	}
	return s
}

func share(part, of int64) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", 100*float64(part)/float64(of))
}
