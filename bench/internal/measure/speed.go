package measure

import (
	"cmp"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/slidegate/slidegate/bench/internal/peer"
)

// usual is the quota of the other cases.
var usual = peer.Quota{Max: 100, Per: time.Minute}

// Speed times the decisions of one limiter under one load.
func Speed(j *Job) (Outcome, error) {
	out := Outcome{Job: *j}
	c, err := find(SpeedCases(j.Keys), j)
	if err != nil {
		return out, err
	}
	l, err := peer.Find(j.Limiter)
	if err != nil {
		return out, err
	}
	quota := usual
	if c.Admits {
		quota = cmp.Or(l.Plenty, peer.Plenty())
	}
	allow, stop, err := l.Open(quota)
	if err != nil {
		return out, fmt.Errorf("measure: %s: %w", l.ID, err)
	}
	if stop != nil {
		defer stop()
	}
	load := newLoad(&c)
	load.warm(allow, quota)
	if c.Keys > 1 {
		load.run(allow, j.Length/2) // what grows has grown, for the most part
	}
	total, d := load.run(allow, j.Length)
	out.Values, out.Disturbed = total.values(d.Wall), d.Reason()
	if share := out.Values[Admitted]; c.Admits && share < 0.999 && l.Kind != peer.Floor {
		return out, fmt.Errorf("measure: %s: %s: only %.1f %% were admitted; the quota must be raised for this machine", l.ID, c.ID, 100*share)
	}
	return out, nil
}

// load is the keys of a case, and in which order each goroutine asks for them.
type load struct {
	keys   []string
	orders [][]uint32
}

func newLoad(c *Case) *load {
	l := &load{keys: keys(c.Keys)}
	for g := range c.Goroutines {
		l.orders = append(l.orders, order(c, g))
	}
	return l
}

// warm brings the limiter to where it stays: every key has been seen, and a hot
// one has been hit beyond its limit.
func (l *load) warm(allow peer.Allow, q peer.Quota) {
	for _, k := range l.keys {
		allow(k)
	}
	if len(l.keys) > 1 {
		return
	}
	for end := time.Now().Add(min(10*q.Per, longestWarming)); time.Now().Before(end); {
		if !allow(l.keys[0]) {
			return // it refuses now, and will
		}
	}
}

// longestWarming bounds the warming of a hot key that is never refused.
const longestWarming = 20 * time.Millisecond

// tally is what goroutines did.
type tally struct {
	ops, admitted int64
	bytes, allocs uint64
	lost          time.Duration
}

func (t *tally) values(wall time.Duration) map[string]float64 {
	n := float64(t.ops)
	return map[string]float64{
		NsPerOp:     float64(wall) / n,
		BytesPerOp:  float64(t.bytes) / n,
		AllocsPerOp: float64(t.allocs) / n,
		Admitted:    float64(t.admitted) / n,
	}
}

// run lets all goroutines ask for a while.
func (l *load) run(allow peer.Allow, length time.Duration) (tally, Disturbance) {
	tallies := make([]tally, len(l.orders))
	var ready, done sync.WaitGroup
	begin := make(chan time.Time)
	for g := range l.orders {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			start := <-begin
			tallies[g] = work(allow, l.keys, l.orders[g], start, length)
		})
	}
	ready.Wait()
	runtime.GC()
	passed := watch(len(l.orders))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for range l.orders {
		begin <- start
	}
	done.Wait()
	wall := time.Since(start)
	runtime.ReadMemStats(&after)
	d := passed()
	d.Wall = wall
	sum := tally{bytes: after.TotalAlloc - before.TotalAlloc, allocs: after.Mallocs - before.Mallocs}
	for i := range tallies {
		sum.ops += tallies[i].ops
		sum.admitted += tallies[i].admitted
		d.Lost += tallies[i].lost
	}
	return sum, d
}

// block is how many decisions are made between two looks at the clock.
const block = 256

// work is one goroutine: it asks for keys in order until length has passed.
func work(allow peer.Allow, keys []string, order []uint32, start time.Time, length time.Duration) (t tally) {
	mask := len(order) - 1
	last := time.Since(start)
	for i := 0; last < length; {
		for range block {
			if allow(keys[order[i&mask]]) {
				t.admitted++
			}
			i++
		}
		t.ops += block
		now := time.Since(start)
		if now-last > gap {
			t.lost += now - last
		}
		last = now
	}
	return t
}
