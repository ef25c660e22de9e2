package replay

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
)

const errEmptyEvent = lineError("the event's name is empty")

// attrsPrefix is what the names of attributes begin with where an object has
// Slidegate's own shape.
const attrsPrefix = "attrs."

// jsonParser reads lines of JSON. See the package for the two shapes.
type jsonParser struct {
	event     string
	timeField string
	clock     *wallClock
	scanner   jsonScanner
}

// parse fills rec from line.
func (p *jsonParser) parse(line string, rec *Record) (TimeKind, error) {
	if err := p.scanner.scan(line); err != nil {
		return KindNone, err
	}
	fields := p.scanner.fields
	at, err := p.timeOf(fields)
	if err != nil {
		return KindNone, err
	}
	micros, kind, err := p.clock.parse(fields[at].text)
	if err != nil {
		return KindNone, fmt.Errorf("the field %s: %w", fields[at].name, err)
	}
	e := slidegate.Event{Name: p.event, Attrs: rec.Event.Attrs[:0], Time: time.UnixMicro(micros).UTC()}
	if hasOwnShape(fields) {
		err = fillOwnShape(&e, fields, at)
	} else {
		err = fillFlat(&e, fields, at)
	}
	if err != nil {
		return KindNone, err
	}
	rec.Event = e
	return kind, nil
}

// timeOf returns the index of the field that holds the time.
func (p *jsonParser) timeOf(fields []jsonField) (int, error) {
	for _, name := range timeNames(p.timeField) {
		for i := range fields {
			f := &fields[i]
			if f.name == name && (f.kind == jsonText || f.kind == jsonNumber) {
				return i, nil
			}
		}
	}
	return 0, noTimeField(p.timeField)
}

// timeNames returns the names of fields that may hold the time, the best first.
func timeNames(timeField string) []string {
	if timeField != "" {
		return []string{timeField}
	}
	return []string{"time", "timestamp", "ts", "@timestamp"}
}

func noTimeField(timeField string) error {
	if timeField != "" {
		return fmt.Errorf("no field %s, which --time names, with a text or a number", printable(timeField, 40))
	}
	return lineError("no field time, timestamp, ts or @timestamp with a text or a number; name the field of the time with --time")
}

// hasOwnShape reports whether there is an object attrs.
func hasOwnShape(fields []jsonField) bool {
	for i := range fields {
		if f := &fields[i]; f.kind == jsonObject && !f.nested && f.name == "attrs" {
			return true
		}
	}
	return false
}

// fillFlat makes every field an attribute but the time, at fields[at], and a
// text "event", which is the name.
func fillFlat(e *slidegate.Event, fields []jsonField, at int) error {
	for i := range fields {
		f := &fields[i]
		switch {
		case i == at:
		case f.name == "event":
			if f.kind == jsonText {
				e.Name = f.text
			}
		default:
			if err := appendField(e, f.name, f); err != nil {
				return err
			}
		}
	}
	if e.Name == "" {
		return errEmptyEvent
	}
	return nil
}

// fillOwnShape reads an object that has an object attrs.
func fillOwnShape(e *slidegate.Event, fields []jsonField, at int) error {
	for i := range fields {
		f := &fields[i]
		name, isAttr := strings.CutPrefix(f.name, attrsPrefix)
		var err error
		switch {
		case i == at || f.name == "attrs":
		case isAttr && f.nested && name == "event":
			err = lineError(`an attribute is called "event", which is taken by the name of the event`)
		case isAttr && f.nested:
			err = appendField(e, name, f)
		default:
			err = setOwnField(e, f)
		}
		if err != nil {
			return err
		}
	}
	if e.Name == "" {
		return errEmptyEvent
	}
	return nil
}

// setOwnField reads a field beside attrs.
func setOwnField(e *slidegate.Event, f *jsonField) error {
	switch f.name {
	case "event":
		if f.kind != jsonText {
			return lineError("the field event is no text")
		}
		e.Name = f.text
	case "cost":
		if f.kind == jsonNull {
			return nil
		}
		n, err := strconv.ParseInt(f.text, 10, 64)
		if f.kind != jsonNumber || err != nil || n < 0 {
			return fmt.Errorf("the cost %s is no whole number of 0 or more", printable(f.text, 24))
		}
		e.Cost = slidegate.CostOf(n)
	case "passed":
		return setPassed(e, f)
	case "outcome":
		var ok bool
		if e.Outcome, ok = slidegate.ParseOutcome(f.text); f.kind != jsonText || !ok {
			return lineError(`the field outcome is neither "success" nor "failure"`)
		}
	default:
		return fmt.Errorf("unknown field %s beside attrs; there may be event, cost, outcome, passed and time", printable(f.name, 40))
	}
	return nil
}

const errPassed = lineError("the field passed is no list of texts that are not empty")

// setPassed reads the challenges that were met, an array of texts.
func setPassed(e *slidegate.Event, f *jsonField) error {
	switch f.kind {
	case jsonNull:
		return nil
	case jsonArray:
	default:
		return errPassed
	}
	texts := jsonScanner{s: f.text}
	return texts.list(']', "array", func() error {
		if f.text[texts.at] != '"' {
			return errPassed
		}
		text, err := texts.text()
		switch {
		case err != nil:
			return err
		case text == "":
			return errPassed
		case len(e.Passed) >= maxAttrs:
			return errTooManyFields
		}
		e.Passed = append(e.Passed, text)
		return nil
	})
}

// appendField makes f an attribute called name, unless it is null or an array;
// the members of an object are fields of their own.
func appendField(e *slidegate.Event, name string, f *jsonField) error {
	switch f.kind {
	case jsonText, jsonBool:
		e.Attrs = append(e.Attrs, slidegate.String(name, f.text))
	case jsonNumber:
		v, err := slidegate.NumberValue(f.text)
		if err != nil {
			return fmt.Errorf("the field %s: %w", printable(name, 40), err)
		}
		e.Attrs = append(e.Attrs, slidegate.Attr{Name: name, Value: v})
	}
	return nil
}
