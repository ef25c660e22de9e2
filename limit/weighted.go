package limit

import "math/bits"

// Weighted is the state of [SlidingCounter]: the counts of two windows that are
// aligned to the epoch. With into microseconds of the current one past:
//
//	used       =    current + ceil(previous * (size-into) / size)
//	cost fits  iff  used + cost <= max
//	retry      =    the first instant at which it does
//
// It is approximate: it takes the hits of the previous window for evenly spread.
// When they all came at its end, nearly max more pass before they are a whole
// window old: in a real window up to twice max may pass, and no smaller bound
// holds. When they all came at its start, it refuses up to a window too long.
// 24 bytes, all O(1).
//
// The product may take 98 bits. Who computes with float64 and would see it go over
// 2^53, takes previous in eight digits of seven bits, the highest first, from
// q = r = 0:
//
//	t = 128*r + digit*(size-into);  r = fmod(t, size);  q = 128*q + (t-r)/size
//
// No number in it is over 2^53, and the result is q, or q+1 if r > 0. For retry, the
// longest rest of a window in which previous weighs no more than room is at most a
// few microseconds from floor(room/previous*size): try it and its neighbours.
type Weighted struct {
	// Period numbers the current window: time divided by size, rounded down.
	Period int64
	// Current and Previous are what was admitted in it and in the one before.
	Current, Previous int64
}

// at returns the counts as they are in the window of now, which is into
// microseconds old. What lies in a later window is in the current one, and so is
// what came before it: that may have come in this one.
func (s *Weighted) at(p *Params, now int64) (period, into, current, previous int64) {
	period, into = floorDiv(now, p.Size)
	switch {
	case s.Period > period:
		return period, into, min(s.Current+s.Previous, MaxUnits), 0
	case s.Period == period:
		return period, into, s.Current, s.Previous
	case s.Period == period-1:
		return period, into, 0, s.Current
	}
	return period, into, 0, 0
}

// Advance makes the window of now the current one. A window later than that
// becomes it.
func (s *Weighted) Advance(p Params, now int64) {
	s.Period, _, s.Current, s.Previous = s.at(&p, now)
}

// Judge says whether cost fits.
func (s *Weighted) Judge(p Params, now, cost int64) (r Result) {
	s.JudgeInto(&p, now, cost, &r)
	return r
}

// JudgeInto is Judge without copying parameters and result.
func (s *Weighted) JudgeInto(p *Params, now, cost int64, r *Result) {
	_, into, current, previous := s.at(p, now)
	r.set(p.Max, current+weigh(previous, p.Size-into, p.Size), cost)
	switch {
	case current > 0:
		r.Reset = 2*p.Size - into
	case previous > 0:
		r.Reset = p.Size - into
	}
	switch {
	case r.OK || r.Never:
	case current+cost <= p.Max: // previous alone is too heavy, until it is lighter
		r.Retry = lightens(previous, p.Max-current-cost, p.Size) - into
	default: // current must become previous first
		r.Retry = p.Size - into + lightens(current, p.Max-cost, p.Size)
	}
}

// Charge adds cost to the current window.
func (s *Weighted) Charge(_ Params, _, cost int64) Charged {
	s.Current += cost
	return Charged{Stamp: s.Period, Amount: cost}
}

// Record adds cost even when it does not fit, up to max.
func (s *Weighted) Record(p Params, _, cost int64) Charged {
	add := max(min(cost, p.Max-s.Current), 0)
	s.Current += add
	return Charged{Stamp: s.Period, Amount: add}
}

// Refund takes c out of its window, if that is one of the two, and reports
// whether it gave anything back.
func (s *Weighted) Refund(_ int64, c Charged) bool {
	var from *int64
	switch c.Stamp {
	case s.Period:
		from = &s.Current
	case s.Period - 1:
		from = &s.Previous
	default:
		return false
	}
	n := min(c.Amount, *from)
	*from -= n
	return n > 0
}

// weigh returns ceil(n*part/whole), for 0 <= part <= whole and 0 <= n <= 2^53.
func weigh(n, part, whole int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(part))
	q, r := bits.Div64(hi, lo, uint64(whole))
	if r > 0 {
		q++
	}
	return int64(q)
}

// lightens returns how far into a window n weighs no more than room: the least
// into with ceil(n*(size-into)/size) <= room. 0 <= room; n > 0.
func lightens(n, room, size int64) int64 {
	if room >= n {
		return 0
	}
	hi, lo := bits.Mul64(uint64(room), uint64(size))
	q, _ := bits.Div64(hi, lo, uint64(n)) // the longest rest of the window that is light enough
	return size - int64(q)
}
