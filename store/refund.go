package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/window"
)

// Refund implements [Store].
func (m *Memory) Refund(ctx context.Context, receipts []slidegate.Receipt) (given bool, err error) {
	err = m.settling(ctx, receipts, (*shard).leavesMark, func(s *shard, r *slidegate.Receipt, now int64) {
		given = s.giveBack(r, now, m.steps()) || given
	})
	return given, err
}

// Release implements [Store].
func (m *Memory) Release(ctx context.Context, receipts []slidegate.Receipt) (released bool, err error) {
	err = m.settling(ctx, receipts, (*shard).shares, func(s *shard, r *slidegate.Receipt, now int64) {
		if s.holders(r) != nil {
			released = s.giveBack(r, now, m.steps()) || released
		}
	})
	return released, err
}

// Renew implements [Store].
func (m *Memory) Renew(ctx context.Context, receipts []slidegate.Receipt) (renewed bool, err error) {
	gone := false
	err = m.settling(ctx, receipts, (*shard).shares, func(s *shard, r *slidegate.Receipt, now int64) {
		rec := s.holders(r)
		switch {
		case r.Kind != slidegate.InFlight:
		case rec != nil && s.renew(rec, r, now, m.steps()):
			renewed = true
		default:
			gone = true
		}
	})
	return renewed && !gone, err
}

// steps reports whether the clock may step back, so that a hit may yet come to the
// instant of any that was given back. At the ceiling of memory it is taken not to.
func (m *Memory) steps() bool { return (m.now != nil || m.Now() <= m.loaded) && !m.overfull() }

func errFull() error { return fmt.Errorf("store: %w", slidegate.ErrFull) }

// overfull reports whether there is no room to remember a refund.
func (m *Memory) overfull() bool { return m.bytes.Load() > m.maxBytes }

// holders returns the record that a place in flight lies in; nil if it is gone, or if
// the receipt is for something else.
func (s *shard) holders(r *slidegate.Receipt) *record {
	rec := s.find(NameOf(r))
	if r.Kind != slidegate.InFlight || rec == nil || rec.kind() != kindHolders {
		return nil
	}
	return rec
}

// shares reports whether releasing a place in flight must be remembered.
func (s *shard) shares(r *slidegate.Receipt, now int64) bool {
	rec := s.holders(r)
	return rec != nil && s.crowded(rec, r, now)
}

// crowded reports whether other hits of a log are of the instant of a receipt, or may
// yet be, so that giving it back must be remembered.
func (s *shard) crowded(rec *record, r *slidegate.Receipt, now int64) bool {
	var n uint32
	if rec.kind() == kindShortLog {
		var l window.Log[uint32]
		s.loadShort(&l, rec)
		n = l.Count(r.Stamp)
	} else {
		var l window.Log[uint64]
		loadLog(&l, rec, s.long.block(rec.ref))
		n = l.Count(r.Stamp)
	}
	return r.Stamp >= now || int64(n) > r.Amount
}

// leavesMark reports whether giving a receipt back must be remembered.
func (s *shard) leavesMark(r *slidegate.Receipt, now int64) bool {
	rec := s.find(NameOf(r))
	if rec == nil || r.Kind >= slidegate.Unsettled {
		return false
	}
	switch rec.kind() {
	case kindShortLog, kindLongLog, kindHolders:
		return s.crowded(rec, r, now)
	case kindMarks, kindMembers, kindByCalendar:
		return false
	default:
		return true
	}
}

// settling calls do for each of the receipts, under the locks of all. When there is no
// room to remember what it does, and one must be remembered, it calls none.
func (m *Memory) settling(ctx context.Context, receipts []slidegate.Receipt,
	remembered func(*shard, *slidegate.Receipt, int64) bool, do func(*shard, *slidegate.Receipt, int64),
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var locks []uint32
	for i := range receipts {
		locks = addLock(locks, shardNumber(NameOf(&receipts[i])))
	}
	if err := m.lock(locks); err != nil {
		return err
	}
	now := m.timeOf(locks)
	for i := range receipts {
		if m.overfull() && remembered(m.shardOf(NameOf(&receipts[i])), &receipts[i], now) {
			m.unlock(locks)
			return errFull()
		}
	}
	for i := range receipts {
		s := m.shardOf(NameOf(&receipts[i]))
		do(s, &receipts[i], now)
		m.account(s)
	}
	m.voided.Add(1) // before the locks are given back
	return m.settled(m.unlock(locks))
}

