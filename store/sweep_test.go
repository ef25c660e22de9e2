package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"go.uber.org/goleak"
)

// TestSweepDeletesAllThatExpired, wherever the last sweep stopped.
func TestSweepDeletesAllThatExpired(t *testing.T) {
	for _, stop := range []int{0, 1, 63, 64, 500, 999} {
		m, now := newTestMemory(t, MemoryOptions{})
		w, p := NewWindow("w"), sliding(5, minute)
		for _, key := range neighbours(m, 1000) {
			take(t, m, w, p, key, 1, true)
		}
		s := m.shardOf(m.hash([]byte(neighbours(m, 1)[0])))
		s.cursor = stop
		*now += minute - 1
		m.Sweep()
		if got := m.Stats(); got.Keys != 1000 || got.Swept != 0 {
			t.Fatalf("1 µs early, from %d: %+v", stop, got)
		}
		s.cursor = stop
		*now++
		m.Sweep()
		if got := m.Stats(); got.Keys != 0 || got.Swept != 1000 || s.short.bytes != 0 {
			t.Fatalf("from %d: %+v", stop, got)
		}
	}
}

// TestKeysExpireExactly: a record of every kind is kept until its window is
// empty and not longer.
func TestKeysExpireExactly(t *testing.T) {
	for _, p := range every(5) {
		if p.Algorithm == limit.Events {
			continue // kept for a day
		}
		m, now := newTestMemory(t, MemoryOptions{})
		w := NewWindow("w")
		for range 3 {
			take(t, m, w, p, "k", 1, true)
			*now += 3 * second
		}
		reset := take(t, m, w, p, "k", 0, true).Reset
		*now += reset - 1
		m.Sweep()
		if got := m.Stats().Keys; got != 1 {
			t.Errorf("%v of %d µs: swept 1 µs before it was empty", p.Algorithm, p.Size)
		}
		*now++
		m.Sweep()
		if got := m.Stats().Keys; got != 0 {
			t.Errorf("%v of %d µs: kept when it was empty", p.Algorithm, p.Size)
		}
	}
}

// TestEventsAreKeptForADay after the last check, refused ones too.
func TestEventsAreKeptForADay(t *testing.T) {
	m, now := newTestMemory(t, MemoryOptions{})
	w, p := NewWindow("w"), params(limit.Events, 1, 5, 0, 0)
	take(t, m, w, p, "k", 1, true)
	*now += 23 * hour
	take(t, m, w, p, "k", 1, false)
	*now += 24*hour - 1
	m.Sweep()
	take(t, m, w, p, "k", 1, false)
	*now += 24 * hour
	m.Sweep()
	if got := m.Stats().Keys; got != 0 {
		t.Errorf("%d keys after a day", got)
	}
}

// TestNeighboursSweep: without a sweeper, using some keys sweeps the others.
func TestNeighboursSweep(t *testing.T) {
	m, now := newTestMemory(t, MemoryOptions{})
	w, p := NewWindow("w"), sliding(5, minute)
	keys := neighbours(m, 400)
	for _, key := range keys {
		take(t, m, w, p, key, 1, true)
	}
	for range 100 {
		*now += second
		take(t, m, w, p, keys[0], 0, true)
	}
	if got := m.Stats().Keys; got != 0 {
		t.Errorf("%d of 400 keys are left", got)
	}
}

// TestNeighboursSweepAfterAStepBack: they do not wait until the clock shows again
// what it showed.
func TestNeighboursSweepAfterAStepBack(t *testing.T) {
	m, now := newTestMemory(t, MemoryOptions{})
	w, p := NewWindow("w"), sliding(5, second)
	keys := neighbours(m, 20)
	take(t, m, w, p, keys[0], 1, true)
	*now -= hour
	for _, key := range keys[1:] {
		take(t, m, w, p, key, 1, true)
	}
	for range 5 {
		*now += second
		take(t, m, w, p, "other", 0, true)
		take(t, m, w, p, keys[1], 0, true)
	}
	if got := m.Stats().Keys; got != 1 { // that of an hour later
		t.Errorf("%d keys are left, want 1", got)
	}
}

