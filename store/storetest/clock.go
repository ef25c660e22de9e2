package storetest

import (
	"github.com/slidegate/slidegate/limit"
)

func clockClauses() []clause {
	return []clause{
		{"a clock that steps back admits nothing twice and keeps nobody out for longer than a window", stepBack},
		{"a clock that steps back and forth never admits more than max in a window", backAndForth},
		{"a clock that steps far forward empties the windows", farForward},
		{"an entry of later than now stands for now", pulled},
		{"an entry that was moved to now can not be refunded any more", pulledRefund},
	}
}

// longest returns the longest delay that a window can name.
func longest(p limit.Params) int64 {
	switch p.Algorithm {
	case limit.SlidingBuckets:
		return (p.Buckets + 1) * p.Step
	case limit.GCRA:
		return p.Burst * p.Step
	case limit.SlidingCounter:
		return 2 * p.Size
	case limit.Calendar:
		return p.Periods.(*uneven).lengths[2]
	default:
		return p.Size
	}
}

// stepBack fills a window, steps back by more and more, and follows what the
// refusals say.
func stepBack(s *tester) {
	s.each(timed(3, minute), func(s *tester, p limit.Params) {
		for _, back := range []int64{1, second, minute / 2, minute, 5 * hour, 30 * day, 900 * day} {
			s.clock.Set(start)
			w := s.window()
			s.admits(item(w, "k", p, 3))
			s.clock.Add(-back)
			if r := s.look(item(w, "k", p, 1)).Items[0].Result; r.OK || r.Retry > longest(p) || r.Reset > longest(p) {
				s.Fatalf("look, back by %d: %+v", back, r)
			}
			r := s.refuses(item(w, "k", p, 1)).Items[0].Result
			if r.Used != 3 || r.Retry > longest(p) || r.Reset > longest(p) {
				s.Fatalf("back by %d: %+v", back, r)
			}
			s.clock.Add(r.Retry - 1)
			s.refuses(item(w, "k", p, 1))
			s.clock.Add(1)
			s.admits(item(w, "k", p, 1))
		}
	})
}

// backAndForth drives a saw: 10 s forward, 4 s back, a hit on every tooth. The
// time that really passes is what the clock goes forward.
func backAndForth(s *tester) {
	s.each([]limit.Params{sliding(3, minute), buckets(3, minute, 6)}, func(s *tester, p limit.Params) {
		w := s.window()
		var passed int64
		var hits []int64
		for range 200 {
			if s.decide(item(w, "k", p, 1)).Admitted {
				hits = append(hits, passed)
			}
			if n := len(hits); n > 3 && hits[n-1]-hits[n-4] < p.Size {
				s.Fatalf("the 4th hit came %d µs after the 1st", hits[n-1]-hits[n-4])
			}
			s.clock.Add(10 * second)
			passed += 10 * second
			s.decide(item(w, "k", p, 1+3)) // never fits, but the clock is seen
			s.clock.Add(-4 * second)
		}
		if len(hits) < 20 {
			s.Fatalf("only %d hits in %d µs", len(hits), passed)
		}
	})
}

func farForward(s *tester) {
	s.each(timed(3, minute), func(s *tester, p limit.Params) {
		w := s.window()
		s.admits(item(w, "k", p, 3))
		s.clock.Add(40 * 365 * day)
		r := s.look(item(w, "k", p, 3)).Items[0].Result
		if want := (limit.Result{OK: true, Remaining: 3}); r != want {
			s.Fatalf("%+v, want %+v", r, want)
		}
		s.admits(item(w, "k", p, 3))
		s.refuses(item(w, "k", p, 1))
		s.clock.Set(start) // and back again
		if r := s.refuses(item(w, "k", p, 1)).Items[0].Result; r.Used != 3 || r.Retry > longest(p) {
			s.Fatalf("back by 40 years: %+v", r)
		}
	})
}

// pulled: after a step back and a check, the window is as if its hits had come
// at the time that the clock shows then.
func pulled(s *tester) {
	s.each([]limit.Params{sliding(5, minute), sliding(5, 2*hour), buckets(5, minute, 6), fixed(5, minute)}, func(s *tester, p limit.Params) {
		w, twin := s.window(), s.window()
		for range 3 {
			s.admits(item(w, "k", p, 1))
			s.clock.Add(10 * second)
		}
		s.clock.Set(start - 40*second)
		s.deny(item(w, "k", p, 1))
		s.admits(item(twin, "k", p, 3))
		for range 8 {
			for cost := range int64(6) {
				got, want := s.look(item(w, "k", p, cost)).Items[0].Result, s.look(item(twin, "k", p, cost)).Items[0].Result
				if got != want {
					s.Fatalf("cost %d at %d: %+v, want %+v", cost, s.clock.Now(), got, want)
				}
			}
			s.clock.Add(10 * second)
		}
	})
}

// pulledRefund: a charge of later than now can be given back until the first check
// that sees the clock stepped back. After that nobody knows it.
func pulledRefund(s *tester) {
	s.each([]limit.Params{sliding(5, minute), sliding(5, 2*hour), buckets(5, minute, 6), fixed(5, minute)}, func(s *tester, p limit.Params) {
		for _, seen := range []bool{false, true} {
			s.clock.Set(start)
			w, left := s.window(), int64(2)
			s.admits(item(w, "k", p, 2))
			req := s.admits(item(w, "k", p, 1))
			s.clock.Add(-5 * minute)
			if seen {
				s.deny(item(w, "k", p, 1))
				left = 3
			}
			for n := range 2 {
				if given := s.refund(req); given != (n == 0 && !seen) {
					s.Fatalf("seen %v: refund %d gave back %v", seen, n, given)
				}
				s.holds(w, "k", p, left)
			}
		}
	})
}
