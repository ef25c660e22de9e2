package storetest

import (
	"context"
	"slices"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

func lockClauses() []clause {
	return []clause{
		{"locks: who is refused by a full window is locked, and every check until the end", lockedByCheck},
		{"locks: the report that fills a window locks the key", lockedByReport},
		{"locks: what is held locks nobody", heldLocksNobody},
		{"locks: one after another lasts longer, until they are forgotten", locksRise},
		{"locks: a lock empties what it is told to, and nothing else", lockEmpties},
		{"locks: without emptying a full window stays full", lockKeepsHistory},
		{"locks: shadows, looks and refusals by others lock nobody", locksNobody},
		{"locks: a locked key refuses the request, and nothing is charged", lockRefuses},
		{"locks: all are listed until they are forgotten, and can be ended", locksListed},
		{"locks: a clock that steps back lets nobody be locked for longer", lockStepBack},
	}
}

// locking makes an item one that locks its key for a minute, five, an hour.
func locking(it store.Item, empties ...*store.Window) store.Item {
	it.Lock = &store.Lock{Lasts: []int64{minute, 5 * minute, hour}, Forget: day, Empties: empties}
	return it
}

// locks returns the locks of windows, the newest first.
func (s *tester) locks(ws ...*store.Window) []store.Locked {
	s.Helper()
	all, err := s.store.Locks(context.Background())
	if err != nil {
		s.Fatalf("Locks: %v", err)
	}
	all = slices.DeleteFunc(all, func(l store.Locked) bool {
		return !slices.ContainsFunc(ws, func(w *store.Window) bool { return w.Identity() == l.Window })
	})
	slices.SortFunc(all, func(a, b store.Locked) int { return int(b.Since - a.Since) })
	return all
}

func lockedByCheck(s *tester) {
	s.each(timed(3, 10*minute), func(s *tester, p limit.Params) {
		w := s.window()
		it := locking(item(w, "k", p, 1), w)
		for range 3 {
			s.admits(it)
		}
		first := s.refuses(it).Items[0]
		if first.Locked != minute || first.Result.OK || first.Result.Retry < minute || first.Result.Never {
			s.Fatalf("locked for %d: %+v", first.Locked, first.Result)
		}
		s.clock.Add(minute - 1)
		last := s.refuses(it).Items[0]
		if last.Locked != 1 || last.Result.Retry != 1 || last.Result.Used != 0 {
			s.Fatalf("locked for %d: %+v", last.Locked, last.Result)
		}
		if l := s.look(it).Items[0]; l.Locked != 1 || l.Result.OK {
			s.Fatalf("a look: locked for %d: %+v", l.Locked, l.Result)
		}
		s.admits(locking(item(w, "other", p, 1), w))
		s.clock.Add(1)
		if it := s.admits(it).Items[0]; it.Locked != 0 || it.Result.Used != 1 {
			s.Fatalf("after the end: locked for %d: %+v", it.Locked, it.Result)
		}
	})
}

func lockedByReport(s *tester) {
	s.each(failures(3), func(s *tester, p limit.Params) {
		w := s.window()
		fed := locking(reported(item(w, "k", p, 1), 0, false), w)
		for n := range 3 {
			s.admits(fed)
			it := s.report(nil, 0, fed).Items[0]
			if locked := n == 2; locked != (it.Locked == minute) {
				s.Fatalf("report %d: locked for %d: %+v", n, it.Locked, it.Result)
			}
		}
		s.refuses(fed)
		s.clock.Add(second)
		if it := s.report(nil, 0, fed).Items[0]; it.Locked != minute-second {
			s.Fatalf("a report while locked: locked for %d", it.Locked)
		}
		s.clock.Add(minute - second)
		s.admits(fed)
	})
}

func heldLocksNobody(s *tester) {
	p, w := sliding(3, 10*minute), s.window()
	check := locking(reported(item(w, "k", p, 1), minute, false), w)
	held := s.admits(check)
	s.admits(check)
	s.admits(check)
	if it := s.refuses(check).Items[0]; it.Locked != 0 {
		s.Fatalf("three are held, none is known, and it is locked for %d", it.Locked)
	}
	if it := s.report(held, kept, check).Items[0]; it.Locked != 0 || it.Result.Used != 3 {
		s.Fatalf("one is known, two are held: locked for %d, %+v", it.Locked, it.Result)
	}
	s.report(nil, 0, check)
	if it := s.report(nil, 0, check).Items[0]; it.Locked != minute {
		s.Fatalf("three are known: locked for %d", it.Locked)
	}
	s.clock.Add(minute)
	s.admits(check) // what was held is forgotten
}

func locksRise(s *tester) {
	p, w := sliding(1, second), s.window()
	it := locking(item(w, "k", p, 1), w)
	times := 0
	lock := func(want int64) {
		s.Helper()
		s.admits(it)
		times++
		if got := s.refuses(it).Items[0]; got.Locked != want || !got.LockedNow || got.Times != times {
			s.Fatalf("locked for %d: %v, the %d. time; want %d, the %d.", got.Locked, got.LockedNow, got.Times, want, times)
		}
		if got := s.refuses(it).Items[0]; got.LockedNow || got.Times != times {
			s.Fatalf("once more: locked now %v, the %d. time", got.LockedNow, got.Times)
		}
		s.clock.Add(want)
	}
	for _, want := range []int64{minute, 5 * minute, hour, hour} {
		lock(want)
	}
	s.clock.Add(day - 2*second)
	lock(hour)
	s.clock.Add(day)
	times = 0
	lock(minute)
}

func lockEmpties(s *tester) {
	p, w, sibling, other := sliding(2, hour), s.window(), s.window(), s.window()
	held := reported(item(sibling, "k", p, 1), hour, false)
	items := []store.Item{locking(item(w, "k", p, 1), w, sibling), held, item(other, "k", sliding(9, hour), 1), item(sibling, "x", p, 1)}
	first := s.admits(items...)
	s.admits(items...)
	s.refuses(items...)
	if s.refund(&store.Request{Items: first.Items[:2]}) || s.report(first, kept).Settled {
		s.Fatal("what a lock emptied was given back")
	}
	s.holds(w, "k", p, 0)
	s.holds(other, "k", sliding(9, hour), 2)
	s.holds(sibling, "x", p, 2)
	if r := s.look(reported(item(sibling, "k", p, 0), hour, false)).Items[0].Result; r.Used != 0 {
		s.Fatalf("still held: %+v", r)
	}
}

func lockKeepsHistory(s *tester) {
	p, w := sliding(1, hour), s.window()
	it := locking(item(w, "k", p, 1))
	s.admits(it)
	if got := s.refuses(it).Items[0]; got.Locked != minute || got.Result.Retry != hour {
		s.Fatalf("locked for %d: %+v", got.Locked, got.Result)
	}
	s.clock.Add(minute)
	if got := s.refuses(it).Items[0]; got.Locked != 5*minute {
		s.Fatalf("full when the lock ends, and locked for %d", got.Locked)
	}
}

func locksNobody(s *tester) {
	p, w := sliding(1, hour), s.window()
	it := locking(item(w, "k", p, 1), w)
	s.admits(it)
	s.refuses(item(w, "k", p, 1)) // a limit that does not lock
	s.look(it)
	s.decide(locking(item(w, "k", p, 0), w))
	s.decide(shadow(it))
	yields := it
	yields.Yields = true
	s.decide(yields)
	full := s.window()
	s.admits(item(full, "k", p, 1))
	s.refuses(item(full, "k", p, 1), locking(item(s.window(), "k", p, 1), w))
	s.refuses(item(full, "k", p, 1), shadow(it))
	if all := s.locks(w, full); len(all) > 0 {
		s.Fatalf("%+v", all)
	}
	s.holds(w, "k", p, 1)
}

func lockRefuses(s *tester) {
	p, w, other := sliding(1, hour), s.window(), s.window()
	it := locking(item(w, "k", p, 1), w)
	s.admits(it)
	s.refuses(it)
	for range 3 {
		s.refuses(it, item(other, "k", p, 1))
	}
	s.holds(other, "k", p, 0)
	recorded := s.refuses(it, recorded(item(other, "k", p, 1)))
	if r := recorded.Items[1].Result; r.Used != 1 {
		s.Fatalf("count_refused beside a lock: %+v", r)
	}
}

func locksListed(s *tester) {
	p, a, b := sliding(1, hour), s.window(), s.window()
	lock := func(w *store.Window, key string) store.Item {
		it := locking(item(w, key, p, 1), w)
		s.admits(it)
		s.refuses(it)
		return it
	}
	lock(a, "k")
	s.clock.Add(second)
	second1 := lock(b, "a\x00b")
	all := s.locks(a, b)
	if len(all) != 2 || all[0].Window != b.Identity() || string(all[0].Key) != "a\x00b" || all[0].Times != 1 ||
		all[0].Since != start+second || all[0].Until != start+second+minute || string(all[1].Key) != "k" {
		s.Fatalf("%+v", all)
	}
	n, err := s.store.Unlock(context.Background(), []store.Item{second1, locking(item(b, "none", p, 1), b)})
	if err != nil || n != 1 {
		s.Fatalf("ended %d, %v", n, err)
	}
	if all := s.locks(a, b); len(all) != 1 {
		s.Fatalf("%+v", all)
	}
	s.admits(second1)
	if got := s.refuses(second1).Items[0].Locked; got != minute {
		s.Fatalf("after a lock that was ended, locked for %d", got)
	}
	s.clock.Add(day + minute)
	if all := s.locks(a, b); len(all) != 0 {
		s.Fatalf("not forgotten: %+v", all)
	}
}

func lockStepBack(s *tester) {
	p, w := sliding(1, hour), s.window()
	it := locking(item(w, "k", p, 1), w)
	s.admits(it)
	s.refuses(it)
	s.clock.Add(-hour)
	if got := s.refuses(it).Items[0].Locked; got != minute {
		s.Fatalf("locked for %d", got)
	}
	s.clock.Add(minute)
	s.admits(it)
}
