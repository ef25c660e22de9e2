package journal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

// op is one call of a history, the same for every store.
type op struct {
	now   int64
	call  int
	items []store.Item
	deny  bool
	ref   int // the call whose receipts it is about
}

// runner makes the calls of a history on one store.
type runner struct {
	store    store.Store
	now      *int64
	receipts [][]slidegate.Receipt // by call
}

// run makes the next call and returns all that it answered, in words.
func (r *runner) run(o *op) string {
	*r.now = o.now
	ctx := context.Background()
	items := make([]store.Item, len(o.items))
	copy(items, o.items)
	var given []slidegate.Receipt
	if o.ref < len(r.receipts) {
		given = append(given, r.receipts[o.ref]...)
	}
	var kept []slidegate.Receipt
	var answer any
	var err error
	switch o.call {
	case 0:
		answer, err = r.store.Refund(ctx, given)
	case 1:
		answer, err = r.store.Release(ctx, given)
	case 2:
		answer, err = r.store.Renew(ctx, given)
		kept = given
	case 3:
		answer, err = 0, r.store.Reset(ctx, items[:1])
	case 4:
		answer, err = r.store.Unlock(ctx, items[:1])
	case 5, 6, 7:
		rep := &store.Report{Items: items, Settle: given, Failed: o.deny}
		err = r.store.Report(ctx, rep)
		answer = fmt.Sprint(rep.Settled, rep.Full, answers(items))
	default:
		reqs := []store.Request{{Items: items, Deny: o.deny}}
		err = r.store.Decide(ctx, reqs)
		for i := range items {
			if items[i].Charged {
				kept = append(kept, items[i].Receipt)
			}
		}
		answer = fmt.Sprint(reqs[0].Admitted, reqs[0].Full, answers(items))
	}
	r.receipts = append(r.receipts, kept)
	return fmt.Sprint(answer, err)
}

func answers(items []store.Item) (all []any) {
	for i := range items {
		it := &items[i]
		all = append(all, it.Result, it.Charged, it.Locked, it.LockedNow, it.Times)
	}
	return all
}

// look says how everything stands.
func (r *runner) look(h *history) (all []string) {
	ctx := context.Background()
	for _, kind := range h.kinds {
		for key := range historyKeys {
			it := kind(key, 0)
			req := &store.Request{Items: []store.Item{it}}
			err := r.store.Look(ctx, req)
			all = append(all, fmt.Sprint(it.Window.Identity(), " ", key, " ", answers(req.Items), err))
		}
	}
	locks, err := r.store.Locks(ctx)
	until := map[string]string{}
	for _, l := range locks {
		until[l.Window+" "+string(l.Key)] = fmt.Sprint(l.Since, l.Until, l.Times)
	}
	return append(all, fmt.Sprint(until, err))
}

const historyKeys = 3

// history makes calls at random.
type history struct {
	rand  *rand.Rand
	now   int64
	kinds []func(key int, cost int64) store.Item
	ops   []op
}

func newHistory(seed uint64) *history {
	h := &history{rand: rand.New(rand.NewPCG(seed, 1)), now: start}
	with := func(name string, a limit.Algorithm, maximum, size, burst, buckets int64, change func(*store.Item)) {
		p, err := limit.New(a, maximum, size, burst, buckets)
		if err != nil {
			panic(err)
		}
		w := store.NewWindow(name)
		h.kinds = append(h.kinds, func(key int, cost int64) store.Item {
			it := store.Item{Window: w, Key: fmt.Appendf(nil, "key %d", key), Limit: &p, Cost: cost}
			if a == limit.Distinct {
				it.Members = [][]byte{fmt.Append(nil, h.rand.IntN(6)), fmt.Append(nil, h.rand.IntN(6))}
			}
			if change != nil {
				change(&it)
			}
			return it
		})
	}
	with("log", limit.SlidingLog, 6, 20*second, 0, 0, nil)
	with("long log", limit.SlidingLog, 6, 120*minute, 0, 0, func(it *store.Item) { it.CountRefused = true })
	with("buckets", limit.SlidingBuckets, 6, 20*second, 0, 5, nil)
	with("gcra", limit.GCRA, 6, 20*second, 3, 0, nil)
	with("fixed", limit.Fixed, 6, 20*second, 0, 0, nil)
	with("events", limit.Events, 3, 8, 0, 0, nil)
	with("counter", limit.SlidingCounter, 6, 20*second, 0, 0, nil)
	with("inflight", limit.Inflight, 6, 20*second, 0, 0, nil)
	with("distinct", limit.Distinct, 4, 20*second, 0, 0, nil)
	with("held", limit.SlidingLog, 6, 20*second, 0, 0, func(it *store.Item) { it.Hold = &store.Hold{For: 5 * second, Release: true} })
	with("failures", limit.SlidingLog, 3, 20*second, 0, 0, func(it *store.Item) {
		it.Reported, it.Hold = true, &store.Hold{For: 5 * second}
		it.Lock = &store.Lock{Lasts: []int64{3 * second, 30 * second}, Forget: minute, Empties: []*store.Window{it.Window}}
	})
	return h
}

