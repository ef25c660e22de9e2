package replay

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonKind is what a JSON value is.
type jsonKind uint8

const (
	jsonNull jsonKind = iota
	jsonBool
	jsonNumber
	jsonText
	jsonObject
	jsonArray
)

// jsonField is one member of an object, of the line's or of one inside it.
type jsonField struct {
	// name is made of the names on the way to the member, joined by dots.
	name string
	// text is a text decoded, a number or an array as it was spelled, true or
	// false.
	text string
	kind jsonKind
	// nested: the member is not one of the line's own object.
	nested bool
}

// maxDepth is how deep objects and arrays may lie in each other.
const maxDepth = 64

const (
	errNotObject  = lineError("no JSON object: the line does not begin with {")
	errCutJSON    = lineError("the JSON ends in the middle; write each object on one line (jq -c . does)")
	errTooDeep    = lineError("objects and arrays lie more than 64 deep in each other")
	errNoName     = lineError("a field has an empty name")
	errControl    = lineError("a text holds a control character that is not escaped")
	errBadEscape  = lineError("a text holds a backslash that begins no escape of JSON")
	errHalfPair   = lineError("a text holds one half of a surrogate pair, which is no character")
	errBehindJSON = lineError("more text behind the end of the object; write one object a line")
)

// jsonScanner reads one line of JSON into a flat list of its fields. It is
// strict in the grammar and lenient in the bytes of texts: what is no UTF-8 is
// kept as it is. It is reused from line to line.
type jsonScanner struct {
	s      string
	at     int
	fields []jsonField
	path   []byte
	buf    []byte // of the text being decoded
	names  interner
	seen   map[string]struct{}
}

// scan reads line, one object, and sets fields.
func (j *jsonScanner) scan(line string) error {
	j.s, j.at, j.fields, j.path = line, 0, j.fields[:0], j.path[:0]
	j.space()
	if j.at == len(line) || line[j.at] != '{' {
		return errNotObject
	}
	if err := j.object(0, true); err != nil {
		return err
	}
	j.space()
	if j.at < len(line) {
		return errBehindJSON
	}
	return j.duplicates()
}

// space skips white space.
func (j *jsonScanner) space() {
	for j.at < len(j.s) {
		switch j.s[j.at] {
		case ' ', '\t', '\r', '\n':
			j.at++
		default:
			return
		}
	}
}

// found is the error for what stands at j.at instead of want.
func (j *jsonScanner) found(want string) error {
	if j.at >= len(j.s) {
		return errCutJSON
	}
	return fmt.Errorf("no JSON: %s at byte %d, where %s is due", printable(j.s[j.at:], 12), j.at+1, want)
}

// list reads what lies between the brackets of an object or array: items
// separated by commas, up to the byte end.
func (j *jsonScanner) list(end byte, what string, item func() error) error {
	j.at++
	j.space()
	if j.at < len(j.s) && j.s[j.at] == end {
		j.at++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		j.space()
		switch {
		case j.at < len(j.s) && j.s[j.at] == ',':
			j.at++
			j.space()
		case j.at < len(j.s) && j.s[j.at] == end:
			j.at++
			return nil
		default:
			return j.found("a comma or the end of the " + what)
		}
	}
}

// object reads the object at j.at, which lies depth deep. Its members become
// fields if keep is set.
func (j *jsonScanner) object(depth int, keep bool) error {
	if depth > maxDepth {
		return errTooDeep
	}
	return j.list('}', "object", func() error {
		if j.at >= len(j.s) || j.s[j.at] != '"' {
			return j.found("a name in quotes")
		}
		name, err := j.text()
		if err != nil {
			return err
		}
		j.space()
		if j.at >= len(j.s) || j.s[j.at] != ':' {
			return j.found("a colon")
		}
		j.at++
		j.space()
		if !keep {
			_, _, err = j.value(depth, false)
			return err
		}
		return j.member(name, depth)
	})
}

// member reads the value of a member and adds it to the fields.
func (j *jsonScanner) member(name string, depth int) error {
	if name == "" {
		return errNoName
	}
	if len(j.fields) >= maxAttrs {
		return errTooManyFields
	}
	above := len(j.path)
	j.path = append(j.path, name...)
	if depth > 0 {
		name = j.names.get(j.path)
	}
	j.path = append(j.path, '.')
	i := len(j.fields)
	j.fields = append(j.fields, jsonField{name: name, nested: depth > 0})
	text, kind, err := j.value(depth, true)
	j.fields[i].text, j.fields[i].kind = text, kind
	j.path = j.path[:above]
	return err
}

