package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/slidegate/slidegate/bench/internal/measure"
	"github.com/slidegate/slidegate/bench/internal/report"
)

// place names what was measured.
type place struct{ table, id, limiter string }

// results are all outcomes.
type results struct {
	clean, disturbed map[place][]map[string]float64
	failures         []string
	runs, thrown     int
}

func newResults() *results {
	return &results{clean: map[place][]map[string]float64{}, disturbed: map[place][]map[string]float64{}}
}

// add keeps an outcome.
func (r *results) add(out *measure.Outcome) {
	p := place{out.Job.Table, out.Job.Case, out.Job.Limiter}
	r.runs++
	if out.Disturbed != "" {
		r.thrown++
		r.disturbed[p] = append(r.disturbed[p], out.Values)
		return
	}
	r.clean[p] = append(r.clean[p], out.Values)
}

// fail keeps why a measurement failed, once for each place and reason.
func (r *results) fail(j job, err error) {
	text := fmt.Sprintf("%s, %s, %s: %v", j.Table, j.Case, j.Limiter, err)
	if !slices.Contains(r.failures, text) {
		r.failures = append(r.failures, text)
	}
}

// figure is one metric over the repetitions that count.
type figure struct {
	values []float64
	// noisy: there was no clean repetition, so these are the disturbed ones.
	noisy bool
}

// figure returns what was measured at a place. Clean repetitions count; what
// does not depend on time, all.
func (r *results) figure(p place, metric string) figure {
	var f figure
	take := func(outs []map[string]float64) {
		for _, values := range outs {
			if v, ok := values[metric]; ok {
				f.values = append(f.values, v)
			}
		}
	}
	take(r.clean[p])
	switch {
	case timeless(metric):
		take(r.disturbed[p])
	case len(f.values) == 0:
		take(r.disturbed[p])
		f.noisy = len(f.values) > 0
	}
	return f
}

// timeless reports whether a disturbed machine leaves a metric as it is.
func timeless(metric string) bool {
	switch metric {
	case measure.HeapPerKey, measure.RSSPerKey, measure.BytesPerOp, measure.AllocsPerOp:
		return true
	default:
		return false
	}
}

func (f figure) median() float64 { return report.Median(f.values) }

// mark follows a number that no clean repetition stands behind.
func (f figure) mark(text string) string {
	if f.noisy {
		return text + "~"
	}
	return text
}

// text is the median.
func (f figure) text() string { return f.mark(report.Number(f.median())) }

// textSpread is the median and how far the repetitions lie apart.
func (f figure) textSpread() string {
	s := report.Spread(f.values)
	if math.IsNaN(s) {
		return f.text()
	}
	return f.mark(fmt.Sprintf("%s ±%.0f%%", report.Number(f.median()), 100*s))
}

// over divides the medians of two figures.
func (f figure) over(g figure) figure {
	return figure{values: []float64{report.Ratio(f.median(), g.median())}, noisy: f.noisy || g.noisy}
}

// textTimes is the median as a ratio.
func (f figure) textTimes() string {
	if math.IsNaN(f.median()) {
		return "-"
	}
	return f.mark(report.Times(f.median()))
}

// count is the median as a whole number, decimals with two decimals.
func (f figure) count() string    { return f.fixed(0) }
func (f figure) decimals() string { return f.fixed(2) }

func (f figure) fixed(digits int) string {
	if v := f.median(); !math.IsNaN(v) {
		return f.mark(fmt.Sprintf("%.*f", digits, v))
	}
	return "-"
}
