package gatetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slidegate/slidegate"
)

// Names of what refused. Their values are lists of limits.
const (
	nameBy     = "by"
	nameShadow = "shadow"
)

// value returns what came back under a name. want is what is expected of it: it
// says whether limits are written LIMIT or RULE: LIMIT.
func (a *answer) value(name, want string) (value string, ok bool) {
	switch name {
	case nameBy, nameShadow:
		ws := a.list(name)
		qualified := strings.Contains(want, ": ") || slices.ContainsFunc(ws, func(w slidegate.WindowState) bool {
			return w.Refused && len(rulesWith(ws, w.Limit)) > 1
		})
		if want != "" && sameLimits(want, ws) {
			return want, true
		}
		return refusing(ws, qualified), len(a.words) > 0
	}
	base, inside, bracket := strings.Cut(name, "[")
	if !bracket {
		value, ok = a.values[name]
		return value, ok
	}
	w := a.window(strings.TrimSuffix(inside, "]"))
	if w == nil {
		return "", false
	}
	return windowValue(base, w)
}

// cutPair cuts a word into the name and the value of what is wanted. A limit between
// brackets may hold an equals sign, in its condition.
func cutPair(word string) (name, value string, ok bool) {
	from := strings.IndexAny(word, "[=")
	if to := strings.LastIndex(word, "]="); from >= 0 && word[from] == '[' && to > from {
		return word[:to+1], word[to+2:], true
	}
	return strings.Cut(word, "=")
}

// list returns the windows that a name is about.
func (a *answer) list(name string) []slidegate.WindowState {
	if name == nameShadow {
		return a.shadow
	}
	return a.windows
}

// window returns the window called LIMIT or RULE: LIMIT, of several the last,
// and nil if there is none. Enforced limits come first.
func (a *answer) window(text string) *slidegate.WindowState {
	for _, ws := range [][]slidegate.WindowState{a.windows, a.shadow} {
		for i := range slices.Backward(ws) {
			if called(&ws[i], text) {
				return &ws[i]
			}
		}
	}
	return nil
}

func called(w *slidegate.WindowState, text string) bool {
	return text == w.Limit || text == qualify(w)
}

func qualify(w *slidegate.WindowState) string { return w.Rule + ": " + w.Limit }

// windowValue returns one number of a window.
func windowValue(base string, w *slidegate.WindowState) (value string, ok bool) {
	switch base {
	case "used":
		return slidegate.FormatUnits(w.Used, w.Scale), true
	case "max":
		return slidegate.FormatUnits(w.Max, w.Scale), true
	case "remaining":
		return slidegate.FormatUnits(w.Remaining, w.Scale), true
	case "reset_after":
		return formatDuration(w.ResetAfter), true
	case "retry_after":
		if w.RetryAfter > 0 {
			return formatDuration(w.RetryAfter), true
		}
	}
	return "", false
}

// refusing lists the limits of the windows that refused.
func refusing(ws []slidegate.WindowState, qualified bool) string {
	var texts []string
	for i := range ws {
		switch {
		case !ws[i].Refused:
		case qualified:
			texts = append(texts, qualify(&ws[i]))
		default:
			texts = append(texts, ws[i].Limit)
		}
	}
	return strings.Join(texts, ",")
}

// sameLimits reports whether a list names the windows that refused, in order.
func sameLimits(want string, ws []slidegate.WindowState) bool {
	var refused []*slidegate.WindowState
	for i := range ws {
		if ws[i].Refused {
			refused = append(refused, &ws[i])
		}
	}
	return slices.EqualFunc(strings.Split(want, ","), refused, func(text string, w *slidegate.WindowState) bool { return called(w, text) })
}

// rulesWith returns the rules that have a window of a limit.
func rulesWith(ws []slidegate.WindowState, limit string) []string {
	var rules []string
	for i := range ws {
		if ws[i].Limit == limit && !slices.Contains(rules, ws[i].Rule) {
			rules = append(rules, ws[i].Rule)
		}
	}
	return rules
}

