package storetest

import (
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
	"pgregory.net/rapid"
)

func recordClauses() []clause {
	return []clause{
		{"count_refused: who keeps trying stays out, and the newest units are kept", penalty},
		{"count_refused: a check is recorded whoever refused", recordedWhoever},
		{"count_refused: costs over the maximum are recorded up to it", recordedCosts},
		{"count_refused: the retry of a refusal holds after it was recorded", recordedRetry},
		{"events: every check enters, and is marked if and only if admitted", eventsEnter},
		{"events: a check enters whoever refused, and in the shadow", eventsWhoever},
	}
}

// penalty: 100 per minute, a check every 400 ms for three minutes. Without
// count_refused each minute lets 100 through, with it only the first does.
func penalty(s *tester) {
	p := sliding(100, minute)
	for _, record := range []bool{false, true} {
		it := item(s.window(), "k", p, 1)
		it.CountRefused = record
		var admitted [3]int
		for ms := int64(0); ms <= 179_600; ms += 400 {
			s.clock.Set(start + ms*1000)
			if s.decide(it).Admitted {
				admitted[ms/60_000]++
			}
		}
		want := [3]int{100, 100, 100}
		if record {
			want = [3]int{100, 0, 0}
		}
		if admitted != want {
			s.Errorf("recorded %v: admitted %v a minute, want %v", record, admitted, want)
		}
		if !record {
			continue
		}
		// The 100th newest was recorded at 140 s.
		s.clock.Set(start + 200*second - 1)
		if s.look(it).Admitted {
			s.Error("admitted 1 µs before the 100th newest leaves")
		}
		s.clock.Set(start + 200*second)
		if !s.look(it).Admitted {
			s.Error("refused when the 100th newest has left")
		}
	}
}

func recordedWhoever(s *tester) {
	s.each(timed(3, minute), func(s *tester, p limit.Params) {
		w, other := s.window(), item(s.window(), "k", sliding(1, minute), 1)
		s.admits(other)
		for n := range int64(3) {
			it := s.refuses(other, recorded(item(w, "k", p, 1))).Items[1]
			if !it.Charged || !it.Result.OK || it.Result.Used != n+1 {
				s.Fatalf("refused by another window: %+v", it)
			}
		}
		it := s.refuses(recorded(item(w, "k", p, 1)), other).Items[0]
		if !it.Charged || it.Result.OK || it.Result.Used != 3 {
			s.Fatalf("refused by both: %+v", it)
		}
		s.reset(item(w, "k", p, 1))
		if it := s.deny(recorded(item(w, "k", p, 1))).Items[0]; !it.Charged || it.Result.Used != 1 {
			s.Fatalf("denied: %+v", it)
		}
		if it := s.deny(shadow(recorded(item(w, "k", p, 1)))).Items[0]; !it.Charged || it.Result.Used != 2 {
			s.Fatalf("denied, as a shadow: %+v", it)
		}
		s.deny(recorded(item(w, "k", p, 0)))
		s.holds(w, "k", p, 2)
	})
}

func recordedCosts(s *tester) {
	s.each(timed(5, minute), func(s *tester, p limit.Params) {
		it := recorded(item(s.window(), "k", p, 9))
		r := s.refuses(it).Items[0].Result
		if !r.Never || r.Retry != 0 || r.Used != 5 || r.Remaining != 0 {
			s.Fatalf("cost 9 of 5: %+v", r)
		}
		it.Cost = 2
		if r := s.refuses(it).Items[0].Result; r.Never || r.Retry <= 0 || r.Used != 5 {
			s.Fatalf("cost 2 of 5: %+v", r)
		}
	})
}

// recordedRetry holds the delay of refused requests in which some items are
// recorded: at that microsecond the same request passes, one earlier it does not.
func recordedRetry(s *tester) {
	s.property(func(s *tester, rt *rapid.T) {
		items := drawItems(s, rt)
		for i := range items {
			items[i].CountRefused = rapid.Bool().Draw(rt, "count refused")
		}
		for range rapid.IntRange(1, 20).Draw(rt, "checks") {
			s.clock.Add(drawStep(rt))
			chosen := drawCosts(rt, items)
			req := s.decide(chosen...)
			if req.Admitted || never(req) {
				continue
			}
			dueAt(s, chosen, s.clock.Now()+delay(req))
		}
	})
}

// dueAt looks that a request passes at a time and not one microsecond earlier,
// and moves the clock there.
func dueAt(s *tester, items []store.Item, due int64) {
	if due <= s.clock.Now() {
		s.Fatalf("refused without a delay")
	}
	s.clock.Set(due - 1)
	if early := s.look(items...); early.Admitted {
		s.Fatalf("would pass 1 µs before it is due:%s", results(early))
	}
	s.clock.Set(due)
	if req := s.look(items...); !req.Admitted {
		s.Fatalf("would be refused when due:%s", results(req))
	}
}

// eventsEnter: 3 of 10.
func eventsEnter(s *tester) {
	it := item(s.window(), "k", events(3, 10), 1)
	var got string
	for range 33 {
		s.clock.Add(second) // time has no part in it
		req := s.decide(it)
		got += map[bool]string{true: "+", false: "-"}[req.Admitted]
		if r := req.Items[0].Result; !r.OK && r.Retry <= 0 || r.Reset != 0 {
			s.Fatalf("%+v", r)
		}
	}
	if want := "+++-------+++-------+++-------+++"; got != want {
		s.Fatalf("verdicts %s, want %s", got, want)
	}
	r := s.refuses(it).Items[0].Result // 1 of 7 refused checks to wait for
	if r.Retry != 7 {
		s.Fatalf("%+v, want to wait for 7 checks", r)
	}
	for range 6 {
		s.refuses(it)
		s.look(it) // enters nothing
		it0 := it
		it0.Cost = 0
		s.decide(it0) // nor does this
	}
	s.admits(it)
}

func eventsWhoever(s *tester) {
	enter := map[string]func(w store.Item, full store.Item){
		"refused by another window": func(w, full store.Item) { s.refuses(w, full) },
		"denied":                    func(w, _ store.Item) { s.deny(w) },
		"recorded":                  func(w, full store.Item) { s.refuses(recorded(w), full) },
		"a shadow that refuses":     func(w, _ store.Item) { s.admits(shadow(w)) },
		"a shadow of a refusal":     func(w, full store.Item) { s.refuses(full, shadow(w)) },
	}
	for name, check := range enter {
		it, full := item(s.window(), "k", events(1, 3), 1), item(s.window(), "k", sliding(1, minute), 1)
		s.admits(full)
		s.admits(it)
		check(it, full) // the 2nd of 3
		if r := s.look(it).Items[0].Result; r.OK || r.Retry != 1 {
			s.Fatalf("%s: the 3rd check: %+v", name, r)
		}
		check(it, full)
		s.admits(it) // the 4th: the 1st is out
		s.holds(it.Window, "k", *it.Limit, 1)
	}
	it := item(s.window(), "k", events(1, 3), 1) // a shadow that fits is marked
	if got := s.admits(shadow(it)).Items[0]; !got.Charged || got.Result.Used != 1 {
		s.Fatalf("%+v", got)
	}
}
