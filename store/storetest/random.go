package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

func randomClauses() (all []clause) {
	for seed := range uint64(4) {
		all = append(all, clause{fmt.Sprintf("4000 random calls answer like a naive store, seed %d", seed), func(s *tester) { randomCalls(s, seed) }})
	}
	return all
}

// twin makes every call to the store under test and to a naive one, and
// compares the answers.
type twin struct {
	s     *tester
	r     *rand.Rand
	kinds []twinWindow
	naive map[twinKey]*naive
	past  []*twinCharge
	call  int
}

// twinWindow is a window and what it is asked to enforce at the moment.
type twinWindow struct {
	window *store.Window
	p      limit.Params
	queue  bool
}

type twinKey struct{ window, key int }

// twinCharge is what one request was charged, in both stores.
type twinCharge struct {
	receipts []slidegate.Receipt
	naive    []naiveCharge
	refunded bool
}

type naiveCharge struct {
	window *naive
	p      limit.Params
	placed placed
	gone   bool // a place in flight that was released, or found gone
}

const twinKeys = 3

func randomCalls(s *tester, seed uint64) {
	t := &twin{s: s, r: rand.New(rand.NewPCG(seed, 1)), naive: map[twinKey]*naive{}}
	for _, p := range []limit.Params{
		sliding(4, second), sliding(5, minute), sliding(6, 2*hour),
		buckets(4, second, 7), buckets(6, hour, 60), buckets(3, minute, 1),
		gcra(5, second, 3), gcra(60, minute, 8),
		fixed(4, second), fixed(5, hour),
		events(3, 10), events(1, 2), events(2, 1),
		counter(4, second), counter(7, hour), calendar(4, minute),
		inflight(3, minute), inflight(2, 2*hour),
		queued(5, second, 2, 700_000, 3), queued(60, minute, 3, 10*second, 100),
		distinct(3, second), distinct(4, 2*hour), distinctBy(3, minute),
	} {
		t.kinds = append(t.kinds, twinWindow{s.window(), p, p.Wait > 0})
	}
	for range 4000 {
		t.call++
		switch n := t.r.IntN(100); {
		case n < 60:
			t.decide()
		case n < 68:
			t.look()
		case n < 74:
			t.refund()
		case n < 76:
			t.release()
		case n < 78:
			t.renew()
		case n < 80:
			t.reset()
		case n < 84:
			t.change()
		case n < 95:
			t.forward()
		default:
			t.back()
		}
	}
	for k, w := range t.naive {
		it := t.item(k, 1)
		t.same("in the end", &s.look(it).Items[0], w.judgeItem(&it, *it.Limit, s.clock.Now()))
	}
}

func (t *twin) state(k twinKey) *naive {
	if t.naive[k] == nil {
		t.naive[k] = &naive{}
	}
	return t.naive[k]
}

func (t *twin) item(k twinKey, cost int64) store.Item {
	it := item(t.kinds[k.window].window, fmt.Sprint("key ", k.key), t.kinds[k.window].p, cost)
	if it.Limit.Algorithm == limit.Distinct {
		for range t.r.IntN(4) { // the same one perhaps twice
			it.Members = append(it.Members, fmt.Append(nil, "member ", t.r.IntN(7)))
		}
	}
	return it
}

// draw makes a request of up to four windows and keys.
func (t *twin) draw() (req store.Request, keys []twinKey) {
	seen := map[twinKey]bool{}
	for range 1 + t.r.IntN(4) {
		k := twinKey{t.r.IntN(len(t.kinds)), t.r.IntN(twinKeys)}
		if seen[k] {
			continue
		}
		seen[k] = true
		costs := []int64{1, 1, 1, 1, 1, 2, 3, 0, t.kinds[k.window].p.Max, t.kinds[k.window].p.Max + 1}
		it := t.item(k, costs[t.r.IntN(len(costs))])
		it.Shadow, it.Yields = t.r.IntN(6) == 0, t.r.IntN(6) == 0
		it.CountRefused = t.r.IntN(6) == 0
		req.Items, keys = append(req.Items, it), append(keys, k)
	}
	req.Deny = t.r.IntN(20) == 0
	return req, keys
}

// decide makes a batch of one to three requests.
func (t *twin) decide() {
	var reqs []store.Request
	var keys [][]twinKey
	for range 1 + t.r.IntN(3) {
		req, ks := t.draw()
		reqs, keys = append(reqs, req), append(keys, ks)
	}
	if err := t.s.store.Decide(context.Background(), reqs); err != nil {
		t.s.Fatalf("call %d: Decide: %v", t.call, err)
	}
	for i := range reqs {
		c := &twinCharge{receipts: receipts(&reqs[i])}
		t.judged(&reqs[i], keys[i], c)
		if len(c.receipts) > 0 {
			t.past = append(t.past, c)
		}
	}
}

