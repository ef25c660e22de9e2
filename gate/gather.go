package gate

import (
	"fmt"
	"slices"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
)

// scratch is the memory of one call, reused.
type scratch struct {
	live    *livePlan
	now     int64
	items   []store.Item
	notes   []note // one for each item
	keys    []byte // keys, and members of distincts
	spans   []span // members, in keys
	members [][]byte
	ends    []requestEnd
	reqs    []store.Request
	merge   map[mergeKey]int // only in CheckAll: items by window and key
	met     []rule.Met       // only where rules replace others

	reporting bool // an event is reported, not checked
}

// note is what the engine knows about an item.
type note struct {
	active   *rule.Active
	from, to int // of its key in keys
	member   int // the last of its members in spans, from 1; 0 for none
}

// span is a member of a distinct in keys, and the one before it.
type span struct{ from, to, before int }

// requestEnd says where the items of a request end, and why it is denied.
type requestEnd struct {
	denial

	items int
}

// denial says why a request is refused whatever the windows say, and by which
// rule, if by one. The zero denial is none.
type denial struct {
	reason string
	rule   *rule.Compiled
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

// end gives the memory back, unless an unusual call made it large. What it points
// to is of the plan and of itself, and of no event.
func (g *Gate) end(sc *scratch) {
	if cap(sc.items) > 1024 || cap(sc.keys) > 1<<16 || cap(sc.ends) > 1024 || cap(sc.members) > 1024 {
		return
	}
	sc.items, sc.notes, sc.keys = sc.items[:0], sc.notes[:0], sc.keys[:0]
	sc.spans, sc.members, sc.met = sc.spans[:0], sc.members[:0], sc.met[:0]
	sc.ends, sc.live, sc.merge, sc.now, sc.reporting = sc.ends[:0], nil, nil, 0, false
	g.scratch.Put(sc)
}

// add adds the windows that ev meets. place is its place among several events,
// or -1. In CheckAll all events are one request, otherwise each is its own.
func (g *Gate) add(sc *scratch, ev *slidegate.Event, place int) error {
	denied, err := g.gather(sc, ev)
	if err != nil {
		if place >= 0 {
			err = &slidegate.EventError{Index: place, Err: err}
		}
		return fmt.Errorf("gate: %w", err)
	}
	if sc.merge == nil {
		sc.ends = append(sc.ends, requestEnd{denied, len(sc.items)})
		return nil
	}
	last := &sc.ends[0]
	last.items = len(sc.items)
	if last.reason == "" {
		last.denial = denied
	}
	return nil
}

// fitsCheck reports what only a report has.
func fitsCheck(ev *slidegate.Event) error {
	switch {
	case !ev.Time.IsZero():
		return fmt.Errorf("%w: time: a check has none; it is judged by the clock of the store", slidegate.ErrEvent)
	case ev.Outcome != slidegate.Unknown:
		return fmt.Errorf("%w: outcome: a check has none; it is told by a report", slidegate.ErrEvent)
	case ev.Decision != "":
		return fmt.Errorf("%w: decision: a check has none; it is what a report settles", slidegate.ErrEvent)
	}
	return nil
}

func (g *Gate) gather(sc *scratch, ev *slidegate.Event) (denied denial, err error) {
	if g.closed.Load() {
		return denied, slidegate.ErrClosed
	}
	if err := ev.Validate(); err != nil {
		return denied, err
	}
	if err := fitsCheck(ev); err != nil {
		return denied, err
	}
	plan := sc.live.plan
	switch listed, err := plan.Listed(ev); {
	case err != nil:
		return denied, err
	case listed == rule.Deny:
		return denial{reason: slidegate.ReasonDeny}, nil
	case listed == rule.Allow:
		return denied, nil
	}
	if plan.Replacing() {
		return g.gatherReplacing(sc, ev)
	}
	own, others := plan.Split(ev.Name)
	switch {
	case len(own) == 0:
		own = others
	case len(others) > 0:
		return g.gatherAll(sc, ev)
	}
	for _, r := range own {
		if err := g.gatherRule(sc, r, ev, &denied); err != nil {
			return denied, err
		}
	}
	return denied, nil
}

// gatherAll is gather for plans with rules that events of any name can meet.
func (g *Gate) gatherAll(sc *scratch, ev *slidegate.Event) (denied denial, err error) {
	for r := range sc.live.plan.For(ev.Name) {
		if err := g.gatherRule(sc, r, ev, &denied); err != nil {
			return denied, err
		}
	}
	return denied, nil
}

// gatherReplacing is gather for plans in which rules replace others.
func (g *Gate) gatherReplacing(sc *scratch, ev *slidegate.Event) (denied denial, err error) {
	sc.met, err = sc.live.plan.Meet(sc.met[:0], ev, g.time(sc, sc.live.plan.NeedsTime()), g.secrets, false)
	if err != nil {
		return denied, err
	}
	for i := range sc.met {
		m := &sc.met[i]
		if !m.Applies {
			continue
		}
		reject, err := g.gatherLimits(sc, m.Rule, ev, g.time(sc, m.Rule.NeedsTime()))
		if err := denied.add(m.Rule, reject, err); err != nil {
			return denied, err
		}
	}
	return denied, nil
}

// gatherRule adds the windows of one rule, if it applies.
func (g *Gate) gatherRule(sc *scratch, r *rule.Compiled, ev *slidegate.Event, denied *denial) error {
	reject := false
	ok, err := r.Match(ev)
	if !ok && err == nil {
		return nil
	}
	now := g.time(sc, r.NeedsTime())
	if !r.Where(ev, now) {
		return nil
	}
	if ok {
		reject, err = g.gatherLimits(sc, r, ev, now)
	}
	return denied.add(r, reject, err)
}

// add notes what came of a rule. One on trial stops nothing, not even by what it
// cannot read.
func (d *denial) add(r *rule.Compiled, reject bool, err error) error {
	switch {
	case r.Shadow:
	case err != nil:
		return fmt.Errorf("rule %s: %w", r.Name, err)
	case reject && d.reason == "":
		*d = denial{slidegate.ReasonMissingKey, r}
	}
	return nil
}

// gatherLimits adds the windows of a rule that matches.
func (g *Gate) gatherLimits(sc *scratch, r *rule.Compiled, ev *slidegate.Event, now int64) (reject bool, err error) {
	from := len(sc.keys)
	var found rule.KeyResult
	sc.keys, found, err = r.AppendKey(sc.keys, ev, g.secrets)
	if err != nil || found != rule.KeyFound {
		sc.keys = sc.keys[:from]
		return found == rule.KeyReject, err
	}
	active, err := r.Active(ev, now)
	if err != nil {
		return false, err
	}
	key := span{from: from, to: len(sc.keys)}
	units := ev.Cost.Units()
	for i := range active {
		switch a := &active[i]; {
		case a.Plain():
			sc.item(a, units, key, yields(a, ev))
		case a.Applies(ev, now):
			if err := g.gatherLimit(sc, a, ev, key); err != nil && !a.Shadow {
				return false, err
			}
		}
	}
	return false, nil
}

// gatherLimit adds one window of a limit that looks at the event.
func (g *Gate) gatherLimit(sc *scratch, a *rule.Active, ev *slidegate.Event, key span) error {
	cost, err := a.CheckCost(ev)
	if err != nil {
		return err
	}
	return g.gatherCost(sc, a, ev, cost, key, yields(a, ev))
}

// gatherCost adds one window of a limit, with what it is charged. What will be reported
// need not be known when it is checked.
func (g *Gate) gatherCost(sc *scratch, a *rule.Active, ev *slidegate.Event, cost int64, key span, yields bool) (err error) {
	from := len(sc.keys)
	if cost > 0 && a.Distinct() {
		if sc.keys, err = a.AppendMember(sc.keys, ev, g.secrets); err != nil {
			if sc.keys = sc.keys[:from]; !a.Reported || sc.reporting {
				return err
			}
		}
	}
	i := sc.item(a, cost, key, yields)
	if to := len(sc.keys); to > from {
		n := &sc.notes[i]
		sc.spans = append(sc.spans, span{from, to, n.member})
		n.member = len(sc.spans)
	}
	return nil
}

// yields reports whether a limit lets through, uncharged, what does not fit.
func yields(a *rule.Active, ev *slidegate.Event) bool {
	if a.Action == slidegate.Reject {
		return false
	}
	return a.Action == slidegate.Degrade || a.Action == slidegate.Challenge && ev.HasPassed(a.With)
}

// time reads the clock where it is needed, once a call.
func (g *Gate) time(sc *scratch, needed bool) int64 {
	if sc.now == 0 && needed {
		sc.now = g.now()
	}
	return sc.now
}

// item adds one window and returns its place.
func (sc *scratch) item(a *rule.Active, cost int64, key span, yields bool) int {
	if sc.merge != nil {
		k := mergeKey{a.ID, string(sc.keys[key.from:key.to])}
		if i, ok := sc.merge[k]; ok {
			it := &sc.items[i]
			it.Cost, it.Yields = addCost(it.Cost, cost), it.Yields && yields
			if a.Params.Max < it.Limit.Max { // overrides differ: the stricter one
				it.Limit, sc.notes[i].active = &a.Params, a
			}
			return i
		}
		sc.merge[k] = len(sc.items)
	}
	sc.notes = append(sc.notes, note{active: a, from: key.from, to: key.to})
	it := sc.next()
	it.Window, it.Limit, it.Cost = sc.live.windows[a.ID], &a.Params, cost
	it.Shadow, it.CountRefused, it.Yields, it.Members = a.Shadow, a.CountRefused, yields, nil
	it.Reported, it.Clear, it.Free, it.Locked = a.Reported, false, false, 0
	it.Hold, it.Lock = sc.live.holds[a.ID], sc.live.locks[a.ID]
	return len(sc.items) - 1
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
	sc.members = slices.Grow(sc.members[:0], len(sc.spans))
	items := sc.items
	for i := range sc.notes {
		n := &sc.notes[i]
		items[i].Key = sc.keys[n.from:n.to]
		if n.member > 0 {
			items[i].Members = sc.membersOf(n)
		}
	}
	for len(sc.reqs) < len(sc.ends) {
		sc.reqs = append(sc.reqs, store.Request{})
	}
	from := 0
	for i, end := range sc.ends {
		sc.reqs[i].Items = sc.items[from:end.items]
		sc.reqs[i].Deny = end.reason != ""
		from = end.items
	}
	return sc.reqs[:len(sc.ends)]
}

// membersOf lays out the members of an item; there is room for all.
func (sc *scratch) membersOf(n *note) [][]byte {
	from := len(sc.members)
	for at := n.member; at > 0; at = sc.spans[at-1].before {
		s := &sc.spans[at-1]
		sc.members = append(sc.members, sc.keys[s.from:s.to])
	}
	return sc.members[from:len(sc.members):len(sc.members)]
}
