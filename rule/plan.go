package rule

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/cond"
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

	allow, deny []matcher
	replacing   bool // some rule replaces another
	timed       bool // some rule needs the time

	// Secret names the attributes whose values are hidden; a plan that has any
	// builds keys only with [Secrets].
	Secret []string
}

// Rules returns the rules in order.
func (p *Plan) Rules() []*Compiled { return p.rules }

// Rule returns the rule called name, or nil.
func (p *Plan) Rule(name string) *Compiled { return p.byName[name] }

// For returns the rules that an event called name can meet, in order.
func (p *Plan) For(name string) iter.Seq[*Compiled] {
	own, others := p.Split(name)
	return func(yield func(*Compiled) bool) { inOrder(own, others, yield) }
}

// Split returns the same rules in two parts: those that only events of this name
// can meet, and those that events of any name can. Each is in order, and where
// either is empty the other is all of For.
func (p *Plan) Split(name string) (own, others []*Compiled) { return p.events[name], p.others }

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

// Listed says whether the lists before the rules let an event through (Allow),
// reject it (Deny), or leave it to the rules (Unlisted).
type Listed uint8

// What the lists say. Deny wins.
const (
	Unlisted Listed = iota
	Allow
	Deny
)

// Listed looks ev up in allow and deny. An error says that an attribute is not
// what it was declared to be.
func (p *Plan) Listed(ev *slidegate.Event) (Listed, error) {
	if len(p.allow)+len(p.deny) == 0 {
		return Unlisted, nil
	}
	if on, err := anyMatch(p.deny, ev); on || err != nil {
		return Deny, err
	}
	if on, err := anyMatch(p.allow, ev); on || err != nil {
		return Allow, err
	}
	return Unlisted, nil
}

// WhyListed says which matcher of allow or deny holds for ev; "" for none.
func (p *Plan) WhyListed(ev *slidegate.Event) string {
	for _, list := range []struct {
		name string
		ms   []matcher
	}{{"deny", p.deny}, {"allow", p.allow}} {
		for i, m := range list.ms {
			if ok, why := m.why(ev); ok {
				return fmt.Sprintf("%s[%d]: %s", list.name, i, why)
			}
		}
	}
	return ""
}

// Replacing reports whether any rule replaces another. Then Meet says which
// rules apply to an event.
func (p *Plan) Replacing() bool { return p.replacing }

// Reports reports whether reports mean anything to any rule: they feed a limit, or settle
// what its checks take.
func (p *Plan) Reports() bool {
	return slices.ContainsFunc(p.rules, func(r *Compiled) bool {
		return slices.ContainsFunc(r.limits, func(l *CompiledLimit) bool { return l.Reported || l.HoldFor > 0 })
	})
}

// NeedsTime reports whether any rule does: see [Compiled.NeedsTime].
func (p *Plan) NeedsTime() bool { return p.timed }

// StoreError says what a rule answers while its store cannot be reached.
type StoreError uint8

// The answers.
const (
	StoreLocal  StoreError = iota // counts by itself
	StoreOpen                     // allows
	StoreClosed                   // rejects
)

// String returns the word of rule files.
func (s StoreError) String() string { return [...]string{"local", "open", "closed"}[s] }

