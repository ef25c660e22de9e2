//go:generate sh -c "cd ../.. && go run ./internal/model/genvectors"

// Package model holds the slow, obvious version of every admission algorithm.
// The fast versions are tested against it, and the golden vectors in
// testdata/vectors are written from it. Nothing else may use it.
package model

import "slices"

// Params says what a model enforces; the words are those of package limit.
type Params struct {
	Algorithm                 string
	Max, Size, Burst, Buckets int64
	// Wait and MaxQueue make a queue of gcra: how long one may wait, and how
	// many units.
	Wait, MaxQueue int64
	// Period tells the windows of a calendar: the one that now lies in.
	Period func(now int64) (start, end int64)
}

// Result is the answer to a check: how the window stands after it.
type Result struct {
	OK, Never                     bool
	Used, Remaining, Retry, Reset int64
	Wait                          int64 // of an admitted place in a queue
}

// Window is one window under a naive algorithm.
type Window interface {
	// Check judges cost at now and charges it if it fits.
	Check(p Params, now, cost int64) Result
	// Record judges cost at now and charges it even if it does not fit.
	Record(p Params, now, cost int64) Result
}

// Charges is a window that knows its charges by names, so that they can be given
// back.
type Charges interface {
	Window
	// Name names the last charge.
	Name(id int64)
	// Refund takes a charge out, if it still counts, and reports whether it did.
	Refund(p Params, now, id int64) bool
}

// New returns an empty window.
func New(algorithm string) Window {
	switch algorithm {
	case "sliding_log":
		return &Log{}
	case "sliding_buckets":
		return &Buckets{total: map[int64]int64{}}
	case "gcra":
		return &Meter{}
	case "fixed", "calendar":
		return &Fixed{}
	case "sliding_counter":
		return &Weighted{}
	case "inflight":
		return &Holders{}
	case "events":
		return &Events{}
	}
	panic("model: unknown algorithm " + algorithm)
}

// ago returns how long before now t was; 0 for a t later than now.
func ago(now, t int64) uint64 {
	if t >= now {
		return 0
	}
	return uint64(now) - uint64(t)
}

func answer(limit, used, cost int64) Result {
	return Result{
		OK:        used+cost <= limit,
		Never:     used+cost > limit && cost > limit,
		Used:      used,
		Remaining: max(0, limit-used),
	}
}

// Log is every admitted hit, as a list of times.
type Log struct{ Hits []int64 }

// live returns the hits in the window, moved to now if they lie later.
func (w *Log) live(p Params, now int64) []int64 {
	var live []int64
	for _, t := range w.Hits {
		if ago(now, t) < uint64(p.Size) {
			live = append(live, min(t, now))
		}
	}
	return live
}

func (w *Log) judge(p Params, now, cost int64) Result {
	live := w.live(p, now)
	r := answer(p.Max, int64(len(live)), cost)
	for _, t := range live {
		r.Reset = max(r.Reset, p.Size-int64(ago(now, t)))
	}
	if r.OK || r.Never {
		return r
	}
	// Wait for one hit after another to leave, until the cost fits.
	slices.Sort(live)
	for i, t := range live {
		if int64(len(live)-i-1)+cost <= p.Max {
			r.Retry = p.Size - int64(ago(now, t))
			return r
		}
	}
	panic("model: a cost that could fit never does")
}

func (w *Log) add(now, cost int64) {
	for range cost {
		w.Hits = append(w.Hits, now)
	}
}

// Check judges and charges.
func (w *Log) Check(p Params, now, cost int64) Result {
	r := w.judge(p, now, cost)
	if cost == 0 {
		return r
	}
	w.Hits = w.live(p, now)
	if r.OK {
		w.add(now, cost)
		r = merge(r, w.judge(p, now, 0))
	}
	return r
}

// Record charges in any case and keeps the newest max hits.
func (w *Log) Record(p Params, now, cost int64) Result {
	r := w.judge(p, now, cost)
	if cost == 0 {
		return r
	}
	w.Hits = w.live(p, now)
	keep := max(len(w.Hits), int(p.Max)) // a lower maximum forgets nothing
	w.add(now, min(cost, p.Max))
	if over := len(w.Hits) - keep; over > 0 {
		w.Hits = w.Hits[over:]
	}
	return after(r, w.judge(p, now, cost), w.judge(p, now, 0))
}

// Refund takes n hits of time t out.
func (w *Log) Refund(t, n int64) {
	w.Hits = slices.DeleteFunc(w.Hits, func(h int64) bool {
		if h == t && n > 0 {
			n--
			return true
		}
		return false
	})
}

// merge keeps the verdict of r and takes how the window stands from state.
func merge(r, state Result) Result {
	r.Used, r.Remaining, r.Reset = state.Used, state.Remaining, state.Reset
	return r
}

