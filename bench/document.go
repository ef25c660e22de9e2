package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/bench/internal/exact"
	"github.com/slidegate/slidegate/bench/internal/measure"
	"github.com/slidegate/slidegate/bench/internal/peer"
	"github.com/slidegate/slidegate/bench/internal/report"
)

// document is the text of the results.
type document struct {
	options *options
	machine machine
	results *results
	began   time.Time
	took    time.Duration
}

// write writes everything that was measured.
func (d *document) write(w io.Writer) error {
	d.head(w)
	parts := map[string]func(io.Writer) error{peer.Speed: d.speed, peer.Memory: d.memory, peer.Exact: d.exact}
	for _, table := range allTables() {
		if !slices.Contains(d.options.tables, table) {
			continue
		}
		if err := parts[table](w); err != nil {
			return err
		}
	}
	if err := d.goals(w); err != nil {
		return err
	}
	d.notes(w)
	return nil
}

func (d *document) head(w io.Writer) {
	o, r := d.options, d.results
	fmt.Fprintf(w, "# Results\n\nWritten by `%s` in `bench/`; [README.md](README.md) says how to read it.\n",
		strings.TrimSpace("go run . "+strings.Join(o.args, " ")))
	fmt.Fprint(w, "Absolute figures hold for this machine only; the ratios, taken in one run, are what counts.\n\n")
	fmt.Fprintf(w, "- %s, %s, took %v\n", d.began.UTC().Format("2006-01-02 15:04 UTC"), runtime.Version(), d.took.Round(time.Second))
	fmt.Fprintf(w, "- %s, GOMAXPROCS=%d, load average %s before the start\n", d.machine, o.procs, d.machine.load)
	fmt.Fprintf(w, "- %d rounds; %v s for each case of the speed table; windows of %v in the exactness table\n", o.rounds, o.seconds, o.window)
	fmt.Fprintf(w, "- %d of %d repetitions were disturbed by the machine and thrown away; a figure with ~ had no clean one\n\n", r.thrown, r.runs)
}

// figure returns a metric of a limiter.
func (d *document) figure(table, id, limiter, metric string) figure {
	return d.results.figure(place{table, id, limiter}, metric)
}

// speed writes table A.
func (d *document) speed(w io.Writer) error {
	limiters, cases := d.options.in(peer.Speed), d.options.cases(peer.Speed)
	fmt.Fprint(w, "## A. Speed in process\n\n100 per minute, keys of 12 bytes; admitted: 100 000 per millisecond. Wall time in ns for a decision over all\n"+
		"goroutines: the median, and half the distance between the slowest and the fastest round.\n\n")
	if err := d.perCase(w, limiters, cases, func(c, l string) string {
		return d.figure(peer.Speed, c, l, measure.NsPerOp).textSpread()
	}); err != nil {
		return err
	}
	fmt.Fprint(w, "Bytes and allocations for a decision:\n\n")
	if err := d.perCase(w, limiters, cases, func(c, l string) string {
		return d.figure(peer.Speed, c, l, measure.BytesPerOp).decimals() + " / " + d.figure(peer.Speed, c, l, measure.AllocsPerOp).decimals()
	}); err != nil {
		return err
	}
	fmt.Fprint(w, "Time as a multiple of the peer that the goals name: the naive fixed window for one hot key, go-limiter for many.\n"+
		"Below 1 is faster. `gate.Check` has no peer.\n\n")
	limiters = slices.DeleteFunc(limiters, func(l peer.Limiter) bool { return l.ID == peer.RulesID || l.Kind == peer.Floor })
	return d.perCase(w, limiters, cases, func(c, l string) string {
		return d.speedRatio(c, l).textTimes()
	})
}

// perCase writes a table with a row for each limiter and a column for each case.
func (d *document) perCase(w io.Writer, limiters []peer.Limiter, cases []column, cell func(id, limiter string) string) error {
	head := []string{"limiter", "kind"}
	for _, c := range cases {
		head = append(head, c.title)
	}
	t := report.NewTable(2, head...)
	for i := range limiters {
		l := &limiters[i]
		row := []string{l.Name, string(l.Kind)}
		for _, c := range cases {
			row = append(row, cell(c.id, l.ID))
		}
		t.Add(row...)
	}
	return t.Write(w)
}

