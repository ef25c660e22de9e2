package slidegate

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// CutEvent reads the event at the front of text, before which there may be blanks, and
// returns what follows it. It is for readers of arrays of events, which it takes
// through the text once. It reports false where there is no event that
// [Event.UnmarshalJSON] reads; that says what is wrong.
//
// It allocates a list for the attributes, and texts only for those that hold escapes:
// the others are parts of text, which stays in memory as long as any of them does.
func CutEvent(text string) (ev Event, rest string, ok bool) {
	c := cursor{text: text}
	if !c.event(&ev) {
		return Event{}, text, false
	}
	return ev, text[c.at:], true
}

// cursor is a place in a text of JSON. Its methods read what lies there, and report
// false where something else does. None says what: the parser of tokens reads such a
// text once more, from the front.
type cursor struct {
	text string
	at   int
	seen fields
}

// fields are fields of an event.
type fields uint8

const (
	fieldEvent fields = 1 << iota
	fieldAttrs
	fieldCost
	fieldPassed
	fieldOutcome
	fieldDecision
	fieldTime
)

// first reports whether a field was not seen before.
func (c *cursor) first(field fields) bool {
	was := c.seen
	c.seen |= field
	return was&field == 0
}

// event reads an event. There are two levels of brackets, so nothing calls itself.
func (c *cursor) event(ev *Event) bool {
	if !c.take('{') {
		return false
	}
	if c.take('}') {
		return true
	}
	for {
		name, ok := c.name()
		if !ok || !c.field(ev, name) {
			return false
		}
		if !c.take(',') {
			return c.take('}')
		}
	}
}

func (c *cursor) field(ev *Event, name string) (ok bool) {
	switch name {
	case "event":
		ev.Name, ok = c.quoted()
		return ok && c.first(fieldEvent)
	case "attrs":
		return c.first(fieldAttrs) && c.attrs(ev)
	case "cost":
		n, err := strconv.ParseInt(c.number(), 10, 64)
		ev.Cost = CostOf(n)
		return err == nil && c.first(fieldCost)
	case "passed":
		return c.first(fieldPassed) && c.passed(ev)
	case "outcome":
		text, _ := c.quoted()
		ev.Outcome, ok = ParseOutcome(text)
		return ok && c.first(fieldOutcome)
	case "decision":
		ev.Decision, ok = c.quoted()
		return ok && ev.Decision != "" && c.first(fieldDecision)
	case "time":
		return c.first(fieldTime) && c.time(ev)
	}
	return false
}

func (c *cursor) attrs(ev *Event) bool {
	if !c.take('{') {
		return false
	}
	if c.take('}') {
		return true
	}
	ev.Attrs = make([]Attr, 0, 4)
	var names map[string]bool // as soon as there are many
	for {
		name, ok := c.name()
		if !ok || names[name] || names == nil && has(ev.Attrs, name) {
			return false
		}
		value, ok := c.value()
		if !ok {
			return false
		}
		ev.Attrs = append(ev.Attrs, Attr{name, value})
		switch {
		case names != nil:
			names[name] = true
		case len(ev.Attrs) == manyAttrs:
			names = namesOf(ev.Attrs)
		}
		if !c.take(',') {
			return c.take('}')
		}
	}
}

func namesOf(attrs []Attr) map[string]bool {
	names := make(map[string]bool, 2*len(attrs))
	for i := range attrs {
		names[attrs[i].Name] = true
	}
	return names
}

// value reads the value of an attribute.
func (c *cursor) value() (Value, bool) {
	if c.next() == '"' {
		text, ok := c.quoted()
		return TextValue(text), ok
	}
	number, err := NumberValue(c.number())
	return number, err == nil
}

func (c *cursor) passed(ev *Event) bool {
	if !c.take('[') {
		return false
	}
	if c.take(']') {
		return true
	}
	for {
		name, ok := c.quoted()
		if !ok {
			return false
		}
		ev.Passed = append(ev.Passed, name)
		if !c.take(',') {
			return c.take(']')
		}
	}
}

func (c *cursor) time(ev *Event) bool {
	var token json.Token
	if c.next() == '"' {
		text, ok := c.quoted()
		if !ok {
			return false
		}
		token = text
	} else {
		token = json.Number(c.number())
	}
	var err error
	ev.Time, err = parseTime(token)
	return err == nil
}

// next returns the first byte that is no blank, and 0 at the end.
func (c *cursor) next() byte {
	for ; c.at < len(c.text); c.at++ {
		switch b := c.text[c.at]; b {
		case ' ', '\t', '\r', '\n':
		default:
			return b
		}
	}
	return 0
}

// take goes past b, and blanks before it, if that is what comes next.
func (c *cursor) take(b byte) bool {
	if c.next() != b {
		return false
	}
	c.at++
	return true
}

// name reads the name of a member, and the colon.
func (c *cursor) name() (string, bool) {
	name, ok := c.quoted()
	return name, ok && c.take(':')
}

// number reads a number as it is spelled; "" where there is none. What it reads need
// not be one.
func (c *cursor) number() string {
	c.next()
	from := c.at
	for c.at < len(c.text) && inNumber(c.text[c.at]) {
		c.at++
	}
	if number := c.text[from:c.at]; isJSONNumber(number) {
		return number
	}
	return ""
}

func inNumber(b byte) bool {
	return b >= '0' && b <= '9' || b == '-' || b == '+' || b == '.' || b|0x20 == 'e'
}

// quoted reads a text.
func (c *cursor) quoted() (string, bool) {
	if !c.take('"') {
		return "", false
	}
	all := byte(0) // the bits of all bytes
	for i := c.at; i < len(c.text); i++ {
		b := c.text[i]
		if b == '"' {
			text := c.text[c.at:i]
			c.at = i + 1
			return text, all < utf8.RuneSelf || utf8.ValidString(text)
		}
		if b == '\\' {
			return c.escaped(i)
		}
		if b < ' ' {
			return "", false
		}
		all |= b
	}
	return "", false
}

// escaped reads the rest of a text whose first escape is at i.
func (c *cursor) escaped(i int) (string, bool) {
	out := append(make([]byte, 0, i-c.at+32), c.text[c.at:i]...)
	c.at = i
	for c.at < len(c.text) {
		b := c.text[c.at]
		switch {
		case b == '"':
			c.at++
			text := string(out)
			return text, utf8.ValidString(text)
		case b < ' ':
			return "", false
		case b != '\\':
			out = append(out, b)
			c.at++
		default:
			r := c.escape()
			if r < 0 {
				return "", false
			}
			out = utf8.AppendRune(out, r)
		}
	}
	return "", false
}

// What may follow a backslash, beside u, and what it means.
const (
	escapes  = `"\/bfnrt`
	meanings = "\"\\/\b\f\n\r\t"
)

// escape reads what is escaped, both halves of a surrogate pair, or returns -1.
func (c *cursor) escape() rune {
	rest := c.text[c.at:]
	if len(rest) < 2 {
		return -1
	}
	if i := strings.IndexByte(escapes, rest[1]); i >= 0 {
		c.at += 2
		return rune(meanings[i])
	}
	unit, ok := escapedUnit(rest)
	if !ok {
		return -1
	}
	c.at += 6
	if !utf16.IsSurrogate(unit) {
		return unit
	}
	low, ok := escapedUnit(rest[6:])
	pair := utf16.DecodeRune(unit, low)
	if !ok || pair == utf8.RuneError {
		return -1
	}
	c.at += 6
	return pair
}
