package limit

import "github.com/slidegate/slidegate/window"

// Holders is the state of [Inflight]: who was let in and has not been released.
// It is a [Log] of the instants at which they came or were last renewed, and
// size is how long a holder stays that is not renewed: renewing is releasing and
// charging anew. A cost is a number of holders, which come, are renewed and go
// together.
//
//	fits   iff  holders + cost <= max
//	retry  =    until the last holder is gone that must be, if none is released
//
// Judging and releasing are O(log k), charging O(cost).
type Holders struct{ window.Log[uint64] }

func (s *Holders) log() *Log[uint64] { return (*Log[uint64])(s) }

// Advance drops the holders whose time is over, and moves those that came later
// than now to now.
func (s *Holders) Advance(p Params, now int64) { s.log().Advance(p, now) }

// Judge says whether cost more fit.
func (s *Holders) Judge(p Params, now, cost int64) (r Result) {
	s.JudgeInto(&p, now, cost, &r)
	return r
}

// JudgeInto is Judge without copying parameters and result.
func (s *Holders) JudgeInto(p *Params, now, cost int64, r *Result) {
	s.log().JudgeInto(p, now, cost, r)
}

// Charge lets cost holders in. Ring must have room: see Need.
func (s *Holders) Charge(p Params, now, cost int64) Charged { return s.log().Charge(p, now, cost) }

// Refund releases holders, and reports whether they were there.
func (s *Holders) Refund(now int64, c Charged) bool { return s.log().Refund(now, c) }
