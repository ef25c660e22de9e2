package storetest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
	"pgregory.net/rapid"
)

func heldClauses() []clause {
	return []clause{
		{"reports: a check has room while a window with what is held leaves some", reportedRoom},
		{"reports: a window holds every report, and what does not fit pushes out the oldest", reportedHoldsAll},
		{"reports: a row that is broken is empty", reportedClear},
		{"reports: what cannot be reported is an error", reportedOnly},
		{"held: a success frees the place, a failure is charged when it is reported", heldSettles},
		{"held: what nobody settles is free, or counts as a hit, from its deadline", heldDeadline},
		{"held: a place is settled or given back once, and not after its deadline", heldOnce},
		{"held: a report that names no decision frees the oldest place", heldUnnamed},
		{"held: the retry is true beside what is held", heldRetry},
		{"held: known members hold no place, and a full window has room for none", heldMembers},
		{"held: a clock that steps back lets nobody hold a place for longer", heldStepBack},
		{"held: 200 at once hold as many places as there are", heldRace},
		{"unsettled: a report changes the charge or gives it back, once", unsettledChanges},
		{"unsettled: what nobody settles stays, or is given back at its deadline exactly", unsettledDeadline},
		{"unsettled: a charge may leave its window before it is settled", unsettledLeft},
		{"unsettled: a report releases what is in flight", unsettledInflight},
		{"unsettled: Reset empties what is held too", unsettledReset},
	}
}

// reported makes an item one that is fed by reports and held for a while.
func reported(it store.Item, held int64, release bool) store.Item {
	it.Reported = true
	if held > 0 {
		it.Hold = &store.Hold{For: held, Release: release}
	}
	return it
}

// kept as an amount leaves what a request took as it was charged.
const kept = -1

// report reports to the items, and settles all that a request took: what it charged
// comes to that amount.
func (s *tester) report(settle *store.Request, amount int64, items ...store.Item) *store.Report {
	s.Helper()
	r := &store.Report{Items: items, Failed: settle != nil && amount == 0}
	if settle != nil {
		r.Settle = receipts(settle)
		for i := range settle.Items {
			if it := settle.Items[i]; it.Charged && !it.Reported && amount > 0 {
				it.Cost = amount
				r.Items = append(r.Items, it)
			}
		}
	}
	if err := s.store.Report(context.Background(), r); err != nil {
		s.Fatalf("Report: %v", err)
	}
	return r
}

// failures are the windows that reports may feed.
func failures(maximum int64) []limit.Params {
	return []limit.Params{
		sliding(maximum, 10*minute), sliding(maximum, 2*hour), buckets(maximum, 10*minute, 10),
		gcra(maximum, 10*minute, maximum), fixed(maximum, 10*minute), counter(maximum, 10*minute), calendar(maximum, 10*minute),
	}
}

func reportedRoom(s *tester) {
	s.each(failures(3), func(s *tester, p limit.Params) {
		w := s.window()
		free := reported(item(w, "k", p, 1), 0, false)
		for range 5 {
			s.admits(free) // charges nothing
		}
		s.holds(w, "k", p, 0)
		check := reported(item(w, "k", p, 1), minute, false)
		s.admits(check)
		s.report(nil, 0, free)
		s.admits(check)
		r := s.refuses(check).Items[0].Result
		if r.Used != 3 || r.Remaining != 0 || r.Never || r.Retry <= 0 {
			s.Fatalf("one reported and two held: %+v", r)
		}
		s.refuses(free)
		if r := s.look(check).Items[0].Result; r.OK || r.Used != 3 {
			s.Fatalf("a look says %+v", r)
		}
		if r := s.refuses(reported(item(w, "k", p, 4), minute, false)).Items[0].Result; !r.Never {
			s.Fatalf("four of three: %+v", r)
		}
		s.admits(reported(item(w, "other", p, 1), minute, false))
	})
}

