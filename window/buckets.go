package window

// Bucket is the total of one time slice and of all slices before it.
type Bucket struct {
	// Tick numbers the slice: time divided by the width of a slice, rounded
	// down.
	Tick int64
	// Cum is the sum of everything up to and including this slice, modulo
	// 2^64.
	Cum uint64
}

// Buckets counts in time slices: a ring of the slices that are not empty, in
// the order of time. Totals are running, so nothing is ever summed again.
//
// The zero Buckets is empty. Ticks are any int64.
type Buckets struct {
	// Base is the sum of everything that was dropped.
	Base uint64
	// Len is the number of slices.
	Len uint32
	// Head is where the oldest slice lies.
	Head uint32
	// Ring holds the slices. Its length is the capacity.
	Ring []Bucket
}

// At returns the i-th oldest slice, 0 <= i < Len.
func (b *Buckets) At(i uint32) *Bucket {
	j := uint64(b.Head) + uint64(i)
	if n := uint64(len(b.Ring)); j >= n {
		j -= n
	}
	return &b.Ring[j]
}

// Expired returns how many slices lie more than span ticks before tick. It
// changes nothing. O(log k) for k expired slices.
func (b *Buckets) Expired(tick int64, span uint64) uint32 {
	old := func(i uint32) bool {
		t := b.At(i).Tick
		return t < tick && uint64(tick)-uint64(t) > span
	}
	if b.Len == 0 || !old(0) {
		return 0
	}
	if old(b.Len - 1) {
		return b.Len
	}
	lo, hi := uint32(0), b.Len-1
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if old(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// Sum returns the total of all slices but the k oldest. O(1).
func (b *Buckets) Sum(k uint32) uint64 {
	if k >= b.Len {
		return 0
	}
	base := b.Base
	if k > 0 {
		base = b.At(k - 1).Cum
	}
	return b.At(b.Len-1).Cum - base
}

// Freed returns the index of the first slice, counted from the k-th oldest, at
// whose leaving at least n have left in all; Len if there is none. O(log Len).
func (b *Buckets) Freed(k uint32, n uint64) uint32 {
	base := b.Base
	if k > 0 {
		base = b.At(k - 1).Cum
	}
	lo, hi := k, b.Len
	for lo < hi {
		mid := lo + (hi-lo)/2
		if b.At(mid).Cum-base >= n {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// Drop forgets the k oldest slices. O(1).
func (b *Buckets) Drop(k uint32) {
	if k == 0 {
		return
	}
	if k >= b.Len {
		b.Base, b.Len, b.Head = 0, 0, 0
		return
	}
	b.Base = b.At(k - 1).Cum
	head := uint64(b.Head) + uint64(k)
	if n := uint64(len(b.Ring)); head >= n {
		head -= n
	}
	b.Head = uint32(head)
	b.Len -= k
}

// Pull moves what lies in slices after tick into tick, as after a clock that
// stepped back. O(slices moved).
func (b *Buckets) Pull(tick int64) {
	if b.Len == 0 || b.At(b.Len-1).Tick <= tick {
		return
	}
	cum := b.At(b.Len - 1).Cum
	for b.Len > 0 && b.At(b.Len-1).Tick >= tick {
		b.Len--
	}
	b.Len++
	*b.At(b.Len - 1) = Bucket{Tick: tick, Cum: cum}
}

// Full reports whether adding to tick needs a slice that Ring has no room for.
func (b *Buckets) Full(tick int64) bool {
	if b.Len > 0 && b.At(b.Len-1).Tick == tick {
		return false
	}
	return int(b.Len) == len(b.Ring)
}

// Move puts the slices into another ring, which must have room for them, and
// returns the old one.
func (b *Buckets) Move(ring []Bucket) (old []Bucket) {
	for i := range b.Len {
		ring[i] = *b.At(i)
	}
	old = b.Ring
	b.Ring, b.Head = ring, 0
	return old
}

// Add adds n to the slice tick, which must not be before the newest. Ring must
// have room (Full). O(1).
func (b *Buckets) Add(tick int64, n uint64) {
	cum := b.Base
	if b.Len > 0 {
		last := b.At(b.Len - 1)
		if last.Tick == tick {
			last.Cum += n
			return
		}
		cum = last.Cum
	}
	b.Len++
	*b.At(b.Len - 1) = Bucket{Tick: tick, Cum: cum + n}
}

// Subtract takes up to n out of the slice tick and returns how much it took.
// O(Len).
func (b *Buckets) Subtract(tick int64, n uint64) uint64 {
	prev := b.Base
	for i := range b.Len {
		e := b.At(i)
		if e.Tick == tick {
			n = min(n, e.Cum-prev)
			for j := i; j < b.Len; j++ {
				b.At(j).Cum -= n
			}
			b.popEmpty()
			return n
		}
		prev = e.Cum
	}
	return 0
}

// Raise adds n to the slice tick, and reports whether there is one. O(Len).
func (b *Buckets) Raise(tick int64, n uint64) bool {
	for i := b.Len; i > 0; i-- {
		if b.At(i-1).Tick > tick {
			continue
		}
		if b.At(i-1).Tick < tick {
			return false
		}
		for j := i - 1; j < b.Len; j++ {
			b.At(j).Cum += n
		}
		return true
	}
	return false
}

// popEmpty forgets the newest slices as long as they are empty, so that the
// newest one says how long anything counts.
func (b *Buckets) popEmpty() {
	for b.Len > 0 && b.Sum(b.Len-1) == 0 {
		b.Len--
	}
	if b.Len == 0 {
		b.Base, b.Head = 0, 0
	}
}

// Trim takes n out of the oldest slices: as much of the past as it covers.
// O(slices).
func (b *Buckets) Trim(n uint64) {
	if k := b.Freed(0, n+1); k > 0 {
		left := n - (b.At(k-1).Cum - b.Base)
		b.Drop(k)
		n = left
	}
	if b.Len > 0 {
		b.Base += n
	}
}
