package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/slidegate/slidegate/limit"
)

// BenchmarkTake measures one decision: of one key that is always admitted or
// always refused, and of a million keys in turn. Run it with -cpu 1,2.
func BenchmarkTake(b *testing.B) {
	p := sliding(100, minute)
	b.Run("hot/admitted", func(b *testing.B) {
		m, now := newTestMemory(b, MemoryOptions{})
		w := NewWindow("w")
		b.ReportAllocs()
		for b.Loop() {
			*now += second
			_, _, _ = m.Take(w, &p, "k", 1)
		}
	})
	b.Run("hot/refused", func(b *testing.B) {
		m, _ := newTestMemory(b, MemoryOptions{})
		w := NewWindow("w")
		take(b, m, w, p, "k", 100, true)
		b.ReportAllocs()
		for b.Loop() {
			_, _, _ = m.Take(w, &p, "k", 1)
		}
	})
	b.Run("uniform", func(b *testing.B) {
		const n = 1_000_000
		m, _ := newTestMemory(b, MemoryOptions{})
		w := NewWindow("w")
		keys := make([]string, n)
		for i := range keys {
			keys[i] = oneOff(i)
			take(b, m, w, p, keys[i], 1, true)
		}
		var worker atomic.Uint64
		b.ReportAllocs()
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			x := worker.Add(1) * 0x9e3779b97f4a7c15
			for pb.Next() {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
				_, _, _ = m.Take(w, &p, keys[x%n], 1)
			}
		})
	})
}

// BenchmarkDecide measures one request over three windows of two keys.
func BenchmarkDecide(b *testing.B) {
	for _, verdict := range []string{"admitted", "refused"} {
		b.Run("3 windows/"+verdict, func(b *testing.B) {
			m, now := newTestMemory(b, MemoryOptions{})
			reqs := threeWindows(100)
			if verdict == "refused" {
				reqs[0].Items[2].Limit.Max = 0
			}
			b.ReportAllocs()
			for b.Loop() {
				*now += 15 * 60 * second
				if err := m.Decide(context.Background(), reqs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHeapPerKey reports what a key takes on the heap, as B/key, and what
// the store says it takes, as told-B/key.
func BenchmarkHeapPerKey(b *testing.B) {
	for _, c := range []struct {
		keys, hits int
		p          limit.Params
	}{
		{1_000_000, 1, sliding(100, minute)},
		{10_000, 100, sliding(100, minute)},
		{10_000, 100, sliding(100, 24*hour)},
		{10_000, 100, params(limit.SlidingBuckets, 100, minute, 0, 60)},
		{100_000, 1, params(limit.GCRA, 100, minute, 100, 0)},
		{100_000, 1, params(limit.SlidingCounter, 100, minute, 0, 0)},
		{100_000, 1, calendar(limit.Calendar, 100)},
		{100_000, 1, params(limit.Inflight, 100, hour, 0, 0)},
		{10_000, 100, params(limit.Inflight, 100, hour, 0, 0)},
		{100_000, 1, params(limit.Distinct, 100, hour, 0, 0)},
		{10_000, 100, params(limit.Distinct, 100, hour, 0, 0)},
	} {
		b.Run(fmt.Sprintf("%v/%s/hits=%d", c.p.Algorithm, hours(c.p.Size), c.hits), func(b *testing.B) {
			for b.Loop() {
				before := heap()
				m, now := newTestMemory(b, MemoryOptions{})
				w := NewWindow("w")
				reqs := []Request{{Items: make([]Item, 1)}}
				for n := range c.hits {
					*now += c.p.Size / 200
					for i := range c.keys {
						reqs[0].Items[0] = unit(w, oneOff(i), &c.p, oneOff(n))
						if err := m.Decide(context.Background(), reqs); err != nil || !reqs[0].Admitted {
							b.Fatal(err, reqs[0])
						}
					}
				}
				b.ReportMetric(float64(heap()-before)/float64(c.keys), "B/key")
				b.ReportMetric(float64(m.Stats().Bytes)/float64(c.keys), "told-B/key")
			}
		})
	}
}

func hours(size int64) string {
	if size >= hour {
		return fmt.Sprintf("%dh", size/hour)
	}
	return fmt.Sprintf("%ds", size/second)
}
