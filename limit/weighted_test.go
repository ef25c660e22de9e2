package limit

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestCounterErrorIsTwice holds the bound of SlidingCounter: no real window of the
// size holds more than twice max, and no aligned one more than max.
func TestCounterErrorIsTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawParams(t, SlidingCounter)
		d := newDriver(SlidingCounter, false)
		var times, costs []int64
		now := int64(1_700_000_000_000_000)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now += max(drawStep(t, p), 0)
			cost := rapid.Int64Range(1, 4).Draw(t, "cost")
			if d.check(p, now, cost).OK {
				times, costs = append(times, now), append(costs, cost)
			}
			var sliding, aligned int64
			for i, at := range times {
				if now-at < p.Size {
					sliding += costs[i]
				}
				if at/p.Size == now/p.Size {
					aligned += costs[i]
				}
			}
			if sliding > 2*p.Max || aligned > p.Max {
				t.Fatalf("%d in the last window, %d in the aligned one, max %d", sliding, aligned, p.Max)
			}
		}
	})
}

// TestCounterErrorIsNearlyTwice: the bound is no smaller. A burst at the end of one
// window and hits as they fit through the next are 199 of 100 in less than one.
func TestCounterErrorIsNearlyTwice(t *testing.T) {
	const minute = 60_000_000
	p, err := New(SlidingCounter, 100, minute, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := newDriver(SlidingCounter, false)
	first := int64(base - 1)
	admitted := 0
	for range 150 {
		if d.check(p, first, 1).OK {
			admitted++
		}
	}
	for now := int64(base); now < first+minute; now += minute / 1000 {
		for d.check(p, now, 1).OK {
			admitted++
		}
	}
	if admitted != 199 {
		t.Errorf("%d in less than a window, want 199", admitted)
	}
}

// TestCounterRefusesTooLong: hits at the start of a window are held against their
// caller for nearly two.
func TestCounterRefusesTooLong(t *testing.T) {
	const minute = 60_000_000
	p, err := New(SlidingCounter, 1, minute, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := newDriver(SlidingCounter, false)
	d.check(p, base, 1)
	if r := d.check(p, base, 1); r.Retry != 2*minute {
		t.Errorf("%+v", r)
	}
}

// TestCounterRetryByForce tries every microsecond until the cost fits.
func TestCounterRetryByForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := New(SlidingCounter, rapid.Int64Range(1, 40).Draw(t, "max"), rapid.Int64Range(1000, 1100).Draw(t, "size"), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		now := rapid.Int64Range(-3000, 3000).Draw(t, "now")
		s := Weighted{
			Current:  rapid.Int64Range(0, p.Max).Draw(t, "current"),
			Previous: rapid.Int64Range(0, 2*p.Max).Draw(t, "previous"),
		}
		s.Period, _ = floorDiv(now, p.Size)
		cost := rapid.Int64Range(0, p.Max).Draw(t, "cost")
		r := s.Judge(p, now, cost)
		var wait, empty int64
		for !s.Judge(p, now+wait, cost).OK {
			wait++
		}
		for s.Judge(p, now+empty, 0).Used > 0 {
			empty++
		}
		if r.Retry != wait || r.Reset != empty {
			t.Fatalf("%+v of %+v at %d: %+v, want retry %d, reset %d", s, p, now, r, wait, empty)
		}
	})
}

// drawCounts draws a count and a window, small and as large as they get.
func drawCounts(t *rapid.T) (n, size int64) {
	n = rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, MaxUnits), rapid.Int64Range(MaxUnits-3, MaxUnits)).Draw(t, "n")
	size = rapid.OneOf(rapid.Int64Range(MinSize, MinSize+50), rapid.Int64Range(MinSize, MaxSize), rapid.Just(int64(MaxSize))).Draw(t, "size")
	return n, size
}

