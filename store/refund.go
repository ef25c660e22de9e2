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
func (m *Memory) Refund(ctx context.Context, receipts []slidegate.Receipt) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if m.closed.Load() {
		return false, fmt.Errorf("store: %w", slidegate.ErrClosed)
	}
	if len(receipts) == 0 {
		return false, nil
	}
	if m.bytes.Load() > m.maxBytes {
		return false, ErrFull
	}
	var locks []uint32
	for _, r := range receipts {
		locks = addLock(locks, shardNumber(windowName(r)))
	}
	m.lock(locks)
	defer m.unlock(locks)
	now := m.Now()
	given := false
	for _, r := range receipts {
		s := m.shardOf(windowName(r))
		given = s.giveBack(r, now) || given
		m.account(s)
	}
	return given, nil
}

// windowName returns the window and key that a receipt is for.
func windowName(r slidegate.Receipt) name { return name{r.Window[0], r.Window[1]} }

// giveBack refunds one receipt, unless that was done or its window is gone.
func (s *shard) giveBack(r slidegate.Receipt, now int64) bool {
	rec := s.find(windowName(r))
	if rec == nil || r.Seq > s.seq || r.Seq <= s.resets[windowName(r)].seq {
		return false
	}
	if _, done := s.refunded[r.Seq]; done {
		return false
	}
	exp, c := rec.exp, limit.Charged{Stamp: r.Stamp, Amount: r.Amount}
	given := s.refund(rec, now, c)
	if given && s.again(rec, now, c) {
		if s.refunded == nil {
			s.refunded = map[uint64]int64{}
		}
		s.refunded[r.Seq] = exp
	}
	return given
}

// again reports whether the same refund would find something a second time, so
// that it must be remembered. Hits of a log are found by their stamp, of which
// there is mostly one; marks of events have numbers of their own.
func (s *shard) again(r *record, now int64, c limit.Charged) bool {
	switch r.kind() {
	case kindShortLog:
		return logHas(r, &s.short, now, c.Stamp)
	case kindLongLog:
		return logHas(r, &s.long, now, c.Stamp)
	case kindMarks:
		return false
	default:
		return true
	}
}

func logHas[S window.Stamp](r *record, a *arena[S], now, stamp int64) bool {
	if stamp >= now {
		return true // a hit may still come at this microsecond
	}
	var l window.Log[S]
	loadLog(&l, r, a.block(r.ref))
	return l.Has(stamp)
}

// Reset implements [Store].
func (m *Memory) Reset(ctx context.Context, items []Item) error {
	req := Request{Items: items}
	if err := errors.Join(ctx.Err(), m.prepare(&req)); err != nil {
		return err
	}
	if m.bytes.Load() > m.maxBytes {
		return ErrFull // there is no room to remember that earlier receipts are void
	}
	m.lock(req.locks)
	defer m.unlock(req.locks)
	for i := range items {
		s := m.shardOf(items[i].hash)
		if id, rec := s.lookup(items[i].hash); rec != nil {
			s.reset(id, rec)
			m.keys.Add(-1)
			m.account(s)
		}
	}
	return nil
}

// reset deletes a record, and remembers that its receipts are void.
func (s *shard) reset(id int, rec *record) {
	s.void(rec)
	s.remove(id)
}

func (s *shard) void(rec *record) {
	if s.resets == nil {
		s.resets = map[name]tombmark{}
	}
	s.resets[rec.hash] = tombmark{seq: s.seq, exp: rec.exp}
}
