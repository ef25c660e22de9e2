package limit

import "github.com/slidegate/slidegate/window"

// Log is the state of [SlidingLog].
//
// With n live hits, those of (now-size, now]:
//
//	cost fits  iff  n + cost <= max
//	retry      =    size - age of the (n+cost-max)-th oldest live hit
//
// Because every admitted hit stays in the log for size, and a cost passes only
// while n + cost <= max, no window of that size ever holds more than max:
// any such window may be moved back until it ends at its last admitted hit.
//
// Judging is O(log k) for k expired hits; charging is O(cost).
type Log[S window.Stamp] struct{ window.Log[S] }

// Advance drops the hits that have left the window, and moves those that lie
// later than now to now.
func (s *Log[S]) Advance(p Params, now int64) {
	s.Pull(now)
	s.Drop(s.Expired(now, uint64(p.Size)))
}

// Judge says whether cost fits.
func (s *Log[S]) Judge(p Params, now, cost int64) (r Result) {
	s.JudgeInto(&p, now, cost, &r)
	return r
}

// JudgeInto is Judge without copying parameters and result.
func (s *Log[S]) JudgeInto(p *Params, now, cost int64, r *Result) {
	s.JudgeLive(p, now, cost, s.Expired(now, uint64(p.Size)), r)
}

// JudgeLive is JudgeInto for a caller that knows how many hits have left the window
// at now: see Expired.
func (s *Log[S]) JudgeLive(p *Params, now, cost int64, dead uint32, r *Result) {
	n := s.Len - dead
	r.set(p.Max, int64(n), cost)
	if n > 0 {
		r.Reset = p.Size - int64(s.Age(s.Len-1, now))
	}
	if !r.OK && !r.Never {
		over := int64(n) + cost - p.Max
		r.Retry = p.Size - int64(s.Age(dead+uint32(over)-1, now))
	}
}

// Charge adds cost hits at now. Ring must have room: see Need. O(cost).
func (s *Log[S]) Charge(_ Params, now, cost int64) Charged {
	s.Push(now, uint32(cost))
	return Charged{Stamp: now, Amount: cost}
}

// Record adds cost hits at now even when they do not fit. They push out as many of
// the oldest as there are over max, but no more than were added: a maximum that
// is lower for this event, or for a while, forgets nothing. Ring must have room.
func (s *Log[S]) Record(p Params, now, cost int64) Charged {
	cost = min(cost, p.Max)
	if over := min(int64(s.Len)+cost-p.Max, cost); over > 0 {
		s.Drop(uint32(over))
	}
	s.Push(now, uint32(cost))
	return Charged{Stamp: now, Amount: cost}
}

// Refund takes out up to c.Amount hits of exactly that stamp. A hit that has
// left the window, or whose stamp was pulled, gives nothing back. It reports
// whether it gave anything back.
func (s *Log[S]) Refund(_ int64, c Charged) bool {
	return s.Remove(c.Stamp, uint32(c.Amount)) > 0
}
