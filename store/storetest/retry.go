package storetest

import (
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
	"pgregory.net/rapid"
)

func retryClauses() []clause {
	return []clause{
		{"the longest retry of the items that refuse is true", retryIsTrue},
		{"a refusal for ever says never, and no time", neverSaysNever},
	}
}

// retryIsTrue: at the longest delay of the refusing items the request passes, one
// microsecond earlier it does not.
func retryIsTrue(s *tester) {
	s.property(func(s *tester, rt *rapid.T) {
		items := drawItems(s, rt)
		for range rapid.IntRange(1, 20).Draw(rt, "checks") {
			s.clock.Add(drawStep(rt))
			chosen := drawCosts(rt, items)
			if rapid.IntRange(0, 4).Draw(rt, "shadow") == 0 {
				chosen[0].Shadow = true
			}
			req := s.decide(chosen...)
			if req.Admitted || never(req) {
				continue
			}
			dueAt(s, chosen, s.clock.Now()+delay(req))
			s.admits(chosen...)
		}
	})
}

// drawItems draws one to five windows over time, of two keys.
func drawItems(s *tester, rt *rapid.T) (items []store.Item) {
	for range rapid.IntRange(1, 5).Draw(rt, "items") {
		maximum := rapid.Int64Range(1, 6).Draw(rt, "max")
		size := rapid.SampledFrom([]int64{1000, 1001, second, minute, 2 * hour}).Draw(rt, "size")
		p := rapid.SampledFrom([]limit.Params{
			sliding(maximum, size), sliding(maximum, size),
			buckets(maximum, size, 1), buckets(maximum, size, 7),
			gcra(maximum, size, 1), gcra(maximum, size, maximum),
			fixed(maximum, size), counter(maximum, size), calendar(maximum, size), inflight(maximum, size),
			queued(maximum, size, 1, size/2+1, 2), queued(maximum, size, maximum, size, 5),
		}).Draw(rt, "params")
		items = append(items, item(s.window(), rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "key"), p, 1))
	}
	return items
}

// drawCosts returns some of the items, in any order, with costs.
func drawCosts(rt *rapid.T, items []store.Item) []store.Item {
	chosen := rapid.Permutation(items).Draw(rt, "order")
	chosen = chosen[:rapid.IntRange(1, len(chosen)).Draw(rt, "chosen")]
	for i := range chosen {
		chosen[i].Cost = rapid.OneOf(rapid.Just(int64(1)), rapid.Int64Range(0, 7)).Draw(rt, "cost")
	}
	return chosen
}

// drawStep draws how far the clock moves: often not at all.
func drawStep(rt *rapid.T) int64 {
	return rapid.OneOf(
		rapid.Just(int64(0)),
		rapid.Int64Range(0, 2000),
		rapid.Int64Range(0, second),
		rapid.Int64Range(0, minute),
		rapid.Int64Range(0, 2*hour),
	).Draw(rt, "step")
}

// never reports whether an item that decides can never pass.
func never(req *store.Request) bool {
	for i := range req.Items {
		if req.Items[i].Result.Never && !req.Items[i].Shadow {
			return true
		}
	}
	return false
}

func neverSaysNever(s *tester) {
	s.each(append(timed(3, minute), events(0, 10)), func(s *tester, p limit.Params) {
		for _, it := range []store.Item{item(s.window(), "k", p, 4), recorded(item(s.window(), "k", p, 4))} {
			for range 2 {
				if r := s.refuses(it).Items[0].Result; !r.Never || r.OK || r.Retry != 0 {
					s.Fatalf("%+v", r)
				}
			}
		}
	})
}
