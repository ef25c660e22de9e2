package storetest

import (
	"slices"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
	"pgregory.net/rapid"
)

func placeClauses() []clause {
	return []clause{
		{"queue: who has to wait takes a place and is told for when, one unit after another", queuePlaces},
		{"queue: in any span of the instants waited for lie at most burst + t/T", queuePromise},
		{"queue: a request takes its places in several queues for the latest of their instants", queuesTogether},
		{"queue: in any span of the instants waited for in several queues lie at most burst + t/T", queuesPromise},
		{"queue: a refused request takes no place", queueRefused},
		{"queue: a request that counts refusals takes its place like any other", queueRecorded},
		{"queue: the last place is given back exactly, one in the middle not at all", queueRefund},
		{"queue: places stay where they are when an event without a queue comes after them", queueMixed},
		{"an item that yields neither refuses when it is full nor is charged", yields},
		{"an item that yields is charged when it fits and the request is admitted", yieldsCharged},
	}
}

// queuePlaces: 3 at once, then one a second, up to 4 or 2.5 s.
func queuePlaces(s *tester) {
	for _, c := range []struct {
		p     limit.Params
		waits []int64
	}{
		{queued(60, minute, 3, hour, 4), []int64{0, 0, 0, 1, 2, 3, 4}},
		{queued(60, minute, 3, second*5/2, 100), []int64{0, 0, 0, 1, 2}},
	} {
		it := item(s.window(), "k", c.p, 1)
		for n, wait := range c.waits {
			r := s.admits(it).Items[0].Result
			if r.Wait != wait*second || r.Used != int64(n)+1 || r.Reset != int64(n+1)*second || r.Retry != 0 {
				s.Fatalf("place %d: %+v, want to wait for %d s", n, r, wait)
			}
		}
		last := c.waits[len(c.waits)-1]
		r := s.refuses(it).Items[0].Result
		if r.Wait != 0 || r.Retry != (last+1)*second-c.p.Wait || r.Remaining != 0 {
			s.Fatalf("behind the last place: %+v", r)
		}
		dueAt(s, []store.Item{it}, s.clock.Now()+r.Retry)
		if r := s.admits(it).Items[0].Result; r.Wait != c.p.Wait {
			s.Fatalf("when one place is free: %+v", r)
		}
		if r := s.refuses(item(it.Window, "k", c.p, 200)).Items[0].Result; !r.Never {
			s.Fatalf("longer than the queue: %+v", r)
		}
		s.clock.Add(hour)
	}
	it := item(s.window(), "k", queued(60, minute, 3, hour, 4), 6) // over the burst, and nothing in it yet
	if r := s.admits(it).Items[0].Result; r.Wait != 3*second {
		s.Fatalf("%+v", r)
	}
}

// queuesTogether: a queue of one a second, and one of one in 10 s that makes wait for
// longer.
func queuesTogether(s *tester) {
	p, q := queued(60, minute, 1, 15*second, 100), queued(6, minute, 1, hour, 100)
	all, one := item(s.window(), "k", p, 1), item(s.window(), "k", q, 1)
	s.admits(one)
	if req := s.look(all, one); req.Items[0].Result.Wait != 0 || req.Items[1].Result.Wait != 10*second || !req.Admitted {
		s.Fatalf("a look: %s", results(req))
	}
	both := s.admits(all, one)
	if a, b := both.Items[0].Result, both.Items[1].Result; a.Wait != 0 || b.Wait != 10*second || a.Reset != 11*second || b.Reset != 20*second {
		s.Fatalf("both wait for the second one: %s", results(both))
	}
	req := s.refuses(shadow(all), all2(all, "l"), one)
	if a, b, c := req.Items[0].Result, req.Items[1].Result, req.Items[2].Result; !a.OK || !b.OK || c.OK || c.Retry != 5*second {
		s.Fatalf("20 s are longer than the first queue lets wait: %s", results(req))
	}
	if r := s.refuses(all, item(s.window(), "k", q, 3)).Items[1].Result; !r.Never {
		s.Fatalf("three in the second queue always wait for longer: %+v", r)
	}
	s.clock.Add(5 * second)
	s.admits(all2(all, "l"), one)
	s.clock.Add(-5 * second)
	again := s.admits(all)
	if r := again.Items[0].Result; r.Wait != 11*second {
		s.Fatalf("behind the one that waits for both: %+v", r)
	}
	if s.refund(both) { // it is the last in neither
		s.Fatal("a place in the middle was given back")
	}
	if !s.refund(again) {
		s.Fatal("the last place was not given back")
	}
	if r := s.admits(shadow(all2(all, "m")), one).Items[0]; r.Charged || r.Result.OK || r.Result.Retry <= 0 {
		s.Fatalf("a queue on trial that lets nobody wait so long: %+v", r)
	}
	if r := s.admits(all2(all, "n"), shadow(one)).Items[1]; !r.Charged || r.Result.Wait <= 15*second {
		s.Fatalf("a queue on trial in which the request would wait for longer: %+v", r)
	}
}

