package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/slidegate/slidegate"
)

// blanks are the bytes that JSON skips.
const blanks = " \t\r\n"

// emptyBody says what to send instead.
const emptyBody = `the body is empty; send an event such as {"event":"sms.send","attrs":{"phone":"13800000000"}}`

// readAll reads what there is. Texts of events are parts of it, so it is no shared
// memory that it returns.
func readAll(from io.Reader) (string, error) {
	buf := takeBuffer()
	defer giveBuffer(buf)
	_, err := buf.ReadFrom(from)
	return buf.String(), err
}

// decodeEvent reads an event that is not too large.
func (a *api) decodeEvent(text string) (slidegate.Event, error) {
	ev, rest, ok := slidegate.CutEvent(text)
	if !ok || !isBlank(rest) {
		if isBlank(text) {
			return ev, fmt.Errorf("%w: %s", slidegate.ErrEvent, emptyBody)
		}
		// Not json.Unmarshal: it would check the syntax first and say less.
		if err := ev.UnmarshalJSON([]byte(text)); err != nil {
			return ev, err
		}
	}
	return ev, a.limits.check(&ev)
}

func isBlank(text string) bool { return strings.Trim(text, blanks) == "" }

// isArray reports whether a body is to be read as an array of events.
func isArray(body string) bool { return strings.HasPrefix(strings.TrimLeft(body, blanks), "[") }

// readBatch reads an array of events, or answers why it does not. What cutBatch does
// not take is read once more to say what is wrong.
func (a *api) readBatch(w http.ResponseWriter, body string) (evs []slidegate.Event, ok bool) {
	if evs, ok = a.cutBatch(body); ok {
		return evs, true
	}
	evs, err := a.parseBatch(body)
	switch {
	case errors.Is(err, errBatch):
		problem(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the array has over %d events; at most %d go in one request", a.limits.Batch, a.limits.Batch))
	case errors.Is(err, slidegate.ErrEvent):
		fail(w, err)
	case err != nil:
		problem(w, http.StatusBadRequest, "the body is not an array of events: "+err.Error())
	}
	return evs, err == nil
}

// parseBatch reads what cutBatch does, in two passes: an array that is none is told
// before an event that is none.
func (a *api) parseBatch(body string) ([]slidegate.Event, error) {
	raw, err := a.decodeBatch(body)
	if err != nil {
		return nil, err
	}
	evs := make([]slidegate.Event, len(raw))
	for i := range raw {
		if evs[i], err = a.decodeEvent(string(raw[i])); err != nil {
			return nil, numbered(&slidegate.EventError{Index: i, Err: err}, len(raw))
		}
	}
	return evs, nil
}

// cutBatch reads an array of events in one pass. It gives up at the first byte that is
// wrong, at an event that is too large, and where there are too many.
func (a *api) cutBatch(body string) (evs []slidegate.Event, ok bool) {
	rest, ok := cutByte(body, '[')
	if !ok {
		return nil, false
	}
	evs = make([]slidegate.Event, 0, min(strings.Count(rest, `"event"`), a.limits.Batch))
	if end, empty := cutByte(rest, ']'); empty {
		return evs, isBlank(end)
	}
	for len(evs) < a.limits.Batch {
		var ev slidegate.Event
		if ev, rest, ok = slidegate.CutEvent(rest); !ok || a.limits.check(&ev) != nil {
			return nil, false
		}
		evs = append(evs, ev)
		if next, more := cutByte(rest, ','); more {
			rest = next
			continue
		}
		rest, ok = cutByte(rest, ']')
		return evs, ok && isBlank(rest)
	}
	return nil, false
}

// cutByte cuts c off the front of text, and blanks before it.
func cutByte(text string, c byte) (rest string, ok bool) {
	rest = strings.TrimLeft(text, blanks)
	if rest == "" || rest[0] != c {
		return text, false
	}
	return rest[1:], true
}

// errBatch is an array with too many events.
var errBatch = errors.New("too many events")

// decodeBatch cuts an array into its values. It stops when there are too many, so
// that a body of ones and commas does not become a list of them.
func (a *api) decodeBatch(body string) ([]json.RawMessage, error) {
	d := json.NewDecoder(strings.NewReader(body))
	if _, err := d.Token(); err != nil { // its bracket
		return nil, plainly(err)
	}
	raw := []json.RawMessage{}
	for d.More() {
		if len(raw) == a.limits.Batch {
			return nil, errBatch
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, plainly(err)
		}
		raw = append(raw, value)
	}
	if _, err := d.Token(); err != nil {
		return nil, plainly(err)
	}
	return raw, nothingMore(d)
}

// decodeJSON reads the one value that data holds into what takes any value of its
// kind. Its errors are for people who know no Go: they say where data is no JSON.
func decodeJSON(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(into); err != nil {
		return plainly(err)
	}
	return nothingMore(d)
}

// plainly says where a text is no JSON.
func plainly(err error) error {
	var bad *json.SyntaxError
	if !errors.As(err, &bad) {
		return errors.New("the JSON ends too early")
	}
	what := bad.Error()
	if i := strings.LastIndex(what, "' "); i >= 0 { // not the character there: it may be of a secret
		what = what[i+2:]
	}
	return fmt.Errorf("the JSON goes wrong at byte %d: %s", bad.Offset, what)
}

func nothingMore(d *json.Decoder) error {
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}
