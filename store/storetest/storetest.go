// Package storetest is the contract of a store of windows as a test suite.
// Every store that package gate may be given must pass it.
//
// A store calls it from a test of its own:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
//			s, err := mystore.New(mystore.Options{Now: clock.Now})
//			if err != nil {
//				t.Fatal(err)
//			}
//			return s
//		})
//	}
//
// open is called once for each subtest and must return a store that holds
// nothing, and that takes its time from the clock and from nowhere else. A
// store whose clock is elsewhere, in a server or a script, must bring it there:
// clock.Now is the time at which every later call is to be decided, until the
// clock is moved. Times stay within whole microseconds that a float64 holds
// exactly. A store over a server makes sure by a prefix or an empty database that
// nothing is left from another subtest. The suite closes the store.
//
// What a subtest holds is its name. The suite waits for nothing, so it takes as
// long as its calls: about 60 000. It asks for no more than the contract says;
// where the contract leaves a choice, it stays away:
//
//   - an entry that expired while nobody used its window may come back or not
//     when the clock steps back to before its end;
//   - a window of events may be forgotten when it was not used for a day;
//   - what a store remembers of refunds and resets it may forget when their
//     charges have left, and not know it when the clock steps back after that;
//   - a refund from a GCRA window may give back less when other charges came
//     after it, never more.
package storetest

import (
	"sync/atomic"
	"testing"

	"github.com/slidegate/slidegate/store"
)

// Clock is a clock that stands until it is moved, in microseconds since the
// epoch. It is safe for concurrent use. The zero Clock stands at the epoch.
type Clock struct{ now atomic.Int64 }

// Now returns the time.
func (c *Clock) Now() int64 { return c.now.Load() }

// Set moves the clock to a time, which may be earlier.
func (c *Clock) Set(now int64) { c.now.Store(now) }

// Add moves the clock by a delay, which may be negative, and returns the time.
func (c *Clock) Add(delay int64) int64 { return c.now.Add(delay) }

// start is when every subtest begins.
const start = 1_700_000_000_000_000

const (
	second = int64(1_000_000)
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

// clause is one subtest: what it holds, and how.
type clause struct {
	holds string
	test  func(*tester)
}

// Run holds the store that open returns to the contract of [store.Store].
func Run(t *testing.T, open func(t *testing.T, clock *Clock) store.Store) {
	for _, group := range [][]clause{
		vectorClauses(), windowClauses(), verdictClauses(), recordClauses(), requestClauses(),
		refundClauses(), inflightClauses(), placeClauses(), heldClauses(), lockClauses(), distinctClauses(), keyClauses(), clockClauses(), retryClauses(), randomClauses(), raceClauses(),
	} {
		for _, c := range group {
			t.Run(c.holds, func(t *testing.T) {
				s := newTester(t, open)
				c.test(s)
			})
		}
	}
}
