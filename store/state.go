package store

import (
	"math"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/window"
)

// kind says how a record holds its state.
type kind uint8

const (
	kindShortLog   kind = iota + 1 // see short.go
	kindLongLog                    // t: newest hit, x: head and length, ref: long
	kindBuckets                    // t: base, x: head and length, ref: slots; aux: number of slices that count
	kindMeter                      // t: TAT, x: shift, ref and aux: held
	kindCounter                    // t: period, x: count
	kindMarks                      // as kindLongLog, ref: short; aux: checks since the newest mark
	kindWeighted                   // t: period, x: count; its block in long holds the count of the period before
	kindHolders                    // as kindLongLog
	kindMembers                    // t: oldest and newest, x: length, ref: sets
	kindCalendar                   // as kindCounter, but t is the start of the period
	kindByCalendar                 // as kindMembers, of a period of the calendar
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
	case limit.Calendar:
		return kindCalendar
	case limit.SlidingCounter:
		return kindWeighted
	case limit.Inflight:
		return kindHolders
	case limit.Distinct:
		if p.Periods != nil {
			return kindByCalendar
		}
		return kindMembers
	default:
		return kindMarks
	}
}

func (r *record) kind() kind { return kind(r.aux) }

// begin makes r an empty state for p.
func (s *shard) begin(r *record, p *limit.Params) {
	k := kindOf(p)
	r.aux = uint32(k) | uint32(p.Buckets)<<8
	switch k {
	case kindMeter:
		tat := limit.EmptyMeter().TAT
		r.t = uint64(tat)
	case kindWeighted:
		var block []uint64
		r.ref, block = s.long.alloc(1)
		block[0] = 0
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

// loadLog reads the state of a log. It writes field by field, because copies of a
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

func (r *record) loadMembers(m *limit.Members, s *shard) {
	m.Len, m.Oldest, m.Newest = uint32(r.x), uint32(r.t>>32), uint32(r.t)
	m.Slots = s.sets.block(r.ref)
}

func (r *record) saveMembers(m *limit.Members) {
	r.t, r.x = uint64(m.Oldest)<<32|uint64(m.Newest), uint64(m.Len)
}

func (r *record) loadWeighted(w *limit.Weighted, s *shard) {
	w.Period, w.Current = int64(r.t), int64(r.x)
	w.Previous = int64(s.long.block(r.ref)[0])
}

func (r *record) saveWeighted(w *limit.Weighted, s *shard) {
	r.t, r.x = uint64(w.Period), uint64(w.Current)
	s.long.block(r.ref)[0] = uint64(w.Previous)
}

// meter reads the state of a meter. Held is less than 2^56: a burst and a queue are.
func (r *record) meter() limit.Meter {
	return limit.Meter{TAT: int64(r.t), Shift: r.x, Held: int64(r.aux>>8)<<32 | int64(r.ref)}
}

func (r *record) saveMeter(m *limit.Meter) {
	r.t, r.x = uint64(m.TAT), m.Shift
	r.ref, r.aux = uint32(m.Held), uint32(kindMeter)|uint32(m.Held>>32)<<8
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
func (s *shard) open(r *record, h Name, p *limit.Params) *record {
	switch {
	case r == nil:
		r = s.insert(h)
		s.begin(r, p)
	case !r.is(p):
		s.freeBlock(r)
		s.void(r)
		*r = record{hash: h}
		s.begin(r, p)
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
		return s.shortGrows(r, p, units(p, cost))
	case kindLongLog, kindHolders:
		return logGrows(r, &s.long, p, units(p, cost))
	case kindMarks:
		return logGrows(r, &s.short, p, 1)
	case kindWeighted:
		if r == nil {
			return s.long.grows(1)
		}
	case kindMembers, kindByCalendar:
		var m limit.Members
		if r != nil {
			r.loadMembers(&m, s)
		}
		if need := int(m.Len) + int(cost); need > len(m.Slots) {
			return s.sets.grows(memberRoom(p, need))
		}
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
	if need := ringNeed(&l.Log, p, n); need > len(l.Ring) {
		return a.grows(logRoom(p, need))
	}
	return 0
}

// ringNeed returns the length of the ring that n more hits need. A full window
// that records on drops its oldest hits first.
func ringNeed[S window.Stamp](l *window.Log[S], p *limit.Params, n uint32) int {
	return min(l.Need(n), max(int(l.Len), int(p.Max), 1)-1)
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

// memberRoom does the same for members.
func memberRoom(p *limit.Params, need int) int {
	return max(need, min(need+need/2, int(p.Max)))
}

// brings returns how many members a charge of an item may bring in: none when they
// do not fit, and the known ones are only seen again.
func (it *Item) brings() int {
	if !it.Result.OK {
		return 0
	}
	return len(it.given)
}

// chargeNew is chargeItem for an item that may have no record yet, under a new number.
func (s *shard) chargeNew(it *Item, now, wait int64, record bool) limit.Charged {
	if s.log != nil {
		flags := byte(0)
		if record {
			flags = chargeRecord
		}
		s.log.charge(it.Name, it.Limit, it.Cost, wait, s.seq+1, flags, it.given)
		it.moved = false
	}
	it.record = s.open(it.record, it.Name, it.Limit)
	s.seq++
	return s.chargeItem(it, now, wait, record)
}

// chargeItem charges an item to its record, or records it even if it does not fit. It
// goes on after wait.
func (s *shard) chargeItem(it *Item, now, wait int64, record bool) (c limit.Charged) {
	r, p := it.record, it.Limit
	switch {
	case p.Wait > 0 && !record:
		m := r.meter()
		c = m.ChargeAt(*p, now, it.Cost, wait)
		r.saveMeter(&m)
		return c
	case p.Algorithm != limit.Distinct:
		return s.charge(r, p, now, it.Cost, record)
	}
	var m limit.Members
	r.loadMembers(&m, s)
	brings := it.brings()
	if record && m.Judge(*p, now, it.given).OK { // though the key may be locked
		brings = len(it.given)
	}
	if need, have := int(m.Len)+brings, len(m.Slots); need > have || have > 8 && need < have/4 {
		ref, slots := s.sets.alloc(memberRoom(p, need))
		m.Move(slots)
		s.sets.free(r.ref)
		r.ref = ref
	}
	if record {
		c = m.Record(*p, now, it.given, s.seq)
	} else {
		c = m.Charge(*p, now, it.given, s.seq)
	}
	r.saveMembers(&m)
	return c
}

// charge charges cost to r, or records it even if it does not fit.
func (s *shard) charge(r *record, p *limit.Params, now, cost int64, record bool) (c limit.Charged) {
	switch r.kind() {
	case kindShortLog:
		return s.chargeShort(r, p, now, cost, record)
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
	case kindCounter, kindCalendar:
		k := limit.Counter{Period: int64(r.t), Count: int64(r.x)}
		k.Advance(*p, now)
		if record {
			c = k.Record(*p, now, cost)
		} else {
			c = k.Charge(*p, now, cost)
		}
		r.t, r.x = uint64(k.Period), uint64(k.Count)
	case kindWeighted:
		var w limit.Weighted
		r.loadWeighted(&w, s)
		w.Advance(*p, now)
		if record {
			c = w.Record(*p, now, cost)
		} else {
			c = w.Charge(*p, now, cost)
		}
		r.saveWeighted(&w, s)
	case kindHolders:
		var h limit.Holders
		loadLog(&h.Log, r, s.long.block(r.ref))
		r.ref = fitLog(&h.Log, &s.long, r.ref, p, units(p, cost))
		c = h.Charge(*p, now, cost)
		r.saveLog(h.Newest, h.Head, h.Len)
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
	r.ref = fitLog(&l.Log, a, r.ref, p, adds(&l.Log, p, cost, record))
	if record {
		c = l.Record(*p, now, cost)
	} else {
		c = l.Charge(*p, now, cost)
	}
	r.saveLog(l.Newest, l.Head, l.Len)
	return c
}

// adds returns by how many hits a charge makes a log longer: what a recorded one
// pushes out makes room.
func adds[S window.Stamp](l *window.Log[S], p *limit.Params, cost int64, record bool) uint32 {
	more := int64(units(p, cost))
	if record {
		more -= max(min(int64(l.Len)+more-p.Max, more), 0)
	}
	return uint32(more)
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
func (s *shard) enter(r *record, h Name, p *limit.Params, now int64) {
	if r == nil || p.Algorithm != limit.Events || !r.is(p) {
		return
	}
	if s.log != nil {
		s.log.window(effectEnter, h, p)
	}
	var m limit.Marks
	r.loadMarks(&m, s)
	m.Enter(*p)
	m.Advance(*p, now)
	r.saveMarks(&m)
}

// freeBlock gives the ring of r back to its arena.
func (s *shard) freeBlock(r *record) {
	switch r.kind() {
	case kindShortLog:
		if r.aux&auxRing != 0 {
			s.short.free(r.ref)
		}
	case kindMarks:
		s.short.free(r.ref)
	case kindLongLog, kindHolders, kindWeighted:
		s.long.free(r.ref)
	case kindBuckets:
		s.slots.free(r.ref)
	case kindMembers, kindByCalendar:
		s.sets.free(r.ref)
	}
}

// later adds a delay to a time and stops at the end of time.
func later(t, delay int64) int64 {
	if sum := t + delay; sum >= t {
		return sum
	}
	return math.MaxInt64
}
