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
	} {
		t.kinds = append(t.kinds, twinWindow{s.window(), p})
	}
	for range 4000 {
		t.call++
		switch n := t.r.IntN(100); {
		case n < 60:
			t.decide()
		case n < 68:
			t.look()
		case n < 78:
			t.refund()
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
		t.same("in the end", &s.look(it).Items[0], w.judge(it.Limit, s.clock.Now(), 1))
	}
}

func (t *twin) state(k twinKey) *naive {
	if t.naive[k] == nil {
		t.naive[k] = &naive{}
	}
	return t.naive[k]
}

func (t *twin) item(k twinKey, cost int64) store.Item {
	return item(t.kinds[k.window].window, fmt.Sprint("key ", k.key), t.kinds[k.window].p, cost)
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
		it.Shadow = t.r.IntN(6) == 0
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
	admitted, want := t.verdict(req, keys)
	if req.Admitted != admitted || req.Full {
		t.s.Fatalf("call %d at %d: admitted %v, full %v, want %v, false: %s", t.call, now, req.Admitted, req.Full, admitted, results(req))
	}
	for i := range req.Items {
		it, w := &req.Items[i], t.state(keys[i])
		charged := t.settle(it, w, admitted, &want[i], c)
		if it.Charged != charged {
			t.s.Fatalf("call %d at %d, item %d: charged %v, want %v: %s", t.call, now, i, it.Charged, charged, results(req))
		}
		t.same(fmt.Sprintf("item %d of %d", i, len(req.Items)), it, want[i])
	}
}

// verdict judges every item on the naive side.
func (t *twin) verdict(req *store.Request, keys []twinKey) (admitted bool, want []limit.Result) {
	admitted = !req.Deny
	for i := range req.Items {
		it := &req.Items[i]
		r := t.state(keys[i]).judge(it.Limit, t.s.clock.Now(), it.Cost)
		want = append(want, r)
		admitted = admitted && (it.Shadow || r.OK)
	}
	return admitted, want
}

// settle charges an item on the naive side and brings its answer up to date.
func (t *twin) settle(it *store.Item, w *naive, admitted bool, want *limit.Result, c *twinCharge) (charged bool) {
	now, p := t.s.clock.Now(), it.Limit
	if it.Cost == 0 {
		return false
	}
	w.advance(p, now)
	record := it.CountRefused && p.Algorithm != limit.Events
	if !record && (!admitted || !want.OK) {
		w.enter()
		return false
	}
	placed := w.charge(p, now, it.Cost, record)
	if admitted && want.OK {
		c.naive = append(c.naive, naiveCharge{w, p, placed})
	}
	after := w.judge(p, now, 0)
	want.Used, want.Remaining, want.Reset = after.Used, after.Remaining, after.Reset
	if record && !admitted {
		want.Retry = w.judge(p, now, it.Cost).Retry
	}
	return true
}

func (t *twin) same(what string, it *store.Item, want limit.Result) {
	t.s.Helper()
	if it.Result != want {
		t.s.Fatalf("call %d at %d, %s: %s of %q, key %q, cost %d, shadow %v, recorded %v, %+v:\n got %+v\nwant %+v", t.call, t.s.clock.Now(),
			what, it.Limit.Algorithm, it.Window.Identity(), it.Key, it.Cost, it.Shadow, it.CountRefused, it.Limit, it.Result, want)
	}
}

func (t *twin) look() {
	req, keys := t.draw()
	if err := t.s.store.Look(context.Background(), &req); err != nil {
		t.s.Fatalf("call %d: Look: %v", t.call, err)
	}
	admitted, want := t.verdict(&req, keys)
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
	t.past = t.past[max(0, len(t.past)-40):]
	if len(t.past) == 0 {
		return
	}
	c := t.past[t.r.IntN(len(t.past))]
	for _, n := range c.naive {
		if n.p.Algorithm == limit.GCRA && !n.window.queue.newest(n.placed) && !c.refunded {
			return
		}
	}
	want := false
	if !c.refunded {
		c.refunded = true
		for _, n := range c.naive {
			want = n.window.refund(n.p, t.s.clock.Now(), n.placed) || want
		}
	}
	given, err := t.s.store.Refund(context.Background(), c.receipts)
	if !want { // nothing was found: what comes to its place later may be another's
		t.past = slices.DeleteFunc(t.past, func(other *twinCharge) bool { return other == c })
	}
	if err != nil || given != want {
		t.s.Fatalf("call %d at %d: refund gave back %v, %v, want %v: %+v", t.call, t.s.clock.Now(), given, err, want, c.naive)
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
	burst := k.p.Burst
	if burst > 0 {
		burst = 1 + t.r.Int64N(8)
	}
	k.p = params(k.p.Algorithm, t.r.Int64N(8), k.p.Size, burst, k.p.Buckets)
}

// forward moves the clock on: a little, to an edge of a window, or far. The
// microsecond it comes to is new, so that no two calls before and after a step
// back share one.
func (t *twin) forward() {
	size := t.kinds[t.r.IntN(len(t.kinds))].p.Size
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
