package store

import (
	"context"
	"testing"

	"github.com/slidegate/slidegate/limit"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	start  = int64(1_700_000_000_000_000)
	second = int64(1_000_000)
	minute = 60 * second
	hour   = 60 * minute
)

// newTestMemory returns a store on a clock that is moved by writing to *now,
// without a sweeper. Not for several goroutines.
func newTestMemory(tb testing.TB, o MemoryOptions) (m *Memory, now *int64) {
	tb.Helper()
	now = new(int64)
	*now = start
	if o.Now == nil {
		o.Now = func() int64 { return *now }
	}
	o.SweepEvery = -1
	m, err := NewMemory(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := m.Close(); err != nil {
			tb.Error(err)
		}
	})
	return m, now
}

// params is limit.New for parameters that are right.
func params(a limit.Algorithm, maximum, size, burst, buckets int64) limit.Params {
	p, err := limit.New(a, maximum, size, burst, buckets)
	if err != nil {
		panic(err)
	}
	return p
}

func sliding(maximum, size int64) limit.Params { return params(limit.SlidingLog, maximum, size, 0, 0) }

// every returns one set of parameters for each way in which a record holds a state
// that is charged with costs. See also unitKinds.
func every(maximum int64) []limit.Params {
	return []limit.Params{
		sliding(maximum, minute),
		sliding(maximum, 2*hour),
		params(limit.SlidingBuckets, maximum, minute, 0, 60),
		params(limit.GCRA, maximum, minute, maximum, 0),
		params(limit.Fixed, maximum, minute, 0, 0),
		params(limit.Events, maximum, 2*maximum, 0, 0),
		params(limit.SlidingCounter, maximum, minute, 0, 0),
		calendar(limit.Calendar, maximum),
	}
}

// unitKinds returns the same for states that are charged with a place or a member.
func unitKinds(maximum int64) []limit.Params {
	return []limit.Params{
		params(limit.Inflight, maximum, minute, 0, 0),
		params(limit.Distinct, maximum, minute, 0, 0),
		calendar(limit.Distinct, maximum),
	}
}

// minutes are periods of a minute in which the first two of three are one.
type minutes struct{}

func (*minutes) Period(now int64) (from, end int64) {
	from = now - now%(3*minute)
	if now-from < 2*minute {
		return from, from + 2*minute
	}
	return from + 2*minute, from + 3*minute
}

func calendar(a limit.Algorithm, maximum int64) limit.Params {
	p, err := limit.NewCalendar(a, maximum, &minutes{})
	if err != nil {
		panic(err)
	}
	return p
}

// lasts returns how long a charge counts at most.
func lasts(p *limit.Params) int64 {
	switch {
	case p.Periods != nil, p.Algorithm == limit.SlidingCounter:
		return 2 * minute
	default:
		return p.Size + p.Step // buckets take a slice longer
	}
}

// unit is an item that charges one unit, to a Distinct one of its members.
func unit(w *Window, key string, p *limit.Params, member string) Item {
	it := Item{Window: w, Key: []byte(key), Limit: p, Cost: 1}
	if p.Algorithm == limit.Distinct {
		it.Members = [][]byte{[]byte(member)}
	}
	return it
}

// take charges one key and fails unless it was admitted as wanted.
func take(tb testing.TB, m *Memory, w *Window, p limit.Params, key string, cost int64, want bool) limit.Result {
	tb.Helper()
	r, _, err := m.Take(w, &p, key, cost)
	if err != nil || r.OK != want {
		tb.Fatalf("%q, cost %d: %+v, %v; want admitted %v", key, cost, r, err, want)
	}
	return r
}

// decide makes one request.
func decide(tb testing.TB, m *Memory, items ...Item) *Request {
	tb.Helper()
	reqs := []Request{{Items: items}}
	if err := m.Decide(context.Background(), reqs); err != nil {
		tb.Fatal(err)
	}
	return &reqs[0]
}

// neighbours returns n keys of one shard.
func neighbours(m *Memory, n int) (keys []string) {
	for i := 0; len(keys) < n; i++ {
		key := string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
		if len(keys) == 0 || m.shardOf(m.hash([]byte(key))) == m.shardOf(m.hash([]byte(keys[0]))) {
			keys = append(keys, key)
		}
	}
	return keys
}
