package exact

import (
	"fmt"
	"slices"
	"time"

	"github.com/slidegate/slidegate/bench/internal/measure"
	"github.com/slidegate/slidegate/bench/internal/peer"
)

// Metrics of an outcome.
const (
	MostInWindow = "most in a window"
	DueAdmitted  = "admitted of those due"
)

// Run drives one limiter through one pattern on the real clock.
func Run(j *measure.Job) (measure.Outcome, error) {
	out := measure.Outcome{Job: *j}
	if j.Window < 10*time.Millisecond || time.Second%j.Window != 0 {
		return out, fmt.Errorf("exact: window %v: want one that divides a second, 10ms or more, such as 200ms", j.Window)
	}
	l, err := peer.Find(j.Limiter)
	if err != nil {
		return out, err
	}
	all := Patterns()
	i := slices.IndexFunc(all, func(p Pattern) bool { return p.ID == j.Case })
	if i < 0 {
		return out, fmt.Errorf("exact: no pattern %q", j.Case)
	}
	c := newRealClock(j.Window)
	allow, stop, err := l.Open(peer.Quota{Max: Max, Per: j.Window})
	if err != nil {
		return out, fmt.Errorf("exact: %s: %w", l.ID, err)
	}
	if stop != nil {
		defer stop()
	}
	r := all[i].play(c, j.Window, func() bool { return allow("user-0000001") })
	out.Values, out.Disturbed = r.values(&all[i], j.Window), r.disturbed
	return out, nil
}

// clock is time since an edge.
type clock interface {
	now() time.Duration
	// wait returns at t or as soon after as it can.
	wait(t time.Duration)
}

// realClock is the clock of the machine.
type realClock struct{ edge time.Time }

// newRealClock returns at an edge of the clock.
func newRealClock(w time.Duration) realClock {
	now := time.Now()
	c := realClock{edge: now.Add(w - now.Sub(now.Truncate(w)))} // keeps the monotonic clock
	c.wait(0)
	return c
}

func (c realClock) now() time.Duration { return time.Since(c.edge) }

// wait sleeps, and burns the last two milliseconds.
func (c realClock) wait(t time.Duration) {
	if rest := t - c.now(); rest > 2*time.Millisecond {
		time.Sleep(rest - 2*time.Millisecond)
	}
	for c.now() < t {
	}
}

// result is what came of one pattern.
type result struct {
	hits      []Hit
	last      int // admitted in the last step
	disturbed string
}

func (r *result) values(p *Pattern, w time.Duration) map[string]float64 {
	if p.Due {
		return map[string]float64{DueAdmitted: float64(r.last)}
	}
	return map[string]float64{MostInWindow: float64(Most(r.hits, w))}
}

// play takes the steps of a pattern, one call at a time.
func (p *Pattern) play(c clock, w time.Duration, allow func() bool) result {
	r := result{hits: make([]Hit, 0, 4*Max)}
	for i := range p.steps {
		s := &p.steps[i]
		begin := s.start(w, r.hits)
		c.wait(begin)
		r.last = 0
		for range s.hits {
			h := Hit{Before: c.now()}
			ok := allow()
			h.After = c.now()
			if ok {
				r.hits, r.last = append(r.hits, h), r.last+1
			}
		}
		if late := c.now() - begin; late > tolerated(w) && r.disturbed == "" {
			r.disturbed = fmt.Sprintf("step %d ended %v late", i+1, late)
		}
	}
	return r
}

// tolerated is how long after its start a step may end: a hundred decisions
// of the slowest limiter take less. A later end misses the time that was meant.
func tolerated(w time.Duration) time.Duration { return w / 100 }
