// Package measure takes one measurement of one limiter in this process: how
// fast it decides, or what its keys cost in memory.
package measure

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Job is one measurement, as it is handed to a child process.
type Job struct {
	// Table and Case say what is measured.
	Table, Case string
	// Limiter is the ID of the limiter.
	Limiter string
	// Length is how long decisions are timed.
	Length time.Duration
	// Keys is the number of keys of the largest case, a multiple of 100.
	Keys int
	// Window is the window of the exactness patterns.
	Window time.Duration
}

// Metrics of an [Outcome].
const (
	NsPerOp     = "ns/op"
	BytesPerOp  = "B/op"
	AllocsPerOp = "allocs/op"
	Admitted    = "admitted" // share of decisions

	HeapPerKey = "heap B/key"
	RSSPerKey  = "RSS B/key" // absent where the system does not say
	NsPerKey   = "ns/key"    // for a key's first hit
	GCWall     = "GC ms"     // wall time of a full collection
	GCCPU      = "GC CPU ms" // processor time of it
)

// Outcome is what one measurement found.
type Outcome struct {
	Job Job
	// Values are by metric.
	Values map[string]float64
	// Disturbed says why the machine spoilt it; "" means it did not.
	Disturbed string
}

// Case is one load of the speed table or one filling of the memory table.
type Case struct {
	// ID names it in jobs, Title in tables.
	ID, Title string
	// Keys is how many keys there are, Goroutines how many ask at once.
	Keys, Goroutines int
	// Zipf is the exponent of the keys' popularity; 0 means that all are alike.
	Zipf float64
	// Admits: all is admitted. Otherwise the quota is 100 a minute.
	Admits bool
	// Hits is how often each key is hit in the memory table.
	Hits int
}

// SpeedCases returns the loads of the speed table. keys is the number of the
// largest; the others follow it.
func SpeedCases(keys int) []Case {
	return []Case{
		{ID: "refused-1", Title: "hot, refused, 1g", Keys: 1, Goroutines: 1},
		{ID: "refused-2", Title: "hot, refused, 2g", Keys: 1, Goroutines: 2},
		{ID: "admitted-1", Title: "hot, admitted, 1g", Keys: 1, Goroutines: 1, Admits: true},
		{ID: "admitted-2", Title: "hot, admitted, 2g", Keys: 1, Goroutines: 2, Admits: true},
		{ID: "zipf", Title: "zipf " + count(keys/10) + " keys, 2g", Keys: keys / 10, Goroutines: 2, Zipf: 1.1},
		{ID: "uniform", Title: "uniform " + count(keys) + " keys, 2g", Keys: keys, Goroutines: 2},
	}
}

// MemoryCases returns the fillings of the memory table, the same way.
func MemoryCases(keys int) []Case {
	return []Case{
		{ID: "one-hit", Title: count(keys) + " keys, 1 hit", Keys: keys, Hits: 1},
		{ID: "full", Title: count(keys/100) + " keys, 100 hits", Keys: keys / 100, Hits: 100},
	}
}

// count writes a round number shortly.
func count(n int) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 1000 && n%1000 == 0:
		return fmt.Sprintf("%dk", n/1000)
	default:
		return strconv.Itoa(n)
	}
}

// find returns the case of a job.
func find(cases []Case, j *Job) (Case, error) {
	i := slices.IndexFunc(cases, func(c Case) bool { return c.ID == j.Case })
	if i < 0 {
		return Case{}, fmt.Errorf("measure: %s: no case %q", j.Table, j.Case)
	}
	return cases[i], nil
}
