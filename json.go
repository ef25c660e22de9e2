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

// MarshalJSON returns the decision as other programs see it. What there is
// nothing to say about is left out. Delays are whole microseconds.
func (d Decision) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonDecision{
		ID: d.ID.String(), Action: d.Action.String(), Admitted: d.Admitted(),
		Rule: d.Rule, Reason: d.Reason, Message: d.Message,
		RetryAfter: d.RetryAfter.Microseconds(), RetryAfterEvents: d.RetryAfterEvents, Never: d.Never,
		Windows: d.Windows(), Shadow: d.Shadow(),
	})
}

type jsonDecision struct {
	ID               string        `json:"id,omitempty"`
	Action           string        `json:"action"`
	Admitted         bool          `json:"admitted"`
	Rule             string        `json:"rule,omitempty"`
	Reason           string        `json:"reason,omitempty"`
	Message          string        `json:"message,omitempty"`
	RetryAfter       int64         `json:"retry_after_us,omitempty"`
	RetryAfterEvents int64         `json:"retry_after_events,omitempty"`
	Never            bool          `json:"never,omitempty"`
	Windows          []WindowState `json:"windows,omitempty"`
	Shadow           []WindowState `json:"shadow,omitempty"`
}

// MarshalJSON returns the state as other programs see it: numbers with the
// decimals of the limit, delays in whole microseconds.
func (w WindowState) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonWindow{
		Rule: w.Rule, Limit: w.Limit,
		Used: w.decimal(w.Used), Max: w.decimal(w.Max), Remaining: w.decimal(w.Remaining),
		RetryAfter: w.RetryAfter.Microseconds(), RetryAfterEvents: w.RetryAfterEvents,
		ResetAfter: w.ResetAfter.Microseconds(), Refused: w.Refused, Never: w.Never,
	})
}

type jsonWindow struct {
	Rule             string      `json:"rule,omitempty"`
	Limit            string      `json:"limit,omitempty"`
	Used             json.Number `json:"used"`
	Max              json.Number `json:"max"`
	Remaining        json.Number `json:"remaining"`
	RetryAfter       int64       `json:"retry_after_us,omitempty"`
	RetryAfterEvents int64       `json:"retry_after_events,omitempty"`
	ResetAfter       int64       `json:"reset_after_us,omitempty"`
	Refused          bool        `json:"refused,omitempty"`
	Never            bool        `json:"never,omitempty"`
}

func (w *WindowState) decimal(n int64) json.Number { return json.Number(FormatUnits(n, w.Scale)) }

// FormatUnits writes n units of 10^-scale as a decimal number, without zeros
// at its end: (199990, 3) is "199.99".
func FormatUnits(n int64, scale uint8) string {
	text := strconv.FormatInt(n, 10)
	if scale == 0 {
		return text
	}
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	if pad := int(scale) + 1 - len(text); pad > 0 {
		text = strings.Repeat("0", pad) + text
	}
	whole, frac := text[:len(text)-int(scale)], strings.TrimRight(text[len(text)-int(scale):], "0")
	if frac == "" {
		return sign + whole
	}
	return sign + whole + "." + frac
}

// MarshalJSON returns the event in the form that UnmarshalJSON reads. What
// Validate refuses is an error, and so is a text that is not UTF-8, which JSON
// cannot hold.
func (e Event) MarshalJSON() ([]byte, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	out := jsonEvent{Event: e.Name, Time: e.Time}
	valid := utf8.ValidString(e.Name)
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
	return json.Marshal(out)
}

type jsonEvent struct {
	Event string          `json:"event"`
	Attrs json.RawMessage `json:"attrs,omitempty"`
	Cost  *int64          `json:"cost,omitempty"`
	Time  time.Time       `json:"time,omitzero"`
}

func appendQuoted(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // unreachable: s is a string
	}
	return append(b, quoted...)
}

// UnmarshalJSON reads an event strictly: unknown and repeated fields, values
// that are neither text nor number, and anything after the event are errors,
// which wrap [ErrEvent] and name the field. On an error e is left as it was.
//
//	{"event":"sms.send","attrs":{"phone":"13800000000","size":12},"cost":1}
//
// "time" is a text in RFC 3339 or whole microseconds since the epoch.
func (e *Event) UnmarshalJSON(data []byte) error {
	if err := checkText(data); err != nil {
		return fmt.Errorf("%w: %w", ErrEvent, err)
	}
	p := eventParser{dec: json.NewDecoder(bytes.NewReader(data))}
	p.dec.UseNumber()
	var ev Event
	if err := p.event(&ev); err != nil {
		return fmt.Errorf("%w: %w", ErrEvent, err)
	}
	*e = ev
	return nil
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
		return fmt.Errorf("want an object, got %s", describe(t))
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
	case "time":
		ev.Time, err = parseTime(t)
		return err
	default:
		return fmt.Errorf("unknown field %q; an event has event, attrs, cost, time", shorten(name))
	}
	return nil
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
			return fmt.Errorf("%s: %w", shorten(name), err)
		}
		ev.Attrs = append(ev.Attrs, Attr{Name: name, Value: number})
	default:
		return fmt.Errorf("%s: want a text or a number, got %s; leave it out if there is none", shorten(name), describe(t))
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
	if !at.IsZero() {
		return at, nil
	}
	return time.Time{}, fmt.Errorf("time: want RFC 3339 or whole microseconds, got %s", describe(t))
}

// describe names a token for a message.
func describe(t json.Token) string {
	switch v := t.(type) {
	case nil:
		return "null"
	case json.Delim:
		if v == '{' {
			return "an object"
		}
		return "a list"
	case string:
		return strconv.Quote(shorten(v))
	case json.Number:
		return shorten(v.String())
	default:
		return fmt.Sprint(v)
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
			return fmt.Errorf("%s is half of a surrogate pair", data[i-1:i+5])
		}
		i += 10
	}
	return nil
}

// escapedUnit reads \uXXXX at the front of b.
func escapedUnit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	return rune(n), err == nil
}
