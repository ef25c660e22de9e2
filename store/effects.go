package store

import (
	"encoding/binary"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/window"
)

// Effects is where a store in memory writes down what it changes, so that another can
// be brought to the same state; see [Loader] and package journal. It is safe for
// concurrent use.
type Effects interface {
	// Append takes one record: all that one call changed, in its own form. It is called
	// under the locks of what was changed, must not wait, and keeps nothing of record.
	// The numbers that it returns go up by one from record to record.
	Append(record []byte) (number uint64)
	// Wait returns when a record, and so all before it, is as safe as it is to be. An
	// error says that it is not; the change has been made all the same.
	Wait(number uint64) error
}

// effect is one change of one window of one key, or of a shard.
type effect byte

const (
	effectCharge  effect = iota + 1 // a window is charged
	effectEnter                     // a window of events saw a check that was refused
	effectAdvance                   // a window was brought to the time, and lost something by that
	effectHold                      // something is held until it is settled
	effectUnhold                    // it was settled
	effectLapse                     // it was not, in time
	effectReset                     // a window and what is held of it is gone, and receipts are void
	effectClear                     // a row of reports is broken
	effectRefund                    // a charge is given back
	effectRenew                     // places in flight are taken again
	effectChange                    // a charge comes to another amount
	effectLock                      // how a lock stands
	effectUnlock                    // it is forgotten
	effectSwept                     // a window expired
	effectLost                      // numbers of charges that nobody remembers
)

// Flags of effects.
const (
	chargeRecord = 1 // whatever fits
	chargePlain  = 2 // by Take, which does not queue

	holdCharges = 1
	holdRelease = 2

	changeParams = 1
	refundSteps  = 1
)

// shardLog gathers what one call changes in a shard. A record is made of the blocks of
// shards:
//
//	block  = shard(1) time(8) length(4) effect …
//	effect = kind(1) window and key(16) …       numbers as varints, see docs/format/journal.md
type shardLog struct {
	buf  []byte
	now  int64 // of the call
	high int64 // the latest time of all calls
	id   byte  // number of the shard
}

const blockHead = 1 + 8 + 4

// clock notes the time of a call.
func (s *shard) clock(now int64) {
	s.last = now
	if l := s.log; l != nil {
		l.now, l.high = now, max(l.high, now)
	}
}

// add begins an effect.
func (l *shardLog) add(e effect, n Name) {
	if len(l.buf) == 0 {
		l.buf = append(l.buf, l.id)
		l.buf = binary.LittleEndian.AppendUint64(l.buf, uint64(l.now))
		l.buf = append(l.buf, 0, 0, 0, 0)
	}
	l.buf = appendName(append(l.buf, byte(e)), n)
}

func appendName(b []byte, n Name) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, n.Hi), n.Lo)
}

func (l *shardLog) number(n uint64) { l.buf = binary.AppendUvarint(l.buf, n) }
func (l *shardLog) signed(n int64)  { l.buf = binary.AppendVarint(l.buf, n) }
func (l *shardLog) flags(f byte)    { l.buf = append(l.buf, f) }

func (l *shardLog) text(b []byte) {
	l.number(uint64(len(b)))
	l.buf = append(l.buf, b...)
}

// params writes what is not 0 of the parameters. Of a calendar it writes the period of
// now, which is the only one that a charge asks for.
func (l *shardLog) params(p *limit.Params) {
	l.buf = append(l.buf, byte(p.Algorithm), 0)
	at := len(l.buf) - 1
	for i, v := range paramFields(p) {
		if *v != 0 {
			l.buf[at] |= 1 << i
			l.signed(*v)
		}
	}
	if p.Periods != nil {
		l.buf[at] |= paramPeriods
		start, end := p.Periods.Period(l.now)
		l.signed(start)
		l.signed(end)
	}
}

const paramPeriods = 1 << 7

func paramFields(p *limit.Params) [7]*int64 {
	return [...]*int64{&p.Max, &p.Size, &p.Burst, &p.Reach, &p.Wait, &p.Step, &p.Buckets}
}

// charge notes what chargeItem is about to do.
func (l *shardLog) charge(n Name, p *limit.Params, cost, wait int64, seq uint64, flags byte, given []window.Hash) {
	l.add(effectCharge, n)
	l.flags(flags)
	l.params(p)
	l.number(uint64(cost))
	l.number(uint64(wait))
	l.number(seq)
	if p.Algorithm != limit.Distinct {
		return
	}
	l.number(uint64(len(given)))
	for _, h := range given {
		l.buf = appendName(l.buf, Name{h.Hi, h.Lo})
	}
}

// window notes an effect that needs only the parameters of a window.
func (l *shardLog) window(e effect, n Name, p *limit.Params) {
	l.add(e, n)
	l.params(p)
}

