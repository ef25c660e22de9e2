package store

import (
	"math"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/window"
)

// A record of kindShortLog holds up to tinyHits hits by itself: the newest in t,
// the one before it in ref, the one before that in the upper half of x, whose
// lower half is their number. With more hits it is like a long log: its ring is a
// block of short, which ref names, and aux says so.
const (
	tinyRing = 2
	tinyHits = tinyRing + 1

	auxRing = 1 << 8
)

// loadShort reads the state of r. The ring of a tiny one is lent by the shard,
// until the next is loaded.
func (s *shard) loadShort(l *window.Log[uint32], r *record) {
	if r.aux&auxRing != 0 {
		loadLog(l, r, s.short.block(r.ref))
		return
	}
	l.Newest, l.Len, l.Head = int64(r.t), uint32(r.x), 0
	s.tiny[0], s.tiny[1] = uint32(r.x>>32), r.ref
	if l.Len < tinyHits { // the only one lies in ref
		s.tiny[0] = r.ref
	}
	l.Ring = s.tiny[:]
}

// saveShort writes the state to r, whose ring is that of l.
func (s *shard) saveShort(l *window.Log[uint32], r *record) {
	if r.aux&auxRing != 0 {
		r.saveLog(l.Newest, l.Head, l.Len)
		return
	}
	older, old := s.tiny[l.Head&1], s.tiny[l.Head&1^1]
	if l.Len < tinyHits {
		older, old = 0, older
	}
	r.t, r.x, r.ref = uint64(l.Newest), uint64(older)<<32|uint64(l.Len), old
}

// fitShort gives l room for n more hits: in the record, or in a ring that is not
// far too long.
func (s *shard) fitShort(l *window.Log[uint32], r *record, p *limit.Params, n uint32) {
	need := l.Need(n)
	switch ring := r.aux&auxRing != 0; {
	case !ring && need <= tinyRing, ring && fits(need, len(l.Ring)):
	case need <= tinyRing:
		l.Move(s.tiny[:])
		s.short.free(r.ref)
		r.aux &^= auxRing
	default:
		ref, block := s.short.alloc(logRoom(p, need))
		l.Move(block)
		if ring {
			s.short.free(r.ref)
		}
		r.ref, r.aux = ref, r.aux|auxRing
	}
}

// pushShort charges one hit to r at now, if that takes nothing but writing it down:
// nothing has to be dropped, moved or looked at. Otherwise it changes nothing and
// reports false. It is Push of window.Log, on the record: loading and saving a log
// took a third of the time of a decision.
func (s *shard) pushShort(r *record, p *limit.Params, now int64) bool {
	newest, n, head := int64(r.t), uint32(r.x), uint32(r.x>>32)
	if r.aux&auxRing == 0 || int64(n) >= p.Max || uint64(now-newest) >= uint64(p.Size) || uint64(n)*uint64(p.Size) >= math.MaxUint32/2 {
		return false
	}
	ring := s.short.block(r.ref)
	if !fits(int(n), len(ring)) || n == 0 {
		return false
	}
	at := uint64(head) + uint64(n) - 1
	if at >= uint64(len(ring)) {
		at -= uint64(len(ring))
	}
	ring[at] = uint32(newest)
	r.t, r.x, r.exp = uint64(now), r.x+1, later(now, p.Size)
	return true
}

func (s *shard) chargeShort(r *record, p *limit.Params, now, cost int64, record bool) (c limit.Charged) {
	var l limit.Log[uint32]
	s.loadShort(&l.Log, r)
	s.fitShort(&l.Log, r, p, adds(&l.Log, p, cost, record))
	if record {
		c = l.Record(*p, now, cost)
	} else {
		c = l.Charge(*p, now, cost)
	}
	s.saveShort(&l.Log, r)
	return c
}

// shortGrows returns how many bytes n more hits would add to the arena.
func (s *shard) shortGrows(r *record, p *limit.Params, n uint32) int64 {
	var l window.Log[uint32]
	if r != nil {
		s.loadShort(&l, r)
	}
	if need := ringNeed(&l, p, n); need > max(tinyRing, len(l.Ring)) {
		return s.short.grows(logRoom(p, need))
	}
	return 0
}
