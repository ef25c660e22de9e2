package storetest

import (
	"math"

	"github.com/slidegate/slidegate/limit"
)

func windowClauses() []clause {
	return []clause{
		{"an entry exactly one window old is out, one microsecond younger is in", halfOpen},
		{"hits almost a window apart both count", farApart},
		{"a slice and an aligned window end at their edge", alignedEdges},
		{"hits of the same instant are as many hits", sameInstant},
		{"a cost is charged whole or not at all", costs},
		{"a cost of 0 passes if and only if used <= max, and changes nothing", costZero},
		{"a maximum of 0 is a ban", ban},
		{"a raised or lowered maximum keeps the history", raisedAndLowered},
		{"a burst of gcra may be raised and lowered", burstChanged},
		{"gaps much longer than the window leave nothing", longGaps},
	}
}

// logs returns logs of lengths on both sides of 2^32 µs, where a store may change
// how it keeps its stamps.
func logs(maximum int64) (all []limit.Params) {
	for _, size := range []int64{1000, 10 * second, math.MaxUint32, math.MaxUint32 + 1, math.MaxUint32 + 2, 30 * day} {
		all = append(all, sliding(maximum, size))
	}
	return all
}

func farApart(s *tester) {
	s.each(logs(3), func(s *tester, p limit.Params) {
		w := s.window()
		for range 5 {
			s.admits(item(w, "k", p, 1))
			s.clock.Add(p.Size - 1)
			if r := s.admits(item(w, "k", p, 2)).Items[0].Result; r.Used != 3 || r.Reset != p.Size {
				s.Fatalf("%+v", r)
			}
			if r := s.refuses(item(w, "k", p, 1)).Items[0].Result; r.Retry != 1 {
				s.Fatalf("%+v", r)
			}
			s.clock.Add(1)
			s.holds(w, "k", p, 2)
			s.clock.Add(p.Size)
		}
	})
}

func halfOpen(s *tester) {
	s.each(logs(3), func(s *tester, p limit.Params) {
		w := s.window()
		for round := range 2 {
			for left := int64(2); left >= 0; left-- {
				if r := s.hit(w, "k", p, 1); !r.OK || r.Remaining != left {
					s.Fatalf("round %d: %+v, want %d left", round, r, left)
				}
			}
			if r := s.hit(w, "k", p, 1); r.OK || r.Retry != p.Size {
				s.Fatalf("round %d: %+v, want to wait for %d", round, r, p.Size)
			}
			s.clock.Add(p.Size - 1)
			if r := s.hit(w, "k", p, 1); r.OK || r.Retry != 1 || r.Used != 3 {
				s.Fatalf("round %d, 1 µs early: %+v", round, r)
			}
			s.clock.Add(1)
		}
	})
}

func alignedEdges(s *tester) {
	p, w := fixed(2, minute), s.window()
	edge := start - start%minute + minute
	s.clock.Set(edge - 1)
	s.admits(item(w, "k", p, 2))
	if r := s.hit(w, "k", p, 1); r.OK || r.Retry != 1 || r.Reset != 1 {
		s.Fatalf("1 µs before the edge: %+v", r)
	}
	s.clock.Set(edge)
	s.admits(item(w, "k", p, 2))

	// Six slices of 10 s: a hit in the last microsecond of one is out when
	// the seventh after it begins.
	p, w = buckets(2, minute, 6), s.window()
	s.clock.Set(edge - 1)
	s.admits(item(w, "k", p, 2))
	s.clock.Set(edge)
	if r := s.hit(w, "k", p, 1); r.OK || r.Retry != minute || r.Reset != minute {
		s.Fatalf("in the next slice: %+v", r)
	}
	s.clock.Set(edge + minute - 1)
	if r := s.hit(w, "k", p, 1); r.OK || r.Retry != 1 {
		s.Fatalf("1 µs before its slice leaves: %+v", r)
	}
	s.clock.Set(edge + minute)
	s.admits(item(w, "k", p, 2))
}

// sameInstant: 25 checks in one tick of the clock, then again when they are out.
func sameInstant(s *tester) {
	s.each([]limit.Params{sliding(10, second), buckets(10, second, 5), gcra(10, second, 10), fixed(10, second)}, func(s *tester, p limit.Params) {
		w := s.window()
		count := func(n int) (admitted int) {
			for range n {
				if s.decide(item(w, "k", p, 1)).Admitted {
					admitted++
				}
			}
			return admitted
		}
		if got := count(25); got != 10 {
			s.Fatalf("%d of 25 admitted, want 10", got)
		}
		s.holds(w, "k", p, 10)
		s.clock.Add((p.Buckets + 1) * max(p.Step, second))
		if got := count(11); got != 10 {
			s.Fatalf("%d of 11 admitted one window later, want 10", got)
		}
	})
}

