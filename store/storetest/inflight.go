package storetest

import (
	"context"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

func inflightClauses() []clause {
	return []clause{
		{"in flight: a place is free when it is released, once", releasedOnce},
		{"in flight: a place that nobody releases is free at its deadline exactly", holderExpires},
		{"in flight: a release that comes late frees nobody else's place", releasedLate},
		{"in flight: places of one instant are released one by one", releasedTogether},
		{"in flight: places of one request come, are renewed and go together", placesOfOneRequest},
		{"in flight: Release touches nothing but places in flight, Refund gives back all", releaseOnlyHolds},
		{"in flight: Renew moves the deadline and voids the receipt before", renewed},
		{"in flight: Renew says false when one is gone, and the others stay on", renewedInPart},
		{"in flight: Renew after the clock stepped back lets nobody stay longer than from now", renewedAfterAStepBack},
		{"in flight: after Reset neither Release nor Renew finds anything", holdsAfterReset},
		{"in flight: a refused request holds no place, recorded or not", refusedHoldsNothing},
		{"in flight: receipts that lie about what they hold do no harm", lyingHolds},
	}
}

// release and renew call the store with the receipts of a request.
func (s *tester) release(rs []slidegate.Receipt) bool {
	s.Helper()
	released, err := s.store.Release(context.Background(), rs)
	if err != nil {
		s.Fatalf("Release: %v", err)
	}
	return released
}

func (s *tester) renew(rs []slidegate.Receipt) bool {
	s.Helper()
	renewed, err := s.store.Renew(context.Background(), rs)
	if err != nil {
		s.Fatalf("Renew: %v", err)
	}
	return renewed
}

// flights are windows in flight of both lengths of stamps.
func flights(maximum int64) []limit.Params {
	return []limit.Params{inflight(maximum, minute), inflight(maximum, 2*hour)}
}

func releasedOnce(s *tester) {
	s.each(flights(2), func(s *tester, p limit.Params) {
		w := s.window()
		first := s.admits(item(w, "k", p, 1))
		if r := first.Items[0].Receipt; r.Kind != slidegate.InFlight {
			s.Fatalf("receipt %+v does not say that it holds a place", r)
		}
		s.clock.Add(second)
		s.admits(item(w, "k", p, 1))
		if r := s.refuses(item(w, "k", p, 1)).Items[0].Result; r.Retry != p.Size-second || r.Used != 2 || r.Reset != p.Size {
			s.Fatalf("%+v", r)
		}
		for n := range 3 {
			if got := s.release(receipts(first)); got != (n == 0) {
				s.Fatalf("release %d: %v", n, got)
			}
			s.holds(w, "k", p, 1)
		}
		if s.refund(first) {
			s.Fatal("refunded what was released")
		}
		s.admits(item(w, "k", p, 1))
		if s.release(receipts(first)) || s.refund(first) {
			s.Fatal("released the place of another")
		}
		s.holds(w, "k", p, 2)
	})
}

func holderExpires(s *tester) {
	s.each(flights(3), func(s *tester, p limit.Params) {
		w := s.window()
		for range 3 {
			s.admits(item(w, "k", p, 1))
			s.clock.Add(second)
		}
		for left := int64(2); left >= 0; left-- {
			s.clock.Set(start + p.Size + (2-left)*second - 1)
			s.holds(w, "k", p, left+1)
			s.clock.Add(1)
			s.holds(w, "k", p, left)
		}
		if r := s.look(item(w, "k", p, 1)).Items[0].Result; r != (limit.Result{OK: true, Remaining: 3}) {
			s.Fatalf("%+v", r)
		}
	})
}

func releasedLate(s *tester) {
	s.each(flights(1), func(s *tester, p limit.Params) {
		for _, used := range []bool{false, true} {
			s.clock.Set(start)
			w := s.window()
			late := receipts(s.admits(item(w, "k", p, 1)))
			s.clock.Add(p.Size)
			if used {
				s.admits(item(w, "k", p, 1))
			}
			if s.release(late) || s.renew(late) {
				s.Fatalf("used %v: released or renewed at the deadline", used)
			}
			s.holds(w, "k", p, map[bool]int64{true: 1}[used])
		}
	})
}

func releasedTogether(s *tester) {
	s.each(flights(3), func(s *tester, p limit.Params) {
		for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}} {
			w := s.window()
			var all []*store.Request
			for range 3 {
				all = append(all, s.admits(item(w, "k", p, 1)))
			}
			for n, i := range order {
				s.clock.Add(int64(n)) // the first at the same microsecond
				if !s.release(receipts(all[i])) || s.release(receipts(all[i])) {
					s.Fatalf("order %v, place %d: want it released once", order, i)
				}
				s.holds(w, "k", p, 2-int64(n))
			}
		}
	})
}

