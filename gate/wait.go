package gate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

// Wait is Check that blocks until ev is admitted or ctx ends. Whoever waits for
// the same window is let through in the order of arrival; later calls of Wait that
// meet it stand behind, calls of Check do not. Who is first in the line for one
// window and refused by another stands in the line for that one only. On gcra with
// burst 1 they are let through evenly spaced.
//
// The decision is that of the check that admitted ev. Where a queue admitted it,
// Wait has waited, and RetryAfter is 0.
//
// An error leaves nothing charged, and the place in line or queue is given back
// to those behind. It is
//
//   - the context's, when ctx ended, or when it would end before ev could be
//     admitted: then at once;
//   - [slidegate.ErrRefused], when waiting does not help: a challenge, a list, a
//     cost that can never fit, a queue that is full, a window of events;
//   - one of Check.
//
// The decision beside an error is the last that was made, without its ID: there is
// nothing to give back. Wait sleeps by the
// clock of the machine, and looks again whenever a place is given back through
// this gate.
func (g *Gate) Wait(ctx context.Context, ev slidegate.Event) (slidegate.Decision, error) {
	w := &waiter{turn: make(chan struct{}, 1)}
	defer g.lines.leave(w)
	var d slidegate.Decision
	for {
		given := g.lines.given.Load()
		a, err := g.attempt(ctx, &ev, w)
		switch {
		case err != nil:
			return d, err
		case a.behind:
			if err := g.stand(ctx, w, never); err != nil {
				return d, err
			}
			continue
		case a.place != nil:
			g.lines.leave(w) // those behind wait for something else
			return g.queue(ctx, a.place)
		case a.decision.Admitted():
			return a.decision, nil
		}
		d = a.decision
		d.ID = slidegate.ID{}
		if !a.passes {
			return d, fmt.Errorf("gate: %w: %s", slidegate.ErrRefused, describe(&d))
		}
		if err := tooLate(ctx, a.sure); err != nil {
			return d, err
		}
		g.lines.join(w, a.window)
		if g.lines.missed(given, a.window) && g.lines.mayTry(w) {
			continue // something was given back to the window before w stood in its line
		}
		if err := g.stand(ctx, w, d.RetryAfter); err != nil {
			return d, err
		}
	}
}

// attempt is what came of one try to be let through: w stands behind others who
// came before it, or there is a decision.
type attempt struct {
	behind   bool
	decision slidegate.Decision
	place    *place     // in a queue
	window   store.Name // that decided
	passes   bool       // it passes after a time
	sure     wait
}

// wait is the least time that an event has to wait: what is in flight may be released
// sooner.
type wait struct {
	rule  string
	delay int64 // in microseconds
}

// attempt makes w stand behind those who came before it and wait for one of the
// windows of ev, or checks ev.
func (g *Gate) attempt(ctx context.Context, ev *slidegate.Event, w *waiter) (a attempt, err error) {
	sc := g.begin()
	defer g.end(sc)
	if err := g.add(sc, ev, -1); err != nil {
		return a, err
	}
	if !g.lines.none() {
		if a.behind, err = g.standBehind(ctx, sc, w); a.behind || err != nil {
			return a, err
		}
	}
	err = g.try(ctx, sc, &a)
	return a, err
}

// try is Check that says which window refused. The place that an event took in a
// queue is noted before anybody may leave that queue.
func (g *Gate) try(ctx context.Context, sc *scratch, a *attempt) error {
	g.lines.taking.RLock()
	defer g.lines.taking.RUnlock()
	if err := sc.decide(ctx, g.store); err != nil {
		return err
	}
	d := &a.decision
	decided := g.answer(d, sc, 0)
	switch {
	case decided < 0:
		return nil
	case d.Action == slidegate.Queue:
		a.place = newPlace(d, sc.items)
		g.lines.enqueue(a.place, sc.items[decided].Name)
		return nil
	}
	a.window = sc.items[decided].Name
	a.passes = d.RetryAfter > 0 && d.RetryAfterEvents == 0 && sc.notes[decided].active.Action != slidegate.Queue
	a.sure = sc.sure()
	return nil
}

// sure returns how long the windows of time that refuse do so.
func (sc *scratch) sure() (w wait) {
	for i := range sc.items {
		it := &sc.items[i]
		if decides(it) && !it.Result.OK && !soonerFree(it) && it.Result.Retry > w.delay {
			w = wait{sc.notes[i].active.Rule, it.Result.Retry}
		}
	}
	return w
}

// soonerFree reports whether an item may have room before its delay has passed: a place
// is released, or a report frees what is held.
func soonerFree(it *store.Item) bool {
	return it.Limit.Algorithm == limit.Inflight || it.Reported && it.Locked == 0
}

// decides reports whether an event is refused where the item has no room.
func decides(it *store.Item) bool { return !it.Shadow && !it.Yields }