// judged decides a request on the naive side and compares.
func (t *twin) judged(req *store.Request, keys []twinKey, c *twinCharge) {
	now := t.s.clock.Now()
	admitted, wait, want := t.verdict(req, keys)
	if req.Admitted != admitted || req.Full {
		t.s.Fatalf("call %d at %d: admitted %v, full %v, want %v, false: %s", t.call, now, req.Admitted, req.Full, admitted, results(req))
	}
	for i := range req.Items {
		it, w := &req.Items[i], t.state(keys[i])
		charged := t.settle(it, w, admitted, [2]int64{patience(req.Items), wait}, &want[i], c)
		if it.Charged != charged {
			t.s.Fatalf("call %d at %d, item %d: charged %v, want %v: %s", t.call, now, i, it.Charged, charged, results(req))
		}
		t.same(fmt.Sprintf("item %d of %d", i, len(req.Items)), it, want[i])
	}
}

// verdict judges every item on the naive side.
func (t *twin) verdict(req *store.Request, keys []twinKey) (admitted bool, wait int64, want []limit.Result) {
	admitted, most := !req.Deny, patience(req.Items)
	for i := range req.Items {
		it := &req.Items[i]
		r := t.state(keys[i]).judgeItem(it, patient(it, *it.Limit, most), t.s.clock.Now())
		want = append(want, r)
		admitted = admitted && (it.Shadow || it.Yields || r.OK)
	}
	if admitted {
		wait = queueUp(req.Items, want)
	}
	return admitted, wait, want
}

// patience returns how long the queues that decide let a request wait: as long as
// the shortest.
func patience(items []store.Item) int64 {
	wait := int64(limit.MaxSize)
	for _, it := range items {
		if it.Limit.Wait > 0 && it.Cost > 0 && !it.Shadow && !it.Yields {
			wait = min(wait, it.Limit.Wait)
		}
	}
	return wait
}

// patient is a limit whose queue lets nobody wait for longer.
func patient(it *store.Item, p limit.Params, wait int64) limit.Params {
	if !it.Shadow && !it.Yields {
		p.Wait = min(p.Wait, wait)
	}
	return p
}

// queueUp returns how long what was admitted waits in every queue: for the longest of
// those that decide. One that does not, and lets nobody wait so long, does not let it
// in.
func queueUp(items []store.Item, want []limit.Result) (longest int64) {
	for i, it := range items {
		if !it.Shadow && !it.Yields {
			longest = max(longest, want[i].Wait)
		}
	}
	for i, it := range items {
		p, r := it.Limit, &want[i]
		if p.Wait > 0 && r.OK && it.Cost > 0 && longest > p.Wait {
			r.OK, r.Wait, r.Retry = false, 0, longest-p.Wait
		}
	}
	return longest
}

// settle charges an item on the naive side and brings its answer up to date.
func (t *twin) settle(it *store.Item, w *naive, admitted bool, waits [2]int64, want *limit.Result, c *twinCharge) (charged bool) {
	now, p := t.s.clock.Now(), *it.Limit
	if looks(it) {
		return false
	}
	w.advance(p, now)
	fits := admitted && want.OK
	if !fits && !records(it) {
		w.enter()
		return false
	}
	placed := w.chargeItem(it, p, now, waits[1], !fits)
	if fits {
		c.naive = append(c.naive, naiveCharge{w, p, placed, false})
	}
	after := w.stands(p, now)
	want.Used, want.Remaining, want.Reset = after.Used, after.Remaining, after.Reset
	if !admitted {
		want.Retry = w.judgeItem(it, patient(it, p, waits[0]), now).Retry
	}
	return true
}

func (t *twin) same(what string, it *store.Item, want limit.Result) {
	t.s.Helper()
	if it.Result != want {
		t.s.Fatalf("call %d at %d, %s: %s of %q, key %q, cost %d, shadow %v, yields %v, recorded %v, %q, %+v:\n got %+v\nwant %+v", t.call, t.s.clock.Now(),
			what, it.Limit.Algorithm, it.Window.Identity(), it.Key, it.Cost, it.Shadow, it.Yields, it.CountRefused, it.Members, *it.Limit, it.Result, want)
	}
}

func (t *twin) look() {
	req, keys := t.draw()
	if err := t.s.store.Look(context.Background(), &req); err != nil {
		t.s.Fatalf("call %d: Look: %v", t.call, err)
	}
	admitted, _, want := t.verdict(&req, keys)
	if req.Admitted != admitted {
		t.s.Fatalf("call %d at %d: look admits %v, want %v: %s", t.call, t.s.clock.Now(), req.Admitted, admitted, results(&req))
	}
	for i := range req.Items {
		t.same("look", &req.Items[i], want[i])
	}
}

