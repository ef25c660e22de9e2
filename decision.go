package slidegate

import (
	"fmt"
	"time"
)

// Action is what is to be done with an event, from the mildest to the
// sternest. Actions are ordered: of several, the greatest wins.
type Action uint8

// The actions. Allow, Degrade and Queue admit.
const (
	// Allow: go on.
	Allow Action = 0
	// Degrade: go on with less, as Decision.With says.
	Degrade Action = 10
	// Challenge: ask for what Decision.With says, such as a captcha, and come
	// back with it in Event.Passed.
	Challenge Action = 20
	// Queue: go on after Decision.RetryAfter. The place is taken already.
	Queue Action = 30
	// Reject: do not go on.
	Reject Action = 40
	// Lock: do not go on, and for some time nothing else of this key either.
	Lock Action = 50
)

// Actions are all actions, from the mildest to the sternest.
func Actions() []Action { return []Action{Allow, Degrade, Challenge, Queue, Reject, Lock} }

// ParseAction returns the action called name.
func ParseAction(name string) (Action, bool) {
	for _, a := range Actions() {
		if a.String() == name {
			return a, true
		}
	}
	return Allow, false
}

// Admits reports whether an event with this action may go on, at once or later.
func (a Action) Admits() bool { return a == Allow || a == Degrade || a == Queue }

// String returns the action's name in lower case, as JSON and rule files
// write it.
func (a Action) String() string {
	switch a {
	case Allow:
		return "allow"
	case Degrade:
		return "degrade"
	case Challenge:
		return "challenge"
	case Queue:
		return "queue"
	case Reject:
		return "reject"
	case Lock:
		return "lock"
	}
	return fmt.Sprintf("action(%d)", uint8(a))
}

// Reasons of a decision that is not an allowance.
const (
	// ReasonLimit: a window is full.
	ReasonLimit = "limit"
	// ReasonLock: the key is locked, since earlier or by this event.
	ReasonLock = "lock"
	// ReasonDeny: the event is on the deny list of the rules.
	ReasonDeny = "deny"
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
	// ID names this decision, for Refund, Release and Renew. Its text is made
	// when asked for.
	ID ID
	// Action is what to do. See Admitted.
	Action Action
	// Rule is the name of the rule that decided on the action: of those whose
	// limits ask for it, the one that takes longest to pass. Empty when the
	// action is Allow.
	Rule string
	// Reason is one of the Reason constants. Empty when the action is Allow.
	Reason string
	// Message is what the rule has to say to the person. Empty when the action
	// is Allow or when the rule has no message.
	Message string
	// With says how to degrade, or what challenge to put: the word that the
	// rule has for it. Of an event that is queued, it says how to degrade, if
	// some limit asks for that too. Empty otherwise.
	With string
	// RetryAfter is the delay until this same event could pass if nothing
	// else happened: true to the microsecond. When the action is Queue, it is
	// the delay until the event may go on. 0 when there is no such time: when
	// the action is Allow, Degrade or Challenge, when Never, or when the wait
	// is counted in events. For what is in flight it is the latest that a place
	// can come free: one may be released sooner.
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

// Admitted reports whether the event may go on: at once, or, when it is queued,
// after RetryAfter.
func (d *Decision) Admitted() bool { return d.Action.Admits() }

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
	// unless it refused or, as a queue, took a place for that time.
	RetryAfter time.Duration
	// RetryAfterEvents is the same in checks, for a window of events.
	RetryAfterEvents int64
	// ResetAfter is the delay until the window is empty; 0 when it is.
	ResetAfter time.Duration
	// Scale is the number of decimals in Used, Max and Remaining.
	Scale uint8
	// Refused says that this window had no room for the event.
	Refused bool
	// Yielded says that it had none and let the event through, without charging
	// it: it degrades, or its challenge was passed.
	Yielded bool
	// Never says that the event can never fit into it.
	Never bool
	// Locked says that this window has the key locked; RetryAfter is then no less than
	// the delay until the end.
	Locked bool
}
