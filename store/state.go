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
	kindBuckets                  // t: base, x: head and length, ref: slots; aux: number of slices that count
	kindMeter                    // t: TAT, x: shift
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

// begin makes r an empty state for p.
func (r *record) begin(p *limit.Params) {
	k := kindOf(p)
	r.aux = uint32(k) | uint32(p.Buckets)<<8
	if k == kindMeter {
		tat := limit.EmptyMeter().TAT
		r.t = uint64(tat)
	}
}

// is reports whether r is a state for p. A window keeps its identity when its
// algorithm changes only by a mistake of the caller; it starts empty then.
func (r *record) is(p *limit.Params) bool { return r.kind() == kindOf(p) }

// keep sets when r is as good as empty, given the delay until it is.
func (r *record) keep(now, reset int64) {
	switch r.kind() {
	case kindMarks:
		r.exp = later(now, idleEvents)
	case kindMeter: // as long as a receipt may be mistaken for one of a later charge
		r.exp = later(int64(r.t), int64(min(r.x, math.MaxInt64)))
	default:
		r.exp = later(now, reset)
	}
}

// load reads the state of a log. It writes field by field, because copies of a
// struct that was just written are slow.
func loadLog[S window.Stamp](l *window.Log[S], r *record, ring []S) {
	l.Newest, l.Len, l.Head = int64(r.t), uint32(r.x), uint32(r.x>>32)
	l.Ring = ring
}

func (r *record) saveLog(newest int64, head, n uint32) {
	r.t, r.x = uint64(newest), uint64(head)<<32|uint64(n)
}

func (r *record) loadBuckets(b *limit.Buckets, s *shard) {
	b.Base, b.Len, b.Head = r.t, uint32(r.x), uint32(r.x>>32)
	b.Ring = s.slots.block(r.ref)
}

func (r *record) saveBuckets(b *limit.Buckets) {
	r.t, r.x = b.Base, uint64(b.Head)<<32|uint64(b.Len)
}

func (r *record) loadMarks(m *limit.Marks, s *shard) {
	loadLog(&m.Log, r, s.short.block(r.ref))
	m.Since = r.aux >> 8
}

func (r *record) saveMarks(m *limit.Marks) {
	r.saveLog(m.Newest, m.Head, m.Len)
	r.aux = r.aux&0xff | m.Since<<8
}

func (r *record) meter() limit.Meter { return limit.Meter{TAT: int64(r.t), Shift: r.x} }

func (r *record) saveMeter(m *limit.Meter) { r.t, r.x = uint64(m.TAT), m.Shift }

// empty says how a window stands that has no record.
func empty(p *limit.Params, cost int64, out *limit.Result) {
	held := p.Max
	switch p.Algorithm {
	case limit.GCRA:
		if held > 0 { // else a ban
			held = p.Burst
		}
	case limit.Events:
		cost = min(cost, 1)
	}
	out.Used, out.Remaining, out.Retry, out.Reset = 0, held, 0, 0
	out.OK, out.Never = cost <= held, cost > held
}

// judge says in out whether cost fits into r. Unless look is set, it first
// brings the state to now.
func (s *shard) judge(r *record, p *limit.Params, now, cost int64, look bool, out *limit.Result) {
	if r == nil || !r.is(p) {
		empty(p, cost, out)
		return
	}
	s.judgeState(r, p, now, cost, look, out)
	if !look {
		r.keep(now, out.Reset)
	}
}

// charged says in out how r stands after a charge; the verdict stays.
func (s *shard) charged(r *record, p *limit.Params, now int64, out *limit.Result) {
	var after limit.Result
	s.judgeState(r, p, now, 0, true, &after)
	r.keep(now, after.Reset)
	out.Used, out.Remaining, out.Reset = after.Used, after.Remaining, after.Reset
}