// Compiled is a rule of a plan.
type Compiled struct {
	// Name is the rule's name.
	Name string
	// OnStoreError says what the rule answers while its store is lost.
	OnStoreError StoreError
	// Shadow says that the rule judges but never decides: all its limits are
	// shadow limits.
	Shadow bool

	place         int // among the rules of the plan
	match, except []matcher
	names         []string // of events that match whatever else they are, where there are few
	key           []keyPart
	missing       missing
	message       Message
	zone          *time.Location // nil where none is given
	where         *cond.Cond
	counts        counts
	timed         bool
	replacedBy    []*Compiled
	turn          int // after those that replace it
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
	// Message is what a person is told whom the limit does not let through
	// untouched; may be empty.
	Message Message
	// Action and With are as in [Limit].
	Action slidegate.Action
	With   string
	// Shadow and CountRefused are as in [Limit].
	Shadow, CountRefused bool
	// Scale is the number of decimals of what it counts; 0 for counts.
	Scale uint8
	// Reported says that reports feed it: a check charges nothing.
	Reported bool
	// HoldFor is how long what a check takes waits to be settled, in microseconds; 0
	// for what is final. Release says that it is given back if nobody does.
	HoldFor int64
	Release bool
	// Lasts is how long its locks last, one after another, in microseconds; nil where
	// it does not lock. Forget is how long one is remembered after its end, and
	// KeepHistory leaves the rule's windows as they are.
	Lasts       []int64
	Forget      int64
	KeepHistory bool

	plain             bool
	text              limitText
	terms             limit.Params
	where             *cond.Cond
	member            source    // of a distinct
	calendar          *calendar // of a calendar window
	hold              int64     // of what is in flight
	burst, buckets    int64
	maxWait, maxQueue int64 // of a queue
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
// is not what it was declared to be, and that this decides.
func (r *Compiled) Match(ev *slidegate.Event) (bool, error) {
	var failed error
	if len(r.match) > 0 && !slices.Contains(r.names, ev.Name) {
		ok, err := anyMatch(r.match, ev)
		if !ok && err == nil {
			return false, nil
		}
		failed = err
	}
	if len(r.except) > 0 {
		left, err := anyMatch(r.except, ev)
		if left {
			return false, nil
		}
		failed = cmp.Or(failed, err)
	}
	return failed == nil, failed
}

// Where reports whether ev, which asks to be let in, meets the condition of the
// rule, which Match does not look at, at now (microseconds since the epoch; see
// NeedsTime). Where it reads the outcome, that is whether it may yet.
func (r *Compiled) Where(ev *slidegate.Event, now int64) bool { return mayHold(r.where, ev, now) }

// mayHold reports whether a condition holds for an event, as far as can be known
// before its outcome is.
func mayHold(where *cond.Cond, ev *slidegate.Event, now int64) bool {
	switch {
	case where == nil:
		return true
	case where.NeedsOutcome():
		return where.Eval(ev, now) != cond.False
	}
	return where.Eval(ev, now) == cond.True
}

// WhereReported reports whether ev, which is reported, meets the condition of the
// rule.
func (r *Compiled) WhereReported(ev *slidegate.Event, now int64) bool {
	return r.where == nil || r.where.Eval(ev, now) == cond.True
}

// Locks reports whether some limit of the rule locks.
func (r *Compiled) Locks() bool {
	return slices.ContainsFunc(r.limits, func(l *CompiledLimit) bool { return l.Lasts != nil })
}

// NeedsTime reports whether the time of a check decides which limits hold: an
// override ends, or a condition reads the hour.
func (r *Compiled) NeedsTime() bool { return r.timed }

// Message returns what a person is told for a reason that no limit gives.
func (r *Compiled) Message() *Message { return &r.message }

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
// Where the key holds secret attributes, x hides them.
func (r *Compiled) AppendKey(b []byte, ev *slidegate.Event, x *Secrets) ([]byte, KeyResult, error) {
	b, complete, err := appendKey(b, r.key, r.missing, ev, x)
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
// for each part the one that is present, cut and normalised like the key. x hides
// secret ones; where it is nil they are shown as "(secret)".
func (r *Compiled) KeyAttrs(ev *slidegate.Event, x *Secrets) []slidegate.Attr {
	var attrs []slidegate.Attr
	for i := range r.key {
		if name, text, ok := r.key[i].show(ev, x); ok {
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

// Plain reports whether the limit applies to every event that meets its rule, and
// costs what the event says.
func (l *CompiledLimit) Plain() bool { return l.plain }

// Applies reports whether ev, which asks to be let in, meets the condition of the
// limit, at now. Of a limit that is fed by reports, that is whether it may yet: the
// condition is on what is reported.
func (l *CompiledLimit) Applies(ev *slidegate.Event, now int64) bool {
	switch {
	case l.where == nil:
		return true
	case l.Reported:
		return l.where.Eval(ev, now) != cond.False
	}
	return l.where.Eval(ev, now) == cond.True
}

// Counts reports whether a limit that is fed by reports counts ev, which is reported,
// at now; breaks says that it ends a row.
func (l *CompiledLimit) Counts(ev *slidegate.Event, now int64) (counts, breaks bool) {
	holds := cond.True
	if l.where != nil {
		holds = l.where.Eval(ev, now)
	}
	return holds == cond.True, holds == cond.False && l.text.stat == statStreak
}

// Distinct reports whether the limit counts different values.
func (l *CompiledLimit) Distinct() bool { return l.text.stat == statDistinct }

// AppendMember appends the value that a limit of distinct values counts, in the
// form of a part of a key.
func (l *CompiledLimit) AppendMember(b []byte, ev *slidegate.Event, x *Secrets) ([]byte, error) {
	if l.text.attr == "event" { // apart, so that the event need not live on the heap
		return l.member.appendText(b, ev.Name, x)
	}
	v, ok := ev.Attr(l.text.attr)
	if !ok {
		return b, fmt.Errorf("%w: attribute %s is missing; rule %s counts its values", slidegate.ErrEvent, l.text.attr, l.Rule)
	}
	return l.member.append(b, v, x)
}

// Cost returns what ev costs in this limit. An event whose cost is 0 costs 0
// everywhere. In flight any other cost is one place, and in a row one more.
func (l *CompiledLimit) Cost(ev *slidegate.Event) (int64, error) {
	cost := ev.Cost.Units()
	switch {
	case l.text.stat == statInflight, l.text.stat == statStreak:
		return min(cost, 1), nil
	case l.text.stat != statSum || cost == 0:
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

// FreesUnnamed reports whether a report that names no decision is of one of those that
// hold a place in the limit: it looks at nothing of an event but the outcome.
func (l *CompiledLimit) FreesUnnamed() bool {
	return l.Reported && l.HoldFor > 0 && len(l.where.Attrs()) == 0
}

// CheckCost returns what ev, which asks to be let in, needs room for in this limit. Of
// one that is fed by reports it is not yet known what will be counted: it needs room
// for as many hits as it costs, or for one value of any size.
func (l *CompiledLimit) CheckCost(ev *slidegate.Event) (int64, error) {
	if l.Reported && l.text.stat == statSum {
		return min(ev.Cost.Units(), 1), nil
	}
	return l.Cost(ev)
}

// Told returns what the charge of a limit for a decision comes to, as ev, which
// reports it, tells: its cost or the value of its attribute. told is false where it
// does not.
func (l *CompiledLimit) Told(ev *slidegate.Event) (amount int64, told bool, err error) {
	switch l.text.stat {
	case statCount:
		return ev.Cost.Units(), ev.Cost != slidegate.Cost{}, nil
	case statSum:
		if _, told = ev.Attr(l.text.attr); told {
			amount, err = l.Cost(ev)
		}
	}
	return amount, told, err
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
