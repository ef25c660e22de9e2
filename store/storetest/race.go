package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

func raceClauses() []clause {
	return []clause{
		{"200 at once on a limit of 5: exactly 5, 50 times", stampede},
		{"crossed orders of items neither dead-lock nor lose a unit", crossed},
		{"64 at once over many windows and keys: totals are exact", totals},
		{"64 at once with refunds: what is left is what was kept", totalsWithRefunds},
		{"64 at once with count_refused: every refusal is recorded", recordedAtOnce},
		{"64 at once hold, renew, release and refund: what is left is what is held", holdsAtOnce},
	}
}

// together runs f in n goroutines that start together, and waits for them.
func together(n int, f func(i int)) {
	var done sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		done.Go(func() {
			<-gate
			f(i)
		})
	}
	close(gate)
	done.Wait()
}

// try makes a request and reports whether it was admitted. It may be called
// from any goroutine.
func (s *tester) try(items ...store.Item) (*store.Request, bool) {
	reqs := []store.Request{{Items: items}}
	if err := s.store.Decide(context.Background(), reqs); err != nil {
		s.Errorf("Decide: %v", err)
		return &store.Request{}, false
	}
	return &reqs[0], reqs[0].Admitted
}

func stampede(s *tester) {
	w, p := s.window(), sliding(5, minute)
	for round := range 50 {
		key := fmt.Sprint("round ", round)
		var admitted atomic.Int64
		together(200, func(int) {
			if _, ok := s.try(item(w, key, p, 1)); ok {
				admitted.Add(1)
			}
		})
		if n := admitted.Load(); n != 5 {
			s.Fatalf("round %d: %d admitted, want 5", round, n)
		}
		s.holds(w, key, p, 5)
	}
}

// crossed: every request needs both windows of both keys, in one order or the
// other.
func crossed(s *tester) {
	a, b := s.window(), s.window()
	wide, narrow := sliding(1000, minute), buckets(60, minute, 6)
	var admitted atomic.Int64
	together(64, func(i int) {
		items := []store.Item{item(a, "k", wide, 1), item(b, "l", narrow, 1), item(a, "l", wide, 1), item(b, "k", narrow, 1)}
		for n := range 20 {
			if (i+n)%2 == 0 {
				items[0], items[1], items[2], items[3] = items[3], items[2], items[1], items[0]
			}
			if _, ok := s.try(items...); ok {
				admitted.Add(1)
			}
		}
	})
	if n := admitted.Load(); n != 60 {
		s.Fatalf("%d admitted, want 60", n)
	}
	for _, key := range []string{"k", "l"} {
		s.holds(a, key, wide, 60)
		s.holds(b, key, narrow, 60)
	}
}

// crowd is windows over several keys, and what all goroutines together were
// charged.
type crowd struct {
	items   []store.Item
	charged []atomic.Int64
}

func newCrowd(s *tester, all []limit.Params) *crowd {
	c := &crowd{}
	for _, p := range all {
		w := s.window()
		for key := range 4 {
			c.items = append(c.items, item(w, fmt.Sprint("key ", key), p, 1))
		}
	}
	c.charged = make([]atomic.Int64, len(c.items))
	return c
}

// draw makes a request of one to four windows; some can never pass.
func (c *crowd) draw(r *rand.Rand) (items []store.Item, places []int) {
	places = r.Perm(len(c.items))[:1+r.IntN(4)]
	for _, i := range places {
		it := c.items[i]
		it.Cost = 1 + r.Int64N(2)
		if r.IntN(12) == 0 {
			it.Cost = it.Limit.Max + 1
		}
		items = append(items, it)
	}
	return items, places
}

// count adds what a request was charged, or takes it away again.
func (c *crowd) count(s *tester, req *store.Request, places []int, sign int64) {
	for i := range req.Items {
		it := &req.Items[i]
		if it.Charged != req.Admitted {
			s.Errorf("admitted %v, charged %v", req.Admitted, it.Charged)
		}
		if it.Charged {
			c.charged[places[i]].Add(sign * it.Cost)
		}
	}
}