// renew gives a place in flight back and takes one now.
func (s *shard) renew(rec *record, r *slidegate.Receipt, now int64, steps bool) bool {
	size, held := rec.exp-int64(rec.t), uint32(rec.x)
	if !s.giveBack(r, now, steps) {
		return false
	}
	s.seq++
	units := held - uint32(rec.x) // there is room: as many have just gone
	if s.log != nil {
		s.log.renew(NameOf(r), units, size, s.seq)
	}
	s.takeAgain(rec, now, units, size)
	r.Stamp, r.Seq = now, s.seq
	return true
}

// takeAgain takes places in flight for which there is room.
func (s *shard) takeAgain(rec *record, now int64, units uint32, size int64) {
	var h limit.Holders
	loadLog(&h.Log, rec, s.long.block(rec.ref))
	h.Pull(now)
	h.Push(now, units)
	rec.saveLog(h.Newest, h.Head, h.Len)
	rec.exp = later(now, size)
}

// giveBack refunds one receipt, unless that was done or its window is gone.
func (s *shard) giveBack(r *slidegate.Receipt, now int64, steps bool) bool {
	switch r.Kind {
	case slidegate.Held:
		return s.unhold(r, now)
	case slidegate.Unsettled: // what is held of it says whether it was given back
		if !s.unhold(r, now) {
			return false
		}
		rec := s.find(NameOf(r))
		if rec != nil && s.log != nil {
			s.log.refund(r, steps)
		}
		return rec != nil && s.refund(rec, now, limit.Charged{Stamp: r.Stamp, Amount: r.Amount}, r.Seq)
	}
	rec := s.find(NameOf(r))
	if rec == nil || r.Seq > s.seq || r.Seq <= s.resets[NameOf(r)].seq || s.isLost(r.Seq) {
		return false
	}
	if _, done := s.refunded[r.Seq]; done {
		return false
	}
	if s.log != nil {
		s.log.refund(r, steps)
	}
	return s.giveCharge(rec, r, now, steps)
}

// giveCharge refunds a charge, and remembers that, if it must.
func (s *shard) giveCharge(rec *record, r *slidegate.Receipt, now int64, steps bool) bool {
	exp, c := rec.exp, limit.Charged{Stamp: r.Stamp, Amount: r.Amount}
	given := s.refund(rec, now, c, r.Seq)
	if given && s.again(rec, now, c, steps) {
		if s.refunded == nil {
			s.refunded = map[uint64]int64{}
		}
		s.forget(now, forgetForEach)
		s.refunded[r.Seq] = exp
	}
	return given
}

// again reports whether the same refund would find something a second time, so
// that it must be remembered. Hits of a log are found by their stamp, of which
// there is mostly one; marks of events have numbers of their own.
func (s *shard) again(r *record, now int64, c limit.Charged, steps bool) bool {
	switch r.kind() {
	case kindShortLog:
		var l window.Log[uint32]
		s.loadShort(&l, r)
		return steps || c.Stamp >= now || l.Has(c.Stamp) // a hit may still come at this microsecond
	case kindLongLog, kindHolders:
		var l window.Log[uint64]
		loadLog(&l, r, s.long.block(r.ref))
		return steps || c.Stamp >= now || l.Has(c.Stamp)
	case kindMarks, kindMembers, kindByCalendar:
		return false
	default:
		return true
	}
}

