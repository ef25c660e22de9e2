package gate

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

// LimiterOptions tune a [Limiter]. The zero value is ready for use.
type LimiterOptions struct {
	// MaxKeys is how many keys are held at most; 0 means
	// store.DefaultMaxKeys. Over it new keys are refused; nobody who is
	// counted is forgotten.
	MaxKeys int64
	// Now is the clock; nil means the clock of the machine. It is called by
	// several goroutines at once, and must not call the limiter.
	Now func() time.Time
}

// Limiter lets each key through at most max times in any window of the given
// length: exactly, by a sliding log. It has no rules and no attributes, and
// allocates nothing per decision.
//
//	logins := gate.MustLimiter(5, time.Minute, gate.LimiterOptions{})
//	if !logins.Allow(user) { … }
//
// Most programs want Allow; Peek says how long to wait. It needs no Close: it
// has no goroutine, and forgets idle keys as others are used. Safe for
// concurrent use.
type Limiter struct {
	store  *store.Memory
	window *store.Window
	params limit.Params
	swept  atomic.Int64 // when last all idle keys were looked for
}

// NewLimiter returns a limiter of maximum hits per window. The maximum is 0 to
// 100 000, the window 1 ms to 400 days in whole microseconds.
func NewLimiter(maximum int64, per time.Duration, o LimiterOptions) (*Limiter, error) {
	if per%time.Microsecond != 0 {
		return nil, fmt.Errorf("gate: window %v: want whole microseconds", per)
	}
	p, err := limit.New(limit.SlidingLog, maximum, per.Microseconds(), 0, 0)
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	mo := store.MemoryOptions{MaxKeys: o.MaxKeys, SketchBytes: -1, SweepEvery: -1}
	if o.Now != nil {
		mo.Now = func() int64 { return o.Now().UnixMicro() }
	}
	m, err := store.NewMemory(mo)
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	return &Limiter{store: m, window: store.NewWindow("limiter"), params: p}, nil
}

// MustLimiter is NewLimiter for parameters that are known to be right; it
// panics if they are not.
func MustLimiter(maximum int64, per time.Duration, o LimiterOptions) *Limiter {
	l, err := NewLimiter(maximum, per, o)
	if err != nil {
		panic(err)
	}
	return l
}

// Allow reports whether key may pass now, and counts it if so.
func (l *Limiter) Allow(key string) bool { return l.AllowN(key, 1) }

// AllowN is Allow for n hits at once: all of them or none. 0 looks; a negative
// n is refused.
func (l *Limiter) AllowN(key string, n int64) bool {
	ok, full := l.store.Allow(l.window, &l.params, key, n)
	if full && l.sweep() {
		ok, _ = l.store.Allow(l.window, &l.params, key, n)
	}
	return ok
}

// sweep forgets all idle keys, at most once a second: at the ceiling, those that
// lie where nobody looks would keep new ones out.
func (l *Limiter) sweep() bool {
	const pause = 1_000_000
	now, last := l.store.Now(), l.swept.Load()
	if last <= now && now < last+pause || !l.swept.CompareAndSwap(last, now) {
		return false
	}
	l.store.Sweep()
	return true
}

// Peek returns how the window of key stands now and, as Refused and RetryAfter,
// whether and when one hit would pass. It counts nothing.
func (l *Limiter) Peek(key string) slidegate.WindowState {
	req := store.Request{Items: []store.Item{{Window: l.window, Key: []byte(key), Limit: &l.params, Cost: 1}}}
	if err := l.store.Look(context.Background(), &req); err != nil {
		return slidegate.WindowState{Max: l.params.Max, Refused: true} // unreachable: it is never closed
	}
	r := &req.Items[0].Result
	return slidegate.WindowState{
		Used: r.Used, Max: l.params.Max, Remaining: r.Remaining,
		RetryAfter: micros(r.Retry), ResetAfter: micros(r.Reset),
		Refused: !r.OK, Never: r.Never,
	}
}