func placesOfOneRequest(s *tester) {
	s.each(flights(5), func(s *tester, p limit.Params) {
		w := s.window()
		if r := s.refuses(item(w, "k", p, 6)).Items[0].Result; !r.Never {
			s.Fatalf("six of five: %+v", r)
		}
		three, two := receipts(s.admits(item(w, "k", p, 3))), receipts(s.admits(item(w, "k", p, 2)))
		s.refuses(item(w, "k", p, 1))
		s.clock.Add(second)
		old := append([]slidegate.Receipt{}, three...)
		if !s.renew(three) || s.release(old) {
			s.Fatal("want three renewed, and the receipt before void")
		}
		s.holds(w, "k", p, 5)
		s.clock.Add(p.Size - second)
		s.holds(w, "k", p, 3)
		if s.release(two) || !s.release(three) || s.release(three) {
			s.Fatal("want two gone, and three released once")
		}
		s.holds(w, "k", p, 0)
	})
}

func releaseOnlyHolds(s *tester) {
	for _, refund := range []bool{false, true} {
		s.clock.Set(start)
		var items []store.Item
		for _, p := range append(timed(5, minute), inflight(5, minute), inflight(5, minute)) {
			items = append(items, item(s.window(), "k", p, 2))
		}
		req := s.admits(append(items, given1(item(s.window(), "k", distinct(5, minute), 1), "a", "b"))...)
		call := s.release
		if refund {
			call = func([]slidegate.Receipt) bool { return s.refund(req) }
		}
		if !call(receipts(req)) || call(receipts(req)) {
			s.Fatalf("refund %v: want it done once", refund)
		}
		for _, it := range req.Items {
			want := int64(2)
			if refund || it.Limit.Algorithm == limit.Inflight {
				want = 0
			}
			s.holds(it.Window, "k", *it.Limit, want)
		}
		if refund {
			continue
		}
		if !s.refund(req) {
			s.Fatal("the rest was not given back after the release")
		}
		for _, it := range req.Items {
			s.holds(it.Window, "k", *it.Limit, 0)
		}
	}
	without := receipts(s.admits(item(s.window(), "k", sliding(5, minute), 1)))
	if s.release(without) || s.renew(without) || s.release(nil) || s.renew(nil) {
		s.Fatal("released or renewed nothing")
	}
}

func renewed(s *tester) {
	s.each(flights(2), func(s *tester, p limit.Params) {
		w := s.window()
		rs := receipts(s.admits(item(w, "k", p, 1)))
		old := append([]slidegate.Receipt{}, rs...)
		for range 5 { // far longer than one size
			s.clock.Add(p.Size - 1)
			if !s.renew(rs) {
				s.Fatal("gone before its deadline")
			}
			if r := s.look(item(w, "k", p, 1)).Items[0].Result; r.Used != 1 || r.Reset != p.Size {
				s.Fatalf("%+v", r)
			}
			if s.release(old) || s.refundOf(old) || s.renew(old) {
				s.Fatal("the receipt before the renewal is still good")
			}
			copy(old, rs)
		}
		if !s.renew(rs) || s.release(old) { // at the same microsecond
			s.Fatal("renewed again: want the new receipt good and the one before void")
		}
		s.holds(w, "k", p, 1)
		s.clock.Add(p.Size - 1)
		s.holds(w, "k", p, 1)
		again := append([]slidegate.Receipt{}, rs...)
		if !s.release(rs) || s.release(again) {
			s.Fatal("want it released once")
		}
		s.holds(w, "k", p, 0)
	})
}

