package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
)

// allKinds are parameters of every kind of record, and a queue.
func allKinds(t *testing.T, maximum int64) []limit.Params {
	t.Helper()
	queue := params(limit.GCRA, maximum, minute, 2, 0)
	queue, err := queue.Queued(minute, 5)
	if err != nil {
		t.Fatal(err)
	}
	return append(append(every(maximum), unitKinds(maximum)...), queue)
}

// TestUnitsExpireExactly: what is in flight, and members, are kept until the last
// one has left and not longer; also when the newest one was given back.
func TestUnitsExpireExactly(t *testing.T) {
	for _, p := range unitKinds(5) {
		for _, giveBack := range []bool{false, true} {
			m, now := newTestMemory(t, MemoryOptions{})
			*now -= *now % (3 * minute) // where a period begins
			w := NewWindow("w")
			var last *Request
			for n := range 3 {
				*now += 3 * second
				last = decide(t, m, unit(w, "k", &p, fmt.Sprint(n)))
			}
			if giveBack {
				given, err := m.Refund(context.Background(), []slidegate.Receipt{last.Items[0].Receipt})
				if !given || err != nil {
					t.Fatal(given, err)
				}
			}
			look := &Request{Items: []Item{unit(w, "k", &p, "0")}}
			if err := m.Look(context.Background(), look); err != nil {
				t.Fatal(err)
			}
			*now += look.Items[0].Result.Reset - 1
			m.Sweep()
			if got := m.Stats().Keys; got != 1 {
				t.Errorf("%v, given back %v: swept 1 µs before it was empty", p.Algorithm, giveBack)
			}
			*now++
			m.Sweep()
			if got := m.Stats().Keys; got != 0 {
				t.Errorf("%v, given back %v: kept when it was empty", p.Algorithm, giveBack)
			}
		}
	}
}

// crowd makes random calls over windows of every kind.
type crowd struct {
	m     *Memory
	now   *int64
	r     *rand.Rand
	kinds []limit.Params
	past  [][]slidegate.Receipt
}

func (c *crowd) item() Item {
	i := c.r.IntN(len(c.kinds))
	p := &c.kinds[i]
	if c.r.IntN(50) == 0 {
		p = &c.kinds[c.r.IntN(len(c.kinds))] // a mistake of the caller
	}
	it := unit(NewWindow(fmt.Sprint("window ", i)), fmt.Sprint("key ", c.r.IntN(5)), p, "")
	it.Cost = 1 + c.r.Int64N(4)
	it.CountRefused, it.Yields, it.Shadow = c.r.IntN(5) == 0, c.r.IntN(5) == 0, c.r.IntN(5) == 0
	if it.Members = nil; p.Algorithm == limit.Distinct {
		for range c.r.IntN(12) {
			it.Members = append(it.Members, fmt.Append(nil, c.r.IntN(40)))
		}
	}
	return it
}