// next adds a call.
func (h *history) next() *op {
	steps := []int64{0, 0, 1, second / 3, second, 3 * second, 19 * second}
	h.now += steps[h.rand.IntN(len(steps))]
	o := op{now: h.now, call: h.rand.IntN(20), deny: h.rand.IntN(8) == 0}
	if n := len(h.ops); n > 0 {
		o.ref = max(n-1-h.rand.IntN(8), 0)
	}
	key := h.rand.IntN(historyKeys)
	for _, i := range h.rand.Perm(len(h.kinds))[:1+h.rand.IntN(3)] {
		it := h.kinds[i](key, int64(h.rand.IntN(3)))
		it.Shadow, it.Yields = h.rand.IntN(6) == 0, h.rand.IntN(6) == 0
		it.Clear, it.Free = it.Reported && h.rand.IntN(6) == 0, it.Reported && h.rand.IntN(3) == 0
		o.items = append(o.items, it)
	}
	h.ops = append(h.ops, o)
	return &h.ops[len(h.ops)-1]
}

// TestCrash makes random calls on a journaled store and on one in memory, and crashes
// the first at random points: what is on disk is all that the next one knows. With Every
// it knows everything. With Interval it knows everything up to the last sync, and goes on
// from there like a store that never did the rest.
func TestCrash(t *testing.T) {
	inMemory(t)
	for _, d := range []Durability{Every, Interval} {
		for seed := range uint64(25) {
			t.Run(fmt.Sprint(d, " ", seed), func(t *testing.T) { crashHistory(t, d, seed) })
		}
	}
}

func crashHistory(t *testing.T, d Durability, seed uint64) {
	h := newHistory(seed)
	dir, now := t.TempDir(), start
	o := slow(d, func() int64 { return now })
	s := open(t, dir, o)
	journaled := &runner{store: s, now: &now}
	memory := fresh(t)
	synced := 0 // how many calls are on disk
	for n := range 250 {
		call := h.next()
		if got, want := journaled.run(call), memory.run(call); got != want {
			t.Fatalf("call %d: %+v:\n got %s\nwant %s", n, *call, got, want)
		}
		switch h.rand.IntN(20) {
		case 0:
			if err := s.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
			synced = len(h.ops)
		case 1:
			if err := s.log.flush(true); err != nil {
				t.Fatal(err)
			}
			synced = len(h.ops)
		case 2, 3:
			if d == Every {
				synced = len(h.ops)
			}
			after := copyDir(t, dir)
			closeStore(t, s)
			dir = after
			s = open(t, dir, o)
			journaled.store, journaled.receipts = s, journaled.receipts[:synced]
			h.ops = h.ops[:synced]
			memory = fresh(t)
			for i := range h.ops {
				memory.run(&h.ops[i])
			}
			now, *memory.now = h.now, h.now
			got, want := journaled.look(h), memory.look(h)
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("after a crash at call %d, with %d on disk:\n got %s\nwant %s", n, synced, got[i], want[i])
				}
			}
			if err := s.log.flush(true); err != nil { // looking lets things lapse
				t.Fatal(err)
			}
		}
	}
	closeStore(t, s)
}

// fresh returns a runner on an empty store in memory.
func fresh(t *testing.T) *runner {
	t.Helper()
	now := start
	m, err := store.NewMemory(store.MemoryOptions{Now: func() int64 { return now }, SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return &runner{store: m, now: &now}
}

// TestEarlierClock: under a clock that is behind the state, what lies later is pulled
// down: nothing is over-admitted, and nobody waits longer than one window.
func TestEarlierClock(t *testing.T) {
	dir, now := t.TempDir(), start
	o := slow(Interval, func() int64 { return now })
	s := open(t, dir, o)
	w, p := store.NewWindow("w"), sliding(3, minute)
	for range 3 {
		now += second
		hit(t, s, w, p, "k")
	}
	closeStore(t, s)
	for _, back := range []int64{second, 3600 * second} {
		now -= back
		s = open(t, dir, o)
		req := hit(t, s, w, p, "k")
		if r := req.Items[0].Result; req.Admitted || r.Used != 3 || r.Retry > minute {
			t.Errorf("%d s earlier: %+v", back/second, r)
		}
		closeStore(t, s)
	}
	now += minute
	s = open(t, dir, o)
	if !hit(t, s, w, p, "k").Admitted {
		t.Error("a window later it does not pass")
	}
	closeStore(t, s)
}
