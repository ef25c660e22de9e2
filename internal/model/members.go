package model

import "slices"

// Members is the different members that were seen, the oldest sight first. It is
// not a Window: it is charged with members.
type Members struct{ seen []sight }

// sight is when a member was last seen, and which charge brought it in if nobody
// saw it since.
type sight struct {
	member   string
	at, from int64
}

// live returns the members in the window, moved to now if they lie later.
func (w *Members) live(p Params, now int64) (live []sight) {
	for _, s := range w.seen {
		s.at = min(s.at, now)
		if p.leaves(s.at) > now {
			live = append(live, s)
		}
	}
	return live
}

// leaves returns when a member is out that was last seen at a time.
func (p Params) leaves(at int64) int64 {
	if p.Period != nil {
		_, end := p.period(at)
		return end
	}
	return at + p.Size
}

// at returns the members of a list that are live at a time, and how many of the
// given would be new.
func (w *Members) at(p Params, list []sight, now int64, given []string) (live, fresh int64) {
	for _, s := range list {
		if p.leaves(s.at) > now {
			live++
		}
	}
	for _, g := range given {
		if !slices.ContainsFunc(list, func(s sight) bool { return s.member == g && p.leaves(s.at) > now }) {
			fresh++
		}
	}
	return live, fresh
}

func (w *Members) judge(p Params, now int64, given []string) Result {
	list := w.live(p, now)
	live, fresh := w.at(p, list, now, given)
	r := answer(p.Max, live, fresh)
	r.Never = !r.OK && int64(len(given)) > p.Max
	for _, s := range list { // wait for one after another to leave
		leaves := p.leaves(s.at)
		r.Reset = leaves - now
		if r.OK || r.Never || r.Retry > 0 {
			continue
		}
		if live, fresh := w.at(p, list, leaves, given); live+fresh <= p.Max {
			r.Retry = leaves - now
		}
	}
	return r
}

// Check judges and charges different members under a name.
func (w *Members) Check(p Params, now int64, given []string, id int64) Result {
	r := w.judge(p, now, given)
	if len(given) == 0 {
		return r
	}
	w.seen = w.live(p, now)
	if r.OK {
		w.see(now, given, id)
		r = merge(r, w.judge(p, now, nil))
	}
	return r
}

// see notes that members were seen.
func (w *Members) see(now int64, given []string, id int64) {
	for _, g := range given {
		i := slices.IndexFunc(w.seen, func(s sight) bool { return s.member == g })
		if i >= 0 {
			w.seen = append(slices.Delete(w.seen, i, i+1), sight{g, now, 0})
			continue
		}
		w.seen = append(w.seen, sight{g, now, id})
	}
}

// Record charges what fits. Of what does not, known members are seen again. Nobody
// gives it back, so its id is 0 where others have names.
func (w *Members) Record(p Params, now int64, given []string, id int64) Result {
	r := w.judge(p, now, given)
	if len(given) == 0 {
		return r
	}
	w.seen = w.live(p, now)
	seen := given
	if !r.OK {
		seen = nil
		for _, g := range given {
			if slices.ContainsFunc(w.seen, func(s sight) bool { return s.member == g }) {
				seen = append(seen, g)
			}
		}
	}
	w.see(now, seen, id)
	return after(r, w.judge(p, now, given), w.judge(p, now, nil))
}

// Refund takes out what a charge brought in and nobody saw since, and reports
// whether there was any.
func (w *Members) Refund(p Params, now, id int64) bool {
	w.seen = slices.DeleteFunc(w.seen, func(s sight) bool { return p.leaves(s.at) <= now })
	before := len(w.seen)
	w.seen = slices.DeleteFunc(w.seen, func(s sight) bool { return s.from == id })
	return before > len(w.seen)
}