func (s *shard) judgeState(r *record, p *limit.Params, now, cost int64, look bool, out *limit.Result) {
	switch r.kind() {
	case kindShortLog:
		var l limit.Log[uint32]
		loadLog(&l.Log, r, s.short.block(r.ref))
		judgeLog(r, &l, p, now, cost, look, out)
	case kindLongLog:
		var l limit.Log[uint64]
		loadLog(&l.Log, r, s.long.block(r.ref))
		judgeLog(r, &l, p, now, cost, look, out)
	case kindBuckets:
		var b limit.Buckets
		r.loadBuckets(&b, s)
		if !look {
			b.Advance(*p, now)
			r.saveBuckets(&b)
		}
		b.JudgeInto(p, now, cost, out)
	case kindMeter:
		m := r.meter()
		if !look {
			m.Advance(*p, now)
			r.saveMeter(&m)
		}
		m.JudgeInto(p, now, cost, out)
	case kindCounter:
		c := limit.Counter{Period: int64(r.t), Count: int64(r.x)}
		if !look {
			c.Advance(*p, now)
			r.t, r.x = uint64(c.Period), uint64(c.Count)
		}
		c.JudgeInto(p, now, cost, out)
	default:
		var m limit.Marks
		r.loadMarks(&m, s)
		if !look {
			m.Advance(*p, now)
			r.saveMarks(&m)
		}
		m.JudgeInto(p, now, cost, out)
	}
}

func judgeLog[S window.Stamp](r *record, l *limit.Log[S], p *limit.Params, now, cost int64, look bool, out *limit.Result) {
	if !look && (l.Newest > now || l.Expired(now, uint64(p.Size)) > 0) {
		l.Advance(*p, now)
		r.saveLog(l.Newest, l.Head, l.Len)
	}
	l.JudgeInto(p, now, cost, out)
}

// units returns how many hits a charge of cost adds to a log.
func units(p *limit.Params, cost int64) uint32 { return uint32(min(cost, p.Max)) }

// need returns how many keys and bytes charging cost to r adds.
func (s *shard) need(r *record, p *limit.Params, now, cost int64) (keys, bytes int64) {
	if r == nil {
		keys, bytes = 1, s.insertGrows(1)
	}
	return keys, bytes + s.grows(r, p, now, cost)
}

// open returns the record of h to be charged: r if it is a state for p, or an
// empty one.
func (s *shard) open(r *record, h name, p *limit.Params) *record {
	switch {
	case r == nil:
		r = s.insert(h)
		r.begin(p)
	case !r.is(p):
		s.freeBlock(r)
		s.void(r)
		*r = record{hash: h}
		r.begin(p)
	}
	return r
}

// grows returns how many bytes charging cost to r would add to the arenas.
func (s *shard) grows(r *record, p *limit.Params, now, cost int64) int64 {
	if r != nil && !r.is(p) {
		r = nil
	}
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
		var b limit.Buckets
		if r.loadBuckets(&b, s); b.NeedSlot(*p, now) {
			return s.slots.grows(bucketRoom(p, len(b.Ring)))
		}
	}
	return 0
}

func logGrows[S window.Stamp](r *record, a *arena[S], p *limit.Params, n uint32) int64 {
	var l limit.Log[S]
	if r != nil {
		loadLog(&l.Log, r, a.block(r.ref))
	}
	// A full window that records on drops its oldest hits first.
	if need := min(l.Need(n), max(int(l.Len), int(p.Max), 1)-1); need > len(l.Ring) {
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
		m := r.meter()
		if record {
			c = m.Record(*p, now, cost)
		} else {
			c = m.Charge(*p, now, cost)
		}
		r.saveMeter(&m)
	case kindCounter:
		k := limit.Counter{Period: int64(r.t), Count: int64(r.x)}
		k.Advance(*p, now)
		if record {
			c = k.Record(*p, now, cost)
		} else {
			c = k.Charge(*p, now, cost)
		}
		r.t, r.x = uint64(k.Period), uint64(k.Count)
	default:
		var m limit.Marks
		r.loadMarks(&m, s)
		r.ref = fitLog(&m.Log, &s.short, r.ref, p, 1)
		c = m.Charge(*p, now, cost)
		m.Advance(*p, now)
		r.saveMarks(&m)
	}
	return c
}

