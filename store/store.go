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
	"github.com/slidegate/slidegate/window"
)

// Errors of a store. All leave every window as it was.
var (
	// ErrDuplicate: a request names the same window and key twice. The
	// engine sums their costs first.
	ErrDuplicate = errors.New("store: a window and key is named twice in one request")
	// ErrCost: a cost is negative.
	ErrCost = errors.New("store: negative cost")
	// ErrParams: parameters that limit.New did not make, or members where there
	// is no Distinct.
	ErrParams = errors.New("store: bad parameters")
)

// Store keeps windows. All methods are safe for concurrent use.
//
// A store must pass the suite in package storetest. It reads its own clock, in
// whole microseconds, once for each request.
type Store interface {
	// Decide judges each request on its own, in order, and fills in the
	// answers. In several queues a request waits for the longest of its items'
	// Waits, as long as the shortest of these queues lets it, and takes its
	// places for that instant. An error says that a request was wrong or the store failed;
	// requests before it have been decided, it and those after it have not.
	Decide(ctx context.Context, reqs []Request) error
	// Look judges like Decide but changes nothing and charges nothing: every
	// item's Result says how its window stands and whether Cost would fit.
	Look(ctx context.Context, req *Request) error
	// Refund gives back what the receipts of one decision say, once: it
	// reports whether it did. It may fail with [slidegate.ErrFull], and so may Release, Renew
	// and Reset. A second time, or after the charge has left its
	// windows, it does nothing and reports false. A queue gives back its last
	// place only: who stands behind another has been told when to go on.
	Refund(ctx context.Context, receipts []slidegate.Receipt) (bool, error)
	// Release gives back the places in flight that the receipts of one decision
	// hold, once, and nothing else that they say: it reports whether there was
	// one. After its deadline a place is gone by itself.
	Release(ctx context.Context, receipts []slidegate.Receipt) (bool, error)
	// Renew lets the places in flight of one decision stay for another while,
	// as if taken now, and changes their receipts to say so: the old ones give
	// nothing back any more. It reports whether there were any and all were
	// still there; those that are gone stay gone.
	Renew(ctx context.Context, receipts []slidegate.Receipt) (bool, error)
	// Reset empties the windows of the items, with what is held of them. Earlier
	// receipts for them give nothing back any more. A lock stays.
	Reset(ctx context.Context, items []Item) error
	// Report settles what a decision took, and then charges the windows that are fed
	// by reports, whatever they hold: what does not fit pushes out as much of the
	// oldest. It is atomic.
	Report(ctx context.Context, r *Report) error
	// Locks returns the locks that hold now or whose past is remembered, in no order.
	Locks(ctx context.Context) ([]Locked, error)
	// Unlock ends the locks of the items, forgets that they were, and empties the
	// windows that they would empty. It reports how many held.
	Unlock(ctx context.Context, items []Item) (int, error)
	// Close frees what the store holds. Later calls fail.
	Close() error
}

// Window is the windows of one limit: one for each key. It stands for an
// identity: two Windows of the same identity are the same, in this process and
// after a restart.
type Window struct {
	id   string
	hash Name
}

// NewWindow returns the window with the given identity, a text that names the
// rule and what its history depends on.
func NewWindow(identity string) *Window {
	sum := sha256.Sum256([]byte(identity))
	w := &Window{id: identity}
	w.hash.Hi = binary.BigEndian.Uint64(sum[:]) &^ shardBits
	w.hash.Lo = binary.BigEndian.Uint64(sum[8:])
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
	// Admitted is the answer: every item that decides had room. Only then have
	// they been charged.
	Admitted bool
	// Full is set when the request was refused because it needs a key or
	// memory that the store, at its ceiling, does not give.
	Full bool

	// Scratch of the memory store: the shards to lock, and how long the request may
	// wait in its queues, as long as the shortest of those that decide lets it.
	locks []uint32
	wait  int64
}

