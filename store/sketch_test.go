package store

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slidegate/slidegate/limit"
	"pgregory.net/rapid"
)

// sketching returns a store with room for few keys, and its clock.
func sketching(tb testing.TB, maxKeys, sketch int64) (*Memory, *atomic.Int64) {
	tb.Helper()
	var clock atomic.Int64
	clock.Store(1_700_000_000_000_000)
	m, err := NewMemory(MemoryOptions{Now: clock.Load, MaxKeys: maxKeys, SketchBytes: sketch, SweepEvery: -1})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = m.Close() })
	return m, &clock
}

func mustParams(tb testing.TB, a limit.Algorithm, maximum, size, burst, buckets int64) *limit.Params {
	tb.Helper()
	p, err := limit.New(a, maximum, size, burst, buckets)
	if err != nil {
		tb.Fatal(err)
	}
	return &p
}

// TestSketchNeverOver: whatever keys do at the ceiling, none of them gets more than the
// limit in any window, by Decide, Take and Allow.
func TestSketchNeverOver(t *testing.T) {
	const size = int64(8_000_000)
	rapid.Check(t, func(rt *rapid.T) {
		m, clock := sketching(t, 3, leastSketch*2)
		defer m.Close()
		maximum := rapid.Int64Range(1, 6).Draw(rt, "max")
		a := rapid.SampledFrom([]limit.Algorithm{limit.SlidingLog, limit.SlidingBuckets, limit.SlidingCounter, limit.Fixed, limit.GCRA}).Draw(rt, "algorithm")
		buckets, burst := int64(0), int64(0)
		switch a {
		case limit.SlidingBuckets:
			buckets = 4
		case limit.GCRA:
			burst = maximum
		}
		p, w := mustParams(t, a, maximum, size, burst, buckets), NewWindow("w")
		admitted := map[string][]int64{}
		for range 150 {
			clock.Add(rapid.Int64Range(0, size/8).Draw(rt, "delay"))
			key := fmt.Sprint(rapid.IntRange(0, 8).Draw(rt, "key"))
			cost := rapid.Int64Range(0, 3).Draw(rt, "cost")
			var ok bool
			switch rapid.IntRange(0, 2).Draw(rt, "call") {
			case 0:
				reqs := []Request{{Items: []Item{{Window: w, Key: []byte(key), Limit: p, Cost: cost}}}}
				if err := m.Decide(context.Background(), reqs); err != nil || reqs[0].Full {
					rt.Fatal(reqs[0].Full, err)
				}
				ok = reqs[0].Admitted
				if r := reqs[0].Items[0].Result; !ok && !r.Never && cost > 0 {
					look := Request{Items: []Item{{Window: w, Key: []byte(key), Limit: p, Cost: cost}}}
					clock.Add(r.Retry)
					if err := m.Look(context.Background(), &look); err != nil || !look.Admitted {
						rt.Fatalf("after the delay of %d it does not fit: %+v, %v", r.Retry, look.Items[0].Result, err)
					}
				}
			case 1:
				r, full, err := m.Take(w, p, key, cost)
				if err != nil || full {
					rt.Fatal(full, err)
				}
				ok = r.OK
			default:
				ok, _ = m.Allow(w, p, key, cost)
			}
			if !ok || a == limit.SlidingCounter || a == limit.Fixed || a == limit.GCRA { // these promise less of what they keep exactly
				continue
			}
			now := clock.Load()
			for range cost {
				admitted[key] = append(admitted[key], now)
			}
			n := int64(0)
			for _, at := range admitted[key] {
				if now-at < size {
					n++
				}
			}
			if n > maximum {
				rt.Fatalf("%v: key %s got %d of %d within the window", a, key, n, maximum)
			}
		}
	})
}

// TestSketchAlone: what is counted in a sketch only is never over, whatever the
// algorithm, and others in its cells make it less.
func TestSketchAlone(t *testing.T) {
	const size = int64(8_000_000)
	rapid.Check(t, func(rt *rapid.T) {
		maxima := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(1, 200_000), rapid.Int64Range(1, limit.MaxUnits)), 1, 3).Draw(rt, "max")
		now := int64(1_700_000_000_000_000)
		size := size
		s := newSketch(maxima[0], size, 2000, now) // few cells
		type hit struct{ at, n int64 }
		admitted := map[uint64][]hit{}
		for range 200 {
			now += rapid.Int64Range(0, size/4).Draw(rt, "delay")
			switch rapid.IntRange(0, 60).Draw(rt, "unusual") {
			case 0: // the window changes by a reload: what is out by then stays out
				for key, hits := range admitted {
					admitted[key] = slices.DeleteFunc(hits, func(h hit) bool { return now-h.at >= size })
				}
				size = rapid.Int64Range(1_000_000, 30_000_000).Draw(rt, "size")
			case 1, 2: // the clock steps back
				for key, hits := range admitted { // what is out stays out
					admitted[key] = slices.DeleteFunc(hits, func(h hit) bool { return now-h.at >= size })
				}
				now -= 3 * size
				for _, hits := range admitted {
					for i := range hits {
						hits[i].at = min(hits[i].at, now)
					}
				}
			}
			key := rapid.Uint64Range(0, 60).Draw(rt, "key")
			maximum := maxima[int(key)%len(maxima)]
			p := mustParams(t, limit.SlidingBuckets, maximum, size, 0, 8)
			s.fit(maximum, size, now)
			cost := rapid.Int64Range(1, max(maximum/3, 1)).Draw(rt, "cost")
			n := Name{Hi: key * 0x9e3779b97f4a7c15, Lo: key}
			var r limit.Result
			if s.judge(n, p, now, cost, &r); !r.OK {
				continue
			}
			s.add(n, now, cost)
			admitted[key] = append(admitted[key], hit{now, cost})
			used := int64(0)
			for _, h := range admitted[key] {
				if now-h.at < size {
					used += h.n
				}
			}
			if used > maximum {
				rt.Fatalf("key %d got %d of %d within the window", key, used, maximum)
			}
		}
	})
}

