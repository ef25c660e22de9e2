package store

import (
	"fmt"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
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
	h := mix([2]uint64{x.Hi, x.Lo}, w)
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
func (m *Memory) takeOne(s *shard, rec *record, p *limit.Params, h [2]uint64, now, cost int64, r *limit.Result) bool {
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
