package gatetest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
)

// answer is what a line got, in the words of expectations.
type answer struct {
	words  []string          // without a name, in order: the action, the rule
	values map[string]string // with a name
	order  []string          // names that a rewritten line shows by default
	// windows and shadow are those of the limits that were judged.
	windows, shadow []slidegate.WindowState
	why             func() string // what else there is to say where it does not hold; may be nil
}

func (a *answer) set(name, value string, show bool) {
	if a.values == nil {
		a.values = map[string]string{}
	}
	a.values[name] = value
	if show {
		a.order = append(a.order, name)
	}
}

// decisionAnswer says what a decision is in the words of a script.
func decisionAnswer(d *slidegate.Decision) answer {
	a := answer{words: []string{d.Action.String()}}
	if d.Rule != "" {
		a.words = append(a.words, d.Rule)
	}
	if w, ok := d.Tightest(); ok {
		least := slidegate.FormatUnits(w.Remaining, w.Scale)
		a.set("remaining", least, d.Admitted())
	}
	if d.Reason != "" {
		a.set("reason", d.Reason, d.Reason != slidegate.ReasonLimit)
	}
	if d.With != "" {
		a.set("with", d.With, true)
	}
	if d.RetryAfter > 0 {
		a.set("retry_after", formatDuration(d.RetryAfter), true)
	}
	if d.RetryAfterEvents > 0 {
		a.set("retry_after_events", strconv.FormatInt(d.RetryAfterEvents, 10), true)
	}
	if d.Never {
		a.words = append(a.words, "never")
	}
	if d.Message != "" {
		a.set("message", d.Message, false)
	}
	a.windows, a.shadow = slices.Clone(d.Windows()), slices.Clone(d.Shadow())
	if refusing(a.shadow, false) != "" { // shown where there is one
		a.order = append(a.order, "shadow")
	}
	return a
}

// queryAnswer says how windows stand.
func queryAnswer(ws []slidegate.WindowState) answer {
	a := answer{windows: ws}
	for _, w := range ws {
		a.order = append(a.order, "used["+w.Limit+"]")
	}
	var d slidegate.Decision
	d.Reserve(len(ws), 0)
	copy(d.Windows(), ws)
	if w, ok := d.Tightest(); ok {
		a.set("remaining", slidegate.FormatUnits(w.Remaining, w.Scale), false)
	}
	return a
}

// reportAnswer says what came of a report.
func reportAnswer(r *gate.Reported, now time.Time) (a answer) {
	var until time.Duration
	for i := range r.Locked {
		l := &r.Locked[i]
		a.words = append(a.words, slidegate.Lock.String(), l.Rule)
		until = max(until, l.Until.Sub(now))
	}
	if until > 0 {
		a.set("retry_after", formatDuration(until), true)
	}
	if a.words = append(a.words, "recorded"); r.Settled {
		a.words[len(a.words)-1] = "settled"
	}
	q := queryAnswer(r.Windows)
	a.windows = q.windows
	if left, ok := q.values["remaining"]; ok {
		a.set("remaining", left, len(r.Locked) == 0)
	}
	return a
}

// known reports whether something that comes back can have this name.
func known(name string) bool {
	base, limit, bracket := strings.Cut(name, "[")
	switch base {
	case "used", "max", "reset_after":
		return bracket && strings.HasSuffix(limit, "]")
	case "remaining", "retry_after":
		return !bracket || strings.HasSuffix(limit, "]")
	case "reason", "retry_after_events", "message", "with", "by", "shadow", "error", "forgets":
		return !bracket
	}
	return isAction(name)
}

// holds reports whether the answer has every word that is wanted. Nothing that
// is wanted never holds: a line like that would look like a test and be none.
func (a *answer) holds(want []string) bool {
	next := 0
	for _, w := range want {
		name, value, named := cutPair(w)
		if !named {
			i := slices.Index(a.words[next:], w)
			if i < 0 || next == 0 && i > 0 && isAction(w) { // not a rule of that name
				return false
			}
			next += i + 1
			continue
		}
		if got, ok := a.value(name, value); !equal(value, got) || !ok && value != "" {
			return false
		}
	}
	return len(want) > 0
}

// equal compares values; 60s and 1m are the same.
func equal(want, got string) bool {
	if want == got {
		return true
	}
	w, err1 := parseDuration(want)
	g, err2 := parseDuration(got)
	return err1 == nil && err2 == nil && w == g
}

// shown writes the answer with the names that want asks for; without any, those
// that matter most.
func (a *answer) shown(want []string) string {
	parts := make([]string, 0, len(a.words)+len(a.order))
	for _, w := range a.words {
		parts = append(parts, quote(w))
	}
	named := false
	for _, w := range want {
		if name, value, ok := cutPair(w); ok {
			parts = append(parts, a.pair(name, value))
			named = true
		}
	}
	if !named {
		for _, name := range a.order {
			parts = append(parts, a.pair(name, ""))
		}
	}
	return strings.Join(parts, " ")
}

func (a *answer) pair(name, want string) string {
	value, _ := a.value(name, want)
	return quote(name + "=" + value)
}

// outcome is what a line got that was done once or several times.
type outcome struct {
	want     []string
	counting bool           // the line wants counts of actions
	counts   map[string]int // of actions
	others   bool           // one of the answers was not an action
	lastAt   time.Duration
	lastText string
	wrong    *answer // the first that does not hold
	wrongAt  time.Duration
	differ   bool // the answers read differently
}

func newOutcome(want []string) *outcome {
	counts := map[string]int{}
	for _, a := range slidegate.Actions() {
		counts[a.String()] = 0
	}
	return &outcome{want: want, counting: asksCounts(want), counts: counts}
}

// add takes the next answer.
func (o *outcome) add(at time.Duration, a answer, first bool) {
	text := a.shown(o.want)
	o.differ = o.differ || !first && text != o.lastText
	o.lastAt, o.lastText = at, text
	action := ""
	if len(a.words) > 0 {
		action = a.words[0]
	}
	if _, ok := o.counts[action]; ok {
		o.counts[action]++
	} else {
		o.others = true
	}
	if o.wrong == nil && !a.holds(o.want) {
		o.wrong, o.wrongAt = &a, at
	}
}

// result returns whether everything came back that is wanted and, if not, what
// came when. rewritten is what to want instead, "" if no words can say it.
func (o *outcome) result() (ok bool, at time.Duration, got, rewritten string) {
	if o.counting {
		a := o.tally()
		got = a.shown(o.want)
		return a.holds(o.want), o.lastAt, got, got
	}
	if o.wrong == nil {
		return true, o.lastAt, "", ""
	}
	got = o.wrong.shown(o.want)
	switch {
	case !o.differ:
		rewritten = got
	case !o.others:
		a := o.tally()
		rewritten = a.shown(nil)
	}
	return false, o.wrongAt, got, rewritten
}

// tally says how often each action came.
func (o *outcome) tally() answer {
	var a answer
	for _, name := range slices.Sorted(maps.Keys(o.counts)) {
		a.set(name, strconv.Itoa(o.counts[name]), o.counts[name] > 0)
	}
	return a
}

func isAction(w string) bool {
	_, ok := slidegate.ParseAction(w)
	return ok
}

// asksCounts reports whether a line wants counts of actions.
func asksCounts(want []string) bool {
	for _, w := range want {
		name, _, ok := cutPair(w)
		if !ok || !isAction(name) {
			return false
		}
	}
	return len(want) > 0
}
