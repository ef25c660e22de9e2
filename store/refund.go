package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
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
		locks = addLock(locks, shardNumber(r.Window))
	}
	m.lock(locks)
	defer m.unlock(locks)
	now := m.Now()
	given := false
	for _, r := range receipts {
		s := m.shardOf(r.Window)
		given = s.giveBack(r, now) || given
		m.account(s)
	}
	return given, nil
}

// giveBack refunds one receipt, unless that was done or its window is gone.
func (s *shard) giveBack(r slidegate.Receipt, now int64) bool {
	rec := s.find(r.Window)
	if rec == nil || r.Seq > s.seq || r.Seq <= s.resets[r.Window].seq {
		return false
	}
	if _, done := s.refunded[r.Seq]; done {
		return false
	}
	if s.refunded == nil {
		s.refunded = map[uint64]int64{}
	}
	s.refunded[r.Seq] = rec.exp
	return s.refund(rec, now, limit.Charged{Stamp: r.Stamp, Amount: r.Amount})
}

// Reset implements [Store].
func (m *Memory) Reset(ctx context.Context, items []Item) error {
	req := Request{Items: items}
	if err := errors.Join(ctx.Err(), m.prepare(&req)); err != nil {
		return err
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
		s.resets = map[[2]uint64]tombmark{}
	}
	s.resets[rec.hash] = tombmark{seq: s.seq, exp: rec.exp}
}
