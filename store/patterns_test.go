package store_test

import (
	"testing"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
	"github.com/slidegate/slidegate/store/storetest"
)

const (
	second = int64(1_000_000)
	minute = 60 * second
)

// patterns are four ways to get more than 100 per minute out of a limiter: n hits
// at each time, counted from an edge of the aligned minutes.
var patterns = []struct {
	name string
	hits func(hit func(at int64, n int))
}{
	{"boundary", func(hit func(int64, int)) { // just before and just after an edge
		hit(minute-second, 100)
		hit(minute+second, 100)
	}},
	{"anchored", func(hit func(int64, int)) { // one early hit opens the window
		hit(0, 1)
		hit(minute-second, 99)
		hit(minute+second/2, 100)
	}},
	{"burst+drip", func(hit func(int64, int)) { // a burst, then what is refilled
		hit(0, 100)
		for i := int64(1); i < 100; i++ {
			hit(i*minute/100, 1)
		}
	}},
	{"late+late", func(hit func(int64, int)) { // late in one window, late in the next
		hit(minute-3*second, 100)
		hit(2*minute-4*second, 100)
	}},
}

// TestPatterns is the table of what each algorithm lets through at 100 per
// minute: the most admitted in any real window of one minute under the four
// patterns, and how many of 100 pass one minute, and one minute and a slice,
// after 100 at one instant.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		name             string
		a                limit.Algorithm
		burst, buckets   int64
		most             [4]int // under each pattern
		due, dueOneSlice int
	}{
		{"sliding_log", limit.SlidingLog, 0, 0, [4]int{100, 100, 100, 100}, 100, 100},
		{"sliding_buckets", limit.SlidingBuckets, 0, 60, [4]int{100, 100, 100, 100}, 0, 100},
		{"gcra, burst 100", limit.GCRA, 100, 0, [4]int{103, 102, 199, 198}, 100, 100},
		{"gcra, burst 10", limit.GCRA, 10, 0, [4]int{13, 12, 109, 20}, 10, 10},
		{"fixed", limit.Fixed, 0, 0, [4]int{200, 199, 100, 200}, 100, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := limit.New(c.a, 100, minute, c.burst, c.buckets)
			if err != nil {
				t.Fatal(err)
			}
			for i, pattern := range patterns {
				if got := most(admitted(t, p, pattern.hits)); got != c.most[i] {
					t.Errorf("%s: at most %d in a minute, want %d", pattern.name, got, c.most[i])
				}
			}
			due := func(after int64) int {
				times := admitted(t, p, func(hit func(int64, int)) {
					hit(0, 100)
					hit(after, 100)
				})
				n := 0
				for _, at := range times {
					if at == after {
						n++
					}
				}
				return n
			}
			if got := due(minute); got != c.due {
				t.Errorf("a minute later %d of 100 pass, want %d", got, c.due)
			}
			if got := due(minute + second); got != c.dueOneSlice {
				t.Errorf("a minute and a second later %d of 100 pass, want %d", got, c.dueOneSlice)
			}
		})
	}
}

// admitted returns the times of the hits that a fresh store lets through.
func admitted(t *testing.T, p limit.Params, hits func(hit func(at int64, n int))) (times []int64) {
	t.Helper()
	clock := &storetest.Clock{}
	m, err := store.NewMemory(store.MemoryOptions{Now: clock.Now, SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const edge = 1_700_000_040_000_000 // of an aligned minute
	w := store.NewWindow("w")
	hits(func(at int64, n int) {
		clock.Set(edge + at)
		for range n {
			r, full, err := m.Take(w, &p, "k", 1)
			if err != nil || full {
				t.Fatalf("full %v, %v", full, err)
			}
			if r.OK {
				times = append(times, at)
			}
		}
	})
	return times
}

// most returns the largest number of hits in any window (t-minute, t].
func most(times []int64) (n int) {
	from := 0
	for i, at := range times {
		for at-times[from] >= minute {
			from++
		}
		n = max(n, i-from+1)
	}
	return n
}
