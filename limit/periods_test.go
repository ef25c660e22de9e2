package limit

import "math"

// irregular are periods of the lengths given, again and again; one of them begins
// at the epoch.
type irregular []int64

// months are of 1 ms to 400 days.
var months = irregular{28 * 86_400_000_000, MinSize, 31 * 86_400_000_000, 7, 3_600_000_000, 60_000_000, MaxSize}

func (l irregular) Period(now int64) (start, end int64) {
	var total int64
	for _, n := range l {
		total += n
	}
	_, into := floorDiv(now, total)
	for _, n := range l {
		if into < n {
			if start = now - into; start > now { // before the beginning of time
				start = math.MinInt64
			}
			return start, addTime(now, n-into)
		}
		into -= n
	}
	panic("unreachable")
}
