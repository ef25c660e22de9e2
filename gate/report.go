package gate

import (
	"context"
	"fmt"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
)

// MaxFuture is how far ahead of the clock an event may lie that is reported.
const MaxFuture = time.Minute

// Reported is what came of a report.
type Reported struct {
	// Settled says that something of the decision that the event names was still to
	// be settled, or in flight.
	Settled bool
	// Windows says how the windows stand, after the report, that it was charged to, or in
	// which it freed a place or broke a row; those of shadow limits too.
	Windows []slidegate.WindowState
	// Locked are the keys that this report locked.
	Locked []Lock
	// Full says that some window was not charged: the store is at its ceiling, and it
	// needs a key or memory.
	Full bool
}

// Report records what happened: how ev went, in Outcome, and what it came to. It
// charges the limits that reports feed, whatever they hold, and settles the decision
// that ev.Decision names, if any: of limits that reports feed the place that its check
// held is free; of limits with a hold that checks feed, a failure gives back what was
// charged, and otherwise the charge becomes what ev tells (its cost where one is given,
// the value of the attribute that is summed up); and what is in flight is released.
// Reports are counted when they arrive. An event that names no decision is taken for one
// of those that were let in: where a limit looks at nothing but the outcome, the oldest
// place that is held is free.
//
// An error says what is wrong with the event, that ctx ended, or that the store failed;
// then nothing was recorded. An id that this gate did not make is [slidegate.ErrID]. A
// decision is settled once, and not after its hold: then Settled is false, and the rest
// is recorded all the same. Whoever reports twice is counted twice.
func (g *Gate) Report(ctx context.Context, ev slidegate.Event) (Reported, error) {
	var out Reported
	sc := g.begin()
	defer g.end(sc)
	sc.reporting = true
	if err := g.gatherReport(sc, &ev); err != nil {
		return out, fmt.Errorf("gate: %w", err)
	}
	sc.ends = append(sc.ends, requestEnd{items: len(sc.items)})
	rep := store.Report{Items: sc.requests()[0].Items, Failed: ev.Outcome == slidegate.Failure}
	if ev.Decision != "" {
		id, err := slidegate.ParseID(g.sealer, ev.Decision)
		if err != nil {
			return out, fmt.Errorf("gate: %w", err)
		}
		rep.Settle = id.Receipts()
	}
	if err := g.store.Report(ctx, &rep); err != nil {
		return out, fmt.Errorf("gate: %w", err)
	}
	if rep.Settled {
		g.lines.freed(rep.Settle, false)
	}
	out.Settled, out.Full = rep.Settled, rep.Full
	g.reported(&out, sc, &ev)
	return out, nil
}

// ReportBatch records several events one after another: each is a report of its own. If
// any of them is wrong none is recorded, and a [slidegate.EventError] names its place. If ctx ends or
// the store fails on the way, the events before have been recorded.
func (g *Gate) ReportBatch(ctx context.Context, evs []slidegate.Event) ([]Reported, error) {
	for i := range evs {
		if err := g.reportable(&evs[i]); err != nil {
			return nil, fmt.Errorf("gate: %w", &slidegate.EventError{Index: i, Err: err})
		}
	}
	out := make([]Reported, len(evs))
	for i := range evs {
		var err error
		if out[i], err = g.Report(ctx, evs[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// reportable reports what is wrong with a report.
func (g *Gate) reportable(ev *slidegate.Event) error {
	sc := g.begin()
	defer g.end(sc)
	sc.reporting = true
	if err := g.gatherReport(sc, ev); err != nil || ev.Decision == "" {
		return err
	}
	_, err := slidegate.ParseID(g.sealer, ev.Decision)
	return err
}

// reported fills in how the windows stand after a report.
func (g *Gate) reported(out *Reported, sc *scratch, ev *slidegate.Event) {
	now := g.now()
	for i := range sc.items {
		it, a := &sc.items[i], sc.notes[i].active
		if !it.Reported {
			continue
		}
		var w slidegate.WindowState
		window(&w, it, a)
		w.Refused, w.RetryAfter = it.Locked > 0, micros(it.Locked)
		out.Windows = append(out.Windows, w)
		if it.LockedNow {
			out.Locked = append(out.Locked, Lock{
				Rule: a.Rule, Limit: a.Text, Key: sc.live.plan.Rule(a.Rule).KeyAttrs(ev, g.secrets),
				Since: time.UnixMicro(now), Until: time.UnixMicro(now + it.Locked), Times: it.Times,
			})
		}
	}
}

// gatherReport adds the windows that a report of ev is charged to, and those that checks
// feed of which it tells what the charge of its decision comes to.
func (g *Gate) gatherReport(sc *scratch, ev *slidegate.Event) error {
	if g.closed.Load() {
		return slidegate.ErrClosed
	}
	if err := ev.Validate(); err != nil {
		return err
	}
	if ahead := time.Duration(ev.Time.UnixMicro()-g.now()) * time.Microsecond; !ev.Time.IsZero() && ahead > MaxFuture {
		return fmt.Errorf("%w: time: %s lies %v ahead; more than %v is refused", slidegate.ErrEvent, ev.Time.UTC().Format(time.RFC3339), ahead, MaxFuture)
	}
	plan := sc.live.plan
	if listed, err := plan.Listed(ev); err != nil || listed != rule.Unlisted {
		return err // lists come before the rules
	}
	now := g.time(sc, plan.NeedsTime())
	var err error
	if sc.met, err = plan.Meet(sc.met[:0], ev, now, g.secrets, true); err != nil {
		return err
	}
	for i := range sc.met {
		m := &sc.met[i]
		if !m.Applies {
			continue
		}
		if err := g.reportTo(sc, m.Rule, ev, now); err != nil && !m.Rule.Shadow {
			return fmt.Errorf("rule %s: %w", m.Rule.Name, err)
		}
	}
	return nil
}

// reportTo adds the windows of a rule that a report meets. An event without the key
// belongs to none.
func (g *Gate) reportTo(sc *scratch, r *rule.Compiled, ev *slidegate.Event, now int64) error {
	from := len(sc.keys)
	keys, found, err := r.AppendKey(sc.keys, ev, g.secrets)
	if sc.keys = keys; err != nil || found != rule.KeyFound {
		sc.keys = sc.keys[:from]
		return err
	}
	key := span{from: from, to: len(sc.keys)}
	active, err := r.Active(ev, now)
	if err != nil {
		return err
	}
	for i := range active {
		a := &active[i]
		if err := g.reportToLimit(sc, a, ev, key, now); err != nil && !a.Shadow {
			return err
		}
	}
	return nil
}

func (g *Gate) reportToLimit(sc *scratch, a *rule.Active, ev *slidegate.Event, key span, now int64) error {
	if !a.Reported {
		if a.HoldFor == 0 || ev.Decision == "" || ev.Outcome == slidegate.Failure || !a.Applies(ev, now) {
			return nil
		}
		amount, told, err := a.Told(ev)
		if told && err == nil {
			sc.item(a, amount, key, false)
		}
		return err
	}
	counts, breaks := a.Counts(ev, now)
	frees := ev.Decision == "" && a.FreesUnnamed()
	if !counts {
		if breaks || frees {
			it := &sc.items[sc.item(a, 0, key, false)]
			it.Clear, it.Free = breaks, frees
		}
		return nil
	}
	cost, err := a.Cost(ev)
	if err != nil {
		return err
	}
	from := len(sc.items)
	if err := g.gatherCost(sc, a, ev, cost, key, false); err != nil {
		return err
	}
	sc.items[from].Free = frees
	return nil
}
