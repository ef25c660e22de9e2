package store

import (
	"fmt"
	"math"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/window"
	"github.com/zeebo/xxh3"
)

// Take is Decide for one window and key, without a receipt. It allocates
// nothing, but for growth. full says that there was no room for a new key. It has
// no members to give, so it is not for a Distinct.
func (m *Memory) Take(w *Window, p *limit.Params, key string, cost int64) (r limit.Result, full bool, err error) {
	if cost < 0 {
		return r, false, fmt.Errorf("%w: %d", ErrCost, cost)
	}
	if p.Algorithm == limit.Distinct {
		return r, false, fmt.Errorf("%w for %s: Take of a distinct", ErrParams, w.id)
	}
	x := xxh3.HashString128Seed(key, m.seed)
	h := mix(Name{x.Hi, x.Lo}, w)
	s := m.shardOf(h)
	s.mu.Lock()
	if m.closed.Load() {
		s.mu.Unlock()
		return r, false, errClosed()
	}
	now := m.Now()
	s.clock(now)
	if s.log != nil {
		full = m.takeFrom(s, w, p, h, now, cost, &r)
		m.tend(s, now, r.OK)
		return r, full, m.settled(m.unlockOne(s))
	}
	rec := s.find(h)
	s.judge(rec, p, now, cost, cost == 0, &r)
	if rec == nil && m.sketches.live.Load() > 0 && m.takeSketched(w, p, h, now, cost, false, &r) {
		s.mu.Unlock()
		return r, false, nil
	}
	if cost > 0 {
		if r.OK {
			full = !m.takeOne(s, rec, w, p, h, now, cost, &r)
		} else if p.Algorithm == limit.Events {
			s.enter(rec, h, p, now)
		}
	}
	m.tend(s, now, r.OK)
	s.mu.Unlock()
	return r, full, nil
}

// takeFrom judges one window and charges it if the cost fits, and notes what that does
// to the window.
func (m *Memory) takeFrom(s *shard, w *Window, p *limit.Params, h Name, now, cost int64, r *limit.Result) (full bool) {
	it := Item{Name: h, Limit: p, Cost: cost, record: s.find(h)}
	s.judgeNoted(&it, now, limit.MaxSize, cost == 0, r)
	switch {
	case cost == 0:
		return false
	case !r.OK:
		s.passed(&it)
		s.enter(it.record, h, p, now)
		return false
	case m.takeOne(s, it.record, w, p, h, now, cost, r):
		return false
	}
	it.record = s.find(h)
	s.passed(&it)
	return true
}

// takeOne charges a cost that fits, if there is room for it.
func (m *Memory) takeOne(s *shard, rec *record, w *Window, p *limit.Params, h Name, now, cost int64, r *limit.Result) bool {
	if !m.take(s.need(rec, p, now, cost)) {
		m.sweepShard(s, now, 4*chunkLen)
		rec = s.find(h) // records move; this one may have expired itself
		if !m.take(s.need(rec, p, now, cost)) {
			if rec == nil && m.takeSketched(w, p, h, now, cost, true, r) {
				return true
			}
			m.full.Add(1)
			r.OK = false
			return false
		}
	}
	if s.log != nil {
		s.log.charge(h, p, cost, 0, s.seq+1, chargePlain, nil)
	}
	rec = s.open(rec, h, p)
	s.seq++
	s.charge(rec, p, now, cost, false)
	s.charged(rec, p, now, r)
	return true
}

// takeSketched is Take for a key without a record, if the store had no room for it
// before, or has none now (full). It reports whether it decided.
func (m *Memory) takeSketched(w *Window, p *limit.Params, h Name, now, cost int64, full bool, r *limit.Result) bool {
	it := Item{Window: w, Limit: p, Cost: cost, Name: h}
	m.sketches.mu.Lock()
	defer m.sketches.mu.Unlock()
	if !m.sketched(&it, now, full) {
		return false
	}
	if it.Result.OK && cost > 0 {
		m.chargeSketch(&it, now)
	}
	*r = it.Result
	return true
}

