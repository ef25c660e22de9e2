package limit

import "github.com/slidegate/slidegate/window"

// Marks is the state of [Events]: a window over the last size checks. Every
// check enters it, refused ones too, and is marked if it was admitted.
//
// It is a [Log] whose time is the number of the check. With n marks among the
// last size-1 checks:
//
//	fits   iff  n + 1 <= max                  (a cost of 0: n <= max)
//	retry  =    checks until the (n+1-max)-th oldest mark has left
//
// What is used is what the next check is held against: the marks among the last
// size-1 checks. Judging is O(log k) for k expired marks, Enter is O(1).
type Marks struct {
	window.Log[uint32]

	// Since is the number of checks entered after the newest mark.
	Since uint32
}

// next returns the number of the check that is being judged.
func (s *Marks) next() int64 { return s.Newest + int64(s.Since) + 1 }

// Advance drops the marks that have left the window.
func (s *Marks) Advance(p Params, _ int64) { s.Drop(s.Expired(s.next(), uint64(p.Size))) }

// Judge says whether the check fits. Any cost above 0 counts as 1.
func (s *Marks) Judge(p Params, now, cost int64) (r Result) {
	s.JudgeInto(&p, now, cost, &r)
	return r
}

// JudgeInto is Judge without copying parameters and result.
func (s *Marks) JudgeInto(p *Params, _, cost int64, r *Result) {
	cost = min(cost, 1)
	dead := s.Expired(s.next(), uint64(p.Size))
	n := int64(s.Len - dead)
	r.set(p.Max, n, cost)
	if !r.OK && !r.Never {
		over := n + cost - p.Max
		r.Retry = p.Size - int64(s.Age(dead+uint32(over)-1, s.next()))
	}
}

// Charge enters the check as an admitted one. Ring must have room: see Need.
func (s *Marks) Charge(_ Params, now, _ int64) Charged {
	next := s.next()
	if s.Len == 0 {
		// Numbers that start from the time are never used twice, even when the
		// state was forgotten in between; Refund relies on that.
		next = max(next, max(min(now, 1<<61), -1<<61)+1<<61)
	}
	s.Push(next, 1)
	s.Since = 0
	return Charged{Stamp: next, Amount: 1}
}

// Enter enters the check as a refused one.
func (s *Marks) Enter(p Params) {
	if s.Len == 0 {
		return
	}
	if int64(s.Since)+1 >= p.Size { // the newest mark has left
		s.Newest, s.Since = s.next(), 0
		s.Drop(s.Len)
		return
	}
	s.Since++
}

// Refund unmarks the check, which stays entered, and reports whether it was
// marked.
func (s *Marks) Refund(_ int64, c Charged) bool {
	last := s.Newest
	if s.Remove(c.Stamp, 1) == 0 {
		return false
	}
	s.Since += uint32(last - s.Newest) // 0 if no mark is left
	return true
}
