package storetest

import (
	"math/big"
	"slices"
	"sort"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

// naive is one window of one key as a list of all it was charged with. It is
// slow and obvious, and shares no code with package limit.
//
// Most algorithms count what lies in the last span places, where a place is a
// microsecond, a slice, an aligned window, a period or a check. GCRA is a queue of
// work, see queue.go; a Distinct is a set, see members.go; a sliding counter weighs
// its two places.
type naive struct {
	hits    []placed
	checks  int64 // entered, of a window of events
	queue   queue
	set     set
	emptied bool // by Reset: receipts are void
}

// placed is units at a place.
type placed struct{ at, n int64 }

// places returns how long a place is and how many count.
func places(p limit.Params) (length, span int64) {
	switch p.Algorithm {
	case limit.SlidingBuckets:
		return (p.Size + p.Buckets - 1) / p.Buckets, p.Buckets + 1
	case limit.Fixed:
		return p.Size, 1
	case limit.SlidingCounter:
		return p.Size, 2
	case limit.Calendar:
		return 0, 1 // a period is named by its start
	default:
		return 1, p.Size
	}
}

// here returns the place of now and how much of it has passed.
func (w *naive) here(p limit.Params, now int64) (place, into int64) {
	switch p.Algorithm {
	case limit.Events:
		return w.checks + 1, 0
	case limit.Calendar:
		start, _ := p.Periods.Period(now)
		return start, now - start
	}
	length, _ := places(p)
	return now / length, now % length // times are after the epoch
}

// live returns what counts at now, oldest first. What lies later stands for now.
func (w *naive) live(p limit.Params, now int64) (live []placed) {
	place, _ := w.here(p, now)
	_, span := places(p)
	for _, h := range w.hits {
		h.at = min(h.at, place)
		if place-h.at < span && h.n > 0 {
			live = append(live, h)
		}
	}
	slices.SortStableFunc(live, func(a, b placed) int { return int(a.at - b.at) })
	return live
}

// judgeItem says whether the cost of an item, or its members, fit at now.
func (w *naive) judgeItem(it *store.Item, p limit.Params, now int64) limit.Result {
	if p.Algorithm == limit.Distinct {
		return w.set.judge(p, now, given(it))
	}
	return w.judge(p, now, it.Cost)
}

// stands says how the window stands at now.
func (w *naive) stands(p limit.Params, now int64) limit.Result {
	if p.Algorithm == limit.Distinct {
		return w.set.judge(p, now, nil)
	}
	return w.judge(p, now, 0)
}

// judge says whether cost fits at now.
func (w *naive) judge(p limit.Params, now, cost int64) (r limit.Result) {
	switch p.Algorithm {
	case limit.GCRA:
		return w.queue.judge(p, now, cost)
	case limit.SlidingCounter:
		return w.judgeWeighted(p, now, cost)
	case limit.Events:
		cost = min(cost, 1)
	}
	live := w.live(p, now)
	for _, h := range live {
		r.Used += h.n
	}
	r.Remaining = max(p.Max-r.Used, 0)
	r.OK = cost <= p.Max-r.Used
	r.Never = cost > p.Max
	left := r.Used
	for _, h := range live { // wait for one after another to leave
		left -= h.n
		leaves := w.leaves(p, now, h)
		if p.Algorithm != limit.Events {
			r.Reset = leaves
		}
		if !r.OK && !r.Never && r.Retry == 0 && cost <= p.Max-left {
			r.Retry = leaves
		}
	}
	return r
}

// judgeWeighted is judge for a sliding counter.
func (w *naive) judgeWeighted(p limit.Params, now, cost int64) (r limit.Result) {
	weighs := func(at int64) (sum int64) {
		place, into := w.here(p, at)
		var previous int64
		for _, h := range w.live(p, now) {
			switch h.at {
			case place:
				sum += h.n
			case place - 1:
				previous += h.n
			}
		}
		part := new(big.Int).Mul(big.NewInt(previous), big.NewInt(p.Size-into))
		part.Add(part, big.NewInt(p.Size-1)).Div(part, big.NewInt(p.Size))
		return sum + part.Int64()
	}
	r.Used = weighs(now)
	r.Remaining = max(p.Max-r.Used, 0)
	r.OK = cost <= p.Max-r.Used
	r.Never = cost > p.Max
	// It only grows lighter, so the first instant can be searched.
	first := func(room int64) int64 {
		return int64(sort.Search(int(2*p.Size), func(delay int) bool { return weighs(now+int64(delay)) <= room }))
	}
	if r.Reset = first(0); !r.OK && !r.Never {
		r.Retry = first(p.Max - cost)
	}
	return r
}

// leaves returns the delay until a live hit is out.
func (w *naive) leaves(p limit.Params, now int64, h placed) int64 {
	if p.Algorithm == limit.Calendar {
		_, end := p.Periods.Period(now)
		return end - now
	}
	place, into := w.here(p, now)
	length, span := places(p)
	return (h.at+span-place)*length - into
}

// advance forgets what is out and moves what lies later than now to now.
func (w *naive) advance(p limit.Params, now int64) {
	switch p.Algorithm {
	case limit.GCRA:
		w.queue.cut(p, now)
	case limit.Distinct:
		w.set.seen = w.set.live(p, now)
	default:
		w.hits = w.live(p, now)
	}
}

// chargeItem adds what an item is charged, which goes on after wait.
func (w *naive) chargeItem(it *store.Item, p limit.Params, now, wait int64, record bool) placed {
	if p.Algorithm == limit.Distinct {
		return w.set.charge(p, now, given(it), record)
	}
	if p.Wait > 0 && !record {
		return w.queue.addAt(p, now, it.Cost, wait)
	}
	return w.charge(p, now, it.Cost, record)
}

// charge adds cost. If record is set it need not fit, and pushes out what is over.
func (w *naive) charge(p limit.Params, now, cost int64, record bool) placed {
	if p.Algorithm == limit.GCRA {
		return w.queue.add(p, now, cost, record)
	}
	place, _ := w.here(p, now)
	add := cost
	switch {
	case p.Algorithm == limit.Events:
		add = 1
		w.checks++
	case record && p.Algorithm == limit.SlidingCounter: // the same, for the current place
		for _, h := range w.hits {
			if h.at == place {
				add += h.n
			}
		}
		add = max(min(cost, p.Max-(add-cost)), 0)
	case record && (p.Algorithm == limit.Fixed || p.Algorithm == limit.Calendar): // the window is one place: all are equally new
		add = max(min(cost, p.Max-w.judge(p, now, 0).Used), 0)
	case record:
		add = min(cost, p.Max)
		w.trim(min(w.judge(p, now, 0).Used+add-p.Max, add)) // a lower maximum forgets nothing
	}
	w.hits = append(w.hits, placed{place, add})
	return placed{place, add}
}

// trim takes n out of the oldest hits.
func (w *naive) trim(n int64) {
	for i := range w.hits {
		cut := min(max(n, 0), w.hits[i].n)
		w.hits[i].n -= cut
		n -= cut
	}
}

// looks reports whether an item charges nothing, whatever the verdict.
func looks(it *store.Item) bool {
	return it.Cost == 0 || it.Limit.Algorithm == limit.Distinct && len(it.Members) == 0 && !it.Reported
}

// records reports whether an item is charged whatever the verdict.
func records(it *store.Item) bool {
	return it.CountRefused && it.Limit.Algorithm != limit.Events && it.Limit.Algorithm != limit.Inflight
}

// enter counts a check that was refused.
func (w *naive) enter() { w.checks++ }

// refund takes a charge out, if it still counts.
func (w *naive) refund(p limit.Params, now int64, c placed) bool {
	if w.emptied {
		return false
	}
	if p.Algorithm == limit.GCRA {
		return w.queue.remove(now, c)
	}
	if p.Algorithm == limit.Distinct {
		return w.set.remove(p, now, c)
	}
	place, _ := w.here(p, now)
	_, span := places(p)
	if place-c.at >= span {
		return false
	}
	left := c.n
	for i := range w.hits {
		if h := &w.hits[i]; h.at == c.at {
			cut := min(left, h.n)
			h.n -= cut
			left -= cut
		}
	}
	return left < c.n
}

// out reports whether a charge has left or was taken out.
func (w *naive) out(p limit.Params, now int64, c placed) bool {
	switch {
	case w.emptied:
		return true
	case p.Algorithm == limit.GCRA:
		return w.queue.done(now, c)
	case p.Algorithm == limit.Distinct:
		return !slices.ContainsFunc(w.set.live(p, now), func(s sight) bool { return s.from == c.at })
	}
	place, _ := w.here(p, now)
	_, span := places(p)
	return place-c.at >= span
}

// later reports whether a charge lies later than now.
func (w *naive) later(p limit.Params, now int64, c placed) bool {
	switch p.Algorithm {
	case limit.GCRA, limit.Events:
		return false
	case limit.Distinct:
		return slices.ContainsFunc(w.set.seen, func(s sight) bool { return s.from == c.at && s.at > now })
	}
	place, _ := w.here(p, now)
	return c.at > place
}

// revives reports whether stepping the clock back to a time would bring back
// what is out at now.
func (w *naive) revives(p limit.Params, now, back int64) bool {
	switch p.Algorithm {
	case limit.Events:
		return false
	case limit.GCRA:
		end := w.queue.end()
		return end <= now && end > back
	case limit.Distinct:
		return len(w.set.live(p, back)) > len(w.set.live(p, now))
	}
	place, _ := w.here(p, now)
	before, _ := w.here(p, back)
	_, span := places(p)
	return slices.ContainsFunc(w.hits, func(h placed) bool {
		return h.n > 0 && place-h.at >= span && before-h.at < span
	})
}