// TestMarksAreForgotten: what is remembered of refunds and resets goes when their
// charges have left.
func TestMarksAreForgotten(t *testing.T) {
	m, now := newTestMemory(t, MemoryOptions{})
	it := Item{Window: NewWindow("w"), Key: []byte("k"), Limit: new(sliding(1000, minute)), Cost: 1}
	s := m.shardOf(m.hash(it.Key))
	for range 500 {
		req := decide(t, m, it)
		if given, err := m.Refund(context.Background(), []slidegate.Receipt{req.Items[0].Receipt}); !given || err != nil {
			t.Fatal(given, err)
		}
	}
	decide(t, m, it)
	if err := m.Reset(context.Background(), []Item{it}); err != nil {
		t.Fatal(err)
	}
	if len(s.refunded) != 500 || len(s.resets) != 1 {
		t.Errorf("%d refunds and %d resets are remembered", len(s.refunded), len(s.resets))
	}
	told := m.Stats().Bytes
	*now += minute
	m.Sweep()
	if len(s.refunded)+len(s.resets) != 0 || m.Stats().Bytes >= told {
		t.Errorf("%d refunds and %d resets are remembered, %d bytes, were %d", len(s.refunded), len(s.resets), m.Stats().Bytes, told)
	}
}

// TestSweptMeterKeepsItsReceipts: a meter is empty before the receipts of charges
// that were moved up are. Swept then, it would give one back from a later charge.
func TestSweptMeterKeepsItsReceipts(t *testing.T) {
	m, now := newTestMemory(t, MemoryOptions{})
	it := Item{Window: NewWindow("w"), Key: []byte("k"), Limit: new(params(limit.GCRA, 10, second, 20, 0)), Cost: 10}
	give := func(req *Request) bool {
		given, err := m.Refund(context.Background(), []slidegate.Receipt{req.Items[0].Receipt})
		if err != nil {
			t.Fatal(err)
		}
		return given
	}
	a, b := decide(t, m, it), decide(t, m, it)
	if !give(a) {
		t.Fatal("nothing was given back")
	}
	never := it
	never.Cost = 21
	decide(t, m, never)
	*now += second + second/10
	m.Sweep()
	decide(t, m, it)
	if give(b) {
		t.Error("gave back of another what was worked off")
	}
	*now += 3 * second
	m.Sweep()
	if s := m.Stats(); s.Keys != 0 {
		t.Errorf("%+v", s)
	}
}

// TestSweptEventsKeepTheirReceipts: a window of events that was forgotten numbers
// its checks on, so that an old receipt does not name a new one.
func TestSweptEventsKeepTheirReceipts(t *testing.T) {
	m, now := newTestMemory(t, MemoryOptions{})
	it := Item{Window: NewWindow("w"), Key: []byte("k"), Limit: new(params(limit.Events, 5, 10, 0, 0)), Cost: 1}
	old := decide(t, m, it)
	*now += 25 * hour
	m.Sweep()
	decide(t, m, it)
	if given, err := m.Refund(context.Background(), []slidegate.Receipt{old.Items[0].Receipt}); given || err != nil {
		t.Error(given, err)
	}
}

// TestSweeperRuns: keys that nobody uses any more go by themselves.
func TestSweeperRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := NewMemory(MemoryOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		w, p := NewWindow("w"), sliding(5, minute)
		for i := range 500 {
			take(t, m, w, p, oneOff(i), 1, true)
		}
		time.Sleep(time.Minute - time.Second/2) // of the test's own time
		synctest.Wait()
		if got := m.Stats().Keys; got != 500 {
			t.Errorf("%d of 500 keys before they expire", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := m.Stats(); got.Keys != 0 || got.Swept != 500 {
			t.Errorf("%+v", got)
		}
	})
}