// TestWeighIsExact holds the arithmetic against that of whole numbers of any
// length.
func TestWeighIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, size := drawCounts(t)
		part := rapid.OneOf(rapid.Int64Range(0, size), rapid.Just(size), rapid.Just(size-1), rapid.Just(int64(1))).Draw(t, "part")
		up := new(big.Int).Mul(big.NewInt(n), big.NewInt(part))
		up.Add(up, big.NewInt(size-1)).Div(up, big.NewInt(size))
		if got := weigh(n, part, size); got != up.Int64() {
			t.Fatalf("ceil(%d*%d/%d) = %d, want %v", n, part, size, got, up)
		}
		room := rapid.Int64Range(0, n).Draw(t, "room")
		down := new(big.Int).Mul(big.NewInt(room), big.NewInt(size))
		down.Div(down, big.NewInt(n))
		if got, want := lightens(n, room, size), size-min(down.Int64(), size); got != want {
			t.Fatalf("%d weighs %d from %d of %d, want %d", n, room, got, size, want)
		}
	})
}

// weighAsFloat and lightensAsFloat are what the comment of Weighted advises to
// those who have only float64: never a number over 2^53.
func weighAsFloat(n, part, whole float64) float64 {
	q, r := 0.0, 0.0
	for shift := 49; shift >= 0; shift -= 7 {
		digit := math.Mod(math.Floor(n/float64(int64(1)<<shift)), 128)
		t := r*128 + digit*part
		if t > MaxUnits {
			panic("over 2^53")
		}
		r = math.Mod(t, whole)
		q = q*128 + (t-r)/whole
	}
	if r > 0 {
		q++
	}
	return q
}

func lightensAsFloat(n, room, size float64) float64 {
	if room >= n {
		return 0
	}
	rest := math.Floor(room / n * size)
	for rest > 0 && weighAsFloat(n, rest, size) > room {
		rest--
	}
	for weighAsFloat(n, rest+1, size) <= room {
		rest++
	}
	return size - rest
}

// TestWeighAsFloat shows that the advice is right.
func TestWeighAsFloat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, size := drawCounts(t)
		part := rapid.Int64Range(0, size).Draw(t, "part")
		if got, want := weighAsFloat(float64(n), float64(part), float64(size)), weigh(n, part, size); got != float64(want) {
			t.Fatalf("ceil(%d*%d/%d) = %.0f, want %d", n, part, size, got, want)
		}
		room := rapid.Int64Range(0, n).Draw(t, "room")
		if got, want := lightensAsFloat(float64(n), float64(room), float64(size)), lightens(n, room, size); got != float64(want) {
			t.Fatalf("%d weighs %d from %.0f of %d, want %d", n, room, got, size, want)
		}
	})
}

// TestCounterAfterStepsBack: what came before a later window may have come in this
// one, so it counts like that, and the counts stay such that a float64 holds them.
func TestCounterAfterStepsBack(t *testing.T) {
	p, err := New(SlidingCounter, MaxUnits, 1000, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := Weighted{Period: 7, Current: 5, Previous: 3}
	if s.Advance(p, 6999); s != (Weighted{Period: 6, Current: 8}) {
		t.Errorf("%+v", s)
	}
	s = Weighted{Period: 7, Current: MaxUnits, Previous: MaxUnits}
	if s.Advance(p, 0); s != (Weighted{Current: MaxUnits}) {
		t.Errorf("%+v", s)
	}
}

// TestWeightedRefund: a charge is taken out of the window it was made in, while
// that counts.
func TestWeightedRefund(t *testing.T) {
	p, err := New(SlidingCounter, 9, 1000, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &Weighted{}
	charge := func(at, cost int64) Charged {
		s.Advance(p, at)
		return s.Charge(p, at, cost)
	}
	a, b := charge(5100, 2), charge(5900, 3)
	c := charge(6500, 1)
	if !s.Refund(6500, a) || *s != (Weighted{Period: 6, Current: 1, Previous: 3}) {
		t.Errorf("of the window before: %+v", s)
	}
	if !s.Refund(6500, c) || *s != (Weighted{Period: 6, Previous: 3}) {
		t.Errorf("of the current window: %+v", s)
	}
	if s.Refund(6500, c) {
		t.Errorf("nothing is left: %+v", s)
	}
	s.Advance(p, 7000)
	if s.Refund(7000, b) {
		t.Errorf("out of both: %+v", s)
	}
	if s.Record(p, 7000, 99); s.Current != 9 {
		t.Errorf("recorded over max: %+v", s)
	}
	p.Max = 4
	if s.Record(p, 7000, 1); s.Current != 9 {
		t.Errorf("a lower maximum forgot something: %+v", s)
	}
}
