package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slidegate/slidegate"
)

// TestNoDeadLock makes requests over many keys in random orders while everything
// else that locks shards goes on. It ends, and not a unit is lost.
func TestNoDeadLock(t *testing.T) {
	var clock atomic.Int64
	clock.Store(start)
	m, err := NewMemory(MemoryOptions{Now: clock.Load, SweepEvery: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	w, p := NewWindow("w"), sliding(1000, hour)
	var charged [40]atomic.Int64
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 5))
			for range 150 {
				mixedCalls(t, m, w, r, func(key int, n int64) { charged[key].Add(n) })
			}
		})
	}
	all.Go(func() {
		for range 200 {
			m.Sweep()
			m.Stats()
			clock.Add(1000)
		}
	})
	all.Wait()
	for key := range charged {
		r, _, err := m.Take(w, &p, fmt.Sprint(key), 0)
		if want := charged[key].Load(); err != nil || r.Used != want {
			t.Errorf("key %d: %d used, want %d, %v", key, r.Used, want, err)
		}
	}
}

// mixedCalls makes a batch of two requests over up to twelve keys, a look, a
// reset of a key of its own, and perhaps a refund.
func mixedCalls(t *testing.T, m *Memory, w *Window, r *rand.Rand, count func(key int, n int64)) {
	p, ctx := sliding(1000, hour), context.Background()
	reqs := make([]Request, 2)
	keys := make([][]int, 2)
	for i := range reqs {
		keys[i] = r.Perm(40)[:1+r.IntN(12)]
		for _, key := range keys[i] {
			reqs[i].Items = append(reqs[i].Items, Item{Window: w, Key: fmt.Append(nil, key), Limit: &p, Cost: 1})
		}
		reqs[i].Deny = r.IntN(5) == 0
	}
	own := []Item{{Window: w, Key: fmt.Append(nil, "own", r.Uint64()), Limit: &p}}
	if err := m.Decide(ctx, reqs); err != nil {
		t.Error(err)
	}
	if err := m.Reset(ctx, own); err != nil {
		t.Error(err)
	}
	for i := range reqs {
		var receipts []slidegate.Receipt
		for j := range reqs[i].Items {
			if reqs[i].Items[j].Charged {
				count(keys[i][j], 1)
				receipts = append(receipts, reqs[i].Items[j].Receipt)
			}
		}
		if r.IntN(3) > 0 || len(receipts) == 0 {
			continue
		}
		if given, err := m.Refund(ctx, receipts); err != nil || !given {
			t.Errorf("Refund: %v, %v", given, err)
		}
		for _, key := range keys[i] {
			count(key, -1)
		}
	}
	if err := m.Look(ctx, &reqs[1]); err != nil {
		t.Error(err)
	}
}

// TestLocksAreSorted: the shards of a request are locked in one order, each
// once.
func TestLocksAreSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var locks []uint32
		want := map[uint32]bool{}
		for range r.IntN(40) {
			n := uint32(r.IntN(20))
			want[n] = true
			locks = addLock(locks, n)
		}
		if len(locks) != len(want) {
			t.Fatalf("%v, want %v", locks, want)
		}
		for i := range locks {
			if !want[locks[i]] || i > 0 && locks[i] <= locks[i-1] {
				t.Fatalf("%v, want %v", locks, want)
			}
		}
	}
}

// TestSeedsDiffer: nobody who knows one store's hashes knows another's, and no
// store takes another's receipts.
func TestSeedsDiffer(t *testing.T) {
	a, _ := newTestMemory(t, MemoryOptions{})
	b, _ := newTestMemory(t, MemoryOptions{})
	if a.seed == b.seed || a.hash([]byte("k")) == b.hash([]byte("k")) {
		t.Error("two stores hash alike")
	}
	w, p := NewWindow("w"), sliding(5, minute)
	it := Item{Window: w, Key: []byte("k"), Limit: &p, Cost: 1}
	ra, rb := decide(t, a, it).Items[0].Receipt, decide(t, b, it).Items[0].Receipt
	if given, err := b.Refund(context.Background(), []slidegate.Receipt{ra}); given || err != nil {
		t.Errorf("the receipt of another store: %v, %v", given, err)
	}
	if given, err := b.Refund(context.Background(), []slidegate.Receipt{rb}); !given || err != nil {
		t.Errorf("its own receipt: %v, %v", given, err)
	}
}
