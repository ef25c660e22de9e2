package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
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

func (m *Memory) hash(key []byte) name {
	h := xxh3.Hash128Seed(key, m.seed)
	return name{h.Hi, h.Lo}
}

func mix(key name, w *Window) name {
	return name{key.hi ^ w.hash.hi, key.lo ^ w.hash.lo}
}

func (m *Memory) shardOf(h name) *shard { return &m.shards[shardNumber(h)] }

func shardNumber(h name) uint32 { return uint32(h.hi>>shardShift) % shardCount }

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
		s.judge(s.find(it.hash), &it.Limit, now, it.Cost, true, &it.Result)
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
	var key name
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
	}
	return distinct(req.Items)
}

// distinct reports a window and key that is named twice.
func distinct(items []Item) error {
	if len(items) > 64 {
		return distinctMany(items)
	}
	for i := range items {
		for j := range items[:i] {
			if items[j].hash == items[i].hash {
				return fmt.Errorf("%w: %s", ErrDuplicate, items[i].Window.id)
			}
		}
	}
	return nil
}

func distinctMany(items []Item) error {
	seen := make(map[name]struct{}, len(items))
	for i := range items {
		if _, dup := seen[items[i].hash]; dup {
			return fmt.Errorf("%w: %s", ErrDuplicate, items[i].Window.id)
		}
		seen[items[i].hash] = struct{}{}
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
		it.Charged, it.Receipt = false, slidegate.Receipt{}
		it.record = s.find(it.hash)
		s.judge(it.record, &it.Limit, now, it.Cost, it.Cost == 0, &it.Result)
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
	it.Charged = true
	if req.Admitted && it.Result.OK {
		it.Receipt = slidegate.Receipt{Window: [2]uint64{it.hash.hi, it.hash.lo}, Stamp: c.Stamp, Amount: c.Amount, Seq: s.seq}
	}
	s.charged(it.record, &it.Limit, now, &it.Result)
	if !req.Admitted && it.CountRefused {
		var again limit.Result
		s.judge(it.record, &it.Limit, now, it.Cost, true, &again)
		it.Result.Retry = again.Retry
	}
}

var _ Store = (*Memory)(nil)
