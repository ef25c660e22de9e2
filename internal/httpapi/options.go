package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

// Scopes that routes need.
const (
	Check  = "check"
	Report = "report"
	Read   = "read"
	Admin  = "admin"
)

// Bounds of a request, unless [Limits] says otherwise.
const (
	// MaxBody is how many bytes the body of a request may have.
	MaxBody = 1 << 20
	// MaxLine is how many bytes a line of a stream may have.
	MaxLine = 64 << 10
	// MaxBatch is how many events an array may hold.
	MaxBatch = 1000
	// MaxAttrs is how many attributes an event may have.
	MaxAttrs = 100
	// MaxName is how many bytes the name of an event, an attribute or a challenge
	// may have.
	MaxName = 256
	// MaxValue is how many bytes the value of an attribute may have.
	MaxValue = 64 << 10
)

// Options are what the daemon adds to the engine. The zero value serves everybody
// and has no reload and no metrics.
type Options struct {
	// Limits bound requests; the zero value means the constants above.
	Limits Limits
	// Authorize says whether a request may use a scope; nil lets everybody.
	Authorize func(r *http.Request, scope string) *Refusal
	// Decided is told of every decision on a check. It must not keep what it is
	// given. nil tells nobody.
	Decided func(ev *slidegate.Event, d *slidegate.Decision)
	// Reload reads the rules again and returns the limits whose history ends.
	Reload func() ([]rule.Forgotten, error)
	// State says how the server is; nil means ready.
	State func() State
	// Top says what is going on, for /v1/top; nil means that nobody watches.
	Top func(context.Context) (any, error)
	// Unlocked is told of locks that were to be lifted, why, and whether one held.
	Unlocked func(r *http.Request, rule, reason string, held bool)
	// Metrics answers for /metrics.
	Metrics http.Handler
	// Version is the build.
	Version string
	// Line is how long a stream may be silent, and Write how long one answer of it
	// may take to be sent; 0 means 30 seconds each.
	Line, Write time.Duration
	// Draining is closed when streams are to end; nil means never.
	Draining <-chan struct{}
}

// Refusal says why a request may not use a scope: 401 or 403, the challenge of the
// header WWW-Authenticate, and a sentence.
type Refusal struct {
	Status            int
	Challenge, Detail string
}

// State says how the server is.
type State struct {
	// Draining says that it is about to stop.
	Draining bool
	// Loaded is when the rules in force were read. Failed is when reading them
	// again failed since; zero if it did not.
	Loaded, Failed time.Time
	// NotDurable says that what is decided cannot be written down at the moment.
	NotDurable bool
}

// Limits bound requests. 0 means the constant above.
type Limits struct {
	Body               int64 // bytes
	Line               int   // bytes
	Batch, Attrs       int
	NameSize, TextSize int // bytes
}

// whole fills in what is 0.
func (l *Limits) whole() Limits {
	return Limits{
		Body: cmp.Or(l.Body, MaxBody), Line: cmp.Or(l.Line, MaxLine), Batch: cmp.Or(l.Batch, MaxBatch), Attrs: cmp.Or(l.Attrs, MaxAttrs),
		NameSize: cmp.Or(l.NameSize, MaxName), TextSize: cmp.Or(l.TextSize, MaxValue),
	}
}

// check refuses an event that is too large. No error shows a value: it may be a
// secret.
func (l *Limits) check(ev *slidegate.Event) error {
	if n := len(ev.Attrs); n > l.Attrs {
		return fmt.Errorf("%w: attrs: %d attributes; at most %d", slidegate.ErrEvent, n, l.Attrs)
	}
	if n := len(ev.Passed); n > l.Attrs {
		return fmt.Errorf("%w: passed: %d challenges; at most %d", slidegate.ErrEvent, n, l.Attrs)
	}
	if n := len(ev.Name); n > l.NameSize {
		return fmt.Errorf("%w: event: the name has %d bytes; at most %d", slidegate.ErrEvent, n, l.NameSize)
	}
	for i := range ev.Attrs {
		a := &ev.Attrs[i]
		if n := len(a.Name); n > l.NameSize {
			return fmt.Errorf("%w: attrs[%d]: the name has %d bytes; at most %d", slidegate.ErrEvent, i, n, l.NameSize)
		}
		if text, _ := a.Value.Literal(); len(text) > l.TextSize {
			return fmt.Errorf("%w: attrs: %.80q has %d bytes; at most %d", slidegate.ErrEvent, a.Name, len(text), l.TextSize)
		}
	}
	for i, name := range ev.Passed {
		if n := len(name); n > l.NameSize {
			return fmt.Errorf("%w: passed[%d]: the name has %d bytes; at most %d", slidegate.ErrEvent, i, n, l.NameSize)
		}
	}
	return nil
}
