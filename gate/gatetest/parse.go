package gatetest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
)

// maxTimes is how often a line may be done.
const maxTimes = 1_000_000

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
	// head and tail are where the text ends in front of what is wanted, and
	// where it goes on behind it: with a comment, if there is one.
	head, tail int
}

// times are the instants of a line, from the start of the script.
type times struct {
	from, to, every time.Duration
	relative        bool // from is from the line before
	given           bool
}

// word is one word of a line and where it stands in it.
type word struct {
	text     string
	from, to int
}

func texts(words []word) []string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.text
	}
	return all
}

// parseLine reads one line; nil for an empty one.
func parseLine(number int, text string) (*line, error) {
	words, err := split(text)
	if err != nil || len(words) == 0 {
		return nil, err
	}
	l := &line{number: number, text: text, count: 1}
	if words[0].text == "at" {
		if len(words) < 3 {
			return nil, errors.New("want: at TIME VERB …")
		}
		if l.at, err = parseTimes(words[1].text); err != nil {
			return nil, err
		}
		words = words[2:]
	}
	if n, ok := strings.CutSuffix(words[0].text, "x"); ok && len(words) > 1 {
		if l.count, err = strconv.Atoi(n); err != nil || l.count < 1 || l.count > maxTimes {
			return nil, fmt.Errorf("%q: how often is a number and an x, such as 3x, at most %dx", words[0].text, maxTimes)
		}
		words = words[1:]
	}
	l.verb, words = words[0].text, words[1:]
	l.args = texts(words)
	for i, w := range words {
		if text[w.from:w.to] == "->" {
			l.args, l.want, l.arrow = l.args[:i], l.args[i+1:], true
			l.head, l.tail = w.to, words[len(words)-1].to
			break
		}
	}
	return l, l.check()
}

// check reports what is wrong with a line by itself.
func (l *line) check() error {
	if every := l.at.every; every > 0 && int64((l.at.to-l.at.from)/every) >= int64(maxTimes/l.count) {
		return fmt.Errorf("a line is done at most %d times", maxTimes)
	}
	if err := l.checkWant(); err != nil {
		return err
	}
	return l.checkArgs()
}

// split cuts a line into words at white space, up to a comment. Double quotes
// hold words together; inside, \" and \\ stand for themselves and \n for the
// end of a line.
func split(text string) ([]word, error) {
	var words []word
	var b strings.Builder
	in, quoted, from := false, false, 0
	begin := func(i int) {
		if !in {
			in, from = true, i
		}
	}
	flush := func(i int) {
		if in {
			words = append(words, word{b.String(), from, i})
			b.Reset()
			in = false
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(unescape(text[i]))
		case c == '"':
			begin(i)
			quoted = !quoted
		case quoted:
			b.WriteByte(c)
		case c == ' ' || c == '\t' || c == '\r':
			flush(i)
		case c == '#' && !in:
			return words, nil
		default:
			begin(i)
			b.WriteByte(c)
		}
	}
	if quoted {
		return nil, errors.New("a quote is not closed")
	}
	flush(len(text))
	return words, nil
}

// unescape returns what stands for c behind a backslash.
func unescape(c byte) byte {
	if c == 'n' {
		return '\n'
	}
	return c
}

// quote writes a word so that split reads it back.
func quote(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\r\n\"#\\") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(word) + `"`
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
	return 0, noTime(text)
}

// formatDuration writes d in the largest of h, m, s, ms, us that is exact.
func formatDuration(d time.Duration) string {
	switch {
	case d == 0:
		return "0s"
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	case d%time.Millisecond == 0:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	}
	return fmt.Sprintf("%dus", d/time.Microsecond)
}

// ParseEvent reads an event as scripts and command lines write it: a name, then
// attributes as name=value, cost=N, passed=NAME for a challenge that was met
// (several with commas between them), and outcome=success or outcome=failure. A value that is a number in the grammar
// of JSON is a number, everything else a text.
//
//	sms.send phone=13800000000 ip=192.0.2.9
func ParseEvent(words []string) (slidegate.Event, error) {
	if len(words) == 0 {
		return slidegate.Event{}, errors.New("an event begins with its name, as in: sms.send phone=13800000000")
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
		case name == "passed":
			ev.Passed = append(ev.Passed, strings.Split(value, ",")...)
		case name == "outcome":
			if ev.Outcome, ok = slidegate.ParseOutcome(value); !ok {
				return ev, fmt.Errorf("%q: an outcome is success or failure", w)
			}
		case name == "id" || name == "decision" || name == "time":
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
func SplitWords(text string) ([]string, error) {
	words, err := split(text)
	return texts(words), err
}
