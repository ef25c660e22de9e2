package limit

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// queued makes parameters of a queue.
func queued(tb rapid.TB, maximum, size, burst, wait, queue int64) Params {
	tb.Helper()
	p, err := New(GCRA, maximum, size, burst, 0)
	if err == nil {
		p, err = p.Queued(wait, queue)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// TestQueueSpacing: a crowd at one instant goes on in bursts and then exactly T
// apart, as far as the queue reaches, and nobody after that.
func TestQueueSpacing(t *testing.T) {
	for _, c := range []struct {
		name        string
		wait, queue int64
		want        []int64 // instants, in units of T
	}{
		{"as many as may wait", 10_000_000, 4, []int64{0, 0, 0, 1, 2, 3, 4}},
		{"as long as one may wait", 299_999, 100, []int64{0, 0, 0, 1, 2}},
		{"exactly so long", 300_000, 100, []int64{0, 0, 0, 1, 2, 3}},
	} {
		p := queued(t, 10, 1_000_000, 3, c.wait, c.queue)
		m := EmptyMeter()
		var got []int64
		for {
			r := m.Judge(p, base, 1)
			if !r.OK {
				if r.Wait != 0 || r.Retry < 1 {
					t.Errorf("%s: %+v", c.name, r)
				}
				break
			}
			m.Charge(p, base, 1)
			got = append(got, r.Wait/p.Step)
			if r.Wait%p.Step != 0 {
				t.Errorf("%s: %+v", c.name, r)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: instants %v, want %v", c.name, got, c.want)
		}
	}
}

// TestQueueOfManyUnits: a cost over the burst waits until all of it fits.
func TestQueueOfManyUnits(t *testing.T) {
	p := queued(t, 10, 1_000_000, 3, 10_000_000, 4)
	m := EmptyMeter()
	for _, c := range []struct {
		cost int64
		want Result
	}{
		{8, Result{Never: true, Remaining: 3}},
		{7, Result{OK: true, Remaining: 3, Wait: 400_000}},
		{5, Result{OK: true, Remaining: 3, Wait: 200_000}},
		{3, Result{OK: true, Remaining: 3}},
	} {
		if got := m.Judge(p, base, c.cost); got != c.want {
			t.Errorf("cost %d: %+v, want %+v", c.cost, got, c.want)
		}
	}
	m.Charge(p, base, 5)
	if got, want := m.Judge(p, base, 3), (Result{Used: 5, Retry: 100_000, Reset: 500_000}); got != want {
		t.Errorf("behind it: %+v, want %+v", got, want)
	}
	if got, want := m.Judge(p, base, 2), (Result{OK: true, Used: 5, Reset: 500_000, Wait: 400_000}); got != want {
		t.Errorf("behind it: %+v, want %+v", got, want)
	}
}

// TestQueuePromises holds what a queue says over random times: nobody waits longer
// than wait, never more than the queue are waiting, whoever waits follows the one
// before T later, and in any span t of the instants lie at most burst + t/T.
func TestQueuePromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queue, wait := rapid.Int64Range(1, 6).Draw(t, "queue"), rapid.Int64Range(1, 900_000).Draw(t, "wait")
		p := queued(t, 10, 1_000_000, rapid.Int64Range(1, 4).Draw(t, "burst"), wait, queue)
		m := EmptyMeter()
		now := int64(base)
		var instants []int64
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, p.Step), rapid.Int64Range(0, 4*p.Step)).Draw(t, "step")
			m.Advance(p, now)
			r := m.Judge(p, now, 1)
			if !r.OK {
				continue
			}
			m.Charge(p, now, 1)
			instant := now + r.Wait
			if r.Wait > wait || r.Wait < 0 {
				t.Fatalf("waits for %d µs, want at most %d", r.Wait, wait)
			}
			waiting := int64(0)
			for _, at := range append(instants, instant) {
				if at > now {
					waiting++
				}
			}
			if waiting > queue {
				t.Fatalf("%d wait, want at most %d", waiting, queue)
			}
			if n := len(instants); r.Wait > 0 && n > 0 && instants[n-1] > now && instant != instants[n-1]+p.Step {
				t.Fatalf("%d µs after the one before, want %d", instant-instants[n-1], p.Step)
			}
			instants = append(instants, instant)
			for i, first := range instants {
				if n, span := int64(len(instants)-i), instant-first; n > p.Burst+span/p.Step {
					t.Fatalf("%d in %d µs", n, span)
				}
			}
		}
	})
}

