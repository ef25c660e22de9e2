package store

import (
	"fmt"
	"testing"

	"github.com/slidegate/slidegate/limit"
	"pgregory.net/rapid"
)

// TestAllowIsTake holds the short way against the long one: the same calls on
// two stores get the same answers, and leave the same windows behind.
func TestAllowIsTake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := int64(1_700_000_000_000_000)
		open := func() *Memory {
			m, err := NewMemory(MemoryOptions{Now: func() int64 { return now }, SweepEvery: -1, MaxKeys: 3})
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
