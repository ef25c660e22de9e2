package rule

import (
	"fmt"
	"iter"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
)

// Plan is a compiled set of rules. It never changes and may be shared by any
// number of goroutines. Make it with [Compile].
type Plan struct {
	rules  []*Compiled
	byName map[string]*Compiled
	events map[string][]*Compiled // rules that only events of this name can meet
	others []*Compiled            // rules that events of any name can meet
	limits int
}

// Rules returns the rules in order.
func (p *Plan) Rules() []*Compiled { return p.rules }

// Rule returns the rule called name, or nil.
func (p *Plan) Rule(name string) *Compiled { return p.byName[name] }

// For returns the rules that an event called name can meet, in order.
func (p *Plan) For(name string) iter.Seq[*Compiled] {
	own := p.events[name]
	return func(yield func(*Compiled) bool) { inOrder(own, p.others, yield) }
}

// inOrder yields the rules of two lists in the order of the plan.
func inOrder(a, b []*Compiled, yield func(*Compiled) bool) {
	for len(a) > 0 || len(b) > 0 {
		if len(a) == 0 || len(b) > 0 && b[0].place < a[0].place {
			a, b = b, a
		}
		if !yield(a[0]) {
			return
		}
		a = a[1:]
	}
}

// Limits returns the number of limits in all rules. Their IDs are below it.
func (p *Plan) Limits() int { return p.limits }

// Compiled is a rule of a plan.
type Compiled struct {
	// Name is the rule's name.
	Name string
	// Message is what a person who is refused is told; may be empty.
	Message string
	// Shadow says that the rule judges but never decides: all its limits are
	// shadow limits.
	Shadow bool

	place         int // among the rules of the plan
	match, except []matcher
	key           []keyPart
	missing       missing
	limits        []*CompiledLimit
	active        []Active
	overrides     []override
}

// CompiledLimit is a limit of a rule of a plan.
type CompiledLimit struct {
	// ID numbers the limit within its plan, from 0.
	ID int
	// Rule is the name of the rule.
	Rule string
	// Identity names the limit's windows. It is the same as long as their
	// history means the same: see "Reloading" in docs/guide/rules.md.
	Identity string
	// Message is what a person who is refused is told; may be empty.
	Message string
	// Shadow and CountRefused are as in [Limit].
	Shadow, CountRefused bool
	// Scale is the number of decimals of what it counts; 0 for counts.
	Scale uint8

	text  limitText
	terms limit.Params
}

// Active is a limit as it holds for one event: with the maximum of the rule or
// of an override.
type Active struct {
	*CompiledLimit

	// Text is the limit's text as written.
	Text string
	// Params is what is enforced.
	Params limit.Params
}

type override struct {
	match  []matcher
	active []Active
	until  int64
}

// Match reports whether the rule applies to ev. An error says that an attribute
// it looks at is not what it was declared to be.
func (r *Compiled) Match(ev *slidegate.Event) (bool, error) {
	if len(r.match) > 0 {
		if ok, err := anyMatch(r.match, ev); !ok || err != nil {
			return false, err
		}
	}
	if len(r.except) == 0 {
		return true, nil
	}
	left, err := anyMatch(r.except, ev)
	return !left, err
}

// KeyResult says whether an event has the key of a rule.
type KeyResult uint8

// What becomes of an event under the key of a rule.
const (
	// KeyFound: the key is complete.
	KeyFound KeyResult = iota
	// KeySkip: a part is missing, and the rule does not apply.
	KeySkip
	// KeyReject: a part is missing, and the event is to be rejected.
	KeyReject
)

// AppendKey appends the key that ev has in the rule to b. The key is canonical:
// it is the same wherever it is made, and different keys are different bytes.
func (r *Compiled) AppendKey(b []byte, ev *slidegate.Event) ([]byte, KeyResult, error) {
	b, complete, err := appendKey(b, r.key, r.missing, ev)
	switch {
	case err != nil || complete:
		return b, KeyFound, err
	case r.missing == missingReject:
		return b, KeyReject, nil
	default:
		return b, KeySkip, nil
	}
}

// Key returns the parts of the rule's key as written.
func (r *Compiled) Key() []string {
	parts := make([]string, len(r.key))
	for i := range r.key {
		parts[i] = r.key[i].text
	}
	return parts
}

// KeyUses reports whether any part of the rule's key may be built from the
// attribute called name.
func (r *Compiled) KeyUses(name string) bool {
	for i := range r.key {
		for j := range r.key[i].sources {
			if r.key[i].sources[j].attr == name {
				return true
			}
		}
	}
	return false
}

// KeyAttrs returns, for people, the attributes that the key of ev is built from:
// for each part the one that is present, cut and normalised like the key.
func (r *Compiled) KeyAttrs(ev *slidegate.Event) []slidegate.Attr {
	var attrs []slidegate.Attr
	for i := range r.key {
		if name, text, ok := r.key[i].show(ev); ok {
			attrs = append(attrs, slidegate.String(name, text))
		}
	}
	return attrs
}

// Active returns the limits that hold for ev at now (microseconds since the
// epoch). There are none where an override says unlimited.
func (r *Compiled) Active(ev *slidegate.Event, now int64) ([]Active, error) {
	for i := range r.overrides {
		o := &r.overrides[i]
		if now >= o.until {
			continue
		}
		if ok, err := anyMatch(o.match, ev); ok || err != nil {
			return o.active, err
		}
	}
	return r.active, nil
}

// All returns every limit of the rule, with its own maximum.
func (r *Compiled) All() []Active { return r.active }

// Cost returns what ev costs in this limit. An event whose cost is 0 costs 0
// everywhere.
func (l *CompiledLimit) Cost(ev *slidegate.Event) (int64, error) {
	cost := ev.Cost.Units()
	if l.text.stat != statSum || cost == 0 {
		return cost, nil
	}
	v, ok := ev.Attr(l.text.attr)
	if !ok {
		return 0, fmt.Errorf("%w: attribute %s is missing; rule %s sums it", slidegate.ErrEvent, l.text.attr, l.Rule)
	}
	n, err := scaledValue(v, int(l.Scale))
	if err != nil {
		return 0, fmt.Errorf("%w: attribute %s: %w; rule %s sums it", slidegate.ErrEvent, l.text.attr, err, l.Rule)
	}
	return n, nil
}

// Forgotten is a limit whose history ends.
type Forgotten struct {
	// Rule and Limit name it: the rule's name and the limit's text.
	Rule, Limit string
	// Why says what is different.
	Why string
}

// Forgets returns the limits of old whose windows are empty or gone when next
// takes its place, and why.
func Forgets(old, next *Plan) []Forgotten {
	kept := map[string]bool{}
	for _, r := range next.rules {
		for _, l := range r.limits {
			kept[l.Identity] = true
		}
	}
	var lost []Forgotten
	for _, r := range old.rules {
		for i, l := range r.limits {
			if !kept[l.Identity] {
				lost = append(lost, Forgotten{Rule: r.Name, Limit: r.active[i].Text, Why: whyLost(r, next.byName[r.Name])})
			}
		}
	}
	return lost
}

func whyLost(old, next *Compiled) string {
	switch {
	case next == nil:
		return "the rule is gone"
	case keyIdentity(old.key) != keyIdentity(next.key):
		return "the key is another"
	default:
		return "no limit has the same measure, window and algorithm"
	}
}