func (c *crowd) call(t *testing.T) {
	ctx := context.Background()
	var err error
	switch n := c.r.IntN(20); {
	case n == 0:
		err = c.m.Reset(ctx, []Item{c.item()})
	case n < 5 && len(c.past) > 0:
		rs := c.past[c.r.IntN(len(c.past))]
		switch n {
		case 1, 2:
			_, err = c.m.Refund(ctx, rs)
		case 3:
			_, err = c.m.Release(ctx, rs)
		case 4:
			_, err = c.m.Renew(ctx, rs)
		}
	default:
		req := decide(t, c.m, c.item())
		if req.Items[0].Charged {
			c.past = append(c.past[max(0, len(c.past)-50):], []slidegate.Receipt{req.Items[0].Receipt})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if *c.now += c.r.Int64N(second); c.r.IntN(200) == 0 {
		*c.now += c.r.Int64N(5*minute) - minute
	}
}

// TestNothingIsLeft: whatever was charged, given back, renewed and emptied, when all
// has expired no arena holds a block, and nothing is remembered.
func TestNothingIsLeft(t *testing.T) {
	for seed := range uint64(5) {
		m, now := newTestMemory(t, MemoryOptions{})
		c := &crowd{m: m, now: now, r: rand.New(rand.NewPCG(seed, 6)), kinds: allKinds(t, 12)}
		for range 10_000 {
			c.call(t)
		}
		if m.Stats().Keys == 0 {
			t.Fatal("nothing was kept at all")
		}
		*now += 30 * 24 * hour
		m.Sweep()
		m.Sweep()
		for i := range m.shards {
			s := &m.shards[i]
			if rings := s.short.bytes + s.long.bytes + s.slots.bytes + s.sets.bytes; rings != 0 || s.n != 0 || len(s.refunded)+len(s.resets) != 0 {
				t.Fatalf("seed %d: %d bytes of rings, %d keys, %d refunds and %d resets are left", seed, rings, s.n, len(s.refunded), len(s.resets))
			}
		}
		if s := m.Stats(); s.Keys != 0 || s.Bytes > shardCount*2*chunkLen*recordBytes {
			t.Fatalf("seed %d: %+v", seed, s)
		}
	}
}

// foretell returns what charging an item will add, as a request that is decided now
// would reserve it.
func foretell(t *testing.T, m *Memory, it Item, now int64) (keys, bytes int64) {
	t.Helper()
	req := &Request{Items: []Item{it}}
	if err := m.prepare(req); err != nil {
		t.Fatal(err)
	}
	p := &req.Items[0]
	s := m.shardOf(p.Name)
	p.record = s.find(p.Name)
	s.judgeItem(p, p.record, now, p.Cost, p.looks(), &p.Result)
	return m.need(p, now)
}

// TestNeedIsExact: what a request reserves is what its charge takes. A record that
// moves into a larger block may give a page back, and so take less.
func TestNeedIsExact(t *testing.T) {
	for _, p := range allKinds(t, 300) {
		m, now := newTestMemory(t, MemoryOptions{})
		r := rand.New(rand.NewPCG(3, uint64(p.Algorithm)))
		w := NewWindow("w")
		grown := 0
		for range 3000 {
			it := unit(w, fmt.Sprint("key ", r.IntN(40)), &p, "")
			it.Cost = 1
			if it.Members = nil; p.Algorithm == limit.Distinct {
				for range 1 + r.IntN(9) {
					it.Members = append(it.Members, fmt.Append(nil, r.IntN(400)))
				}
			}
			*now += r.Int64N(second / 100)
			m.shardOf(m.hash(it.Key)).sweepAt = *now + sweepRound // not now
			keys, bytes := foretell(t, m, it, *now)
			before := m.Stats()
			req := decide(t, m, it)
			after := m.Stats()
			if !req.Items[0].Charged {
				continue
			}
			if after.Keys-before.Keys != keys || after.Bytes-before.Bytes > bytes || keys > 0 && after.Bytes-before.Bytes != bytes {
				t.Fatalf("%v: foretold %d keys, %d bytes; it took %d, %d", p.Algorithm, keys, bytes, after.Keys-before.Keys, after.Bytes-before.Bytes)
			}
			if bytes > 0 {
				grown++
			}
		}
		if grown < 5 {
			t.Errorf("%v: only %d charges grew: the test tests little", p.Algorithm, grown)
		}
	}
}

// TestCeilingOfUnits: the bounds hold for what is in flight and for members.
func TestCeilingOfUnits(t *testing.T) {
	const maxBytes = 3 << 19
	for _, p := range unitKinds(50) {
		m, now := newTestMemory(t, MemoryOptions{MaxBytes: maxBytes, MaxKeys: 3000, SketchBytes: -1})
		w := NewWindow("w")
		full := int64(0)
		for i := range 60_000 {
			req := decide(t, m, unit(w, oneOff(i%5000), &p, fmt.Sprint(i)))
			if req.Full {
				full++
			}
			if req.Full && (req.Admitted || req.Items[0].Charged) {
				t.Fatalf("%v: %+v", p.Algorithm, req)
			}
		}
		if s := m.Stats(); s.Bytes > maxBytes+1<<16 || s.Keys > 3000 || full == 0 || s.Full != full {
			t.Errorf("%v: %+v, refused %d", p.Algorithm, s, full)
		}
		*now += 25 * hour
		m.Sweep()
		if s := m.Stats(); s.Keys != 0 || s.Bytes > shardCount*2*chunkLen*recordBytes {
			t.Errorf("%v: after the windows passed: %+v", p.Algorithm, s)
		}
	}
}

// TestYieldingAtTheCeiling: what would be charged and cannot be kept refuses, also
// when it yields to its own window; what would not be charged needs no room.
func TestYieldingAtTheCeiling(t *testing.T) {
	for _, p := range allKinds(t, 1) {
		m, _ := newTestMemory(t, MemoryOptions{MaxKeys: 1, SketchBytes: -1})
		w := NewWindow("w")
		soft := func(key, member string) Item {
			it := unit(w, key, &p, member)
			it.Yields = true
			return it
		}
		decide(t, m, soft("a", "x"))
		if req := decide(t, m, soft("b", "x")); req.Admitted || !req.Full || req.Items[0].Charged || !req.Items[0].Result.OK {
			t.Errorf("%v: a new key: %+v", p.Algorithm, req)
		}
		for range 20 { // a queue takes some more
			if req := decide(t, m, soft("a", "y")); !req.Admitted || req.Full {
				t.Fatalf("%v: a key that is there: %+v", p.Algorithm, req)
			}
		}
		ban := p
		ban.Max = 0
		if req := decide(t, m, Item{Window: w, Key: []byte("b"), Limit: &ban, Cost: 1, Yields: true, Members: soft("", "z").Members}); !req.Admitted || req.Full {
			t.Errorf("%v: full, of a key that is not there: %+v", p.Algorithm, req)
		}
	}
}

// TestNoAllocationsOfUnits: nor do decisions about places, members, queues and items
// that yield allocate.
func TestNoAllocationsOfUnits(t *testing.T) {
	for _, p := range allKinds(t, 100) {
		m, now := newTestMemory(t, MemoryOptions{})
		var reqs []Request
		for n := range 120 {
			it := unit(NewWindow("w"), "k", &p, fmt.Sprint("member ", n))
			it.Yields = true
			reqs = append(reqs, Request{Items: []Item{it}})
		}
		next := 0
		call := func() {
			*now += second
			next = (next + 1) % len(reqs)
			if err := m.Decide(context.Background(), reqs[next:next+1]); err != nil {
				t.Fatal(err)
			}
		}
		for range 1000 {
			call()
		}
		if n := testing.AllocsPerRun(500, call); n != 0 {
			t.Errorf("%v: %v allocations", p.Algorithm, n)
		}
	}
}

// TestTakeOfDistinct: Take has no members to give.
func TestTakeOfDistinct(t *testing.T) {
	m, _ := newTestMemory(t, MemoryOptions{})
	p := unitKinds(5)[1]
	w := NewWindow("w")
	decide(t, m, unit(w, "k", &p, "a"))
	if _, full, err := m.Take(w, &p, "k", 1); !errors.Is(err, ErrParams) || full {
		t.Error(full, err)
	}
	if ok, full := m.Allow(w, &p, "k", 1); ok || full {
		t.Error(ok, full)
	}
}

// TestWindowOfAnotherKind: the same as TestWindowOfAnotherAlgorithm, of places and
// members too, one unit at a time.
func TestWindowOfAnotherKind(t *testing.T) {
	all := append(every(5), unitKinds(5)...)
	for _, from := range all {
		for _, to := range all {
			if from == to {
				continue
			}
			m, now := newTestMemory(t, MemoryOptions{})
			w := NewWindow("w")
			old := []slidegate.Receipt{decide(t, m, unit(w, "k", &from, "a")).Items[0].Receipt}
			req := decide(t, m, unit(w, "k", &to, "b"))
			if r := req.Items[0].Result; !req.Admitted || r.Remaining != 4 && to.Algorithm != limit.Events {
				t.Fatalf("from %v to %v: %+v", from, to, r)
			}
			given, err := m.Refund(context.Background(), old)
			released, releaseErr := m.Release(context.Background(), old)
			renewed, renewErr := m.Renew(context.Background(), old)
			if given || released || renewed || errors.Join(err, releaseErr, renewErr) != nil {
				t.Fatalf("from %v to %v: an old receipt is good: %v, %v, %v", from, to, given, released, renewed)
			}
			*now += 25 * hour
			m.Sweep()
			s := m.shardOf(m.hash([]byte("k")))
			if m.Stats().Keys != 0 || s.short.bytes+s.long.bytes+s.slots.bytes+s.sets.bytes != 0 {
				t.Fatalf("from %v to %v: %+v", from, to, m.Stats())
			}
		}
	}
}

// TestFullDistinctRecordsAtTheCeiling: refused checks let no member in, so a window
// that counts them needs no memory for one more.
func TestFullDistinctRecordsAtTheCeiling(t *testing.T) {
	m, now := newTestMemory(t, MemoryOptions{})
	p := unitKinds(9)[1]
	it := Item{Window: NewWindow("w"), Key: []byte("k"), Limit: &p, Cost: 1, CountRefused: true}
	for n := range 9 {
		it.Members = append(it.Members, fmt.Append(nil, n))
	}
	decide(t, m, it)
	full := m.Stats()
	m.maxBytes = full.Bytes
	*now += second
	for n := range 9 {
		it.Members[n] = fmt.Append(nil, 8+n) // one is known
	}
	req := decide(t, m, it)
	if got := req.Items[0]; req.Admitted || req.Full || !got.Charged || got.Result.Reset != minute || m.Stats() != full {
		t.Errorf("%+v, %+v, were %+v", got, m.Stats(), full)
	}
}

// TestReleaseAtTheCeiling: what frees a place must not wait for room. Only where two
// places are of one instant, a release has to be remembered, and fails whole.
func TestReleaseAtTheCeiling(t *testing.T) {
	m, now := newTestMemory(t, MemoryOptions{})
	ctx := context.Background()
	p := unitKinds(9)[0]
	w := NewWindow("w")
	var all [][]slidegate.Receipt
	for n := range 4 {
		all = append(all, []slidegate.Receipt{decide(t, m, unit(w, "k", &p, "")).Items[0].Receipt})
		*now += int64(n % 2) // two and two of one instant
		if n > 1 {
			*now += second
		}
	}
	m.maxBytes = m.bytes.Load() - 1
	used := func(want int64) {
		t.Helper()
		if r := take(t, m, w, p, "k", 0, true); r.Used != want {
			t.Fatalf("%d used, want %d", r.Used, want)
		}
	}
	if ok, err := m.Renew(ctx, all[2]); !ok || err != nil {
		t.Error("renew:", ok, err)
	}
	if ok, err := m.Release(ctx, all[2]); ok || !errors.Is(err, slidegate.ErrFull) {
		t.Error("release in the microsecond of a renewal:", ok, err)
	}
	used(4)
	*now += second
	for n, want := range []int64{3, 2} { // the third and the fourth
		if ok, err := m.Release(ctx, all[2+n]); !ok || err != nil {
			t.Error("release:", ok, err)
		}
		used(want)
	}
	for _, call := range []func(context.Context, []slidegate.Receipt) (bool, error){m.Release, m.Renew, m.Refund} {
		if ok, err := call(ctx, all[0]); ok || !errors.Is(err, slidegate.ErrFull) {
			t.Error("one of two of an instant:", ok, err)
		}
		used(2)
	}
}
