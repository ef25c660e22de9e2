package store_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/store"
	"github.com/slidegate/slidegate/store/storetest"
)

// notes are Effects that keep all records.
type notes struct {
	mu      sync.Mutex
	records [][]byte
}

func (n *notes) Append(record []byte) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.records = append(n.records, append([]byte(nil), record...))
	return uint64(len(n.records))
}

func (n *notes) Wait(uint64) error { return nil }

func (n *notes) last() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return uint64(len(n.records))
}

// reborn is a store that is loaded anew from what was dumped and noted, time and again.
type reborn struct {
	t     *testing.T
	mu    sync.RWMutex
	m     *store.Memory
	o     store.MemoryOptions
	notes *notes
	parts [][]byte
	calls atomic.Int64
	dumps bool
	loss  bool
}

func newReborn(t *testing.T, o store.MemoryOptions, dumps, loss bool) *reborn {
	t.Helper()
	o.SweepEvery = -1
	r := &reborn{t: t, o: o, notes: &notes{}, dumps: dumps, loss: loss}
	l, err := store.NewLoader(o)
	if err != nil {
		t.Fatal(err)
	}
	r.m, _ = l.Start(r.notes, false)
	r.dump()
	return r
}

func (r *reborn) dump() {
	r.parts = nil
	_, err := r.m.Dump(r.notes.last, false, func(part []byte) error {
		r.parts = append(r.parts, append([]byte(nil), part...))
		return nil
	})
	if err != nil {
		panic(err)
	}
}

// use returns the store, now and then a new one, and what to call after the use.
func (r *reborn) use() (m *store.Memory, done func()) {
	every := int64(7)
	if store.Raced {
		every = 97
	}
	if n := r.calls.Add(1); n < 1<<60 && n%every == 0 {
		r.rebirth()
	}
	r.mu.RLock()
	return r.m, r.mu.RUnlock
}

func (r *reborn) rebirth() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dumps || len(r.notes.records) > 2000 {
		r.dump()
	}
	l, err := store.NewLoader(r.o)
	if err != nil {
		panic(err)
	}
	for _, part := range r.parts {
		if err := l.Part(part); err != nil {
			panic(err)
		}
	}
	for i, record := range r.notes.records {
		if err := l.Record(uint64(i+1), record); err != nil {
			panic(err)
		}
	}
	old := r.m
	m, record := l.Start(r.notes, r.loss)
	if len(record) > 0 {
		r.notes.Append(record)
	}
	if !r.loss {
		if diff := store.Diff(old, m); diff != "" {
			r.t.Fatal(diff)
		}
	}
	r.m = m
}

func (r *reborn) Decide(ctx context.Context, reqs []store.Request) error {
	m, done := r.use()
	defer done()
	return m.Decide(ctx, reqs)
}

func (r *reborn) Look(ctx context.Context, req *store.Request) error {
	m, done := r.use()
	defer done()
	return m.Look(ctx, req)
}

func (r *reborn) Refund(ctx context.Context, rs []slidegate.Receipt) (bool, error) {
	m, done := r.use()
	defer done()
	return m.Refund(ctx, rs)
}

func (r *reborn) Release(ctx context.Context, rs []slidegate.Receipt) (bool, error) {
	m, done := r.use()
	defer done()
	return m.Release(ctx, rs)
}

func (r *reborn) Renew(ctx context.Context, rs []slidegate.Receipt) (bool, error) {
	m, done := r.use()
	defer done()
	return m.Renew(ctx, rs)
}

func (r *reborn) Reset(ctx context.Context, items []store.Item) error {
	m, done := r.use()
	defer done()
	return m.Reset(ctx, items)
}

func (r *reborn) Report(ctx context.Context, rep *store.Report) error {
	m, done := r.use()
	defer done()
	return m.Report(ctx, rep)
}

func (r *reborn) Locks(ctx context.Context) ([]store.Locked, error) {
	m, done := r.use()
	defer done()
	return m.Locks(ctx)
}

func (r *reborn) Unlock(ctx context.Context, items []store.Item) (int, error) {
	m, done := r.use()
	defer done()
	return m.Unlock(ctx, items)
}

func (r *reborn) Close() error {
	r.calls.Store(1 << 60) // no more births
	return r.m.Close()
}

// TestReborn: a store that is made anew every few calls, from a dump and from what it
// said that it changed, keeps the whole contract.
func TestReborn(t *testing.T) {
	for name, dumps := range map[string]bool{"records": false, "dumps": true} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
				return newReborn(t, store.MemoryOptions{Now: clock.Now}, dumps, false)
			})
		})
	}
}
