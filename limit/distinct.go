package limit

import (
	"slices"

	"github.com/slidegate/slidegate/window"
)

// Members is the state of [Distinct]: the different members seen in the window.
// Its cost is a set of members: those that are known are seen again, the others
// are new.
//
//	fits   iff  live + new <= max             (without members: live <= max)
//	retry  =    until enough live ones, other than those given, have left
//
// Judging n members of m is O(n), O(n*m) for the delay of a refusal; charging is
// O(n).
type Members struct{ window.Members }

// left reports whether a member that was last seen at that time is out of the
// window at now, and the delay until it is.
func (p *Params) left(seen, now int64) (gone bool, delay int64) {
	seen = min(seen, now)
	if p.Periods != nil {
		start, end := p.Periods.Period(now)
		return seen < start, end - now
	}
	if age := uint64(now) - uint64(seen); age < uint64(p.Size) {
		return false, p.Size - int64(age)
	}
	return true, 0
}

// Advance drops the members that have left the window, and moves those seen later
// than now to now.
func (s *Members) Advance(p Params, now int64) {
	s.Pull(now)
	for s.Oldest != 0 {
		if gone, _ := p.left(s.Seen(s.Oldest), now); !gone {
			return
		}
		s.Remove(s.Oldest)
	}
}

// firstLive returns the place of the oldest live member, 0 if there is none, and
// the number of live ones.
func (s *Members) firstLive(p *Params, now int64) (place uint32, live int64) {
	place, live = s.Oldest, int64(s.Len)
	for place != 0 {
		if gone, _ := p.left(s.Seen(place), now); !gone {
			break
		}
		place = s.Newer(place)
		live--
	}
	return place, live
}

// Judge says whether the given members fit. They are different.
func (s *Members) Judge(p Params, now int64, given []window.Hash) (r Result) {
	s.JudgeInto(&p, now, given, &r)
	return r
}

// JudgeInto is Judge without copying parameters and result.
func (s *Members) JudgeInto(p *Params, now int64, given []window.Hash, r *Result) {
	oldest, live := s.firstLive(p, now)
	fresh := s.Fresh(p, now, given)
	r.set(p.Max, live, fresh)
	r.OK = live+fresh <= p.Max
	r.Never = !r.OK && int64(len(given)) > p.Max
	if live > 0 {
		_, r.Reset = p.left(s.Seen(s.Newest), now)
	}
	if !r.OK && !r.Never {
		r.Retry = s.retry(p, now, oldest, live+fresh-p.Max, given)
	}
}

// Fresh returns how many of the given members are not live.
func (s *Members) Fresh(p *Params, now int64, given []window.Hash) int64 {
	fresh := int64(len(given))
	for _, h := range given {
		if place := s.Find(h); place != 0 {
			if gone, _ := p.left(s.Seen(place), now); !gone {
				fresh--
			}
		}
	}
	return fresh
}

// retry returns the delay until so many live members, other than those given,
// have left.
func (s *Members) retry(p *Params, now int64, place uint32, over int64, given []window.Hash) (delay int64) {
	for ; place != 0; place = s.Newer(place) {
		if slices.Contains(given, s.Hash(place)) {
			continue
		}
		_, delay = p.left(s.Seen(place), now)
		if over--; over == 0 {
			break
		}
	}
	return delay
}

// Charge notes that the given members were seen at now. Slots must have room for
// Len and them. The batch, which is not 0, numbers the charge.
func (s *Members) Charge(_ Params, now int64, given []window.Hash, batch uint64) Charged {
	fresh := int64(0)
	for _, h := range given {
		if place := s.Find(h); place != 0 {
			s.Touch(place, now)
		} else {
			s.Add(h, now, batch)
			fresh++
		}
	}
	return Charged{Stamp: now, Amount: fresh}
}

// Record is Charge if they fit. Otherwise the known ones are seen again, and no new
// one comes in: known from then on, it would pass the next time, and more than max
// would have been let through.
func (s *Members) Record(p Params, now int64, given []window.Hash, batch uint64) Charged {
	if s.Judge(p, now, given).OK {
		return s.Charge(p, now, given, batch)
	}
	for _, h := range given {
		if place := s.Find(h); place != 0 {
			s.Touch(place, now)
		}
	}
	return Charged{Stamp: now}
}

// Refund takes out the members that the charge with this number brought in, as
// far as nobody has seen them since, and reports whether there were any.
func (s *Members) Refund(batch uint64, c Charged) bool {
	return c.Amount > 0 && s.Batch(batch, int(c.Amount)) > 0
}
