package limit

import (
	"fmt"
	"math"
	"testing"
)

// endTimes are both ends of time, the epoch, and what lies beside them.
var endTimes = []int64{
	math.MinInt64, math.MinInt64 + 1, math.MinInt64 + MinSize, math.MinInt64 + MaxSize, math.MinInt64 / 2,
	-MaxSize, -MinSize, -1, 0, 1, MinSize, 1_700_000_000_000_000, math.MaxInt64 / 2,
	math.MaxInt64 - 3*MaxSize, math.MaxInt64 - MaxSize, math.MaxInt64 - MinSize, math.MaxInt64 - 1, math.MaxInt64,
}

// endParams are windows of all algorithms, the shortest and the longest.
func endParams(t *testing.T) (all []Params) {
	t.Helper()
	add := func(a Algorithm, size, burst, buckets int64) {
		p, err := New(a, 5, size, burst, buckets)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	for _, size := range []int64{MinSize, MaxSize} {
		add(SlidingLog, size, 0, 0)
		add(SlidingBuckets, size, 0, 1)
		add(SlidingBuckets, size, 0, 1000)
		add(GCRA, size, 5, 0)
		add(Fixed, size, 0, 0)
		add(SlidingCounter, size, 0, 0)
		add(Inflight, size, 0, 0)
	}
	queue, err := all[len(all)-1-3].Queued(MaxSize, 4)
	if err != nil {
		t.Fatal(err)
	}
	calendar, err := NewCalendar(Calendar, 5, months)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, queue, calendar)
	add(Events, 20, 0, 0)
	return all
}

// longest returns the longest delay that a window can name.
func longest(p Params) int64 {
	switch p.Algorithm {
	case SlidingBuckets:
		return (p.Buckets + 1) * p.Step
	case GCRA:
		return p.Burst*p.Step + p.Wait
	case SlidingCounter:
		return 2 * p.Size
	case Calendar:
		return MaxSize // of the months
	default:
		return p.Size
	}
}

// sane reports what no answer may be.
func sane(p Params, r Result) error {
	switch {
	case r.Retry < 0 || r.Reset < 0 || r.Used < 0 || r.Remaining < 0:
		return fmt.Errorf("negative: %+v", r)
	case r.Retry > longest(p) || r.Reset > longest(p) || r.Remaining > 5:
		return fmt.Errorf("too much: %+v", r)
	case r.OK && r.Retry != 0, r.Never && r.Retry != 0, !r.OK && !r.Never && r.Retry == 0:
		return fmt.Errorf("retry of a verdict: %+v", r)
	}
	return nil
}

// TestEndsOfTime steps from every time to every other, with a full window:
// nothing overflows, and where all has left or nothing has, the answer is exact.
func TestEndsOfTime(t *testing.T) {
	for _, p := range endParams(t) {
		for _, from := range endTimes {
			if p.Algorithm == GCRA && from > math.MaxInt64-longest(p) {
				continue // it would be worked off after the end of time
			}
			for _, to := range endTimes {
				if p.Algorithm == Calendar && to > math.MaxInt64-longest(p) {
					continue // the period would end after it
				}
				if err := stepBetween(p, from, to); err != nil {
					t.Errorf("%v of %d µs, from %d to %d: %v", p.Algorithm, p.Size, from, to, err)
				}
			}
		}
	}
}

func stepBetween(p Params, from, to int64) error {
	d := newDriver(p.Algorithm, p.Size > math.MaxUint32)
	for range 5 {
		if r := d.check(p, from, 1); !r.OK {
			return fmt.Errorf("filling: %+v", r)
		}
	}
	look := d.check(p, to, 0)
	if err := sane(p, look); err != nil {
		return err
	}
	empty := to > from && uint64(to)-uint64(from) >= uint64(longest(p))
	switch {
	case p.Algorithm == Events:
		if look.Used != 5 {
			return fmt.Errorf("time changed a window of events: %+v", look)
		}
	case empty && look != Result{OK: true, Remaining: 5}:
		return fmt.Errorf("all has left: %+v", look)
	case p.Wait > 0 && to < from: // the clock stepped back: the whole queue is taken for full
		if look.Used < 5 {
			return fmt.Errorf("the clock stepped back: %+v", look)
		}
	case to <= from && look.Used != 5:
		return fmt.Errorf("the clock stepped back: %+v", look)
	}
	for _, cost := range []int64{1, 3, 5, 6, math.MaxInt64} {
		if err := sane(p, d.check(p, to, cost)); err != nil {
			return fmt.Errorf("cost %d: %w", cost, err)
		}
		if err := sane(p, d.record(p, to, cost)); err != nil {
			return fmt.Errorf("recorded cost %d: %w", cost, err)
		}
	}
	return nil
}

