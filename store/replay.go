package store

import (
	"math"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
)

// Loader brings a store to the state of another: first by the parts of one Dump, in
// their order, then by the records that its Effects were given, in theirs. It changes
// what Effects name with the very code that changed it the first time, at the time that
// was read then. It is not safe for concurrent use.
type Loader struct {
	m       *Memory
	options MemoryOptions
	begun   bool               // the head was loaded
	shards  int                // how many were loaded whole
	inShard bool               // the next is in parts
	upTo    [shardCount]uint64 // the last record that each shard has seen
	latest  int64
	counts  shardCounts // of the shard that is in parts
}

// NewLoader returns a loader for a store with these options, which is empty as yet.
func NewLoader(o MemoryOptions) (*Loader, error) {
	m, err := NewMemory(MemoryOptions{Now: o.Now, MaxKeys: o.MaxKeys, MaxBytes: o.MaxBytes, SketchBytes: -1, SweepEvery: -1})
	if err != nil {
		return nil, err
	}
	return &Loader{m: m, options: o, latest: math.MinInt64}, nil
}

// Record repeats what one record says, for the shards that had not seen it when they
// were dumped. The error wraps ErrDamaged.
func (l *Loader) Record(number uint64, record []byte) error {
	r := reader{b: record}
	for r.more() {
		id := r.byte()
		s := &l.m.shards[id]
		now := int64(r.fixed())
		block := reader{b: r.take(int(r.fixed32()))}
		if r.err != nil {
			return r.err
		}
		if l.latest = max(l.latest, now); number <= l.upTo[id] {
			continue
		}
		for block.more() {
			l.m.repeat(s, &block, now)
		}
		if block.err != nil {
			return block.err
		}
	}
	return r.err
}

// Start returns the store, on the clock and with the sweeper of its options. It tells e,
// unless that is nil, what it changes from now on. After a loss, some charges that were
// answered are not in the state: receipts of theirs are void, and their numbers are
// never given again. The record says so and is to be kept before any that e is given.
func (l *Loader) Start(e Effects, loss bool) (m *Memory, record []byte) {
	m = l.m
	m.loaded = l.latest
	var keys int64
	for i := range m.shards {
		s := &m.shards[i]
		keys += int64(s.n)
		log := &shardLog{id: byte(i), now: l.latest, high: l.latest}
		if loss {
			x := span{after: s.seq, to: s.seq + lossGap}
			s.lose(x)
			log.lost(x)
			record = append(record, log.block()...)
			log.forget()
		}
		if e != nil {
			s.log = log
		}
		m.account(s)
	}
	m.keys.Store(keys)
	m.swept.Store(0)
	m.effects = e
	m.start(l.options.SweepEvery)
	return m, record
}

// span is a range of numbers of charges: over after, up to to.
type span struct{ after, to uint64 }

const (
	// lossGap is more than a shard charges between two snapshots.
	lossGap = 1 << 36
	// maxLost is how many losses a shard keeps apart. Of more, the two oldest become
	// one, with the charges between them.
	maxLost = 16
)

// lose leaves out numbers.
func (s *shard) lose(x span) {
	s.seq = x.to
	s.lost = append(s.lost, x)
	if len(s.lost) > maxLost {
		s.lost[1].after = s.lost[0].after
		s.lost = append(s.lost[:0], s.lost[1:]...)
	}
}

// isLost reports whether a charge was not kept.
func (s *shard) isLost(seq uint64) bool {
	for _, x := range s.lost {
		if seq > x.after && seq <= x.to {
			return true
		}
	}
	return false
}

// repeat makes one change again. What it reads may be anything.
func (m *Memory) repeat(s *shard, r *reader, now int64) {
	e, n := effect(r.byte()), r.name()
	switch e {
	case effectCharge:
		s.chargeAgain(r, n, now)
	case effectEnter, effectAdvance:
		s.judgeAgain(r, n, now, e == effectEnter)
	case effectHold, effectUnhold, effectLapse:
		s.holdAgain(r, e, n, now)
	case effectReset:
		m.reset(s, n, now)
	case effectClear:
		m.clear(s, n, now)
	case effectRefund, effectChange:
		s.refundAgain(r, e, n, now)
	case effectRenew:
		s.renewAgain(r, n, now)
	case effectLock:
		if x := r.lock(); r.err == nil {
			s.setLock(n, x)
		}
	case effectUnlock:
		if s.locks[n] != nil {
			s.dropLock(n)
		}
	case effectSwept:
		if id, rec := s.lookup(n); rec != nil {
			s.remove(id)
		}
	case effectLost:
		x := span{after: r.amountSeq(), to: r.amountSeq()}
		if x.after != s.seq || x.to < x.after {
			r.failf("lost numbers %d to %d after %d", x.after, x.to, s.seq)
			return
		}
		s.lose(x)
	default:
		r.failf("unknown effect %d", e)
	}
}

