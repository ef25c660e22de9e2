package journal

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

const million = 1_000_000

// crowd fills a store with a million keys and lets workers decide over them until it is
// told to stop. decided counts what they do.
type crowd struct {
	s       *Store
	w       *store.Window
	p       *limit.Params
	keys    []string
	decided atomic.Int64
	stop    atomic.Bool
	workers sync.WaitGroup
}

func newCrowd(tb testing.TB, o Options) *crowd {
	tb.Helper()
	c := &crowd{s: open(tb, tb.TempDir(), o), w: store.NewWindow("w"), p: sliding(100, 10*minute), keys: make([]string, million)}
	for i := range c.keys {
		c.keys[i] = strconv.Itoa(i)
		for range 1 + i%8 {
			if r, _, err := c.s.Take(c.w, c.p, c.keys[i], 1); err != nil || !r.OK {
				tb.Fatal(r, err)
			}
		}
	}
	return c
}

func (c *crowd) work(n int) {
	for range n {
		c.workers.Go(func() {
			for !c.stop.Load() {
				for range 64 {
					_, _, _ = c.s.Take(c.w, c.p, c.keys[rand.IntN(million)], 1)
				}
				c.decided.Add(64)
			}
		})
	}
}

func (c *crowd) close(tb testing.TB) {
	tb.Helper()
	c.stop.Store(true)
	c.workers.Wait()
	closeStore(tb, c.s)
}

// BenchmarkSnapshot reports what two workers decide while snapshots of a million keys
// are written, as a share of what they do otherwise.
func BenchmarkSnapshot(b *testing.B) {
	c := newCrowd(b, Options{SnapshotEvery: -1, SnapshotBytes: -1})
	c.work(2)
	rate := func(do func()) float64 {
		before, began := c.decided.Load(), time.Now()
		do()
		return float64(c.decided.Load()-before) / time.Since(began).Seconds()
	}
	var alone, beside float64
	for b.Loop() {
		alone += rate(func() { time.Sleep(2 * time.Second) })
		beside += rate(func() {
			if err := c.s.Snapshot(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
	st := c.s.JournalStats()
	b.ReportMetric(beside/alone, "of-throughput")
	b.ReportMetric(alone/float64(b.N), "alone/s")
	b.ReportMetric(beside/float64(b.N), "beside/s")
	b.ReportMetric(st.SnapshotTook.Seconds(), "s/snapshot")
	b.ReportMetric(float64(st.SnapshotHold.Microseconds()), "µs-held")
	c.close(b)
}

// BenchmarkDurability measures decisions of many goroutines in each durability, and in
// memory alone.
func BenchmarkDurability(b *testing.B) {
	for _, d := range []Durability{None, Interval, Every} {
		b.Run(d.String(), func(b *testing.B) {
			s := open(b, b.TempDir(), Options{Durability: d})
			w, p := store.NewWindow("w"), sliding(100_000, 1000)
			b.SetParallelism(64)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, _, err := s.Take(w, p, strconv.Itoa(rand.IntN(1000)), 1); err != nil {
						b.Error(err)
					}
				}
			})
			b.StopTimer()
			st := s.JournalStats()
			if st.Syncs > 0 {
				b.ReportMetric(float64(st.Records)/float64(st.Syncs), "records/sync")
				b.ReportMetric(float64(st.Bytes)/float64(max(st.Records, 1)), "B/record")
			}
			if err := s.Health(); err != nil {
				b.Log(err)
			}
			closeStore(b, s)
		})
	}
}
