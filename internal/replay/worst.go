package replay

import (
	"time"

	"github.com/slidegate/slidegate"
)

const (
	// maxHits bounds the hits that all limits of a comparison remember at a
	// time, of 16 bytes each: 64 MiB. A key counts as keyHits.
	maxHits = 4 << 20
	keyHits = 8
	// firstHits is how many hits a key has room for at first.
	firstHits = 2
)

// WorstWindow is the real window (At-size, At] of a key in which a limit let
// through the most, measured by how much that is over its maximum.
type WorstWindow struct {
	// Through is what was let through in it and Max what the limit allows, both
	// in units of 10^-scale of the limit. Through is 0 where nothing was.
	Through, Max int64
	// Key is whose window it is, At where it ends.
	Key []slidegate.Attr
	At  time.Time
	// AtLeast says that hits had to be forgotten, because more were to be
	// remembered than the bound: then what was let through may be more.
	AtLeast bool
}

// Over returns by how much the maximum was exceeded.
func (w *WorstWindow) Over() int64 { return max(w.Through-w.Max, 0) }

// hit is what was let through at one instant.
type hit struct{ at, units int64 }

// hits are those of one key in the window that ends now: a ring, the oldest at
// from.
type hits struct {
	ring  []hit
	from  int
	n     int
	units int64
}

func (h *hits) newest() *hit { return &h.ring[(h.from+h.n-1)%len(h.ring)] }

// drop forgets the oldest.
func (h *hits) drop() {
	h.units -= h.ring[h.from].units
	h.from = (h.from + 1) % len(h.ring)
	h.n--
}

// grow moves the hits to a ring of another length.
func (h *hits) grow(length int) {
	ring := make([]hit, length)
	for i := range h.n {
		ring[i] = h.ring[(h.from+i)%len(h.ring)]
	}
	h.ring, h.from = ring, 0
}

// worstTracker finds the worst window of one limit. It remembers every hit that
// is younger than the window, of every key: what it says is exact as long as
// there is room.
type worstTracker struct {
	size  int64 // of the window, in microseconds
	room  *int  // for hits, shared by many trackers
	keys  map[uint64]*hits
	swept int64 // when keys whose hits are all out were forgotten
	worst WorstWindow
}

func newWorstTracker(size int64, room *int) *worstTracker {
	return &worstTracker{size: size, room: room, keys: map[uint64]*hits{}}
}

// add counts units of a key that were let through at now, which never goes back,
// and reports whether the window that ends now is the worst so far.
func (t *worstTracker) add(key uint64, now, units, maximum int64) bool {
	h := t.of(key, now)
	if h == nil {
		return false
	}
	for h.n > 0 && h.ring[h.from].at <= now-t.size {
		h.drop()
	}
	if h.n > 0 && h.newest().at == now {
		h.newest().units += units
	} else {
		t.makeRoom(h, now)
		h.n++
		*h.newest() = hit{now, units}
	}
	h.units += units
	w := &t.worst
	if w.Through > 0 && h.units-maximum <= w.Through-w.Max {
		return false
	}
	w.Through, w.Max, w.At = h.units, maximum, time.UnixMicro(now).UTC()
	return true
}

// of returns the hits of a key, or nil where there is no room for another key.
func (t *worstTracker) of(key uint64, now int64) *hits {
	if h := t.keys[key]; h != nil {
		return h
	}
	if !t.take(keyHits+firstHits, now) {
		t.worst.AtLeast = true
		return nil
	}
	h := &hits{ring: make([]hit, firstHits)}
	t.keys[key] = h
	return h
}

// makeRoom makes room for one more hit of a key. Where there is none, the oldest
// is forgotten.
func (t *worstTracker) makeRoom(h *hits, now int64) {
	switch {
	case h.n < len(h.ring):
	case t.take(len(h.ring), now):
		h.grow(2 * len(h.ring))
	default:
		t.worst.AtLeast = true
		h.drop()
	}
}

// take takes room for n hits, and gives back that of keys whose hits are all out
// first, if it must.
func (t *worstTracker) take(n int, now int64) bool {
	if *t.room < n && now-t.swept >= t.size/2 {
		t.sweep(now)
	}
	if *t.room < n {
		return false
	}
	*t.room -= n
	return true
}

// sweep forgets the keys whose hits are all out.
func (t *worstTracker) sweep(now int64) {
	t.swept = now
	for key, h := range t.keys {
		if h.n == 0 || h.newest().at <= now-t.size {
			delete(t.keys, key)
			*t.room += keyHits + len(h.ring)
		}
	}
}
