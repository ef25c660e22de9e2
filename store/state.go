package store

import (
	"math"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/window"
)

// kind says how a record holds its state.
type kind uint8

const (
	kindShortLog kind = iota + 1 // t: newest hit, x: head and length, ref: short
	kindLongLog                  // the same, ref: long
	kindBuckets                  // t: base, x: head and length, ref: slots
	kindMeter                    // t: TAT
	kindCounter                  // t: period, x: count
	kindMarks                    // as kindShortLog; aux: checks since the newest mark
)

// idleEvents is how long a window of events is kept after its last check, in
// microseconds: it has no length in time to go by.
const idleEvents = 24 * 3600 * 1_000_000

func kindOf(p *limit.Params) kind {
	switch p.Algorithm {
	case limit.SlidingLog:
		if p.Size <= math.MaxUint32 {
			return kindShortLog
		}
		return kindLongLog
	case limit.SlidingBuckets:
		return kindBuckets
	case limit.GCRA:
		return kindMeter
	case limit.Fixed:
		return kindCounter
	default:
		return kindMarks
	}
}

func (r *record) kind() kind { return kind(r.aux) }

// begin makes r an empty state of kind k.
func (r *record) begin(k kind) {
	r.aux = uint32(k)
	if k == kindMeter {
		tat := limit.EmptyMeter().TAT
		r.t = uint64(tat)
	}
}

func loadLog[S window.Stamp](r *record, ring []S) limit.Log[S] {
	return limit.Log[S]{Log: window.Log[S]{Newest: int64(r.t), Len: uint32(r.x), Head: uint32(r.x >> 32), Ring: ring}}
}

func (r *record) saveLog(newest int64, head, n uint32) {
	r.t, r.x = uint64(newest), uint64(head)<<32|uint64(n)
}

func (r *record) buckets(s *shard) limit.Buckets {
	return limit.Buckets{Buckets: window.Buckets{Base: r.t, Len: uint32(r.x), Head: uint32(r.x >> 32), Ring: s.slots.block(r.ref)}}
}

func (r *record) saveBuckets(b *limit.Buckets) {
	r.t, r.x = b.Base, uint64(b.Head)<<32|uint64(b.Len)
}

func (r *record) marks(s *shard) limit.Marks {
	return limit.Marks{Log: loadLog(r, s.short.block(r.ref)).Log, Since: r.aux >> 8}
}

func (r *record) saveMarks(m *limit.Marks) {
	r.saveLog(m.Newest, m.Head, m.Len)
	r.aux = r.aux&0xff | m.Since<<8
}

// empty says how a window stands that has no record.
func empty(p *limit.Params, cost int64) limit.Result {
	switch p.Algorithm {
	case limit.GCRA:
		m := limit.EmptyMeter()
		return m.Judge(*p, 0, cost)
	case limit.Events:
		cost = min(cost, 1)
	}
	return limit.Result{OK: cost <= p.Max, Never: cost > p.Max, Remaining: p.Max}
}

// judge says whether cost fits into r. Unless look is set, it first brings the
// state to now.
func (s *shard) judge(r *record, p *limit.Params, now, cost int64, look bool) (res limit.Result) {
	if r == nil {
		return empty(p, cost)
	}
	switch r.kind() {
	case kindShortLog:
		l := loadLog(r, s.short.block(r.ref))
		return judgeLog(r, &l, p, now, cost, look)
	case kindLongLog:
		l := loadLog(r, s.long.block(r.ref))
		return judgeLog(r, &l, p, now, cost, look)
	case kindBuckets:
		b := r.buckets(s)
		if !look {
			b.Advance(*p, now)
			r.saveBuckets(&b)
		}
		return b.Judge(*p, now, cost)
	case kindMeter:
		m := limit.Meter{TAT: int64(r.t)}
		if !look {
			m.Advance(*p, now)
			r.t = uint64(m.TAT)
		}
		return m.Judge(*p, now, cost)
	case kindCounter:
		c := limit.Counter{Period: int64(r.t), Count: int64(r.x)}
		if !look {
			c.Advance(*p, now)
			r.t, r.x = uint64(c.Period), uint64(c.Count)
		}
		return c.Judge(*p, now, cost)
	default:
		m := r.marks(s)
		if !look {
			m.Advance(*p, now)
			r.saveMarks(&m)
		}
		return m.Judge(*p, now, cost)
	}
}

func judgeLog[S window.Stamp](r *record, l *limit.Log[S], p *limit.Params, now, cost int64, look bool) limit.Result {
	if !look {
		l.Advance(*p, now)
		r.saveLog(l.Newest, l.Head, l.Len)
	}
	return l.Judge(*p, now, cost)
}

// units returns how many hits a charge of cost adds to a log.
func units(p *limit.Params, cost int64) uint32 { return uint32(min(cost, p.Max)) }

// grows returns how many bytes charging cost to r would add to the arenas.
func (s *shard) grows(r *record, p *limit.Params, now, cost int64) int64 {
	switch kindOf(p) {
	case kindShortLog:
		return logGrows(r, &s.short, p, units(p, cost))
	case kindLongLog:
		return logGrows(r, &s.long, p, units(p, cost))
	case kindMarks:
		return logGrows(r, &s.short, p, 1)
	case kindBuckets:
		if r == nil {
			return s.slots.grows(1)
		}
		if b := r.buckets(s); b.NeedSlot(*p, now) {
			return s.slots.grows(bucketRoom(p, len(b.Ring)))
		}
	}
	return 0
}

func logGrows[S window.Stamp](r *record, a *arena[S], p *limit.Params, n uint32) int64 {
	var l limit.Log[S]
	if r != nil {
		l = loadLog(r, a.block(r.ref))
	}
	if need := l.Need(n); need > len(l.Ring) {
		return a.grows(logRoom(p, need))
	}
	return 0
}