// TestRevivedKeysAreNeverLost hits keys at the microsecond of their expiry while
// they are swept: in each window exactly the maximum passes. A sweep that looked
// and deleted under two locks would lose a key that was hit in between.
func TestRevivedKeysAreNeverLost(t *testing.T) {
	var clock atomic.Int64
	clock.Store(start)
	m, err := NewMemory(MemoryOptions{Now: clock.Load, SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	stop := make(chan struct{})
	var sweeper sync.WaitGroup
	sweeper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				m.Sweep()
			}
		}
	})
	keys := neighbours(m, 200)
	for _, p := range every(3) {
		if p.Algorithm == limit.Events {
			continue // over time
		}
		for range 100 {
			revive(t, m, &p, keys, func() { clock.Add(lasts(&p)) })
		}
	}
	close(stop)
	sweeper.Wait()
}

// revive lets all keys expire and hits every one six times at the same moment;
// three pass.
func revive(t *testing.T, m *Memory, p *limit.Params, keys []string, expire func()) {
	t.Helper()
	w := NewWindow(fmt.Sprint(p))
	admitted := make([]atomic.Int64, len(keys))
	var hits sync.WaitGroup
	gate := make(chan struct{})
	for g := range 6 {
		hits.Go(func() {
			<-gate
			for i := range keys {
				i = (i + g*len(keys)/6) % len(keys)
				if r, _, err := m.Take(w, p, keys[i], 1); err != nil {
					t.Error(err)
				} else if r.OK {
					admitted[i].Add(1)
				}
			}
		})
	}
	expire()
	close(gate)
	hits.Wait()
	for i := range admitted {
		if n := admitted[i].Load(); n != 3 {
			t.Errorf("%v of %d µs, %q: %d admitted, want 3", p.Algorithm, p.Size, keys[i], n)
		}
	}
}

// TestWindowOfAnotherAlgorithm: a caller that changes the algorithm of a window
// without changing its identity finds it empty, and its old receipts void.
func TestWindowOfAnotherAlgorithm(t *testing.T) {
	for _, from := range every(5) {
		for _, to := range every(5) {
			if from == to {
				continue
			}
			m, now := newTestMemory(t, MemoryOptions{})
			it := Item{Window: NewWindow("w"), Key: []byte("k"), Limit: &from, Cost: 5}
			old := decide(t, m, it)
			it.Limit, it.Cost = &to, 2
			for n := range int64(2) { // the first at the instant of the old one
				req := decide(t, m, it)
				if r := req.Items[0].Result; !req.Admitted || r.Remaining < 3-2*n || r.Remaining > 4 {
					t.Fatalf("from %v to %v: %+v", from, to, r)
				}
				if given, err := m.Refund(context.Background(), []slidegate.Receipt{old.Items[0].Receipt}); given || err != nil {
					t.Fatalf("from %v to %v: refund: %v, %v", from, to, given, err)
				}
				*now += second
			}
			*now += 25 * hour
			m.Sweep()
			s := m.shardOf(m.hash(it.Key))
			if m.Stats().Keys != 0 || s.short.bytes+s.long.bytes+s.slots.bytes+s.sets.bytes != 0 {
				t.Fatalf("from %v to %v: %+v, %d bytes of rings", from, to, m.Stats(), s.bytes())
			}
		}
	}
}

func TestCloseStopsTheSweeper(t *testing.T) {
	before := goleak.IgnoreCurrent()
	m, err := NewMemory(MemoryOptions{SweepEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	w, p := NewWindow("w"), sliding(5, minute)
	take(t, m, w, p, "k", 1, true)
	for range 2 { // once more does nothing
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	goleak.VerifyNone(t, before)
	if s := m.Stats(); s.Keys != 0 || s.Bytes != 0 {
		t.Errorf("%+v after Close", s)
	}
	if _, _, err := m.Take(w, &p, "k", 1); err == nil {
		t.Error("Take after Close")
	}
	m.Sweep()
}
