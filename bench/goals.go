package main

import (
	"fmt"
	"io"
	"math"

	"github.com/slidegate/slidegate/bench/internal/measure"
	"github.com/slidegate/slidegate/bench/internal/peer"
	"github.com/slidegate/slidegate/bench/internal/report"
)

// goal is what we mean to reach: a figure that is at most a bound.
type goal struct {
	what string
	want string
	// reached is the figure, and most what it may be.
	reached figure
	most    float64
	// unit follows the figure.
	unit string
	// digits of the figure after the point; -1 means as many as are useful.
	digits int
}

// met says yes or no, or that it was not measured.
func (g *goal) met() string {
	v := g.reached.median()
	switch {
	case math.IsNaN(v):
		return "not measured"
	case v <= g.most:
		return g.reached.mark("yes")
	default:
		return g.reached.mark("no")
	}
}

// text writes the figure with its unit.
func (g *goal) text() string {
	v := g.reached.median()
	if math.IsNaN(v) {
		return "-"
	}
	n := report.Number(v)
	if g.digits >= 0 {
		n = fmt.Sprintf("%.*f", g.digits, v)
	}
	return g.reached.mark(n + g.unit)
}

// goals writes every goal with what was reached.
func (d *document) goals(w io.Writer) error {
	fmt.Fprint(w, "## Goals\n\n")
	if o := d.options; o.keys < 1_000_000 || o.rounds < 5 || o.seconds < 1 {
		fmt.Fprint(w, "They are meant for a million keys, five rounds and a second for each case. This run was smaller: take them as a hint.\n\n")
	}
	t := report.NewTable(1, "goal", "wanted", "reached", "met")
	for _, g := range d.allGoals() {
		t.Add(g.what, g.want, g.text(), g.met())
	}
	return t.Write(w)
}

func (d *document) allGoals() []goal {
	return append(d.exactGoals(), append(d.speedGoals(), d.memoryGoals()...)...)
}

// exactGoals are about our exact limiters: the plain one and the engine's log.
func (d *document) exactGoals() []goal {
	var gs []goal
	for _, l := range []struct{ id, name string }{{peer.OursID, "gate.Limiter"}, {peer.LogID, "gate.Check with sliding_log"}} {
		missing := d.due("due-now", l.id)
		for i := range missing.values {
			missing.values[i] = 100 - missing.values[i]
		}
		gs = append(gs,
			goal{what: l.name + ": most admitted in any real window, four patterns", want: "100", reached: d.worst(l.id), most: 100, digits: 0},
			goal{what: l.name + ": refused of 100 that are due", want: "0", reached: missing, digits: 0})
	}
	return gs
}

func (d *document) speedGoals() []goal {
	ratio := func(id, what, want string, most float64) goal {
		return goal{what: "gate.Limiter, " + what, want: want, reached: d.speedRatio(id, peer.OursID), most: most, unit: "x", digits: 2}
	}
	gs := []goal{
		ratio("refused-1", "hot, refused, 1g, against the naive fixed window", "≤ 1x", 1),
		ratio("admitted-1", "hot, admitted, 1g, against the naive fixed window", "≤ 1x", 1),
		ratio("zipf", "zipf, 2g, against go-limiter", "≤ 0.5x", 0.5),
		ratio("uniform", "uniform, 2g, against go-limiter", "≤ 0.5x", 0.5),
	}
	for _, l := range []struct{ id, name string }{{peer.OursID, "gate.Limiter"}, {peer.RulesID, "gate.Check"}} {
		gs = append(gs, goal{what: l.name + ": allocations for a decision, hot and zipf", want: "0.00", reached: d.mostAllocs(l.id), most: 0.005, digits: 2})
	}
	for _, c := range []struct{ id, name string }{{"refused-1", "refused"}, {"admitted-1", "admitted"}} {
		gs = append(gs, goal{what: "gate.Check, 2 rules, 3 windows, hot, " + c.name + ", 1g", want: "≤ 400 ns", reached: d.figure(peer.Speed, c.id, peer.RulesID, measure.NsPerOp), most: 400, unit: " ns", digits: -1})
	}
	return gs
}

// mostAllocs is the largest median over the cases of the speed table in which
// windows no longer grow: under the uniform load they all still do.
func (d *document) mostAllocs(limiter string) figure {
	var medians []float64
	for _, c := range d.options.cases(peer.Speed) {
		if f := d.figure(peer.Speed, c.id, limiter, measure.AllocsPerOp); len(f.values) > 0 && c.id != "uniform" {
			medians = append(medians, f.median())
		}
	}
	return figure{values: []float64{report.Max(medians)}}
}

func (d *document) memoryGoals() []goal {
	ours := func(id, metric string) figure { return d.figure(peer.Memory, id, peer.OursID, metric) }
	return []goal{
		{what: "gate.Limiter: heap for a key with one hit", want: "≤ 64 B", reached: ours("one-hit", measure.HeapPerKey), most: 64, unit: " B", digits: -1},
		{what: "gate.Limiter: heap for a key with 100 hits", want: "≤ 900 B", reached: ours("full", measure.HeapPerKey), most: 900, unit: " B", digits: -1},
		{what: "the same, a record", want: "≤ 520 B", reached: ours("full", measure.HeapPerKey), most: 520, unit: " B", digits: -1},
		{what: "gate.Limiter: full collection with all keys held, wall time", want: "≤ 5 ms", reached: ours("one-hit", measure.GCWall), most: 5, unit: " ms", digits: -1},
	}
}
