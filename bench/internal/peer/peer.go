// Package peer holds the limiters that are measured: ours, naive ones, and
// libraries, each behind the same small function.
package peer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Quota is what a limiter is asked to enforce: Max hits per Per, for each key.
type Quota struct {
	Max int64
	Per time.Duration
}

// Plenty is a quota that admits everything: one key would have to be asked for
// more often than every 10 ns. Its windows pass all the time, so that a log also
// forgets.
func Plenty() Quota { return Quota{Max: 100_000, Per: time.Millisecond} }

// Allow reports whether key may pass now, and counts it if so. It is called by
// several goroutines at once.
type Allow func(key string) bool

// Kind says what a limiter promises.
type Kind string

// The kinds of limiters.
const (
	ExactLog       Kind = "exact log"
	Buckets        Kind = "sliding buckets"
	GCRA           Kind = "GCRA"
	TokenBucket    Kind = "token bucket"
	FixedWindow    Kind = "fixed window"
	FixedInterval  Kind = "fixed-interval bucket"
	SlidingCounter Kind = "sliding counter"
	Floor          Kind = "no limiter"
)

// Tables in which a limiter can stand.
const (
	Speed  = "speed"
	Memory = "memory"
	Exact  = "exact"
)

// Limiter is one limiter under test.
type Limiter struct {
	// ID is the word for it on the command line.
	ID string
	// Name is what tables call it.
	Name string
	// Kind is what it promises.
	Kind Kind
	// Module is the path of the module it comes from; "" means this
	// repository.
	Module string
	// Tables are the tables it stands in: Speed, Memory, Exact.
	Tables []string
	// Plenty is a quota of which it admits everything; the zero Quota means
	// [Plenty].
	Plenty Quota
	// Open makes one. It returns a function that stops its goroutines, or nil
	// if it has none.
	Open func(q Quota) (allow Allow, stop func(), err error)
}

// In reports whether l stands in a table.
func (l *Limiter) In(table string) bool { return slices.Contains(l.Tables, table) }

// All returns every limiter, in the order of the tables.
func All() []Limiter { return slices.Concat(ours(), naive(), libraries()) }

// Find returns the limiter with an ID.
func Find(id string) (Limiter, error) {
	all := All()
	i := slices.IndexFunc(all, func(l Limiter) bool { return l.ID == id })
	if i < 0 {
		return Limiter{}, fmt.Errorf("peer: no limiter %q; there are %s", id, strings.Join(IDs(all), ", "))
	}
	return all[i], nil
}

// IDs lists the words for limiters.
func IDs(all []Limiter) []string {
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	return ids
}

// Modules lists the modules that the limiters come from, sorted.
func Modules(all []Limiter) []string {
	var paths []string
	for i := range all {
		if m := all[i].Module; m != "" {
			paths = append(paths, m)
		}
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Compare(strings.ToLower(a), strings.ToLower(b))
	})
	return slices.Compact(paths)
}
