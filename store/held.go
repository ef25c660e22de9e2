package store

import (
	"slices"
	"sort"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
)

// hold is what one decision took of one window until a report settles it.
type hold struct {
	seq   uint64
	at    int64  // when it was taken
	until int64  // when it can no longer be settled
	gone  int64  // when it counts no more
	cum   uint64 // the amounts of this and all before it, modulo 2^64
	stamp int64  // of the charge that it may give back
}

// held are the holds of one window of one key, in the order in which they were taken
// and are gone. Of a window that is fed by reports they count; of another, the charge
// that they are about does.
type held struct {
	list    []hold
	base    uint64 // cum of what was before the first
	charges bool   // of a window that checks feed
	release bool   // then what was not settled is given back
}

// What holds and locks take, about, with their place in a map.
const (
	holdBytes = 64
	heldBytes = 128
	lockBytes = 256
)

// total returns the amount of all.
func (h *held) total() int64 { return h.until(len(h.list)) }

// until returns the amount of the first n.
func (h *held) until(n int) int64 {
	if n == 0 {
		return 0
	}
	return int64(h.list[n-1].cum - h.base)
}

// amount returns that of the i-th.
func (h *held) amount(i int) int64 { return h.until(i+1) - h.until(i) }

// add appends what was taken now. It is not gone before those before it.
func (h *held) add(x hold, amount int64) {
	x.cum = h.base + uint64(amount)
	if n := len(h.list); n > 0 {
		last := &h.list[n-1]
		x.cum, x.gone = last.cum+uint64(amount), max(x.gone, last.gone)
	}
	h.list = append(h.list, x)
}

// find returns the place of the hold with a number.
func (h *held) find(seq uint64) (i int, found bool) {
	return slices.BinarySearchFunc(h.list, seq, func(x hold, seq uint64) int {
		switch {
		case x.seq < seq:
			return -1
		case x.seq > seq:
			return 1
		}
		return 0
	})
}

// drop forgets the n oldest.
func (h *held) drop(n int) {
	if n > 0 {
		h.base = h.list[n-1].cum
		h.list = h.list[n:]
	}
}

// remove takes out the i-th.
func (h *held) remove(i int) {
	amount := uint64(h.amount(i))
	h.list = slices.Delete(h.list, i, i+1)
	for j := i; j < len(h.list); j++ {
		h.list[j].cum -= amount
	}
}

// pull moves what was taken later than now to now, as after a clock that stepped back.
// It reports whether there was any.
func (h *held) pull(now int64) (pulled bool) {
	for i := len(h.list) - 1; i >= 0 && h.list[i].at > now; i-- {
		x := &h.list[i]
		back := x.at - now
		x.at, x.until, x.gone = now, x.until-back, x.gone-back
		pulled = true
	}
	return pulled
}

// heldOf returns what is held of a window of a key, settled or not; nil for nothing.
func (s *shard) heldOf(name Name) *held {
	h := s.held[name]
	if s.copy != nil {
		s.copy.touchHeld(name, h)
	}
	return h
}

// holdsOf returns what is held of a window of a key now; nil for nothing. What was to
// be settled by now and was not is settled.
func (s *shard) holdsOf(name Name, now int64) *held {
	h := s.heldOf(name)
	if h == nil {
		return nil
	}
	pulled := h.pull(now)
	n := 0
	for n < len(h.list) && h.list[n].gone <= now {
		n++
	}
	if s.log != nil && (n > 0 || pulled) {
		s.log.add(effectLapse, name)
	}
	if h.charges && h.release {
		for i := range n {
			s.unsettled(name, &h.list[i], h.amount(i), now)
		}
	}
	h.drop(n)
	s.holds -= n
	if len(h.list) == 0 {
		delete(s.held, name)
		return nil
	}
	return h
}

// unsettled gives a charge back that nobody settled.
func (s *shard) unsettled(name Name, x *hold, amount, now int64) {
	if rec := s.find(name); rec != nil && x.seq > s.resets[name].seq {
		s.refund(rec, now, limit.Charged{Stamp: x.stamp, Amount: amount}, x.seq)
	}
}

// judgeTracked is judgeItem for an item of which something may be held or locked.
func (s *shard) judgeTracked(it *Item, now, most int64, look bool) {
	h := s.holdsOf(it.Name, now)
	it.record = s.find(it.Name)
	s.judgeHeld(it, h, now, most, look)
	it.Locked = s.lockedFor(it, now)
	if it.Locked > 0 {
		it.Result.OK, it.Result.Wait, it.Result.Retry = false, 0, max(it.Result.Retry, it.Locked)
	}
}

// judgeHeld judges an item beside what is held of its window.
func (s *shard) judgeHeld(it *Item, h *held, now, most int64, look bool) {
	out := &it.Result
	if !it.Reported || h == nil && it.Limit.Algorithm != limit.Distinct {
		s.judgeNoted(it, now, most, look, out)
		it.full = out.Used >= capacity(it.Limit)
		return
	}
	if h == nil {
		h = &held{}
	}
	s.judgeBeside(it, h.total(), now, most, look, out)
	it.full = out.Used >= capacity(it.Limit)
	if !out.OK {
		out.Never, out.Retry = it.wants() > capacity(it.Limit), 0
		if !out.Never {
			out.Retry = s.heldRetry(it, h, now, most)
		}
	}
	out.Used += h.total()
	out.Remaining = max(capacity(it.Limit)-out.Used, 0)
	if n := len(h.list); n > 0 {
		out.Reset = max(out.Reset, h.list[n-1].gone-now)
	}
}

