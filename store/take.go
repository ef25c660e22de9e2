package store

import (
	"fmt"
	"math"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/window"
	"github.com/zeebo/xxh3"
)

// Take is Decide for one window and key, without a receipt. It allocates
// nothing, but for growth. full says that there was no room for a new key.
func (m *Memory) Take(w *Window, p *limit.Params, key string, cost int64) (r limit.Result, full bool, err error) {
	if cost < 0 {
		return r, false, fmt.Errorf("%w: %d", ErrCost, cost)
	}
	if m.closed.Load() {
		return r, false, fmt.Errorf("store: %w", slidegate.ErrClosed)
	}
	x := xxh3.HashString128Seed(key, m.seed)
	h := mix(name{x.Hi, x.Lo}, w)
	s := m.shardOf(h)
	s.mu.Lock()
	now := m.Now()
	rec := s.find(h)
	s.judge(rec, p, now, cost, cost == 0, &r)
	if cost > 0 {
		if r.OK {
			full = !m.takeOne(s, rec, p, h, now, cost, &r)
		} else {
			s.enter(rec, p, now)
		}
	}
	m.tend(s, now)
	s.mu.Unlock()
	return r, full, nil
}

// takeOne charges a cost that fits, if there is room for it.
func (m *Memory) takeOne(s *shard, rec *record, p *limit.Params, h name, now, cost int64, r *limit.Result) bool {
	if !m.take(s.need(rec, p, now, cost)) {
		m.sweepShard(s, now, 4*chunkLen)
		rec = s.find(h) // records move; this one may have expired itself
		if !m.take(s.need(rec, p, now, cost)) {
			m.full.Add(1)
			r.OK = false
			return false
		}
	}
	rec = s.open(rec, h, p)
	s.seq++
	s.charge(rec, p, now, cost, false)
	s.charged(rec, p, now, r)
	return true
}

// Allow is Take for those who want to know only whether the cost was admitted.
// For sliding logs it computes nothing else. A negative cost is refused, and so
// is everything once the store is closed.
func (m *Memory) Allow(w *Window, p *limit.Params, key string, cost int64) (ok, full bool) {
	if cost <= 0 || p.Algorithm != limit.SlidingLog {
		r, full, err := m.Take(w, p, key, cost)
		return err == nil && r.OK, full
	}
	if m.closed.Load() {
		return false, false
	}
	x := xxh3.HashString128Seed(key, m.seed)
	h := mix(name{x.Hi, x.Lo}, w)
	s := m.shardOf(h)
	s.mu.Lock()
	now := m.Now()
	rec := s.find(h)
	ok, done := s.allow(rec, p, now, cost)
	if !done {
		var r limit.Result
		s.judge(rec, p, now, cost, false, &r)
		if r.OK {
			full = !m.takeOne(s, rec, p, h, now, cost, &r)
		}
		ok = r.OK
	}
	if !done || s.due(now) {
		m.tend(s, now)
	}
	s.mu.Unlock()
	return ok, full
}

// allow admits cost to the log r, or refuses it, if that needs no other ring and
// no mending of the clock; otherwise it changes nothing and reports done false.
func (s *shard) allow(r *record, p *limit.Params, now, cost int64) (ok, done bool) {
	switch {
	case r == nil:
		return false, false
	case p.Size <= math.MaxUint32 && r.kind() == kindShortLog:
		return allowLog(r, &s.short, p, now, cost)
	case p.Size > math.MaxUint32 && r.kind() == kindLongLog:
		return allowLog(r, &s.long, p, now, cost)
	}
	return false, false
}

func allowLog[S window.Stamp](r *record, a *arena[S], p *limit.Params, now, cost int64) (ok, done bool) {
	var l window.Log[S]
	loadLog(&l, r, a.block(r.ref))
	if l.Newest > now {
		return false, false
	}
	dead := l.Expired(now, uint64(p.Size))
	if cost > p.Max-int64(l.Len-dead) {
		if dead > 0 {
			l.Drop(dead)
			r.saveLog(l.Newest, l.Head, l.Len)
		}
		return false, true
	}
	need := int(l.Len-dead) + int(cost) - 1
	if !fits(need, len(l.Ring)) {
		return false, false
	}
	l.Drop(dead)
	l.Push(now, uint32(cost))
	r.saveLog(l.Newest, l.Head, l.Len)
	r.exp = later(now, p.Size)
	return true, true
}
