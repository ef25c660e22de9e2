package model

import "slices"

// Holders is who was let in and has not been released, as a list.
type Holders struct {
	in   []holder
	came int // with the last check
}

// holder came, or was last renewed, at a time. Those of one name came together.
type holder struct{ id, at int64 }

// live returns who is still in, moved to now if they came later. Who was moved has
// no name any more.
func (w *Holders) live(p Params, now int64) (live []holder) {
	for _, h := range w.in {
		switch {
		case h.at > now:
			live = append(live, holder{0, now})
		case ago(now, h.at) < uint64(p.Size):
			live = append(live, h)
		}
	}
	return live
}

func (w *Holders) judge(p Params, now, cost int64) Result {
	live := w.live(p, now)
	r := answer(p.Max, int64(len(live)), cost)
	var deadlines []int64
	for _, h := range live {
		deadlines = append(deadlines, p.Size-int64(ago(now, h.at)))
	}
	slices.Sort(deadlines)
	for i, d := range deadlines {
		r.Reset = d
		if left := int64(len(deadlines) - i - 1); !r.OK && !r.Never && r.Retry == 0 && left+cost <= p.Max {
			r.Retry = d
		}
	}
	return r
}

// Check judges and lets as many in as the cost.
func (w *Holders) Check(p Params, now, cost int64) Result {
	r := w.judge(p, now, cost)
	if cost == 0 {
		return r
	}
	w.in = w.live(p, now)
	if r.OK {
		w.came = int(cost)
		for range cost {
			w.in = append(w.in, holder{0, now})
		}
		r = merge(r, w.judge(p, now, 0))
	}
	return r
}

// Record is Check: nobody could release who was refused.
func (w *Holders) Record(p Params, now, cost int64) Result { return w.Check(p, now, cost) }

// Name names those that came last.
func (w *Holders) Name(id int64) {
	for i := range w.came {
		w.in[len(w.in)-1-i].id = id
	}
}

// Refund releases those of a name, if they are still in.
func (w *Holders) Refund(p Params, now, id int64) bool { return w.release(p, now, id) > 0 }

func (w *Holders) release(p Params, now, id int64) (n int) {
	before := len(w.in)
	w.in = slices.DeleteFunc(w.in, func(h holder) bool { return h.id == id && ago(now, h.at) < uint64(p.Size) })
	return before - len(w.in)
}

// Renew lets those of a name stay for another while from now, if they are still in.
func (w *Holders) Renew(p Params, now, id int64) bool {
	n := w.release(p, now, id)
	w.in = w.live(p, now)
	for range n {
		w.in = append(w.in, holder{id, now})
	}
	return n > 0
}
