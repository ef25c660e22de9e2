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
// As a queue it admits a cost that has to wait for at most Params.Wait:
//
//	cost fits  iff  d + cost*T <= burst*T + Wait
//	it waits        d + cost*T - burst*T, if that is over 0
//
// It lets at most burst + t/T through in any span t, counting who waits at the
// instant waited for. It is not a window: it never promises max per size. All
// O(1).
type Meter struct {
	// TAT is the theoretical arrival time; the zero Meter is empty for every
	// time after the epoch, and EmptyMeter for every time at all.
	TAT int64
	// Shift is how far refunds have moved up what was charged after them. The
	// stamp of a charge is TAT+Shift (modulo 2^64), so that a later refund
	// finds where the charge ends by then.
	Shift uint64
	// Held is how far ahead of a check a queue may have handed out instants, in
	// microseconds: the longest of all queues that the backlog was charged by. A
	// shorter queue, or none, forgets none of them.
	Held int64
}

// EmptyMeter is a Meter that has admitted nothing, at any time.
func EmptyMeter() Meter { return Meter{TAT: math.MinInt64} }

// backlog returns d, at most p.Reach or Held.
func (s *Meter) backlog(p Params, now int64) int64 {
	if s.TAT <= now || p.Max == 0 {
		return 0
	}
	return int64(min(uint64(s.TAT)-uint64(now), uint64(max(p.Reach, s.Held))))
}

// stamp returns TAT in the terms of receipts.
func (s *Meter) stamp() int64 { return int64(uint64(s.TAT) + s.Shift) }

// Advance moves a TAT that lies further ahead than any burst and queue reaches, as
// after a clock that stepped back or a burst that was lowered, to where they do.
// Nothing that was charged before can be refunded then.
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
	r.Reset = d
	// Compare delays, not units: a backlog of half a unit takes half a unit.
	if r.Never = cost > p.Burst && cost-p.Burst > p.Wait/p.Step; r.Never {
		return
	}
	wait := d + (cost-p.Burst)*p.Step
	if r.OK = wait <= p.Wait; r.OK {
		r.Wait = max(wait, 0)
	} else {
		r.Retry = wait - p.Wait
	}
}

// Charge admits cost.
func (s *Meter) Charge(p Params, now, cost int64) Charged {
	return s.add(&p, now, s.backlog(p, now), cost*p.Step)
}

// ChargeAt is Charge for a cost that has to wait elsewhere, too: it goes on after
// wait at the earliest, and occupies the time from then on. wait is at most p.Wait.
func (s *Meter) ChargeAt(p Params, now, cost, wait int64) Charged {
	d := s.backlog(p, now)
	return s.add(&p, now, d, max(cost*p.Step, wait+min(cost, p.Burst)*p.Step-d))
}

// Record admits cost even when it does not fit, and keeps at most a burst.
func (s *Meter) Record(p Params, now, cost int64) Charged {
	if p.Max == 0 {
		return Charged{Stamp: now}
	}
	d, full := s.backlog(p, now), p.Burst*p.Step
	add := max(min(min(cost, p.Burst)*p.Step, full-d), 0)
	return s.add(&p, now, d, add)
}

func (s *Meter) add(p *Params, now, backlog, more int64) Charged {
	if backlog == 0 {
		s.Held = 0
	}
	if p.Wait > 0 {
		s.Held = max(s.Held, p.Reach)
	}
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
// give back less than if the charge had never been, never more. Of a queue only
// the last place is given back: those behind another have been told their instants,
// and nobody else may get one of these. It reports whether it gave anything back.
func (s *Meter) Refund(now int64, c Charged) bool {
	end := int64(uint64(c.Stamp) - s.Shift)
	if end <= now || s.TAT < end || c.Amount <= 0 || s.Held > 0 && end != s.TAT {
		return false
	}
	left := min(uint64(c.Amount), uint64(end)-uint64(now))
	if end < s.TAT {
		s.Shift += left // what came after moves up
	}
	s.TAT = int64(uint64(s.TAT) - left)
	return true
}
