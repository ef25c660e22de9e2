package storetest

import (
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

func verdictClauses() []clause {
	return []clause{
		{"a request is charged everywhere or nowhere, in every order of its items", allOrNothing},
		{"a refused request charges no key of several", atomicKeys},
		{"two windows of one key: the longer wait wins and nothing is used up by refusals", twoWindows},
		{"a denied request is refused whatever the windows say", denied},
		{"a request without items is admitted unless denied", noItems},
		{"a shadow item never decides", shadowNeverDecides},
		{"a shadow item is charged if and only if the request is admitted and it fits", shadowCharged},
		{"answers of an earlier use of a request do not remain", reusedRequest},
	}
}

// orders calls f with every order of 0 to n-1.
func orders(n int, f func([]int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var place func(int)
	place = func(at int) {
		if at == n {
			f(order)
			return
		}
		for i := at; i < n; i++ {
			order[at], order[i] = order[i], order[at]
			place(at + 1)
			order[at], order[i] = order[i], order[at]
		}
	}
	place(0)
}

// allOrNothing lets each algorithm refuse in turn, in every order, and looks that the
// others were not charged.
func allOrNothing(s *tester) {
	all := append(timed(3, minute), events(3, 10))
	for refusing := range all {
		orders(4, func(order []int) {
			items := make([]store.Item, 0, 4)
			for _, i := range order { // the refusing one and the three after it
				items = append(items, item(s.window(), "k", all[(refusing+i)%len(all)], 1))
			}
			for i := range items {
				if order[i] == 0 { // fill it
					for range 3 {
						s.admits(items[i])
					}
				}
			}
			req := s.refuses(items...)
			for i := range req.Items {
				it := &req.Items[i]
				if full := order[i] == 0; it.Charged || it.Result.OK == full {
					s.Fatalf("order %v, item %d: %+v", order, i, it)
				}
				if want := map[bool]int64{true: 3}[order[i] == 0]; it.Limit.Algorithm != limit.Events {
					s.holds(it.Window, "k", *it.Limit, want)
				}
			}
		})
	}
}

func atomicKeys(s *tester) {
	w, p := s.window(), sliding(2, minute)
	keys := []string{"phone:1", "ip:1", "device:1"}
	for full := range keys {
		s.reset(item(w, keys[0], p, 1), item(w, keys[1], p, 1), item(w, keys[2], p, 1))
		s.admits(item(w, keys[full], p, 2))
		s.refuses(item(w, keys[0], p, 1), item(w, keys[1], p, 1), item(w, keys[2], p, 1))
		for i, key := range keys {
			s.holds(w, key, p, map[bool]int64{true: 2}[i == full])
		}
	}
	s.reset(item(w, keys[2], p, 1))
	s.admits(item(w, keys[0], p, 1), item(w, keys[1], p, 1), item(w, keys[2], p, 1))
	for _, key := range keys {
		s.holds(w, key, p, 1)
	}
}

// twoWindows: 3 per 60 s and 6 per 1800 s of one key, in both orders.
func twoWindows(s *tester) {
	for _, swap := range []bool{false, true} {
		short, long := item(s.window(), "k", sliding(3, minute), 1), item(s.window(), "k", sliding(6, 30*minute), 1)
		check := func(at int64) *store.Request {
			s.clock.Set(start + at*second)
			if swap {
				return s.decide(long, short)
			}
			return s.decide(short, long)
		}
		var got string
		for _, at := range []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 60, 61, 62, 63, 120, 1800} {
			req := check(at)
			got += map[bool]string{true: "+", false: "-"}[req.Admitted]
			if swap {
				req.Items[0], req.Items[1] = req.Items[1], req.Items[0]
			}
			twoWindowsAt(s, at, req)
		}
		if want := "+++-------+++--+"; got != want {
			s.Fatalf("verdicts %s, want %s", got, want)
		}
	}
}

func twoWindowsAt(s *tester, at int64, req *store.Request) {
	short, long := req.Items[0].Result, req.Items[1].Result
	switch at {
	case 9:
		if short.OK || !long.OK || long.Remaining != 3 {
			s.Fatalf("at 9 s: %s", results(req))
		}
	case 63:
		if short.OK || long.OK || delay(req) != 1737*second {
			s.Fatalf("at 63 s: %s", results(req))
		}
	case 120:
		if !short.OK || long.OK || delay(req) != 1680*second || short.Remaining != 1 {
			s.Fatalf("at 120 s: %s", results(req))
		}
	}
}

// delay returns when a refused request could pass: the longest delay of the
// items that decide, in time.
func delay(req *store.Request) (us int64) {
	for i := range req.Items {
		it := &req.Items[i]
		if !it.Shadow && it.Limit.Algorithm != limit.Events && (!it.Result.OK || it.CountRefused) {
			us = max(us, it.Result.Retry)
		}
	}
	return us
}

func denied(s *tester) {
	all := append(timed(3, minute), events(3, 10))
	items := make([]store.Item, 0, len(all)+1)
	for _, p := range all {
		items = append(items, item(s.window(), "k", p, 1))
	}
	s.admits(items...)
	extra := item(s.window(), "k", sliding(3, minute), 1)
	req := s.deny(append(items, recorded(extra))...)
	if req.Admitted {
		s.Fatal("a denied request was admitted")
	}
	for i := range req.Items {
		it := &req.Items[i]
		if !it.Result.OK || it.Charged != it.CountRefused || it.Result.Used != 1 {
			s.Errorf("%+v", it)
		}
	}
	for _, it := range req.Items {
		s.holds(it.Window, "k", *it.Limit, 1)
	}
	look := &store.Request{Items: items, Deny: true}
	if err := s.store.Look(s.t.Context(), look); err != nil || look.Admitted {
		s.Errorf("look at a denied request: admitted %v, %v", look.Admitted, err)
	}
}

func noItems(s *tester) {
	if req := s.decide(); !req.Admitted || req.Full {
		s.Errorf("%+v", req)
	}
	if req := s.deny(); req.Admitted {
		s.Errorf("%+v", req)
	}
	if req := s.look(); !req.Admitted {
		s.Errorf("%+v", req)
	}
	if err := s.store.Decide(s.t.Context(), nil); err != nil {
		s.Error(err)
	}
}

func shadowNeverDecides(s *tester) {
	all := append(timed(1, minute), events(1, 10))
	s.each(all, func(s *tester, p limit.Params) {
		decides, trial := item(s.window(), "k", sliding(5, minute), 1), item(s.window(), "k", p, 1)
		s.admits(decides, shadow(trial))
		for n := range int64(4) {
			req := s.admits(shadow(trial), decides)
			if it := req.Items[0]; it.Result.OK || it.Charged || it.Result.Retry <= 0 && !it.Result.Never {
				s.Fatalf("%+v", it)
			}
			s.holds(decides.Window, "k", *decides.Limit, n+2)
		}
		// Both refuse: the shadow still says so.
		if req := s.refuses(decides, shadow(trial)); req.Items[1].Result.OK || delay(req) != minute {
			s.Fatal(results(req))
		}
		if req := s.look(shadow(trial)); !req.Admitted || req.Items[0].Result.OK {
			s.Fatalf("%+v", req)
		}
	})
}

func shadowCharged(s *tester) {
	for _, p := range append(timed(2, minute), events(2, 10)) {
		full, free := item(s.window(), "k", sliding(1, minute), 1), item(s.window(), "k", sliding(9, minute), 1)
		trial := item(s.window(), "k", p, 1)
		s.admits(full)
		if it := s.refuses(shadow(trial), full).Items[0]; !it.Result.OK || it.Charged {
			s.Fatalf("%v: the request was refused: %+v", p.Algorithm, it)
		}
		s.holds(trial.Window, "k", p, 0)
		for n := range int64(2) {
			if it := s.admits(shadow(trial), free).Items[0]; !it.Charged || it.Result.Used != n+1 {
				s.Fatalf("%v: hit %d: %+v", p.Algorithm, n, it)
			}
		}
		if it := s.admits(shadow(trial), free).Items[0]; it.Charged || it.Result.OK {
			s.Fatalf("%v: over its maximum: %+v", p.Algorithm, it)
		}
		if p.Algorithm != limit.Events {
			s.holds(trial.Window, "k", p, 2)
		}
	}
}

// reusedRequest: engines keep requests and fill them again.
func reusedRequest(s *tester) {
	w, p := s.window(), sliding(1, minute)
	reqs := []store.Request{{Items: []store.Item{item(w, "k", p, 1), item(s.window(), "k", sliding(5, minute), 1)}}}
	for n := range 3 {
		if err := s.store.Decide(s.t.Context(), reqs); err != nil {
			s.Fatal(err)
		}
		want := n == 0
		for _, it := range reqs[0].Items {
			if reqs[0].Admitted != want || it.Charged != want {
				s.Fatalf("use %d: admitted %v, %+v", n, reqs[0].Admitted, it)
			}
		}
	}
	reqs[0].Items = reqs[0].Items[1:]
	if err := s.store.Look(s.t.Context(), &reqs[0]); err != nil {
		s.Fatal(err)
	}
	if it := reqs[0].Items[0]; !reqs[0].Admitted || it.Charged || it.Result.Used != 1 {
		s.Fatalf("a look after decisions: %+v", reqs[0])
	}
}
