// Package gate judges events against a plan of rules.
//
// A [Gate] is the engine: it finds the rules that an event meets, builds their
// keys, has all their windows judged at once, and says what to do. A [Limiter]
// is for those who want a keyed limit and nothing else.
package gate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// Now is the clock; nil means that of Store, where it has a method Now that
	// returns microseconds, otherwise the clock of the machine: the wall clock at
	// the start, moved on by the monotonic clock. It decides for the store in
	// memory, and for the end of overrides. Times are floored to microseconds.
	// It is called by several goroutines at once, under locks, and must not call
	// the gate. Memory.Now is the same in microseconds; give one of the two.
	Now func() time.Time
	// IDKey signs decision ids, so that only ids of gates with the same key
	// are taken back. Empty means a random key. Otherwise 16 bytes or more.
	IDKey []byte
	// SecretKey hides the values of secret attributes. Gates that share a store
	// must have the same one, and it must stay as long as their windows. Empty
	// means a random key, which is enough for the store in memory; with another
	// store a plan that has secret attributes needs one. Otherwise 16 bytes or
	// more.
	SecretKey []byte
}

// Gate is the engine. All methods are safe for concurrent use.
type Gate struct {
	store   store.Store
	owned   bool
	now     func() int64
	sealer  *sealer
	secrets *rule.Secrets // nil: there is no key
	live    atomic.Pointer[livePlan]
	scratch sync.Pool
	lines   lines // who waits
	closed  atomic.Bool
}

// livePlan is a plan with the store's names for its windows.
type livePlan struct {
	plan    *rule.Plan
	windows []*store.Window // by CompiledLimit.ID
	holds   []*store.Hold   // the same; nil for none
	locks   []*store.Lock   // the same
}

