package storetest

import (
	"errors"
	"fmt"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
	"pgregory.net/rapid"
)

func distinctClauses() []clause {
	return []clause{
		{"distinct: known members pass and are renewed, new ones need room", knownMembers},
		{"distinct: members are charged whole or not at all", membersWhole},
		{"distinct: a member named twice counts once, and any bytes are a member", anyMember},
		{"distinct: members are read during the call only", membersAreBorrowed},
		{"distinct: without members an item only looks", noMembers},
		{"distinct: members of another algorithm are refused with ErrParams", strayMembers},
		{"distinct: a refund takes out what it brought in and nobody saw since", refundMembers},
		{"distinct: a refund that comes late takes nothing out", lateMembers},
		{"distinct: the retry of a refusal is true", distinctRetry},
		{"distinct: count_refused sees known members again and lets no new one in", recordedMembers},
		{"distinct: ten thousand members", manyMembers},
		{"calendar: a window begins anew when its period does", periodsBegin},
	}
}

// given1 gives an item members.
func given1(it store.Item, members ...string) store.Item {
	it.Members = nil
	for _, m := range members {
		it.Members = append(it.Members, []byte(m))
	}
	return it
}

// sets are windows of members, over time and by the calendar.
func sets(maximum int64) []limit.Params {
	return []limit.Params{distinct(maximum, minute), distinct(maximum, 2*hour), distinctBy(maximum, minute)}
}

func knownMembers(s *tester) {
	s.each(sets(2), func(s *tester, p limit.Params) {
		it := item(s.window(), "k", p, 1)
		s.admits(given1(it, "a"))
		s.clock.Add(10 * second)
		s.admits(given1(it, "b"))
		s.clock.Add(10 * second)
		if r := s.admits(given1(it, "a")).Items[0].Result; r.Used != 2 {
			s.Fatalf("%+v", r)
		}
		s.refuses(given1(it, "c"))
		s.refuses(given1(it, "a", "c"))
		s.holds(it.Window, "k", p, 2)
		s.admits(given1(item(it.Window, "l", p, 1), "c", "d")) // another key
		if p.Periods != nil {
			return
		}
		s.clock.Set(start + 10*second + p.Size - 1) // a was renewed, b leaves next
		if r := s.refuses(given1(it, "c")).Items[0].Result; r.Retry != 1 {
			s.Fatalf("%+v", r)
		}
		s.clock.Add(1)
		s.admits(given1(it, "c"))
		s.refuses(given1(it, "b"))
	})
}

func membersWhole(s *tester) {
	s.each(sets(3), func(s *tester, p limit.Params) {
		it, full := item(s.window(), "k", p, 1), item(s.window(), "k", sliding(0, minute), 1)
		s.admits(given1(it, "a", "b"))
		for _, c := range []struct {
			members []string
			never   bool
		}{{[]string{"c", "d"}, false}, {[]string{"b", "c", "d"}, false}, {[]string{"a", "b", "c", "d"}, true}} {
			r := s.refuses(given1(it, c.members...)).Items[0].Result
			if r.Never != c.never || c.never != (r.Retry == 0) || r.Used != 2 || r.Remaining != 1 {
				s.Fatalf("%q: %+v", c.members, r)
			}
		}
		s.refuses(given1(it, "c"), full)
		s.holds(it.Window, "k", p, 2)
		s.admits(given1(it, "b", "c"))
		s.refuses(given1(it, "d"))
	})
}

func anyMember(s *tester) {
	members := []string{"", "\x00", "a", "a\x00", "\x00a", "A", " a", "\xff", "\xff\xfe", "号", "{a}", "a:b", "1:a", "-1", "nil", string(make([]byte, 70_000))}
	it := item(s.window(), "k", distinct(int64(len(members)), minute), 1)
	for n, m := range members {
		if r := s.admits(given1(it, m, m, m)).Items[0].Result; r.Used != int64(n)+1 {
			s.Fatalf("member %d, %.20q: %+v", n, m, r)
		}
	}
	s.admits(given1(it, members...))
	s.refuses(given1(it, "b"))
	// Many at once, each several times.
	it = item(s.window(), "k", distinct(300, minute), 1)
	var twice []string
	for n := range 900 {
		twice = append(twice, fmt.Sprint(n%300))
	}
	if r := s.admits(given1(it, twice...)).Items[0].Result; r.Used != 300 {
		s.Fatalf("%+v", r)
	}
}