// logRoom returns how long a ring to make when need hits must fit: half as
// much again, but no more than a full window takes.
func logRoom(p *limit.Params, need int) int {
	return max(need, min(need+need/2, int(p.Max)-1))
}

// bucketRoom does the same for slices.
func bucketRoom(p *limit.Params, have int) int {
	return max(have+1, min(have+have/2+1, int(p.Buckets)+1))
}

// charge charges cost to r, or records it even if it does not fit.
func (s *shard) charge(r *record, p *limit.Params, now, cost int64, record bool) (c limit.Charged) {
	switch r.kind() {
	case kindShortLog:
		return chargeLog(r, &s.short, p, now, cost, record)
	case kindLongLog:
		return chargeLog(r, &s.long, p, now, cost, record)
	case kindBuckets:
		return s.chargeBuckets(r, p, now, cost, record)
	case kindMeter:
		m := limit.Meter{TAT: int64(r.t)}
		if record {
			c = m.Record(*p, now, cost)
		} else {
			c = m.Charge(*p, now, cost)
		}
		r.t, r.exp = uint64(m.TAT), m.TAT
	case kindCounter:
		k := limit.Counter{Period: int64(r.t), Count: int64(r.x)}
		k.Advance(*p, now)
		if record {
			c = k.Record(*p, now, cost)
		} else {
			c = k.Charge(*p, now, cost)
		}
		r.t, r.x = uint64(k.Period), uint64(k.Count)
		r.exp = later(now, p.Size)
	default:
		m := r.marks(s)
		r.ref = fitLog(&m.Log, &s.short, r.ref, p, 1)
		c = m.Charge(*p, now, cost)
		r.saveMarks(&m)
		r.exp = later(now, idleEvents)
	}
	return c
}

func chargeLog[S window.Stamp](r *record, a *arena[S], p *limit.Params, now, cost int64, record bool) (c limit.Charged) {
	l := loadLog(r, a.block(r.ref))
	if over := int64(l.Len) + int64(units(p, cost)) - p.Max; record && over > 0 {
		l.Drop(uint32(over))
	}
	r.ref = fitLog(&l.Log, a, r.ref, p, units(p, cost))
	if record {
		c = l.Record(*p, now, cost)
	} else {
		c = l.Charge(*p, now, cost)
	}
	r.saveLog(l.Newest, l.Head, l.Len)
	r.exp = later(now, p.Size)
	return c
}

// fitLog gives a log a larger ring if n more hits need it, or a smaller one if
// most of it is unused, and returns the ref of its ring.
func fitLog[S window.Stamp](l *window.Log[S], a *arena[S], old uint32, p *limit.Params, n uint32) uint32 {
	need := l.Need(n)
	if need <= len(l.Ring) && (len(l.Ring) <= 8 || need >= len(l.Ring)/4) {
		return old
	}
	room := logRoom(p, need)
	if room == 0 {
		a.free(old)
		l.Ring = nil
		return 0
	}
	ref, ring := a.alloc(room)
	l.Move(ring)
	a.free(old)
	return ref
}

func (s *shard) chargeBuckets(r *record, p *limit.Params, now, cost int64, record bool) (c limit.Charged) {
	b := r.buckets(s)
	live, have := int(b.Len), len(b.Ring)
	if b.NeedSlot(*p, now) || have > 8 && live < have/4 {
		room := bucketRoom(p, live)
		ref, ring := s.slots.alloc(room)
		b.Move(ring)
		s.slots.free(r.ref)
		r.ref = ref
	}
	if record {
		c = b.Record(*p, now, cost)
	} else {
		c = b.Charge(*p, now, cost)
	}
	r.saveBuckets(&b)
	r.exp = later(now, p.Size+2*p.Step)
	return c
}

// enter counts a check that was refused, in a window of events.
func (s *shard) enter(r *record, p *limit.Params, now int64) {
	if r == nil || r.kind() != kindMarks {
		return
	}
	m := r.marks(s)
	m.Enter(*p)
	r.saveMarks(&m)
	r.exp = later(now, idleEvents)
}

// refund gives c back, if it is still there.
func (s *shard) refund(r *record, now int64, c limit.Charged) (given bool) {
	switch r.kind() {
	case kindShortLog:
		l := loadLog(r, s.short.block(r.ref))
		given = l.Refund(now, c)
		r.saveLog(l.Newest, l.Head, l.Len)
	case kindLongLog:
		l := loadLog(r, s.long.block(r.ref))
		given = l.Refund(now, c)
		r.saveLog(l.Newest, l.Head, l.Len)
	case kindBuckets:
		b := r.buckets(s)
		given = b.Refund(now, c)
		r.saveBuckets(&b)
	case kindMeter:
		m := limit.Meter{TAT: int64(r.t)}
		given = m.Refund(now, c)
		r.t = uint64(m.TAT)
	case kindCounter:
		k := limit.Counter{Period: int64(r.t), Count: int64(r.x)}
		given = k.Refund(now, c)
		r.x = uint64(k.Count)
	default:
		m := r.marks(s)
		given = m.Refund(now, c)
		r.saveMarks(&m)
	}
	return given
}

// freeBlock gives the ring of r back to its arena.
func (s *shard) freeBlock(r *record) {
	switch r.kind() {
	case kindShortLog, kindMarks:
		s.short.free(r.ref)
	case kindLongLog:
		s.long.free(r.ref)
	case kindBuckets:
		s.slots.free(r.ref)
	}
}

// later adds a delay to a time and stops at the end of time.
func later(t, delay int64) int64 {
	if sum := t + delay; sum >= t {
		return sum
	}
	return math.MaxInt64
}
