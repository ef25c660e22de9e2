package store

import (
	"bytes"
	"context"
	"errors"

	"github.com/slidegate/slidegate/limit"
)

// locked is what is known of the locks of one window of one key.
type locked struct {
	window *Window
	key    []byte
	since  int64
	until  int64
	gone   int64 // when it is forgotten
	times  int
}

// pull moves a lock that began later than now to now, as after a clock that stepped
// back.
func (l *locked) pull(now int64) (pulled bool) {
	back := l.since - now
	if back <= 0 {
		return false
	}
	l.since, l.until, l.gone = now, l.until-back, l.gone-back
	return true
}

// pullLock pulls a lock and notes it.
func (s *shard) pullLock(name Name, l *locked, now int64) {
	if l.pull(now) && s.log != nil {
		s.log.lock(name, l)
	}
}

// lockedFor returns for how long the key of an item is locked from now on.
func (s *shard) lockedFor(it *Item, now int64) int64 {
	it.LockedNow, it.Times = false, 0
	if it.Lock == nil {
		return 0
	}
	l := s.locks[it.Name]
	if l == nil {
		return 0
	}
	if s.pullLock(it.Name, l, now); l.until <= now {
		return 0
	}
	it.Times = l.times
	return l.until - now
}

// lockFull locks the keys of a refused request whose windows are full.
func (m *Memory) lockFull(req *Request, now int64) {
	for i := range req.Items {
		it := &req.Items[i]
		if it.Lock == nil || it.Locked > 0 || !it.decides() || it.looks() {
			continue
		}
		if it.Reported && it.full || !it.Reported && !it.Result.OK {
			m.lockKey(it, now)
		}
	}
}

// lockKey locks the key of an item, if there is room to remember it. Otherwise its
// window stays as full as it is.
func (m *Memory) lockKey(it *Item, now int64) {
	if m.overfull() {
		m.full.Add(1)
		return
	}
	s := m.shardOf(it.Name)
	l := s.locks[it.Name]
	switch {
	case l == nil:
		l = &locked{window: it.Window, key: bytes.Clone(it.Key)}
		if s.locks == nil {
			s.locks = map[Name]*locked{}
		}
		s.locks[it.Name] = l
		s.lockKeys += len(l.key)
	case l.gone <= now:
		l.times = 0
	}
	lasts := it.Lock.Lasts[min(l.times, len(it.Lock.Lasts)-1)]
	l.times++
	l.since, l.until = now, later(now, lasts)
	l.gone = later(l.until, it.Lock.Forget)
	if s.log != nil {
		s.log.lock(it.Name, l)
	}
	m.empty(s, it, now)
	it.Locked, it.LockedNow, it.Times = lasts, true, l.times
	it.Result.OK, it.Result.Retry = false, max(it.Result.Retry, lasts)
	m.account(s)
}

// empty empties the windows that the lock of an item does.
func (m *Memory) empty(s *shard, it *Item, now int64) {
	key := mix(it.Name, it.Window) // once more takes it out
	for _, w := range it.Lock.Empties {
		m.reset(s, mix(key, w), now)
	}
	m.voided.Add(1)
}

// Locks implements [Store].
func (m *Memory) Locks(ctx context.Context) ([]Locked, error) {
	var all []Locked
	var last uint64
	for i := range m.shards {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		locks := []uint32{uint32(i)}
		if err := m.lock(locks); err != nil {
			return nil, err
		}
		s, now := &m.shards[i], m.timeOf(locks)
		for name, l := range s.locks {
			if s.pullLock(name, l, now); l.gone > now {
				all = append(all, Locked{Window: l.window.id, Key: bytes.Clone(l.key), Since: l.since, Until: l.until, Times: l.times})
			}
		}
		last = max(last, m.unlock(locks))
	}
	return all, m.settled(last)
}

// Unlock implements [Store].
func (m *Memory) Unlock(ctx context.Context, items []Item) (ended int, err error) {
	req := Request{Items: items}
	if err := errors.Join(ctx.Err(), m.prepare(&req)); err != nil {
		return 0, err
	}
	if err := m.lock(req.locks); err != nil {
		return 0, err
	}
	now := m.timeOf(req.locks)
	for i := range items {
		it := &items[i]
		s := m.shardOf(it.Name)
		if s.lockedFor(it, now) > 0 {
			ended++
		}
		if s.locks[it.Name] == nil {
			continue
		}
		s.dropLock(it.Name)
		m.empty(s, it, now)
		m.account(s)
	}
	return ended, m.settled(m.unlock(req.locks))
}

func (s *shard) dropLock(name Name) {
	if s.log != nil {
		s.log.add(effectUnlock, name)
	}
	s.lockKeys -= len(s.locks[name].key)
	delete(s.locks, name)
}

// tracked reports whether something of an item may be held or locked.
func (it *Item) tracked() bool { return it.Reported || it.Hold != nil || it.Lock != nil }

// fit reports what is wrong with what an item says of holds and locks.
func (it *Item) unfit() bool {
	return it.Reported && (it.Limit.Algorithm == limit.Inflight || it.Limit.Algorithm == limit.Events || it.Limit.Wait > 0) ||
		it.Hold != nil && it.Hold.For < 1 || it.Lock != nil && len(it.Lock.Lasts) == 0
}
