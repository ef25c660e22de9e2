package slidegate

import "errors"

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
	// ErrClosed: the engine or store was closed.
	ErrClosed = errors.New("closed")
)
