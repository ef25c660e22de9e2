// Package limit holds the algorithms that decide whether a cost still fits
// into a window. They are pure: each is a small state with methods of
// (parameters, now, cost), and knows no clock, lock or store.
//
// Every algorithm has the same methods, to be called in this order for one
// decision:
//
//	s.Advance(p, now)           // bring the state to now
//	r := s.Judge(p, now, cost)  // look; changes nothing
//	s.Charge(p, now, cost)      // if the verdict over all windows is to admit
//
// Advance drops what has expired and mends a clock that stepped back: what lies
// later than now is moved to now, so that nobody waits longer than one window
// and nothing is admitted twice. Judge gives the same answer without it, so a
// cost of 0 and a query leave it out and change nothing.
//
// A limit that counts refused hits is charged with Record instead, whatever
// the verdict. Refund takes a charge back.
//
// Times are microseconds since the epoch and may be any int64; ages and delays
// do not overflow. Costs are 0 or more; a cost of 0 looks, and passes if and
// only if used <= max. No state is safe for concurrent use.
package limit

import (
	"errors"
	"fmt"
	"math"
)

// Algorithm names an algorithm.
type Algorithm uint8

// The algorithms.
const (
	// SlidingLog is exact: no window (now-size, now] ever holds more than max.
	SlidingLog Algorithm = iota + 1
	// SlidingBuckets counts in slices of size/buckets. It never lets more
	// than max through in a window, and may refuse up to one slice early.
	SlidingBuckets
	// GCRA lets burst through at one instant and max per size after that. It
	// promises at most burst + t*max/size in any span t.
	GCRA
	// Fixed counts in windows aligned to the epoch. Around an edge it lets up
	// to twice max through.
	Fixed
	// Events counts over the last size checks instead of over time. Exact.
	Events
	// SlidingCounter weighs the count of the window before, aligned to the
	// epoch, by how much of it still lies in the sliding window, and adds the
	// count since. It takes what happened in the window before for evenly
	// spread. Where it was not, up to twice max less one passes in a window, and
	// no smaller bound holds.
	SlidingCounter
	// Calendar is Fixed over periods of the calendar: hours, days, months.
	Calendar
	// Inflight counts holders: what was let in and has not been released. A
	// holder that is not renewed for size is gone. Exact.
	Inflight
	// Distinct counts different members seen in the window. Exact.
	Distinct

	lastAlgorithm = Distinct
)

// names is indexed by Algorithm.
var names = [...]string{
	SlidingLog: "sliding_log", SlidingBuckets: "sliding_buckets", GCRA: "gcra", Fixed: "fixed", Events: "events",
	SlidingCounter: "sliding_counter", Calendar: "calendar", Inflight: "inflight", Distinct: "distinct",
}

// Valid reports whether a is one of the algorithms.
func (a Algorithm) Valid() bool { return a >= SlidingLog && a <= lastAlgorithm }

// String returns the algorithm's name as rule files write it.
func (a Algorithm) String() string {
	if a == 0 || int(a) >= len(names) {
		return fmt.Sprintf("algorithm(%d)", uint8(a))
	}
	return names[a]
}

// ParseAlgorithm returns the algorithm called name.
func ParseAlgorithm(name string) (Algorithm, bool) {
	for a, n := range names {
		if n == name && n != "" {
			return Algorithm(a), true
		}
	}
	return 0, false
}

// Bounds of the parameters.
const (
	MinSize    = 1_000                       // 1 ms
	MaxSize    = 400 * 24 * 3600 * 1_000_000 // 400 days
	MaxEvents  = 10_000_000                  // checks in a window of events
	MaxUnits   = 1 << 53                     // exact as a float64, which Lua computes with
	MaxLog     = 100_000                     // hits in a sliding log
	MaxBuckets = 1_000                       // slices of sliding buckets
	MaxMembers = 10_000                      // members of a distinct
)

// Params says what an algorithm enforces. Make them with [New]; the zero
// Params is not valid.
type Params struct {
	// Max is how many units fit into a window. 0 is a ban.
	Max int64
	// Size is the length of the window in microseconds; for [Events], in
	// checks; for [Inflight], how long a holder stays that is not renewed. 0
	// where Periods is set.
	Size int64
	// Burst is how many units GCRA lets through at one instant.
	Burst int64
	// Reach is how far ahead a GCRA backlog may lie, in microseconds: the
	// longest burst, with its queue, of all parameters that the window is
	// judged by. New sets it to this burst; where some events have other
	// parameters (overrides), it must be the longest of them all, so that an
	// event of one kind does not cut the backlog of another.
	Reach int64
	// Wait makes GCRA a queue: what does not fit now, but would within Wait
	// microseconds, is admitted for the instant at which it does. See Queued.
	Wait int64
	// Step is derived: the width of a slice (SlidingBuckets) or the time one
	// unit takes (GCRA), in microseconds, rounded up.
	Step int64
	// Buckets is the number of slices of SlidingBuckets.
	Buckets int64
	// Periods are the windows of Calendar, and of a Distinct that counts by
	// the calendar; nil elsewhere.
	Periods Periods
	// Algorithm is the algorithm.
	Algorithm Algorithm
}

// Periods are windows that follow each other without a gap, such as the days of
// a calendar in some time zone.
type Periods interface {
	// Period returns the period that now lies in: start <= now < end, in
	// microseconds since the epoch. It is safe for concurrent use.
	Period(now int64) (start, end int64)
}

