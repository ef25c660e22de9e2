package slidegate

import (
	"errors"
	"fmt"
)

// Errors that callers branch on, with errors.Is. A refusal is no error: it is
// a [Decision].
var (
	// ErrEvent: the event itself is wrong (a negative cost, a missing number,
	// a text where an address was declared). Nothing was charged.
	ErrEvent = errors.New("bad event")
	// ErrID: the text is not the id of a decision of this engine.
	ErrID = errors.New("bad decision id")
	// ErrUnknownRule: the plan has no rule of that name.
	ErrUnknownRule = errors.New("unknown rule")
	// ErrRefused: an event that was to wait cannot be let through by waiting. The
	// decision beside it says why.
	ErrRefused = errors.New("refused")
	// ErrFull: at the ceiling of memory there is no room to remember that something
	// was given back, or a window emptied, so it was not. Try again later, or raise
	// the ceiling.
	ErrFull = errors.New("at the ceiling of memory, with no room to remember that this was given back; try again later, or raise it")
	// ErrClosed: the engine or store was closed.
	ErrClosed = errors.New("closed")
)

// EventError is what is wrong with one of several events that were given together:
// [errors.As] finds it behind the error of a batch. None of the batch has been judged
// or recorded.
type EventError struct {
	Index int   // its place among them, from 0
	Err   error // what is wrong: it wraps one of the errors above
}

// Error names the place and what is wrong.
func (e *EventError) Error() string { return fmt.Sprintf("event %d: %v", e.Index, e.Err) }

// Unwrap returns what is wrong.
func (e *EventError) Unwrap() error { return e.Err }
