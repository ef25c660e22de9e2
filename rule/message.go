package rule

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slidegate/slidegate"
)

// Message is what a person is told. Where the text holds <retry_after>,
// <remaining>, <limit> or <key.NAME>, the values of the decision stand there; <<
// is a <. The zero Message is empty.
type Message struct {
	text  string
	parts []messagePart // nil where the text holds no variable
}

// messagePart is a text, then a variable.
type messagePart struct {
	text  string
	name  string // "" at the end
	place int    // of a part of the key
}

// Facts are the values that a message may show.
type Facts struct {
	// RetryAfter, RetryAfterEvents and Never are those of the decision.
	RetryAfter       time.Duration
	RetryAfterEvents int64
	Never            bool
	// Window is the one that decided; nil where none did.
	Window *slidegate.WindowState
	// Key is the canonical key of the event.
	Key []byte
}

var reVariable = regexp.MustCompile(`<<|<([A-Za-z_][A-Za-z0-9_.-]*)>`)

// messageVariables are the names beside those of the key.
var messageVariables = []string{"retry_after", "remaining", "limit"}

// message compiles the message of a rule or limit, which is written at path.
func (c *compiler) message(path, text string, key []keyPart) Message {
	m := Message{text: text}
	at := 0
	for _, loc := range reVariable.FindAllStringSubmatchIndex(text, -1) {
		if loc[2] < 0 { // a < that is meant as one
			m.parts = append(m.parts, messagePart{text: text[at : loc[0]+1], name: "<"})
			at = loc[1]
			continue
		}
		name := text[loc[2]:loc[3]]
		part := messagePart{text: text[at:loc[0]], name: name}
		if attr, ok := strings.CutPrefix(name, "key."); ok {
			part.name = "key"
			part.place = slices.IndexFunc(key, func(p keyPart) bool { return p.reads(attr) })
			if err := c.showable(attr, part.place, key); err != "" {
				c.errorf(path, text, "<%s>: %s", name, err)
			}
		} else if !slices.Contains(messageVariables, name) {
			c.errorf(path, text, "<%s> is no variable of a message; there are <retry_after>, <remaining>, <limit> and, for an attribute of the key, <key.NAME>; write << for a <", name)
		}
		m.parts = append(m.parts, part)
		at = loc[1]
	}
	if m.parts != nil {
		m.parts = append(m.parts, messagePart{text: text[at:]})
	}
	return m
}

// showable says why a message cannot show an attribute of the key.
func (c *compiler) showable(attr string, place int, key []keyPart) string {
	if place < 0 {
		return "the key of the rule has no attribute " + clip(attr)
	}
	for i := range key[place].sources {
		if s := &key[place].sources[i]; s.secret {
			return s.attr + ", which may stand in this part of the key, is secret and not shown"
		}
	}
	return ""
}

// reads reports whether a part of a key may be built from an attribute.
func (p *keyPart) reads(attr string) bool {
	return slices.ContainsFunc(p.sources, func(s source) bool { return s.attr == attr })
}

// String returns the message as written.
func (m *Message) String() string { return m.text }

// Text returns the message with the facts in it. It allocates nothing where the
// message holds no variable.
func (m *Message) Text(f *Facts) string {
	if m.parts == nil {
		return m.text
	}
	var b strings.Builder
	for i := range m.parts {
		p := &m.parts[i]
		b.WriteString(p.text)
		switch p.name {
		case "retry_after":
			b.WriteString(f.delay())
		case "remaining":
			if f.Window != nil {
				b.WriteString(slidegate.FormatUnits(f.Window.Remaining, f.Window.Scale))
			}
		case "limit":
			if f.Window != nil {
				b.WriteString(f.Window.Limit)
			}
		case "key":
			b.WriteString(forPeople(keyText(f.Key, p.place)))
		}
	}
	return b.String()
}

// Variable reports whether the message shows anything that is not known before
// the decision.
func (m *Message) Variable() bool { return m.parts != nil }

// delay says how long to wait.
func (f *Facts) delay() string {
	switch {
	case f.Never:
		return "never"
	case f.RetryAfterEvents > 0 && f.RetryAfter == 0:
		return strconv.FormatInt(f.RetryAfterEvents, 10) + "x"
	case f.RetryAfter == 0:
		return "-" // waiting is not what helps, or is not needed
	}
	return RoundUp(f.RetryAfter)
}

// RoundUp writes a delay for people, rounded up to whole seconds, minutes, hours
// or days, of which there are up to 120 s, 120 m and 48 h: 50s, 2m, 30h. It is
// never less than 1s.
func RoundUp(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		most   int64
		name   string
	}{{time.Second, 120, "s"}, {time.Minute, 120, "m"}, {time.Hour, 48, "h"}} {
		if n := roundUp(d, unit.length); n <= unit.most {
			return strconv.FormatInt(max(n, 1), 10) + unit.name
		}
	}
	return strconv.FormatInt(roundUp(d, 24*time.Hour), 10) + "d"
}

func roundUp(d, unit time.Duration) int64 {
	n := int64(d / unit)
	if d%unit > 0 {
		n++
	}
	return n
}

// shownKey is how much of a part of a key a message shows.
const shownKey = 64

// forPeople makes a text that came from outside fit to be shown: without control
// characters and marks that turn the direction of writing, and not too long.
func forPeople(text string) string {
	text = strings.ToValidUTF8(clipTo(text, shownKey), "\uFFFD")
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != utf8.RuneError {
			return '\uFFFD'
		}
		return r
	}, text)
}

// keyText returns the text of one part of a canonical key; "" where it is
// missing. See appendKey for the form.
func keyText(key []byte, place int) string {
	for ; len(key) > 0; place-- {
		part, rest := cutPart(key)
		if place == 0 {
			return string(part)
		}
		key = rest
	}
	return ""
}

// cutPart cuts the first part off a canonical key.
func cutPart(key []byte) (part, rest []byte) {
	if key[0] == '-' {
		return nil, key[1:]
	}
	n := 0
	for i, c := range key {
		switch {
		case c >= '0' && c <= '9':
			n = n*10 + int(c-'0')
		case c == ':':
			return key[i+1 : i+1+n], key[i+1+n:]
		default: // the place of an alternative, or the mark of a hash
			n = 0
		}
	}
	return nil, nil
}
