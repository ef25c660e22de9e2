package rule

import (
	"fmt"
	"slices"

	"github.com/slidegate/slidegate"
)

// Met is a rule that an event can meet.
type Met struct {
	Rule *Compiled
	// Applies says that the event meets it, has its key, and that no other rule
	// replaces it.
	Applies bool
	// By is the rule that replaces it; nil for none.
	By *Compiled
}

// Meet appends the rules that ev can meet to met, in the order of the plan, and
// says which of them apply at now (microseconds since the epoch). It does not
// look at Listed. An error says that a rule that is not in shadow cannot read the
// event. reported says that it is not a check that asks.
func (p *Plan) Meet(met []Met, ev *slidegate.Event, now int64, x *Secrets, reported bool) ([]Met, error) {
	from := len(met)
	for r := range p.For(ev.Name) {
		applies, err := r.appliesAlone(ev, now, x, reported)
		if err != nil && !r.Shadow {
			return met, fmt.Errorf("rule %s: %w", r.Name, err)
		}
		met = append(met, Met{Rule: r, Applies: applies && err == nil})
	}
	if p.replacing {
		replace(met[from:])
	}
	return met, nil
}

// appliesAlone reports whether a rule applies to an event, if none replaces it.
func (r *Compiled) appliesAlone(ev *slidegate.Event, now int64, x *Secrets, reported bool) (bool, error) {
	ok, err := r.Match(ev)
	if !ok && err == nil || !reported && !r.Where(ev, now) || reported && !r.WhereReported(ev, now) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var buf [128]byte
	_, found, err := r.AppendKey(buf[:0], ev, x)
	return found != KeySkip, err
}

// replace takes out the rules that others replace which apply themselves. A rule
// in shadow replaces none.
func replace(met []Met) {
	slices.SortFunc(met, func(a, b Met) int { return a.Rule.turn - b.Rule.turn })
	for i := range met {
		if m := &met[i]; m.Applies {
			m.By = m.Rule.replacer(met[:i])
			m.Applies = m.By == nil
		}
	}
	slices.SortFunc(met, func(a, b Met) int { return a.Rule.place - b.Rule.place })
}

// replacer returns the first of those that apply that replaces r, or nil.
func (r *Compiled) replacer(met []Met) *Compiled {
	for i := range met {
		if by := &met[i]; by.Applies && !by.Rule.Shadow && slices.Contains(r.replacedBy, by.Rule) {
			return by.Rule
		}
	}
	return nil
}
