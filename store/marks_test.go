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
	reqs := []Request{{Items: []Item{unit(w, key, &p, "member")}}}
	if err := m.Decide(ctx, reqs); err != nil {
		t.Fatal(err)
	}
	for at := m.Now(); m.now == nil && m.Now() == at; {
		continue // another hit may yet come at this microsecond
	}
	if ok, err := m.Refund(ctx, []slidegate.Receipt{reqs[0].Items[0].Receipt}); !ok || err != nil {
		t.Fatal(ok, err)
	}
}

// TestRefundsOfALogAreNotRemembered: a hit that is found by its stamp needs no
// mark on a clock that does not step back, however often a key is charged and
// refunded; nor does a place in flight, a
// check that has a number, or a member that knows who brought it in.
func TestRefundsOfALogAreNotRemembered(t *testing.T) {
	m, err := NewMemory(MemoryOptions{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, p := range []limit.Params{
		params(limit.SlidingLog, 10, 24*hour, 0, 0), params(limit.Inflight, 10, 24*hour, 0, 0),
		params(limit.Distinct, 10, 24*hour, 0, 0), params(limit.Events, 10, 20, 0, 0),
	} {
		w := NewWindow(p.Algorithm.String())
		for range 20_000 {
			takeAndRefund(t, m, w, p, "k")
		}
		if b := m.Stats().Bytes; b > 64<<10 {
			t.Fatalf("%v: one key of 10 hits takes %d KiB", p.Algorithm, b>>10)
		}
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
		if err = m.Reset(context.Background(), []Item{{Window: w, Key: []byte(k), Limit: &p}}); err != nil {
			break
		}
	}
	if b := m.Stats().Bytes; !errors.Is(err, slidegate.ErrFull) || b > 4<<20+64<<10 {
		t.Errorf("%v, %d KiB held", err, b>>10)
	}
}

// TestForgetKeepsUp: nothing grows without bound: what is remembered of a release is
// forgotten when its place would be gone, however busy a key is.
func TestForgetKeepsUp(t *testing.T) {
	now := int64(1_700_000_000_000_000)
	m, err := NewMemory(MemoryOptions{SweepEvery: -1, Now: func() int64 { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p, err := limit.New(limit.Inflight, 5, 100_000, 0, 0) // held for 100 ms
	if err != nil {
		t.Fatal(err)
	}
	w := NewWindow("w")
	for range 10 {
		for range 20_000 { // a second
			now += 50
			reqs := []Request{{Items: []Item{{Window: w, Key: []byte("k"), Limit: &p, Cost: 1}}}}
			if err := m.Decide(context.Background(), reqs); err != nil || !reqs[0].Admitted {
				t.Fatal(reqs[0].Admitted, err)
			}
			if ok, err := m.Release(context.Background(), []slidegate.Receipt{reqs[0].Items[0].Receipt}); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		m.Sweep() // as the store does by itself
	}
	if held := m.Stats().Bytes; held > 3<<20 {
		t.Fatalf("2000 releases were made within the last 100 ms, and the store holds %d MB", held>>20)
	}
}
