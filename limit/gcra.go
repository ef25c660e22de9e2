package limit

import "math"

// Meter is the state of [GCRA]: the theoretical arrival time (TAT), the
// instant at which everything admitted so far has been worked off.
//
// With T = ceil(size/max) and the backlog d = max(TAT - now, 0):
//
//	cost fits  iff  d + cost*T <= burst*T
//	charge     :    TAT = now + d + cost*T
//	retry      =    d + cost*T - burst*T
//	used       =    ceil(d/T)
//
// It lets at most burst + t/T through in any span t. It is not a window: it
// never promises max per size. All O(1).
type Meter struct {
	// TAT is the theoretical arrival time; the zero Meter is empty for every
	// time after the epoch, and EmptyMeter for every time at all.
	TAT int64
	// Shift is how far refunds have moved up what was charged after them. The
	// stamp of a charge is TAT+Shift (modulo 2^64), so that a later refund
	// finds where the charge ends by then.
	Shift uint64
}

// EmptyMeter is a Meter that has admitted nothing, at any time.
func EmptyMeter() Meter { return Meter{TAT: math.MinInt64} }

// backlog returns d, at most p.Reach.
func (s *Meter) backlog(p Params, now int64) int64 {
	if s.TAT <= now {
		return 0
	}
	return int64(min(uint64(s.TAT)-uint64(now), uint64(p.Reach)))
}

// stamp returns TAT in the terms of receipts.
func (s *Meter) stamp() int64 { return int64(uint64(s.TAT) + s.Shift) }

// Advance moves a TAT that lies further ahead than any burst reaches, as after a
// clock that stepped back or a burst that was lowered, to now + p.Reach. Nothing
// that was charged before can be refunded then.
func (s *Meter) Advance(p Params, now int64) {
	d := s.backlog(p, now)
	if d == 0 || uint64(s.TAT)-uint64(now) == uint64(d) {
		return
	}
	s.Shift += uint64(s.TAT) - uint64(now)
	s.TAT = addTime(now, d)
}

// Judge says whether cost fits.
func (s *Meter) Judge(p Params, now, cost int64) (r Result) {
	s.JudgeInto(&p, now, cost, &r)
	return r
}

// JudgeInto is Judge without copying parameters and result.
func (s *Meter) JudgeInto(p *Params, now, cost int64, r *Result) {
	if p.Max == 0 { // a ban: T has no value
		r.set(0, 0, cost)
		return
	}
	d := s.backlog(*p, now)
	r.set(p.Burst, ceilDiv(d, p.Step), cost)
	// Compare delays, not units: a backlog of half a unit takes half a unit.
	if cost > p.Burst {
		r.Reset = d
		return
	}
	wait := d + cost*p.Step - p.Burst*p.Step
	r.OK = wait <= 0
	r.Reset = d
	r.Retry = max(wait, 0)
}

// Charge admits cost.
func (s *Meter) Charge(p Params, now, cost int64) Charged {
	return s.add(now, s.backlog(p, now), cost*p.Step)
}

// Record admits cost even when it does not fit, and keeps at most a burst.
func (s *Meter) Record(p Params, now, cost int64) Charged {
	if p.Max == 0 {
		return Charged{Stamp: now}
	}
	d, full := s.backlog(p, now), p.Burst*p.Step
	add := max(min(min(cost, p.Burst)*p.Step, full-d), 0)
	return s.add(now, d, add)
}

func (s *Meter) add(now, backlog, more int64) Charged {
	if more > 0 {
		if backlog == 0 && s.stamp() <= now {
			s.Shift = 0 // every earlier charge is worked off
		}
		s.TAT = addTime(now, backlog+more)
	}
	return Charged{Stamp: s.stamp(), Amount: more}
}

// Refund gives back what is not yet worked off. The charge occupies the time up
// to its stamp, less what refunds have moved it up; what of that now has passed
// is gone. If nothing was admitted since, the refund is exact; otherwise it may
// give back less than if the charge had never been, never more. It reports
// whether it gave anything back.
func (s *Meter) Refund(now int64, c Charged) bool {
	end := int64(uint64(c.Stamp) - s.Shift)
	if end <= now || s.TAT < end || c.Amount <= 0 {
		return false
	}
	left := min(uint64(c.Amount), uint64(end)-uint64(now))
	if end < s.TAT {
		s.Shift += left // what came after moves up
	}
	s.TAT = int64(uint64(s.TAT) - left)
	return true
}
