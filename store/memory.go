package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/window"
	"github.com/zeebo/xxh3"
)

// Defaults of [MemoryOptions].
const (
	DefaultMaxKeys  = 10_000_000
	DefaultMaxBytes = 1 << 30
)

// MemoryOptions tune a store in memory. The zero value is ready for use.
type MemoryOptions struct {
	// Now is the clock, in microseconds since the epoch. nil means the wall
	// clock at the start of the store, moved on by the monotonic clock: steps
	// of the wall clock do not reach it.
	Now func() int64
	// MaxKeys is how many windows of keys the store holds at most; 0 means
	// DefaultMaxKeys. A request that needs a new one over it is refused and
	// counted (see Request.Full); nothing that is live is ever dropped.
	MaxKeys int64
	// MaxBytes is the same for the memory of windows, in bytes; 0 means
	// DefaultMaxBytes. It may be exceeded by one page of memory (64 KiB) for
	// each request that is being decided at the moment.
	MaxBytes int64
	// SweepEvery is how often the store looks for keys that expired while
	// nobody used them; 0 means every second, negative never (then keys are
	// swept only as their neighbours are used).
	SweepEvery time.Duration
}

// Memory is a store in memory. Keys are kept as 128-bit seeded hashes, spread
// over shards that lock separately; state lies in slabs without pointers.
// Requests over several keys lock their shards in one order and decide under
// all of these locks, so they are atomic and never dead-lock.
//
// A decision over w windows takes O(w) and allocates nothing, but for growth.
// Make it with [NewMemory].
type Memory struct {
	now      func() int64
	seed     uint64
	base     time.Time
	baseNano int64
	maxKeys  int64
	maxBytes int64

	keys    atomic.Int64
	bytes   atomic.Int64
	full    atomic.Int64
	swept   atomic.Int64
	closed  atomic.Bool
	stop    chan struct{}
	stopped sync.WaitGroup

	shards [shardCount]shard
}

// NewMemory returns an empty store. Close it to stop its sweeper.
func NewMemory(o MemoryOptions) (*Memory, error) {
	if o.MaxKeys < 0 || o.MaxKeys > shardCount*maxRecords/2 || o.MaxBytes < 0 {
		return nil, fmt.Errorf("store: MaxKeys %d, MaxBytes %d: want 0 to 2^31 keys, 0 bytes or more", o.MaxKeys, o.MaxBytes)
	}
	base := time.Now()
	m := &Memory{
		now:      o.Now,
		seed:     rand.Uint64(),
		base:     base,
		baseNano: base.UnixNano(),
		maxKeys:  cmpOr(o.MaxKeys, DefaultMaxKeys),
		maxBytes: cmpOr(o.MaxBytes, DefaultMaxBytes),
		stop:     make(chan struct{}),
	}
	if every := o.SweepEvery; every >= 0 {
		m.stopped.Add(1)
		go m.sweeper(time.Duration(cmpOr(int64(every), int64(time.Second))))
	}
	return m, nil
}

func cmpOr(v, otherwise int64) int64 {
	if v == 0 {
		return otherwise
	}
	return v
}

// Now returns the store's time in microseconds since the epoch.
func (m *Memory) Now() int64 {
	if m.now != nil {
		return m.now()
	}
	return (m.baseNano + int64(time.Since(m.base))) / 1000
}

// Close stops the sweeper and frees the memory.
func (m *Memory) Close() error {
	if m.closed.Swap(true) {
		return nil
	}
	close(m.stop)
	m.stopped.Wait()
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		m.keys.Add(-int64(s.n))
		s.drop()
		m.account(s)
		s.mu.Unlock()
	}
	return nil
}

// Stats says what a store in memory holds and has done.
type Stats struct {
	// Keys is how many windows of keys it holds, expired ones that were not
	// yet swept among them; Bytes what they take.
	Keys, Bytes int64
	// Full counts requests that were refused at the ceiling, Swept the
	// windows of keys that expired.
	Full, Swept int64
}

