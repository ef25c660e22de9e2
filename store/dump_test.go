package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

// TestDumpBeside: a dump that was made while others changed everything, and the records
// of that time, make the state that was reached in the end.
func TestDumpBeside(t *testing.T) {
	for round := range 6 {
		n := &notes{}
		l, err := store.NewLoader(store.MemoryOptions{SweepEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		m, _ := l.Start(n, false)
		var stop atomic.Bool
		var workers sync.WaitGroup
		for i := range 3 {
			workers.Go(func() { busy(m, rand.New(rand.NewPCG(uint64(round), uint64(i))), func() bool { return !stop.Load() }) })
		}
		for n.last() < 20_000 { // let it grow
		}
		var parts [][]byte
		dump := func() {
			parts = nil
			if _, err := m.Dump(n.last, false, func(part []byte) error {
				parts = append(parts, append([]byte(nil), part...))
				return nil
			}); err != nil {
				t.Error(err)
			}
		}
		dump()
		dump()
		for end := n.last() + 2_000; n.last() < end; {
		}
		stop.Store(true)
		workers.Wait()
		if l, err = store.NewLoader(store.MemoryOptions{SweepEvery: -1}); err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if err := l.Part(part); err != nil {
				t.Fatal(err)
			}
		}
		for i, record := range n.records {
			if err := l.Record(uint64(i+1), record); err != nil {
				t.Fatal(err)
			}
		}
		again, _ := l.Start(nil, false)
		if diff := store.Diff(m, again); !l.Whole() || diff != "" {
			t.Fatalf("round %d, after %d records: whole %v\n%.2000s", round, len(n.records), l.Whole(), diff)
		}
		for _, m := range []*store.Memory{m, again} {
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// busy makes calls of all kinds while there are more, over few shards and many keys that expire soon.
func busy(m *store.Memory, r *rand.Rand, more func() bool) {
	ctx := context.Background()
	algorithms := []limit.Algorithm{limit.SlidingLog, limit.SlidingBuckets, limit.Fixed, limit.Events, limit.SlidingCounter, limit.Inflight, limit.Distinct, limit.GCRA, limit.SlidingLog}
	var ps []*limit.Params
	var ws []*store.Window
	for i, a := range algorithms {
		burst, buckets := int64(0), int64(0)
		switch a {
		case limit.GCRA:
			burst = 5
		case limit.SlidingBuckets:
			buckets = 5
		}
		p, err := limit.New(a, 8, 20_000, burst, buckets)
		if err != nil {
			panic(err)
		}
		ps, ws = append(ps, &p), append(ws, store.NewWindow(fmt.Sprint(i)))
	}
	var kept [][]slidegate.Receipt
	for more() {
		key := fmt.Appendf(nil, "key %d", r.IntN(3000))
		var items []store.Item
		for _, i := range r.Perm(len(ps))[:1+r.IntN(3)] {
			it := store.Item{Window: ws[i], Key: key, Limit: ps[i], Cost: 1}
			if ps[i].Algorithm == limit.Distinct {
				it.Members = [][]byte{fmt.Append(nil, r.IntN(20))}
			}
			if i == len(ps)-1 {
				it.Reported, it.Hold = true, &store.Hold{For: 5_000}
				it.Lock = &store.Lock{Lasts: []int64{3_000}, Forget: 1_000}
			}
			items = append(items, it)
		}
		var given []slidegate.Receipt
		if len(kept) > 0 {
			given = kept[r.IntN(len(kept))]
		}
		switch r.IntN(12) {
		case 0:
			_, _ = m.Refund(ctx, given)
		case 1:
			_, _ = m.Release(ctx, given)
		case 2:
			_ = m.Reset(ctx, items[:1])
		case 3, 4:
			_ = m.Report(ctx, &store.Report{Items: items, Settle: given, Failed: r.IntN(2) == 0})
		default:
			reqs := []store.Request{{Items: items}}
			if err := m.Decide(ctx, reqs); err != nil {
				panic(err)
			}
			var rs []slidegate.Receipt
			for i := range items {
				if items[i].Charged {
					rs = append(rs, items[i].Receipt)
				}
			}
			if kept = append(kept, rs); len(kept) > 100 {
				kept = kept[1:]
			}
		}
	}
}

// TestAllowIsNoted: what Allow admits is noted as well, though it may hold on to hits that
// have left.
func TestAllowIsNoted(t *testing.T) {
	n := &notes{}
	l, err := store.NewLoader(store.MemoryOptions{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := l.Start(n, false)
	defer m.Close()
	w := store.NewWindow("w")
	p, err := limit.New(limit.SlidingLog, 500, 60_000_000, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 600 {
		m.Allow(w, &p, "k", 1)
	}
	if l, err = store.NewLoader(store.MemoryOptions{SweepEvery: -1}); err != nil {
		t.Fatal(err)
	}
	l.Seed(m)
	for i, record := range n.records {
		if err := l.Record(uint64(i+1), record); err != nil {
			t.Fatal(err)
		}
	}
	again, _ := l.Start(nil, false)
	defer again.Close()
	if diff := store.Diff(m, again); diff != "" || len(n.records) != 500 {
		t.Errorf("%d records; %s", len(n.records), diff)
	}
}

// TestLockedDistinctRecords: a key that is locked is recorded in a distinct all the same,
// where its limit counts what is refused.
func TestLockedDistinctRecords(t *testing.T) {
	now := int64(1_700_000_000_000_000)
	m, err := store.NewMemory(store.MemoryOptions{Now: func() int64 { return now }, SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	w := store.NewWindow("w")
	p, err := limit.New(limit.Distinct, 2, 60_000_000, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if i == 10 {
			p.Max = 8
		}
		reqs := []store.Request{{Items: []store.Item{{
			Window: w, Key: []byte("k"), Limit: &p, Cost: 1, Members: [][]byte{{byte(i)}}, CountRefused: true,
			Lock: &store.Lock{Lasts: []int64{60_000_000}},
		}}}}
		if err := m.Decide(t.Context(), reqs); err != nil {
			t.Fatal(err)
		}
	}
}
