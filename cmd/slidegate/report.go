package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/slidegate/slidegate/internal/replay"
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
		fmt.Fprintf(w, "%s: %s%s, times in %s; %s, %s, %s not understood\n",
			f.Name, f.Format, zip, f.Times, plural(int(f.Lines), "line"), plural(int(f.Events), "event"), plural(int(f.Skipped), "line"))
	}
}

func printSkipped(w io.Writer, total int64, first []replay.Skip) {
	if total == 0 {
		return
	}
	fmt.Fprintf(w, "skipped %s; the first:\n", plural(int(total), "line"))
	for _, s := range first {
		fmt.Fprintf(w, "  %s:%d: %s: %s\n", s.File, s.Line, s.Reason, s.Text)
	}
}

func printSummary(w io.Writer, s *replay.Summary) {
	fmt.Fprintf(w, "%s: %d admitted, %d refused (%s)", plural(int(s.Events), "event"), s.Admitted, s.Refused, share(s.Refused, s.Events))
	if s.Events > 0 {
		fmt.Fprintf(w, ", from %s to %s", s.First.Format(time.RFC3339), s.Last.Format(time.RFC3339))
	}
	fmt.Fprintln(w)
	if s.Ceiling > 0 {
		fmt.Fprintf(w, "%s were refused at the ceiling of memory, by no rule\n", plural(int(s.Ceiling), "event"))
	}
	if s.Late > 0 {
		fmt.Fprintf(w, "%s came late and were judged at the newest time before them; --sort puts them in order\n", plural(int(s.Late), "event"))
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"rule", "events", "admitted", "refused", "share", "keys", "keys refused", "busiest second"})
	for _, r := range s.Rules {
		name, busiest, keys := r.Name, "", strconv.FormatInt(r.Keys, 10)
		if r.Shadow {
			name += " (shadow)"
		}
		if r.BusiestCount > 0 {
			busiest = fmt.Sprintf("%s (%d)", r.Busiest.Format(time.DateTime), r.BusiestCount)
		}
		if r.KeysCapped {
			keys = "over " + keys
		}
		events := r.Admitted + r.Refused
		t.AppendRow(table.Row{name, events, r.Admitted, r.Refused, share(r.Refused, events), keys, r.KeysRefused, busiest})
	}
	fmt.Fprintln(w, t.Render())
	for _, r := range s.Rules {
		printTop(w, r)
	}
}

func printTop(w io.Writer, r *replay.RuleSummary) {
	if len(r.Top) == 0 {
		return
	}
	fmt.Fprintf(w, "\nmost refused by %s:\n", r.Name)
	for _, k := range r.Top {
		var parts []string
		for _, a := range k.Key {
			parts = append(parts, fmt.Sprintf("%s=%q", a.Name, a.Value.String()))
		}
		if len(parts) == 0 {
			parts = append(parts, "(without a key)")
		}
		fmt.Fprintf(w, "  %8d  %s\n", k.Refused, strings.Join(parts, " "))
	}
}

// printable returns text as it is, or quoted where a terminal would act on it.
func printable(text string) string {
	if quoted := strconv.Quote(text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}

func share(part, of int64) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", 100*float64(part)/float64(of))
}