func reportedHoldsAll(s *tester) {
	s.each(failures(3), func(s *tester, p limit.Params) {
		w := s.window()
		fed := reported(item(w, "k", p, 1), 0, false)
		for n := range int64(6) {
			r := s.report(nil, 0, fed)
			if it := &r.Items[0]; !it.Charged || it.Result.Used != min(n+1, 3) || it.Receipt != (slidegate.Receipt{}) {
				s.Fatalf("report %d: %+v", n, it.Result)
			}
			s.clock.Add(second / 10)
		}
		s.refuses(fed)
		s.holds(w, "k", p, 3)
		s.report(nil, 0, reported(item(w, "k", p, 0), 0, false))
		s.holds(w, "k", p, 3)
	})
}

func reportedClear(s *tester) {
	p, w := sliding(3, minute), s.window()
	fed := reported(item(w, "k", p, 1), 0, false)
	s.report(nil, 0, fed)
	s.report(nil, 0, fed)
	broken := fed
	broken.Clear, broken.Cost = true, 0
	if r := s.report(nil, 0, broken); r.Items[0].Result.Used != 0 {
		s.Fatalf("%+v", r.Items[0].Result)
	}
	s.holds(w, "k", p, 0)
	s.report(nil, 0, fed)
	s.holds(w, "k", p, 1)
	broken.Cost = 1 // and begins again
	s.report(nil, 0, broken)
	s.holds(w, "k", p, 1)
}

func reportedOnly(s *tester) {
	p, w := sliding(3, minute), s.window()
	fed := reported(item(w, "k", p, 1), 0, false)
	for name, items := range map[string][]store.Item{
		"in flight": {reported(item(w, "k", inflight(3, minute), 1), 0, false)},
		"events":    {reported(item(w, "k", events(3, 10), 1), 0, false)},
		"twice":     {fed, fed},
		"negative":  {reported(item(w, "k", p, -1), 0, false)},
	} {
		if err := s.store.Report(context.Background(), &store.Report{Items: items}); err == nil {
			s.Errorf("%s: no error", name)
		}
	}
	s.holds(w, "k", p, 0)
}

func heldSettles(s *tester) {
	s.each(failures(2), func(s *tester, p limit.Params) {
		for _, release := range []bool{false, true} {
			s.clock.Set(start)
			w := s.window()
			check := reported(item(w, "k", p, 1), minute, release)
			good, bad := s.admits(check), s.admits(check)
			if r := good.Items[0].Receipt; r.Kind != slidegate.Held || !good.Items[0].Charged {
				s.Fatalf("receipt %+v", r)
			}
			s.refuses(check)
			s.clock.Add(second)
			if r := s.report(good, kept); !r.Settled {
				s.Fatal("a success settles nothing")
			}
			s.holds(w, "k", p, 0) // as windows are looked at without what is held
			if r := s.report(bad, kept, check); !r.Settled || r.Items[0].Result.Used != 1 {
				s.Fatalf("a failure: settled %v, %+v", r.Settled, r.Items[0].Result)
			}
			s.holds(w, "k", p, 1)
			s.admits(check)
			s.refuses(check)
		}
	})
}

func heldDeadline(s *tester) {
	s.each([]limit.Params{sliding(1, 10*minute), sliding(1, 2*hour)}, func(s *tester, p limit.Params) {
		for _, release := range []bool{false, true} {
			s.clock.Set(start)
			w := s.window()
			check := reported(item(w, "k", p, 1), minute, release)
			s.admits(check)
			free := start + minute
			if !release {
				free += p.Size
			}
			if r := s.refuses(check).Items[0].Result; r.Retry != free-start || r.Reset != free-start {
				s.Fatalf("release %v: %+v", release, r)
			}
			s.clock.Set(free - 1)
			s.refuses(check)
			s.clock.Set(free)
			s.admits(check)
		}
	})
}

