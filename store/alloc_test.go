package store

import (
	"context"
	"fmt"
	"testing"

	"github.com/slidegate/slidegate/limit"
)

// TestNoAllocations: once its windows have grown, a store decides without
// allocating.
func TestNoAllocations(t *testing.T) {
	m, now := newTestMemory(t, MemoryOptions{})
	free := func(what string, call func()) {
		t.Helper()
		for range 1000 { // let everything grow
			call()
		}
		if n := testing.AllocsPerRun(500, call); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	ctx := context.Background()
	for _, p := range every(100) {
		w := NewWindow(fmt.Sprint(p))
		step := p.Size / 120
		if p.Algorithm == limit.Events || p.Algorithm == limit.Calendar {
			step = second
		}
		free("Take of "+p.Algorithm.String(), func() {
			*now += step
			_, _, _ = m.Take(w, &p, "k", 1)
		})
		free("Take that is refused of "+p.Algorithm.String(), func() { _, _, _ = m.Take(w, &p, "k", 101) })
	}
	reqs := threeWindows(100)
	free("Decide over three windows", func() {
		*now += second
		if err := m.Decide(ctx, reqs); err != nil {
			t.Fatal(err)
		}
	})
	free("Look at three windows", func() {
		if err := m.Look(ctx, &reqs[0]); err != nil {
			t.Fatal(err)
		}
	})
	reqs[0].Deny, reqs[0].Items[1].CountRefused = true, true
	free("Decide that records a refusal", func() {
		*now += second
		if err := m.Decide(ctx, reqs); err != nil {
			t.Fatal(err)
		}
	})
}

// threeWindows is a request over three windows of two keys.
func threeWindows(maximum int64) []Request {
	phone, ip := []byte("phone:13800138000"), []byte("ip:192.0.2.9")
	return []Request{{Items: []Item{
		{Window: NewWindow("phone/60s"), Key: phone, Limit: new(sliding(maximum, minute)), Cost: 1},
		{Window: NewWindow("phone/24h"), Key: phone, Limit: new(sliding(maximum, 24*hour)), Cost: 1},
		{Window: NewWindow("ip/60s"), Key: ip, Limit: new(params(limit.SlidingBuckets, maximum, minute, 0, 60)), Cost: 1},
	}}}
}
