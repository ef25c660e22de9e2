package storetest

import (
	"context"
	"errors"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

func requestClauses() []clause {
	return []clause{
		{"a window and key named twice is refused with ErrDuplicate and changes nothing", duplicates},
		{"a negative cost is refused with ErrCost and changes nothing", negativeCost},
		{"parameters that nothing made are refused with ErrParams", badParams},
		{"a batch is decided in order, each request on its own", batchOrder},
		{"an error in a batch leaves the requests before it decided and the others untouched", batchError},
		{"a context that is done is an error and changes nothing", contextDone},
		{"after Close every call fails with ErrClosed", closed},
		{"Look changes nothing", lookChangesNothing},
	}
}

// fails holds Decide and Look to an error, after which the windows of the items
// stand as before.
func fails(s *tester, want error, items ...store.Item) {
	s.Helper()
	before := make([]int64, len(items))
	for i, it := range items {
		before[i] = s.used(it.Window, string(it.Key), sliding(9, minute))
	}
	for _, deny := range []bool{false, true} {
		req := store.Request{Items: items, Deny: deny}
		if err := s.store.Decide(context.Background(), []store.Request{req}); !errors.Is(err, want) {
			s.Fatalf("Decide: %v, want %v", err, want)
		}
		if err := s.store.Look(context.Background(), &req); !errors.Is(err, want) {
			s.Fatalf("Look: %v, want %v", err, want)
		}
	}
	for i, it := range items {
		s.holds(it.Window, string(it.Key), sliding(9, minute), before[i])
	}
}

func duplicates(s *tester) {
	p := sliding(9, minute)
	w, other := s.window(), s.window()
	twin := store.NewWindow(w.Identity())
	it := item(w, "k", p, 1)
	s.admits(it)
	fails(s, store.ErrDuplicate, it, it)
	fails(s, store.ErrDuplicate, item(other, "k", p, 1), it, item(other, "l", p, 1), item(w, "k", p, 1))
	fails(s, store.ErrDuplicate, it, item(twin, "k", p, 1))
	fails(s, store.ErrDuplicate, it, shadow(it))
	fails(s, store.ErrDuplicate, item(w, "", p, 1), item(w, "", p, 0))
	s.admits(it, item(w, "l", p, 1), item(other, "k", p, 1), item(other, "l", p, 1))
}

func negativeCost(s *tester) {
	p := sliding(9, minute)
	w := s.window()
	s.admits(item(w, "k", p, 2))
	for _, cost := range []int64{-1, -9, -1 << 63} {
		fails(s, store.ErrCost, item(w, "k", p, cost))
		fails(s, store.ErrCost, item(w, "l", p, 1), item(w, "k", p, cost))
		fails(s, store.ErrCost, shadow(item(w, "k", p, cost)), item(w, "l", p, 1))
	}
}

func badParams(s *tester) {
	w := s.window()
	fails(s, store.ErrParams, item(w, "k", limit.Params{}, 1))
	fails(s, store.ErrParams, item(w, "l", sliding(9, minute), 1), item(w, "k", limit.Params{Algorithm: 99}, 1))
}

func batchOrder(s *tester) {
	w, p := s.window(), sliding(2, minute)
	reqs := make([]store.Request, 6)
	for i := range reqs {
		reqs[i].Items = []store.Item{item(w, "k", p, 1), item(w, "other", sliding(9, minute), 1)}
	}
	reqs[1].Deny = true
	reqs[2].Items[0].Cost = 3 // never
	if err := s.store.Decide(context.Background(), reqs); err != nil {
		s.Fatal(err)
	}
	want := []bool{true, false, false, true, false, false}
	for i := range reqs {
		if reqs[i].Admitted != want[i] {
			s.Errorf("request %d: admitted %v, want %v", i, reqs[i].Admitted, want[i])
		}
	}
	s.holds(w, "k", p, 2)
	s.holds(w, "other", sliding(9, minute), 2)
}

func batchError(s *tester) {
	w, p := s.window(), sliding(9, minute)
	reqs := []store.Request{
		{Items: []store.Item{item(w, "a", p, 1)}},
		{Items: []store.Item{item(w, "b", p, 1), item(w, "c", p, -1)}},
		{Items: []store.Item{item(w, "d", p, 1)}},
	}
	if err := s.store.Decide(context.Background(), reqs); !errors.Is(err, store.ErrCost) {
		s.Fatalf("%v, want %v", err, store.ErrCost)
	}
	if !reqs[0].Admitted || !reqs[0].Items[0].Charged {
		s.Errorf("the request before: %+v", reqs[0])
	}
	for key, want := range map[string]int64{"a": 1, "b": 0, "c": 0, "d": 0} {
		s.holds(w, key, p, want)
	}
}

func contextDone(s *tester) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w, p := s.window(), sliding(9, minute)
	req := s.admits(item(w, "k", p, 2))
	calls := everyCall(s, ctx, req)
	for name, err := range calls {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s: %v, want %v", name, err, context.Canceled)
		}
	}
	s.holds(w, "k", p, 2)
	if !s.refund(req) {
		s.Error("a refund that failed was taken for done")
	}
}

// everyCall makes every call of a store but Close and returns the errors.
func everyCall(s *tester, ctx context.Context, req *store.Request) map[string]error {
	items := []store.Item{req.Items[0]}
	given, refundErr := s.store.Refund(ctx, receipts(req))
	if given {
		s.Error("a refund that failed says that it gave back")
	}
	released, releaseErr := s.store.Release(ctx, receipts(req))
	renewed, renewErr := s.store.Renew(ctx, receipts(req))
	if released || renewed {
		s.Error("a call that failed says that it released or renewed")
	}
	return map[string]error{
		"Release": releaseErr, "Renew": renewErr,
		"Decide": s.store.Decide(ctx, []store.Request{{Items: items}}),
		"Look":   s.store.Look(ctx, &store.Request{Items: items}),
		"Reset":  s.store.Reset(ctx, items),
		"Refund": refundErr,
	}
}

func closed(s *tester) {
	req := s.admits(item(s.window(), "k", sliding(9, minute), 1))
	if err := s.store.Close(); err != nil {
		s.Fatal(err)
	}
	for name, err := range everyCall(s, context.Background(), req) {
		if !errors.Is(err, slidegate.ErrClosed) {
			s.Errorf("%s: %v, want %v", name, err, slidegate.ErrClosed)
		}
	}
}

// lookChangesNothing looks before the answer is known, after it, and with costs
// that fit or not; also when the clock has stepped back.
func lookChangesNothing(s *tester) {
	s.each(append(timed(3, minute), events(3, 10)), func(s *tester, p limit.Params) {
		w, twin := s.window(), s.window()
		for _, step := range []int64{0, second, 20 * second, -10 * second, 45 * second, 30 * second, 0, 0} {
			s.clock.Add(step)
			for cost := range int64(5) {
				s.look(item(w, "k", p, cost), item(w, "unknown", p, 1), shadow(recorded(item(s.window(), "k", p, cost))))
			}
			if got, want := s.hit(w, "k", p, 1), s.hit(twin, "k", p, 1); got != want {
				s.Fatalf("looked at: %+v, not looked at: %+v", got, want)
			}
		}
	})
}