// refundOf is refund for receipts.
func (s *tester) refundOf(rs []slidegate.Receipt) bool {
	s.Helper()
	given, err := s.store.Refund(context.Background(), rs)
	if err != nil {
		s.Fatalf("Refund: %v", err)
	}
	return given
}

func renewedInPart(s *tester) {
	short, long := s.window(), s.window()
	p, q := inflight(2, minute), inflight(2, 2*hour)
	rs := receipts(s.admits(item(short, "k", p, 1), item(long, "k", q, 1), item(s.window(), "k", sliding(5, 2*hour), 1)))
	s.clock.Add(minute)
	if s.renew(rs) {
		s.Fatal("one is gone, and Renew says that all were there")
	}
	s.holds(short, "k", p, 0)
	if r := s.look(item(long, "k", q, 1)).Items[0].Result; r.Used != 1 || r.Reset != 2*hour {
		s.Fatalf("the other one was not renewed: %+v", r)
	}
	if !s.release(rs) {
		s.Fatal("the other one was not released")
	}
	s.holds(long, "k", q, 0)
}

// renewedAfterAStepBack: the place of later than now stands for now from then on.
func renewedAfterAStepBack(s *tester) {
	s.each(flights(3), func(s *tester, p limit.Params) {
		w := s.window()
		first := receipts(s.admits(item(w, "k", p, 1)))
		s.clock.Add(20 * second)
		s.admits(item(w, "k", p, 1))
		s.clock.Add(-10 * second)
		if !s.renew(first) {
			s.Fatal("gone when the clock stepped back")
		}
		if r, want := s.look(item(w, "k", p, 1)).Items[0].Result, (limit.Result{OK: true, Used: 2, Remaining: 1, Reset: p.Size}); r != want {
			s.Fatalf("%+v, want %+v", r, want)
		}
		s.clock.Add(p.Size - 1)
		s.holds(w, "k", p, 2)
		if !s.release(first) {
			s.Fatal("what was renewed is gone before its deadline")
		}
		s.clock.Add(1)
		s.holds(w, "k", p, 0)
	})
}

func holdsAfterReset(s *tester) {
	s.each(flights(2), func(s *tester, p limit.Params) {
		w := s.window()
		old := receipts(s.admits(item(w, "k", p, 1)))
		s.reset(item(w, "k", p, 1))
		for range 2 {
			if s.release(old) || s.renew(old) {
				s.Fatal("released or renewed what Reset took")
			}
			s.admits(item(w, "k", p, 1)) // of the same instant
		}
		s.holds(w, "k", p, 2)
	})
}

func refusedHoldsNothing(s *tester) {
	s.each(flights(2), func(s *tester, p limit.Params) {
		w, full := s.window(), item(s.window(), "k", sliding(0, minute), 1)
		for range 3 {
			if it := s.refuses(recorded(item(w, "k", p, 1)), full).Items[0]; it.Charged || !it.Result.OK {
				s.Fatalf("refused by another: %+v", it)
			}
		}
		s.holds(w, "k", p, 0)
		for range 2 {
			s.admits(recorded(item(w, "k", p, 1)))
		}
		for range 3 {
			if it := s.refuses(recorded(item(w, "k", p, 1))).Items[0]; it.Charged || it.Result.Used != 2 {
				s.Fatalf("full: %+v", it)
			}
		}
		s.holds(w, "k", p, 2)
	})
}

// lyingHolds turns around what receipts say of holding a place.
func lyingHolds(s *tester) {
	var items []store.Item
	for _, p := range append(append(timed(5, minute), events(5, 20)), flights(5)...) {
		items = append(items, item(s.window(), "k", p, 1))
	}
	items = append(items, given1(item(s.window(), "k", distinct(5, minute), 1), "a"))
	req := s.admits(items...)
	rs := receipts(req)
	for i := range rs {
		rs[i].Kind ^= slidegate.InFlight
	}
	if s.release(rs) || s.renew(rs) {
		s.Fatal("released or renewed what is not in flight")
	}
	for _, it := range req.Items {
		s.holds(it.Window, "k", *it.Limit, 1)
	}
	if !s.refund(req) {
		s.Fatal("the true receipts are not good any more")
	}
	for _, it := range req.Items {
		s.holds(it.Window, "k", *it.Limit, 0)
	}
}
