package exact

import "time"

// Max is the limit that the patterns are made for: 100 per window.
const Max = 100

// step is a burst: hits one after another as fast as they are answered.
type step struct {
	// at is when it begins, in windows after an edge of the clock: after a
	// time at which windows that are aligned to the clock begin.
	at float64
	// afterLast makes at count from the end of the last admitted hit.
	afterLast bool
	// hits is how many are asked for.
	hits int
}

// Pattern is a sequence of bursts.
type Pattern struct {
	// ID names it in jobs, Title in tables.
	ID, Title string
	// Due: what counts is how much of the last burst is admitted. All of it is
	// due, for everything before it has left the window. Otherwise what counts
	// is the most that is admitted in any window.
	Due bool

	steps []step
}

// Patterns returns all patterns.
//
// Limiters that start a window with the first hit, at the edge of the clock, or
// when they are made, all have a pattern that hurts them: they are made at an
// edge.
func Patterns() []Pattern {
	return []Pattern{
		{
			// Just before and just after an edge.
			ID: "boundary", Title: "boundary",
			steps: []step{{at: 0.96, hits: Max}, {at: 1.01, hits: Max}},
		},
		{
			// One early hit opens a window; bursts around its end.
			ID: "anchored", Title: "anchored",
			steps: []step{{at: 0.05, hits: 1}, {at: 1.01, hits: Max}, {at: 1.06, hits: Max}},
		},
		{
			// A burst, then a try at every two-hundredth of a window.
			ID: "burst-drip", Title: "burst+drip",
			steps: append([]step{{at: 0.02, hits: Max}}, drip(0.03, 1.0, 0.005)...),
		},
		{
			// Two bursts late in two windows of the clock, less than a window apart.
			ID: "late-late", Title: "late+late",
			steps: []step{{at: 0.97, hits: Max}, {at: 1.94, hits: Max}},
		},
		{
			// The window is empty since two microseconds.
			ID: "due-now", Title: "of 100 due, at once", Due: true,
			steps: []step{{at: 0.04, hits: Max}, {at: 1, afterLast: true, hits: Max}},
		},
		{
			// The window is empty since a twentieth of it.
			ID: "due-later", Title: "of 100 due, W/20 later", Due: true,
			steps: []step{{at: 0.04, hits: Max}, {at: 1.05, afterLast: true, hits: Max}},
		},
	}
}

// drip is single hits from one time on until another, every so often.
func drip(from, until, every float64) (steps []step) {
	for i := 0; from+float64(i)*every < until; i++ {
		steps = append(steps, step{at: from + float64(i)*every, hits: 1})
	}
	return steps
}

// rounding is what is waited beyond a time at which hits are due: clocks of
// whole microseconds round it away.
const rounding = 2 * time.Microsecond

// start says when a step begins, after the edge.
func (s *step) start(w time.Duration, hits []Hit) time.Duration {
	t := time.Duration(s.at * float64(w))
	if s.afterLast && len(hits) > 0 {
		t += hits[len(hits)-1].After + rounding
	}
	return t
}