// judgeBeside judges an item as if its window had so much less room. Of different
// values that are reported, any other may be the next: what is full has room for none,
// also not for one that it knows.
func (s *shard) judgeBeside(it *Item, less, now, most int64, look bool, out *limit.Result) {
	p, given := it.Limit, it.given
	beside := *p
	if p.Algorithm == limit.Distinct {
		it.given, less = nil, less+min(it.Cost, 1)
	}
	if p.Algorithm == limit.GCRA {
		beside.Burst = max(p.Burst-less, 0)
	} else {
		beside.Max = max(p.Max-less, 0)
	}
	it.Limit = &beside
	s.judgeNoted(it, now, most, look, out)
	it.Limit, it.given = p, given
	if less > capacity(p) {
		out.OK, out.Never = false, true
	}
}

// heldRetry returns the delay until an item fits: as what is held goes, one after
// another, the window itself needs no longer, until it has the room in time before
// the next goes.
func (s *shard) heldRetry(it *Item, h *held, now, most int64) int64 {
	var delay int64
	sort.Search(len(h.list)+1, func(gone int) bool {
		var r limit.Result
		s.judgeBeside(it, h.total()-h.until(gone), now, most, true, &r)
		if !r.OK && r.Never || gone < len(h.list) && r.Retry > h.list[gone].gone-now {
			return false
		}
		delay = r.Retry
		if gone > 0 {
			delay = max(delay, h.list[gone-1].gone-now)
		}
		return true
	})
	return delay
}

// wants returns how much room an item needs that reports feed.
func (it *Item) wants() int64 {
	if it.Limit.Algorithm == limit.Distinct {
		return min(it.Cost, 1)
	}
	return it.Cost
}

// capacity returns how much a window holds.
func capacity(p *limit.Params) int64 {
	if p.Algorithm == limit.GCRA && p.Max > 0 {
		return p.Burst
	}
	return p.Max
}

// takes says what a charge of the item is.
func (it *Item) takes() slidegate.ReceiptKind {
	switch {
	case it.Limit.Algorithm == limit.Inflight:
		return slidegate.InFlight
	case it.Hold != nil:
		return slidegate.Unsettled
	}
	return slidegate.Charge
}

// holdPlace holds a place of a window that is fed by reports, for an item that was let
// in.
func (s *shard) holdPlace(it *Item, now int64) {
	amount := it.Cost
	if it.Limit.Algorithm == limit.Distinct {
		amount = s.fresh(it, now)
	}
	if amount == 0 {
		return
	}
	s.seq++
	s.hold(it, hold{seq: s.seq, at: now}, amount)
	it.Charged = true
	it.Receipt = slidegate.Receipt{Window: [2]uint64{it.Name.Hi, it.Name.Lo}, Stamp: now, Amount: amount, Seq: s.seq, Kind: slidegate.Held}
	it.Result.Used += amount
	it.Result.Remaining = max(it.Result.Remaining-amount, 0)
	it.Result.Reset = max(it.Result.Reset, s.held[it.Name].list[len(s.held[it.Name].list)-1].gone-now)
}

// fresh returns how many of its members the window of an item does not know.
func (s *shard) fresh(it *Item, now int64) int64 {
	if it.record == nil || !it.record.is(it.Limit) {
		return int64(len(it.given))
	}
	var m limit.Members
	it.record.loadMembers(&m, s)
	return m.Fresh(it.Limit, now, it.given)
}

// hold notes what was taken until it is settled.
func (s *shard) hold(it *Item, x hold, amount int64) {
	x.until = later(x.at, it.Hold.For)
	x.gone = x.until
	if it.Reported && !it.Hold.Release {
		x.gone = leaves(it.Limit, x.until)
	}
	s.addHold(it.Name, x, amount, !it.Reported, it.Hold.Release)
}

func (s *shard) addHold(name Name, x hold, amount int64, charges, release bool) {
	h := s.heldOf(name)
	if h == nil {
		h = &held{}
		if s.held == nil {
			s.held = map[Name]*held{}
		}
		s.held[name] = h
	}
	h.charges, h.release = charges, release
	if s.log != nil {
		s.log.hold(name, h, &x, amount)
	}
	h.add(x, amount)
	s.holds++
}

// leaves returns when a hit of a time leaves its window, at the latest.
func leaves(p *limit.Params, at int64) int64 {
	switch {
	case p.Periods != nil:
		_, end := p.Periods.Period(at)
		return end
	case p.Algorithm == limit.Fixed:
		return at - (at%p.Size+p.Size)%p.Size + p.Size
	}
	return later(at, p.Size)
}

// unhold takes out what a decision took and nobody settled yet, and reports whether it
// was there.
func (s *shard) unhold(r *slidegate.Receipt, now int64) bool {
	name := NameOf(r)
	h := s.holdsOf(name, now)
	if h == nil {
		return false
	}
	i, found := h.find(r.Seq)
	if !found || h.list[i].until <= now {
		return false
	}
	s.take(name, h, i)
	return true
}

// take takes out the i-th of what is held of a window of a key.
func (s *shard) take(name Name, h *held, i int) {
	if s.log != nil {
		s.log.unhold(name, h.list[i].seq)
	}
	h.remove(i)
	s.holds--
	if len(h.list) == 0 {
		delete(s.held, name)
	}
}

// freeOldest frees the oldest place that may still be settled.
func (s *shard) freeOldest(name Name, h *held, now int64) {
	i := slices.IndexFunc(h.list, func(x hold) bool { return x.until > now })
	if i >= 0 {
		s.take(name, h, i)
	}
}

// dropHolds forgets all that is held of a window of a key.
func (s *shard) dropHolds(name Name) {
	if h := s.heldOf(name); h != nil {
		s.holds -= len(h.list)
		delete(s.held, name)
	}
}
