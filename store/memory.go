package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
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
	// SketchBytes is how much memory, beside MaxBytes, may hold what the store has no
	// room for at its ceiling: keys that need a new window are counted together with
	// others, so that no one gets more than the limit, and some are refused that would
	// not be. 0 means DefaultSketchBytes; negative none: then they are refused. It is
	// taken when it is needed. It serves counts and sums over a window of time without
	// holds, locks and queues; what is charged there cannot be refunded.
	SketchBytes int64
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

	refusals refusals
	sketches sketches
	voided   atomic.Int64 // how often something was given back

	effects Effects // nil for none
	loaded  int64   // the latest time in the state that it was begun with
	freed   atomic.Bool

	shards [shardCount]shard
}

// NewMemory returns an empty store. Close it to stop its sweeper.
func NewMemory(o MemoryOptions) (*Memory, error) {
	if o.MaxKeys < 0 || o.MaxKeys > shardCount*maxRecords/2 || o.MaxBytes < 0 {
		return nil, fmt.Errorf("store: MaxKeys %d, MaxBytes %d: want 0 to 2^31 keys, 0 bytes or more", o.MaxKeys, o.MaxBytes)
	}
	m := newMemory(o, rand.Uint64())
	m.start(o.SweepEvery)
	return m, nil
}

func newMemory(o MemoryOptions, seed uint64) *Memory {
	base := time.Now()
	m := &Memory{
		now:      o.Now,
		seed:     seed,
		base:     base,
		baseNano: base.UnixNano(),
		maxKeys:  cmp.Or(o.MaxKeys, DefaultMaxKeys),
		maxBytes: cmp.Or(o.MaxBytes, DefaultMaxBytes),
		stop:     make(chan struct{}),
		loaded:   math.MinInt64,
	}
	if m.sketches.budget = cmp.Or(o.SketchBytes, DefaultSketchBytes); m.sketches.budget < 0 {
		m.sketches.budget = 0
	}
	return m
}

func (m *Memory) start(every time.Duration) {
	if every >= 0 {
		m.stopped.Add(1)
		go m.sweeper(time.Duration(cmp.Or(int64(every), int64(time.Second))))
	}
}

// Now returns the store's time in microseconds since the epoch.
func (m *Memory) Now() int64 {
	if m.now != nil {
		return m.now()
	}
	return (m.baseNano + int64(time.Since(m.base))) / 1000
}

// Stop ends all deciding: later calls fail, but for Dump and Close. The state stays.
func (m *Memory) Stop() {
	if m.closed.Swap(true) {
		return
	}
	close(m.stop)
	m.stopped.Wait()
}

