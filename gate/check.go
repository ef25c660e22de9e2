package gate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
)

// Check judges ev against every rule it meets, in one atomic verdict, and
// charges their windows if it is admitted. An error says what is wrong with
// the event, that ctx ended, or that the store failed; then nothing was charged.
//
// It allocates nothing for up to four windows, unless a window grows.
func (g *Gate) Check(ctx context.Context, ev slidegate.Event) (d slidegate.Decision, err error) {
	sc := g.begin()
	defer g.end(sc)
	if err = g.add(sc, &ev, -1); err != nil {
		return d, err
	}
	if err = sc.decide(ctx, g.store); err != nil {
		return d, err
	}
	g.answer(&d, sc, 0)
	return d, nil
}

// CheckBatch judges events one after another: each is a decision of its own.
// If any of them is wrong none is judged, and the error names its place. If ctx
// ends or the store fails on the way, the events before have been judged and
// charged, and their decisions are lost with the others.
func (g *Gate) CheckBatch(ctx context.Context, evs []slidegate.Event) ([]slidegate.Decision, error) {
	sc := g.begin()
	defer g.end(sc)
	for i := range evs {
		if err := g.add(sc, &evs[i], i); err != nil {
			return nil, err
		}
	}
	if err := sc.decide(ctx, g.store); err != nil {
		return nil, err
	}
	ds := make([]slidegate.Decision, len(evs))
	for i := range ds {
		g.answer(&ds[i], sc, i)
	}
	return ds, nil
}

// CheckAll judges several events in one verdict: all are admitted and charged,
// or none is. Where they meet the same window of the same key their costs are
// added up; a window of events counts them as one.
func (g *Gate) CheckAll(ctx context.Context, evs []slidegate.Event) (slidegate.Decision, error) {
	sc := g.begin()
	defer g.end(sc)
	sc.merge = map[mergeKey]int{}
	sc.ends = append(sc.ends, requestEnd{}) // one request, even for no event
	for i := range evs {
		if err := g.add(sc, &evs[i], i); err != nil {
			return slidegate.Decision{}, err
		}
	}
	if err := sc.decide(ctx, g.store); err != nil {
		return slidegate.Decision{}, err
	}
	var d slidegate.Decision
	g.answer(&d, sc, 0)
	return d, nil
}

// scratch is the memory of one call, reused.
type scratch struct {
	live  *livePlan
	now   int64
	items []store.Item
	notes []note // one for each item
	keys  []byte
	ends  []requestEnd
	reqs  []store.Request
	merge map[mergeKey]int // only in CheckAll: items by window and key
}

// note is what the engine knows about an item.
type note struct {
	active   *rule.Active
	from, to int // of its key in keys
}

// requestEnd says where the items of a request end, and which rule denied it.
type requestEnd struct {
	items  int
	denied *rule.Compiled
}

type mergeKey struct {
	id  int
	key string
}

func (g *Gate) begin() *scratch {
	sc := g.scratch.Get().(*scratch)
	sc.live = g.live.Load()
	return sc
}

// end gives the memory back, unless an unusual call made it large.
func (g *Gate) end(sc *scratch) {
	if cap(sc.items) > 1024 || cap(sc.keys) > 1<<16 || cap(sc.ends) > 1024 {
		return
	}
	clear(sc.notes)
	for i := range sc.items {
		sc.items[i].Window, sc.items[i].Key = nil, nil
	}
	sc.items, sc.notes, sc.keys = sc.items[:0], sc.notes[:0], sc.keys[:0]
	sc.ends, sc.live, sc.merge, sc.now = sc.ends[:0], nil, nil, 0
	g.scratch.Put(sc)
}

// add adds the windows that ev meets. place is its place among several events,
// or -1. In CheckAll all events are one request, otherwise each is its own.
func (g *Gate) add(sc *scratch, ev *slidegate.Event, place int) error {
	denied, err := g.gather(sc, ev)
	if err != nil {
		if place >= 0 {
			return fmt.Errorf("gate: event %d: %w", place, err)
		}
		return fmt.Errorf("gate: %w", err)
	}
	if sc.merge == nil {
		sc.ends = append(sc.ends, requestEnd{items: len(sc.items), denied: denied})
		return nil
	}
	last := &sc.ends[0]
	last.items = len(sc.items)
	if last.denied == nil {
		last.denied = denied
	}
	return nil
}

func (g *Gate) gather(sc *scratch, ev *slidegate.Event) (denied *rule.Compiled, err error) {
	if g.closed.Load() {
		return nil, slidegate.ErrClosed
	}
	if err := ev.Validate(); err != nil {
		return nil, err
	}
	if !ev.Time.IsZero() {
		return nil, fmt.Errorf("%w: time: a check has none; it is judged by the clock of the store", slidegate.ErrEvent)
	}
	for r := range sc.live.plan.For(ev.Name) {
		reject, err := g.gatherRule(sc, r, ev)
		switch {
		case r.Shadow: // a rule on trial stops nothing, not even what it cannot read
		case err != nil:
			return nil, fmt.Errorf("rule %s: %w", r.Name, err)
		case reject && denied == nil:
			denied = r
		}
	}
	return denied, nil
}

