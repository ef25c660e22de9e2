package gate

import (
	"math/rand/v2"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
)

// answer fills in the decision on the i-th request, and returns the place in
// sc.items of the window that decided, or -1.
func (g *Gate) answer(d *slidegate.Decision, sc *scratch, i int) (decided int) {
	from := 0
	if i > 0 {
		from = sc.ends[i-1].items
	}
	end := &sc.ends[i]
	v := verdict{req: &sc.reqs[i], items: sc.items[from:end.items], notes: sc.notes[from:end.items], keys: sc.keys}
	v.windows(d)
	decided = -1
	switch {
	case end.reason != "":
		d.Action, d.Reason = slidegate.Reject, end.reason
		if end.rule != nil {
			d.Rule, d.Message = end.rule.Name, end.rule.Message().Text(&rule.Facts{})
		}
	case v.req.Full:
		d.Action, d.Reason = slidegate.Reject, slidegate.ReasonCeiling
	case v.req.Admitted:
		decided = v.admitted(d)
	default:
		decided = v.refused(d)
	}
	if decided >= 0 {
		v.decides(d, decided)
		decided += from
	}
	d.ID.Start(g.sealer, rand.Uint64())
	for j := range v.items {
		if it := &v.items[j]; it.Charged && it.Receipt.Seq != 0 { // a refused check that was recorded has none
			d.ID.Add(it.Receipt)
		}
	}
	return decided
}

// verdict is the answer of the store to one request.
type verdict struct {
	req   *store.Request
	items []store.Item
	notes []note
	keys  []byte
}

// windows fills in how the windows stand.
func (v *verdict) windows(d *slidegate.Decision) {
	shadow := 0
	for i := range v.items {
		if v.items[i].Shadow {
			shadow++
		}
	}
	d.Reserve(len(v.items)-shadow, shadow)
	enforced, shadows := d.Windows(), d.Shadow()
	for i := range v.items {
		to := &enforced
		if v.items[i].Shadow {
			to = &shadows
		}
		window(&(*to)[0], &v.items[i], v.notes[i].active)
		*to = (*to)[1:]
	}
}

// admitted fills in the action on an event that may go on: the sternest of those
// that limits ask for which are full and let it through. It returns the item that
// decides, or -1.
func (v *verdict) admitted(d *slidegate.Decision) (decides int) {
	decides, degrades := -1, -1
	for i := range v.items {
		it, action := &v.items[i], v.notes[i].active.Action
		switch {
		case it.Shadow:
		case it.Result.OK && it.Result.Wait > 0:
			d.RetryAfter = max(d.RetryAfter, micros(it.Result.Wait))
			if decides < 0 || d.Action != slidegate.Queue || it.Result.Wait > v.items[decides].Result.Wait {
				decides, d.Action = i, slidegate.Queue
			}
		case !it.Result.OK && action == slidegate.Degrade:
			if degrades < 0 || longer(it, &v.items[degrades]) {
				degrades = i
			}
		}
	}
	if degrades >= 0 {
		d.With = v.notes[degrades].active.With
		if decides < 0 {
			decides, d.Action = degrades, slidegate.Degrade
		}
	}
	return decides
}

// refused fills in the action on an event that may not go on: the sternest of
// those of the limits that refuse it, and the delay until all of them let it
// through. A challenge gives no time: it is met, not waited for. It returns the
// item that decides.
func (v *verdict) refused(d *slidegate.Decision) (decides int) {
	decides = -1
	for i := range v.items {
		it := &v.items[i]
		if it.Shadow || it.Yields {
			continue
		}
		action := v.refusal(i)
		if action >= slidegate.Reject {
			delay(d, it)
		}
		if it.Result.OK || decides >= 0 && action < d.Action {
			continue
		}
		if decides < 0 || action > d.Action || longer(it, &v.items[decides]) {
			decides, d.Action = i, action
		}
	}
	if d.Action == slidegate.Challenge {
		d.With = v.notes[decides].active.With
	}
	if d.Never || d.Action == slidegate.Challenge {
		d.RetryAfter, d.RetryAfterEvents = 0, 0
	}
	return decides
}

// refusal returns the action of an item that refuses.
func (v *verdict) refusal(i int) slidegate.Action {
	switch {
	case v.notes[i].active.Action == slidegate.Challenge:
		return slidegate.Challenge
	case v.items[i].Locked > 0:
		return slidegate.Lock
	}
	return slidegate.Reject // also where a queue is full, and where what is held fills a window that locks
}

// decides fills in what there is to say of the item that decided.
func (v *verdict) decides(d *slidegate.Decision, i int) {
	a := v.notes[i].active
	d.Reason, d.Rule = slidegate.ReasonLimit, a.Rule
	if d.Action == slidegate.Lock {
		d.Reason = slidegate.ReasonLock
	}
	if !a.Message.Variable() {
		d.Message = a.Message.String()
		return
	}
	var w slidegate.WindowState
	window(&w, &v.items[i], a)
	d.Message = a.Message.Text(&rule.Facts{
		RetryAfter: d.RetryAfter, RetryAfterEvents: d.RetryAfterEvents, Never: d.Never,
		Window: &w, Key: v.keys[v.notes[i].from:v.notes[i].to],
	})
}

// delay joins what an item of a refused request says about the delay.
func delay(d *slidegate.Decision, it *store.Item) {
	r := &it.Result
	switch {
	case r.Never:
		d.Never = true
	case counted(it):
		d.RetryAfterEvents = max(d.RetryAfterEvents, r.Retry)
	default:
		d.RetryAfter = max(d.RetryAfter, micros(r.Retry))
	}
}

// longer reports whether a takes longer to pass than b: never, then the delay.
func longer(a, b *store.Item) bool {
	switch {
	case a.Result.Never != b.Result.Never:
		return a.Result.Never
	case counted(a) != counted(b):
		return counted(b)
	default:
		return a.Result.Retry > b.Result.Retry
	}
}

func window(w *slidegate.WindowState, it *store.Item, a *rule.Active) {
	r := &it.Result
	w.Rule, w.Limit, w.Scale = a.Rule, a.Text, a.Scale
	w.Used, w.Max, w.Remaining = r.Used, capacity(it), r.Remaining
	w.ResetAfter = micros(r.Reset)
	w.Refused, w.Yielded, w.Never, w.Locked = !r.OK, !r.OK && it.Yields, r.Never, it.Locked > 0
	switch {
	case r.OK:
		w.RetryAfter = micros(r.Wait)
	case counted(it):
		w.RetryAfterEvents = r.Retry
	default:
		w.RetryAfter = micros(r.Retry)
	}
}

// counted reports whether an item's delay is a number of checks.
func counted(it *store.Item) bool { return it.Limit.Algorithm == limit.Events }

// capacity returns how many units the window of an item holds at once.
func capacity(it *store.Item) int64 {
	if it.Limit.Algorithm == limit.GCRA && it.Limit.Max > 0 { // else a ban
		return it.Limit.Burst
	}
	return it.Limit.Max
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
