package replay

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
)

// Comparison judges a log by several algorithms beside each other. For each of
// them the limits that count or sum over a sliding window of time are changed to
// it, in an engine of their own; all other limits stay as they are. Make it with
// [NewComparison].
type Comparison struct {
	// Algorithms are what became of the events by each algorithm, in the order in
	// which they were named.
	Algorithms []*AlgorithmSummary

	seed    maphash.Seed
	secrets *rule.Secrets
	keys    []eventKey // of the event that is being judged, by the place of the rule
	room    int
}

// AlgorithmSummary says what one algorithm did.
type AlgorithmSummary struct {
	// Name is the algorithm, as rule files have it.
	Name string
	// Admitted and Refused count verdicts over all rules.
	Admitted, Refused int64
	// Limits are those that were changed to it, or would have been.
	Limits []*LimitComparison

	plan   *rule.Plan
	gate   *gate.Gate
	places map[string]int     // of rules, by their names
	byID   []*LimitComparison // nil for those that are not compared
}

// LimitComparison is one limit under one algorithm.
type LimitComparison struct {
	// Rule and Limit name it; Shadow says that it is on trial.
	Rule, Limit string
	Shadow      bool
	// Admitted counts the events that it had room for, Refused those for which
	// it had none.
	Admitted, Refused int64
	// Worst is the window in which it let through the most.
	Worst WorstWindow
	// Scale is the number of decimals of what it counts.
	Scale uint8
	// Impossible says why the limit cannot be of this algorithm. Then it was
	// judged as it is written.
	Impossible string

	tracker *worstTracker
}

// eventKey is the key of an event in one rule.
type eventKey struct {
	known bool
	hash  uint64
	bytes []byte
}

// NewComparison prepares a comparison of algorithms on a set of rules that
// compiles. gcra gets the maximum of each limit as its burst. A limit that is of
// the algorithm already stays as it is written.
func NewComparison(set *rule.Set, algorithms []string) (*Comparison, error) {
	if len(algorithms) == 0 {
		return nil, errors.New("no algorithm to compare")
	}
	base, _, err := rule.Compile(set)
	if err != nil {
		return nil, err
	}
	c := &Comparison{seed: maphash.MakeSeed(), secrets: randomSecrets(), keys: make([]eventKey, len(base.Rules())), room: maxHits}
	for i, name := range algorithms {
		if err := nameable(name); err != nil {
			return nil, err
		}
		if slices.Contains(algorithms[:i], name) {
			return nil, fmt.Errorf("algorithm %s is named twice", name)
		}
		a, err := c.newAlgorithm(set, base, name)
		if err != nil {
			return nil, fmt.Errorf("algorithm %s: %w", name, err)
		}
		c.Algorithms = append(c.Algorithms, a)
	}
	return c, nil
}

// nameable returns an error unless rule files may name the algorithm. What they
// may name is asked of those who know.
func nameable(name string) error {
	_, _, err := rule.Compile(&rule.Set{Rules: []rule.Rule{{Name: "r", Limits: []rule.Limit{{Limit: "1 per 1s", Algorithm: name}}}}})
	var errs rule.Errors
	if name == "" || !errors.As(err, &errs) {
		if name == "" {
			return errors.New("an algorithm without a name")
		}
		return nil
	}
	for _, e := range errs {
		if strings.HasSuffix(e.Path, ".algorithm") {
			return fmt.Errorf("%s: %s", printable(name, 40), e.Msg)
		}
	}
	return nil // something else is missing, such as a burst
}

func (c *Comparison) newAlgorithm(set *rule.Set, base *rule.Plan, name string) (*AlgorithmSummary, error) {
	v := newVariant(set, base, name)
	plan, err := v.compile()
	if err != nil {
		return nil, err
	}
	a := &AlgorithmSummary{Name: name, plan: plan, places: map[string]int{}, byID: make([]*LimitComparison, plan.Limits())}
	for i, r := range plan.Rules() {
		a.places[r.Name] = i
		for j, l := range r.All() {
			if !v.compared[i][j] {
				continue
			}
			lc := &LimitComparison{Rule: r.Name, Limit: l.Text, Shadow: l.Shadow, Scale: l.Scale, Impossible: v.why[i][j]}
			if lc.Impossible == "" {
				lc.tracker = newWorstTracker(l.Params.Size, &c.room)
				a.byID[l.ID] = lc
			}
			a.Limits = append(a.Limits, lc)
		}
	}
	return a, nil
}

// variant is a set of rules whose limits are changed to one algorithm.
type variant struct {
	original, set *rule.Set
	// compared says of each limit that it can be of such an algorithm at all, why
	// that it cannot be of this one.
	compared [][]bool
	why      [][]string
}

func newVariant(set *rule.Set, base *rule.Plan, name string) *variant {
	changed := *set
	changed.Rules = slices.Clone(set.Rules)
	v := &variant{original: set, set: &changed}
	for i := range changed.Rules {
		limits := slices.Clone(changed.Rules[i].Limits)
		changed.Rules[i].Limits = limits
		v.compared = append(v.compared, make([]bool, len(limits)))
		v.why = append(v.why, make([]string, len(limits)))
		for j, active := range base.Rules()[i].All() {
			now := active.Params.Algorithm.String()
			if nameable(now) != nil {
				continue // it is over something else than a sliding window of time
			}
			v.compared[i][j] = true
			if now == name {
				continue
			}
			limits[j].Algorithm, limits[j].Burst, limits[j].Buckets = name, nil, nil
			if name == "gcra" {
				burst := max(active.Params.Max, 1) // of a ban there is no burst that is right
				limits[j].Burst = &burst
			}
		}
	}
	return v
}

