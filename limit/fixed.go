package limit

// Counter is the state of [Fixed] and [Calendar]: one count for one window,
// aligned to the epoch or a period of the calendar.
//
//	cost fits  iff  count + cost <= max
//	retry      =    the end of the window
//
// Around the edge of two windows up to twice max passes. All O(1).
type Counter struct {
	// Period names the window: time divided by size, rounded down; of the
	// calendar, when the period starts.
	Period int64
	// Count is what was admitted in it.
	Count int64
}

// period returns the window that now lies in, and the delay until it ends.
func (p *Params) period(now int64) (id, left int64) {
	if p.Periods != nil {
		start, end := p.Periods.Period(now)
		return start, end - now
	}
	id, into := floorDiv(now, p.Size)
	return id, p.Size - into
}

// Advance starts the window of now at 0, and moves a count that lies in a later
// window to the window of now.
func (s *Counter) Advance(p Params, now int64) {
	period, _ := p.period(now)
	if s.Period < period {
		s.Count = 0
	}
	s.Period = period
}

// Judge says whether cost fits.
func (s *Counter) Judge(p Params, now, cost int64) (r Result) {
	s.JudgeInto(&p, now, cost, &r)
	return r
}

// JudgeInto is Judge without copying parameters and result.
func (s *Counter) JudgeInto(p *Params, now, cost int64, r *Result) {
	period, left := p.period(now)
	var used int64
	if s.Period >= period {
		used = s.Count
	}
	r.set(p.Max, used, cost)
	if used > 0 {
		r.Reset = left
	}
	if !r.OK && !r.Never {
		r.Retry = left
	}
}

// Charge adds cost to the window of now.
func (s *Counter) Charge(_ Params, _, cost int64) Charged {
	s.Count += cost
	return Charged{Stamp: s.Period, Amount: cost}
}

// Record adds cost even when it does not fit, up to max.
func (s *Counter) Record(p Params, now, cost int64) Charged {
	add := max(min(cost, p.Max-s.Count), 0)
	return s.Charge(p, now, add)
}

// Refund takes c out of its window, if that is still the window in use, and
// reports whether it gave anything back.
func (s *Counter) Refund(_ int64, c Charged) bool {
	if s.Period != c.Stamp || s.Count == 0 || c.Amount == 0 {
		return false
	}
	s.Count = max(s.Count-c.Amount, 0)
	return true
}
