// Package store holds the contract of a store of windows, and the store in
// memory.
//
// A store speaks of windows, keys, algorithms and numbers, never of events or
// rules. One request touches any number of windows and keys and is atomic: all
// of them are charged or none is.
package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
)

// Errors of a store. All leave every window as it was.
var (
	// ErrDuplicate: a request names the same window and key twice. The
	// engine sums their costs first.
	ErrDuplicate = errors.New("store: a window and key is named twice in one request")
	// ErrCost: a cost is negative.
	ErrCost = errors.New("store: negative cost")
	// ErrParams: parameters that limit.New did not make.
	ErrParams = errors.New("store: bad parameters")
	// ErrFull: there is no room to remember a refund.
	ErrFull = errors.New("store: at its ceiling")
)

// Store keeps windows. All methods are safe for concurrent use.
//
// A store must pass the suite in package storetest. It reads its own clock, in
// whole microseconds, once for each request.
type Store interface {
	// Decide judges each request on its own, in order, and fills in the
	// answers. An error says that a request was wrong or the store failed;
	// requests before it have been decided, it and those after it have not.
	Decide(ctx context.Context, reqs []Request) error
	// Look judges like Decide but changes nothing and charges nothing: every
	// item's Result says how its window stands and whether Cost would fit.
	Look(ctx context.Context, req *Request) error
	// Refund gives back what the receipts of one decision say, once: it
	// reports whether it did. A second time, or after the charge has left its
	// windows, it does nothing and reports false.
	Refund(ctx context.Context, receipts []slidegate.Receipt) (bool, error)
	// Reset empties the windows of the items. Earlier receipts for them give
	// nothing back any more.
	Reset(ctx context.Context, items []Item) error
	// Close frees what the store holds. Later calls fail.
	Close() error
}

// Window is the windows of one limit: one for each key. It stands for an
// identity: two Windows of the same identity are the same, in this process and
// after a restart.
type Window struct {
	id   string
	hash name
}

// NewWindow returns the window with the given identity, a text that names the
// rule and what its history depends on.
func NewWindow(identity string) *Window {
	sum := sha256.Sum256([]byte(identity))
	w := &Window{id: identity}
	w.hash.hi = binary.BigEndian.Uint64(sum[:]) &^ shardBits
	w.hash.lo = binary.BigEndian.Uint64(sum[8:])
	return w
}

// Identity returns the text that the window was made from.
func (w *Window) Identity() string { return w.id }

// Request is one atomic decision over any number of windows and keys.
type Request struct {
	// Items are the windows to judge. No two may name the same window and
	// key.
	Items []Item
	// Deny refuses the request whatever the windows say. They are judged and
	// counted like in any refusal.
	Deny bool
	// Admitted is the answer: every item that is not a shadow had room. Only
	// then have they been charged.
	Admitted bool
	// Full is set when the request was refused because it needs a key or
	// memory that the store, at its ceiling, does not give.
	Full bool

	locks []uint32 // scratch of the memory store
}

// Item is one window of one key in a request.
type Item struct {
	// Window and Key say which. Key is read during the call only; items of
	// the same key should share the slice, so that it is hashed once.
	Window *Window
	Key    []byte
	// Limit is what is enforced now.
	Limit limit.Params
	// Cost is what to charge: 0 or more. 0 only looks.
	Cost int64
	// Shadow items are judged but do not decide. They are charged if the
	// request is admitted and they have room themselves.
	Shadow bool
	// CountRefused items are charged whatever the verdict. What does not fit
	// pushes out as much of the oldest, so the newest Max units are kept; a
	// Max that is lower than what is held forgets nothing.
	CountRefused bool

	// Result is the answer: whether the cost fitted, and how the window
	// stands after the decision. When the request was refused, the Retry of a
	// CountRefused item is the delay that holds after this charge, even if it
	// had room itself.
	Result limit.Result
	// Charged says that the window was charged, and Receipt with what. A
	// refused check that was only recorded has the zero Receipt and is not
	// given back: it may have pushed out an admitted one, whose place is not
	// free.
	Charged bool
	Receipt slidegate.Receipt

	hash   name // scratch of the memory store
	record *record
}
