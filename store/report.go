package store

import (
	"context"
	"errors"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/window"
)

// Report implements [Store].
func (m *Memory) Report(ctx context.Context, r *Report) error {
	req := Request{Items: r.Items, locks: r.locks}
	if err := errors.Join(ctx.Err(), m.prepare(&req)); err != nil {
		return err
	}
	for i := range r.Settle {
		req.locks = addLock(req.locks, shardNumber(NameOf(&r.Settle[i])))
	}
	r.locks = req.locks
	if err := m.lock(req.locks); err != nil {
		return err
	}
	now := m.timeOf(req.locks)
	r.Settled, r.Full = false, false
	for i := range r.Settle {
		if m.settleOne(r, &r.Settle[i], now) {
			r.Settled = true
			m.voided.Add(1)
		}
	}
	for i := range r.Items {
		if it := &r.Items[i]; it.Reported && !m.report(it, now) {
			r.Full = true
		}
	}
	for _, n := range req.locks {
		m.tend(&m.shards[n], now, true)
	}
	return m.settled(m.unlock(req.locks))
}

// settleOne settles what one window took, and reports whether it had not been.
func (m *Memory) settleOne(rep *Report, r *slidegate.Receipt, now int64) bool {
	s := m.shardOf(NameOf(r))
	switch r.Kind {
	case slidegate.InFlight:
		return s.holders(r) != nil && s.giveBack(r, now, m.steps())
	case slidegate.Held:
		return s.unhold(r, now)
	case slidegate.Unsettled:
		if !s.unhold(r, now) {
			return false
		}
		if it := rep.names(r); rep.Failed {
			s.change(r, nil, 0, now)
		} else if it != nil && it.Limit.Algorithm != limit.Distinct && it.Limit.Algorithm != limit.Events { // these are charged members, and checks
			s.change(r, it.Limit, it.Cost, now)
		}
		return true
	}
	return false
}

// names returns the item that says what a charge comes to; nil for none.
func (rep *Report) names(r *slidegate.Receipt) *Item {
	for i := range rep.Items {
		if it := &rep.Items[i]; it.Name == NameOf(r) && !it.Reported {
			return it
		}
	}
	return nil
}

// change makes a charge what it comes to; p may be nil if that is nothing.
func (s *shard) change(r *slidegate.Receipt, p *limit.Params, amount, now int64) {
	rec := s.find(NameOf(r))
	if rec == nil || r.Seq <= s.resets[NameOf(r)].seq {
		return
	}
	if s.log != nil {
		s.log.change(r, p, amount)
	}
	c := limit.Charged{Stamp: r.Stamp, Amount: r.Amount}
	if amount == 0 {
		s.refund(rec, now, c, r.Seq)
		return
	}
	if !rec.is(p) {
		return
	}
	before := r.Amount
	if p.Algorithm == limit.GCRA && p.Step > 0 {
		before /= p.Step // its amounts are times
	}
	switch more := amount - before; {
	case more < 0:
		if c.Amount = -more; p.Algorithm == limit.GCRA {
			c.Amount *= p.Step
		}
		s.refund(rec, now, c, r.Seq)
	case more > 0:
		s.add(rec, p, now, c.Stamp, more)
	}
}

// add charges a window with more than a charge of it that still counts, whatever it
// holds: at the time of that charge where time is cut into slices, otherwise now.
func (s *shard) add(rec *record, p *limit.Params, now, stamp, more int64) {
	var r limit.Result
	s.judgeState(rec, p, now, 0, false, &r) // brings it to now
	switch rec.kind() {
	case kindBuckets:
		var b limit.Buckets
		rec.loadBuckets(&b, s)
		b.Raise(stamp, uint64(more))
		rec.saveBuckets(&b)
		return
	case kindShortLog:
		var l window.Log[uint32]
		if s.loadShort(&l, rec); !l.Has(stamp) {
			return
		}
	case kindLongLog:
		var l window.Log[uint64]
		if loadLog(&l, rec, s.long.block(rec.ref)); !l.Has(stamp) {
			return
		}
	case kindCounter, kindCalendar, kindWeighted:
		if int64(rec.t) != stamp {
			return // of a period before
		}
	}
	s.charge(rec, p, now, min(more, max(p.Max, 1)), false)
	s.charged(rec, p, now, &r)
}

// report charges a window that is fed by reports. It reports whether there was room to
// keep that.
func (m *Memory) report(it *Item, now int64) (kept bool) {
	s := m.shardOf(it.Name)
	it.Charged, it.Receipt, kept = false, slidegate.Receipt{}, true
	h := s.holdsOf(it.Name, now)
	if it.Free && h != nil {
		s.freeOldest(it.Name, h, now)
	}
	if it.Clear {
		m.clear(s, it.Name, now)
	}
	it.record = s.find(it.Name)
	if !it.looks() {
		s.judgeNoted(it, now, limit.MaxSize, false, &it.Result)
		if kept = m.take(m.chargeNeeds(it, now)); kept {
			s.chargeNew(it, now, 0, true)
			s.charged(it.record, it.Limit, now, &it.Result)
			it.Charged = true
		} else {
			m.full.Add(1)
			if it.moved {
				s.passed(it)
			}
		}
	}
	cost, given := it.Cost, it.given
	it.Cost, it.given = 0, nil // how it stands
	s.judgeTracked(it, now, limit.MaxSize, true)
	it.Cost, it.given = cost, given
	if it.Charged && it.full && it.Lock != nil && it.Locked == 0 && it.decides() {
		m.lockKey(it, now)
	}
	it.record = nil
	return kept
}

// clear empties a window, with what is held that nobody settled in time.
func (m *Memory) clear(s *shard, name Name, now int64) {
	if s.log != nil {
		s.log.add(effectClear, name)
	}
	if h := s.heldOf(name); h != nil {
		n := 0
		for n < len(h.list) && h.list[n].until <= now {
			n++
		}
		h.drop(n)
		if s.holds -= n; len(h.list) == 0 {
			delete(s.held, name)
		}
	}
	if id, rec := s.lookup(name); rec != nil {
		s.remove(id)
		m.keys.Add(-1)
	}
}