// Close stops the sweeper and frees the memory.
func (m *Memory) Close() error {
	m.Stop()
	if m.freed.Swap(true) {
		return nil
	}
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

func (m *Memory) hash(key []byte) Name {
	h := xxh3.Hash128Seed(key, m.seed)
	return Name{h.Hi, h.Lo}
}

func mix(key Name, w *Window) Name {
	return Name{key.Hi ^ w.hash.Hi, key.Lo ^ w.hash.Lo}
}

func (m *Memory) shardOf(h Name) *shard { return &m.shards[shardNumber(h)] }

func shardNumber(h Name) uint32 { return uint32(h.Hi>>shardShift) % shardCount }

// Decide implements [Store].
func (m *Memory) Decide(ctx context.Context, reqs []Request) error {
	var last uint64
	for i := range reqs {
		number, err := m.decideOne(ctx, &reqs[i])
		last = max(last, number)
		if err != nil {
			return errors.Join(err, m.settled(last))
		}
	}
	return m.settled(last)
}

func (m *Memory) decideOne(ctx context.Context, req *Request) (number uint64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := m.prepare(req); err != nil {
		return 0, err
	}
	return m.decide(req)
}

// Look implements [Store].
func (m *Memory) Look(ctx context.Context, req *Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.prepare(req); err != nil {
		return err
	}
	if err := m.lock(req.locks); err != nil {
		return err
	}
	now := m.timeOf(req.locks)
	sketching := m.sketches.live.Load() > 0
	if sketching {
		m.sketches.mu.Lock()
		defer m.sketches.mu.Unlock()
	}
	req.Admitted, req.Full = !req.Deny, false
	wait := int64(0)
	for i := range req.Items {
		it := &req.Items[i]
		s := m.shardOf(it.Name)
		it.Charged = false
		if it.tracked() {
			s.judgeTracked(it, now, req.wait, true)
			it.record = nil
		} else {
			it.record = s.find(it.Name)
			s.judgeItem(it, it.record, now, req.wait, true, &it.Result)
			if sketching {
				m.sketched(it, now, false)
			}
			it.record = nil
		}
		if it.decides() {
			req.Admitted, wait = req.Admitted && it.Result.OK, max(wait, it.Result.Wait)
		}
	}
	if req.Admitted && wait > 0 {
		queueUp(req.Items, wait)
	}
	return m.settled(m.unlock(req.locks))
}

// prepare checks a request, hashes its keys, and lists the shards to lock.
func (m *Memory) prepare(req *Request) error {
	req.locks, req.wait = req.locks[:0], limit.MaxSize
	var last []byte
	var key Name
	for i := range req.Items {
		it := &req.Items[i]
		switch {
		case it.Cost < 0:
			return fmt.Errorf("%w: %d for %s", ErrCost, it.Cost, it.Window.id)
		case it.Limit == nil || !it.Limit.Algorithm.Valid() || len(it.Members) > 0 && it.Limit.Algorithm != limit.Distinct || it.unfit():
			return fmt.Errorf("%w for %s", ErrParams, it.Window.id)
		}
		if i == 0 || !same(last, it.Key) {
			key, last = m.hash(it.Key), it.Key
			req.locks = addLock(req.locks, shardNumber(key))
		}
		it.Name = mix(key, it.Window)
		switch {
		case it.Limit.Algorithm == limit.Distinct:
			m.hashMembers(it)
		case it.Limit.Wait > 0 && it.Limit.Wait < req.wait && it.decides() && it.Cost > 0:
			req.wait = it.Limit.Wait
		}
	}
	return distinct(req.Items)
}

// hashMembers hashes the members of an item, each once; none for a look.
func (m *Memory) hashMembers(it *Item) {
	it.given = it.given[:0]
	if it.Cost == 0 {
		return
	}
	var seen map[window.Hash]struct{}
	if len(it.Members) > 64 {
		seen = make(map[window.Hash]struct{}, len(it.Members))
	}
	for _, member := range it.Members {
		x := xxh3.Hash128Seed(member, m.seed)
		h := window.Hash{Hi: x.Hi, Lo: x.Lo}
		if _, again := seen[h]; again || seen == nil && slices.Contains(it.given, h) {
			continue
		}
		if seen != nil {
			seen[h] = struct{}{}
		}
		it.given = append(it.given, h)
	}
}

// distinct reports a window and key that is named twice.
func distinct(items []Item) error {
	if len(items) > 64 {
		return distinctMany(items)
	}
	for i := range items {
		for j := range items[:i] {
			if items[j].Name == items[i].Name {
				return fmt.Errorf("%w: %s", ErrDuplicate, items[i].Window.id)
			}
		}
	}
	return nil
}

func distinctMany(items []Item) error {
	seen := make(map[Name]struct{}, len(items))
	for i := range items {
		if _, dup := seen[items[i].Name]; dup {
			return fmt.Errorf("%w: %s", ErrDuplicate, items[i].Window.id)
		}
		seen[items[i].Name] = struct{}{}
	}
	return nil
}

// same reports whether a and b are the same bytes in memory.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// addLock adds a shard to a sorted list, once.
func addLock(locks []uint32, n uint32) []uint32 {
	at := len(locks)
	for at > 0 && locks[at-1] > n {
		at--
	}
	if at > 0 && locks[at-1] == n {
		return locks
	}
	locks = append(locks, n)
	copy(locks[at+1:], locks[at:])
	locks[at] = n
	return locks
}

// lock locks shards, unless the store is closed: Close has perhaps emptied them.
func (m *Memory) lock(locks []uint32) error {
	for _, n := range locks {
		m.shards[n].mu.Lock()
	}
	if m.closed.Load() {
		m.unlock(locks)
		return errClosed()
	}
	return nil
}

func errClosed() error { return fmt.Errorf("store: %w", slidegate.ErrClosed) }

// timeOf returns the time of a decision under locks that are held.
func (m *Memory) timeOf(locks []uint32) int64 {
	now := m.Now()
	for _, n := range locks {
		m.shards[n].clock(now)
	}
	return now
}

var _ Store = (*Memory)(nil)