// TestQueueRefundsTheLastPlace: and then exactly; a place before it, nothing.
func TestQueueRefundsTheLastPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := queued(t, 10, 1_000_000, rapid.Int64Range(1, 4).Draw(t, "burst"), 900_000, 6)
		type place struct {
			c      Charged
			before int64 // TAT
		}
		m := EmptyMeter()
		now := int64(base)
		var places []place
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 2*p.Step)).Draw(t, "step")
			m.Advance(p, now)
			cost := rapid.Int64Range(1, 3).Draw(t, "cost")
			if m.Judge(p, now, cost).OK {
				before := m.TAT
				places = append(places, place{m.Charge(p, now, cost), before})
			}
			if len(places) == 0 || !rapid.Bool().Draw(t, "refund") {
				continue
			}
			if rapid.Bool().Draw(t, "in the middle") {
				i := rapid.IntRange(0, len(places)-1).Draw(t, "which")
				if state := m; i < len(places)-1 && (m.Refund(now, places[i].c) || m != state) {
					t.Fatalf("place %d of %d was given back", i+1, len(places))
				}
				continue
			}
			last := places[len(places)-1]
			places = places[:len(places)-1]
			busy := m.TAT > now
			if m.Refund(now, last.c) != busy {
				t.Fatalf("the last place: want given back %v", busy)
			}
			if want := max(last.before, now); busy && max(m.TAT, now) != want {
				t.Fatalf("empty at %d, want %d as before", m.TAT-now, want-now)
			}
		}
	})
}

// TestQueueOfOverrides: parameters of one window with queues of their own do not cut
// each other's backlog, and each keeps to its own wait.
func TestQueueOfOverrides(t *testing.T) {
	short, long := queued(t, 10, 1_000_000, 2, 10_000_000, 1), queued(t, 10, 1_000_000, 2, 10_000_000, 8)
	short.Reach = long.Reach
	plain, err := New(GCRA, 10, 1_000_000, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	plain.Reach = long.Reach
	m := EmptyMeter()
	m.Charge(long, base, 7) // five of them wait
	state := m
	for _, p := range []Params{short, plain} {
		if m.Advance(p, base); m != state {
			t.Fatalf("cut from %+v to %+v", state, m)
		}
	}
	if r, want := m.Judge(short, base, 1), (Result{Used: 7, Retry: 500_000, Reset: 700_000}); r != want {
		t.Errorf("the shorter queue: %+v, want %+v", r, want)
	}
	if r, want := m.Judge(plain, base, 1), (Result{Used: 7, Retry: 600_000, Reset: 700_000}); r != want {
		t.Errorf("no queue: %+v, want %+v", r, want)
	}
	if r, want := m.Judge(long, base, 1), (Result{OK: true, Used: 7, Reset: 700_000, Wait: 600_000}); r != want {
		t.Errorf("the longer queue: %+v, want %+v", r, want)
	}
	lower := short
	lower.Reach = 300_000 // nobody has the longer one any more, but five were told their instants
	if m.Advance(lower, base); m != state {
		t.Errorf("a queue that was made shorter is cut from %+v to %+v", state, m)
	}
	if m.Advance(lower, base-10_000_000); m.TAT != base-10_000_000+long.Reach {
		t.Errorf("%+v: the clock stepped back, and somebody waits longer than the longest queue", m)
	}
	if m.Charge(lower, base, 1); m.Held != lower.Reach {
		t.Errorf("%+v: everybody has gone on, and the longer queue is still held", m)
	}
}