// Stats returns the current numbers.
func (m *Memory) Stats() Stats {
	return Stats{Keys: m.keys.Load(), Bytes: m.bytes.Load(), Full: m.full.Load(), Swept: m.swept.Load()}
}

func (m *Memory) hash(key []byte) [2]uint64 {
	h := xxh3.Hash128Seed(key, m.seed)
	return [2]uint64{h.Hi, h.Lo}
}

func mix(key [2]uint64, w *Window) [2]uint64 {
	return [2]uint64{key[0] ^ w.hash[0], key[1] ^ w.hash[1]}
}

func (m *Memory) shardOf(h [2]uint64) *shard { return &m.shards[shardNumber(h)] }

func shardNumber(h [2]uint64) uint32 { return uint32(h[0]>>shardShift) % shardCount }

// Decide implements [Store].
func (m *Memory) Decide(ctx context.Context, reqs []Request) error {
	for i := range reqs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.prepare(&reqs[i]); err != nil {
			return err
		}
		m.decide(&reqs[i])
	}
	return nil
}

// Look implements [Store].
func (m *Memory) Look(ctx context.Context, req *Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.prepare(req); err != nil {
		return err
	}
	m.lock(req.locks)
	now := m.Now()
	req.Admitted, req.Full = !req.Deny, false
	for i := range req.Items {
		it := &req.Items[i]
		s := m.shardOf(it.hash)
		it.Charged = false
		it.Result = s.judge(s.find(it.hash), &it.Limit, now, it.Cost, true)
		req.Admitted = req.Admitted && (it.Shadow || it.Result.OK)
	}
	m.unlock(req.locks)
	return nil
}

// prepare checks a request, hashes its keys, and lists the shards to lock.
func (m *Memory) prepare(req *Request) error {
	if m.closed.Load() {
		return fmt.Errorf("store: %w", slidegate.ErrClosed)
	}
	req.locks = req.locks[:0]
	var last []byte
	var key [2]uint64
	for i := range req.Items {
		it := &req.Items[i]
		switch {
		case it.Cost < 0:
			return fmt.Errorf("%w: %d for %s", ErrCost, it.Cost, it.Window.id)
		case it.Limit.Algorithm < limit.SlidingLog || it.Limit.Algorithm > limit.Events:
			return fmt.Errorf("%w for %s", ErrParams, it.Window.id)
		}
		if i == 0 || !same(last, it.Key) {
			key, last = m.hash(it.Key), it.Key
			req.locks = addLock(req.locks, shardNumber(key))
		}
		it.hash = mix(key, it.Window)
		for j := range req.Items[:i] {
			if req.Items[j].hash == it.hash {
				return fmt.Errorf("%w: %s", ErrDuplicate, it.Window.id)
			}
		}
	}
	return nil
}

// same reports whether a and b are the same bytes in memory.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// addLock adds a shard to a sorted list, once.
func addLock(locks []uint32, n uint32) []uint32 {
	at, found := slices.BinarySearch(locks, n)
	if found {
		return locks
	}
	return slices.Insert(locks, at, n)
}

func (m *Memory) lock(locks []uint32) {
	for _, n := range locks {
		m.shards[n].mu.Lock()
	}
}

func (m *Memory) unlock(locks []uint32) {
	for _, n := range locks {
		m.shards[n].mu.Unlock()
	}
}

// decide judges all items, then charges them, under the locks of all their
// shards. The clock is read under them: for each shard it never runs back
// because of a race.
func (m *Memory) decide(req *Request) {
	m.lock(req.locks)
	now := m.Now()
	req.Admitted, req.Full = !req.Deny, false
	for i := range req.Items {
		it := &req.Items[i]
		s := m.shardOf(it.hash)
		it.Charged = false
		it.record = s.find(it.hash)
		it.Result = s.judge(it.record, &it.Limit, now, it.Cost, it.Cost == 0)
		req.Admitted = req.Admitted && (it.Shadow || it.Result.OK)
	}
	if req.Admitted && !m.reserve(req, now) {
		req.Admitted, req.Full = false, true
	}
	for i := range req.Items {
		m.settle(req, &req.Items[i], now)
		req.Items[i].record = nil
	}
	for _, n := range req.locks {
		m.tend(&m.shards[n], now)
	}
	m.unlock(req.locks)
}

