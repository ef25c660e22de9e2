package cond

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrUnavailable is wrapped by errors about a variable that conditions know, but
// not where this one stands.
var ErrUnavailable = errors.New("the variable is not available here")

// Error is one thing that is wrong with a condition.
type Error struct {
	// Pos is the character of the text at which it was seen, counted from 1;
	// 0 when it is about the text as a whole.
	Pos int
	// Msg is a sentence: what is wrong and what to write instead.
	Msg string

	cause error
}

// Error returns the sentence and where it applies:
//
//	character 8: "&&" is not a word of conditions: write and
func (e *Error) Error() string {
	if e.Pos == 0 {
		return e.Msg
	}
	return fmt.Sprintf("character %d: %s", e.Pos, e.Msg)
}

// Unwrap returns [ErrUnavailable] or nil.
func (e *Error) Unwrap() error { return e.cause }

// Errors is all that is wrong with a condition, in the order of its text.
type Errors []*Error

// Error returns a line for each.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each as an error of its own.
func (es Errors) Unwrap() []error {
	errs := make([]error, len(es))
	for i, e := range es {
		errs[i] = e
	}
	return errs
}

func (es Errors) sort() {
	slices.SortStableFunc(es, func(a, b *Error) int { return cmp.Compare(a.Pos, b.Pos) })
}

// errorAt returns an error at the character pos, counted from 0.
func errorAt(pos int, format string, args ...any) *Error {
	return &Error{Pos: pos + 1, Msg: fmt.Sprintf(format, args...)}
}

// clip cuts a text for a message, between characters.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