// all2 is an item for another key.
func all2(it store.Item, key string) store.Item {
	it.Key = []byte(key)
	return it
}

func queuesPromise(s *tester) {
	s.property(func(s *tester, rt *rapid.T) {
		type queue struct {
			it    store.Item
			times []int64
		}
		var queues []*queue
		for range 3 {
			rate, burst := rapid.Int64Range(1, 20).Draw(rt, "rate"), rapid.Int64Range(1, 2).Draw(rt, "burst")
			p := queued(rate, second, burst, rapid.Int64Range(second, 9*second).Draw(rt, "wait"), 100)
			queues = append(queues, &queue{it: item(s.window(), "k", p, 1)})
		}
		for range rapid.IntRange(1, 60).Draw(rt, "checks") {
			s.clock.Add(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, second/4)).Draw(rt, "step"))
			var items []store.Item
			var met []*queue
			for i, in := range rapid.SliceOfN(rapid.Bool(), 3, 3).Draw(rt, "queues") {
				if in {
					items, met = append(items, queues[i].it), append(met, queues[i])
				}
			}
			req := s.decide(items...)
			if !req.Admitted {
				continue
			}
			var wait int64
			for i := range req.Items {
				wait = max(wait, req.Items[i].Result.Wait)
			}
			for _, q := range met {
				if wait > q.it.Limit.Wait {
					s.Fatalf("waits longer than the queue lets: %s", results(req))
				}
				q.times = append(q.times, s.clock.Now()+wait)
			}
		}
		for _, q := range queues {
			slices.Sort(q.times)
			for i, from := range q.times {
				for j, to := range q.times[i:] {
					if most := q.it.Limit.Burst + (to-from)/q.it.Limit.Step; int64(j)+1 > most {
						s.Fatalf("%d from %d to %d, where at most %d may be", j+1, from, to, most)
					}
				}
			}
		}
	})
}

func queuePromise(s *tester) {
	s.property(func(s *tester, rt *rapid.T) {
		p := queued(10, second, rapid.Int64Range(1, 4).Draw(rt, "burst"), rapid.Int64Range(1, second).Draw(rt, "wait"), rapid.Int64Range(1, 6).Draw(rt, "queue"))
		it := item(s.window(), "k", p, 1)
		type place struct {
			at  int64
			req *store.Request
		}
		var places []place
		for range rapid.IntRange(1, 50).Draw(rt, "checks") {
			s.clock.Add(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 3*p.Step)).Draw(rt, "step"))
			if req := s.decide(it); req.Admitted {
				places = append(places, place{s.clock.Now() + req.Items[0].Result.Wait, req})
			}
			if n := len(places); n > 0 && rapid.IntRange(0, 3).Draw(rt, "refund") == 0 {
				i := rapid.IntRange(0, n-1).Draw(rt, "which")
				if s.refund(places[i].req) {
					places = append(places[:i], places[i+1:]...)
				}
			}
			for i, first := range places {
				for j, last := range places[i:] {
					if n, span := int64(j+1), last.at-first.at; n > p.Burst+span/p.Step {
						s.Fatalf("%d in %d µs, promised %d", n, span, p.Burst+span/p.Step)
					}
				}
			}
		}
	})
}

func queueRefused(s *tester) {
	it, full := item(s.window(), "k", queued(60, minute, 1, hour, 3), 1), item(s.window(), "k", sliding(0, minute), 1)
	s.admits(it)
	for _, refused := range []store.Item{it, recorded(it)} {
		for range 9 {
			if got := s.refuses(refused, full).Items[0]; !got.Result.OK || got.Result.Used != 1 {
				s.Fatalf("%+v", got)
			}
		}
	}
	if r := s.admits(it).Items[0].Result; r.Wait != second {
		s.Fatalf("%+v, want the first place", r)
	}
	s.admits(it)
	s.admits(it)
	for range 9 {
		s.refuses(recorded(it))
	}
	if r := s.look(it).Items[0].Result; r.Used != 4 || r.Retry != second {
		s.Fatalf("recorded: %+v", r)
	}
}

func queueRecorded(s *tester) {
	it := recorded(item(s.window(), "k", queued(60, minute, 1, hour, 3), 1))
	for n := range int64(4) {
		if r := s.admits(it).Items[0].Result; r.Wait != n*second || r.Used != n+1 {
			s.Fatalf("place %d: %+v", n, r)
		}
	}
	s.refuses(it)
}

