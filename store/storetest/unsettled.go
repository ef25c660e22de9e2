package storetest

import (
	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

// unsettled makes an item one whose charge is settled by a report.
func unsettled(it store.Item, held int64, release bool) store.Item {
	it.Hold = &store.Hold{For: held, Release: release}
	return it
}

func unsettledChanges(s *tester) {
	s.each(timed(1000, minute), func(s *tester, p limit.Params) {
		for amount, want := range map[int64]int64{0: 0, 7: 7, 10: 10, 25: 25, kept: 10} {
			s.clock.Set(start)
			w := s.window()
			req := s.admits(unsettled(item(w, "k", p, 10), 30*second, false))
			if r := req.Items[0].Receipt; r.Kind != slidegate.Unsettled {
				s.Fatalf("receipt %+v", r)
			}
			s.holds(w, "k", p, 10)
			for n := range 2 {
				if got := s.report(req, amount).Settled; got != (n == 0) {
					s.Fatalf("report %d of %d settles: %v", n, amount, got)
				}
				s.holds(w, "k", p, want)
			}
			if s.refund(req) {
				s.Fatal("refunded what was settled")
			}
			back := s.admits(unsettled(item(w, "k", p, 10), 30*second, false))
			if !s.refund(back) || s.refund(back) || s.report(back, 7).Settled {
				s.Fatal("want it given back once")
			}
			s.holds(w, "k", p, want)
		}
	})
}

func unsettledDeadline(s *tester) {
	s.each(append(timed(10, minute), distinct(10, minute)), func(s *tester, p limit.Params) {
		for _, release := range []bool{false, true} {
			s.clock.Set(start)
			w := s.window()
			it := unsettled(item(w, "k", p, 3), second, release)
			if p.Algorithm == limit.Distinct {
				it.Members = [][]byte{[]byte("a"), []byte("b"), []byte("c")}
			}
			req := s.admits(it)
			look := unsettled(item(w, "k", p, 0), second, release)
			before := s.look(look).Items[0].Result.Used
			s.clock.Add(second - 1)
			if got := s.look(look).Items[0].Result.Used; got != before && p.Algorithm != limit.GCRA && p.Algorithm != limit.SlidingCounter || got == 0 {
				s.Fatalf("release %v: %d used before the deadline", release, got)
			}
			s.clock.Add(1)
			if got := s.look(look).Items[0].Result.Used; (got == 0) != release {
				s.Fatalf("release %v: %d used at the deadline", release, got)
			}
			if s.report(req, 0).Settled {
				s.Fatal("settled at the deadline")
			}
			if got := s.look(look).Items[0].Result.Used; (got == 0) != release {
				s.Fatalf("release %v: %d used after a report that came late", release, got)
			}
			s.admits(it)
		}
	})
}

func unsettledLeft(s *tester) {
	s.each(timed(10, second), func(s *tester, p limit.Params) {
		for _, release := range []bool{false, true} {
			w := s.window()
			it := unsettled(item(w, "k", p, 3), 3*hour, release)
			given, changed := s.admits(it), s.admits(it)
			s.clock.Add(2*hour + second)
			if s.refund(given) || !s.report(changed, 9).Settled {
				s.Fatal("want nothing given back, and the other settled")
			}
			if p.Algorithm != limit.GCRA { // what takes more time than it was given takes it now
				s.holds(w, "k", p, 0)
			}
			s.admits(it)
		}
	})
}

func unsettledInflight(s *tester) {
	p, w := inflight(1, minute), s.window()
	req := s.admits(item(w, "k", p, 1))
	s.refuses(item(w, "k", p, 1))
	for n := range 2 {
		if got := s.report(req, kept).Settled; got != (n == 0) {
			s.Fatalf("report %d settles: %v", n, got)
		}
	}
	s.admits(item(w, "k", p, 1))
}

func unsettledReset(s *tester) {
	p, w := sliding(1, 10*minute), s.window()
	check := reported(item(w, "k", p, 1), minute, false)
	held := s.admits(check)
	s.refuses(check)
	s.reset(check)
	if s.report(held, kept).Settled || s.refund(held) {
		s.Fatal("settled what Reset emptied")
	}
	s.admits(check)
}
