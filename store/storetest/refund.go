package storetest

import (
	"context"
	"fmt"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
	"pgregory.net/rapid"
)

func refundClauses() []clause {
	return []clause{
		{"a refund gives back exactly what was taken, once", refundExact},
		{"a refund leaves hits of the same instant to their owners", refundNeighbours},
		{"a refund covers every window of a request, shadows and recorded ones too", refundAll},
		{"a refusal that was only recorded is not given back", refundRefusal},
		{"a refund of a check of events unmarks it and leaves it entered", refundEvents},
		{"a refund that comes late gives nothing back", refundLate},
		{"a refund of nothing gives nothing back", refundNothing},
		{"a refund after Reset gives nothing back", refundAfterReset},
		{"a refund after several Resets gives nothing back", refundAfterResets},
		{"after refunds remaining <= max and never over", refundNeverOver},
		{"refunds of gcra never give back more than if the charges had never been", refundQueue},
		{"Reset empties the windows it names and no others", resetEmpties},
	}
}

func refundExact(s *tester) {
	s.each(append(timed(9, minute), events(9, 20)), func(s *tester, p limit.Params) {
		w := s.window()
		kept := s.admits(item(w, "k", p, 4))
		s.clock.Add(7 * second)
		gone := s.admits(item(w, "k", p, 3))
		want := s.used(w, "k", p) - units(p, 3)
		if !s.refund(gone) {
			s.Fatal("nothing was given back")
		}
		s.holds(w, "k", p, want)
		for range 2 {
			if s.refund(gone) {
				s.Fatal("given back a second time")
			}
		}
		s.holds(w, "k", p, want)
		if p.Algorithm == limit.Events {
			return
		}
		// As if it had never been, to the delays.
		r, twin := s.look(item(w, "k", p, 9)).Items[0].Result, s.window()
		s.clock.Add(-7 * second)
		s.admits(item(twin, "k", p, 4))
		s.clock.Add(7 * second)
		if as := s.look(item(twin, "k", p, 9)).Items[0].Result; r != as {
			s.Fatalf("refunded: %+v, never charged: %+v", r, as)
		}
		if !s.refund(kept) || s.used(w, "k", p) != 0 {
			s.Fatal("the other charge was not given back")
		}
	})
}

func refundNeighbours(s *tester) {
	s.each(append(timed(9, minute), events(9, 20)), func(s *tester, p limit.Params) {
		for _, order := range [][]int{{2, 1, 0}, {0, 1, 2}, {1, 2, 0}} {
			if p.Algorithm == limit.GCRA && order[0] != 2 {
				continue // what came after may make it give less
			}
			w, left := s.window(), int64(0)
			var reqs []*store.Request
			for cost := range int64(3) {
				reqs = append(reqs, s.admits(item(w, "k", p, cost+1)))
				left += units(p, cost+1)
			}
			for _, i := range order {
				if !s.refund(reqs[i]) || s.refund(reqs[i]) {
					s.Fatalf("order %v: refund %d: want it done once", order, i)
				}
				left -= units(p, reqs[i].Items[0].Cost)
				s.holds(w, "k", p, left)
			}
		}
	})
}

// units returns what a cost adds to what is used.
func units(p limit.Params, cost int64) int64 {
	if p.Algorithm == limit.Events {
		return min(cost, 1)
	}
	return cost
}

func refundAll(s *tester) {
	var items []store.Item
	for _, p := range append(timed(9, minute), events(9, 20)) {
		items = append(items, item(s.window(), "k", p, 2), shadow(item(s.window(), "k", p, 2)), recorded(item(s.window(), "l", p, 2)))
	}
	req := s.admits(items...)
	if !s.refund(req) || s.refund(req) {
		s.Fatal("want it done once")
	}
	for _, it := range items {
		s.holds(it.Window, string(it.Key), *it.Limit, 0)
	}
}

// refundRefusal: a recorded refusal pushes out the oldest admitted check. Given
// back, it would free a place that is not free.
func refundRefusal(s *tester) {
	s.each(timed(5, minute), func(s *tester, p limit.Params) {
		w := s.window()
		for range 5 {
			s.clock.Add(1000)
			s.admits(recorded(item(w, "k", p, 1)))
		}
		s.clock.Add(1000)
		refused := s.refuses(recorded(item(w, "k", p, 1)))
		denied := s.deny(shadow(recorded(item(w, "k", p, 1))))
		if s.refund(refused) || s.refund(denied) {
			s.Fatal("a refusal was given back")
		}
		s.refuses(item(w, "k", p, 1))
	})
}

func refundEvents(s *tester) {
	it := item(s.window(), "k", events(2, 4), 1)
	first, next := s.admits(it), s.admits(it)
	s.refuses(it) // the 3rd check
	if !s.refund(next) {
		s.Fatal("nothing was given back")
	}
	s.holds(it.Window, "k", *it.Limit, 1)
	s.admits(it) // the 4th, in the place of the 2nd
	if r := s.look(it).Items[0].Result; !r.OK || r.Used != 1 {
		s.Fatalf("the 5th: %+v, want the 1st to be out", r)
	}
	if s.refund(first) {
		s.Fatal("gave back a check that is out of the window")
	}
}

