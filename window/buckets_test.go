package window

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// pair is the same buckets twice: in slices, and as a list of amounts.
type pair struct {
	b    Buckets
	list []amount
	tick int64
	span uint64
}

type amount struct {
	tick int64
	n    uint64
}

// live returns what lies at most span ticks before tick, moved to tick if later.
func (x *pair) live() (live []amount) {
	for _, a := range x.list {
		a.tick = min(a.tick, x.tick)
		if age(a.tick, x.tick) <= x.span && a.n > 0 {
			live = append(live, a)
		}
	}
	slices.SortStableFunc(live, func(a, b amount) int {
		switch {
		case a.tick < b.tick:
			return -1
		case a.tick > b.tick:
			return 1
		}
		return 0
	})
	return live
}

// do makes one call on both. It reports what differs.
func (x *pair) do(op, arg byte) string {
	switch op % 6 {
	case 0, 1, 2: // time passes, and something is added
		if x.tick > math.MaxInt64-int64(arg%9) {
			return ""
		}
		x.tick += int64(arg % 9)
		x.advance()
		n := uint64(arg/9) + 1
		if x.b.Full(x.tick) {
			x.b.Move(make([]Bucket, len(x.b.Ring)+1+int(op)%3))
		}
		x.b.Add(x.tick, n)
		x.list = append(x.list, amount{x.tick, n})
	case 3: // the clock steps back
		if x.tick < math.MinInt64+int64(arg%13) {
			return ""
		}
		x.tick -= int64(arg % 13)
		x.advance()
	case 4:
		return x.subtract(arg)
	case 5:
		n := uint64(arg % 40)
		x.b.Trim(n)
		for i := range x.list {
			cut := min(n, x.list[i].n)
			x.list[i].n -= cut
			n -= cut
		}
	}
	return ""
}

func (x *pair) advance() {
	x.b.Pull(x.tick)
	x.b.Drop(x.b.Expired(x.tick, x.span))
	x.list = x.live()
}

func (x *pair) subtract(arg byte) string {
	tick := x.tick
	if len(x.list) > 0 {
		tick = x.list[int(arg)%len(x.list)].tick
	}
	if arg%8 == 7 && tick < math.MaxInt64 {
		tick++
	}
	n, gone := uint64(arg%11), uint64(0)
	for i := range x.list {
		if a := &x.list[i]; a.tick == tick {
			cut := min(n-gone, a.n)
			a.n -= cut
			gone += cut
		}
	}
	if x.b.Subtract(tick, n) != gone {
		return "Subtract"
	}
	return ""
}

// differs says what the slices answer otherwise than the list.
func (x *pair) differs() string {
	live := x.live()
	dead := x.b.Expired(x.tick, x.span)
	var sum uint64
	for _, a := range live {
		sum += a.n
	}
	switch {
	case x.b.Sum(dead) != sum:
		return "Sum"
	case x.b.Sum(x.b.Len) != 0 || x.b.Sum(x.b.Len+7) != 0:
		return "Sum of nothing"
	case sum > 0 && min(x.b.At(x.b.Len-1).Tick, x.tick) != live[len(live)-1].tick:
		return "the newest slice"
	}
	var gone uint64
	for _, a := range live { // a leaves, and all before it
		for n := gone + 1; n <= gone+a.n; n++ {
			i := x.b.Freed(dead, n)
			if i >= x.b.Len || min(x.b.At(i).Tick, x.tick) != a.tick {
				return "Freed"
			}
		}
		gone += a.n
	}
	if x.b.Freed(dead, gone+1) != x.b.Len {
		return "Freed of more than there is"
	}
	return ""
}

// playBuckets runs calls, two bytes each.
func playBuckets(t *testing.T, tick int64, span byte, calls []byte) {
	t.Helper()
	x := &pair{tick: tick, span: uint64(span%20) + 1}
	for i := 0; i+1 < len(calls); i += 2 {
		what := x.do(calls[i], calls[i+1])
		if what == "" {
			what = x.differs()
		}
		if what != "" {
			t.Fatalf("call %d (%d, %d) at %d: %s differs from %v:\n%+v", i/2, calls[i]%6, calls[i+1], x.tick, what, x.live(), x.b)
		}
	}
}

