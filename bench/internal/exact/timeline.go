// Package exact asks limiters for more than they may give, at the times that
// are hardest for them, and counts what they let through in any real window.
package exact

import "time"

// Hit is an admitted hit. The limiter decided at some instant between two
// readings of the clock.
type Hit struct {
	// Before was read just before the limiter was asked, After just after.
	Before, After time.Duration
}

// grain is what limiters that decide in whole microseconds round away. Two hits
// that are apart by a window less this are not counted as one window.
const grain = time.Microsecond

// Most returns the largest number of hits that certainly lay in one half-open
// window of length w, wherever it starts. Hits are in the order of their calls,
// one call at a time.
//
// It never accuses a limiter wrongly: the first hit of a window is taken to have
// happened when its call began, the last when its call had ended. The true span
// is shorter, so a count over the limit is over the limit.
func Most(hits []Hit, w time.Duration) int {
	most, first := 0, 0
	for last := range hits {
		for hits[last].After-hits[first].Before >= w-grain {
			first++
			if first > last {
				break // one call took longer than the window
			}
		}
		most = max(most, last-first+1)
	}
	return most
}
