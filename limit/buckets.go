package limit

import "github.com/slidegate/slidegate/window"

// Buckets is the state of [SlidingBuckets].
//
// Time is cut into slices of w = ceil(size/buckets), aligned to the epoch. The
// slice of now and the buckets slices before it count whole:
//
//	cost fits  iff  total + cost <= max
//	retry      =    the start of the first slice at which it fits
//
// These slices cover at least (now-size, now], so it never lets more than max
// through in a window. They reach back less than size + 2w, so a hit is held
// against its caller at most one slice (and the rounding of w) too long.
//
// Judging is O(log buckets), charging O(1).
type Buckets struct{ window.Buckets }

// Advance drops the slices that no longer count, and moves those that lie later
// than now to the slice of now.
func (s *Buckets) Advance(p Params, now int64) {
	tick, _ := floorDiv(now, p.Step)
	s.Pull(tick)
	s.Drop(s.Expired(tick, uint64(p.Buckets)))
}

// Judge says whether cost fits.
func (s *Buckets) Judge(p Params, now, cost int64) (r Result) {
	s.JudgeInto(&p, now, cost, &r)
	return r
}

// JudgeInto is Judge without copying parameters and result.
func (s *Buckets) JudgeInto(p *Params, now, cost int64, r *Result) {
	tick, into := floorDiv(now, p.Step)
	dead := s.Expired(tick, uint64(p.Buckets))
	r.set(p.Max, int64(s.Sum(dead)), cost)
	// leaves returns the delay until the i-th slice is out.
	leaves := func(i uint32) int64 {
		var age int64
		if t := s.At(i).Tick; t < tick {
			age = int64(uint64(tick) - uint64(t))
		}
		return (p.Buckets+1-age)*p.Step - into
	}
	if r.Used > 0 {
		r.Reset = leaves(s.Len - 1)
	}
	if !r.OK && !r.Never {
		r.Retry = leaves(s.Freed(dead, uint64(r.Used+cost-p.Max)))
	}
}

// NeedSlot reports whether a charge at now needs a slice that Ring has no room
// for.
func (s *Buckets) NeedSlot(p Params, now int64) bool {
	tick, _ := floorDiv(now, p.Step)
	return s.Full(tick)
}

// Charge adds cost to the slice of now. Ring must have room: see NeedSlot.
func (s *Buckets) Charge(p Params, now, cost int64) Charged {
	tick, _ := floorDiv(now, p.Step)
	if cost > 0 {
		s.Add(tick, uint64(cost))
	}
	return Charged{Stamp: tick, Amount: cost}
}

// Record adds cost even when it does not fit. It pushes out as much of the oldest
// as there is over max, but no more than was added.
func (s *Buckets) Record(p Params, now, cost int64) Charged {
	cost = min(cost, p.Max)
	if over := min(int64(s.Sum(0))+cost-p.Max, cost); over > 0 {
		s.Trim(uint64(over))
	}
	return s.Charge(p, now, cost)
}

// Refund takes c out of its slice, if that still counts, and reports whether it
// gave anything back.
func (s *Buckets) Refund(_ int64, c Charged) bool {
	return s.Subtract(c.Stamp, uint64(c.Amount)) > 0
}