// value reads the value at j.at. Members of an object become fields if keep is
// set; what lies in an array never does.
func (j *jsonScanner) value(depth int, keep bool) (text string, kind jsonKind, err error) {
	if j.at >= len(j.s) {
		return "", jsonNull, errCutJSON
	}
	switch j.s[j.at] {
	case '"':
		text, err = j.text()
		return text, jsonText, err
	case '{':
		return "", jsonObject, j.object(depth+1, keep)
	case '[':
		if depth+1 > maxDepth {
			return "", jsonArray, errTooDeep
		}
		from := j.at
		err = j.list(']', "array", func() error {
			_, _, err := j.value(depth+1, false)
			return err
		})
		return j.s[from:j.at], jsonArray, err
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(j.s[j.at:], word) {
			j.at += len(word)
			if word == "null" {
				return "", jsonNull, nil
			}
			return word, jsonBool, nil
		}
	}
	end := scanNumber(j.s, j.at)
	if end == j.at {
		return "", jsonNull, j.found("a value")
	}
	text, j.at = j.s[j.at:end], end
	return text, jsonNumber, nil
}

// text reads the text in quotes at j.at. One without escapes is a part of the
// line; it is not copied.
func (j *jsonScanner) text() (string, error) {
	start := j.at + 1
	for i := start; i < len(j.s); i++ {
		switch c := j.s[i]; {
		case c == '"':
			j.at = i + 1
			return j.s[start:i], nil
		case c == '\\':
			return j.escapedText(start, i)
		case c < ' ':
			return "", errControl
		}
	}
	return "", errCutJSON
}

// escapedText reads on a text that began at start and has its first escape at
// i.
func (j *jsonScanner) escapedText(start, i int) (string, error) {
	b := append(j.buf[:0], j.s[start:i]...)
	defer func() { j.buf = b }()
	for i < len(j.s) {
		c := j.s[i]
		switch {
		case c == '"':
			j.at = i + 1
			return string(b), nil
		case c < ' ':
			return "", errControl
		case c != '\\':
			b, i = append(b, c), i+1
		default:
			var n int
			var err error
			if b, n, err = appendJSONEscape(b, j.s[i:]); err != nil {
				return "", err
			}
			i += n
		}
	}
	return "", errCutJSON
}

// appendJSONEscape appends what the escape at the front of s stands for and
// returns the length of the escape. Half of a surrogate pair is an error and
// not the replacement character, so that different keys stay different.
func appendJSONEscape(b []byte, s string) (_ []byte, length int, err error) {
	if len(s) < 2 {
		return b, 0, errBadEscape
	}
	switch s[1] {
	case '"', '\\', '/':
		return append(b, s[1]), 2, nil
	case 'b':
		return append(b, '\b'), 2, nil
	case 'f':
		return append(b, '\f'), 2, nil
	case 'n':
		return append(b, '\n'), 2, nil
	case 'r':
		return append(b, '\r'), 2, nil
	case 't':
		return append(b, '\t'), 2, nil
	}
	r, ok := unicodeEscape(s)
	if !ok {
		return b, 0, errBadEscape
	}
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(b, r), 6, nil
	}
	low, ok := unicodeEscape(s[6:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return b, 0, errHalfPair
	}
	return utf8.AppendRune(b, r), 12, nil
}

// unicodeEscape reads \uHHHH at the front of s.
func unicodeEscape(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for i := 2; i < 6; i++ {
		d, ok := hexDigit(s[i])
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

// duplicates reports a name that occurs twice.
func (j *jsonScanner) duplicates() error {
	const few = 24 // up to here comparing each with each is cheaper than a map
	if len(j.fields) > few {
		if j.seen == nil {
			j.seen = make(map[string]struct{})
		}
		defer clear(j.seen)
	}
	for i := range j.fields {
		name := j.fields[i].name
		if len(j.fields) > few {
			if _, ok := j.seen[name]; ok {
				return givenTwice(name)
			}
			j.seen[name] = struct{}{}
			continue
		}
		for k := range j.fields[:i] {
			if j.fields[k].name == name {
				return givenTwice(name)
			}
		}
	}
	return nil
}

func givenTwice(name string) error {
	return fmt.Errorf("the field %s is given twice", printable(name, 40))
}