// refundLate gives back when the charge has left: alone, while a later one still
// counts, or after a later one was given back; whether or not anybody used the
// window in between.
func refundLate(s *tester) {
	s.each(append(timed(9, minute), buckets(9, 60*day, 30)), func(s *tester, p limit.Params) {
		for _, touched := range []bool{false, true} {
			for _, company := range []string{"alone", "kept", "given back"} {
				s.clock.Set(start)
				w := s.window()
				req := s.admits(item(w, "k", p, 3))
				leaves := s.clock.Now() + req.Items[0].Result.Reset
				left := s.company(company, w, p, leaves-1)
				s.clock.Set(leaves)
				if touched {
					s.deny(item(w, "k", p, 1))
				}
				if s.refund(req) {
					s.Fatalf("touched %v, %s: gave back what has left", touched, company)
				}
				s.holds(w, "k", p, left)
			}
		}
	})
}

// company makes a later charge at a time, and may give it back. It returns what is
// left of it.
func (s *tester) company(which string, w *store.Window, p limit.Params, at int64) (left int64) {
	if which == "alone" || p.Algorithm == limit.Fixed || p.Algorithm == limit.Calendar {
		return 0
	}
	s.clock.Set(at)
	req := s.admits(item(w, "k", p, 2))
	if which == "given back" {
		s.refund(req)
		return 0
	}
	return 2
}

func refundNothing(s *tester) {
	ctx := context.Background()
	for _, rs := range [][]slidegate.Receipt{nil, {}} {
		if given, err := s.store.Refund(ctx, rs); given || err != nil {
			s.Errorf("no receipts: %v, %v", given, err)
		}
	}
	w, p := s.window(), sliding(9, minute)
	req := s.admits(item(w, "k", p, 0))
	if s.refund(req) {
		s.Error("a cost of 0 was given back")
	}
	s.admits(item(w, "k", p, 1))
	stranger := []slidegate.Receipt{{Window: [2]uint64{1, 2}, Stamp: start, Amount: 1, Seq: 1}}
	if given, err := s.store.Refund(ctx, stranger); given || err != nil {
		s.Errorf("a receipt of another store: %v, %v", given, err)
	}
	s.holds(w, "k", p, 1)
	req = s.admits(item(w, "k", p, 3)) // twice in one call
	rs := append(receipts(req), receipts(req)...)
	if given, err := s.store.Refund(ctx, rs); !given || err != nil {
		s.Errorf("%v, %v", given, err)
	}
	s.holds(w, "k", p, 1)
}

func refundAfterReset(s *tester) {
	s.each(append(timed(9, minute), events(9, 20)), func(s *tester, p limit.Params) {
		w := s.window()
		old := s.admits(item(w, "k", p, 1))
		s.reset(item(w, "k", p, 1))
		if s.refund(old) {
			s.Fatal("gave back what Reset took")
		}
		fresh := s.admits(item(w, "k", p, 1)) // of the same instant
		if s.refund(old) {
			s.Fatal("gave back the hit of another")
		}
		s.holds(w, "k", p, 1)
		s.reset(item(w, "k", p, 1))
		s.admits(item(w, "k", p, 1))
		if s.refund(old) || s.refund(fresh) {
			s.Fatal("gave back the hit of another after a second Reset")
		}
		s.holds(w, "k", p, 1)
	})
}

// refundAfterResets: a window that a refund emptied is reset once more, which must not
// bring back to life what the Reset before made void.
func refundAfterResets(s *tester) {
	s.each(append(timed(9, minute), events(9, 20)), func(s *tester, p limit.Params) {
		for _, pause := range []int64{0, 1, second} {
			it := item(s.window(), "k", p, 1)
			old := s.admits(it)
			s.reset(it)
			for range 2 {
				s.refund(s.admits(it))
				s.deny(it) // a refusal looks at the empty window
				s.reset(it)
				s.clock.Add(pause)
			}
			for n := range 500 { // whatever is forgotten is forgotten now
				other := item(it.Window, fmt.Sprint(n), p, 1)
				s.admits(other)
				s.reset(other)
			}
			fresh := s.admits(it)
			if s.refund(old) {
				s.Fatal("gave back the hit of another")
			}
			s.holds(it.Window, "k", p, 1)
			if !s.refund(fresh) {
				s.Fatal("nothing was given back")
			}
		}
	})
}