// TestSketchOverrides: keys with other parameters in the same window neither wash out nor
// shorten what counts of each other.
func TestSketchOverrides(t *testing.T) {
	m, clock := sketching(t, 1, 0)
	w := NewWindow("w")
	small, great := mustParams(t, limit.GCRA, 5, 5_000_000, 5, 0), mustParams(t, limit.GCRA, 1_000_000_000_000, 40_000_000, 20_000_000, 0)
	small.Reach = max(small.Reach, great.Reach)
	great.Reach = small.Reach
	if r, _, _ := m.Take(w, small, "exact", 1); !r.OK {
		t.Fatal(r)
	}
	passed := map[string]int64{}
	for i := range 100 {
		clock.Add(9_000) // in all less than a second, in which one is given back
		for key, p := range map[string]*limit.Params{"small": small, "great": great} {
			r, full, err := m.Take(w, p, key, p.Burst/5)
			if err != nil || full {
				t.Fatal(full, err)
			}
			if r.OK {
				passed[key] += p.Burst / 5
			}
			if used := passed[key]; r.Used < used {
				t.Fatalf("%d: %s has used %d, and is taken to have used %d", i, key, used, r.Used)
			}
		}
	}
	if passed["small"] != small.Burst || passed["great"] != great.Burst {
		t.Errorf("passed: %v", passed)
	}
	if sk := m.Sketch(); sk.Windows != 1 || sk.Bytes != m.sketches.byName[w.hash].bytes() {
		t.Errorf("%+v", sk)
	}
}

// TestSketchLong: a sketch of a short window outlives its ticks.
func TestSketchLong(t *testing.T) {
	now := int64(1_700_000_000_000_000)
	p := mustParams(t, limit.SlidingLog, 2, limit.MinSize, 0, 0)
	s, n := newSketch(2, p.Size, 2000, now), Name{1, 2}
	for range 200 {
		for i := range 3 {
			var r limit.Result
			if s.judge(n, p, now, 1, &r); r.OK != (i < 2) {
				t.Fatalf("hit %d at tick %d of %d: %+v", i, s.newest, int64(math.MaxUint32), r)
			}
			if r.OK {
				s.add(n, now, 1)
			}
		}
		now += s.step*math.MaxUint32/50 + 1
	}
}

// TestSketchRecords: where refused events count, they do in a sketch as well.
func TestSketchRecords(t *testing.T) {
	m, clock := sketching(t, 1, 0)
	p, w := mustParams(t, limit.SlidingLog, 2, 6_000_000, 0, 0), NewWindow("w")
	decide(t, m, Item{Window: w, Key: []byte("exact"), Limit: p, Cost: 1})
	for i := range 40 { // once a second, much longer than the window
		req := decide(t, m, Item{Window: w, Key: []byte("k"), Limit: p, Cost: 1, CountRefused: true})
		if req.Admitted != (i < 2) || req.Full {
			t.Fatalf("hit %d: %+v", i, req)
		}
		clock.Add(1_000_000)
	}
}