// refund gives a recent request back, or one that was given back before. Of GCRA
// only the newest charge is sure to be given back in full.
func (t *twin) refund() {
	c := t.recent()
	if c == nil {
		return
	}
	for _, n := range c.naive {
		if n.p.Algorithm == limit.GCRA && !n.window.queue.places && !n.window.queue.newest(n.placed) && !c.refunded {
			return
		}
	}
	want := false
	if !c.refunded {
		c.refunded = true
		for _, n := range c.naive {
			want = !n.gone && n.window.refund(n.p, t.s.clock.Now(), n.placed) || want
		}
	}
	given, err := t.s.store.Refund(context.Background(), c.receipts)
	t.called("refund", c, given, want, err)
}

// release gives back the places in flight of a recent request, and renew lets them
// stay on.
func (t *twin) release() {
	c := t.recent()
	if c == nil {
		return
	}
	want := false
	for i := range c.naive {
		if n := &c.naive[i]; n.p.Algorithm == limit.Inflight && !n.gone && !c.refunded {
			want = n.window.refund(n.p, t.s.clock.Now(), n.placed) || want
			n.gone = true
		}
	}
	got, err := t.s.store.Release(context.Background(), c.receipts)
	t.called("release", c, got, want, err)
}

func (t *twin) renew() {
	c := t.recent()
	if c == nil {
		return
	}
	now, some, gone := t.s.clock.Now(), false, false
	for i := range c.naive {
		n := &c.naive[i]
		if n.p.Algorithm != limit.Inflight {
			continue
		}
		if n.gone = n.gone || c.refunded || !n.window.refund(n.p, now, n.placed); n.gone {
			gone = true
			continue
		}
		n.window.advance(n.p, now)
		n.placed, some = n.window.charge(n.p, now, n.placed.n, false), true
	}
	got, err := t.s.store.Renew(context.Background(), c.receipts)
	t.called("renew", c, got, some && !gone, err)
}

// recent returns a recent request, perhaps one that was given back; nil if there is
// none.
func (t *twin) recent() *twinCharge {
	t.past = t.past[max(0, len(t.past)-40):]
	if len(t.past) == 0 {
		return nil
	}
	return t.past[t.r.IntN(len(t.past))]
}

// called compares what a call did. Of what was not found, what comes to its place
// later may be another's.
func (t *twin) called(what string, c *twinCharge, got, want bool, err error) {
	t.s.Helper()
	if !want {
		t.past = slices.DeleteFunc(t.past, func(other *twinCharge) bool { return other == c })
	}
	if err != nil || got != want {
		t.s.Fatalf("call %d at %d: %s: %v, %v, want %v: %+v", t.call, t.s.clock.Now(), what, got, err, want, c.naive)
	}
}

func (t *twin) reset() {
	k := twinKey{t.r.IntN(len(t.kinds)), t.r.IntN(twinKeys)}
	t.s.reset(t.item(k, 1))
	t.state(k).emptied = true
	delete(t.naive, k)
}

// change raises or lowers a maximum.
func (t *twin) change() {
	k := &t.kinds[t.r.IntN(len(t.kinds))]
	burst, maximum := k.p.Burst, t.r.Int64N(8)
	if burst > 0 {
		burst = 1 + t.r.Int64N(8)
	}
	switch {
	case k.p.Periods != nil:
		k.p.Max = maximum
	case k.queue:
		k.p = queued(maximum, k.p.Size, burst, 1+t.r.Int64N(k.p.Size), 1+t.r.Int64N(5))
	default:
		k.p = params(k.p.Algorithm, maximum, k.p.Size, burst, k.p.Buckets)
	}
}

// forward moves the clock on: a little, to an edge of a window, or far. The
// microsecond it comes to is new, so that no two calls before and after a step
// back share one.
func (t *twin) forward() {
	size := max(t.kinds[t.r.IntN(len(t.kinds))].p.Size, second)
	steps := []int64{t.r.Int64N(2000), t.r.Int64N(second), size - 1, size, size + 1, t.r.Int64N(size + 1), t.r.Int64N(size + 1)}
	t.s.clock.Add(steps[t.r.IntN(len(steps))])
}

// back moves the clock back, unless that would bring back what is out. Charges
// that are out, or lie later than the clock shows then, are not refunded after
// that: what a store remembers of them it may forget.
func (t *twin) back() {
	steps := []int64{1 + t.r.Int64N(2000), t.r.Int64N(second), t.r.Int64N(minute), t.r.Int64N(hour)}
	now := t.s.clock.Now()
	to := now - steps[t.r.IntN(len(steps))]
	for k, w := range t.naive {
		if w.revives(t.kinds[k.window].p, now, to) {
			return
		}
	}
	t.past = slices.DeleteFunc(t.past, func(c *twinCharge) bool {
		return c.refunded || slices.ContainsFunc(c.naive, func(n naiveCharge) bool {
			return n.window.out(n.p, now, n.placed) || n.window.later(n.p, to, n.placed)
		})
	})
	t.s.clock.Set(to)
}
