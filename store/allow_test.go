package store

import (
	"math"
	"testing"
	"time"

	"github.com/slidegate/slidegate/limit"
)

// TestAllowAfterTake: all methods may be called at once. An Allow that read
// the clock and then waited for the lock, behind a Take that was decided later,
// takes the hit of that Take for one of its own, earlier instant: it leaves the
// window too soon.
func TestAllowAfterTake(t *testing.T) {
	m, err := NewMemory(MemoryOptions{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p, err := limit.New(limit.SlidingLog, 1, 60_000_000, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWindow("w")
	for try := range 20 {
		key := string(rune('a' + try))
		s := m.shardOf(mix(m.hash([]byte(key)), w))
		s.mu.Lock()
		done := make(chan bool)
		go func() {
			ok, _ := m.Allow(w, &p, key, 1)
			done <- ok
		}()
		time.Sleep(20 * time.Millisecond) // it has read the clock, and waits
		s.mu.Unlock()
		before := m.Now()
		r, _, err := m.Take(w, &p, key, 1)
		ok := <-done
		if err != nil || !r.OK || ok {
			continue // Allow came first
		}
		look, _, _ := m.Take(w, &p, key, 0)
		if leaves := m.Now() + look.Reset; leaves < before+p.Size {
			t.Fatalf("a hit leaves its window %d µs too soon", before+p.Size-leaves)
		}
	}
}

// TestAllowHugeCost: a cost that cannot fit is refused, however large it is,
// also while a window holds more than a maximum that was lowered.
func TestAllowHugeCost(t *testing.T) {
	m, err := NewMemory(MemoryOptions{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := NewWindow("w")
	params := func(most int64) limit.Params {
		p, err := limit.New(limit.SlidingLog, most, 60_000_000, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	five, two := params(5), params(2)
	if ok, _ := m.Allow(w, &five, "k", 5); !ok {
		t.Fatal("five of five were refused")
	}
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("panic under the lock: %v", r)
		}
	}()
	if ok, _ := m.Allow(w, &two, "k", math.MaxInt64); ok {
		t.Fatal("more than a window can hold was admitted")
	}
}