func membersAreBorrowed(s *tester) {
	it := given1(item(s.window(), "k", distinct(2, minute), 1), "first")
	s.admits(it)
	copy(it.Members[0], "other")
	s.admits(it)
	s.holds(it.Window, "k", *it.Limit, 2)
	s.admits(given1(it, "first"))
}

func noMembers(s *tester) {
	s.each(sets(1), func(s *tester, p limit.Params) {
		it := item(s.window(), "k", p, 1)
		for _, used := range []int64{0, 1} {
			for _, cost := range []int64{0, 1, 5} {
				it.Cost = cost
				if got := s.admits(it).Items[0]; got.Charged || got.Result.Used != used {
					s.Fatalf("cost %d: %+v", cost, got)
				}
			}
			it.Cost = 0
			if got := s.admits(given1(it, "b")).Items[0]; got.Charged || got.Result.Used != used {
				s.Fatalf("members at a cost of 0: %+v", got)
			}
			it.Cost = 1
			s.admits(given1(it, "a"))
		}
	})
}

func strayMembers(s *tester) {
	for _, p := range append(timed(5, minute), events(5, 10), inflight(5, minute)) {
		it := given1(item(s.window(), "k", p, 1), "a")
		err := s.store.Decide(s.t.Context(), []store.Request{{Items: []store.Item{it}}})
		if !errors.Is(err, store.ErrParams) {
			s.Fatalf("%v: %v, want %v", p.Algorithm, err, store.ErrParams)
		}
		s.holds(it.Window, "k", p, 0)
	}
}

func refundMembers(s *tester) {
	s.each(sets(9), func(s *tester, p limit.Params) {
		for _, later := range []int64{0, 1, second} {
			s.clock.Set(start)
			it := item(s.window(), "k", p, 1)
			s.admits(given1(it, "old"))
			first := s.admits(given1(it, "old", "a", "b", "c"))
			s.clock.Add(later)
			second := s.admits(given1(it, "b", "d"))
			known := s.admits(given1(it, "old", "b"))
			if r := known.Items[0].Receipt; known.Items[0].Charged && r != (slidegate.Receipt{}) {
				s.Fatalf("brought nothing in, and has receipt %+v", r)
			}
			if s.refund(known) || !s.refund(first) || s.refund(first) {
				s.Fatalf("%d µs later: want only the first given back, once", later)
			}
			s.holds(it.Window, "k", p, 3) // old, b, d
			if !s.refund(second) || s.refund(second) {
				s.Fatalf("%d µs later: want the second given back, once", later)
			}
			s.holds(it.Window, "k", p, 2) // old, b
			it.Limit = new(limit.Params)
			*it.Limit = p
			it.Limit.Max = 2
			s.admits(given1(it, "old", "b"))
		}
	})
}

// lateMembers refunds when the members have left, whether or not anybody used the
// window since; others are still there, or were given back.
func lateMembers(s *tester) {
	s.each(sets(9), func(s *tester, p limit.Params) {
		for _, company := range []string{"alone", "kept", "given back"} {
			s.clock.Set(start)
			it := item(s.window(), "k", p, 1)
			req := s.admits(given1(it, "a", "b"))
			leaves := s.clock.Now() + req.Items[0].Result.Reset
			left := int64(0)
			if company != "alone" && p.Periods == nil {
				s.clock.Set(leaves - second)
				if other := s.admits(given1(it, "c")); company == "given back" {
					s.refund(other)
				} else {
					left = 1
				}
			}
			s.clock.Set(leaves - 1)
			s.holds(it.Window, "k", p, 2+left)
			s.clock.Set(leaves)
			if s.refund(req) {
				s.Fatalf("%s: gave back what has left", company)
			}
			s.holds(it.Window, "k", p, left)
		}
	})
}

