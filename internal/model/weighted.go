package model

import (
	"math/big"
	"sort"
)

// Weighted is the hits of aligned windows, of which the one before now's counts in
// part: as much as is left of it in the sliding window, rounded up.
type Weighted struct{ hits []weighted }

// weighted is hits of an aligned window, under a name.
type weighted struct{ id, period, n int64 }

// live returns the hits of now's window and the one before, moved to now's if they
// lie later. What was moved has no name any more.
func (w *Weighted) live(p Params, now int64) (live []weighted) {
	period, _ := p.period(now)
	for _, h := range w.hits {
		switch {
		case h.period > period:
			live = append(live, weighted{0, period, h.n})
		case h.period >= period-1:
			live = append(live, h)
		}
	}
	return live
}

// weigh returns what hits weigh at a time.
func weigh(p Params, hits []weighted, at int64) int64 {
	period, end := p.period(at)
	var current, previous int64
	for _, h := range hits {
		switch h.period {
		case period:
			current += h.n
		case period - 1:
			previous += h.n
		}
	}
	size := big.NewInt(p.Size)
	part := new(big.Int).Mul(big.NewInt(previous), big.NewInt(end-at))
	part.Add(part, size).Sub(part, big.NewInt(1)).Div(part, size)
	return current + part.Int64()
}

func (w *Weighted) judge(p Params, now, cost int64) Result {
	live := w.live(p, now)
	r := answer(p.Max, weigh(p, live, now), cost)
	// Nothing but time makes it lighter, so the first instant can be searched.
	first := func(light func(weight int64) bool) int64 {
		return int64(sort.Search(int(2*p.Size), func(delay int) bool { return light(weigh(p, live, now+int64(delay))) }))
	}
	r.Reset = first(func(weight int64) bool { return weight == 0 })
	if !r.OK && !r.Never {
		r.Retry = first(func(weight int64) bool { return weight+cost <= p.Max })
	}
	return r
}

// Check judges and charges.
func (w *Weighted) Check(p Params, now, cost int64) Result {
	r := w.judge(p, now, cost)
	if cost == 0 {
		return r
	}
	w.hits = w.live(p, now)
	if r.OK {
		w.add(p, now, cost)
		r = merge(r, w.judge(p, now, 0))
	}
	return r
}

func (w *Weighted) add(p Params, now, n int64) {
	period, _ := p.period(now)
	w.hits = append(w.hits, weighted{0, period, n})
}

// Record charges in any case, the current window up to max.
func (w *Weighted) Record(p Params, now, cost int64) Result {
	r := w.judge(p, now, cost)
	if cost == 0 {
		return r
	}
	w.hits = w.live(p, now)
	period, _ := p.period(now)
	room := p.Max
	for _, h := range w.hits {
		if h.period == period {
			room -= h.n
		}
	}
	w.add(p, now, max(0, min(cost, room)))
	return after(r, w.judge(p, now, cost), w.judge(p, now, 0))
}

// Name names the last charge.
func (w *Weighted) Name(id int64) { w.hits[len(w.hits)-1].id = id }

// Refund takes a charge out, if its window still counts.
func (w *Weighted) Refund(p Params, now, id int64) bool {
	period, _ := p.period(now)
	for i := range w.hits {
		if h := &w.hits[i]; h.id == id && h.n > 0 && h.period >= period-1 {
			h.n = 0
			return true
		}
	}
	return false
}