func costs(s *tester) {
	s.each(timed(10, minute), func(s *tester, p limit.Params) {
		w := s.window()
		for _, c := range []struct {
			cost, used int64
			ok, never  bool
		}{
			{4, 4, true, false},
			{7, 4, false, false}, // over: not even in part
			{11, 4, false, true},
			{math.MaxInt64, 4, false, true},
			{6, 10, true, false},
			{1, 10, false, false},
			{10, 10, false, false},
			{11, 10, false, true},
		} {
			r := s.hit(w, "k", p, c.cost)
			if r.OK != c.ok || r.Never != c.never || r.Used != c.used || r.Remaining != 10-c.used {
				s.Fatalf("cost %d: %+v, want %+v", c.cost, r, c)
			}
			if refused := !c.ok && !c.never; refused != (r.Retry > 0) {
				s.Fatalf("cost %d: %+v", c.cost, r)
			}
		}
	})
	p, w := events(2, 10), s.window() // any cost is one check
	for _, cost := range []int64{1, math.MaxInt64} {
		s.admits(item(w, "k", p, cost))
	}
	s.holds(w, "k", p, 2)
	s.refuses(item(w, "k", p, 1))
}

func costZero(s *tester) {
	s.each(append(timed(3, minute), events(3, 10)), func(s *tester, p limit.Params) {
		w := s.window()
		for n := range int64(3) {
			s.admits(item(w, "k", p, 0))
			s.holds(w, "k", p, n)
			s.admits(item(w, "k", p, 1))
		}
		full := s.admits(item(w, "k", p, 0))
		if it := full.Items[0]; it.Charged || it.Result.Used != 3 {
			s.Fatalf("%+v", it)
		}
		if p.Algorithm == limit.GCRA {
			return // its capacity is the burst: see burstChanged
		}
		lower := p
		lower.Max = 2
		r := s.refuses(item(w, "k", lower, 0)).Items[0].Result
		if r.Never || r.Retry <= 0 {
			s.Fatalf("3 used of 2: %+v", r)
		}
		s.holds(w, "k", lower, 3)
	})
}

func ban(s *tester) {
	all := []limit.Params{sliding(0, minute), sliding(0, 2*hour), buckets(0, minute, 6), gcra(0, minute, 5), fixed(0, minute), events(0, 10)}
	s.each(all, func(s *tester, p limit.Params) {
		w := s.window()
		for range 2 {
			s.admits(item(w, "k", p, 0))
			r := s.refuses(item(w, "k", p, 1)).Items[0].Result
			if want := (limit.Result{Never: true}); r != want {
				s.Fatalf("%+v, want %+v", r, want)
			}
			s.refuses(recorded(item(w, "k", p, 1)))
			s.holds(w, "k", p, 0)
			s.clock.Add(p.Size)
		}
	})
}

func raisedAndLowered(s *tester) {
	all := []limit.Params{sliding(5, minute), sliding(5, 2*hour), buckets(5, minute, 6), fixed(5, minute), events(5, 20)}
	s.each(all, func(s *tester, p limit.Params) {
		w := s.window()
		for range 5 {
			s.admits(item(w, "k", p, 1))
		}
		for _, maximum := range []int64{4, 1, 0} {
			p.Max = maximum
			r := s.refuses(item(w, "k", p, 1)).Items[0].Result
			if r.Used != 5 || r.Remaining != 0 || r.Never != (maximum == 0) {
				s.Fatalf("max lowered to %d: %+v", maximum, r)
			}
		}
		p.Max = 7
		s.holds(w, "k", p, 5)
		s.admits(item(w, "k", p, 1))
		if r := s.admits(item(w, "k", p, 1)).Items[0].Result; r.Remaining != 0 {
			s.Fatalf("max raised to 7: %+v", r)
		}
		s.refuses(item(w, "k", p, 1))
	})
}

// burstChanged: a window of gcra gives up what a lower burst does not hold.
func burstChanged(s *tester) {
	w, p := s.window(), gcra(60, minute, 5)
	s.admits(item(w, "k", p, 5))
	lower := gcra(60, minute, 2)
	if r := s.refuses(item(w, "k", lower, 1)).Items[0].Result; r.Used != 2 || r.Remaining != 0 || r.Retry != second {
		s.Fatalf("burst lowered to 2: %+v", r)
	}
	higher := gcra(60, minute, 8)
	if r := s.admits(item(w, "k", higher, 6)).Items[0].Result; r.Used != 8 {
		s.Fatalf("burst raised to 8: %+v", r)
	}
	s.refuses(item(w, "k", higher, 1))
}

func longGaps(s *tester) {
	s.each(timed(3, minute), func(s *tester, p limit.Params) {
		w := s.window()
		for _, gap := range []int64{3 * hour, 50 * day, 400 * day, 2000 * day} {
			r := s.admits(item(w, "k", p, 3)).Items[0].Result
			if r.Used != 3 || r.Reset <= 0 {
				s.Fatalf("%+v", r)
			}
			s.refuses(item(w, "k", p, 1))
			s.clock.Add(gap)
			if r := s.look(item(w, "k", p, 3)).Items[0].Result; !r.OK || r.Used != 0 || r.Reset != 0 {
				s.Fatalf("after %d µs: %+v", gap, r)
			}
		}
	})
}