func heldOnce(s *tester) {
	p := sliding(5, 10*minute)
	for _, release := range []bool{false, true} {
		s.clock.Set(start)
		w := s.window()
		check := reported(item(w, "k", p, 1), minute, release)
		used := func(want int64) {
			s.Helper()
			if r := s.look(reported(item(w, "k", p, 0), minute, release)).Items[0].Result; r.Used != want {
				s.Fatalf("release %v: %d used, want %d", release, r.Used, want)
			}
		}
		reportedOnce, refunded, late := s.admits(check), s.admits(check), s.admits(check)
		s.admits(check)
		used(4)
		for n := range 2 {
			if got := s.report(reportedOnce, kept).Settled; got != (n == 0) {
				s.Fatalf("report %d settles: %v", n, got)
			}
			used(3)
		}
		if s.refund(reportedOnce) || !s.refund(refunded) || s.refund(refunded) || s.report(refunded, kept).Settled {
			s.Fatal("want a place given back once")
		}
		used(2)
		s.clock.Set(start + minute)
		if s.report(late, kept).Settled || s.refund(late) {
			s.Fatal("settled at the deadline")
		}
		used(map[bool]int64{false: 2}[release])
		if rs := receipts(late); s.release(rs) || s.renew(rs) {
			s.Fatal("released what is not in flight")
		}
	}
}

func heldUnnamed(s *tester) {
	p, w := sliding(3, 10*minute), s.window()
	check := reported(item(w, "k", p, 1), minute, false)
	free := reported(item(w, "k", p, 0), minute, false)
	free.Free = true
	failed := free
	failed.Cost = 1
	used := func(want int64) {
		s.Helper()
		if r := s.look(reported(item(w, "k", p, 0), minute, false)).Items[0].Result; r.Used != want {
			s.Fatalf("%d used, want %d", r.Used, want)
		}
	}
	s.report(nil, 0, free) // there is none
	used(0)
	first := s.admits(check)
	s.clock.Add(second)
	second1 := s.admits(check)
	s.report(nil, 0, free)
	used(1)
	if s.report(first, kept).Settled || !s.report(second1, kept).Settled {
		s.Fatal("want the oldest to be free")
	}
	s.admits(check)
	s.report(nil, 0, failed)
	used(1)
	s.holds(w, "k", p, 1)
	s.admits(check)
	s.clock.Add(minute)
	s.report(nil, 0, free) // it counts already
	used(2)
}

// heldRetry compares a window that is fed by reports with lists of all that happened.
func heldRetry(s *tester) {
	s.property(func(s *tester, rt *rapid.T) {
		p := sliding(rapid.Int64Range(1, 6).Draw(rt, "max"), 100*1000)
		held := rapid.Int64Range(1, 60).Draw(rt, "held") * 1000
		release := rapid.Bool().Draw(rt, "release")
		m := heldModel{p: p, hold: held, release: release}
		w := s.window()
		var open []*store.Request
		check := reported(item(w, "k", p, 1), held, release)
		for range 60 {
			s.clock.Add(rapid.Int64Range(0, 20).Draw(rt, "delay") * 1000)
			now := s.clock.Now()
			switch rapid.IntRange(0, 3).Draw(rt, "call") {
			case 0, 1:
				check.Cost = rapid.Int64Range(0, 3).Draw(rt, "cost")
				want := m.judge(now, check.Cost)
				req := s.decide(check)
				got := req.Items[0].Result
				if got.OK != want.OK || got.Never != want.Never || got.Retry != want.Retry {
					s.Fatalf("cost %d at %d: %+v, want %+v; %+v", check.Cost, now-start, got, want, m)
				}
				if got.OK && check.Cost > 0 {
					m.holds = append(m.holds, modelHold{now, check.Cost, false})
					open = append(open, req)
				}
				if got.Used != m.used(now) {
					s.Fatalf("%d used at %d, want %d; %+v", got.Used, now-start, m.used(now), m)
				}
			case 2:
				check.Cost = rapid.Int64Range(0, 2).Draw(rt, "failed")
				s.report(nil, 0, check)
				m.report(now, check.Cost)
			default:
				if len(open) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(open)-1).Draw(rt, "settle")
				got := s.report(open[i], kept).Settled
				if want := m.settle(now, i); got != want {
					s.Fatalf("settled %v at %d, want %v; %+v", got, now-start, want, m)
				}
			}
		}
	})
}

// heldModel is a window that reports feed, and what is held of it, as lists.
type heldModel struct {
	p       limit.Params
	hold    int64
	release bool
	hits    []int64
	holds   []modelHold
}

type modelHold struct {
	at, n   int64
	settled bool
}

func (m *heldModel) used(now int64) (n int64) {
	for _, at := range m.hits {
		if now-at < m.p.Size {
			n++
		}
	}
	for _, h := range m.holds {
		if !h.settled && now < m.gone(h) {
			n += h.n
		}
	}
	return n
}