// gatherRule adds the windows of one rule, if it applies.
func (g *Gate) gatherRule(sc *scratch, r *rule.Compiled, ev *slidegate.Event) (reject bool, err error) {
	if ok, err := r.Match(ev); err != nil || !ok {
		return false, err
	}
	from := len(sc.keys)
	var found rule.KeyResult
	sc.keys, found, err = r.AppendKey(sc.keys, ev)
	if err != nil || found != rule.KeyFound {
		sc.keys = sc.keys[:from]
		return found == rule.KeyReject, err
	}
	active, err := r.Active(ev, g.overrideTime(sc, r))
	if err != nil {
		return false, err
	}
	for i := range active {
		a := &active[i]
		cost, err := a.Cost(ev)
		switch {
		case err == nil:
			sc.item(a, cost, from)
		case !a.Shadow:
			return false, err
		}
	}
	return false, nil
}

// overrideTime reads the clock for rules whose overrides end, once a call.
func (g *Gate) overrideTime(sc *scratch, r *rule.Compiled) int64 {
	if sc.now == 0 && r.Expires() {
		sc.now = g.now()
	}
	return sc.now
}

// item adds one window, whose key ends the key buffer.
func (sc *scratch) item(a *rule.Active, cost int64, from int) {
	if sc.merge != nil {
		k := mergeKey{a.ID, string(sc.keys[from:])}
		if i, ok := sc.merge[k]; ok {
			it := &sc.items[i]
			it.Cost = addCost(it.Cost, cost)
			if a.Params.Max < it.Limit.Max { // overrides differ: the stricter one
				it.Limit, sc.notes[i].active = a.Params, a
			}
			return
		}
		sc.merge[k] = len(sc.items)
	}
	sc.notes = append(sc.notes, note{active: a, from: from, to: len(sc.keys)})
	it := sc.next()
	it.Window, it.Limit, it.Cost = sc.live.windows[a.ID], a.Params, cost
	it.Shadow, it.CountRefused = a.Shadow, a.CountRefused
	it.Charged, it.Receipt = false, slidegate.Receipt{}
}

// next returns the next item, to be filled in place: items are large, and copies
// of a struct that was just written are slow.
func (sc *scratch) next() *store.Item {
	n := len(sc.items)
	if n == cap(sc.items) {
		sc.items = append(sc.items, store.Item{})
	}
	sc.items = sc.items[:n+1]
	return &sc.items[n]
}

// addCost adds costs and stops at the largest number.
func addCost(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return 1<<63 - 1
}

// requests lays the items out as requests. The key buffer has its final place
// now, so keys can point into it.
func (sc *scratch) requests() []store.Request {
	for i := range sc.items {
		sc.items[i].Key = sc.keys[sc.notes[i].from:sc.notes[i].to]
	}
	for len(sc.reqs) < len(sc.ends) {
		sc.reqs = append(sc.reqs, store.Request{})
	}
	from := 0
	for i, end := range sc.ends {
		sc.reqs[i].Items = sc.items[from:end.items]
		sc.reqs[i].Deny = end.denied != nil
		from = end.items
	}
	return sc.reqs[:len(sc.ends)]
}

func (sc *scratch) decide(ctx context.Context, s store.Store) error {
	if err := s.Decide(ctx, sc.requests()); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	return nil
}

// answer fills in the decision on the i-th request.
func (g *Gate) answer(d *slidegate.Decision, sc *scratch, i int) {
	from := 0
	if i > 0 {
		from = sc.ends[i-1].items
	}
	items, notes := sc.items[from:sc.ends[i].items], sc.notes[from:sc.ends[i].items]
	fill(d, &sc.reqs[i], items, notes)
	if denied := sc.ends[i].denied; denied != nil {
		d.Action, d.Reason = slidegate.Reject, slidegate.ReasonMissingKey
		d.Rule, d.Message = denied.Name, denied.Message
		d.RetryAfter, d.RetryAfterEvents, d.Never = 0, 0, false
	}
	d.ID.Start(g.sealer, rand.Uint64())
	for j := range items {
		if items[j].Receipt.Seq != 0 { // a refused check that was recorded has none
			d.ID.Add(items[j].Receipt)
		}
	}
}

// fill translates the answers of the store.
func fill(d *slidegate.Decision, req *store.Request, items []store.Item, notes []note) {
	shadow := 0
	for i := range items {
		if items[i].Shadow {
			shadow++
		}
	}
	d.Reserve(len(items)-shadow, shadow)
	enforced, shadows := d.Windows(), d.Shadow()
	refusing := -1
	for i := range items {
		it, a := &items[i], notes[i].active
		if it.Shadow {
			window(&shadows[0], it, a)
			shadows = shadows[1:]
			continue
		}
		window(&enforced[0], it, a)
		enforced = enforced[1:]
		if req.Admitted || req.Full {
			continue
		}
		delay(d, it)
		if !it.Result.OK && (refusing < 0 || longer(it, &items[refusing])) {
			refusing = i
		}
	}
	switch {
	case req.Full:
		d.Action, d.Reason = slidegate.Reject, slidegate.ReasonCeiling
	case refusing >= 0:
		a := notes[refusing].active
		d.Action, d.Reason, d.Rule, d.Message = slidegate.Reject, slidegate.ReasonLimit, a.Rule, a.Message
	}
	if d.Never {
		d.RetryAfter, d.RetryAfterEvents = 0, 0
	}
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
	w.Refused, w.Never = !r.OK, r.Never
	if !r.OK && counted(it) {
		w.RetryAfterEvents = r.Retry
	} else if !r.OK {
		w.RetryAfter = micros(r.Retry)
	}
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
