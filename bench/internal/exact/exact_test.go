package exact

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/bench/internal/measure"
)

const ms = time.Millisecond

// at makes hits that took no time.
func at(times ...time.Duration) []Hit {
	hits := make([]Hit, len(times))
	for i, t := range times {
		hits[i] = Hit{Before: t, After: t}
	}
	return hits
}

func TestMost(t *testing.T) {
	const w = 100 * ms
	for name, c := range map[string]struct {
		hits []Hit
		want int
	}{
		"none":                          {nil, 0},
		"one":                           {at(5 * ms), 1},
		"all at one instant":            {at(0, 0, 0), 3},
		"exactly a window apart":        {at(0, w), 1},
		"a whole microsecond less":      {at(0, w-time.Microsecond), 1},
		"just over a microsecond less":  {at(0, w-time.Microsecond-1), 2},
		"the window slides":             {at(0, 90*ms, 95*ms, 110*ms, 189*ms, 191*ms), 4},
		"the most is at the start":      {at(0, 1*ms, 2*ms, 200*ms, 250*ms), 3},
		"the most is at the end":        {at(0, 150*ms, 240*ms, 241*ms, 242*ms), 4},
		"two edges of fixed windows":    {append(at(99*ms, 99*ms), at(101*ms, 101*ms)...), 4},
		"a slow call before the others": {[]Hit{{0, 50 * ms}, {101 * ms, 101 * ms}}, 1},
		"a slow call after the others":  {[]Hit{{0, 0}, {60 * ms, 120 * ms}}, 1},
		"a call longer than a window":   {[]Hit{{0, 150 * ms}, {150 * ms, 151 * ms}, {152 * ms, 152 * ms}}, 2},
	} {
		if got := Most(c.hits, w); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestMostIsWhatACountByHandSays compares with every window that starts at a hit.
func TestMostIsWhatACountByHandSays(t *testing.T) {
	const w = 100 * ms
	var hits []Hit
	for i := range 300 {
		at := time.Duration(i*i%977) * ms / 3
		hits = append(hits, Hit{Before: at, After: at})
	}
	sortHits(hits)
	most := 0
	for i := range hits {
		n := 0
		for j := i; j < len(hits) && hits[j].After-hits[i].Before < w-grain; j++ {
			n++
		}
		most = max(most, n)
	}
	if got := Most(hits, w); got != most || most < 3 {
		t.Errorf("Most = %d, by hand %d", got, most)
	}
}

func sortHits(hits []Hit) {
	for i := range hits {
		for j := i; j > 0 && hits[j].Before < hits[j-1].Before; j-- {
			hits[j], hits[j-1] = hits[j-1], hits[j]
		}
	}
}

// fakeClock goes on by a microsecond whenever it is read.
type fakeClock struct {
	t    time.Duration
	late time.Duration // how late waits end
}

func (c *fakeClock) now() time.Duration { c.t += time.Microsecond; return c.t }

func (c *fakeClock) wait(t time.Duration) { c.t = max(c.t, t) + c.late }

// model returns a limiter of a kind, on a fake clock.
func model(kind string, c *fakeClock, w time.Duration) func() bool {
	var stamps []time.Duration
	var start, tat time.Duration
	var n, before float64
	return func() bool {
		now := c.t
		switch kind {
		case "log":
			for len(stamps) > 0 && now-stamps[0] >= w {
				stamps = stamps[1:]
			}
			if len(stamps) >= Max {
				return false
			}
			stamps = append(stamps, now)
			return true
		case "fixed at the edge", "sliding counter":
			if s := now.Truncate(w); s != start {
				before, n = n, 0
				if s > start+w {
					before = 0
				}
				start = s
			}
			weighed := n
			if kind == "sliding counter" {
				weighed += before * float64(w-(now-start)) / float64(w)
			}
			if weighed+1 > Max {
				return false
			}
			n++
			return true
		case "fixed from the first hit":
			if n == 0 || now-start >= w {
				start, n = now, 0
			}
			if n >= Max {
				return false
			}
			n++
			return true
		default: // gcra
			if tat = max(tat, now); tat+w/Max-now > w {
				return false
			}
			tat += w / Max
			return true
		}
	}
}

// TestPatternsHurt: each kind of limiter is caught by the pattern that is meant
// for it, and an exact log by none.
func TestPatternsHurt(t *testing.T) {
	const w = 200 * ms
	want := map[string]map[string][2]int{ // least and most
		"log":                      {"boundary": {100, 100}, "anchored": {100, 100}, "burst-drip": {100, 100}, "late-late": {100, 100}, "due-now": {100, 100}, "due-later": {100, 100}},
		"fixed at the edge":        {"boundary": {200, 200}, "late-late": {200, 200}, "burst-drip": {100, 100}, "due-later": {100, 100}},
		"fixed from the first hit": {"boundary": {100, 100}, "anchored": {199, 199}, "late-late": {100, 100}, "due-now": {100, 100}},
		"sliding counter":          {"boundary": {100, 106}, "late-late": {190, 198}, "due-now": {0, 6}, "due-later": {5, 12}},
		"gcra":                     {"boundary": {103, 107}, "burst-drip": {195, 199}, "late-late": {195, 199}, "due-now": {100, 100}, "due-later": {100, 100}},
	}
	for kind, patterns := range want {
		for _, p := range Patterns() {
			bounds, ok := patterns[p.ID]
			if !ok {
				continue
			}
			c := &fakeClock{}
			r := p.play(c, w, model(kind, c, w))
			if r.disturbed != "" {
				t.Fatalf("%s, %s: disturbed: %s", kind, p.ID, r.disturbed)
			}
			got := int(r.values(&p, w)[MostInWindow])
			if p.Due {
				got = int(r.values(&p, w)[DueAdmitted])
			}
			if got < bounds[0] || got > bounds[1] {
				t.Errorf("%s, %s: %d, want %d to %d", kind, p.ID, got, bounds[0], bounds[1])
			}
		}
	}
}

// TestLateStepsAreThrownAway: a pattern that missed its times does not count.
func TestLateStepsAreThrownAway(t *testing.T) {
	const w = 200 * ms
	for _, p := range Patterns() {
		c := &fakeClock{late: 3 * ms}
		if r := p.play(c, w, func() bool { return true }); r.disturbed == "" {
			t.Errorf("%s: waits ended 3ms late, and it counts", p.ID)
		}
		c = &fakeClock{late: ms / 2}
		if r := p.play(c, w, func() bool { return true }); r.disturbed != "" {
			t.Errorf("%s: waits ended half a millisecond late: %s", p.ID, r.disturbed)
		}
	}
}

func TestRunOnTheRealClock(t *testing.T) {
	for _, id := range []string{"boundary", "due-now"} {
		out, err := Run(&measure.Job{Limiter: "naive-log", Case: id, Window: 20 * ms})
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Values[MostInWindow]; id == "boundary" && got > Max {
			t.Errorf("the log let %v through in a window", got)
		}
		if got := out.Values[DueAdmitted]; id == "due-now" && out.Disturbed == "" && got != Max {
			t.Errorf("the log admitted %v of 100 that were due", got)
		}
	}
	for name, j := range map[string]measure.Job{
		"window":  {Limiter: "naive-log", Case: "boundary", Window: 300 * ms},
		"short":   {Limiter: "naive-log", Case: "boundary", Window: ms},
		"pattern": {Limiter: "naive-log", Case: "none", Window: 20 * ms},
		"limiter": {Limiter: "none", Case: "boundary", Window: 20 * ms},
	} {
		if _, err := Run(&j); err == nil {
			t.Errorf("a wrong %s went through", name)
		}
	}
}

func TestRealClockStartsAtAnEdge(t *testing.T) {
	c := newRealClock(20 * ms)
	if into := c.edge.Sub(c.edge.Truncate(20 * ms)); into != 0 {
		t.Errorf("%v into a window", into)
	}
	if c.now() < 0 {
		t.Error("the edge lies ahead")
	}
}
