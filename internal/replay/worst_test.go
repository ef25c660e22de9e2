package replay

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slidegate/slidegate"
)

// let is what was let through.
type let struct {
	key       uint64
	at, units int64
}

// worstOf looks at every window that ends with a hit.
func worstOf(all []let, size, maximum int64) (through, at int64, key uint64) {
	for i, l := range all {
		var sum int64
		for _, o := range all[:i+1] {
			if o.key == l.key && o.at > l.at-size {
				sum += o.units
			}
		}
		if sum-maximum > through-maximum {
			through, at, key = sum, l.at, l.key
		}
	}
	return through, at, key
}

func TestWorstWindow(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 8))
	for round := range 300 {
		size := 1 + rnd.Int64N(50)
		room := maxHits
		tracker := newWorstTracker(size, &room)
		var all []let
		now, key := int64(-20), uint64(0)
		for range rnd.IntN(200) {
			now += rnd.Int64N(1 + rnd.Int64N(20))
			l := let{1 + rnd.Uint64N(4), now, 1 + rnd.Int64N(5)}
			all = append(all, l)
			if tracker.add(l.key, l.at, l.units, 7) {
				key = l.key
			}
		}
		through, at, who := worstOf(all, size, 7)
		if w := tracker.worst; w.Through != through || through > 0 && (w.At.UnixMicro() != at || key != who || w.Max != 7 || w.Over() != max(0, through-7)) || w.AtLeast {
			t.Fatalf("round %d: %+v of key %d; want %d at %d of key %d", round, w, key, through, at, who)
		}
	}
}

// Where overrides give keys other maxima, the worst window is the one that is
// most over its own.
func TestWorstWindowByExcess(t *testing.T) {
	room := maxHits
	tracker := newWorstTracker(10, &room)
	if !tracker.add(1, 0, 90, 100) || tracker.worst.Over() != 0 {
		t.Errorf("%+v", tracker.worst)
	}
	if !tracker.add(2, 1, 6, 5) || tracker.worst.Through != 6 || tracker.worst.Over() != 1 {
		t.Errorf("%+v", tracker.worst)
	}
	if tracker.add(1, 2, 11, 100) {
		t.Errorf("the same excess is not worse: %+v", tracker.worst)
	}
}

// With too little room the oldest are forgotten, and it is said: never is more
// reported than there was. Keys whose hits are out give their room back.
func TestWorstWindowBound(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	said := 0
	for round := range 300 {
		size, room := int64(30), 20+rnd.IntN(200)
		given := room
		tracker := newWorstTracker(size, &room)
		var all []let
		now := int64(0)
		for range 150 {
			now += rnd.Int64N(4)
			l := let{rnd.Uint64N(8), now, 1}
			all = append(all, l)
			tracker.add(l.key, l.at, l.units, 3)
			held := 0
			for _, h := range tracker.keys {
				held += keyHits + len(h.ring)
			}
			if held+room != given || room < 0 {
				t.Fatalf("round %d: %d held and %d left of %d", round, held, room, given)
			}
		}
		through, _, _ := worstOf(all, size, 3)
		w := tracker.worst
		if w.Through > through || w.Through != through && !w.AtLeast {
			t.Fatalf("round %d: %+v, want %d", round, w, through)
		}
		if w.AtLeast {
			said++
		}
	}
	if said == 0 || said == 300 {
		t.Errorf("%d of 300 rounds were over the bound", said)
	}
	room := keyHits + firstHits
	tracker := newWorstTracker(10, &room)
	for i := range uint64(50) {
		tracker.add(i, int64(i)*20, 1, 1)
	}
	if tracker.worst.AtLeast || len(tracker.keys) != 1 {
		t.Errorf("keys that are out hold their room: %+v", tracker)
	}
}

func TestTally(t *testing.T) {
	counts := newTally(3, 3)
	name := func(text string) func() []slidegate.Attr {
		return func() []slidegate.Attr { return []slidegate.Attr{slidegate.String("k", text)} }
	}
	for _, key := range []string{"b", "a", "c", "c", "d", "a", "d", "d", "d"} {
		counts.add(uint64(key[0]), true, name(key))
	}
	var got []string
	for _, k := range counts.top() {
		got = append(got, k.Key[0].Value.String()+string(rune('0'+k.Events)))
	}
	if !slices.Equal(got, []string{"a2", "c2", "b1"}) || !counts.capped {
		t.Errorf("got %v, %v", got, counts.capped)
	}
	for i := range uint64(20) {
		newTally(3, 3).add(i, true, name("x"))
	}
	if top := newTally(3, 3).top(); len(top) != 0 {
		t.Errorf("of nothing: %v", top)
	}
}