func TestBucketsAgainstList(t *testing.T) {
	starts := []int64{0, 28_333_333, -3, math.MinInt64, math.MaxInt64 - 300, math.MaxInt64}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 2))
		calls := make([]byte, 2*r.IntN(150))
		for i := range calls {
			calls[i] = byte(r.Uint32())
		}
		playBuckets(t, starts[r.IntN(len(starts))], byte(r.Uint32()), calls)
	}
}

func FuzzBuckets(f *testing.F) {
	f.Add(int64(0), byte(5), []byte{0, 10, 1, 20, 3, 4, 4, 7, 5, 3, 2, 80})
	f.Add(int64(math.MaxInt64-9), byte(0), []byte{0, 255, 0, 255, 5, 39, 4, 0})
	f.Add(int64(math.MinInt64), byte(19), []byte{2, 9, 3, 12, 2, 9, 4, 1})
	f.Fuzz(func(t *testing.T, tick int64, span byte, calls []byte) {
		playBuckets(t, tick, span, calls[:min(len(calls), 400)])
	})
}

// slices of 1 at each tick.
func ones(ticks ...int64) (b Buckets) {
	b.Move(make([]Bucket, len(ticks)))
	for _, tick := range ticks {
		b.Add(tick, 1)
	}
	return b
}

func TestBucketsBoundaries(t *testing.T) {
	for _, c := range []struct {
		name    string
		b       Buckets
		tick    int64
		span    uint64
		expired uint32
		sum     uint64
	}{
		{"nothing yet", Buckets{}, 100, 5, 0, 0},
		{"first event", ones(100), 100, 5, 0, 1},
		{"as old as the span", ones(100), 105, 5, 0, 1},
		{"one older than the span", ones(100), 106, 5, 1, 0},
		{"gap longer than the span", ones(100, 101, 102), 999, 5, 3, 0},
		{"time going back", ones(100, 101), 50, 5, 0, 2},
		{"some have left", ones(100, 101, 102, 103), 107, 5, 2, 2},
		{"both ends of time", ones(math.MinInt64, math.MaxInt64), math.MaxInt64, math.MaxUint64 - 1, 1, 1},
		{"the whole of time", ones(math.MinInt64, math.MaxInt64), math.MaxInt64, math.MaxUint64, 0, 2},
	} {
		if got := c.b.Expired(c.tick, c.span); got != c.expired {
			t.Errorf("%s: %d expired, want %d", c.name, got, c.expired)
		}
		if got := c.b.Sum(c.expired); got != c.sum {
			t.Errorf("%s: sum %d, want %d", c.name, got, c.sum)
		}
	}
}

func TestBucketsTrim(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     uint64
		ticks []int64 // that are left
		sum   uint64
	}{
		{"nothing", 0, []int64{1, 2, 3}, 12},
		{"part of the oldest", 2, []int64{1, 2, 3}, 10},
		{"the oldest", 3, []int64{2, 3}, 9},
		{"the oldest and part of the next", 4, []int64{2, 3}, 8},
		{"all but one", 11, []int64{3}, 1},
		{"all", 12, nil, 0},
		{"more than there is", 99, nil, 0},
	} {
		var b Buckets
		b.Move(make([]Bucket, 3))
		b.Add(1, 3)
		b.Add(2, 4)
		b.Add(3, 5)
		b.Trim(c.n)
		var ticks []int64
		for i := range b.Len {
			ticks = append(ticks, b.At(i).Tick)
		}
		if !slices.Equal(ticks, c.ticks) || b.Sum(0) != c.sum {
			t.Errorf("%s: slices %v, sum %d, want %v, %d", c.name, ticks, b.Sum(0), c.ticks, c.sum)
		}
	}
}

// TestBucketsForgetEmptyNewest: when the newest slice is emptied, the newest
// that holds something is the newest again.
func TestBucketsForgetEmptyNewest(t *testing.T) {
	b := ones(1, 4, 7)
	if b.Subtract(4, 9) != 1 || b.Len != 3 || b.Sum(0) != 2 {
		t.Errorf("from the middle: %+v", b)
	}
	if b.Subtract(7, 1) != 1 || b.Len != 1 || b.At(0).Tick != 1 {
		t.Errorf("from the newest: %+v", b)
	}
	if b.Subtract(7, 1) != 0 || b.Subtract(1, 1) != 1 || b.Len != 0 || b.Base != 0 {
		t.Errorf("from the last: %+v", b)
	}
}