// Item is one window of one key in a request.
type Item struct {
	// Window and Key say which. Key is read during the call only; items of
	// the same key should share the slice, so that it is hashed once.
	Window *Window
	Key    []byte
	// Limit is what is enforced now. It is read during the call only.
	Limit *limit.Params
	// Cost is what to charge: 0 or more. 0 only looks. In flight it is a number
	// of places. Windows of events are charged 1, a Distinct its members.
	Cost int64
	// Members are what a Distinct is charged; nil elsewhere. One that is named
	// twice counts once. Without members a Distinct only looks.
	Members [][]byte
	// Yields says that the item does not decide: where its cost does not fit,
	// the request is admitted without charging it.
	Yields bool
	// Shadow items do not decide either, and nothing is refused because there is
	// no room to keep them. They are charged if the request is admitted and
	// they have room themselves.
	Shadow bool
	// CountRefused items are charged whatever the verdict. What does not fit
	// pushes out as much of the oldest, so the newest Max units are kept; a
	// Max that is lower than what is held forgets nothing. A Distinct sees those
	// again that it knows, and takes no new one over Max. It means nothing for
	// a window of events, which every check enters, nor for what is in flight,
	// since nobody could release what was refused.
	CountRefused bool
	// Hold says that a report settles what a check takes; nil for what is final. It
	// means nothing for what is in flight.
	Hold *Hold
	// Reported windows are fed by reports: a check has room while what they hold,
	// with what is held of them, leaves room for its cost, and charges them nothing.
	// With Hold it holds as much until it is settled.
	Reported bool
	// Free frees the oldest place that is held of a Reported window, before it is
	// charged: a report that names no decision is of one of them.
	Free bool
	// Clear empties a Reported window before it is charged: a row is broken.
	Clear bool
	// Lock locks the key when the window is full; nil for none.
	Lock *Lock

	// Result is the answer: whether the cost fitted, and how the window
	// stands after the decision. When the request was refused, the Retry of a
	// CountRefused item is the delay that holds after this charge, even if it
	// had room itself.
	Result limit.Result
	// Charged says that the window was charged, and then Receipt with what. A
	// refused check that was only recorded has the zero Receipt and is not
	// given back: it may have pushed out an admitted one, whose place is not
	// free. So has a Distinct that brought no new member in.
	Charged bool
	Receipt slidegate.Receipt
	// Locked is the answer: for how long the key is locked from now on, in
	// microseconds; 0 if it is not. Result.Retry is no less.
	Locked int64
	// LockedNow says that this call locked it, and Times which lock in a row it is,
	// from 1.
	LockedNow bool
	Times     int
	// Name is the store's name of the window and key, as in receipts.
	Name Name

	record *record       // scratch of the memory store
	given  []window.Hash // the same: of Members
	sketch *sketch       // the same: the key has no record
	full   bool          // the same: a Reported window is, without what is held
	moved  bool          // the same: judging changed the state
}

// Hold says what becomes of what a check takes of a window until a report settles it.
// Of a window that checks feed, the check charges it, and the report changes the
// charge or gives it back. Of a Reported one, the check holds a place, and the report
// frees it and charges what there is to charge.
type Hold struct {
	// For is how long a report is waited for, in microseconds: 1 or more.
	For int64
	// Release says that without a report the hit is given back, or the place is free,
	// after that time. Otherwise the hit stays, and the place counts as a hit of that
	// time.
	Release bool
}

// Lock says how a key is locked. Keys are locked by a check that is refused because
// the window is full, and by the report that fills it, unless the item is a shadow or
// yields; never by what is held. While a key is locked the windows are not what
// decides: every check of it is refused.
type Lock struct {
	// Lasts is how long the first lock lasts, the second, and so on, in microseconds;
	// the last says it of all that follow. There is at least one.
	Lasts []int64
	// Forget is how long after its end a lock is remembered as one that was, in
	// microseconds.
	Forget int64
	// Empties are windows that a lock of the same key empties, with what is held of
	// them.
	Empties []*Window
}

// Locked is a key that is locked, or was and has not been forgotten.
type Locked struct {
	// Window is the identity of the window that locked it, and Key the key.
	Window string
	Key    []byte
	// Since and Until are when the newest lock began and ends, in microseconds since
	// the epoch; Times is which one in a row it is, from 1.
	Since, Until int64
	Times        int
}

// Report says what happened.
type Report struct {
	// Items are the windows to charge, if they are Reported. Of the others, which are
	// not charged, the Cost is what an Unsettled charge of Settle comes to; what they
	// do not name stays as it was charged. No two may name the same window and key.
	Items []Item
	// Settle is what a decision took: an Unsettled charge is made what it comes to, a
	// Held place is free, and a place in flight is released.
	Settle []slidegate.Receipt
	// Failed gives Unsettled charges back.
	Failed bool
	// Settled is the answer: something was still to be settled, or in flight.
	Settled bool
	// Full is set when some item was not charged, because it needs a key or memory
	// that the store, at its ceiling, does not give.
	Full bool

	locks []uint32 // scratch of the memory store
}

// Name is a store's name of a window and key. (A struct of two numbers is kept in
// registers, an array is not.)
type Name struct{ Hi, Lo uint64 }

// NameOf returns the window and key that a receipt is for.
func NameOf(r *slidegate.Receipt) Name { return Name{r.Window[0], r.Window[1]} }