// compile compiles the set. What cannot be of the algorithm becomes again what it
// was.
func (v *variant) compile() (*rule.Plan, error) {
	for {
		plan, _, err := rule.Compile(v.set)
		if err == nil {
			return plan, nil
		}
		var errs rule.Errors
		if !errors.As(err, &errs) || !v.giveUp(errs) {
			return nil, err
		}
	}
}

var rePath = regexp.MustCompile(`^rules\[(\d+)\]\.(?:limits\[(\d+)\])?`)

// giveUp gives up what has an error, and reports whether that was anything. Of
// an override it is not known which limit it is about, so all of its rule are.
func (v *variant) giveUp(errs rule.Errors) (some bool) {
	for _, e := range errs {
		m := rePath.FindStringSubmatch(e.Path)
		if m == nil {
			continue
		}
		i, _ := strconv.Atoi(m[1])
		for j := range v.why[i] {
			if m[2] != "" && m[2] != strconv.Itoa(j) || !v.compared[i][j] || v.why[i][j] != "" {
				continue
			}
			v.why[i][j], some = e.Msg, true
			v.set.Rules[i].Limits[j] = v.original.Rules[i].Limits[j]
		}
	}
	return some
}

// begin makes the engines, which read clock.
func (c *Comparison) begin(clock *atomic.Int64) error {
	for _, a := range c.Algorithms {
		g, err := newEngine(a.plan, clock)
		if err != nil {
			return err
		}
		a.gate = g
	}
	return nil
}

// judge judges one event by each algorithm.
func (c *Comparison) judge(ctx context.Context, _ *Record, ev *slidegate.Event, now int64, _ *slidegate.Decision) error {
	for i := range c.keys {
		c.keys[i].known = false
	}
	for _, a := range c.Algorithms {
		d, err := attempt(ctx, a.gate, ev)
		if err != nil {
			return err
		}
		if d.Admitted() {
			a.Admitted++
		} else {
			a.Refused++
		}
		m := meeting{ev: ev, now: now, admitted: d.Admitted()}
		if err := errors.Join(c.addWindows(a, &m, d.Windows(), false), c.addWindows(a, &m, d.Shadow(), true)); err != nil {
			return err
		}
	}
	return nil
}

// meeting is an event that met rules, and what became of it.
type meeting struct {
	ev       *slidegate.Event
	now      int64
	admitted bool
}

// addWindows counts the windows that an event met, those of limits on trial or
// the others: rule by rule, each in the order of its limits, of which not all need
// be among them.
func (c *Comparison) addWindows(a *AlgorithmSummary, m *meeting, ws []slidegate.WindowState, shadow bool) error {
	var place int
	var active []rule.Active
	for i := range ws {
		w := &ws[i]
		if i == 0 || w.Rule != ws[i-1].Rule {
			var err error
			place = a.places[w.Rule]
			if active, err = a.plan.Rules()[place].Active(m.ev, m.now); err != nil {
				return err
			}
		}
		at := slices.IndexFunc(active, func(l rule.Active) bool { return l.Text == w.Limit && l.Shadow == shadow })
		if at < 0 {
			continue // unreachable: the engine judged by these
		}
		if err := c.addWindow(a, m, w, place, &active[at]); err != nil {
			return err
		}
		active = active[at+1:]
	}
	return nil
}

// addWindow counts one window, of the limit l of the rule at place.
func (c *Comparison) addWindow(a *AlgorithmSummary, m *meeting, w *slidegate.WindowState, place int, l *rule.Active) error {
	lc := a.byID[l.ID]
	switch {
	case lc == nil:
		return nil
	case w.Refused:
		lc.Refused++
		return nil
	}
	lc.Admitted++
	cost, err := l.Cost(m.ev)
	if err != nil || cost == 0 || !m.admitted {
		return err
	}
	r := a.plan.Rules()[place]
	hash, err := c.keyOf(place, r, m.ev)
	if err != nil {
		return err
	}
	if lc.tracker.add(hash, m.now, cost, l.Params.Max) {
		lc.tracker.worst.Key = r.KeyAttrs(m.ev, c.secrets)
	}
	return nil
}

// keyOf returns the hash of the key that ev has in a rule, computed once for all
// algorithms, which have the same keys.
func (c *Comparison) keyOf(place int, r *rule.Compiled, ev *slidegate.Event) (uint64, error) {
	k := &c.keys[place]
	if k.known {
		return k.hash, nil
	}
	var err error
	if k.bytes, _, err = r.AppendKey(k.bytes[:0], ev, c.secrets); err != nil {
		return 0, err
	}
	k.hash, k.known = maphash.Bytes(c.seed, k.bytes), true
	return k.hash, nil
}

// end ends the comparison.
func (c *Comparison) end(s *Summary) {
	for _, a := range c.Algorithms {
		for _, l := range a.Limits {
			if l.tracker != nil {
				l.Worst, l.tracker = l.tracker.worst, nil
			}
		}
		if a.gate != nil {
			_ = a.gate.Close() // in memory: never fails
		}
	}
	s.Comparison = c
}

// newEngine returns an engine whose clock is the time of the log.
func newEngine(plan *rule.Plan, clock *atomic.Int64) (*gate.Gate, error) {
	return gate.New(plan, gate.Options{Now: clockOf(clock), Memory: store.MemoryOptions{SweepEvery: -1}})
}