// distinctRetry: at the delay of a refusal the same members pass, one microsecond
// earlier they do not.
func distinctRetry(s *tester) {
	s.property(func(s *tester, rt *rapid.T) {
		p := rapid.SampledFrom(sets(rapid.Int64Range(1, 5).Draw(rt, "max"))).Draw(rt, "params")
		it := item(s.window(), "k", p, 1)
		for range rapid.IntRange(1, 20).Draw(rt, "checks") {
			s.clock.Add(drawStep(rt))
			members := rapid.Permutation([]string{"a", "b", "c", "d", "e", "f"}).Draw(rt, "members")
			chosen := given1(it, members[:rapid.IntRange(1, 4).Draw(rt, "number")]...)
			req := s.decide(chosen)
			if !req.Admitted && !never(req) {
				dueAt(s, []store.Item{chosen}, s.clock.Now()+delay(req))
				s.admits(chosen)
			}
		}
	})
}

func recordedMembers(s *tester) {
	s.each(sets(2), func(s *tester, p limit.Params) {
		it, full := recorded(item(s.window(), "k", p, 1)), item(s.window(), "k", sliding(0, minute), 1)
		for n, m := range []string{"a", "b"} { // they fit, and another window refuses
			got := s.refuses(given1(it, m), full).Items[0]
			if !got.Charged || !got.Result.OK || got.Result.Used != int64(n)+1 || got.Receipt != (slidegate.Receipt{}) {
				s.Fatalf("%+v", got)
			}
			s.clock.Add(second)
		}
		for range 3 { // does not get in by trying again
			got := s.refuses(given1(it, "a", "c")).Items[0]
			if !got.Charged || got.Result.Used != 2 || got.Result.Retry <= 0 {
				s.Fatalf("%+v", got)
			}
		}
		s.admits(given1(it, "b", "a"))
		if p.Periods != nil {
			return
		}
		s.clock.Set(start + p.Size + second) // a was seen again later, b at 2 s
		s.holds(it.Window, "k", p, 2)
	})
}

func manyMembers(s *tester) {
	it := item(s.window(), "k", distinct(limit.MaxMembers, hour), 1)
	var members []string
	for n := range limit.MaxMembers {
		members = append(members, fmt.Sprint("member ", n))
	}
	for n := 0; n < len(members); n += 500 {
		s.admits(given1(it, members[n:n+500]...))
	}
	s.refuses(given1(it, "one more"))
	s.clock.Add(minute)
	s.admits(given1(it, members[:9000]...)) // renewed
	s.clock.Set(start + hour)
	s.holds(it.Window, "k", *it.Limit, 9000)
	if r := s.admits(given1(it, "one more", members[9500])).Items[0].Result; r.Remaining != 998 {
		s.Fatalf("%+v", r)
	}
}

func periodsBegin(s *tester) {
	p := calendar(2, minute) // of 60, 20 and 120 s
	q := distinctBy(2, minute)
	w, v := s.window(), s.window()
	edges := p.Periods.(*uneven).lengths
	for round := range 2 {
		for _, length := range edges {
			end := s.clock.Now() + length
			s.admits(item(w, "k", p, 2), given1(item(v, "k", q, 1), "a", fmt.Sprint(round)))
			s.clock.Set(end - 1)
			for _, it := range []store.Item{item(w, "k", p, 1), given1(item(v, "k", q, 1), "b")} {
				if r := s.refuses(it).Items[0].Result; r.Retry != 1 || r.Reset != 1 || r.Used != 2 {
					s.Fatalf("1 µs before the end of a period of %d: %+v", length, r)
				}
			}
			s.clock.Set(end)
			s.holds(w, "k", p, 0)
			s.holds(v, "k", q, 0)
		}
	}
}
