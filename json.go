package slidegate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// marshal is json.Marshal that leaves <, > and & as they are: an encoder around it
// escapes them unless it is told not to.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MarshalJSON returns the decision as other programs see it. What there is
// nothing to say about is left out. Delays are whole microseconds.
func (d Decision) MarshalJSON() ([]byte, error) { return d.AppendJSON(nil), nil }

// MarshalJSON returns the state as other programs see it: numbers with the
// decimals of the limit, delays in whole microseconds.
func (w WindowState) MarshalJSON() ([]byte, error) { return w.appendJSON(nil), nil }

// FormatUnits writes n units of 10^-scale as a decimal number, without zeros
// at its end: (199990, 3) is "199.99".
func FormatUnits(n int64, scale uint8) string { return string(appendUnits(nil, n, scale)) }

// MarshalJSON returns the event in the form that UnmarshalJSON reads. What
// Validate refuses is an error, and so is a text that is not UTF-8, which JSON
// cannot hold.
func (e Event) MarshalJSON() ([]byte, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	out := jsonEvent{Event: e.Name, Passed: e.Passed, Outcome: e.Outcome.String(), Decision: e.Decision, Time: e.Time}
	valid := utf8.ValidString(e.Name) && utf8.ValidString(e.Decision)
	for _, name := range e.Passed {
		valid = valid && utf8.ValidString(name)
	}
	if e.Cost != (Cost{}) {
		units := e.Cost.Units()
		out.Cost = &units
	}
	for i := range e.Attrs {
		a := &e.Attrs[i]
		text := a.Value.String()
		valid = valid && utf8.ValidString(a.Name) && utf8.ValidString(text)
		out.Attrs = append(out.Attrs, "{,"[min(i, 1)])
		out.Attrs = append(appendQuoted(out.Attrs, a.Name), ':')
		if a.Value.IsNumber() {
			out.Attrs = append(out.Attrs, text...)
		} else {
			out.Attrs = appendQuoted(out.Attrs, text)
		}
	}
	if len(e.Attrs) > 0 {
		out.Attrs = append(out.Attrs, '}')
	}
	if !valid {
		return nil, fmt.Errorf("%w: a text that is not UTF-8 cannot be written as JSON", ErrEvent)
	}
	return marshal(out)
}

type jsonEvent struct {
	Event    string          `json:"event"`
	Attrs    json.RawMessage `json:"attrs,omitempty"`
	Cost     *int64          `json:"cost,omitempty"`
	Passed   []string        `json:"passed,omitempty"`
	Outcome  string          `json:"outcome,omitempty"`
	Decision string          `json:"decision,omitempty"`
	Time     time.Time       `json:"time,omitzero"`
}

// UnmarshalJSON reads an event strictly: unknown and repeated fields, values
// that are neither text nor number, and anything after the event are errors,
// which wrap [ErrEvent], name the field, and do not quote the value of an
// attribute. On an error e is left as it was. The texts of e share a copy of data.
//
//	{"event":"sms.send","attrs":{"phone":"13800000000","size":12},"cost":1,"passed":["captcha"]}
//
// Reports have "outcome", "success" or "failure", "decision", the id of the decision
// that they settle, and "time", a text in RFC 3339 or whole microseconds since the epoch.
func (e *Event) UnmarshalJSON(data []byte) error {
	ev, rest, ok := CutEvent(string(data))
	if !ok || strings.Trim(rest, " \t\r\n") != "" {
		var err error
		if ev, err = parseEvent(data); err != nil {
			return fmt.Errorf("%w: %w", ErrEvent, err)
		}
	}
	*e = ev
	return nil
}

// parseEvent reads an event by its tokens. It reads what CutEvent does, takes ten times
// as long, and says what is wrong.
func parseEvent(data []byte) (ev Event, err error) {
	if err := checkText(data); err != nil {
		return Event{}, err
	}
	p := eventParser{dec: json.NewDecoder(bytes.NewReader(data))}
	p.dec.UseNumber()
	if err := p.event(&ev); err != nil {
		return Event{}, syntaxError(data, err)
	}
	return ev, nil
}

// syntaxError says where data is no JSON, if that is what err is about. It does
// not quote the character there, which may be of a secret.
func syntaxError(data []byte, err error) error {
	var bad *json.SyntaxError
	if !errors.As(err, &bad) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	// The parser of tokens does not know the place.
	if !errors.As(json.Unmarshal(data, new(json.RawMessage)), &bad) {
		return errors.New("the JSON goes wrong")
	}
	what := bad.Error()
	if strings.HasPrefix(what, "unexpected end") {
		return errors.New("the JSON ends too early")
	}
	if i := strings.LastIndex(what, "' "); i >= 0 { // invalid character 'x' …
		what = what[i+2:]
	}
	return fmt.Errorf("the JSON goes wrong at byte %d: %s", bad.Offset, what)
}

type eventParser struct{ dec *json.Decoder }

func (p *eventParser) event(ev *Event) error {
	if err := p.object(func(name string) error { return p.field(ev, name) }); err != nil {
		return err
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after the event")
	}
	return nil
}

