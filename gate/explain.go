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
	// Rules says for every rule of the plan, in order, whether it applies.
	Rules []RuleExplanation
}

// RuleExplanation says whether one rule applies to an event.
type RuleExplanation struct {
	// Rule is its name.
	Rule string
	// Applies says that the event meets it, under the key Key and with the
	// Windows as they stand now (none where an override says unlimited).
	Applies bool
	// Why says why it applies or not.
	Why string
	// Key holds the attributes that the key is built from.
	Key []slidegate.Attr
	// CanonicalKey is the key as stores know it.
	CanonicalKey string
	// Windows are those of its limits, shadow limits too.
	Windows []slidegate.WindowState
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
	at := 0
	for _, r := range sc.live.plan.Rules() {
		e := g.explainRule(sc, r, &ev)
		for ; at < len(sc.notes) && sc.notes[at].active.Rule == r.Name; at++ {
			var w slidegate.WindowState
			window(&w, &req.Items[at], sc.notes[at].active)
			e.Windows = append(e.Windows, w)
		}
		x.Rules = append(x.Rules, e)
	}
	return x, nil
}

func (g *Gate) explainRule(sc *scratch, r *rule.Compiled, ev *slidegate.Event) RuleExplanation {
	e := RuleExplanation{Rule: r.Name}
	ok, why := r.WhyMatch(ev)
	if !ok {
		e.Why = why
		return e
	}
	key, found, err := r.AppendKey(nil, ev)
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
		e.Applies, e.Why, e.CanonicalKey, e.Key = true, why, string(key), r.KeyAttrs(ev)
		if n, until := r.WhichOverride(ev, g.overrideTime(sc, r)); n >= 0 {
			e.Why += fmt.Sprintf("; overrides[%d] holds%s", n, until)
		}
	}
	return e
}