// after is merge for a charge that was made in any case: the delay is the one
// that holds after it.
func after(r, again, state Result) Result {
	r = merge(r, state)
	if !r.OK {
		r.Retry = again.Retry
	}
	return r
}

// Buckets is a total for each time slice.
type Buckets struct{ total map[int64]int64 }

func (p Params) slice(now int64) (tick, width int64) {
	width = (p.Size + p.Buckets - 1) / p.Buckets
	tick = now / width
	if now%width < 0 {
		tick--
	}
	return tick, width
}

// live returns the slices that count, moved to that of now if they lie later.
func (w *Buckets) live(p Params, now int64) map[int64]int64 {
	tick, _ := p.slice(now)
	live := map[int64]int64{}
	for t, n := range w.total {
		if ago(tick, t) <= uint64(p.Buckets) {
			live[min(t, tick)] += n
		}
	}
	return live
}

func (w *Buckets) judge(p Params, now, cost int64) Result {
	tick, width := p.slice(now)
	live := w.live(p, now)
	usedAt := func(at int64) (used int64) {
		for t, n := range live {
			if ago(at, t) <= uint64(p.Buckets) {
				used += n
			}
		}
		return used
	}
	r := answer(p.Max, usedAt(tick), cost)
	into := now - tick*width
	for k := p.Buckets + 1; k > 0; k-- {
		if usedAt(tick+k-1) > 0 {
			r.Reset = k*width - into
			break
		}
	}
	for k := int64(1); !r.OK && !r.Never; k++ {
		if usedAt(tick+k)+cost <= p.Max {
			r.Retry = k*width - into
			break
		}
	}
	return r
}

// Check judges and charges.
func (w *Buckets) Check(p Params, now, cost int64) Result {
	r := w.judge(p, now, cost)
	if cost == 0 {
		return r
	}
	w.total = w.live(p, now)
	if r.OK {
		tick, _ := p.slice(now)
		w.total[tick] += cost
		r = merge(r, w.judge(p, now, 0))
	}
	return r
}

// Record charges in any case and keeps the newest max.
func (w *Buckets) Record(p Params, now, cost int64) Result {
	r := w.judge(p, now, cost)
	if cost == 0 {
		return r
	}
	w.total = w.live(p, now)
	tick, _ := p.slice(now)
	var before int64
	for _, n := range w.total {
		before += n
	}
	w.total[tick] += min(cost, p.Max)
	over := before + min(cost, p.Max) - max(before, p.Max) // a lower maximum forgets nothing
	for t := tick - p.Buckets; t <= tick && over > 0; t++ {
		cut := min(over, w.total[t])
		w.total[t] -= cut
		over -= cut
	}
	return after(r, w.judge(p, now, cost), w.judge(p, now, 0))
}

// Meter is a queue of work: each unit takes T, and a burst of units may wait.
// It remembers when the queue will be empty, and who stands in it.
type Meter struct {
	empty  int64
	begun  bool
	places []place // in order
	held   int64   // how far ahead instants were handed out
}

// place is who holds a place in the queue, and for how long.
type place struct{ id, takes int64 }

func (p Params) unit() int64 { return (p.Size + p.Max - 1) / p.Max }

// work returns how long the queue is at now.
func (w *Meter) work(p Params, now int64) int64 {
	if p.Max == 0 || !w.begun || w.empty <= now {
		return 0
	}
	// A clock that stepped back or a burst that was lowered cuts it, but no instant
	// that was handed out.
	return int64(min(ago(w.empty, now), uint64(max(p.Burst*p.unit()+p.longest(), w.held))))
}

// longest returns how long one may wait.
func (p Params) longest() int64 { return min(p.Wait, p.MaxQueue*p.unit()) }

// cut makes a shorter queue stay so.
func (w *Meter) cut(p Params, now, cost int64) {
	if work := w.work(p, now); p.Max > 0 && cost > 0 && work > 0 {
		if w.empty != now+work {
			w.places = nil // nobody knows any more whose places are left
		}
		w.empty = now + work
	}
}

// hold notes how far ahead a charge may hand out an instant.
func (w *Meter) hold(p Params, now int64) {
	if w.work(p, now) == 0 {
		w.held = 0
	}
	if p.longest() > 0 {
		w.held = max(w.held, p.Burst*p.unit()+p.longest())
	}
}

func (w *Meter) judge(p Params, now, cost int64) Result {
	if p.Max == 0 {
		return answer(0, 0, cost)
	}
	work := w.work(p, now)
	r := answer(p.Burst, (work+p.unit()-1)/p.unit(), cost)
	r.Reset = work
	if r.Never = (cost-p.Burst)*p.unit() > p.longest(); r.Never {
		return r
	}
	wait := max(0, work+cost*p.unit()-p.Burst*p.unit())
	r.OK = wait <= p.longest()
	if r.OK {
		r.Wait = wait
	} else {
		r.Retry = wait - p.longest()
	}
	return r
}

