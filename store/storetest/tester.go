package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
	"pgregory.net/rapid"
)

// tester is a store under test and the clock it obeys. Its methods end the test
// when the store fails.
type tester struct {
	rapid.TB // of the subtest, or of one round of a property

	t     *testing.T
	clock *Clock
	store store.Store
	names *int
}

func newTester(t *testing.T, open func(*testing.T, *Clock) store.Store) *tester {
	t.Helper()
	clock := &Clock{}
	clock.Set(start)
	s := &tester{TB: t, t: t, clock: clock, store: open(t, clock), names: new(int)}
	t.Cleanup(func() {
		if err := s.store.Close(); err != nil && !errors.Is(err, slidegate.ErrClosed) {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// property checks f on random values. Each round has its own windows.
func (s *tester) property(f func(*tester, *rapid.T)) {
	rapid.Check(s.t, func(rt *rapid.T) {
		round := *s
		round.TB = rt
		round.clock.Set(start)
		f(&round, rt)
	})
}

// window returns a window that no other test has.
func (s *tester) window() *store.Window {
	*s.names++
	return store.NewWindow(fmt.Sprintf("storetest/%d", *s.names))
}

// item returns an item that charges cost to a window.
func item(w *store.Window, key string, p limit.Params, cost int64) store.Item {
	return store.Item{Window: w, Key: []byte(key), Limit: &p, Cost: cost}
}

// shadow makes an item one that is judged but does not decide.
func shadow(it store.Item) store.Item {
	it.Shadow = true
	return it
}

// recorded makes an item one that is charged whatever the verdict.
func recorded(it store.Item) store.Item {
	it.CountRefused = true
	return it
}

// decide makes one request of the items.
func (s *tester) decide(items ...store.Item) *store.Request {
	s.Helper()
	return s.request(store.Request{Items: items})
}

// deny makes one request of the items that is refused in any case.
func (s *tester) deny(items ...store.Item) *store.Request {
	s.Helper()
	return s.request(store.Request{Items: items, Deny: true})
}

func (s *tester) request(req store.Request) *store.Request {
	s.Helper()
	reqs := []store.Request{req}
	if err := s.store.Decide(context.Background(), reqs); err != nil {
		s.Fatalf("Decide: %v", err)
	}
	return &reqs[0]
}

// hit charges cost to one window and returns how it stands.
func (s *tester) hit(w *store.Window, key string, p limit.Params, cost int64) limit.Result {
	s.Helper()
	return s.decide(item(w, key, p, cost)).Items[0].Result
}

// look asks about the items and changes nothing.
func (s *tester) look(items ...store.Item) *store.Request {
	s.Helper()
	req := &store.Request{Items: items}
	if err := s.store.Look(context.Background(), req); err != nil {
		s.Fatalf("Look: %v", err)
	}
	return req
}

// used returns what counts in a window now.
func (s *tester) used(w *store.Window, key string, p limit.Params) int64 {
	s.Helper()
	return s.look(item(w, key, p, 0)).Items[0].Result.Used
}

// holds fails unless that much counts in a window now.
func (s *tester) holds(w *store.Window, key string, p limit.Params, want int64) {
	s.Helper()
	if got := s.used(w, key, p); got != want {
		s.Fatalf("%v of %d: %d used at %d, want %d", p.Algorithm, p.Max, got, s.clock.Now(), want)
	}
}

// refund gives back what a request took and reports whether it did.
func (s *tester) refund(req *store.Request) bool {
	s.Helper()
	given, err := s.store.Refund(context.Background(), receipts(req))
	if err != nil {
		s.Fatalf("Refund: %v", err)
	}
	return given
}

// receipts returns the receipts of a request, as an engine keeps them.
func receipts(req *store.Request) (rs []slidegate.Receipt) {
	for i := range req.Items {
		if req.Items[i].Charged {
			rs = append(rs, req.Items[i].Receipt)
		}
	}
	return rs
}

// reset empties the windows of the items.
func (s *tester) reset(items ...store.Item) {
	s.Helper()
	if err := s.store.Reset(context.Background(), items); err != nil {
		s.Fatalf("Reset: %v", err)
	}
}

// admits and refuses fail unless the verdict is as they say.
func (s *tester) admits(items ...store.Item) *store.Request {
	s.Helper()
	req := s.decide(items...)
	if !req.Admitted {
		s.Fatalf("refused at %d: %s", s.clock.Now(), results(req))
	}
	return req
}

func (s *tester) refuses(items ...store.Item) *store.Request {
	s.Helper()
	req := s.decide(items...)
	if req.Admitted {
		s.Fatalf("admitted at %d: %s", s.clock.Now(), results(req))
	}
	return req
}

// results formats the answers of a request.
func results(req *store.Request) (text string) {
	for i := range req.Items {
		it := &req.Items[i]
		text += fmt.Sprintf("\n  %v max %d cost %d: %+v", it.Limit.Algorithm, it.Limit.Max, it.Cost, it.Result)
	}
	return text
}

// parameters make the parameters of each algorithm.

func sliding(maximum, size int64) limit.Params { return params(limit.SlidingLog, maximum, size, 0, 0) }

func buckets(maximum, size, n int64) limit.Params {
	return params(limit.SlidingBuckets, maximum, size, 0, n)
}

func gcra(maximum, size, burst int64) limit.Params {
	return params(limit.GCRA, maximum, size, burst, 0)
}

func fixed(maximum, size int64) limit.Params { return params(limit.Fixed, maximum, size, 0, 0) }

func counter(maximum, size int64) limit.Params {
	return params(limit.SlidingCounter, maximum, size, 0, 0)
}

func inflight(maximum, size int64) limit.Params {
	return params(limit.Inflight, maximum, size, 0, 0)
}

func distinct(maximum, size int64) limit.Params {
	return params(limit.Distinct, maximum, size, 0, 0)
}

// queued is gcra with a queue.
func queued(maximum, size, burst, wait, queue int64) limit.Params {
	p := gcra(maximum, size, burst)
	p, err := p.Queued(wait, queue)
	if err != nil {
		panic(err)
	}
	return p
}

// calendar and distinctBy are of periods of about a size.

func calendar(maximum, size int64) limit.Params { return byCalendar(limit.Calendar, maximum, size) }

func distinctBy(maximum, size int64) limit.Params { return byCalendar(limit.Distinct, maximum, size) }

func byCalendar(a limit.Algorithm, maximum, size int64) limit.Params {
	p, err := limit.NewCalendar(a, maximum, &uneven{start, [...]int64{size, size/3 + 1, 2 * size}})
	if err != nil {
		panic(err)
	}
	return p
}

// uneven are periods of three lengths in turn, one of which begins at a time.
type uneven struct {
	from    int64
	lengths [3]int64
}

func (u *uneven) Period(now int64) (from, end int64) {
	all := u.lengths[0] + u.lengths[1] + u.lengths[2]
	into := ((now-u.from)%all + all) % all
	for _, n := range u.lengths {
		if into < n {
			return now - into, now - into + n
		}
		into -= n
	}
	panic("unreachable")
}

func events(maximum, size int64) limit.Params { return params(limit.Events, maximum, size, 0, 0) }

// params is limit.New for parameters that are right.
func params(a limit.Algorithm, maximum, size, burst, buckets int64) limit.Params {
	p, err := limit.New(a, maximum, size, burst, buckets)
	if err != nil {
		panic(err)
	}
	return p
}

// timed returns one window over time of every algorithm, all with the same
// capacity. Both lengths of a log are among them.
func timed(maximum, size int64) []limit.Params {
	return []limit.Params{
		sliding(maximum, size),
		sliding(maximum, 2*hour),
		buckets(maximum, size, 10),
		gcra(max(maximum, 1), size, max(maximum, 1)),
		fixed(maximum, size),
		counter(maximum, size),
		calendar(maximum, size),
	}
}

// each runs f for every set of parameters.
func (s *tester) each(all []limit.Params, f func(*tester, limit.Params)) {
	for _, p := range all {
		s.t.Run(fmt.Sprintf("%v_%dus", p.Algorithm, p.Size), func(t *testing.T) {
			sub := *s
			sub.TB, sub.t = t, t
			sub.clock.Set(start)
			f(&sub, p)
		})
	}
}
