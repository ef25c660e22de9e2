package store

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"testing"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
)

// takeAndRefund charges a key and gives it back.
func takeAndRefund(t *testing.T, m *Memory, w *Window, p limit.Params, key string) {
	t.Helper()
	ctx := context.Background()
	reqs := []Request{{Items: []Item{{Window: w, Key: []byte(key), Limit: p, Cost: 1}}}}
	if err := m.Decide(ctx, reqs); err != nil {
		t.Fatal(err)
	}
	if ok, err := m.Refund(ctx, []slidegate.Receipt{reqs[0].Items[0].Receipt}); !ok || err != nil {
		t.Fatal(ok, err)
	}
}

// TestRefundsOfALogAreNotRemembered: a hit that is found by its stamp needs no
// mark, however often a key is charged and refunded.
func TestRefundsOfALogAreNotRemembered(t *testing.T) {
	now := int64(1e15)
	m, err := NewMemory(MemoryOptions{Now: func() int64 { now++; return now }, SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p, err := limit.New(limit.SlidingLog, 10, 24*3600*1e6, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWindow("w")
	for range 100_000 {
		takeAndRefund(t, m, w, p, "k")
	}
	if b := m.Stats().Bytes; b > 64<<10 {
		t.Errorf("one key of 10 hits takes %d KiB", b>>10)
	}
}

// TestMarksGiveTheirMemoryBack: marks of refunds that must be remembered go when
// their windows have passed, in the books and in the heap.
func TestMarksGiveTheirMemoryBack(t *testing.T) {
	now := int64(1e15)
	m, err := NewMemory(MemoryOptions{Now: func() int64 { return now }, SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p, err := limit.New(limit.SlidingBuckets, 10, 60e6, 0, 60)
	if err != nil {
		t.Fatal(err)
	}
	heap := func() int64 {
		var ms runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&ms)
		return int64(ms.HeapAlloc)
	}
	w, before := NewWindow("w"), heap()
	for i := range 300_000 {
		takeAndRefund(t, m, w, p, strconv.Itoa(i))
	}
	now += 240e6
	for range 100 {
		m.Sweep()
	}
	if st, held := m.Stats(), heap()-before; st.Keys != 0 || held > 4*st.Bytes+4<<20 {
		t.Errorf("%d keys; the books say %d KiB, the heap %d MiB", st.Keys, st.Bytes>>10, held>>20)
	}
	runtime.KeepAlive(m)
}

// TestResetsStopAtTheCeiling: a reset needs a mark, and is refused without room.
func TestResetsStopAtTheCeiling(t *testing.T) {
	now := int64(1e15)
	m, err := NewMemory(MemoryOptions{Now: func() int64 { return now }, SweepEvery: -1, MaxBytes: 4 << 20, MaxKeys: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p, err := limit.New(limit.SlidingLog, 10, 24*3600*1e6, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWindow("w")
	for i := range 100_000 {
		k := strconv.Itoa(i)
		_, _, _ = m.Take(w, &p, k, 1)
		if err = m.Reset(context.Background(), []Item{{Window: w, Key: []byte(k), Limit: p}}); err != nil {
			break
		}
	}
	if b := m.Stats().Bytes; !errors.Is(err, ErrFull) || b > 4<<20+64<<10 {
		t.Errorf("%v, %d KiB held", err, b>>10)
	}
}
