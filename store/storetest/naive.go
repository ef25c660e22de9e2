package storetest

import (
	"slices"

	"github.com/slidegate/slidegate/limit"
)

// naive is one window of one key as a list of all it was charged with. It is
// slow and obvious, and shares no code with package limit.
//
// Every algorithm but GCRA counts what lies in the last span places, where a
// place is a microsecond, a slice, an aligned window or a check. GCRA is a queue
// of work, see queue.go.
type naive struct {
	hits    []placed
	checks  int64 // entered, of a window of events
	queue   queue
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
	default:
		return 1, p.Size
	}
}

// here returns the place of now and how much of it has passed.
func (w *naive) here(p limit.Params, now int64) (place, into int64) {
	if p.Algorithm == limit.Events {
		return w.checks + 1, 0
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

// judge says whether cost fits at now.
func (w *naive) judge(p limit.Params, now, cost int64) (r limit.Result) {
	if p.Algorithm == limit.GCRA {
		return w.queue.judge(p, now, cost)
	}
	if p.Algorithm == limit.Events {
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

// leaves returns the delay until a live hit is out.
func (w *naive) leaves(p limit.Params, now int64, h placed) int64 {
	place, into := w.here(p, now)
	length, span := places(p)
	return (h.at+span-place)*length - into
}

// advance forgets what is out and moves what lies later than now to now.
func (w *naive) advance(p limit.Params, now int64) {
	if p.Algorithm == limit.GCRA {
		w.queue.cut(p, now)
		return
	}
	w.hits = w.live(p, now)
}

// charge adds cost. If record is set it need not fit, and pushes out what is over.
func (w *naive) charge(p limit.Params, now, cost int64, record bool) placed {
	if p.Algorithm == limit.GCRA {
		return w.queue.add(p, now, cost)
	}
	place, _ := w.here(p, now)
	add := cost
	switch {
	case p.Algorithm == limit.Events:
		add = 1
		w.checks++
	case record && p.Algorithm == limit.Fixed: // the window is one place: all are equally new
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
	}
	place, _ := w.here(p, now)
	_, span := places(p)
	return place-c.at >= span
}

// later reports whether a charge lies later than now.
func (w *naive) later(p limit.Params, now int64, c placed) bool {
	place, _ := w.here(p, now)
	return p.Algorithm != limit.GCRA && p.Algorithm != limit.Events && c.at > place
}

// revives reports whether stepping the clock back to a time would bring back
// what is out at now.
func (w *naive) revives(p limit.Params, now, back int64) bool {
	if p.Algorithm == limit.Events {
		return false
	}
	if p.Algorithm == limit.GCRA {
		end := w.queue.end()
		return end <= now && end > back
	}
	place, _ := w.here(p, now)
	before, _ := w.here(p, back)
	_, span := places(p)
	return slices.ContainsFunc(w.hits, func(h placed) bool {
		return h.n > 0 && place-h.at >= span && before-h.at < span
	})
}
