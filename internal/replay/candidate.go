package replay

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/rule"
)

const (
	// maxExamples is how many events of a kind are named as examples.
	maxExamples = 3
	// maxAffected bounds the keys of a rule whose verdict changes, each way.
	maxAffected = 100_000
)

// Candidate judges a log by the rules that are to replace others, beside those,
// and says whose verdict changes. Make it with [NewCandidate].
type Candidate struct {
	// Events counts the events that both could judge. Refused counts those of
	// them that the old rules admit and the new ones refuse, Freed those the
	// other way round, OtherAction those whose action changes while they are
	// admitted, or refused, by both.
	Events, Refused, Freed, OtherAction int64
	// Unjudged counts the events that the new rules alone could not read, Why
	// and Where say why the first of them.
	Unjudged int64
	Why      string
	Where    Place
	// Rules are those of the old rules in order, then those that are new.
	Rules []*RuleChange
	// Forgotten are the limits whose history a reload from the old rules forgets.
	Forgotten []rule.Forgotten

	old, next *rule.Plan
	gate      *gate.Gate
	byName    map[string]*RuleChange
	seed      maphash.Seed
	secrets   *rule.Secrets
	scratch   []byte
	before    []string // rules that refuse the event that is being judged
	after     []string
}

// Place is where an event stood.
type Place struct {
	File string
	Line int
}

// String returns the place as error messages have it.
func (p Place) String() string { return p.File + ":" + strconv.Itoa(p.Line) }

// RuleChange is what changes for one rule.
type RuleChange struct {
	// Name is its name; Added and Removed say that only the new or only the old
	// rules have it.
	Name           string
	Added, Removed bool
	// Before and After count the events that it refuses in the old and in the
	// new rules, whatever other rules say.
	Before, After int64
	// Refused is who is newly refused by it, Freed who was refused by it and is
	// admitted now. Several rules may refuse one event.
	Refused, Freed Affected
}

// Affected is whose verdict changes.
type Affected struct {
	// Events counts events, Top are the keys with the most. Capped says that
	// there were more keys than are counted.
	Events int64
	Top    []KeyCount
	Capped bool
	// Examples are the first events.
	Examples []Place

	tally *tally
}

// NewCandidate prepares the comparison of two plans.
func NewCandidate(old, next *rule.Plan) *Candidate {
	c := &Candidate{old: old, next: next, Forgotten: rule.Forgets(old, next), byName: map[string]*RuleChange{}, seed: maphash.MakeSeed(), secrets: randomSecrets()}
	for _, r := range slices.Concat(old.Rules(), next.Rules()) {
		if c.byName[r.Name] != nil {
			continue
		}
		change := &RuleChange{
			Name: r.Name, Added: old.Rule(r.Name) == nil, Removed: next.Rule(r.Name) == nil,
			Refused: Affected{tally: newTally(maxAffected, maxAffected)}, Freed: Affected{tally: newTally(maxAffected, maxAffected)},
		}
		c.byName[r.Name] = change
		c.Rules = append(c.Rules, change)
	}
	return c
}

// begin makes the engine of the new rules, which reads clock.
func (c *Candidate) begin(clock *atomic.Int64) (err error) {
	c.gate, err = newEngine(c.next, clock)
	return err
}

// judge judges one event, of which d is what the old rules say.
func (c *Candidate) judge(ctx context.Context, rec *Record, ev *slidegate.Event, _ int64, d *slidegate.Decision) error {
	next, err := attempt(ctx, c.gate, ev)
	switch {
	case errors.Is(err, slidegate.ErrEvent):
		if c.Unjudged++; c.Unjudged == 1 {
			c.Why, c.Where = strings.TrimPrefix(err.Error(), "gate: "), placeOf(rec)
		}
		return nil
	case err != nil:
		return err
	}
	c.Events++
	c.before, c.after = refusing(c.before[:0], d), refusing(c.after[:0], &next)
	for _, name := range c.before {
		c.byName[name].Before++
	}
	for _, name := range c.after {
		c.byName[name].After++
	}
	switch {
	case d.Admitted() && !next.Admitted():
		c.Refused++
		for _, name := range c.after {
			c.affect(&c.byName[name].Refused, c.next.Rule(name), rec, ev)
		}
	case !d.Admitted() && next.Admitted():
		c.Freed++
		for _, name := range c.before {
			c.affect(&c.byName[name].Freed, c.old.Rule(name), rec, ev)
		}
	case d.Action != next.Action:
		c.OtherAction++
	}
	return nil
}

// refusing appends the rules that refuse an event: those with a window that has
// no room and does not let it through all the same, and the one that misses a part of its key.
func refusing(names []string, d *slidegate.Decision) []string {
	ws := d.Windows()
	for i := range ws {
		w := &ws[i]
		if w.Refused && !slices.Contains(names, w.Rule) && !w.Yielded {
			names = append(names, w.Rule)
		}
	}
	if d.Reason == slidegate.ReasonMissingKey && !slices.Contains(names, d.Rule) {
		names = append(names, d.Rule)
	}
	return names
}

// affect counts an event whose verdict changes under the key that it has in r.
func (c *Candidate) affect(a *Affected, r *rule.Compiled, rec *Record, ev *slidegate.Event) {
	a.Events++
	if len(a.Examples) < maxExamples {
		a.Examples = append(a.Examples, placeOf(rec))
	}
	key, found, err := r.AppendKey(c.scratch[:0], ev, c.secrets)
	c.scratch = key
	if err == nil && found == rule.KeyFound {
		a.tally.add(maphash.Bytes(c.seed, key), true, func() []slidegate.Attr { return r.KeyAttrs(ev, c.secrets) })
	}
}

func placeOf(rec *Record) Place { return Place{File: strings.Clone(rec.File), Line: rec.Line} }

// end ends the comparison.
func (c *Candidate) end(s *Summary) {
	for _, r := range c.Rules {
		for _, a := range []*Affected{&r.Refused, &r.Freed} {
			a.Top, a.Capped, a.tally = a.tally.top(), a.tally.capped, nil
		}
	}
	if c.gate != nil {
		_ = c.gate.Close() // in memory: never fails
	}
	s.Candidate = c
}