// charges reports whether an item is to be charged, given the verdict.
func charges(req *Request, it *Item) bool {
	switch {
	case it.Cost == 0:
		return false
	case it.CountRefused && it.Limit.Algorithm != limit.Events:
		return true
	default:
		return req.Admitted && it.Result.OK
	}
}

// settle charges an item according to the verdict.
func (m *Memory) settle(req *Request, it *Item, now int64) {
	if it.Cost == 0 {
		return
	}
	s := m.shardOf(it.hash)
	if !charges(req, it) {
		s.enter(it.record, &it.Limit, now)
		return
	}
	if decides := req.Admitted && !it.Shadow; !decides && !m.take(m.need(it, now)) {
		m.full.Add(1) // no room to keep it, and it decides nothing
		return
	}
	it.record = s.open(it.record, it.hash, &it.Limit)
	s.seq++
	c := s.charge(it.record, &it.Limit, now, it.Cost, it.CountRefused)
	it.Charged, it.Receipt = true, slidegate.Receipt{}
	if req.Admitted && it.Result.OK {
		it.Receipt = slidegate.Receipt{Window: it.hash, Stamp: c.Stamp, Amount: c.Amount, Seq: s.seq}
	}
	after := s.charged(it.record, &it.Limit, now)
	it.Result.Used, it.Result.Remaining, it.Result.Reset = after.Used, after.Remaining, after.Reset
	if !req.Admitted && it.CountRefused {
		it.Result.Retry = s.judge(it.record, &it.Limit, now, it.Cost, true).Retry
	}
}

// need returns how many keys and bytes charging an item adds.
func (m *Memory) need(it *Item, now int64) (keys, bytes int64) {
	return m.shardOf(it.hash).need(it.record, &it.Limit, now, it.Cost)
}

// reserve takes the room for everything that decides and will be charged. It
// reports false at the ceiling.
func (m *Memory) reserve(req *Request, now int64) bool {
	for try := range 2 {
		var keys, bytes int64
		for i := range req.Items {
			if it := &req.Items[i]; !it.Shadow && it.Cost > 0 {
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
	m.full.Add(1)
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
		it.record = m.shardOf(it.hash).find(it.hash)
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

// tend tells the store what a shard holds, and sweeps a little once a second.
func (m *Memory) tend(s *shard, now int64) {
	m.account(s)
	const round = 1_000_000
	if s.sweepAt > now+round {
		s.sweepAt = now // the clock stepped back
	}
	if now >= s.sweepAt && m.sweepShard(s, now, 16) {
		s.sweepAt = now + round
	}
}

// account tells the store how many bytes a shard holds now.
func (m *Memory) account(s *shard) {
	if b := s.bytes(); b != s.held {
		m.bytes.Add(b - s.held)
		s.held = b
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
		s.forget(now)
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
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		s.cursor = 0 // wherever the last sweep stopped
		left := s.n
		s.mu.Unlock()
		for done := false; !done && left >= 0; left -= atOnce {
			s.mu.Lock()
			done = m.sweepShard(s, m.Now(), atOnce)
			s.mu.Unlock()
		}
	}
}

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
	r = s.judge(rec, p, now, cost, cost == 0)
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
	after := s.charged(rec, p, now)
	r.Used, r.Remaining, r.Reset = after.Used, after.Remaining, after.Reset
	return true
}

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

// drop frees everything.
func (s *shard) drop() {
	s.index, s.chunks, s.n, s.cursor = nil, nil, 0, 0
	s.short, s.long, s.slots = arena[uint32]{}, arena[uint64]{}, arena[window.Bucket]{}
	s.refunded, s.resets = nil, nil
}

var _ Store = (*Memory)(nil)