// speedRatio is the time of a limiter over that of the case's named peer.
func (d *document) speedRatio(id, limiter string) figure {
	named := peer.NaiveFixedID
	if id == "zipf" || id == "uniform" {
		named = peer.GoLimiterID
	}
	return d.figure(peer.Speed, id, limiter, measure.NsPerOp).over(d.figure(peer.Speed, id, named, measure.NsPerOp))
}

// memory writes table B.
func (d *document) memory(w io.Writer) error {
	cases := d.options.cases(peer.Memory)
	fmt.Fprintf(w, "## B. Memory\n\n100 per minute. Heap and resident memory after a collection, over the number of keys; a limiter that keeps the\n"+
		"text of a key pays for it. First hit: wall time, with making the key. Full collection: `runtime.GC()` with the keys\n"+
		"held, wall time and the processor time of the collector. Left: %s, right: %s.\n\n", cases[0].title, cases[1].title)
	t := report.NewTable(2, "limiter", "kind", "heap B/key, 1 hit", "x throttled", "RSS B/key", "first hit ns", "full GC ms", "GC CPU ms",
		"heap B/key, 100 hits", "x naive log", "RSS B/key, 100 hits")
	get := func(id, limiter, metric string) figure { return d.figure(peer.Memory, id, limiter, metric) }
	for _, l := range d.options.in(peer.Memory) {
		one, full := get("one-hit", l.ID, measure.HeapPerKey), get("full", l.ID, measure.HeapPerKey)
		t.Add(l.Name, string(l.Kind), one.text(),
			one.over(get("one-hit", peer.ThrottledID, measure.HeapPerKey)).textTimes(),
			get("one-hit", l.ID, measure.RSSPerKey).text(),
			get("one-hit", l.ID, measure.NsPerKey).textSpread(),
			get("one-hit", l.ID, measure.GCWall).textSpread(),
			get("one-hit", l.ID, measure.GCCPU).text(), full.text(),
			full.over(get("full", peer.NaiveLogID, measure.HeapPerKey)).textTimes(),
			get("full", l.ID, measure.RSSPerKey).text())
	}
	return t.Write(w)
}

// exact writes table C.
func (d *document) exact(w io.Writer) error {
	fmt.Fprintf(w, "## C. Exactness on a real clock\n\nLimit %d per %v. Most hits admitted in any one window of that length, in the worst clean round: the true span of the\n"+
		"hits is shorter than the one that is counted, so nobody is accused wrongly. On the right: how many of 100 are admitted\n"+
		"when all 100 are due, in the worst clean round.\n\n", exact.Max, d.options.window)
	t := report.NewTable(2, "limiter", "kind", "boundary", "anchored", "burst+drip", "late+late", "worst", "of 100 due, at once", "of 100 due, W/20 later")
	for _, l := range d.options.in(peer.Exact) {
		row := []string{l.Name, string(l.Kind)}
		for _, p := range exact.Patterns() {
			if p.Due {
				continue
			}
			row = append(row, d.most(p.ID, l.ID).count())
		}
		row = append(row, "**"+d.worst(l.ID).count()+"**", d.due("due-now", l.ID).count(), d.due("due-later", l.ID).count())
		t.Add(row...)
	}
	return t.Write(w)
}

// most is the most that a limiter admitted in a window of a pattern.
func (d *document) most(pattern, limiter string) figure {
	f := d.figure(peer.Exact, pattern, limiter, exact.MostInWindow)
	return figure{values: []float64{report.Max(f.values)}, noisy: f.noisy}
}

// worst is the most over all patterns; no number if one of them is missing.
func (d *document) worst(limiter string) figure {
	var all figure
	for _, p := range exact.Patterns() {
		if !p.Due {
			f := d.most(p.ID, limiter)
			all.values, all.noisy = append(all.values, f.values...), all.noisy || f.noisy
		}
	}
	return figure{values: []float64{report.Max(all.values)}, noisy: all.noisy}
}

// due is the least that a limiter admitted of 100 that were due.
func (d *document) due(pattern, limiter string) figure {
	f := d.figure(peer.Exact, pattern, limiter, exact.DueAdmitted)
	return figure{values: []float64{report.Min(f.values)}, noisy: f.noisy}
}

// notes writes the versions, and what failed.
func (d *document) notes(w io.Writer) {
	fmt.Fprint(w, "## Notes\n\n")
	for _, m := range peer.Modules(d.options.limiters) {
		fmt.Fprintf(w, "- %s %s\n", m, version(m))
	}
	for _, f := range d.results.failures {
		fmt.Fprintf(w, "- failed: %s\n", f)
	}
}
