// Package cond holds the conditions of rule files: the text after where, which
// looks at one event.
//
//	event == "login" and not (country in trusted) and links > 0
//
// A condition reads the attributes of an event and the variables event (the
// name, a text), cost (a number), hour (0 to 23) and weekday (1 to 7, Monday is
// 1), and of an event that is reported outcome and failed. Its words are == != < <= > >= and or not in ( ) + - * / startsWith endsWith
// contains matches, texts in quotes, numbers in decimal, and lists after in: a
// literal such as [404, 410], or the name of a list of the rule file. A name
// that cannot stand bare (a-b is a subtraction, hour a variable) is written
// attr["a-b"], and such a name of a list lists["a-b"].
//
// Logic is three-valued. An attribute that an event lacks has no value, and what
// is computed from no value is [Unknown], except where the answer does not depend
// on it: false and unknown is false, true or unknown is true. Unknown never acts.
//
// Values are texts or numbers, and the condition says which it wants: order and
// arithmetic want numbers, tests of texts want texts, and == wants on both sides
// what either is. Texts have no order. A text where a number is wanted is that
// number if it spells one as JSON does, since access logs and query parameters
// know only texts; any other text is no value, and so unknown. A number where a
// text is wanted is its spelling, as in matchers.
package cond

import (
	"slices"
	"time"

	"github.com/slidegate/slidegate"
)

// Truth is what a condition comes to. The zero Truth is Unknown.
type Truth int8

// The order of the three is that of Kleene's logic: and takes the least, or the
// greatest, and not turns the sign.
const (
	False   Truth = -1
	Unknown Truth = 0
	True    Truth = 1
)

// String returns "true", "false" or "unknown".
func (t Truth) String() string {
	switch t {
	case True:
		return "true"
	case False:
		return "false"
	default:
		return "unknown"
	}
}

// Type is the type of an attribute. The zero Type is Text.
type Type uint8

// The types of the rule file.
const (
	Text    Type = iota
	Number       // compared by value: 1 is 1.0
	Address      // an address, compared in its canonical form; a text that is none has no value

	open  // an attribute whose type nothing has told yet
	truth // a comparison, and what and, or, not make of them
)

// Vars is a set of variables: the names beside attributes that a condition may
// read. The zero Vars means Admission.
type Vars uint8

// The variables.
const (
	Event   Vars = 1 << iota // event: the name of the event, a text
	Cost                     // cost: its cost, a number
	Hour                     // hour: 0 to 23, in the zone of the scope
	Weekday                  // weekday: 1 to 7, Monday is 1
	Outcome                  // outcome: "success" or "failure", a text; without one unknown
	Failed                   // failed: the outcome is failure, a comparison

	// Admission is what is known of an event when it asks to be admitted.
	Admission = Event | Cost | Hour | Weekday
	// Report is what is known once it is reported. When it asks to be admitted, its
	// outcome is unknown.
	Report = Admission | Outcome | Failed
)

// List says whether a value is in a list of the rule file; of a value that is no
// address, a list of addresses says Unknown. Like the condition that holds it, it must
// be safe for concurrent use.
type List func(slidegate.Value) Truth

// Member is what a condition looks up in a list.
type Member struct {
	Attr    string // an attribute; empty for anything else
	Address bool   // of type Address
	Folded  bool   // upper and lower case are the same; the list gets folded texts
}

// Scope is what surrounds a condition. The zero Scope declares no attribute and
// no list, and lets conditions read any attribute.
type Scope struct {
	// Attrs are the types of declared attributes. The type of any other
	// attribute is told by its use.
	Attrs map[string]Type
	// Strict makes an attribute that is not declared an error.
	Strict bool
	// Vars are the variables that may be read here; an error about any other
	// wraps [ErrUnavailable].
	Vars Vars
	// Lists make the lists of the rule file, as a member is compared with them.
	Lists map[string]func(Member) (List, error)
	// Zone is where hour and weekday are read; nil means UTC.
	Zone *time.Location
	// Folds are the attributes of which upper and lower case are the same: those of
	// texts that are compared with them are, too, and their lists are folded.
	Folds map[string]bool
	// Secrets are the attributes whose values are not shown: see [Cond.Shown].
	Secrets map[string]bool
}

// Cond is a condition, ready to be asked. It never changes and may be used by
// any number of goroutines. A nil Cond holds for every event, as a rule without
// where does.
type Cond struct {
	root  *node
	text  string
	shown string
	attrs []string
	timed bool
	after bool // it reads the outcome
}

// Compile reads a condition. A nil scope is the zero Scope. The error is of type
// [Errors]: all that is wrong, or, in a text that cannot be read, the first.
//
// A text has at most [MaxText] bytes and 500 names, literals and operators, not
// counting the items of lists, and nests at most 50 deep. Compile takes time and
// memory in proportion to the text.
func Compile(text string, s *Scope) (*Cond, error) {
	if s == nil {
		s = &Scope{}
	}
	tree, src, err := read(text)
	if err != nil {
		return nil, Errors{err}
	}
	b := &builder{scope: s, src: src, attrs: map[string]*attribute{}}
	root := b.condition(b.build(tree))
	b.resolve()
	if len(b.errs) == 0 {
		b.finish(root)
	}
	if len(b.errs) > 0 {
		b.errs.sort()
		return nil, b.errs
	}
	c := &Cond{root: root, timed: b.timed, after: b.after}
	for name := range b.attrs {
		c.attrs = append(c.attrs, name)
	}
	slices.Sort(c.attrs)
	c.text = string(root.print(nil))
	c.shown = c.text
	if len(s.Secrets) > 0 && root.hide(s) {
		c.shown = string(root.print(nil))
	}
	return c, nil
}

// Eval asks the condition about an event, at now in microseconds since the
// epoch. The caller acts on True only. It never panics and takes no longer than
// the number of operators times the length of the texts they look at.
//
// It allocates nothing, with these exceptions: matches and in NAME on the name
// of the event; startsWith, endsWith, contains, matches on an address; matches on
// a number that came without its spelling; numbers that came without their
// spelling and have more than 32 digits; a number beside a text of more than 32
// bytes; texts that are no addresses where addresses are wanted. The event need
// not live on the heap, and neither need its list of attributes.
func (c *Cond) Eval(ev *slidegate.Event, now int64) Truth {
	if c == nil || c.root == nil {
		return True
	}
	return c.root.truth(ev, now)
}

// String returns the condition in its canonical form: conditions that differ
// only in white space, quotes, needless parentheses, the spelling of numbers and
// addresses, or the order of a literal list have the same, and no two others. It
// compiles, in the same scope, to the same condition, unless escapes made it
// longer than [MaxText]. It is part of the identity
// of windows, so it does not change between releases. It says nothing of the
// types of attributes, the contents of named lists, or the zone (see NeedsTime).
func (c *Cond) String() string {
	if c == nil {
		return ""
	}
	return c.text
}

// Shown returns the canonical form for people: what a secret attribute is compared
// with, and so might be its value, is "(secret)" in it.
func (c *Cond) Shown() string {
	if c == nil {
		return ""
	}
	return c.shown
}

// Attrs returns the names of the attributes that the condition reads, sorted.
func (c *Cond) Attrs() []string {
	if c == nil {
		return nil
	}
	return slices.Clone(c.attrs)
}

// NeedsTime reports whether the condition reads hour or weekday, so that what it
// says depends on now and on the zone.
func (c *Cond) NeedsTime() bool { return c != nil && c.timed }

// NeedsOutcome reports whether the condition reads outcome or failed.
func (c *Cond) NeedsOutcome() bool { return c != nil && c.after }
