package limit

import "testing"

// edge is one check, and what it must answer.
type edge struct {
	name     string
	at, cost int64
	want     Result
}

const base = 1_700_000_040_000_000 // the edge of a minute

// TestEdges names the boundary cases: 3 per minute, by every algorithm over time.
func TestEdges(t *testing.T) {
	const second, minute = 1_000_000, 60_000_000
	for _, c := range []struct {
		a              Algorithm
		burst, buckets int64
		edges          []edge
	}{
		{SlidingLog, 0, 0, []edge{
			{"cost 0 before the first event", 0, 0, Result{OK: true, Remaining: 3}},
			{"first event", 0, 1, Result{OK: true, Used: 1, Remaining: 2, Reset: minute}},
			{"cost over what is left", 10 * second, 3, Result{Used: 1, Remaining: 2, Retry: minute - 10*second, Reset: minute - 10*second}},
			{"cost over max", 10 * second, 4, Result{Never: true, Used: 1, Remaining: 2, Reset: minute - 10*second}},
			{"many at once", 10 * second, 2, Result{OK: true, Used: 3, Reset: minute}},
			{"cost 0 when full", 10 * second, 0, Result{OK: true, Used: 3, Reset: minute}},
			{"1 µs before the edge", minute - 1, 1, Result{Used: 3, Retry: 1, Reset: 10*second + 1}},
			{"at the edge", minute, 1, Result{OK: true, Used: 3, Reset: minute}},
			{"time back", 30 * second, 1, Result{Used: 3, Retry: minute - 20*second, Reset: minute}},
			{"gap longer than the window", 999 * minute, 3, Result{OK: true, Used: 3, Reset: minute}},
		}},
		{SlidingBuckets, 0, 6, []edge{
			{"cost 0 before the first event", 0, 0, Result{OK: true, Remaining: 3}},
			{"first event", 9 * second, 1, Result{OK: true, Used: 1, Remaining: 2, Reset: minute + second}},
			{"cost over what is left", 10 * second, 3, Result{Used: 1, Remaining: 2, Retry: minute, Reset: minute}},
			{"cost over max", 10 * second, 4, Result{Never: true, Used: 1, Remaining: 2, Reset: minute}},
			{"in the next slice", 10 * second, 2, Result{OK: true, Used: 3, Reset: minute + 10*second}},
			{"the oldest slice counts whole", minute + 10*second - 1, 1, Result{Used: 3, Retry: 1, Reset: 10*second + 1}},
			{"when its slice is out", minute + 10*second, 1, Result{OK: true, Used: 3, Reset: minute + 10*second}},
			{"time back", 40 * second, 1, Result{Used: 3, Retry: 40 * second, Reset: minute + 10*second}},
			{"gap longer than the window", 999 * minute, 3, Result{OK: true, Used: 3, Reset: minute + 10*second}},
		}},
		{GCRA, 3, 0, []edge{
			{"cost 0 before the first event", 0, 0, Result{OK: true, Remaining: 3}},
			{"first event", 0, 1, Result{OK: true, Used: 1, Remaining: 2, Reset: 20 * second}},
			{"cost over what is left", 0, 3, Result{Used: 1, Remaining: 2, Retry: 20 * second, Reset: 20 * second}},
			{"cost over the burst", 0, 4, Result{Never: true, Used: 1, Remaining: 2, Reset: 20 * second}},
			{"the whole burst", 0, 2, Result{OK: true, Used: 3, Reset: minute}},
			{"1 µs before a unit is worked off", 20*second - 1, 1, Result{Used: 3, Retry: 1, Reset: minute - 20*second + 1}},
			{"when it is", 20 * second, 1, Result{OK: true, Used: 3, Reset: minute}},
			{"time back", -100 * second, 1, Result{Used: 3, Retry: 20 * second, Reset: minute}},
			{"gap longer than the burst", 999 * minute, 3, Result{OK: true, Used: 3, Reset: minute}},
		}},
		{Fixed, 0, 0, []edge{
			{"cost 0 before the first event", 0, 0, Result{OK: true, Remaining: 3}},
			{"first event", 0, 1, Result{OK: true, Used: 1, Remaining: 2, Reset: minute}},
			{"cost over what is left", 10 * second, 3, Result{Used: 1, Remaining: 2, Retry: minute - 10*second, Reset: minute - 10*second}},
			{"cost over max", 10 * second, 4, Result{Never: true, Used: 1, Remaining: 2, Reset: minute - 10*second}},
			{"many at once", 10 * second, 2, Result{OK: true, Used: 3, Reset: minute - 10*second}},
			{"1 µs before the edge", minute - 1, 1, Result{Used: 3, Retry: 1, Reset: 1}},
			{"at the edge", minute, 3, Result{OK: true, Used: 3, Reset: minute}},
			{"time back", 30 * second, 1, Result{Used: 3, Retry: 30 * second, Reset: 30 * second}},
			{"gap longer than the window", 999 * minute, 3, Result{OK: true, Used: 3, Reset: minute}},
		}},
		{SlidingCounter, 0, 0, []edge{
			{"cost 0 before the first event", 0, 0, Result{OK: true, Remaining: 3}},
			{"first event", 0, 1, Result{OK: true, Used: 1, Remaining: 2, Reset: 2 * minute}},
			{"cost over what is left", 10 * second, 3, Result{Used: 1, Remaining: 2, Retry: 2*minute - 10*second, Reset: 2*minute - 10*second}},
			{"cost over max", 10 * second, 4, Result{Never: true, Used: 1, Remaining: 2, Reset: 2*minute - 10*second}},
			{"many at once", 10 * second, 2, Result{OK: true, Used: 3, Reset: 2*minute - 10*second}},
			{"1 µs before the edge", minute - 1, 1, Result{Used: 3, Retry: 20*second + 1, Reset: minute + 1}},
			{"1 µs before a third of it is out", minute + 20*second - 1, 1, Result{Used: 3, Retry: 1, Reset: 40*second + 1}},
			{"when it is", minute + 20*second, 1, Result{OK: true, Used: 3, Reset: minute + 40*second}},
			{"time back", 30 * second, 1, Result{Used: 4, Retry: minute, Reset: minute + 30*second}},
			{"gap longer than two windows", 999 * minute, 3, Result{OK: true, Used: 3, Reset: 2 * minute}},
		}},
		{Inflight, 0, 0, []edge{
			{"cost 0 before the first", 0, 0, Result{OK: true, Remaining: 3}},
			{"a cost that never fits", 0, 1 << 60, Result{Never: true, Remaining: 3}},
			{"one", 0, 1, Result{OK: true, Used: 1, Remaining: 2, Reset: minute}},
			{"two more", 10 * second, 1, Result{OK: true, Used: 2, Remaining: 1, Reset: minute}},
			{"two more", 20 * second, 1, Result{OK: true, Used: 3, Reset: minute}},
			{"cost 0 when full", 20 * second, 0, Result{OK: true, Used: 3, Reset: minute}},
			{"1 µs before a deadline", minute - 1, 1, Result{Used: 3, Retry: 1, Reset: 20*second + 1}},
			{"at the deadline", minute, 1, Result{OK: true, Used: 3, Reset: minute}},
			{"time back", 15 * second, 1, Result{Used: 3, Retry: minute - 5*second, Reset: minute}},
		}},
	} {
		p, err := New(c.a, 3, minute, c.burst, c.buckets)
		if err != nil {
			t.Fatal(err)
		}
		d := newDriver(c.a, false)
		for _, e := range c.edges {
			if got := d.check(p, base+e.at, e.cost); got != e.want {
				t.Errorf("%v, %s:\n got %+v\nwant %+v", c.a, e.name, got, e.want)
			}
		}
	}
}