// refundNeverOver makes random checks and refunds with a clock that goes
// forward. What was admitted and not given back never exceeds the maximum.
func refundNeverOver(s *tester) {
	s.property(func(s *tester, rt *rapid.T) {
		maximum := rapid.Int64Range(1, 8).Draw(rt, "max")
		var ledgers []*ledger
		for _, p := range []limit.Params{sliding(maximum, second), sliding(maximum, 2*hour), buckets(maximum, second, 5), fixed(maximum, second), gcra(maximum, second, maximum)} {
			ledgers = append(ledgers, &ledger{p: p, it: item(s.window(), "k", p, 1)})
		}
		for n := range rapid.IntRange(1, 60).Draw(rt, "steps") {
			s.clock.Add(rapid.SampledFrom([]int64{0, 0, 1, second / 5, second / 2, second - 1, second, hour}).Draw(rt, "step"))
			l := ledgers[n%len(ledgers)]
			l.it.Cost = rapid.Int64Range(1, 3).Draw(rt, "cost")
			l.it.CountRefused = rapid.IntRange(0, 3).Draw(rt, "count refused") == 0
			req := s.decide(l.it)
			if req.Admitted {
				l.charges = append(l.charges, charge{s.clock.Now(), l.it.Cost, req})
			} else if s.refund(req) {
				s.Fatal("a refusal was given back")
			}
			if len(l.charges) > 0 && rapid.Bool().Draw(rt, "refund") {
				i := rapid.IntRange(0, len(l.charges)-1).Draw(rt, "which")
				s.refund(l.charges[i].req)
				l.charges = append(l.charges[:i], l.charges[i+1:]...)
			}
			if r := s.look(l.it).Items[0].Result; r.Remaining > maximum || r.Remaining < 0 || r.Used < 0 {
				s.Fatalf("%v: %+v", l.p.Algorithm, r)
			}
			if err := l.over(); err != nil {
				s.Fatal(err)
			}
		}
	})
}

// ledger is what one window admitted and did not give back.
type ledger struct {
	p       limit.Params
	it      store.Item
	charges []charge
}

type charge struct {
	at, cost int64
	req      *store.Request
}

// over reports the first window that holds more than its algorithm promises.
func (l *ledger) over() error {
	for i, first := range l.charges {
		var sum int64
		for _, c := range l.charges[i:] {
			span := c.at - first.at
			sum += c.cost
			var promise int64
			switch l.p.Algorithm {
			case limit.GCRA:
				promise = l.p.Burst + span/l.p.Step
			case limit.Fixed:
				if c.at/l.p.Size != first.at/l.p.Size {
					continue
				}
				promise = l.p.Max
			default:
				if span >= l.p.Size {
					continue
				}
				promise = l.p.Max
			}
			if sum > promise {
				return fmt.Errorf("%v: %d admitted in %d µs, promised %d", l.p.Algorithm, sum, span, promise)
			}
		}
	}
	return nil
}

// refundQueue holds gcra against a queue that only ever held the charges that
// were not given back: what counts is never less.
func refundQueue(s *tester) {
	s.property(func(s *tester, rt *rapid.T) {
		p := gcra(10, second, rapid.Int64Range(1, 20).Draw(rt, "burst"))
		it := item(s.window(), "k", p, 1)
		var kept []charge
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			s.clock.Add(rapid.Int64Range(0, 3*p.Step).Draw(rt, "step"))
			it.Cost = rapid.Int64Range(1, p.Burst).Draw(rt, "cost")
			if req := s.decide(it); req.Admitted {
				kept = append(kept, charge{s.clock.Now(), it.Cost, req})
			}
			if len(kept) > 0 && rapid.Bool().Draw(rt, "refund") {
				i := rapid.IntRange(0, len(kept)-1).Draw(rt, "which")
				s.refund(kept[i].req)
				kept = append(kept[:i], kept[i+1:]...)
			}
			least := int64(0) // when the queue of the kept charges is empty
			for _, c := range kept {
				least = max(least, c.at) + c.cost*p.Step
			}
			if r := s.look(it).Items[0].Result; r.Reset < least-s.clock.Now() {
				s.Fatalf("%+v, but what was kept takes %d µs", r, least-s.clock.Now())
			}
		}
	})
}

func resetEmpties(s *tester) {
	s.each(append(timed(3, minute), events(3, 10)), func(s *tester, p limit.Params) {
		w, other := s.window(), s.window()
		for range 3 {
			s.admits(item(w, "k", p, 1), item(w, "l", p, 1), item(other, "k", p, 1))
		}
		s.reset()
		s.reset(item(w, "k", p, 1), item(s.window(), "k", p, 1), item(w, "never used", p, 1))
		if r := s.look(item(w, "k", p, 1)).Items[0].Result; r != (limit.Result{OK: true, Remaining: 3}) {
			s.Fatalf("%+v after Reset", r)
		}
		s.refuses(item(w, "l", p, 1))
		s.refuses(item(other, "k", p, 1))
		for range 3 {
			s.admits(item(w, "k", p, 1))
		}
		s.refuses(item(w, "k", p, 1))
		s.reset(item(w, "k", p, 1), item(w, "l", p, 1), item(other, "k", p, 1))
		s.admits(item(w, "k", p, 1), item(w, "l", p, 1), item(other, "k", p, 1))
	})
}