// New checks the parameters and returns them with what is derived from them.
// Burst is for GCRA and buckets for SlidingBuckets; elsewhere they are 0. All
// errors are joined.
func New(a Algorithm, maximum, size, burst, buckets int64) (Params, error) {
	p := Params{Algorithm: a, Max: maximum, Size: size, Burst: burst, Buckets: buckets}
	if err := p.validate(); err != nil {
		return Params{}, err
	}
	switch {
	case a == SlidingBuckets:
		p.Step = ceilDiv(size, buckets)
	case a == GCRA && maximum > 0:
		p.Step = ceilDiv(size, maximum)
		if burst > MaxUnits/p.Step {
			return Params{}, fmt.Errorf("limit: burst %d: at %d µs for each, a burst takes longer than 2^53 µs", burst, p.Step)
		}
		p.Reach = burst * p.Step
	}
	return p, nil
}

// NewCalendar is New for windows of the calendar: a is Calendar or Distinct.
func NewCalendar(a Algorithm, maximum int64, periods Periods) (Params, error) {
	p := Params{Algorithm: a, Max: maximum, Periods: periods}
	if periods == nil || a != Calendar && a != Distinct {
		return Params{}, fmt.Errorf("limit: %v of a calendar: want periods, and calendar or distinct", a)
	}
	if err := p.validate(); err != nil {
		return Params{}, err
	}
	return p, nil
}

// Queued makes a queue of GCRA parameters: who would have to wait, takes a
// place now and is told for when. No one waits longer than maxWait microseconds,
// nor behind more than maxQueue units over the burst, its own among them: of hits
// of cost 1, no more than maxQueue wait.
func (p *Params) Queued(maxWait, maxQueue int64) (Params, error) {
	q := *p
	switch {
	case p.Algorithm != GCRA:
		return Params{}, fmt.Errorf("limit: %v: only gcra has a queue", p.Algorithm)
	case maxWait < 1 || maxWait > MaxSize:
		return Params{}, fmt.Errorf("limit: wait %d µs: want 1 µs to 400d", maxWait)
	case maxQueue < 1 || maxQueue > MaxUnits:
		return Params{}, fmt.Errorf("limit: queue %d: want 1 to 2^53", maxQueue)
	case p.Max == 0:
		return q, nil // a ban
	}
	q.Wait = min(maxWait, min(maxQueue, MaxUnits/p.Step)*p.Step)
	q.Reach = p.Burst*p.Step + q.Wait
	return q, nil
}

func (p *Params) validate() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("limit: "+format, args...))
		}
	}
	a := p.Algorithm
	bad(a.Valid(), "unknown algorithm %d", a)
	bad(p.Max >= 0 && p.Max <= MaxUnits, "max %d: want 0 to 2^53", p.Max)
	switch {
	case a == Events:
		bad(p.Size >= 1 && p.Size <= MaxEvents, "size %d: want 1 to %d events", p.Size, MaxEvents)
	case p.Periods == nil:
		bad(a != Calendar, "calendar: make it with NewCalendar")
		bad(p.Size >= MinSize && p.Size <= MaxSize, "size %d µs: want 1ms to 400d", p.Size)
	}
	bad(a != SlidingLog || p.Max <= MaxLog, "max %d: a sliding log holds at most %d hits; use sliding buckets", p.Max, MaxLog)
	bad(a != Inflight || p.Max <= MaxLog, "max %d: at most %d are held in flight", p.Max, MaxLog)
	bad(a != Distinct || p.Max <= MaxMembers, "max %d: a distinct holds at most %d members", p.Max, MaxMembers)
	bad((a == SlidingBuckets) == (p.Buckets != 0), "buckets %d: sliding buckets, and only they, need them", p.Buckets)
	bad(p.Buckets >= 0 && p.Buckets <= MaxBuckets, "buckets %d: want 1 to %d", p.Buckets, MaxBuckets)
	bad((a == GCRA) == (p.Burst != 0), "burst %d: gcra, and only gcra, needs one", p.Burst)
	bad(p.Burst >= 0, "burst %d: want 1 or more", p.Burst)
	return errors.Join(errs...)
}

// Result says how a window stands and whether a cost fits into it.
type Result struct {
	// Used is what counts now; Remaining what is left of Max, never negative.
	Used, Remaining int64
	// Retry is the delay in microseconds until the cost fits if nothing else
	// happens; for [Events], the number of checks that must be made first,
	// this one included. 0 if the cost fits or never will.
	Retry int64
	// Reset is the delay in microseconds until the window is empty.
	Reset int64
	// Wait is the delay in microseconds for which a queue admits the cost: it
	// fits, but not yet. 0 elsewhere.
	Wait int64
	// OK says that the cost fits.
	OK bool
	// Never says that the cost is more than the window can ever hold.
	Never bool
}

// Charged is what a state took: what Refund needs to give it back.
type Charged struct {
	// Stamp says when, in the algorithm's terms.
	Stamp int64
	// Amount says how much, in the algorithm's terms.
	Amount int64
}

// set fills in what follows from what is used, and no delay. Every field is
// written by itself: copies of a struct that was just written are slow.
func (r *Result) set(limit, used, cost int64) {
	r.Used, r.Remaining = used, max(limit-used, 0)
	r.Retry, r.Reset, r.Wait = 0, 0, 0
	r.OK = cost <= limit-used // neither side overflows: 0 <= limit <= 2^53, used >= 0
	r.Never = !r.OK && cost > limit
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// floorDiv returns the quotient rounded down and the remainder, which is 0 to
// b-1.
func floorDiv(a, b int64) (q, r int64) {
	q, r = a/b, a%b
	if r < 0 {
		q, r = q-1, r+b
	}
	return q, r
}

// addTime adds a delay to a time and stops at the end of time.
func addTime(t, delay int64) int64 {
	if s := t + delay; s >= t {
		return s
	}
	return math.MaxInt64
}
