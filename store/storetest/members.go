package storetest

import (
	"slices"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

// set is a window of a Distinct as the list of its members, the oldest sight first.
type set struct {
	seen  []sight
	names int64 // of charges
}

// sight is when a member was last seen, and the charge that brought it in; 0 when it
// was seen again.
type sight struct {
	member   string
	at, from int64
}

// given returns the different members of an item that charges them.
func given(it *store.Item) (members []string) {
	if it.Cost == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, m := range it.Members {
		if !seen[string(m)] {
			members = append(members, string(m))
		}
		seen[string(m)] = true
	}
	return members
}

// ends returns when a member is out that was last seen at a time.
func (s sight) ends(p limit.Params) int64 {
	if p.Periods != nil {
		_, end := p.Periods.Period(s.at)
		return end
	}
	return s.at + p.Size
}

// live returns the members that are in the window, moved to now if they lie later.
func (w *set) live(p limit.Params, now int64) (live []sight) {
	for _, s := range w.seen {
		if s.at = min(s.at, now); s.ends(p) > now {
			live = append(live, s)
		}
	}
	return live
}

func (w *set) judge(p limit.Params, now int64, members []string) (r limit.Result) {
	live := w.live(p, now)
	all := map[string]bool{} // that would be in the window: the given
	for _, m := range members {
		all[m] = true
	}
	others := int64(0) // and the others
	for _, s := range live {
		if !all[s.member] {
			others++
		}
	}
	r.Used = int64(len(live))
	r.Remaining = max(p.Max-r.Used, 0)
	r.OK = others+int64(len(all)) <= p.Max
	r.Never = !r.OK && int64(len(members)) > p.Max
	for _, s := range live { // wait for one after another to leave
		r.Reset = s.ends(p) - now
		if !all[s.member] {
			others--
		}
		if !r.OK && !r.Never && r.Retry == 0 && others+int64(len(all)) <= p.Max {
			r.Retry = r.Reset
		}
	}
	return r
}

// charge sees members. If record is set and they do not fit, only those that are
// known are seen.
func (w *set) charge(p limit.Params, now int64, members []string, record bool) placed {
	fits := w.judge(p, now, members).OK
	w.names++
	known := map[string]bool{}
	for _, m := range members {
		known[m] = false
	}
	w.seen = slices.DeleteFunc(w.seen, func(s sight) bool {
		_, again := known[s.member]
		if again {
			known[s.member] = true
		}
		return again
	})
	fresh := int64(0)
	for _, m := range members {
		if known[m] {
			w.seen = append(w.seen, sight{m, now, 0})
		} else if fits || !record {
			w.seen = append(w.seen, sight{m, now, w.names})
			fresh++
		}
	}
	return placed{w.names, fresh}
}

// remove takes out the members that a charge brought in and nobody saw since.
func (w *set) remove(p limit.Params, now int64, c placed) bool {
	w.seen = slices.DeleteFunc(w.seen, func(s sight) bool { return s.ends(p) <= now })
	before := len(w.seen)
	w.seen = slices.DeleteFunc(w.seen, func(s sight) bool { return s.from == c.at })
	return len(w.seen) < before
}