// refund gives c back, if it still counts.
func (s *shard) refund(r *record, now int64, c limit.Charged, seq uint64) (given bool) {
	if r.exp <= now {
		return false
	}
	switch r.kind() {
	case kindShortLog:
		var l limit.Log[uint32]
		s.loadShort(&l.Log, r)
		given = refundLog(r, &l, now, c)
		s.saveShort(&l.Log, r)
	case kindLongLog:
		var l limit.Log[uint64]
		loadLog(&l.Log, r, s.long.block(r.ref))
		given = refundLog(r, &l, now, c)
		r.saveLog(l.Newest, l.Head, l.Len)
	case kindBuckets:
		return s.refundBuckets(r, now, c)
	case kindMeter:
		m := r.meter()
		given = m.Refund(now, c)
		r.saveMeter(&m)
	case kindCounter, kindCalendar:
		k := limit.Counter{Period: int64(r.t), Count: int64(r.x)}
		given = k.Refund(now, c)
		r.x = uint64(k.Count)
	case kindWeighted:
		return s.refundWeighted(r, now, c)
	case kindHolders:
		var h limit.Holders
		loadLog(&h.Log, r, s.long.block(r.ref))
		given = refundLog(r, (*limit.Log[uint64])(&h), now, c)
		r.saveLog(h.Newest, h.Head, h.Len)
	case kindMembers, kindByCalendar:
		return s.refundMembers(r, now, c, seq)
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

// refundWeighted knows the length of the window from r.exp, which is the end of
// the current one, or of the one after it if anything counts in the current one.
func (s *shard) refundWeighted(r *record, now int64, c limit.Charged) bool {
	var w limit.Weighted
	r.loadWeighted(&w, s)
	ends := w.Period + 1
	if w.Current > 0 {
		ends++
	}
	var size int64
	if ends != 0 { // else it ends at the epoch, which tells nothing
		size = r.exp / ends
	}
	if size > 0 && now >= (w.Period+1)*size {
		w.Advance(limit.Params{Size: size}, now) // what was current is previous now
	}
	before := w.Current
	given := w.Refund(now, c)
	if before > 0 && w.Current == 0 {
		r.exp -= size
	}
	r.saveWeighted(&w, s)
	return given
}

// refundMembers knows the length of the window from r.exp, when the newest member
// leaves. Of a period of the calendar all are there until its end.
func (s *shard) refundMembers(r *record, now int64, c limit.Charged, seq uint64) bool {
	var m limit.Members
	r.loadMembers(&m, s)
	if m.Len == 0 {
		return false
	}
	size := r.exp - m.Seen(m.Newest)
	if r.kind() == kindMembers {
		for m.Oldest != 0 && m.Seen(m.Oldest) <= now-size { // it is out
			m.Remove(m.Oldest)
		}
	}
	given := m.Refund(seq, c)
	if m.Len > 0 && r.kind() == kindMembers {
		r.exp = later(m.Seen(m.Newest), size)
	}
	r.saveMembers(&m)
	return given
}

// Reset implements [Store].
func (m *Memory) Reset(ctx context.Context, items []Item) error {
	req := Request{Items: items}
	if err := errors.Join(ctx.Err(), m.prepare(&req)); err != nil {
		return err
	}
	if m.overfull() {
		return errFull() // there is no room to remember that earlier receipts are void
	}
	if err := m.lock(req.locks); err != nil {
		return err
	}
	now := m.timeOf(req.locks)
	for i := range items {
		s := m.shardOf(items[i].Name)
		m.reset(s, items[i].Name, now)
		m.account(s)
	}
	m.voided.Add(1)
	return m.settled(m.unlock(req.locks))
}

// reset deletes a window and what is held of it, and remembers that its receipts are
// void.
func (m *Memory) reset(s *shard, name Name, now int64) {
	id, rec := s.lookup(name)
	if s.log != nil && (rec != nil || s.held[name] != nil) {
		s.log.add(effectReset, name)
	}
	s.dropHolds(name)
	if rec != nil {
		s.forget(now, forgetForEach)
		s.void(rec)
		s.remove(id)
		m.keys.Add(-1)
	}
}

// void remembers it for as long as any charge so far could count: a window that was
// emptied by refunds ends before charges that an earlier Reset made void.
func (s *shard) void(rec *record) {
	if s.resets == nil {
		s.resets = map[Name]tombmark{}
	}
	s.resets[rec.hash] = tombmark{seq: s.seq, exp: max(rec.exp, s.resets[rec.hash].exp)}
}