// TestEndsOfTimeRetry: the delay of a refusal is exact as long as there is time.
func TestEndsOfTimeRetry(t *testing.T) {
	for _, p := range endParams(t) {
		for _, now := range endTimes {
			if p.Algorithm == Events || now > math.MaxInt64-longest(p) {
				continue
			}
			d := newDriver(p.Algorithm, p.Size > math.MaxUint32)
			r := d.check(p, now, 1)
			for n := 0; r.OK && n < 9; n++ { // as many as fit into the window and its queue
				r = d.check(p, now, 1)
			}
			if r.OK || r.Retry < 1 {
				t.Errorf("%v at %d: %+v", p.Algorithm, now, r)
				continue
			}
			if early := d.check(p, now+r.Retry-1, 1); early.OK {
				t.Errorf("%v at %d: passed 1 µs before its retry %d", p.Algorithm, now, r.Retry)
			}
			if due := d.check(p, now+r.Retry, 1); !due.OK {
				t.Errorf("%v at %d: refused at its retry %d: %+v", p.Algorithm, now, r.Retry, due)
			}
		}
	}
}

// TestEndsOfTimeRefund gives back at every time what was charged at every other.
func TestEndsOfTimeRefund(t *testing.T) {
	for _, from := range endTimes {
		for _, to := range endTimes {
			for _, p := range endParams(t) {
				if p.Algorithm == GCRA && from > math.MaxInt64-longest(p) || p.Algorithm == Calendar && to > math.MaxInt64-longest(p) {
					continue
				}
				s, judge := newRefunder(p)
				given := s.refund(to, s.charge(p, from, 3))
				r := judge(p, to, 1)
				if err := sane(p, r); err != nil {
					t.Errorf("%v, charged at %d, given back at %d: %v", p.Algorithm, from, to, err)
				}
				// The queue of GCRA is not empty before its first charge began.
				empty := r.Used == 0 || p.Algorithm == GCRA && to < from
				if to <= from && (!given || !empty) {
					t.Errorf("%v, charged at %d, given back at %d: %v, %+v", p.Algorithm, from, to, given, r)
				}
			}
		}
	}
}

// TestEndsOfTimeDistinct does the same with members.
func TestEndsOfTimeDistinct(t *testing.T) {
	byMonth, err := NewCalendar(Distinct, 5, months)
	if err != nil {
		t.Fatal(err)
	}
	all := []Params{byMonth}
	for _, size := range []int64{MinSize, MaxSize} {
		p, err := New(Distinct, 5, size, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	for _, p := range all {
		for _, from := range endTimes {
			for _, to := range endTimes {
				if p.Periods != nil && max(from, to) > math.MaxInt64-MaxSize {
					continue // the period would end after the end of time
				}
				if err := membersBetween(p, from, to); err != nil {
					t.Errorf("distinct of %d µs, from %d to %d: %v", p.Size, from, to, err)
				}
			}
		}
	}
}

func membersBetween(p Params, from, to int64) error {
	d := &membersDriver{}
	if r := d.check(p, from, []string{"a", "b", "c", "d", "e"}); !r.OK {
		return fmt.Errorf("filling: %+v", r)
	}
	look := d.check(p, to, nil)
	longest := int64(MaxSize)
	if p.Periods == nil {
		longest = p.Size
	}
	empty := to > from && uint64(to)-uint64(from) >= uint64(longest)
	switch {
	case empty && look != Result{OK: true, Remaining: 5}:
		return fmt.Errorf("all have left: %+v", look)
	case to <= from && look.Used != 5:
		return fmt.Errorf("the clock stepped back: %+v", look)
	}
	for _, members := range [][]string{{"a"}, {"f"}, {"a", "g", "h"}, {"1", "2", "3", "4", "5", "6"}} {
		for _, run := range []func(Params, int64, []string) Result{d.check, d.record} {
			r := run(p, to, members)
			switch {
			case r.Retry < 0 || r.Reset < 0 || r.Retry > longest || r.Reset > longest || r.Used < 0 || r.Used > 5:
				return fmt.Errorf("%q: %+v", members, r)
			case r.OK != (r.Retry == 0) && !r.Never:
				return fmt.Errorf("%q: retry of a verdict: %+v", members, r)
			}
		}
	}
	return nil
}
