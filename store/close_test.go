package store

import (
	"context"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
)

// TestCloseForgets: a window that is full stays full until calls fail. A
// Decide that began before Close must not find the windows empty.
func TestCloseForgets(t *testing.T) {
	p, err := limit.New(limit.SlidingLog, 1, 60_000_000, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWindow("w")
	for range 20 {
		m, err := NewMemory(MemoryOptions{SweepEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		var key []byte // in the first shard, which Close empties first
		for i := 0; ; i++ {
			key = []byte{byte(i), byte(i >> 8)}
			if shardNumber(mix(m.hash(key), w)) == 0 {
				break
			}
		}
		decide := func() (bool, error) {
			reqs := []Request{{Items: []Item{{Window: w, Key: key, Limit: &p, Cost: 1}}}}
			err := m.Decide(context.Background(), reqs)
			return reqs[0].Admitted, err
		}
		if ok, err := decide(); !ok || err != nil {
			t.Fatal(ok, err)
		}
		s := &m.shards[0]
		s.mu.Lock()
		type answer struct {
			ok  bool
			err error
		}
		came := make(chan answer)
		go func() {
			ok, err := decide()
			came <- answer{ok, err}
		}()
		time.Sleep(5 * time.Millisecond) // it has begun, and waits for the lock
		s.mu.Unlock()
		m.Close()
		if a := <-came; a.ok && a.err == nil {
			t.Fatalf("while the store was closed, a second hit passed in a window of one; it holds %d keys after", m.Stats().Keys)
		}
	}
}

// TestCloseAccounts: a store that is closed holds nothing, and says so.
func TestCloseAccounts(t *testing.T) {
	now := int64(1_700_000_000_000_000)
	m, err := NewMemory(MemoryOptions{SweepEvery: -1, Now: func() int64 { return now }})
	if err != nil {
		t.Fatal(err)
	}
	p, err := limit.New(limit.SlidingLog, 1, 1_000_000, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	reqs := []Request{{Items: []Item{{Window: NewWindow("w"), Key: []byte("k"), Limit: &p, Cost: 1}}}}
	if err := m.Decide(context.Background(), reqs); err != nil {
		t.Fatal(err)
	}
	if ok, err := m.Refund(context.Background(), []slidegate.Receipt{reqs[0].Items[0].Receipt}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	now += 10_000_000
	m.Sweep()
	m.Close()
	if s := m.Stats(); s.Keys != 0 || s.Bytes != 0 {
		t.Fatalf("a closed store holds %+v", s)
	}
}