func (s *shard) chargeAgain(r *reader, n Name, now int64) {
	it, flags, wait, seq := r.charge(n)
	if r.err != nil {
		return
	}
	rec := s.find(n)
	it.record = rec
	s.judgeItem(&it, rec, now, limit.MaxSize, false, &it.Result)
	if !it.Result.OK && it.Limit.Algorithm == limit.Inflight {
		r.failf("%d places in flight do not fit", it.Cost)
		return
	}
	record := flags&chargeRecord != 0 || !it.Result.OK
	it.record = s.open(rec, n, it.Limit)
	s.seq = max(s.seq, seq)
	if flags&chargePlain != 0 && it.Limit.Algorithm != limit.Distinct {
		s.charge(it.record, it.Limit, now, it.Cost, record)
	} else {
		s.chargeItem(&it, now, wait, record)
	}
	s.charged(it.record, it.Limit, now, &it.Result)
}

func (s *shard) judgeAgain(r *reader, n Name, now int64, enter bool) {
	p := r.params()
	rec := s.find(n)
	if r.err != nil || rec == nil || !rec.is(p) {
		return
	}
	it := Item{Name: n, Limit: p, Cost: 1}
	s.judgeItem(&it, rec, now, limit.MaxSize, false, &it.Result)
	if enter {
		s.enter(rec, n, p, now)
	}
}

func (s *shard) holdAgain(r *reader, e effect, n Name, now int64) {
	switch e {
	case effectHold:
		flags := r.byte()
		x, amount := r.hold()
		if h := s.held[n]; h != nil && x.seq <= h.list[len(h.list)-1].seq {
			r.failf("hold %d comes after a later one", x.seq)
		}
		if r.err == nil {
			s.seq = max(s.seq, x.seq)
			s.addHold(n, x, amount, flags&holdCharges != 0, flags&holdRelease != 0)
		}
	case effectUnhold:
		seq := r.number()
		if h := s.held[n]; h != nil {
			if i, found := h.find(seq); found {
				s.take(n, h, i)
			}
		}
	default:
		s.holdsOf(n, now)
	}
}

func (s *shard) refundAgain(r *reader, e effect, n Name, now int64) {
	c, flags := r.receipt(n)
	if e == effectChange {
		var p *limit.Params
		var amount int64
		if flags&changeParams != 0 {
			p = r.params()
			amount = r.amount("amount", math.MaxInt64)
		}
		if r.err == nil {
			s.change(&c, p, amount, now)
		}
		return
	}
	rec := s.find(n)
	switch {
	case r.err != nil || rec == nil:
	case c.Kind >= slidegate.Unsettled:
		s.refund(rec, now, limit.Charged{Stamp: c.Stamp, Amount: c.Amount}, c.Seq)
	default:
		s.giveCharge(rec, &c, now, flags&refundSteps != 0)
	}
}

func (s *shard) renewAgain(r *reader, n Name, now int64) {
	units, size, seq := r.amount("places", limit.MaxLog), r.signed(), r.amountSeq()
	rec := s.find(n)
	if r.err != nil || rec == nil || rec.kind() != kindHolders {
		return
	}
	var h limit.Holders
	loadLog(&h.Log, rec, s.long.block(rec.ref))
	if h.Need(uint32(units)) > len(h.Ring) {
		r.failf("%d places are taken again, of %d", units, h.Len)
		return
	}
	s.takeAgain(rec, now, uint32(units), size)
	s.seq = max(s.seq, seq)
}

// setLock notes how a lock stands.
func (s *shard) setLock(n Name, l *locked) {
	if old := s.locks[n]; old != nil {
		s.lockKeys -= len(old.key)
	}
	if s.locks == nil {
		s.locks = map[Name]*locked{}
	}
	s.locks[n] = l
	s.lockKeys += len(l.key)
}
