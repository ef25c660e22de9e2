package limit

import (
	"math"
	"testing"

	"github.com/slidegate/slidegate/internal/model"
	"pgregory.net/rapid"
)

// toModel translates parameters for the naive model.
func toModel(p Params) model.Params {
	m := model.Params{Algorithm: p.Algorithm.String(), Max: p.Max, Size: p.Size, Burst: p.Burst, Buckets: p.Buckets}
	if p.Periods != nil {
		m.Period = p.Periods.Period
	}
	if p.Wait > 0 {
		m.Wait, m.MaxQueue = p.Wait, p.Wait/p.Step+1 // New has taken the shorter one already
	}
	return m
}

// overTime are the algorithms whose windows are over time and charged with costs;
// a second GCRA stands for queues.
var overTime = []Algorithm{SlidingLog, SlidingBuckets, GCRA, Fixed, SlidingCounter, Calendar, Inflight, queues}

const queues = lastAlgorithm + 7

func testName(a Algorithm) string {
	if a == queues {
		return "queue"
	}
	return a.String()
}

// drawParams draws parameters of an algorithm; small ones, so that edges meet.
func drawParams(t *rapid.T, a Algorithm) Params {
	size := rapid.SampledFrom([]int64{1000, 1001, 5000, 60_000, 60_000_000, 86_400_000_000, MaxSize}).Draw(t, "size")
	var burst, buckets int64
	switch a {
	case queues:
		return drawQueue(t, size)
	case Calendar:
		p, err := NewCalendar(a, rapid.Int64Range(0, 12).Draw(t, "max"), irregular{1000, 7, size, 60_000, 2 * size})
		if err != nil {
			t.Fatal(err)
		}
		return p
	case Events:
		size = rapid.SampledFrom([]int64{1, 2, 3, 10, 33}).Draw(t, "events")
	case GCRA:
		burst = rapid.Int64Range(1, 8).Draw(t, "burst")
	case SlidingBuckets:
		buckets = rapid.SampledFrom([]int64{1, 2, 5, 7, 60}).Draw(t, "buckets")
	}
	p, err := New(a, rapid.Int64Range(0, 12).Draw(t, "max"), size, burst, buckets)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func drawQueue(t *rapid.T, size int64) Params {
	p, err := New(GCRA, rapid.Int64Range(0, 12).Draw(t, "max"), size, rapid.Int64Range(1, 8).Draw(t, "burst"), 0)
	if err != nil {
		t.Fatal(err)
	}
	return requeue(t, p)
}

// requeue gives parameters another queue.
func requeue(t *rapid.T, p Params) Params {
	p, err := p.Queued(rapid.Int64Range(1, p.Size).Draw(t, "wait"), rapid.Int64Range(1, 6).Draw(t, "queue"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// drawStep draws how far time moves: mostly near the edges of the window,
// sometimes not at all, far, or back.
func drawStep(t *rapid.T, p Params) int64 {
	size := p.Size
	switch p.Algorithm {
	case Events:
		size = 1000
	case Calendar:
		start, end := p.Periods.Period(0)
		size = end - start
	}
	return rapid.OneOf(
		rapid.Just(int64(0)),
		rapid.Int64Range(0, 3),
		rapid.Int64Range(0, size/4),
		rapid.Int64Range(size-2, size+2),
		rapid.Int64Range(0, 3*size),
		rapid.Int64Range(-size-size/2, 0),
	).Draw(t, "step")
}

// TestAgainstModel holds every algorithm against the naive model: random
// times, costs, idle gaps, clock steps, and limits raised and lowered.
func TestAgainstModel(t *testing.T) {
	for _, a := range append(overTime, Events) {
		t.Run(testName(a), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { againstModel(t, a) })
		})
	}
}

func againstModel(t *rapid.T, a Algorithm) {
	p := drawParams(t, a)
	fast := newDriver(p.Algorithm, p.Size >= math.MaxUint32)
	slow := model.New(p.Algorithm.String())
	now := rapid.SampledFrom([]int64{0, 1_700_000_000_000_000, -5_000_000, math.MinInt64 + MaxSize*6, math.MaxInt64/2 + 7}).Draw(t, "start")
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		now += drawStep(t, p)
		if rapid.IntRange(0, 9).Draw(t, "reload") == 0 {
			p = reload(t, p)
		}
		cost := rapid.OneOf(rapid.Just(int64(1)), rapid.Int64Range(0, p.Max+2)).Draw(t, "cost")
		var got Result
		var want model.Result
		if rapid.IntRange(0, 5).Draw(t, "record") == 0 {
			got, want = fast.record(p, now, cost), slow.Record(toModel(p), now, cost)
		} else {
			got, want = fast.check(p, now, cost), slow.Check(toModel(p), now, cost)
		}
		if want != fromResult(got) {
			t.Fatalf("%v at %d cost %d:\n got %+v\nwant %+v", p, now, cost, got, want)
		}
	}
}

func fromResult(r Result) model.Result {
	return model.Result{OK: r.OK, Never: r.Never, Used: r.Used, Remaining: r.Remaining, Retry: r.Retry, Reset: r.Reset, Wait: r.Wait}
}

// reload raises or lowers what may change without losing the history.
func reload(t *rapid.T, p Params) Params {
	if p.Periods != nil {
		p.Max = rapid.Int64Range(0, 12).Draw(t, "new max")
		return p
	}
	burst := p.Burst
	if p.Algorithm == GCRA {
		burst = rapid.Int64Range(1, 8).Draw(t, "new burst")
	}
	q, err := New(p.Algorithm, rapid.Int64Range(0, 12).Draw(t, "new max"), p.Size, burst, p.Buckets)
	if err != nil {
		t.Fatal(err)
	}
	if p.Wait > 0 {
		return requeue(t, q)
	}
	return q
}

// TestRetryIsTrue holds the delay of a refusal: at that microsecond the same
// cost passes, one earlier it does not.
func TestRetryIsTrue(t *testing.T) {
	for _, a := range overTime {
		t.Run(testName(a), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := drawParams(t, a)
				d := newDriver(p.Algorithm, p.Size >= math.MaxUint32)
				now := int64(1_700_000_000_000_000)
				for range rapid.IntRange(1, 40).Draw(t, "steps") {
					now += max(drawStep(t, p), 0)
					cost := rapid.Int64Range(0, p.Max+1).Draw(t, "cost")
					r := d.check(p, now, cost)
					if r.OK || r.Never {
						continue
					}
					if r.Retry < 1 {
						t.Fatalf("retry %d after a refusal", r.Retry)
					}
					if early := d.check(p, now+r.Retry-1, cost); early.OK {
						t.Fatalf("passed 1 µs before retry %d", r.Retry)
					}
					now += r.Retry
					if due := d.check(p, now, cost); !due.OK {
						t.Fatalf("refused when due: %+v", due)
					}
				}
			})
		})
	}
}

