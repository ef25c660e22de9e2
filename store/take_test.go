package store

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/limit"
	"pgregory.net/rapid"
)

// TestAllowIsTake holds the short way against the long one: the same calls on
// two stores get the same answers, and leave the same windows behind.
func TestAllowIsTake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := int64(1_700_000_000_000_000)
		open := func() *Memory {
			m, err := NewMemory(MemoryOptions{Now: func() int64 { return now }, SweepEvery: -1, MaxKeys: 3, SketchBytes: 2 * leastSketch})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		short, long := open(), open()
		short.seed = long.seed // the same shards meet the ceiling
		defer short.Close()
		defer long.Close()
		w := NewWindow("w")
		for range rapid.IntRange(1, 120).Draw(t, "calls") {
			size := rapid.SampledFrom([]int64{60_000_000, 86_400_000_000}).Draw(t, "size")
			p, err := limit.New(limit.SlidingLog, rapid.Int64Range(0, 30).Draw(t, "max"), size, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			now += rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, size/8), rapid.Int64Range(-size, 2*size)).Draw(t, "step")
			key := fmt.Sprint(size, rapid.IntRange(0, 2).Draw(t, "key"))
			cost := rapid.Int64Range(0, 9).Draw(t, "cost")
			ok, full := short.Allow(w, &p, key, cost)
			r, wantFull, err := long.Take(w, &p, key, cost)
			if err != nil || ok != r.OK || full != wantFull {
				t.Fatalf("cost %d of %d: Allow %v, full %v; Take %+v, full %v, %v", cost, p.Max, ok, full, r, wantFull, err)
			}
			look := func(m *Memory) limit.Result {
				r, _, err := m.Take(w, &p, key, 0)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			if a, b := look(short), look(long); a != b {
				t.Fatalf("afterwards %+v and %+v", a, b)
			}
		}
	})
}

// TestAllowOnTheClock is the same on the clock of the machine, where the short way
// remembers refusals and leaves old hits where they are.
func TestAllowOnTheClock(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(*testing.T) {
			if err := allowOnTheClock(rt); err != nil {
				rt.Fatal(err)
			}
		})
	})
}

func allowOnTheClock(t *rapid.T) error {
	short, err := NewMemory(MemoryOptions{SweepEvery: -1, MaxKeys: 5, SketchBytes: 2 * leastSketch})
	if err != nil {
		return err
	}
	defer short.Close()
	long, err := NewMemory(MemoryOptions{SweepEvery: -1, MaxKeys: 5, SketchBytes: 2 * leastSketch})
	if err != nil {
		return err
	}
	defer long.Close()
	long.seed = short.seed
	w := NewWindow("w")
	for range rapid.IntRange(1, 150).Draw(t, "calls") {
		size := rapid.SampledFrom([]int64{2_000, 60_000_000, 3_000_000_000, 86_400_000_000}).Draw(t, "size")
		p, err := limit.New(limit.SlidingLog, rapid.Int64Range(0, 12).Draw(t, "max"), size, 0, 0)
		if err != nil {
			return err
		}
		step := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, size/8), rapid.Int64Range(0, 2*size)).Draw(t, "step")
		time.Sleep(time.Duration(step) * time.Microsecond)
		key := fmt.Sprint(size, rapid.IntRange(0, 1).Draw(t, "key"))
		cost := rapid.Int64Range(0, 5).Draw(t, "cost")
		if err := allowAlike(short, long, w, &p, key, cost); err != nil {
			return err
		}
		if rapid.IntRange(0, 9).Draw(t, "reset") == 0 { // what was refused may pass
			for _, m := range []*Memory{short, long} {
				if err := m.Reset(context.Background(), []Item{{Window: w, Key: []byte(key), Limit: &p}}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// allowAlike makes the same call in both ways.
func allowAlike(short, long *Memory, w *Window, p *limit.Params, key string, cost int64) error {
	ok, full := short.Allow(w, p, key, cost)
	r, wantFull, err := long.Take(w, p, key, cost)
	if err != nil || ok != r.OK || full != wantFull {
		return fmt.Errorf("cost %d of %d per %d: Allow %v, full %v; Take %+v, full %v, %w", cost, p.Max, p.Size, ok, full, r, wantFull, err)
	}
	look := func(m *Memory) limit.Result {
		req := Request{Items: []Item{{Window: w, Key: []byte(key), Limit: p, Cost: 1}}}
		if err := m.Look(context.Background(), &req); err != nil {
			panic(err)
		}
		return req.Items[0].Result
	}
	if a, b := look(short), look(long); a != b {
		return fmt.Errorf("afterwards %+v and %+v", a, b)
	}
	return nil
}

func TestAllowErrors(t *testing.T) {
	m, err := NewMemory(MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w := NewWindow("w")
	p, err := limit.New(limit.SlidingLog, 5, 1_000_000, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if ok, full := m.Allow(w, &p, "k", -1); ok || full {
		t.Error("a negative cost passed")
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if ok, _ := m.Allow(w, &p, "k", 1); ok {
		t.Error("a closed store admitted")
	}
}

// TestAllowAmongOthers: Allow reads the clock before its lock. What others decided
// in between does not move into the past, and is not forgotten.
func TestAllowAmongOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := NewMemory(MemoryOptions{SweepEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		w, p := NewWindow("w"), sliding(2, 60_000_000)
		h := mix(m.hash([]byte("k")), w)
		s := m.shardOf(h)
		for name, other := range map[string]func(){
			"Take": func() { take(t, m, w, p, "k", 1, true) },
			"Decide": func() {
				decide(t, m, Item{Window: w, Key: []byte("k"), Limit: &p, Cost: 1})
			},
			"Sweep": m.Sweep,
		} {
			early := m.Now()
			time.Sleep(5 * time.Millisecond)
			other()
			if now := s.time(m, early); now != early+5_000 {
				t.Errorf("after %s the shard takes %d µs later for earlier", name, early+5_000-now)
			}
		}
	})
}

// TestAllowHuge: a cost beyond every number is refused, by a window that holds more
// than its maximum, too.
func TestAllowHuge(t *testing.T) {
	for _, now := range []func() int64{nil, func() int64 { return 1_700_000_000_000_000 }} {
		m, err := NewMemory(MemoryOptions{Now: now, SweepEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		w, wide, narrow := NewWindow("w"), sliding(5, minute), sliding(2, minute)
		for range 3 {
			take(t, m, w, wide, "k", 1, true)
		}
		for _, p := range []limit.Params{wide, narrow} {
			for _, cost := range []int64{math.MaxInt64, math.MaxInt64 - 1, 1 << 53, limit.MaxLog + 1} {
				if ok, full := m.Allow(w, &p, "k", cost); ok || full {
					t.Errorf("cost %d of %d: %v, %v", cost, p.Max, ok, full)
				}
			}
		}
		if ok, _ := m.Allow(w, &wide, "k", 2); !ok {
			t.Error("what fits was refused")
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