// Check judges and charges.
func (w *Meter) Check(p Params, now, cost int64) Result {
	r := w.judge(p, now, cost)
	w.cut(p, now, cost)
	if r.OK && cost > 0 {
		w.hold(p, now)
		w.empty, w.begun = now+w.work(p, now)+cost*p.unit(), true
		w.places = append(w.places, place{takes: cost * p.unit()})
		r = merge(r, w.judge(p, now, 0))
	}
	return r
}

// Record charges in any case and keeps at most a burst.
func (w *Meter) Record(p Params, now, cost int64) Result {
	r := w.judge(p, now, cost)
	w.cut(p, now, cost)
	if p.Max > 0 && cost > 0 {
		w.hold(p, now)
		before := w.work(p, now)
		work := max(before, min(p.Burst*p.unit(), before+min(cost, p.Burst)*p.unit()))
		w.empty, w.begun = now+work, true
		w.places = append(w.places, place{takes: work - before})
	}
	return after(r, w.judge(p, now, cost), w.judge(p, now, 0))
}

// Name names the last place.
func (w *Meter) Name(id int64) { w.places[len(w.places)-1].id = id }

// Refund gives back the last place, or what is left of it, and no other.
func (w *Meter) Refund(_ Params, now, id int64) bool {
	n := len(w.places)
	if n == 0 || w.places[n-1].id != id || w.empty <= now {
		return false
	}
	w.empty -= min(w.places[n-1].takes, w.empty-now)
	w.places = w.places[:n-1]
	return true
}

// Fixed is the hits of the window that now lies in.
type Fixed struct{ period, count int64 }

// period returns the aligned window that now lies in, and when it ends.
func (p Params) period(now int64) (period, end int64) {
	if p.Period != nil {
		return p.Period(now)
	}
	period = now / p.Size
	if now%p.Size < 0 {
		period--
	}
	return period, period*p.Size + p.Size
}

// live returns the window that now lies in and its count.
func (w *Fixed) live(p Params, now int64) Fixed {
	period, _ := p.period(now)
	if period > w.period {
		return Fixed{period: period}
	}
	return Fixed{period: period, count: w.count} // moved, if it lies later
}

func (w *Fixed) judge(p Params, now, cost int64) Result {
	live := w.live(p, now)
	r := answer(p.Max, live.count, cost)
	_, end := p.period(now)
	if live.count > 0 {
		r.Reset = end - now
	}
	if !r.OK && !r.Never {
		r.Retry = end - now
	}
	return r
}

// Check judges and charges.
func (w *Fixed) Check(p Params, now, cost int64) Result {
	r := w.judge(p, now, cost)
	if cost == 0 {
		return r
	}
	*w = w.live(p, now)
	if r.OK {
		w.count += cost
		r = merge(r, w.judge(p, now, 0))
	}
	return r
}

// Record charges in any case, up to max.
func (w *Fixed) Record(p Params, now, cost int64) Result {
	r := w.judge(p, now, cost)
	if cost == 0 {
		return r
	}
	*w = w.live(p, now)
	w.count = max(w.count, min(p.Max, w.count+cost))
	return after(r, w.judge(p, now, cost), w.judge(p, now, 0))
}

// Events is every check that was made, and whether it was admitted.
type Events struct{ Marks []bool }

// marks counts the marks among the last size-1 checks.
func (w *Events) marks(p Params) (n int64) {
	for _, m := range w.Marks[max(0, len(w.Marks)-int(p.Size)+1):] {
		if m {
			n++
		}
	}
	return n
}

// Check judges and enters the check; a cost of 0 enters nothing.
func (w *Events) Check(p Params, now, cost int64) Result {
	cost = min(cost, 1)
	r := answer(p.Max, w.marks(p), cost)
	if !r.OK && !r.Never {
		// Let refused checks pass until one would be admitted.
		later := Events{Marks: slices.Clone(w.Marks)}
		for later.marks(p)+cost > p.Max {
			later.Marks = append(later.Marks, false)
			r.Retry++
		}
	}
	if cost == 0 {
		return r
	}
	w.Marks = append(w.Marks, r.OK)
	if r.OK { // how it stands for the next check
		r.Used = w.marks(p)
		r.Remaining = max(0, p.Max-r.Used)
	}
	return r
}

// Record is Check: every check enters a window of events in any case.
func (w *Events) Record(p Params, now, cost int64) Result { return w.Check(p, now, cost) }
