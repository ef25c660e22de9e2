// Package gate judges events against a plan of rules.
//
// A [Gate] is the engine: it finds the rules that an event meets, builds their
// keys, has all their windows judged at once, and says what to do. A [Limiter]
// is for those who want a keyed limit and nothing else.
package gate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
)

// Options tune a [Gate]. The zero value is ready for use: state in memory, the
// clock of the machine.
type Options struct {
	// Store holds the windows. nil means a new store in memory, which the
	// gate closes when it is closed; a store that is given is not closed.
	Store store.Store
	// Memory tunes the store in memory; it must be the zero value when Store
	// is given.
	Memory store.MemoryOptions
	// Now is the clock; nil means the clock of the machine: the wall clock at
	// the start, moved on by the monotonic clock. It decides for the store in
	// memory, and for the end of overrides. Times are floored to microseconds.
	// It is called by several goroutines at once, under locks, and must not call
	// the gate. Memory.Now is the same in microseconds; give one of the two.
	Now func() time.Time
	// IDKey signs decision ids, so that only ids of gates with the same key
	// are taken back. Empty means a random key. Otherwise 16 bytes or more.
	IDKey []byte
}

// Gate is the engine. All methods are safe for concurrent use.
type Gate struct {
	store   store.Store
	owned   bool
	now     func() int64
	sealer  *sealer
	live    atomic.Pointer[livePlan]
	scratch sync.Pool
	closed  atomic.Bool
}

// livePlan is a plan with the store's names for its windows.
type livePlan struct {
	plan    *rule.Plan
	windows []*store.Window // by CompiledLimit.ID
}

func newLivePlan(p *rule.Plan) *livePlan {
	l := &livePlan{plan: p, windows: make([]*store.Window, p.Limits())}
	for _, r := range p.Rules() {
		for _, a := range r.All() {
			l.windows[a.ID] = store.NewWindow(a.Identity)
		}
	}
	return l
}

// New returns a gate that enforces plan. Close it to stop its sweeper and free
// its memory.
func New(plan *rule.Plan, o Options) (*Gate, error) {
	var errs []error
	if plan == nil {
		errs = append(errs, errors.New("gate: no plan"))
	}
	if o.Store != nil && (o.Memory.Now != nil || o.Memory.MaxKeys != 0 || o.Memory.MaxBytes != 0 || o.Memory.SweepEvery != 0) {
		errs = append(errs, errors.New("gate: Options.Memory is for the store in memory, and Options.Store is another"))
	}
	if o.Now != nil && o.Memory.Now != nil {
		errs = append(errs, errors.New("gate: Options.Now and Options.Memory.Now are both given; one clock decides"))
	}
	if n := len(o.IDKey); n > 0 && n < 16 {
		errs = append(errs, fmt.Errorf("gate: Options.IDKey has %d bytes; want 16 or more", n))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	g := &Gate{store: o.Store, sealer: newSealer(o.IDKey)}
	g.scratch.New = func() any { return new(scratch) }
	switch {
	case o.Now != nil:
		g.now = func() int64 { return o.Now().UnixMicro() }
	case o.Memory.Now != nil:
		g.now = o.Memory.Now
	default:
		g.now = monotonic()
	}
	if g.store == nil {
		o.Memory.Now = g.now // one clock
		m, err := store.NewMemory(o.Memory)
		if err != nil {
			return nil, fmt.Errorf("gate: Options.Memory: %w", err)
		}
		g.store, g.owned = m, true
	}
	g.live.Store(newLivePlan(plan))
	return g, nil
}

// monotonic returns a clock that starts at the wall clock and never steps.
func monotonic() func() int64 {
	base := time.Now()
	nano := base.UnixNano()
	return func() int64 { return (nano + int64(time.Since(base))) / 1000 }
}

// Close frees what the gate holds. Later calls fail with [slidegate.ErrClosed].
func (g *Gate) Close() error {
	if g.closed.Swap(true) || !g.owned {
		return nil
	}
	return g.store.Close()
}

// Plan returns the plan in force.
func (g *Gate) Plan() *rule.Plan { return g.live.Load().plan }

// Reload puts another plan in force. Windows of the same identity keep their
// history; the limits whose history ends are returned. Checks that are under
// way are decided by the plan they began with.
func (g *Gate) Reload(plan *rule.Plan) ([]rule.Forgotten, error) {
	if plan == nil {
		return nil, errors.New("gate: no plan")
	}
	if g.closed.Load() {
		return nil, fmt.Errorf("gate: %w", slidegate.ErrClosed)
	}
	old := g.live.Swap(newLivePlan(plan))
	return rule.Forgets(old.plan, plan), nil
}

// Refund gives back what the decision with this id charged, once. It reports
// whether it gave anything back: not a second time, and not when the charge has
// left its windows. An id that this gate did not make is [slidegate.ErrID].
func (g *Gate) Refund(ctx context.Context, id string) (bool, error) {
	parsed, err := slidegate.ParseID(g.sealer, id)
	if err != nil {
		return false, fmt.Errorf("gate: %w", err)
	}
	if g.closed.Load() {
		return false, fmt.Errorf("gate: %w", slidegate.ErrClosed)
	}
	given, err := g.store.Refund(ctx, parsed.Receipts())
	if err != nil {
		return false, fmt.Errorf("gate: %w", err)
	}
	return given, nil
}
