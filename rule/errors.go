package rule

import (
	"fmt"
	"strconv"
	"strings"
)

// Error is one thing that is wrong with a set of rules, or, as a warning, one
// thing that is probably not meant.
type Error struct {
	// File, Line and Column say where it stands, when the rules came from a
	// file. Line and Column count from 1.
	File         string
	Line, Column int
	// Rule is the name of the rule, or "rules[3]" when it has none; empty for
	// what stands outside of rules.
	Rule string
	// Path leads to the value from the top of the set, such as
	// "rules[2].limits[0].burst".
	Path string
	// Value is the value as written, if there is one to show.
	Value string
	// Msg says what is wrong and what to write instead.
	Msg string
}

// Error returns one line:
//
//	rules.yaml:7:14: rule api: limits[3]: "100 per 0s": a window is 1ms to 400d
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		b.WriteByte(':')
		if e.Line > 0 {
			fmt.Fprintf(&b, "%d:%d:", e.Line, e.Column)
		}
		b.WriteByte(' ')
	}
	path := e.Path
	if e.Rule != "" {
		fmt.Fprintf(&b, "rule %s: ", e.Rule)
		if rest, ok := strings.CutPrefix(path, "rules["); ok {
			_, path, _ = strings.Cut(rest, "]")
			path = strings.TrimPrefix(path, ".")
		}
	}
	if path != "" {
		b.WriteString(path)
		b.WriteString(": ")
	}
	if e.Value != "" {
		b.WriteString(strconv.Quote(clip(e.Value)))
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// Errors is everything that is wrong with a set of rules, in order.
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
