package gate

import (
	"context"
	"fmt"
	"slices"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

// Query returns how the windows of a rule stand for one key now, in the order
// of its limits. attrs are the attributes that the key is built from, "event"
// for the name of the event among them, and those that overrides look at: the
// limits are those that hold for such an event, none where an override says
// unlimited. It changes nothing.
func (g *Gate) Query(ctx context.Context, ruleName string, attrs ...slidegate.Attr) ([]slidegate.WindowState, error) {
	sc := g.begin()
	defer g.end(sc)
	if err := g.addKey(sc, ruleName, attrs, false); err != nil {
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

// Reset empties all windows of a rule for one key, whatever overrides say.
// attrs are the attributes that the key is built from, as for Query. Decisions
// that were made before give nothing back to these windows any more.
func (g *Gate) Reset(ctx context.Context, ruleName string, attrs ...slidegate.Attr) error {
	sc := g.begin()
	defer g.end(sc)
	if err := g.addKey(sc, ruleName, attrs, true); err != nil {
		return err
	}
	items := sc.requests()[0].Items
	if err := g.store.Reset(ctx, items); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	g.lines.reset(items)
	return nil
}

// addKey adds the windows of a rule under the key that attrs make: all, or those
// of the limits that hold for attrs.
func (g *Gate) addKey(sc *scratch, ruleName string, attrs []slidegate.Attr, all bool) error {
	if g.closed.Load() {
		return fmt.Errorf("gate: %w", slidegate.ErrClosed)
	}
	r := sc.live.plan.Rule(ruleName)
	if r == nil {
		return fmt.Errorf("gate: %w %q", slidegate.ErrUnknownRule, ruleName)
	}
	ev, named := eventOf(attrs)
	if err := ev.Validate(); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	var found rule.KeyResult
	var err error
	sc.keys, found, err = r.AppendKey(sc.keys, &ev, g.secrets)
	if err != nil {
		return fmt.Errorf("gate: rule %s: %w", r.Name, err)
	}
	if found != rule.KeyFound || !named && r.KeyUses("event") {
		return fmt.Errorf("gate: rule %s: %w: the key is %v, and a part of it is missing", r.Name, slidegate.ErrEvent, r.Key())
	}
	limits := r.All()
	if !all {
		if limits, err = r.Active(&ev, g.time(sc, r.NeedsTime())); err != nil {
			return fmt.Errorf("gate: rule %s: %w", r.Name, err)
		}
	}
	for i := range limits {
		sc.item(&limits[i], 0, span{to: len(sc.keys)}, false)
	}
	sc.ends = append(sc.ends, requestEnd{items: len(sc.items)})
	return nil
}

// eventOf returns an event with these attributes, of which "event" is its name,
// and whether it was named.
func eventOf(attrs []slidegate.Attr) (ev slidegate.Event, named bool) {
	ev = slidegate.Event{Name: "query", Attrs: attrs, Cost: slidegate.CostOf(0)}
	at := slices.IndexFunc(attrs, func(a slidegate.Attr) bool { return a.Name == "event" })
	if at < 0 {
		return ev, false
	}
	ev.Name = attrs[at].Value.String()
	ev.Attrs = slices.Delete(slices.Clone(attrs), at, at+1)
	return ev, true
}

// Key returns, for people, the attributes that the key of ev in a rule is built from:
// for each part the one that is present, cut and normalised like the key; secret ones
// are hidden. It returns nil where there is no such rule, or a part cannot be read.
func (g *Gate) Key(ruleName string, ev *slidegate.Event) []slidegate.Attr {
	r := g.Plan().Rule(ruleName)
	if r == nil {
		return nil
	}
	return r.KeyAttrs(ev, g.secrets)
}