// TestSketchFlood: a flood of keys neither washes out a counter nor frees anyone, and
// hardly anybody is refused for others.
func TestSketchFlood(t *testing.T) {
	const maxKeys, hot = 200_000, 1000
	keys := 2_000_000
	if testing.Short() || raced {
		keys = 400_000
	}
	m, clock := sketching(t, maxKeys, 0)
	p, w := mustParams(t, limit.SlidingLog, 100, 60_000_000, 0, 0), NewWindow("w")
	for i := range hot {
		for range 50 {
			if r, full, err := m.Take(w, p, fmt.Sprint("hot", i), 1); !r.OK || full || err != nil {
				t.Fatal(r, full, err)
			}
		}
	}
	wrong := 0
	for i := range keys {
		if i%40 == 0 {
			clock.Add(1000) // a minute for all of them
		}
		r, full, err := m.Take(w, p, fmt.Sprint("key", i), 1)
		if full || err != nil {
			t.Fatal(full, err)
		}
		if !r.OK {
			wrong++
		}
	}
	st, sk := m.Stats(), m.Sketch()
	t.Logf("%d of %d keys refused for others; %d keys exact; %+v", wrong, keys, st.Keys, sk)
	if float64(wrong) > 0.001*float64(keys) || sk.Wrong > 0.001 || sk.Bytes > DefaultSketchBytes || st.Keys > maxKeys || st.Full > 0 || sk.Hits == 0 {
		t.Errorf("%d of %d refused; %+v, %+v", wrong, keys, st, sk)
	}
	for i := range hot {
		if r, _, _ := m.Take(w, p, fmt.Sprint("hot", i), 0); r.Used != 50 {
			t.Fatalf("hot %d has used %d of its 50", i, r.Used)
		}
	}
	// Who hammers from the sketch is stopped as well.
	passed := 0
	for range 300 {
		if r, _, _ := m.Take(w, p, "key1999", 1); r.OK {
			passed++
		}
	}
	if passed > 99 {
		t.Errorf("a key with one hit got %d more", passed)
	}
	clock.Add(10 * 60_000_000)
	m.Sweep()
	if sk := m.Sketch(); sk.Windows != 0 || sk.Bytes != 0 || m.Stats().Keys != 0 {
		t.Errorf("%+v, %d keys", sk, m.Stats().Keys)
	}
}

// TestSketchBudget: sketches take no more than they may, and windows for which nothing
// is left refuse new keys.
func TestSketchBudget(t *testing.T) {
	m, _ := sketching(t, 1, 8*leastSketch)
	p := mustParams(t, limit.SlidingLog, 5, 60_000_000, 0, 0)
	if r, _, _ := m.Take(NewWindow("w"), p, "k", 1); !r.OK {
		t.Fatal(r)
	}
	sketched := 0
	for i := range 10 {
		r, full, err := m.Take(NewWindow(fmt.Sprint("w", i)), p, "k", 1)
		if err != nil || r.OK == full {
			t.Fatal(r, full, err)
		}
		if !full {
			sketched++
		}
	}
	if sk := m.Sketch(); sketched != 3 || sk.Windows != 3 || sk.Bytes > 8*leastSketch || m.Stats().Full != 7 {
		t.Errorf("%d windows have a sketch: %+v, %+v", sketched, sk, m.Stats())
	}
}

// TestSketchIsAtomic: a request is charged everywhere or nowhere, also where some of its
// keys are counted in a sketch.
func TestSketchIsAtomic(t *testing.T) {
	m, _ := sketching(t, 1, 0)
	p, w := mustParams(t, limit.SlidingLog, 2, 60_000_000, 0, 0), NewWindow("w")
	ask := func(cost int64, keys ...string) *Request {
		var items []Item
		for _, k := range keys {
			items = append(items, Item{Window: w, Key: []byte(k), Limit: p, Cost: cost})
		}
		return decide(t, m, items...)
	}
	if !ask(1, "exact").Admitted || !ask(1, "exact", "a", "b").Admitted {
		t.Fatal("refused")
	}
	if ask(1, "c", "exact").Admitted || ask(2, "d", "a").Admitted {
		t.Fatal("admitted over the limit")
	}
	for key, want := range map[string]int64{"exact": 2, "a": 1, "b": 1, "c": 0, "d": 0} {
		if got := ask(0, key).Items[0].Result.Used; got != want {
			t.Errorf("%s has used %d, want %d", key, got, want)
		}
	}
	held := Item{Window: NewWindow("held"), Key: []byte("k"), Limit: p, Cost: 1, Hold: &Hold{For: 1}}
	if req := decide(t, m, held, Item{Window: w, Key: []byte("a"), Limit: p, Cost: 1}); req.Admitted || !req.Full || ask(0, "a").Items[0].Result.Used != 1 {
		t.Errorf("a hold needs a window of its own: %+v", req)
	}
}

// TestSketchRace: many at once get no more than the limit.
func TestSketchRace(t *testing.T) {
	m, _ := sketching(t, 1, 0)
	p, w := mustParams(t, limit.SlidingLog, 10, 60_000_000, 0, 0), NewWindow("w")
	if r, _, _ := m.Take(w, p, "exact", 1); !r.OK {
		t.Fatal(r)
	}
	var ok [4]atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				key := n % len(ok)
				if i%2 == 0 {
					if r, _, _ := m.Take(w, p, fmt.Sprint(key), 1); r.OK {
						ok[key].Add(1)
					}
				} else if req := decide(t, m, Item{Window: w, Key: fmt.Append(nil, key), Limit: p, Cost: 1}); req.Admitted {
					ok[key].Add(1)
				}
				m.Sketch()
			}
		})
	}
	wg.Wait()
	for key := range ok {
		if n := ok[key].Load(); n != 10 {
			t.Errorf("key %d got %d of 10", key, n)
		}
	}
}
