package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/store"
)

// Lock is a key that is locked, or was and is remembered.
type Lock struct {
	// Rule and Limit name the limit that locked it. Limit is empty, and Rule what the
	// rule was called, where no limit in force has these windows any more.
	Rule, Limit string
	// Key holds the attributes that the key is built from, cut and normalised like the
	// key; secret ones are hidden.
	Key []slidegate.Attr
	// Since and Until are when the newest lock began and ends.
	Since, Until time.Time
	// Times is which lock in a row it is, from 1.
	Times int
}

// Holds reports whether the key is locked at a time.
func (l *Lock) Holds(at time.Time) bool { return at.Before(l.Until) }

// Locks returns all locks that hold now or are remembered, the newest first. It takes
// time for each lock that is remembered.
func (g *Gate) Locks(ctx context.Context) ([]Lock, error) {
	if g.closed.Load() {
		return nil, fmt.Errorf("gate: %w", slidegate.ErrClosed)
	}
	all, err := g.store.Locks(ctx)
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	live := g.live.Load()
	byIdentity := map[string]int{} // the ID of a limit
	for _, r := range live.plan.Rules() {
		for _, a := range r.All() {
			byIdentity[a.Identity] = a.ID
		}
	}
	out := make([]Lock, len(all))
	for i := range all {
		out[i] = g.lock(live, byIdentity, &all[i])
	}
	slices.SortFunc(out, func(a, b Lock) int { return b.Since.Compare(a.Since) })
	return out, nil
}

func (g *Gate) lock(live *livePlan, byIdentity map[string]int, l *store.Locked) Lock {
	out := Lock{Since: time.UnixMicro(l.Since), Until: time.UnixMicro(l.Until), Times: l.Times}
	out.Rule, _, _ = strings.Cut(l.Window, ";")
	r := live.plan.Rule(out.Rule)
	id, known := byIdentity[l.Window]
	if r == nil || !known {
		out.Key = []slidegate.Attr{slidegate.String("key", string(l.Key))}
		return out
	}
	for _, a := range r.All() {
		if a.ID == id {
			out.Limit = a.Text
		}
	}
	out.Key = r.KeyOf(l.Key)
	return out
}

// Unlock ends the locks of a rule for one key, forgets that they were, and empties the
// rule's windows of the key: who is let in again begins anew. attrs are the attributes
// that the key is built from, as for Query. It reports whether one held.
func (g *Gate) Unlock(ctx context.Context, ruleName string, attrs ...slidegate.Attr) (bool, error) {
	sc := g.begin()
	defer g.end(sc)
	if err := g.addKey(sc, ruleName, attrs, true); err != nil {
		return false, err
	}
	items := sc.requests()[0].Items
	var all []*store.Window
	for i := range items {
		all = append(all, items[i].Window)
	}
	items = slices.DeleteFunc(slices.Clone(items), func(it store.Item) bool { return it.Lock == nil })
	for i := range items {
		lock := *items[i].Lock
		lock.Empties = all
		items[i].Lock = &lock
	}
	n, err := g.store.Unlock(ctx, items)
	if err != nil {
		return false, fmt.Errorf("gate: %w", err)
	}
	if n > 0 {
		g.lines.reset(sc.items)
	}
	return n > 0, nil
}

// Time returns the time by which the gate decides.
func (g *Gate) Time() time.Time { return time.UnixMicro(g.now()) }