// TestNeverOver holds the promise of the exact algorithms and the buckets: no
// real window of the size holds more than max; and buckets refuse at most one
// slice early.
func TestNeverOver(t *testing.T) {
	for _, a := range []Algorithm{SlidingLog, SlidingBuckets} {
		t.Run(a.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { neverOver(t, a) })
		})
	}
}

func neverOver(t *rapid.T, a Algorithm) {
	p := drawParams(t, a)
	d := newDriver(a, p.Size >= math.MaxUint32)
	var times, costs []int64
	inLast := func(now, span int64) (sum int64) {
		for i, at := range times {
			if now-at < span {
				sum += costs[i]
			}
		}
		return sum
	}
	reach := p.Size
	if a == SlidingBuckets {
		reach = (p.Buckets + 1) * p.Step
	}
	now := int64(1_700_000_000_000_000)
	for range rapid.IntRange(1, 80).Draw(t, "steps") {
		now += max(drawStep(t, p), 0)
		cost := rapid.Int64Range(1, 3).Draw(t, "cost")
		r := d.check(p, now, cost)
		if r.OK {
			times, costs = append(times, now), append(costs, cost)
		} else if !r.Never && inLast(now, reach)+cost <= p.Max {
			t.Fatalf("refused although only %d in the last %d µs", inLast(now, reach), reach)
		}
		if n := inLast(now, p.Size); n > p.Max {
			t.Fatalf("%d in a window, max %d", n, p.Max)
		}
	}
}