func newLivePlan(p *rule.Plan) *livePlan {
	n := p.Limits()
	l := &livePlan{plan: p, windows: make([]*store.Window, n), holds: make([]*store.Hold, n), locks: make([]*store.Lock, n)}
	for _, r := range p.Rules() {
		var all []*store.Window
		for _, a := range r.All() {
			l.windows[a.ID] = store.NewWindow(a.Identity)
			all = append(all, l.windows[a.ID])
			if a.HoldFor > 0 {
				l.holds[a.ID] = &store.Hold{For: a.HoldFor, Release: a.Release}
			}
		}
		for _, a := range r.All() {
			if a.Lasts == nil || a.Shadow {
				continue
			}
			l.locks[a.ID] = &store.Lock{Lasts: a.Lasts, Forget: a.Forget, Empties: all}
			if a.KeepHistory {
				l.locks[a.ID].Empties = nil
			}
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
	if o.Store != nil && (o.Memory.Now != nil || o.Memory.MaxKeys != 0 || o.Memory.MaxBytes != 0 || o.Memory.SketchBytes != 0 || o.Memory.SweepEvery != 0) {
		errs = append(errs, errors.New("gate: Options.Memory is for the store in memory, and Options.Store is another"))
	}
	if o.Now != nil && o.Memory.Now != nil {
		errs = append(errs, errors.New("gate: Options.Now and Options.Memory.Now are both given; one clock decides"))
	}
	if n := len(o.IDKey); n > 0 && n < 16 {
		errs = append(errs, fmt.Errorf("gate: Options.IDKey has %d bytes; want 16 or more", n))
	}
	var secrets *rule.Secrets
	if key := secretKey(&o); len(key) > 0 {
		var err error
		if secrets, err = rule.NewSecrets(key); err != nil {
			errs = append(errs, fmt.Errorf("gate: Options.SecretKey: %w", err))
		}
	} else if plan != nil {
		errs = append(errs, needsKey(plan, nil))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	g := &Gate{store: o.Store, sealer: newSealer(o.IDKey), secrets: secrets}
	g.scratch.New = func() any { return new(scratch) }
	if o.Now != nil {
		g.now = func() int64 { return o.Now().UnixMicro() }
	}
	if g.store == nil {
		if g.now != nil {
			o.Memory.Now = g.now
		}
		m, err := store.NewMemory(o.Memory)
		if err != nil {
			return nil, fmt.Errorf("gate: Options.Memory: %w", err)
		}
		g.store, g.owned, g.now = m, true, m.Now // one clock
	}
	if g.now == nil {
		if own, ok := g.store.(interface{ Now() int64 }); ok {
			g.now = own.Now // one clock
		} else {
			g.now = monotonic()
		}
	}
	g.live.Store(newLivePlan(plan))
	return g, nil
}

// secretKey returns the key of secret attributes: for the store in memory a random
// one if none is given, otherwise nil.
func secretKey(o *Options) []byte {
	if len(o.SecretKey) > 0 || o.Store != nil {
		return slices.Clip(o.SecretKey)
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return key
}

// needsKey reports a plan whose secret attributes cannot be hidden.
func needsKey(plan *rule.Plan, s *rule.Secrets) error {
	if len(plan.Secret) == 0 || s != nil {
		return nil
	}
	return fmt.Errorf("gate: the rules hide %s, and there is no key for that: set Options.SecretKey to the same 16 bytes or more for all that share the store", strings.Join(plan.Secret, ", "))
}

// monotonic returns a clock, beside that of a store that was given, which starts at
// the wall clock and never steps.
func monotonic() func() int64 {
	base := time.Now()
	nano := base.UnixNano()
	return func() int64 { return (nano + int64(time.Since(base))) / 1000 }
}

// Close frees what the gate holds. Later calls, and calls of Wait that have not
// come to an end, fail with [slidegate.ErrClosed].
func (g *Gate) Close() error {
	if g.closed.Swap(true) {
		return nil
	}
	g.lines.wakeAll()
	if !g.owned {
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
	if err := needsKey(plan, g.secrets); err != nil {
		return nil, err
	}
	old := g.live.Swap(newLivePlan(plan))
	g.lines.wakeAll()
	return rule.Forgets(old.plan, plan), nil
}

// Refund gives back what the decision with this id charged, once. It reports
// whether it gave anything back: not a second time, and not when the charge has
// left its windows. An id that this gate did not make is [slidegate.ErrID]. At the
// ceiling of memory it may fail with [slidegate.ErrFull], as Release, Renew and Reset
// may; then nothing was given back.
//
// Of a place in flight it is Release, of what waits for a report it gives back what was
// not settled and is within its hold, and of a place in a queue it gives back the
// last one only: those behind another have been told when it is their turn.
func (g *Gate) Refund(ctx context.Context, id string) (bool, error) {
	d, given, err := g.settle(id, func(rs []slidegate.Receipt) (bool, error) { return g.store.Refund(ctx, rs) })
	if given {
		g.lines.freed(d.Receipts(), false)
	}
	return given, err
}

// Release gives back the places in flight that the decision with this id took,
// once, and reports whether there was one: not a second time, and not after its
// deadline. What else the decision charged stays. An id that this gate did not
// make is [slidegate.ErrID].
func (g *Gate) Release(ctx context.Context, id string) (bool, error) {
	d, released, err := g.settle(id, func(rs []slidegate.Receipt) (bool, error) { return g.store.Release(ctx, rs) })
	if released {
		g.lines.freed(d.Receipts(), true)
	}
	return released, err
}

// Renew lets the places in flight that the decision with this id took stay for
// another hold from now, and returns the id that stands for the decision from now
// on: the old one gives no place back any more. What else the decision charged is
// given back once, by either. It reports whether there were any places and all were
// still there; a place that is gone stays gone. An id that this gate did not make is
// [slidegate.ErrID].
func (g *Gate) Renew(ctx context.Context, id string) (renewed string, ok bool, err error) {
	next, ok, err := g.settle(id, func(rs []slidegate.Receipt) (bool, error) { return g.store.Renew(ctx, rs) })
	if err != nil {
		return "", false, err
	}
	return next.String(), ok, nil
}

// settle reads an id and hands its receipts, which may be changed, to do.
func (g *Gate) settle(id string, do func([]slidegate.Receipt) (bool, error)) (slidegate.ID, bool, error) {
	parsed, err := slidegate.ParseID(g.sealer, id)
	if err != nil {
		return parsed, false, fmt.Errorf("gate: %w", err)
	}
	if g.closed.Load() {
		return parsed, false, fmt.Errorf("gate: %w", slidegate.ErrClosed)
	}
	done, err := do(parsed.Receipts())
	if err != nil {
		return parsed, false, fmt.Errorf("gate: %w", err)
	}
	return parsed, done, nil
}