// Allow is Take for those who want to know only whether the cost was admitted.
// For sliding logs it computes nothing else, and remembers what it refused: until
// when is told without a lock. A negative cost is refused, and so is everything
// once the store is closed.
func (m *Memory) Allow(w *Window, p *limit.Params, key string, cost int64) (ok, full bool) {
	if cost <= 0 || p.Algorithm != limit.SlidingLog {
		r, full, err := m.Take(w, p, key, cost)
		return err == nil && r.OK, full
	}
	x := xxh3.HashString128Seed(key, m.seed)
	h := mix(Name{x.Hi, x.Lo}, w)
	now := m.Now()
	cost = min(cost, limit.MaxLog+1) // as good as any more
	known, voided := refusalKey(h, p, cost), m.voided.Load()
	refusal := m.refusals.at(known)
	if m.now == nil && refusal.refuses(known, voided, now) {
		return false, false
	}
	s := m.shardOf(h)
	s.mu.Lock()
	if m.closed.Load() {
		s.mu.Unlock()
		return false, false
	}
	now = s.time(m, now)
	rec := s.find(h)
	if rec == nil && m.sketches.live.Load() > 0 {
		s.mu.Unlock()
		r, full, err := m.Take(w, p, key, cost)
		return err == nil && r.OK, full
	}
	ok, done, until := s.allow(rec, p, now, cost, m.now == nil)
	switch {
	case !done && s.log != nil:
		var r limit.Result
		full = m.takeFrom(s, w, p, h, now, cost, &r)
		ok = r.OK
	case !done:
		var r limit.Result
		s.judge(rec, p, now, cost, false, &r)
		if r.OK {
			full = !m.takeOne(s, rec, w, p, h, now, cost, &r)
		}
		ok = r.OK
	case s.log != nil:
		s.allowed(h, p, cost, ok)
	}
	if !done || s.due(now) {
		m.tend(s, now, !done)
	}
	if s.log == nil {
		s.mu.Unlock()
	} else if err := m.settled(m.unlockOne(s)); err != nil {
		return false, false
	}
	if until > now && m.now == nil {
		refusal.set(known, voided, until)
	}
	return ok, full
}

// time returns the time of a decision under the lock of s, of which now was read
// before the lock was taken. On the clock of the machine a later one was decided
// before only because of that race. A clock that was given is asked again: it may
// have stepped back.
func (s *shard) time(m *Memory, now int64) int64 {
	if m.now != nil {
		now = m.now()
	} else {
		now = max(s.last, now)
	}
	s.clock(now)
	return now
}

// allowed notes what allow did. A log that drops its hits late is brought to the time
// by every charge that is noted.
func (s *shard) allowed(h Name, p *limit.Params, cost int64, ok bool) {
	if ok {
		s.seq++
		s.log.charge(h, p, cost, 0, s.seq, chargePlain, nil)
	}
}

// allow admits cost to the log r, or refuses it, if that needs no other ring and
// no mending of the clock; otherwise it changes nothing and reports done false.
// until is when a refused cost fits.
func (s *shard) allow(r *record, p *limit.Params, now, cost int64, lazy bool) (ok, done bool, until int64) {
	switch {
	case r == nil:
		return false, false, 0
	case p.Size <= math.MaxUint32 && r.kind() == kindShortLog:
		if lazy && cost == 1 && s.pushShort(r, p, now) {
			return true, true, 0
		}
		var l window.Log[uint32]
		s.loadShort(&l, r)
		if ok, done, until = allowLog(&l, p, now, cost, lazy); done {
			s.saveShort(&l, r)
		}
	case p.Size > math.MaxUint32 && r.kind() == kindLongLog:
		var l window.Log[uint64]
		loadLog(&l, r, s.long.block(r.ref))
		if ok, done, until = allowLog(&l, p, now, cost, lazy); done {
			r.saveLog(l.Newest, l.Head, l.Len)
		}
	}
	if ok {
		r.exp = later(now, p.Size)
	}
	return ok, done, until
}

// young reports whether the newest hit of a log is in the window, and none is nearly
// too old to be told from new ones. As long as the first was so at every push, each
// hit is less than a window older than the next.
func young[S window.Stamp](l *window.Log[S], p *limit.Params, now int64) bool {
	const old = math.MaxUint32 / 2
	return l.Len > 0 && now-l.Newest < p.Size && (uint64(l.Len)*uint64(p.Size) < old || l.Age(0, now) < old)
}

// allowLog is allow for one log. Where lazy is set, which takes a clock that does
// not step back, hits that have left the window are dropped when their places are
// needed, or when they are nearly too old to be told from new ones.
func allowLog[S window.Stamp](l *window.Log[S], p *limit.Params, now, cost int64, lazy bool) (ok, done bool, until int64) {
	if l.Newest > now {
		return false, false, 0
	}
	if room := int64(len(l.Ring)) + 1; !lazy || int64(l.Len)+cost > min(p.Max, room) || !young(l, p, now) {
		l.Drop(l.Expired(now, uint64(p.Size)))
	}
	if over := int64(l.Len) + cost - p.Max; over > 0 {
		if cost <= p.Max { // else it never fits
			until = later(now, p.Size-int64(l.Age(uint32(over)-1, now)))
		}
		return false, true, until
	}
	if !fits(int(l.Len)+int(cost)-1, len(l.Ring)) {
		return false, false, 0
	}
	l.Push(now, uint32(cost))
	return true, true, 0
}