// TestEventsEdges: 2 per 4 checks.
func TestEventsEdges(t *testing.T) {
	p, err := New(Events, 2, 4, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := newDriver(Events, false)
	for i, e := range []edge{
		{"cost 0 before the first event", 0, 0, Result{OK: true, Remaining: 2}},
		{"first event", 0, 1, Result{OK: true, Used: 1, Remaining: 1}},
		{"any cost is one", 0, 1 << 60, Result{OK: true, Used: 2}},
		{"full, in time back", -1 << 60, 1, Result{Used: 2, Retry: 2}},
		{"full, in a gap of time", 1 << 60, 1, Result{Used: 2, Retry: 1}},
		{"at the edge", 0, 1, Result{OK: true, Used: 1, Remaining: 1}},
		{"and the next", 0, 1, Result{OK: true, Used: 2}},
	} {
		if got := d.check(p, base+e.at, e.cost); got != e.want {
			t.Errorf("%d, %s:\n got %+v\nwant %+v", i, e.name, got, e.want)
		}
	}
}

// TestCalendarEdges: 3 in each period of 1 ms, 7 µs, and an hour.
func TestCalendarEdges(t *testing.T) {
	const hour = 3_600_000_000
	p, err := NewCalendar(Calendar, 3, irregular{1000, 7, hour})
	if err != nil {
		t.Fatal(err)
	}
	d := newDriver(Calendar, false)
	for _, e := range []edge{
		{"cost 0 before the first event", 400, 0, Result{OK: true, Remaining: 3}},
		{"first event", 400, 3, Result{OK: true, Used: 3, Reset: 600}},
		{"1 µs before the edge", 999, 1, Result{Used: 3, Retry: 1, Reset: 1}},
		{"at the edge", 1000, 2, Result{OK: true, Used: 2, Remaining: 1, Reset: 7}},
		{"cost over what is left", 1005, 2, Result{Used: 2, Remaining: 1, Retry: 2, Reset: 2}},
		{"cost over max", 1005, 4, Result{Never: true, Used: 2, Remaining: 1, Reset: 2}},
		{"the longest period", 1007, 3, Result{OK: true, Used: 3, Reset: hour}},
		{"late in it", 1006 + hour, 1, Result{Used: 3, Retry: 1, Reset: 1}},
		{"time back", 500, 1, Result{Used: 3, Retry: 500, Reset: 500}},
		{"before the epoch", -1, 1, Result{Used: 3, Retry: 1, Reset: 1}},
		{"periods later", 5*hour + 6000, 1, Result{OK: true, Used: 1, Remaining: 2, Reset: 5*1007 - 5000}},
	} {
		if got := d.check(p, e.at, e.cost); got != e.want {
			t.Errorf("%s:\n got %+v\nwant %+v", e.name, got, e.want)
		}
	}
}