func (m *heldModel) gone(h modelHold) int64 {
	if m.release {
		return h.at + m.hold
	}
	return h.at + m.hold + m.p.Size
}

// judge tries every instant at which something goes.
func (m *heldModel) judge(now, cost int64) (r limit.Result) {
	r.OK, r.Never = m.used(now)+cost <= m.p.Max, cost > m.p.Max
	if r.OK || r.Never {
		return r
	}
	var goes []int64
	for _, at := range m.hits {
		goes = append(goes, at+m.p.Size)
	}
	for _, h := range m.holds {
		goes = append(goes, m.gone(h))
	}
	slices.Sort(goes)
	for _, at := range goes {
		if at > now && m.used(at)+cost <= m.p.Max {
			r.Retry = at - now
			return r
		}
	}
	panic("it never goes")
}

// report adds hits, and keeps the newest.
func (m *heldModel) report(now, n int64) {
	m.hits = slices.DeleteFunc(m.hits, func(at int64) bool { return now-at >= m.p.Size })
	for range min(n, m.p.Max) {
		m.hits = append(m.hits, now)
	}
	if over := len(m.hits) - int(m.p.Max); over > 0 {
		m.hits = m.hits[over:]
	}
}

func (m *heldModel) settle(now int64, i int) bool {
	h := &m.holds[i]
	if h.settled || now >= h.at+m.hold {
		return false
	}
	h.settled = true
	return true
}

func heldMembers(s *tester) {
	p, w := distinct(3, hour), s.window()
	check := func(members ...string) store.Item {
		it := reported(item(w, "k", p, 1), minute, true)
		for _, m := range members {
			it.Members = append(it.Members, []byte(m))
		}
		return it
	}
	s.report(nil, 0, check("a", "b"))
	for range 5 {
		if req := s.admits(check("a")); req.Items[0].Charged {
			s.Fatal("a known member holds a place")
		}
	}
	held := s.admits(check("c"))
	if r := s.refuses(check("d")).Items[0].Result; r.Used != 3 || r.Retry != minute {
		s.Fatalf("%+v", r)
	}
	if r := s.refuses(check("b")).Items[0].Result; r.Never || r.Retry != minute {
		s.Fatalf("a known one, and the window is full: %+v", r)
	}
	s.report(held, kept)
	s.admits(check("b"))
	s.report(s.admits(check("d")), kept, check("d"))
	for _, m := range []string{"a", "e"} {
		if r := s.refuses(check(m)).Items[0].Result; r.Used != 3 || r.Retry != hour {
			s.Fatalf("%s: %+v", m, r)
		}
	}
	s.refuses(check()) // who is not known to be any of them
	if r := s.look(check("a")).Items[0].Result; r.OK || r.Remaining != 0 {
		s.Fatalf("%+v", r)
	}
	none := distinct(0, hour)
	if r := s.refuses(reported(item(s.window(), "k", none, 1), 0, false)).Items[0].Result; !r.Never {
		s.Fatalf("none at all: %+v", r)
	}
}

func heldStepBack(s *tester) {
	p, w := sliding(1, 10*minute), s.window()
	check := reported(item(w, "k", p, 1), minute, true)
	held := s.admits(check)
	s.clock.Add(-hour)
	if r := s.refuses(check).Items[0].Result; r.Retry != minute {
		s.Fatalf("%+v", r)
	}
	s.clock.Add(second)
	if !s.report(held, kept).Settled {
		s.Fatal("not to be settled after the clock stepped back")
	}
	s.admits(check)
	s.clock.Add(minute)
	s.admits(check)
}

func heldRace(s *tester) {
	p, w := sliding(5, 10*minute), s.window()
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			reqs := []store.Request{{Items: []store.Item{reported(item(w, "k", p, 1), minute, false)}}}
			if err := s.store.Decide(context.Background(), reqs); err == nil && reqs[0].Admitted {
				admitted.Add(1)
			}
		})
	}
	wg.Wait()
	if admitted.Load() != 5 {
		s.Fatalf("%d of 5 at once", admitted.Load())
	}
}
