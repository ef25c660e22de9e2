package gate

import (
	"context"
	"fmt"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
)

// counted reports whether an item's delay is a number of checks.
func counted(it *store.Item) bool { return it.Limit.Algorithm == limit.Events }

// capacity returns how many units the window of an item holds at once.
func capacity(it *store.Item) int64 {
	if it.Limit.Algorithm == limit.GCRA && it.Limit.Max > 0 { // else a ban
		return it.Limit.Burst
	}
	return it.Limit.Max
}

// Query returns how the windows of a rule stand for one key now, in the order
// of its limits. attrs are the attributes that the key is built from, and those
// that overrides look at. It changes nothing.
func (g *Gate) Query(ctx context.Context, ruleName string, attrs ...slidegate.Attr) ([]slidegate.WindowState, error) {
	sc := g.begin()
	defer g.end(sc)
	if err := g.addKey(sc, ruleName, attrs); err != nil {
		return nil, err
	}
	req := &sc.requests()[0]
	if err := g.store.Look(ctx, req); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	states := make([]slidegate.WindowState, len(req.Items))
	for i := range states {
		window(&states[i], &req.Items[i], sc.notes[i].active)
	}
	return states, nil
}

// Reset empties the windows of a rule for one key. Decisions that were made
// before give nothing back any more.
func (g *Gate) Reset(ctx context.Context, ruleName string, attrs ...slidegate.Attr) error {
	sc := g.begin()
	defer g.end(sc)
	if err := g.addKey(sc, ruleName, attrs); err != nil {
		return err
	}
	if err := g.store.Reset(ctx, sc.requests()[0].Items); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	return nil
}

// addKey adds all windows of a rule under the key that attrs make.
func (g *Gate) addKey(sc *scratch, ruleName string, attrs []slidegate.Attr) error {
	if g.closed.Load() {
		return fmt.Errorf("gate: %w", slidegate.ErrClosed)
	}
	r := sc.live.plan.Rule(ruleName)
	if r == nil {
		return fmt.Errorf("gate: %w %q", slidegate.ErrUnknownRule, ruleName)
	}
	ev := slidegate.Event{Name: "query", Attrs: attrs, Cost: slidegate.CostOf(0)}
	if err := ev.Validate(); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	var found rule.KeyResult
	var err error
	sc.keys, found, err = r.AppendKey(sc.keys, &ev)
	if err != nil {
		return fmt.Errorf("gate: rule %s: %w", r.Name, err)
	}
	if found != rule.KeyFound {
		return fmt.Errorf("gate: rule %s: %w: the key is %v, and a part of it is missing", r.Name, slidegate.ErrEvent, r.Key())
	}
	limits, err := r.Active(&ev, g.overrideTime(sc, r))
	if err != nil {
		return fmt.Errorf("gate: rule %s: %w", r.Name, err)
	}
	for i := range limits {
		sc.item(&limits[i], 0, 0)
	}
	sc.ends = append(sc.ends, requestEnd{items: len(sc.items)})
	return nil
}
