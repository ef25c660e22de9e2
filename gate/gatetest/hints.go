package gatetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
)

// checkWant reports what is wrong with what a line wants.
func (l *line) checkWant() error {
	if n := len(l.want); l.verb == "report" && n > 1 && l.want[n-2] == "of" && !strings.Contains(l.want[n-1], "=") {
		return fmt.Errorf("of %s stands in front of the arrow: report … of %s -> …", l.want[n-1], l.want[n-1])
	}
	if n := len(l.want); l.verb == "check" && n > 1 && l.want[n-2] == "as" && !strings.Contains(l.want[n-1], "=") && l.want[n-1] != "never" {
		return fmt.Errorf("as %s stands in front of the arrow: check … as %s -> …", l.want[n-1], l.want[n-1])
	}
	if err := unquoted(l.want); err != nil {
		return err
	}
	for _, w := range l.want {
		name, value, named := cutPair(w)
		if !named {
			continue
		}
		base, _, bracket := strings.Cut(name, "[")
		if !known(name) && !bracket && known(name+"[]") {
			return fmt.Errorf("%q: say of which window, in quotes, as in \"%s[10 per 24h]=%s\"", w, name, value)
		}
		if !known(name) {
			return fmt.Errorf("%q: nothing that comes back has the name %s", w, name)
		}
		if (base == "retry_after" || base == "reset_after") && value != "" {
			if _, err := parseDuration(value); err != nil {
				return fmt.Errorf("%s: %w", quote(w), err)
			}
		}
	}
	return nil
}

// unquoted reports a limit that was cut at its blanks.
func unquoted(want []string) error {
	per := slices.Index(want, "per")
	if per < 1 || per+1 >= len(want) {
		return nil
	}
	from, to := per-1, per+2
	for from > 0 && !strings.ContainsAny(want[from], "[=") {
		from--
	}
	if !strings.ContainsAny(want[from], "[=") {
		return nil // a rule called per
	}
	for to < len(want) && strings.Contains(want[from], "[") && !strings.Contains(want[to-1], "]") {
		to++
	}
	return fmt.Errorf("%s: quote a word with blanks in it: %s", want[from], quote(strings.Join(want[from:to], " ")))
}

// checkArgs reports what belongs behind an arrow and stands in front of where
// it would be.
func (l *line) checkArgs() error {
	if l.verb != "check" && l.verb != "query" && l.verb != "report" {
		return nil
	}
	for _, w := range l.args {
		if text, ok := strings.CutPrefix(w, "->"); ok {
			return fmt.Errorf("%q: a blank stands behind the arrow: -> %s", w, text)
		}
		name, _, named := cutPair(w)
		expectation := isAction(w) || named && strings.Contains(name, "[") && known(name)
		if expectation && !l.arrow && w != l.args[0] {
			return fmt.Errorf("%q: what must come back stands behind an arrow: -> %s", w, quote(w))
		}
	}
	return nil
}

// noTime is the error for a text that is no time. One that Go would read is
// written as it must be.
func noTime(text string) error {
	d, err := time.ParseDuration(text)
	if err == nil && d >= 0 && d%time.Microsecond == 0 && strings.Trim(text, "0123456789hmsuµ") == "" {
		return fmt.Errorf("%q is no time: say %s", text, formatDuration(d))
	}
	return fmt.Errorf("%q is no time: say a whole number and us, ms, s, m, h or d", text)
}

// unmet says that no rule applies to the events of a check, if that is so.
func (s *script) unmet(evs []slidegate.Event) string {
	for i := range evs {
		x, err := s.gate.Explain(background, evs[i])
		if err != nil {
			return ""
		}
		for _, r := range x.Rules {
			if r.Applies {
				return ""
			}
		}
	}
	return "no rule applies to this event"
}

var errNoRules = errors.New("a script begins with its rules: rules FILE")
