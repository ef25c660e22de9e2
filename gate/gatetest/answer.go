package gatetest

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
)

// answer is what a line got, in the words of expectations.
type answer struct {
	words  []string          // without a name, in order: the action, the rule
	values map[string]string // with a name
	order  []string          // names that a rewritten line shows by default
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
	if n, ok := d.Remaining(); ok {
		a.set("remaining", leastRemaining(d, n), d.Admitted())
	}
	if d.Reason != "" {
		a.set("reason", d.Reason, d.Reason != slidegate.ReasonLimit)
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
	windowAnswers(&a, d.Windows())
	a.set("by", refusing(d.Windows()), false)
	a.set("shadow", refusing(d.Shadow()), refusing(d.Shadow()) != "")
	return a
}

// leastRemaining writes n with the decimals of the window that has it.
func leastRemaining(d *slidegate.Decision, n int64) string {
	for _, w := range d.Windows() {
		if w.Remaining == n {
			return slidegate.FormatUnits(n, w.Scale)
		}
	}
	return strconv.FormatInt(n, 10)
}

// windowAnswers sets used[LIMIT], remaining[LIMIT] and so on.
func windowAnswers(a *answer, ws []slidegate.WindowState) {
	for _, w := range ws {
		at := "[" + w.Limit + "]"
		a.set("used"+at, slidegate.FormatUnits(w.Used, w.Scale), false)
		a.set("max"+at, slidegate.FormatUnits(w.Max, w.Scale), false)
		a.set("remaining"+at, slidegate.FormatUnits(w.Remaining, w.Scale), false)
		a.set("reset_after"+at, formatDuration(w.ResetAfter), false)
		if w.RetryAfter > 0 {
			a.set("retry_after"+at, formatDuration(w.RetryAfter), false)
		}
	}
}

// refusing lists the limits of the windows that refused.
func refusing(ws []slidegate.WindowState) string {
	var texts []string
	for _, w := range ws {
		if w.Refused {
			texts = append(texts, w.Limit)
		}
	}
	return strings.Join(texts, ",")
}

// queryAnswer says how windows stand.
func queryAnswer(ws []slidegate.WindowState) answer {
	var a answer
	windowAnswers(&a, ws)
	for _, w := range ws {
		a.order = append(a.order, "used["+w.Limit+"]")
	}
	return a
}

// holds reports whether the answer has every word that is wanted.
func (a *answer) holds(want []string) bool {
	words := 0
	for _, w := range want {
		name, value, named := strings.Cut(w, "=")
		if !named {
			if words >= len(a.words) || !contains(a.words[words:], w) {
				return false
			}
			words++
			continue
		}
		if got, ok := a.values[name]; !equal(value, got) || !ok && value != "" {
			return false
		}
	}
	return true
}

func contains(words []string, w string) bool {
	for _, have := range words {
		if have == w {
			return true
		}
	}
	return false
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
		if name, _, ok := strings.Cut(w, "="); ok {
			parts = append(parts, a.pair(name))
			named = true
		}
	}
	if !named {
		for _, name := range a.order {
			parts = append(parts, a.pair(name))
		}
	}
	return strings.Join(parts, " ")
}

func (a *answer) pair(name string) string {
	value := a.values[name]
	if strings.ContainsAny(name+value, " \t\"#\\") {
		return quote(name + "=" + value)
	}
	return name + "=" + value
}

// tally counts the actions of a line that was done several times.
type tally map[string]int

func (t tally) answer() answer {
	var a answer
	names := make([]string, 0, len(t))
	for name := range t {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		a.set(name, strconv.Itoa(t[name]), true)
	}
	return a
}

// asksTally reports whether a line wants counts of actions.
func asksTally(want []string) bool {
	for _, w := range want {
		name, _, ok := strings.Cut(w, "=")
		if !ok || name != slidegate.Allow.String() && name != slidegate.Reject.String() {
			return false
		}
	}
	return len(want) > 0
}

func atText(d time.Duration) string { return fmt.Sprintf("at %s", formatDuration(d)) }