func (l *shardLog) hold(n Name, h *held, x *hold, amount int64) {
	l.add(effectHold, n)
	var f byte
	if h.charges {
		f |= holdCharges
	}
	if h.release {
		f |= holdRelease
	}
	l.flags(f)
	l.number(x.seq)
	l.signed(x.at)
	l.signed(x.until)
	l.signed(x.gone)
	l.signed(x.stamp)
	l.number(uint64(amount))
}

func (l *shardLog) unhold(n Name, seq uint64) {
	l.add(effectUnhold, n)
	l.number(seq)
}

func (l *shardLog) receipt(e effect, r *slidegate.Receipt, flags byte) {
	l.add(e, NameOf(r))
	l.flags(flags)
	l.flags(byte(r.Kind))
	l.signed(r.Stamp)
	l.number(uint64(r.Amount))
	l.number(r.Seq)
}

func (l *shardLog) refund(r *slidegate.Receipt, steps bool) {
	var f byte
	if steps {
		f = refundSteps
	}
	l.receipt(effectRefund, r, f)
}

func (l *shardLog) renew(n Name, units uint32, size int64, seq uint64) {
	l.add(effectRenew, n)
	l.number(uint64(units))
	l.signed(size)
	l.number(seq)
}

func (l *shardLog) change(r *slidegate.Receipt, p *limit.Params, amount int64) {
	if p == nil {
		l.receipt(effectChange, r, 0)
		return
	}
	l.receipt(effectChange, r, changeParams)
	l.params(p)
	l.number(uint64(amount))
}

func (l *shardLog) lock(n Name, x *locked) {
	l.add(effectLock, n)
	l.text([]byte(x.window.id))
	l.text(x.key)
	l.signed(x.since)
	l.signed(x.until)
	l.signed(x.gone)
	l.number(uint64(x.times))
}

func (l *shardLog) lost(x span) {
	l.add(effectLost, Name{})
	l.number(x.after)
	l.number(x.to)
}

// block ends the block of a shard and returns it; nil if nothing was changed.
func (l *shardLog) block() []byte {
	if len(l.buf) == 0 {
		return nil
	}
	binary.LittleEndian.PutUint32(l.buf[blockHead-4:], uint32(len(l.buf)-blockHead))
	return l.buf
}

// forget makes room for the next call.
func (l *shardLog) forget() {
	if cap(l.buf) > 1<<16 {
		l.buf = nil
	}
	l.buf = l.buf[:0]
}

// unlock writes down what was changed under the locks, and gives them back. It returns
// the number of the record; 0 if nothing was changed.
func (m *Memory) unlock(locks []uint32) (number uint64) {
	if m.effects != nil {
		number = m.commit(locks)
	}
	for _, n := range locks {
		m.shards[n].mu.Unlock()
	}
	return number
}

func (m *Memory) commit(locks []uint32) uint64 {
	var first *shardLog
	for _, n := range locks {
		l := m.shards[n].log
		b := l.block()
		switch {
		case b == nil:
		case first == nil:
			first = l
		default:
			first.buf = append(first.buf, b...)
			l.forget()
		}
	}
	if first == nil {
		return 0
	}
	number := m.effects.Append(first.buf)
	first.forget()
	return number
}

// unlockOne is unlock for one shard.
func (m *Memory) unlockOne(s *shard) (number uint64) {
	if m.effects != nil {
		if b := s.log.block(); b != nil {
			number = m.effects.Append(b)
			s.log.forget()
		}
	}
	s.mu.Unlock()
	return number
}

// settled waits until a record is safe, if the store promises that.
func (m *Memory) settled(number uint64) error {
	if number == 0 {
		return nil
	}
	return m.effects.Wait(number)
}

// judgeNoted is judgeItem that remembers whether it changed anything but the answer.
func (s *shard) judgeNoted(it *Item, now, most int64, look bool, out *limit.Result) {
	if s.log != nil && !look && it.record != nil {
		s.judgeLogged(it, now, most, out)
	} else {
		s.judgeItem(it, it.record, now, most, look, out)
	}
}

// judgeLogged is apart because a copy of a record in its frame would cost every check.
func (s *shard) judgeLogged(it *Item, now, most int64, out *limit.Result) {
	r := it.record
	before := *r
	s.judgeItem(it, r, now, most, false, out)
	it.moved = r.moved(&before) || now < s.log.high
}

// moved reports whether the state is another than before. Of what lies in a block it
// sees only that something was dropped.
func (r *record) moved(before *record) bool {
	return r.t != before.t || r.x != before.x || r.ref != before.ref || r.aux != before.aux ||
		r.exp != before.exp && r.kind() != kindMarks // entering these says so
}

// passed notes what judging did to a window that is not charged.
func (s *shard) passed(it *Item) {
	if it.moved && it.record != nil && it.record.is(it.Limit) {
		s.log.window(effectAdvance, it.Name, it.Limit)
	}
	it.moved = false
}