func (c *crowd) check(s *tester) {
	full := 0
	for i := range c.items {
		it := &c.items[i]
		n := c.charged[i].Load()
		s.holds(it.Window, string(it.Key), *it.Limit, n)
		if n > it.Limit.Max {
			s.Errorf("%v: %d of %d", it.Limit.Algorithm, n, it.Limit.Max)
		}
		if n == it.Limit.Max {
			full++
		}
	}
	if full == 0 {
		s.Error("no window was filled: the test tests little")
	}
}

func totals(s *tester) {
	c := newCrowd(s, timed(40, minute))
	together(64, func(i int) {
		r := rand.New(rand.NewPCG(uint64(i), 2))
		for range 40 {
			items, places := c.draw(r)
			req, _ := s.try(items...)
			c.count(s, req, places, 1)
		}
	})
	c.check(s)
}

func totalsWithRefunds(s *tester) {
	c := newCrowd(s, []limit.Params{sliding(40, minute), buckets(40, minute, 6), fixed(40, minute), sliding(40, 2*hour)})
	together(64, func(i int) {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		for range 40 {
			items, places := c.draw(r)
			req, ok := s.try(items...)
			c.count(s, req, places, 1)
			if !ok || r.IntN(3) > 0 {
				continue
			}
			given, err := s.store.Refund(context.Background(), receipts(req))
			if !given || err != nil {
				s.Errorf("Refund: %v, %v", given, err)
			}
			c.count(s, req, places, -1)
		}
	})
	c.check(s)
}

func recordedAtOnce(s *tester) {
	w, p, full := s.window(), sliding(2000, minute), item(s.window(), "k", sliding(0, minute), 1)
	together(64, func(int) {
		for range 20 {
			if _, ok := s.try(recorded(item(w, "k", p, 1)), full); ok {
				s.Errorf("admitted against a ban")
			}
		}
	})
	s.holds(w, "k", p, 64*20)
}

// holdsAtOnce: what is in flight, over two keys and a window beside it, and members
// that each goroutine has for itself. The clock moves, but nothing expires.
func holdsAtOnce(s *tester) {
	flight, log, set := s.window(), s.window(), s.window()
	p, q, d := inflight(30, hour), sliding(10_000, hour), distinct(10_000, hour)
	var held, hits, members, most, refused atomic.Int64
	together(64, func(i int) {
		r := rand.New(rand.NewPCG(uint64(i), 4))
		for n := range 40 {
			s.clock.Add(1)
			member := fmt.Sprint(i, "/", n)
			req, ok := s.try(item(flight, "k", p, 1), item(log, "l", q, 1), given1(item(set, "m", d, 1), member, "all"))
			if !ok {
				refused.Add(1)
				continue
			}
			if now := held.Add(1); now > most.Load() {
				most.Store(now)
			}
			hits.Add(1)
			members.Add(1)
			rs := receipts(req)
			if r.IntN(2) == 0 {
				s.called(true)(s.store.Renew(context.Background(), rs))
			}
			switch r.IntN(4) {
			case 0: // keeps its place
			case 1:
				held.Add(-1) // counted first: another may have it at once
				s.called(true)(s.store.Refund(context.Background(), rs))
				s.called(false)(s.store.Release(context.Background(), rs))
				hits.Add(-1)
				members.Add(-1)
			default:
				held.Add(-1)
				s.called(true)(s.store.Release(context.Background(), rs))
				s.called(false)(s.store.Renew(context.Background(), rs))
			}
		}
	})
	s.holds(flight, "k", p, held.Load())
	s.holds(log, "l", q, hits.Load())
	if got := s.used(set, "m", d); got < members.Load() || got > members.Load()+1 { // and the one that all see
		s.Fatalf("%d members, want %d and one", got, members.Load())
	}
	if most.Load() > p.Max || refused.Load() == 0 {
		s.Fatalf("at most %d of %d held, %d refused", most.Load(), p.Max, refused.Load())
	}
}

// called returns what looks at the answer of a call; from any goroutine.
func (s *tester) called(want bool) func(bool, error) {
	return func(got bool, err error) {
		if got != want || err != nil {
			s.Errorf("%v, %v, want %v", got, err, want)
		}
	}
}