// doubt reports a name that fits windows of several rules.
func (a *answer) doubt(want []string) error {
	for _, w := range want {
		name, value, _ := cutPair(w)
		var limits []string
		ws := a.list(name)
		if _, inside, bracket := strings.Cut(name, "["); bracket {
			limits = []string{strings.TrimSuffix(inside, "]")}
			if a.window(limits[0]) != nil && len(rulesWith(ws, limits[0])) == 0 {
				ws = a.shadow
			}
		} else if name == nameBy || name == nameShadow {
			limits = strings.Split(value, ",")
		}
		for _, limit := range limits {
			if rules := rulesWith(ws, limit); len(rules) > 1 {
				whole := strings.Replace(w, limit, rules[0]+": "+limit, 1)
				return fmt.Errorf("%s: the rules %s have a window of this name: name the rule too, as in %s",
					quote(w), strings.Join(rules, " and "), quote(whole))
			}
		}
	}
	return nil
}

// misnamed reports a window that a line asks for and that its rules do not have: all
// rules that are in force, or the one of a query. What an override calls a window is
// known from when it first came back.
func (s *script) misnamed(l *line, a *answer) error {
	for _, w := range slices.Concat(a.windows, a.shadow) {
		s.seen[qualify(&w)] = true
	}
	for _, w := range l.want {
		limit, missing := a.missing(w)
		if !missing {
			continue
		}
		all := s.windows(l)
		if slices.ContainsFunc(all, func(w slidegate.WindowState) bool { return called(&w, limit) }) {
			continue
		}
		if back := slices.Concat(a.windows, a.shadow); len(back) > 0 {
			all = back // one of these was meant
		}
		return fmt.Errorf("%s: there is no window %q; there are %s", quote(w), limit, windowNames(all))
	}
	return nil
}

// windows returns the names of the windows of the rules that a line is about.
func (s *script) windows(l *line) []slidegate.WindowState {
	var all []slidegate.WindowState
	for _, r := range s.plan.Rules() {
		if l.verb == "query" && r.Name != l.args[0] {
			continue
		}
		for _, limit := range r.All() {
			all = append(all, slidegate.WindowState{Rule: r.Name, Limit: limit.Text})
		}
	}
	known := map[string]bool{}
	for i := range all {
		known[qualify(&all[i])] = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.seen)) {
		of, limit, _ := strings.Cut(name, ": ")
		if !known[name] && (l.verb != "query" || of == l.args[0]) {
			all = append(all, slidegate.WindowState{Rule: of, Limit: limit})
		}
	}
	return all
}

// maxNamed bounds the windows that a message names.
const maxNamed = 10

// windowNames lists windows for a message.
func windowNames(ws []slidegate.WindowState) string {
	var all []string
	for i := range ws[:min(len(ws), maxNamed)] {
		all = append(all, quote(qualify(&ws[i])))
	}
	if len(ws) > maxNamed {
		all = append(all, "…")
	}
	return strings.Join(all, ", ")
}

// missing returns the limit of which a word wants the window, and whether that window
// did not come back.
func (a *answer) missing(word string) (limit string, missing bool) {
	name, _, _ := cutPair(word)
	_, inside, bracket := strings.Cut(name, "[")
	limit = strings.TrimSuffix(inside, "]")
	return limit, bracket && a.window(limit) == nil
}

// note says what may be the reason why an answer does not hold: a window that did
// not come back, an event that met no rule.
func (a *answer) note(want []string) string {
	for _, w := range want {
		if limit, missing := a.missing(w); missing && len(a.windows)+len(a.shadow) > 0 {
			return fmt.Sprintf("no window %q came back, but %s", limit, windowNames(slices.Concat(a.windows, a.shadow)))
		}
	}
	if a.why == nil {
		return ""
	}
	return a.why()
}