// object reads an object and calls field for each name, with the value next.
func (p *eventParser) object(field func(name string) error) error {
	t, err := p.token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return fmt.Errorf("want an object, got %s", kindOf(t))
	}
	seen := map[string]bool{}
	for p.dec.More() {
		t, err := p.token()
		if err != nil {
			return err
		}
		name, _ := t.(string) // the decoder takes nothing else for a name
		if seen[name] {
			return fmt.Errorf("field %q is given twice", shorten(name))
		}
		seen[name] = true
		if err := field(name); err != nil {
			return err
		}
	}
	_, err = p.token()
	return err
}

func (p *eventParser) token() (json.Token, error) {
	t, err := p.dec.Token()
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	return t, err
}

func (p *eventParser) field(ev *Event, name string) error {
	if name == "attrs" {
		err := p.object(func(attr string) error { return p.attr(ev, attr) })
		if err != nil {
			return fmt.Errorf("attrs: %w", err)
		}
		return nil
	}
	if name == "passed" {
		return p.passed(ev)
	}
	t, err := p.token()
	if err != nil {
		return err
	}
	switch name {
	case "event":
		text, ok := t.(string)
		if !ok {
			return fmt.Errorf("event: want a text, got %s", describe(t))
		}
		ev.Name = text
	case "cost":
		number, _ := t.(json.Number)
		n, err := strconv.ParseInt(number.String(), 10, 64)
		if err != nil {
			return fmt.Errorf("cost: want a whole number, 0 or more, got %s", describe(t))
		}
		ev.Cost = CostOf(n)
	case "outcome":
		text, _ := t.(string)
		var ok bool
		if ev.Outcome, ok = ParseOutcome(text); !ok {
			return fmt.Errorf("outcome: want \"success\" or \"failure\", got %s", describe(t))
		}
	case "decision":
		text, ok := t.(string)
		if !ok || text == "" {
			return fmt.Errorf("decision: want the id of a decision, got %s", describe(t))
		}
		ev.Decision = text
	case "time":
		ev.Time, err = parseTime(t)
		return err
	default:
		return fmt.Errorf("unknown field %q; an event has event, attrs, cost and passed (a report outcome, decision and time), and attributes go into attrs", shorten(name))
	}
	return nil
}

// passed reads a list of texts.
func (p *eventParser) passed(ev *Event) error {
	t, err := p.token()
	if err != nil {
		return err
	}
	if t != json.Delim('[') {
		return fmt.Errorf("passed: want a list of texts, got %s", describe(t))
	}
	for p.dec.More() {
		if t, err = p.token(); err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return fmt.Errorf("passed[%d]: want a text, got %s", len(ev.Passed), describe(t))
		}
		ev.Passed = append(ev.Passed, name)
	}
	_, err = p.token()
	return err
}

func (p *eventParser) attr(ev *Event, name string) error {
	t, err := p.token()
	if err != nil {
		return err
	}
	switch v := t.(type) {
	case string:
		ev.Attrs = append(ev.Attrs, String(name, v))
	case json.Number:
		number, err := NumberValue(v.String())
		if err != nil {
			return fmt.Errorf("%s: %w", plain(name), err)
		}
		ev.Attrs = append(ev.Attrs, Attr{Name: name, Value: number})
	default:
		return fmt.Errorf("%s: want a text or a number, got %s; leave it out if there is none", plain(name), kindOf(t))
	}
	return nil
}

func parseTime(t json.Token) (time.Time, error) {
	var at time.Time // the zero time stands for none, so nobody can mean it
	switch v := t.(type) {
	case string:
		at, _ = time.Parse(time.RFC3339Nano, v)
	case json.Number:
		if us, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			at = time.UnixMicro(us)
		}
	}
	if year := at.Year(); year > 9999 || year < 0 {
		return time.Time{}, fmt.Errorf("time: %s microseconds lie in the year %d; are they nanoseconds?", describe(t), year)
	}
	if !at.IsZero() {
		return at, nil
	}
	return time.Time{}, fmt.Errorf("time: want RFC 3339 or whole microseconds, got %s", describe(t))
}

// kindOf names a token for a message without its value, which may be that of an
// attribute.
func kindOf(t json.Token) string {
	switch v := t.(type) {
	case nil:
		return "null"
	case json.Delim:
		if v == '{' {
			return "an object"
		}
		return "a list"
	case string:
		return "a text"
	case json.Number:
		return "a number"
	default:
		return fmt.Sprint(v)
	}
}

// describe names a token for a message, with its value.
func describe(t json.Token) string {
	switch v := t.(type) {
	case string:
		return strconv.Quote(shorten(v))
	case json.Number:
		return shorten(v.String())
	default:
		return kindOf(t)
	}
}

// checkText refuses what encoding/json would silently replace by U+FFFD, so
// that different keys stay different: bytes that are no UTF-8, and halves of
// surrogate pairs.
func checkText(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("the text is not UTF-8")
	}
	for i := 0; i+1 < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		i++ // the escaped byte
		unit, ok := escapedUnit(data[i-1:])
		if !ok || !utf16.IsSurrogate(unit) {
			continue
		}
		low, ok := escapedUnit(data[i+5:])
		if !ok || utf16.DecodeRune(unit, low) == utf8.RuneError {
			return fmt.Errorf("half of a surrogate pair at byte %d of the event", i)
		}
		i += 10
	}
	return nil
}

// escapedUnit reads \uXXXX at the front of b.
func escapedUnit[T []byte | string](b T) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	return rune(n), err == nil
}
