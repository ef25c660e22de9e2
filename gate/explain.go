package gate

import (
	"context"
	"fmt"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

// Explanation says what a check of an event would do and why.
type Explanation struct {
	// Decision is what Check would answer now, without an ID. Its windows and
	// delays are those that stand while the event is not checked: a check that
	// is admitted adds to them, and so does a refused one where a limit counts
	// refused hits.
	Decision slidegate.Decision
	// Listed says which entry of allow or deny decided before every rule, such
	// as "deny[0]: phone=(secret)"; empty for none.
	Listed string
	// Rules says for every rule of the plan, in order, whether it applies.
	Rules []RuleExplanation
}

// RuleExplanation says whether one rule applies to an event.
type RuleExplanation struct {
	// Rule is its name.
	Rule string
	// Applies says that the event meets it, under the key Key and with the
	// Limits as they stand now; where there are none, and none that are Idle, an
	// override says unlimited.
	Applies bool
	// Why says why it applies or not.
	Why string
	// Key holds the attributes that the key is built from.
	Key []slidegate.Attr
	// CanonicalKey is the key as stores know it.
	CanonicalKey string
	// Limits are those that hold for the event, shadow limits too.
	Limits []LimitExplanation
	// Idle are those of its limits whose condition does not hold for the event.
	Idle []IdleLimit
}

// LimitExplanation is a limit that an event meets, and its window.
type LimitExplanation struct {
	// Window says how it stands, and whether it would refuse the event.
	Window slidegate.WindowState
	// Action is what the limit does with an event that does not fit.
	Action slidegate.Action
	// Shadow says that the limit judges but never decides.
	Shadow bool
}

// IdleLimit is a limit that does not hold for an event.
type IdleLimit struct {
	// Limit is its text, and Why says why.
	Limit, Why string
}

// Explain says what Check would answer for ev now, which rules apply or do not
// and why, which keys were built, and what is in their windows. It records
// nothing.
func (g *Gate) Explain(ctx context.Context, ev slidegate.Event) (*Explanation, error) {
	sc := g.begin()
	defer g.end(sc)
	if err := g.add(sc, &ev, -1); err != nil {
		return nil, err
	}
	req := &sc.requests()[0]
	if err := g.store.Look(ctx, req); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	x := &Explanation{}
	g.answer(&x.Decision, sc, 0)
	x.Decision.ID = slidegate.ID{}
	x.Listed = sc.live.plan.WhyListed(&ev)
	at := 0
	for _, r := range sc.live.plan.Rules() {
		if x.Listed != "" {
			x.Rules = append(x.Rules, RuleExplanation{Rule: r.Name, Why: "not asked: the event is on a list"})
			continue
		}
		e := g.explainRule(sc, r, &ev)
		for ; at < len(sc.notes) && sc.notes[at].active.Rule == r.Name; at++ {
			a := sc.notes[at].active
			l := LimitExplanation{Action: a.Action, Shadow: a.Shadow}
			window(&l.Window, &req.Items[at], a)
			e.Limits = append(e.Limits, l)
		}
		x.Rules = append(x.Rules, e)
	}
	return x, nil
}

func (g *Gate) explainRule(sc *scratch, r *rule.Compiled, ev *slidegate.Event) RuleExplanation {
	e := RuleExplanation{Rule: r.Name}
	ok, why := r.WhyMatch(ev)
	now := g.time(sc, r.NeedsTime())
	if where := r.WhyWhere(ev, now); ok && where != "" {
		ok, why = r.Where(ev, now), why+"; "+where
	}
	for _, m := range sc.met {
		if m.Rule == r && m.By != nil {
			ok, why = false, why+"; replaced by rule "+m.By.Name
		}
	}
	if !ok {
		e.Why = why
		return e
	}
	key, found, err := r.AppendKey(nil, ev, g.secrets)
	switch {
	case err != nil: // the event would have been refused before
		e.Why = err.Error()
	case found == rule.KeyReject && r.Shadow:
		e.Why = fmt.Sprintf("%s, but the key %v is missing a part: would be rejected (missing_key) if the rule were not in shadow", why, r.Key())
	case found == rule.KeyReject:
		e.Why = fmt.Sprintf("%s, but the key %v is missing a part: rejected (missing_key)", why, r.Key())
	case found == rule.KeySkip:
		e.Why = fmt.Sprintf("%s, but the key %v is missing a part: skipped (missing_key)", why, r.Key())
	default:
		e.Applies, e.Why, e.CanonicalKey, e.Key = true, why, string(key), r.KeyAttrs(ev, g.secrets)
		if n, until := r.WhichOverride(ev, now); n >= 0 {
			e.Why += fmt.Sprintf("; overrides[%d] holds%s", n, until)
		}
		active, _ := r.Active(ev, now) // an error would have refused the event before
		for _, a := range active {
			if !a.Applies(ev, now) {
				e.Idle = append(e.Idle, IdleLimit{Limit: a.Text, Why: a.WhyWhere(ev, now)})
			}
		}
	}
	return e
}
