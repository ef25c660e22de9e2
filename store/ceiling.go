package store

import (
	"time"

	"github.com/slidegate/slidegate/limit"
)

// need returns how many keys and bytes letting an item in adds.
func (m *Memory) need(it *Item, now int64) (keys, bytes int64) {
	if it.Hold != nil {
		bytes = heldBytes + holdBytes
	}
	if it.Reported {
		return 0, bytes
	}
	k, b := m.chargeNeeds(it, now)
	return k, bytes + b
}

// chargeNeeds returns how many keys and bytes charging an item adds.
func (m *Memory) chargeNeeds(it *Item, now int64) (keys, bytes int64) {
	s := m.shardOf(it.Name)
	if it.Limit.Algorithm == limit.Distinct {
		return s.need(it.record, it.Limit, now, int64(it.brings()))
	}
	return s.need(it.record, it.Limit, now, it.Cost)
}

// reserve takes the room for everything that will be charged, but for shadows. It
// reports false at the ceiling.
func (m *Memory) reserve(req *Request, now int64) bool {
	for try := range 2 {
		var keys, bytes int64
		for i := range req.Items {
			if it := &req.Items[i]; !it.Shadow && !it.looks() && it.Result.OK && it.sketch == nil {
				k, b := m.need(it, now)
				keys, bytes = keys+k, bytes+b
			}
		}
		if m.take(keys, bytes) {
			return true
		}
		if try == 0 {
			m.makeRoom(req, now)
		}
	}
	return false
}

// makeRoom sweeps the shards of a request: perhaps neighbours have expired.
// Records move then, so they are looked up again.
func (m *Memory) makeRoom(req *Request, now int64) {
	for _, n := range req.locks {
		m.sweepShard(&m.shards[n], now, 4*chunkLen)
	}
	for i := range req.Items {
		it := &req.Items[i]
		it.record = m.shardOf(it.Name).find(it.Name)
	}
}

// take takes keys, if they and the bytes fit under the ceiling.
func (m *Memory) take(keys, bytes int64) bool {
	if bytes > 0 && m.bytes.Load()+bytes > m.maxBytes {
		return false
	}
	if keys > 0 && m.keys.Add(keys) > m.maxKeys {
		m.keys.Add(-keys)
		return false
	}
	return true
}

// tend tells the store what a shard holds, if it may hold more or less than before,
// and sweeps a little once a second.
func (m *Memory) tend(s *shard, now int64, changed bool) {
	if changed {
		m.account(s)
	}
	if s.due(now) && m.sweepShard(s, now, 16) {
		s.sweepAt = now + sweepRound
	}
}

// sweepRound is the time between two rounds of sweeping a shard, in
// microseconds.
const sweepRound = 1_000_000

// due reports whether it is time to sweep s; also when the clock stepped back.
func (s *shard) due(now int64) bool { return now >= s.sweepAt || s.sweepAt-now > sweepRound }

// account tells the store how many bytes a shard holds now.
func (m *Memory) account(s *shard) {
	if b := s.bytes(); b != s.told {
		m.bytes.Add(b - s.told)
		s.told = b
	}
}

// sweepShard sweeps up to k records of s, whose lock is held.
func (m *Memory) sweepShard(s *shard, now int64, k int) (done bool) {
	removed, done := s.sweep(now, k)
	if removed > 0 {
		m.keys.Add(-int64(removed))
		m.swept.Add(int64(removed))
	}
	if done && len(s.refunded)+len(s.resets) > 0 {
		s.forget(now, forgetInRound)
	}
	if done && len(s.held)+len(s.locks) > 0 {
		s.lapse(now, forgetInRound)
	}
	m.account(s)
	return done
}

func (m *Memory) sweeper(every time.Duration) {
	defer m.stopped.Done()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-tick.C:
			m.Sweep()
		}
	}
}

// Sweep deletes every key that has expired. It holds the lock of one shard at
// a time, for a few hundred keys at most, so it stops nobody for long. The
// store calls it by itself; see MemoryOptions.SweepEvery.
func (m *Memory) Sweep() {
	const atOnce = 4 * chunkLen
	m.sketches.drop(m.Now())
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		s.cursor = 0 // wherever the last sweep stopped
		left := s.n
		s.mu.Unlock()
		for done := false; !done && left >= 0; left -= atOnce {
			s.mu.Lock()
			s.clock(m.Now())
			done = m.sweepShard(s, s.last, atOnce)
			m.unlockOne(s)
		}
	}
}
