package window_test

import (
	"fmt"

	"github.com/slidegate/slidegate/window"
)

// A log of hits, of which those of the last 60 count. Its memory is lent.
func Example() {
	const size = 60
	var log window.Log[uint32]
	for _, now := range []int64{0, 10, 20, 60, 75} {
		log.Drop(log.Expired(now, size)) // what is 60 old is out
		if need := log.Need(1); need > len(log.Ring) {
			log.Move(make([]uint32, need))
		}
		log.Push(now, 1)
		fmt.Printf("at %d: %d hits, the oldest is %d old\n", now, log.Len, log.Age(0, now))
	}
	// Output:
	// at 0: 1 hits, the oldest is 0 old
	// at 10: 2 hits, the oldest is 10 old
	// at 20: 3 hits, the oldest is 20 old
	// at 60: 3 hits, the oldest is 50 old
	// at 75: 3 hits, the oldest is 55 old
}

// The different members of the last 60, in the order of last sight.
func ExampleMembers() {
	const size = 60
	seen := window.Members{Slots: make([]window.Member, 4)}
	for _, s := range []struct {
		now  int64
		name uint64
	}{{0, 7}, {10, 8}, {20, 7}, {75, 9}} {
		for seen.Oldest != 0 && seen.Seen(seen.Oldest) <= s.now-size {
			seen.Remove(seen.Oldest)
		}
		h := window.Hash{Lo: s.name}
		if place := seen.Find(h); place != 0 {
			seen.Touch(place, s.now)
		} else {
			seen.Add(h, s.now, 1)
		}
		fmt.Printf("at %d: %d members, the oldest was seen at %d\n", s.now, seen.Len, seen.Seen(seen.Oldest))
	}
	// Output:
	// at 0: 1 members, the oldest was seen at 0
	// at 10: 2 members, the oldest was seen at 0
	// at 20: 2 members, the oldest was seen at 10
	// at 75: 2 members, the oldest was seen at 20
}

// Totals of slices of time: what the last 5 slices and the current one hold.
func ExampleBuckets() {
	b := window.Buckets{Ring: make([]window.Bucket, 8)}
	for _, tick := range []int64{10, 11, 11, 15, 17} {
		b.Drop(b.Expired(tick, 5))
		b.Add(tick, 2)
		fmt.Printf("slice %d: %d in %d slices\n", tick, b.Sum(0), b.Len)
	}
	// Output:
	// slice 10: 2 in 1 slices
	// slice 11: 4 in 2 slices
	// slice 11: 6 in 2 slices
	// slice 15: 8 in 3 slices
	// slice 17: 4 in 2 slices
}
