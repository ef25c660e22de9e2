package slidegate

import (
	"fmt"
	"time"
)

// Action is what is to be done with an event, from the mildest to the
// sternest. Actions are ordered: of several, the greatest wins.
type Action uint8

// The actions. Only Allow admits. Between them is room for milder ones.
const (
	Allow  Action = 0
	Reject Action = 40
)

// String returns the action's name in lower case, as JSON and rule files
// write it.
func (a Action) String() string {
	switch a {
	case Allow:
		return "allow"
	case Reject:
		return "reject"
	}
	return fmt.Sprintf("action(%d)", uint8(a))
}

// Reasons of a decision that is not an allowance.
const (
	// ReasonLimit: a window is full.
	ReasonLimit = "limit"
	// ReasonMissingKey: a part of the key is missing and the rule says
	// missing_key: reject.
	ReasonMissingKey = "missing_key"
	// ReasonCeiling: the store holds as many keys or bytes as it may, and
	// this event would need a new one. Nobody's history was dropped for it.
	ReasonCeiling = "ceiling"
)

// inlineWindows is how many windows a Decision carries without allocating.
const inlineWindows = 4

// Decision is the answer to a check. It is a value: it stays true and is not
// reused when the next check is made. It allocates nothing for up to four
// windows.
//
// The zero Decision is an allowance that met no rule.
type Decision struct {
	// ID names this decision, for Refund. Its text is made when asked for.
	ID ID
	// Action is what to do. See Admitted.
	Action Action
	// Rule is the name of the rule that decided against the event: of the
	// refusing ones, the one that takes longest to pass. Empty when admitted.
	Rule string
	// Reason is one of the Reason constants. Empty when admitted.
	Reason string
	// Message is what the rule has to say to the person. Empty when admitted
	// or when the rule has no message.
	Message string
	// RetryAfter is the delay until this same event could pass if nothing
	// else happened: true to the microsecond. 0 when there is no such time:
	// when admitted, when Never, or when the wait is counted in events.
	RetryAfter time.Duration
	// RetryAfterEvents is the wait in checks of this key, for windows of the
	// last N events: the check that many places later is the first that could
	// pass. 0 when no such window refused.
	RetryAfterEvents int64
	// Never says that this event can never pass: it costs more than a limit
	// allows at all.
	Never bool

	inline   [inlineWindows]WindowState
	spill    []WindowState
	enforced int32
	shadow   int32
}

// Admitted reports whether the event may go on.
func (d *Decision) Admitted() bool { return d.Action == Allow }

// Windows returns the state of every enforced window that the event met,
// after the decision, in the order of the rules (of several events in one
// verdict, in the order in which they were met). The slice is part of d.
func (d *Decision) Windows() []WindowState { return d.all()[:d.enforced:d.enforced] }

// Shadow returns the same for the windows of shadow limits, which are judged
// but never decide.
func (d *Decision) Shadow() []WindowState {
	end := d.enforced + d.shadow
	return d.all()[d.enforced:end:end]
}

// Tightest returns the enforced window in which the least remains, compared as
// numbers with their decimals, and false when the event met none.
func (d *Decision) Tightest() (WindowState, bool) {
	ws := d.Windows()
	if len(ws) == 0 {
		return WindowState{}, false
	}
	least := &ws[0]
	for i := range ws {
		if ws[i].remainsLess(least) {
			least = &ws[i]
		}
	}
	return *least, true
}

// remainsLess compares what remains, which is 0 or more: windows with other
// decimals have other units.
func (w *WindowState) remainsLess(than *WindowState) bool {
	whole, billionths := cutDecimals(w.Remaining, w.Scale)
	otherWhole, otherBillionths := cutDecimals(than.Remaining, than.Scale)
	return whole < otherWhole || whole == otherWhole && billionths < otherBillionths
}

// cutDecimals cuts n units of 10^-scale at the point.
func cutDecimals(n int64, scale uint8) (whole, billionths int64) {
	unit, rest := int64(1), int64(1)
	for i := range uint8(9) {
		if i < scale {
			unit *= 10
		} else {
			rest *= 10
		}
	}
	return n / unit, n % unit * rest
}

func (d *Decision) all() []WindowState {
	if d.spill != nil {
		return d.spill
	}
	return d.inline[:]
}

// Reserve makes room for windows: first the enforced ones, then those of
// shadow limits. It is for engines that fill a Decision.
func (d *Decision) Reserve(enforced, shadow int) {
	if n := enforced + shadow; n > inlineWindows {
		d.spill = make([]WindowState, n)
	}
	d.enforced, d.shadow = int32(enforced), int32(shadow)
}

// WindowState says how one window of one limit stands for one key.
type WindowState struct {
	// Rule and Limit name it: the rule's name and the limit's text as
	// written, such as "10 per 24h".
	Rule, Limit string
	// Used, Max and Remaining count in units of cost; of a sum, in units of
	// 10^-Scale. Remaining is never negative, even after Max was lowered. Of
	// gcra, Max is the burst: what the window holds at one instant.
	Used, Max, Remaining int64
	// RetryAfter is the delay until the event would fit into this window. 0
	// unless it refused.
	RetryAfter time.Duration
	// RetryAfterEvents is the same in checks, for a window of events.
	RetryAfterEvents int64
	// ResetAfter is the delay until the window is empty; 0 when it is.
	ResetAfter time.Duration
	// Scale is the number of decimals in Used, Max and Remaining.
	Scale uint8
	// Refused says that this window had no room for the event.
	Refused bool
	// Never says that the event can never fit into it.
	Never bool
}
