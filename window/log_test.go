package window

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// trio is the same log three times: in both kinds of stamps, and as a list of
// times that is slow and obvious.
type trio struct {
	short Log[uint32]
	long  Log[uint64]
	list  []int64
	now   int64
	size  uint64
}

// grow makes room for n more hits, in rings that are not of the same length.
func (x *trio) grow(n, spare int) {
	if need := x.short.Need(uint32(n)); need > len(x.short.Ring) {
		x.short.Move(make([]uint32, need+spare))
	}
	if need := x.long.Need(uint32(n)); need > len(x.long.Ring) {
		x.long.Move(make([]uint64, need+spare/2))
	}
}

// advance brings all to now, as package limit does.
func (x *trio) advance() {
	x.short.Pull(x.now)
	x.long.Pull(x.now)
	k := x.short.Expired(x.now, x.size)
	x.short.Drop(k)
	x.long.Drop(x.long.Expired(x.now, x.size))
	for i := range x.list {
		x.list[i] = min(x.list[i], x.now)
	}
	for len(x.list) > 0 && age(x.list[0], x.now) >= x.size {
		x.list = x.list[1:]
	}
}

func age(t, now int64) uint64 {
	if t >= now {
		return 0
	}
	return uint64(now) - uint64(t)
}

// do makes one call on all three. It reports what differs.
func (x *trio) do(op, arg byte) (what string) {
	n := int(arg % 5)
	switch op % 8 {
	case 0, 1, 2, 3: // time passes, and there are hits
		step := int64(arg) << (uint(op/8) % 26)
		if x.now > math.MaxInt64-step {
			return ""
		}
		x.now += step
		x.advance()
		x.grow(n, int(op)%7)
		x.short.Push(x.now, uint32(n))
		x.long.Push(x.now, uint32(n))
		for range n {
			x.list = append(x.list, x.now)
		}
	case 4: // the clock steps back
		step := int64(arg) << (uint(op/8) % 26)
		if x.now < math.MinInt64+step {
			return ""
		}
		x.now -= step
		x.advance()
	case 5:
		k := min(n, len(x.list))
		x.short.Drop(uint32(n))
		x.long.Drop(uint32(n))
		x.list = x.list[k:]
	case 6:
		return x.remove(arg)
	case 7: // into other rings
		x.short.Move(make([]uint32, x.short.Need(0)+n))
		x.long.Move(make([]uint64, x.long.Need(0)+int(arg%3)))
	}
	return ""
}

// remove takes out hits of a time that is there, or of one beside it.
func (x *trio) remove(arg byte) (what string) {
	t := x.now
	if len(x.list) > 0 {
		t = x.list[int(arg)%len(x.list)]
	}
	if arg%7 == 6 && t < math.MaxInt64 {
		t++
	}
	n, gone := uint32(arg%3)+1, uint32(0)
	for i := 0; i < len(x.list); {
		if x.list[i] == t && gone < n {
			x.list = slices.Delete(slices.Clone(x.list), i, i+1)
			gone++
			continue
		}
		i++
	}
	if a, b := x.short.Remove(t, n), x.long.Remove(t, n); a != gone || b != gone {
		return "Remove"
	}
	return ""
}

// differs says what the logs answer otherwise than the list.
func (x *trio) differs() string {
	if int(x.short.Len) != len(x.list) || int(x.long.Len) != len(x.list) {
		return "Len"
	}
	for _, d := range []int64{0, 1, 1 << 20, -1, -1 << 20} {
		now := x.now + d
		if (now < x.now) != (d < 0) {
			continue // over the end of time
		}
		for i, t := range x.list {
			if want := age(t, now); x.long.Age(uint32(i), now) != want || x.short.Age(uint32(i), now) != want {
				return "Age"
			}
		}
		for _, size := range []uint64{0, 1, 1 << 20, x.size, math.MaxUint32} {
			want := uint32(0)
			for _, t := range x.list {
				if age(t, now) >= size {
					want++
				}
			}
			if x.long.Expired(now, size) != want || x.short.Expired(now, size) != want {
				return "Expired"
			}
		}
	}
	return ""
}

// play runs calls, two bytes each.
func playLog(t *testing.T, start int64, size uint32, calls []byte) {
	t.Helper()
	x := &trio{now: start, size: uint64(max(size, 1))}
	for i := 0; i+1 < len(calls); i += 2 {
		what := x.do(calls[i], calls[i+1])
		if what == "" {
			what = x.differs()
		}
		if what != "" {
			t.Fatalf("call %d (%d, %d) at %d: %s differs from %v:\nuint32 %+v\nuint64 %+v", i/2, calls[i]%8, calls[i+1], x.now, what, x.list, x.short, x.long)
		}
	}
}

// startTimes are where stamps wrap around, and both ends of time.
var startTimes = []int64{0, math.MaxUint32 - 1000, 1_700_000_000_000_000, 1<<62 - 1, math.MinInt64, math.MinInt64 + 1<<31, math.MaxInt64 - 1<<34, -5}

