package limit_test

import (
	"fmt"
	"time"

	"github.com/slidegate/slidegate/limit"
)

// Three per minute, exactly: a store advances, judges, makes room and charges.
func Example() {
	p, err := limit.New(limit.SlidingLog, 3, time.Minute.Microseconds(), 0, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	var state limit.Log[uint32]
	for _, at := range []time.Duration{0, 10 * time.Second, 20 * time.Second, 30 * time.Second, 60 * time.Second} {
		now := at.Microseconds()
		state.Advance(p, now)
		r := state.Judge(p, now, 1)
		if !r.OK {
			fmt.Printf("%v: refused, retry after %v\n", at, time.Duration(r.Retry)*time.Microsecond)
			continue
		}
		if need := state.Need(1); need > len(state.Ring) {
			state.Move(make([]uint32, need))
		}
		state.Charge(p, now, 1)
		fmt.Printf("%v: admitted, %d left\n", at, state.Judge(p, now, 0).Remaining)
	}
	// Output:
	// 0s: admitted, 2 left
	// 10s: admitted, 1 left
	// 20s: admitted, 0 left
	// 30s: refused, retry after 30s
	// 1m0s: admitted, 0 left
}

// A queue lets two through at once and the others a tenth of a second apart; nobody
// waits longer than a quarter of a second.
func ExampleParams_Queued() {
	p, err := limit.New(limit.GCRA, 10, time.Second.Microseconds(), 2, 0)
	if err == nil {
		p, err = p.Queued((250 * time.Millisecond).Microseconds(), 100)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	m := limit.EmptyMeter()
	for range 5 {
		r := m.Judge(p, 0, 1)
		if !r.OK {
			fmt.Printf("refused, retry after %v\n", time.Duration(r.Retry)*time.Microsecond)
			continue
		}
		m.Charge(p, 0, 1)
		fmt.Printf("admitted, to go on after %v\n", time.Duration(r.Wait)*time.Microsecond)
	}
	// Output:
	// admitted, to go on after 0s
	// admitted, to go on after 0s
	// admitted, to go on after 100ms
	// admitted, to go on after 200ms
	// refused, retry after 50ms
}

// One state of 16 bytes paces to ten per second and lets five through at once.
func ExampleMeter() {
	p, err := limit.New(limit.GCRA, 10, time.Second.Microseconds(), 5, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := limit.EmptyMeter()
	admitted := 0
	for range 9 {
		if m.Advance(p, 0); m.Judge(p, 0, 1).OK {
			m.Charge(p, 0, 1)
			admitted++
		}
	}
	r := m.Judge(p, 0, 1)
	fmt.Printf("%d of 9 at once, the next after %v\n", admitted, time.Duration(r.Retry)*time.Microsecond)
	// Output: 5 of 9 at once, the next after 100ms
}
