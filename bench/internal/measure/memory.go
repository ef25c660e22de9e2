package measure

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/slidegate/slidegate/bench/internal/peer"
)

// collections is how many full collections are timed; the median counts.
const collections = 5

// Memory fills one limiter with keys and weighs it.
func Memory(j *Job) (Outcome, error) {
	out := Outcome{Job: *j}
	c, err := find(MemoryCases(j.Keys), j)
	if err != nil {
		return out, err
	}
	l, err := peer.Find(j.Limiter)
	if err != nil {
		return out, err
	}
	before := weigh()
	allow, stop, err := l.Open(usual)
	if err != nil {
		return out, fmt.Errorf("measure: %s: %w", l.ID, err)
	}
	if stop != nil {
		defer stop()
	}
	passed := watch(1)
	refused := fill(allow, &c)
	d := passed()
	if refused > 0 || d.Wall > usual.Per {
		return out, fmt.Errorf("measure: %s: %d of %d hits were refused within %v; want 0 within %v", l.ID, refused, c.Keys*c.Hits, d.Wall, usual.Per)
	}
	after := weigh()
	per := func(n int64) float64 { return float64(n) / float64(c.Keys) }
	out.Disturbed = d.Reason()
	out.Values = map[string]float64{HeapPerKey: per(after.heap - before.heap)}
	if c.Hits == 1 {
		out.Values[NsPerKey] = per(int64(d.Wall))
	}
	if after.resident > 0 {
		out.Values[RSSPerKey] = per(after.resident - before.resident)
	}
	out.Values[GCWall], out.Values[GCCPU] = collect()
	runtime.KeepAlive(allow)
	return out, nil
}

// fill hits all keys in turn, and again, and returns how many hits were refused.
func fill(allow peer.Allow, c *Case) (refused int) {
	for range c.Hits {
		for i := range c.Keys {
			if !allow(key(i)) {
				refused++
			}
		}
	}
	return refused
}

// weight is the memory of the process.
type weight struct{ heap, resident int64 }

// weigh collects garbage, gives free memory back to the system, and looks.
func weigh() weight {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return weight{heap: int64(m.HeapAlloc), resident: residentBytes()}
}

// collect returns the median wall time and processor time of a full collection,
// in milliseconds.
func collect() (wall, cpu float64) {
	walls, cpus := make([]float64, collections), make([]float64, collections)
	for i := range collections {
		before, start := gcCPU(), time.Now()
		runtime.GC()
		walls[i] = time.Since(start).Seconds() * 1000
		cpus[i] = (gcCPU() - before) * 1000
	}
	slices.Sort(walls)
	slices.Sort(cpus)
	return walls[collections/2], cpus[collections/2]
}

// gcCPU is the processor time of the collector so far, in seconds. It includes
// what was done on processors that would have idled: in a busy program others
// wait for it.
func gcCPU() float64 {
	s := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64()
}