// standBehind puts w into the line for one of the windows of an event, if somebody
// stands there who came before it. It does not for an event that is refused however
// long it waits, and reports a context that ends before the event could pass.
func (g *Gate) standBehind(ctx context.Context, sc *scratch, w *waiter) (behind bool, err error) {
	req := &sc.requests()[0]
	if req.Deny {
		return false, nil
	}
	if err := g.store.Look(ctx, req); err != nil {
		return false, fmt.Errorf("gate: %w", err)
	}
	if slices.ContainsFunc(req.Items, func(it store.Item) bool { return decides(&it) && it.Result.Never }) {
		return false, nil
	}
	for i := range req.Items {
		if it := &req.Items[i]; decides(it) && it.Cost > 0 && g.lines.joinBehind(w, it.Name) {
			return true, tooLate(ctx, sc.sure())
		}
	}
	return false, nil
}

// never is longer than anybody waits.
const never = time.Duration(1<<63 - 1)

// stand blocks until w is first in its line and the delay has passed, or until
// something was given back, or it came to be first, or there are other rules.
func (g *Gate) stand(ctx context.Context, w *waiter, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("gate: waiting: %w", context.Cause(ctx))
		case <-w.turn:
		case <-timer.C:
		}
		if g.lines.mayTry(w) {
			return nil
		}
	}
}

// tooLate reports a context that ends before an event can be admitted.
func tooLate(ctx context.Context, sure wait) error {
	end, ok := ctx.Deadline()
	if !ok || time.Until(end) >= micros(sure.delay) {
		return nil
	}
	return fmt.Errorf("gate: rule %s lets it through in %v, after the context ends: %w", sure.rule, micros(sure.delay), context.DeadlineExceeded)
}

// queue waits for the instant of a place that was taken.
func (g *Gate) queue(ctx context.Context, p *place) (slidegate.Decision, error) {
	for {
		if g.closed.Load() {
			return g.giveUp(ctx, p, fmt.Errorf("gate: waiting: %w", slidegate.ErrClosed))
		}
		delay, due := g.lines.due(p)
		if due {
			return g.goOn(ctx, p)
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) < delay {
			return g.giveUp(ctx, p, fmt.Errorf("gate: the place in the queue of rule %s is in %v, after the context ends: %w",
				p.decision.Rule, delay, context.DeadlineExceeded))
		}
		timer := time.NewTimer(min(delay, p.holds))
		select {
		case <-timer.C:
		case <-p.moved:
		case <-ctx.Done():
			timer.Stop()
			return g.giveUp(ctx, p, fmt.Errorf("gate: waiting: %w", context.Cause(ctx)))
		}
		timer.Stop()
		if err := g.holdOn(ctx, p); err != nil {
			return g.giveUp(ctx, p, err)
		}
	}
}

// goOn ends the wait of a place that was due and has left its queue.
func (g *Gate) goOn(ctx context.Context, p *place) (slidegate.Decision, error) {
	if err := g.holdOn(ctx, p); err != nil {
		return g.refund(ctx, p, err)
	}
	p.decision.RetryAfter = 0
	return p.decision, nil
}

// holdOn lets the places in flight of who waits in a queue stay on from now. While
// it does, no place is handed on.
func (g *Gate) holdOn(ctx context.Context, p *place) error {
	if p.holds == never {
		return nil
	}
	g.lines.taking.RLock()
	ok, err := g.store.Renew(ctx, p.decision.ID.Receipts())
	g.lines.taking.RUnlock()
	switch {
	case err != nil:
		return fmt.Errorf("gate: waiting, and holding a place in flight: %w", err)
	case !ok:
		return fmt.Errorf("gate: %w: its place in flight was taken away while it waited in the queue of rule %s", slidegate.ErrRefused, p.decision.Rule)
	}
	return nil
}

// giveUp hands a place on and refunds what is left of its decision. It returns the
// error that is the reason for it. While it does, nobody takes a place: those
// behind are all known.
func (g *Gate) giveUp(ctx context.Context, p *place, reason error) (slidegate.Decision, error) {
	g.lines.taking.Lock()
	defer g.lines.taking.Unlock()
	g.lines.handOn(p)
	return g.refund(ctx, p, reason)
}

// refund gives back what is left of a decision, and returns the error that is the
// reason for it.
func (g *Gate) refund(ctx context.Context, p *place, reason error) (slidegate.Decision, error) {
	receipts := p.decision.ID.Receipts()
	given, err := g.store.Refund(context.WithoutCancel(ctx), receipts)
	if given {
		g.lines.freed(receipts, false)
	}
	d := p.decision
	d.ID = slidegate.ID{}
	if err != nil && !g.closed.Load() {
		return d, fmt.Errorf("%w; its place could not be given back: %w", reason, err)
	}
	return d, reason
}

// describe says in a few words why an event was refused.
func describe(d *slidegate.Decision) string {
	switch {
	case d.Action == slidegate.Challenge:
		return fmt.Sprintf("rule %s asks for %s", d.Rule, d.With)
	case d.Never:
		return fmt.Sprintf("rule %s can never let it through", d.Rule)
	case d.Rule != "" && d.Reason == slidegate.ReasonLimit && d.RetryAfterEvents == 0:
		return fmt.Sprintf("the queue of rule %s is full", d.Rule)
	case d.Rule != "":
		return fmt.Sprintf("rule %s: %s", d.Rule, d.Reason)
	}
	return d.Reason
}
