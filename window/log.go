package window

// Stamp is how a [Log] stores the times of its hits: their low bits. uint32
// serves windows of less than 2^32 µs (71 minutes) in half the space; uint64
// serves all.
type Stamp interface{ uint32 | uint64 }

// Log is an exact log of hits in the order of time: a ring of stamps that
// grows with use. The newest hit lives outside the ring, so a log of one hit
// needs no ring at all.
//
// The zero Log is empty. Times are any int64; ages are computed without
// overflow over its whole range. Two rules keep it true: the times given to
// Push never decrease (Pull mends a clock that stepped back), and hits older
// than the window are dropped (Drop) before a push, so that with uint32 stamps
// every hit is less than 2^32 older than the newest.
type Log[S Stamp] struct {
	// Newest is the time of the newest hit; it has no meaning when Len is 0.
	Newest int64
	// Len is the number of hits.
	Len uint32
	// Head is where the oldest of the Len-1 hits before the newest lies.
	Head uint32
	// Ring holds the hits before the newest. Its length is the capacity.
	Ring []S
}

// at returns the stamp of the i-th oldest hit before the newest.
func (l *Log[S]) at(i uint32) *S {
	j := uint64(l.Head) + uint64(i)
	if n := uint64(len(l.Ring)); j >= n {
		j -= n
	}
	return &l.Ring[j]
}

// before returns how long before the newest hit the i-th oldest happened.
func (l *Log[S]) before(i uint32) uint64 {
	if i == l.Len-1 {
		return 0
	}
	return uint64(S(l.Newest) - *l.at(i))
}

// Age returns how old the i-th oldest hit is at now, 0 <= i < Len. A hit that
// lies later than now has age 0. O(1).
func (l *Log[S]) Age(i uint32, now int64) uint64 {
	d := l.before(i)
	if l.Newest <= now {
		return uint64(now) - uint64(l.Newest) + d
	}
	if gap := uint64(l.Newest) - uint64(now); d > gap {
		return d - gap
	}
	return 0
}

// Expired returns how many hits are size or more old at now: those that are no
// longer in (now-size, now]. It changes nothing. O(log k) for k expired hits.
func (l *Log[S]) Expired(now int64, size uint64) uint32 {
	if l.Len == 0 || l.Age(0, now) < size {
		return 0
	}
	if l.Age(l.Len-1, now) >= size {
		return l.Len
	}
	lo, step := uint32(0), uint32(1) // hit lo is expired
	for step < l.Len-lo && l.Age(lo+step, now) >= size {
		lo += step
		step *= 2
	}
	hi := min(lo+step, l.Len-1) // hit hi is live
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if l.Age(mid, now) >= size {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// Drop forgets the k oldest hits. O(1).
func (l *Log[S]) Drop(k uint32) {
	if k >= l.Len {
		l.Len, l.Head = 0, 0
		return
	}
	l.Len -= k
	head := uint64(l.Head) + uint64(k)
	if n := uint64(len(l.Ring)); n > 0 && head >= n {
		head -= n
	}
	l.Head = uint32(head)
	if l.Len == 1 {
		l.Head = 0
	}
}

// Pull moves the hits that lie later than now to now, as after a clock that
// stepped back. O(hits moved).
func (l *Log[S]) Pull(now int64) {
	if l.Len == 0 || l.Newest <= now {
		return
	}
	gap := uint64(l.Newest) - uint64(now)
	for i := l.Len - 1; i > 0; i-- {
		if l.before(i-1) >= gap {
			break
		}
		*l.at(i - 1) = S(now)
	}
	l.Newest = now
}

// Need returns the length that Ring must have before n hits are pushed.
func (l *Log[S]) Need(n uint32) int {
	if total := int(l.Len) + int(n); total > 0 {
		return total - 1
	}
	return 0
}

// Move puts the log into another ring, which must have room for it, and
// returns the old one.
func (l *Log[S]) Move(ring []S) (old []S) {
	for i := uint32(0); i+1 < l.Len; i++ {
		ring[i] = *l.at(i)
	}
	old = l.Ring
	l.Ring, l.Head = ring, 0
	return old
}

// Push adds n hits at now. Ring must have room for them (Need), now must not
// be before Newest, and expired hits must have been dropped. O(n).
func (l *Log[S]) Push(now int64, n uint32) {
	if n == 0 {
		return
	}
	if l.Len > 0 {
		*l.at(l.Len - 1) = S(l.Newest)
	}
	for i := uint32(0); i+1 < n; i++ {
		*l.at(l.Len + i) = S(now)
	}
	l.Newest = now
	l.Len += n
}

// Remove takes out up to n hits of exactly the time t and returns how many it
// took out. O(hits after t).
func (l *Log[S]) Remove(t int64, n uint32) uint32 {
	if l.Len == 0 || t > l.Newest {
		return 0
	}
	dist := uint64(l.Newest) - uint64(t)
	if dist > uint64(^S(0)) {
		return 0
	}
	// before falls as i grows: find the first hit not older than t, then the
	// first one newer.
	first := l.search(dist)
	after := first
	for after < l.Len && l.before(after) == dist {
		after++
	}
	n = min(n, after-first)
	if n == 0 {
		return 0
	}
	if after == l.Len {
		l.popNewest(n)
		return n
	}
	for i := after; i+1 < l.Len; i++ {
		*l.at(i - n) = *l.at(i)
	}
	l.Len -= n
	return n
}

// Has reports whether there is a hit of exactly the time t. O(log Len).
func (l *Log[S]) Has(t int64) bool {
	if l.Len == 0 || t > l.Newest {
		return false
	}
	dist := uint64(l.Newest) - uint64(t)
	return dist <= uint64(^S(0)) && l.before(l.search(dist)) == dist
}

// Count returns how many hits there are of exactly the time t. O(log Len) and the
// number of them.
func (l *Log[S]) Count(t int64) (n uint32) {
	if !l.Has(t) {
		return 0
	}
	dist := uint64(l.Newest) - uint64(t)
	for i := l.search(dist); i < l.Len && l.before(i) == dist; i++ {
		n++
	}
	return n
}

// search returns the index of the oldest hit that is at most dist before the
// newest.
func (l *Log[S]) search(dist uint64) uint32 {
	lo, hi := uint32(0), l.Len-1
	for lo < hi {
		mid := lo + (hi-lo)/2
		if l.before(mid) > dist {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// popNewest forgets the n newest hits.
func (l *Log[S]) popNewest(n uint32) {
	if n >= l.Len {
		l.Len, l.Head = 0, 0
		return
	}
	l.Newest = int64(uint64(l.Newest) - l.before(l.Len-1-n))
	l.Len -= n
}