func chargeLog[S window.Stamp](r *record, a *arena[S], p *limit.Params, now, cost int64, record bool) (c limit.Charged) {
	var l limit.Log[S]
	loadLog(&l.Log, r, a.block(r.ref))
	more := int64(units(p, cost))
	if record { // what it pushes out makes room
		more -= max(min(int64(l.Len)+more-p.Max, more), 0)
	}
	r.ref = fitLog(&l.Log, a, r.ref, p, uint32(more))
	if record {
		c = l.Record(*p, now, cost)
	} else {
		c = l.Charge(*p, now, cost)
	}
	r.saveLog(l.Newest, l.Head, l.Len)
	return c
}

// fits reports whether a ring is long enough for need stamps and not far too
// long.
func fits(need, ring int) bool { return need <= ring && (ring <= 8 || need >= ring/4) }

// fitLog gives a log a larger ring if n more hits need it, or a smaller one if
// most of it is unused, and returns the ref of its ring.
func fitLog[S window.Stamp](l *window.Log[S], a *arena[S], old uint32, p *limit.Params, n uint32) uint32 {
	need := l.Need(n)
	if fits(need, len(l.Ring)) {
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
	var b limit.Buckets
	r.loadBuckets(&b, s)
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
	return c
}

// enter counts a check that was refused, in a window of events.
func (s *shard) enter(r *record, p *limit.Params, now int64) {
	if r == nil || p.Algorithm != limit.Events || !r.is(p) {
		return
	}
	var m limit.Marks
	r.loadMarks(&m, s)
	m.Enter(*p)
	m.Advance(*p, now)
	r.saveMarks(&m)
}

// refund gives c back, if it still counts.
func (s *shard) refund(r *record, now int64, c limit.Charged) (given bool) {
	if r.exp <= now {
		return false
	}
	switch r.kind() {
	case kindShortLog:
		var l limit.Log[uint32]
		loadLog(&l.Log, r, s.short.block(r.ref))
		return refundLog(r, &l, now, c)
	case kindLongLog:
		var l limit.Log[uint64]
		loadLog(&l.Log, r, s.long.block(r.ref))
		return refundLog(r, &l, now, c)
	case kindBuckets:
		return s.refundBuckets(r, now, c)
	case kindMeter:
		m := r.meter()
		given = m.Refund(now, c)
		r.saveMeter(&m)
	case kindCounter:
		k := limit.Counter{Period: int64(r.t), Count: int64(r.x)}
		given = k.Refund(now, c)
		r.x = uint64(k.Count)
	default:
		var m limit.Marks
		r.loadMarks(&m, s)
		given = m.Refund(now, c)
		r.saveMarks(&m)
	}
	return given
}

// refundLog knows the length of the window from r.exp, when the newest hit
// leaves.
func refundLog[S window.Stamp](r *record, l *limit.Log[S], now int64, c limit.Charged) bool {
	size := r.exp - l.Newest
	if c.Stamp <= now && uint64(now)-uint64(c.Stamp) >= uint64(size) {
		return false
	}
	given := l.Refund(now, c)
	r.saveLog(l.Newest, l.Head, l.Len)
	r.exp = later(l.Newest, size)
	return given
}

// refundBuckets knows the width of a slice from r.exp, when the newest slice
// leaves: it is the start of the slice that comes as many slices later as count.
func (s *shard) refundBuckets(r *record, now int64, c limit.Charged) bool {
	var b limit.Buckets
	r.loadBuckets(&b, s)
	if b.Len == 0 {
		return false
	}
	span := int64(r.aux>>8) + 1
	newest := b.At(b.Len - 1).Tick
	var step int64
	if newest+span != 0 { // else the slice leaves at the epoch, which tells nothing
		step = r.exp / (newest + span)
	}
	if c.Stamp > newest || step > 0 && (c.Stamp+span)*step <= now {
		return false
	}
	given := b.Refund(now, c)
	if b.Len > 0 {
		r.exp -= (newest - b.At(b.Len-1).Tick) * step
	}
	r.saveBuckets(&b)
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