// TestLogAgainstList makes random calls on logs of both stamps and a list: all
// agree, in rings that wrap around and stamps that do.
func TestLogAgainstList(t *testing.T) {
	sizes := []uint32{1, 10, 1000, 1 << 20, math.MaxUint32 - 1, math.MaxUint32}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		calls := make([]byte, 2*r.IntN(120))
		for i := range calls {
			calls[i] = byte(r.Uint32())
		}
		playLog(t, startTimes[r.IntN(len(startTimes))], sizes[r.IntN(len(sizes))], calls)
	}
}

func FuzzLog(f *testing.F) {
	f.Add(int64(0), uint32(1000), []byte{0, 1, 1, 2, 2, 3, 6, 0, 4, 9, 5, 1})
	f.Add(int64(math.MaxUint32-5), uint32(math.MaxUint32), []byte{80, 255, 160, 255, 201, 255, 7, 3, 6, 6})
	f.Add(int64(math.MinInt64), uint32(1), []byte{3, 4, 3, 4, 6, 2})
	f.Fuzz(func(t *testing.T, start int64, size uint32, calls []byte) {
		playLog(t, start, size, calls[:min(len(calls), 400)])
	})
}

// hits returns a log of one hit at each time.
func hits[S Stamp](times ...int64) (l Log[S]) {
	l.Move(make([]S, len(times)))
	for _, t := range times {
		l.Push(t, 1)
	}
	return l
}

func TestLogBoundaries(t *testing.T) {
	for _, c := range []struct {
		name    string
		log     Log[uint32]
		now     int64
		size    uint64
		expired uint32
	}{
		{"no event", Log[uint32]{}, 1000, 10, 0},
		{"first event, now", hits[uint32](1000), 1000, 10, 0},
		{"one less than the window old", hits[uint32](1000), 1009, 10, 0},
		{"exactly the window old", hits[uint32](1000), 1010, 10, 1},
		{"gap longer than the window", hits[uint32](1000, 1001, 1002), 5000, 10, 3},
		{"gap of years", hits[uint32](1000, 1001), 1 << 60, math.MaxUint32, 2},
		{"time going back", hits[uint32](1000, 1005), 900, 10, 0},
		{"back so that some are later than now", hits[uint32](1000, 1005), 1002, 2, 1},
		{"same instant", hits[uint32](1000, 1000, 1000), 1010, 10, 3},
		{"all but the newest", hits[uint32](1000, 1001, 1002, 1009), 1012, 10, 3},
		{"none but the oldest", hits[uint32](1000, 1001, 1002, 1003), 1010, 10, 1},
		{"2^32-1 old", hits[uint32](0, math.MaxUint32), math.MaxUint32, math.MaxUint32, 1},
		{"2^32-2 old", hits[uint32](1, math.MaxUint32), math.MaxUint32, math.MaxUint32, 0},
	} {
		if got := c.log.Expired(c.now, c.size); got != c.expired {
			t.Errorf("%s: %d expired, want %d", c.name, got, c.expired)
		}
	}
}

func TestLogAtTheEndsOfTime(t *testing.T) {
	l := hits[uint64](math.MinInt64, -1, 0, math.MaxInt64)
	for i, want := range []uint64{math.MaxUint64, 1 << 63, 1<<63 - 1, 0} {
		if got := l.Age(uint32(i), math.MaxInt64); got != want {
			t.Errorf("hit %d is %d old at the end of time, want %d", i, got, want)
		}
		if got := l.Age(uint32(i), math.MinInt64); got != 0 {
			t.Errorf("hit %d is %d old at the beginning of time, want 0", i, got)
		}
	}
	if got := l.Expired(math.MaxInt64, math.MaxUint64); got != 1 {
		t.Errorf("%d expired, want 1", got)
	}
	if l.Remove(math.MinInt64, 9) != 1 || l.Remove(math.MaxInt64, 9) != 1 || l.Newest != 0 {
		t.Errorf("%+v", l)
	}
	l.Pull(math.MinInt64)
	if l.Newest != math.MinInt64 || l.Remove(math.MinInt64, 9) != 2 || l.Len != 0 {
		t.Errorf("%+v", l)
	}
}

func TestLogOfOneHitNeedsNoRing(t *testing.T) {
	var l Log[uint32]
	if got := l.Need(1); got != 0 {
		t.Errorf("the first hit needs a ring of %d", got)
	}
	l.Push(5, 1)
	if got := l.Need(1); got != 1 {
		t.Errorf("the second hit needs a ring of %d, want 1", got)
	}
	l.Push(7, 0)
	if l.Len != 1 || l.Newest != 5 {
		t.Errorf("no hits changed the log: %+v", l)
	}
	if l.Remove(4, 1) != 0 || l.Remove(6, 1) != 0 || l.Remove(5, 0) != 0 || l.Remove(5, 1) != 1 || l.Len != 0 {
		t.Errorf("%+v", l)
	}
	if l.Remove(5, 1) != 0 {
		t.Error("took a hit out of an empty log")
	}
}
