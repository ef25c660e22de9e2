package slidegate

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Event is one thing that happened or wants to happen: a request, a message to
// be sent, a login.
//
// The zero Event is not valid: it has no name. An Event is a plain value; it
// may be shared between goroutines as long as none of them changes it.
type Event struct {
	// Name says what happened, such as "sms.send". Rules select by it as
	// "event". It must not be empty.
	Name string
	// Attrs are the facts that rules match on and build keys from. Each name
	// may occur once. Their order has no meaning.
	Attrs []Attr
	// Cost is how much the event adds to a count. The zero Cost means 1.
	Cost Cost
	// Passed names the challenges that were met already, as a limit names them
	// under "with": such a limit does not ask again.
	Passed []string
	// Outcome says how it went. It is for reports only.
	Outcome Outcome
	// Decision is the text of the id of the decision that let the event in, which a
	// report of it settles; empty for none. It is for reports only.
	Decision string
	// Time is when the event happened. It is for recorded events only: a
	// check that carries a time is refused with [ErrEvent], because the clock
	// of a caller never decides an admission.
	Time time.Time
}

// Outcome says how an event went.
type Outcome uint8

// The outcomes. The zero Outcome says nothing.
const (
	Unknown Outcome = iota
	Success
	Failure
)

// String returns "success" or "failure", and "" for Unknown.
func (o Outcome) String() string {
	switch o {
	case Unknown:
		return ""
	case Success:
		return "success"
	case Failure:
		return "failure"
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// ParseOutcome returns the outcome called name.
func ParseOutcome(name string) (Outcome, bool) {
	switch name {
	case "success":
		return Success, true
	case "failure":
		return Failure, true
	}
	return Unknown, false
}

// Attr is one named fact of an event.
type Attr struct {
	Name  string
	Value Value
}

// String returns an attribute with a text value. An empty text is present.
func String(name, value string) Attr { return Attr{Name: name, Value: TextValue(value)} }

// Int returns an attribute with a whole number as its value.
func Int(name string, value int64) Attr { return Attr{Name: name, Value: IntValue(value)} }

// Float returns an attribute with a number as its value. NaN and the
// infinities are refused when the event is judged.
func Float(name string, value float64) Attr { return Attr{Name: name, Value: FloatValue(value)} }

// Attr returns the value of the attribute called name, and whether there is
// one. It looks through Attrs from the front.
func (e *Event) Attr(name string) (Value, bool) {
	for i := range e.Attrs {
		if e.Attrs[i].Name == name {
			return e.Attrs[i].Value, true
		}
	}
	return Value{}, false
}

// Validate reports everything that makes e unfit to be judged: no name, an
// attribute without a name or named twice, a number that is not finite, a
// negative cost. The errors wrap [ErrEvent] and are joined. It allocates
// nothing when the event is fit and has at most 32 attributes.
func (e *Event) Validate() error {
	if e.fit() {
		return nil
	}
	return e.faults()
}

// fit reports whether e is fit to be judged, as fast as can be. It may say no of
// an unusual event that is.
func (e *Event) fit() bool {
	if e.Name == "" || e.Cost.units < 0 || len(e.Passed) > 0 || e.Outcome > Failure || len(e.Attrs) > manyAttrs {
		return false
	}
	for i := range e.Attrs {
		a := &e.Attrs[i]
		if a.Name == "" || a.Name == "event" || a.Value.kind > kindInt && a.Value.validate() != nil || has(e.Attrs[:i], a.Name) {
			return false
		}
	}
	return true
}

// faults reports everything that makes e unfit.
func (e *Event) faults() error {
	var errs []error
	if e.Name == "" {
		errs = append(errs, fmt.Errorf("%w: event: the name is empty", ErrEvent))
	}
	if n := e.Cost.Units(); n < 0 {
		errs = append(errs, fmt.Errorf("%w: cost: %d is negative; a cost is 0 or more", ErrEvent, n))
	}
	if e.Outcome > Failure {
		errs = append(errs, fmt.Errorf("%w: outcome: %d is none", ErrEvent, e.Outcome))
	}
	for i, name := range e.Passed {
		if name == "" {
			errs = append(errs, fmt.Errorf("%w: passed[%d]: the name of the challenge is empty", ErrEvent, i))
		}
	}
	var names map[string]bool
	if len(e.Attrs) > manyAttrs {
		names = make(map[string]bool, len(e.Attrs))
	}
	for i := range e.Attrs {
		a := &e.Attrs[i]
		switch a.Name {
		case "":
			errs = append(errs, fmt.Errorf("%w: attrs[%d]: the name is empty", ErrEvent, i))
		case "event":
			errs = append(errs, fmt.Errorf("%w: attrs[%d]: the name %q is taken by the name of the event", ErrEvent, i, a.Name))
		}
		if err := a.Value.validate(); err != nil {
			errs = append(errs, fmt.Errorf("%w: attribute %s: %w", ErrEvent, plain(a.Name), err))
		}
		if names[a.Name] || names == nil && has(e.Attrs[:i], a.Name) {
			errs = append(errs, fmt.Errorf("%w: attribute %s: given twice", ErrEvent, plain(a.Name)))
		} else if names != nil {
			names[a.Name] = true
		}
	}
	if errs == nil {
		return nil
	}
	return errors.Join(errs...)
}

// manyAttrs is from when on a map finds names that are given twice, so that the
// work does not grow with the square of their number.
const manyAttrs = 32

func has(attrs []Attr, name string) bool {
	for i := range attrs {
		if attrs[i].Name == name {
			return true
		}
	}
	return false
}

// HasPassed reports whether the challenge called name was met.
func (e *Event) HasPassed(name string) bool {
	return slices.Contains(e.Passed, name)
}

// Cost is how much an event adds to a count: a whole number, 0 or more. The
// zero Cost means 1, so that an Event need not name it; a cost of 0, which
// only looks, is CostOf(0).
type Cost struct {
	units int64
	set   bool
}

// CostOf returns the cost of n units. A negative n is kept, and refused when
// the event is judged.
func CostOf(n int64) Cost { return Cost{units: n, set: true} }

// Units returns the cost as a number; 1 for the zero Cost.
func (c Cost) Units() int64 {
	if !c.set {
		return 1
	}
	return c.units
}
