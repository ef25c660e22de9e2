package gatetest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
)

// line is one line of a script that does something.
type line struct {
	number int
	text   string // as written
	at     times
	count  int // how often it is done at each instant
	verb   string
	args   []string
	want   []string // after the arrow
	arrow  bool     // there is one
}

// times are the instants of a line, from the start of the script.
type times struct {
	from, to, every time.Duration
	relative        bool // from is from the line before
	given           bool
}

// parseLine reads one line; nil for an empty one.
func parseLine(number int, text string) (*line, error) {
	words, err := split(text)
	if err != nil || len(words) == 0 {
		return nil, err
	}
	l := &line{number: number, text: text, count: 1}
	if words[0] == "at" {
		if len(words) < 3 {
			return nil, fmt.Errorf("want: at TIME VERB …")
		}
		if l.at, err = parseTimes(words[1]); err != nil {
			return nil, err
		}
		words = words[2:]
	}
	if n, ok := strings.CutSuffix(words[0], "x"); ok && len(words) > 1 {
		if l.count, err = strconv.Atoi(n); err != nil || l.count < 1 || l.count > 1_000_000 {
			return nil, fmt.Errorf("%q: how often is a number and an x, such as 3x", words[0])
		}
		words = words[1:]
	}
	l.verb, words = words[0], words[1:]
	for i, w := range words {
		if w == "->" {
			l.args, l.want, l.arrow = words[:i], words[i+1:], true
			return l, nil
		}
	}
	l.args = words
	return l, nil
}

// split cuts a line into words at white space, up to a comment. Double quotes
// hold words together; inside, \" and \\ stand for themselves.
func split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	in, quoted := false, false
	flush := func() {
		if in {
			words = append(words, word.String())
			word.Reset()
			in = false
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
		case c == '"':
			quoted, in = !quoted, true
		case quoted:
			word.WriteByte(c)
		case c == ' ' || c == '\t' || c == '\r':
			flush()
		case c == '#' && !in:
			return words, nil
		default:
			in = true
			word.WriteByte(c)
		}
	}
	if quoted {
		return nil, fmt.Errorf("a quote is not closed")
	}
	flush()
	return words, nil
}

// quote writes a word so that split reads it back.
func quote(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\"#\\") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

// parseTimes reads 10s, +5s, or 0s..60s/400ms.
func parseTimes(text string) (t times, err error) {
	t.given = true
	if rest, ok := strings.CutPrefix(text, "+"); ok {
		t.relative, text = true, rest
	}
	from, rest, several := strings.Cut(text, "..")
	if t.from, err = parseDuration(from); err != nil {
		return t, err
	}
	t.to = t.from
	if !several {
		return t, nil
	}
	to, every, ok := strings.Cut(rest, "/")
	if !ok {
		return t, fmt.Errorf("%q: say from..to/step, such as 0s..60s/400ms", text)
	}
	if t.to, err = parseDuration(to); err != nil {
		return t, err
	}
	if t.every, err = parseDuration(every); err != nil {
		return t, err
	}
	if t.every <= 0 || t.to < t.from || t.relative {
		return t, fmt.Errorf("%q: time goes forward, by a step over 0", text)
	}
	return t, nil
}

// parseDuration reads a whole number and one of us, ms, s, m, h, d.
func parseDuration(text string) (time.Duration, error) {
	units := []struct {
		name string
		unit time.Duration
	}{{"us", time.Microsecond}, {"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}}
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n >= 0 && n <= int64(1<<62/u.unit) {
			return time.Duration(n) * u.unit, nil
		}
	}
	return 0, fmt.Errorf("%q is no time: say a whole number and us, ms, s, m, h or d", text)
}

// formatDuration writes d in the largest of s, ms, us that is exact.
func formatDuration(d time.Duration) string {
	switch {
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	case d%time.Millisecond == 0:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	}
	return fmt.Sprintf("%dus", d/time.Microsecond)
}

// ParseEvent reads an event as scripts and command lines write it: a name, then
// attributes as name=value, and cost=N. A value that is a number in the grammar
// of JSON is a number, everything else a text.
//
//	sms.send phone=13800000000 ip=192.0.2.9
func ParseEvent(words []string) (slidegate.Event, error) {
	if len(words) == 0 {
		return slidegate.Event{}, fmt.Errorf("an event begins with its name, as in: sms.send phone=13800000000")
	}
	ev := slidegate.Event{Name: words[0]}
	if strings.Contains(ev.Name, "=") {
		return ev, fmt.Errorf("%q: an event begins with its name, as in: sms.send phone=13800000000", ev.Name)
	}
	for _, w := range words[1:] {
		name, value, ok := strings.Cut(w, "=")
		switch {
		case !ok || name == "":
			return ev, fmt.Errorf("%q: an attribute is name=value", w)
		case name == "cost":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return ev, fmt.Errorf("%q: a cost is a whole number", w)
			}
			ev.Cost = slidegate.CostOf(n)
		case name == "outcome" || name == "passed" || name == "id" || name == "decision" || name == "time":
			return ev, fmt.Errorf("%q: %s cannot be given here", w, name)
		default:
			ev.Attrs = append(ev.Attrs, ParseAttr(name, value))
		}
	}
	return ev, ev.Validate()
}

// ParseAttr returns an attribute whose value is a number if it is spelled like
// one in JSON, and a text otherwise. As a part of a key both are the same.
func ParseAttr(name, value string) slidegate.Attr {
	if v, err := slidegate.NumberValue(value); err == nil {
		return slidegate.Attr{Name: name, Value: v}
	}
	return slidegate.String(name, value)
}

// SplitWords cuts a text into words as scripts do: at white space, with double
// quotes to hold a word together.
func SplitWords(text string) ([]string, error) { return split(text) }