func queueRefund(s *tester) {
	it := item(s.window(), "k", queued(60, minute, 2, hour, 5), 1)
	var all []*store.Request
	for range 7 {
		all = append(all, s.admits(it))
	}
	for _, req := range all[:6] {
		if s.refund(req) {
			s.Fatal("a place before the last was given back")
		}
		s.holds(it.Window, "k", *it.Limit, 7)
	}
	for n := int64(6); n > 4; n-- {
		if !s.refund(all[n]) || s.refund(all[n]) {
			s.Fatalf("place %d, the last: want it given back once", n)
		}
		if r := s.look(it).Items[0].Result; r.Used != n || r.Wait != (n-1)*second || r.Reset != n*second {
			s.Fatalf("place %d was given back: %+v", n, r)
		}
	}
	again := s.admits(it) // in the place that was given back
	if again.Items[0].Result.Wait != 4*second || s.refund(all[5]) {
		s.Fatalf("%+v, or given back by who had it before", again.Items[0].Result)
	}
	s.clock.Add(hour)
	if s.refund(again) {
		s.Fatal("given back long after")
	}
}

// queueMixed: events of one window with a queue and without. Given back, a place
// in the middle must not move up what comes after, whoever came last.
func queueMixed(s *tester) {
	long, plain := queued(60, minute, 2, hour, 5), gcra(60, minute, 9)
	plain.Reach, long.Reach = 9*second, 9*second
	w := s.window()
	var all []*store.Request
	for range 4 {
		all = append(all, s.admits(item(w, "k", long, 1)))
	}
	s.admits(item(w, "k", plain, 1)) // has a longer burst
	if s.refund(all[2]) || s.used(w, "k", long) != 5 {
		s.Fatal("a place in the middle was given back")
	}
	s.clock.Add(minute) // all went on: from here it is like any other
	first := s.admits(item(w, "k", plain, 2))
	s.admits(item(w, "k", plain, 1))
	if !s.refund(first) || s.used(w, "k", plain) != 1 {
		s.Fatal("nobody waits, and nothing was given back")
	}
}

// everyUnit is an item of each algorithm that takes one unit each time.
func everyUnit(s *tester, maximum int64) (items []store.Item) {
	for _, p := range append(timed(maximum, minute), inflight(maximum, minute)) {
		items = append(items, item(s.window(), "k", p, 1))
	}
	return items
}

func yields(s *tester) {
	for _, it := range append(everyUnit(s, 2), item(s.window(), "k", events(2, 10), 1)) {
		soft, hard := it, item(s.window(), "k", sliding(9, minute), 1)
		soft.Yields = true
		for n := range int64(2) {
			if got := s.admits(soft, hard).Items[0]; !got.Charged || got.Result.Used != n+1 {
				s.Fatalf("%v: hit %d: %+v", it.Limit.Algorithm, n, got)
			}
		}
		for n := range int64(3) {
			req := s.admits(soft, hard)
			if got := req.Items[0]; got.Charged || got.Result.OK || got.Result.Retry <= 0 || got.Result.Used != 2 {
				s.Fatalf("%v: full: %+v", it.Limit.Algorithm, got)
			}
			if looked := s.look(soft, hard); !looked.Admitted || looked.Items[0].Result.OK {
				s.Fatalf("%v: a look: %+v", it.Limit.Algorithm, looked.Items[0])
			}
			s.holds(hard.Window, "k", *hard.Limit, n+3)
			if !s.refund(req) || s.refund(req) {
				s.Fatalf("%v: want what was charged given back once", it.Limit.Algorithm)
			}
			s.admits(hard)
		}
		s.refuses(it) // the same, deciding
	}
}

func yieldsCharged(s *tester) {
	for _, it := range everyUnit(s, 2) {
		soft, full := it, item(s.window(), "k", sliding(0, minute), 1)
		soft.Yields = true
		if got := s.refuses(soft, full).Items[0]; got.Charged || !got.Result.OK {
			s.Fatalf("%v: refused by another: %+v", it.Limit.Algorithm, got)
		}
		if req := s.deny(soft); req.Admitted || req.Items[0].Charged {
			s.Fatalf("%v: denied: %+v", it.Limit.Algorithm, req.Items[0])
		}
		s.holds(it.Window, "k", *it.Limit, 0)
		req := s.admits(soft)
		s.holds(it.Window, "k", *it.Limit, 1)
		if !s.refund(req) {
			s.Fatalf("%v: not given back", it.Limit.Algorithm)
		}
		s.holds(it.Window, "k", *it.Limit, 0)
	}
	// Known members pass, new ones are left out.
	it := item(s.window(), "k", distinct(1, minute), 1)
	it.Yields = true
	for _, m := range []string{"a", "b", "a"} {
		if got := s.admits(given1(it, m)).Items[0]; got.Charged != (m == "a") || got.Result.Used != 1 {
			s.Fatalf("member %s: %+v", m, got)
		}
	}
}
