package replay

import (
	"crypto/rand"
	"hash/maphash"
	"slices"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

const (
	// maxNames bounds the refused keys of a rule whose names are remembered.
	maxNames = 100_000
	// maxKeys bounds the keys of a rule that are counted one by one.
	maxKeys = 5_000_000
	// maxEventNames bounds the names of events that are remembered, and
	// maxLimits the limits of a rule, with those of its overrides.
	maxEventNames, maxLimits = 100, 1000
)

// Summary says what became of the events of a log.
type Summary struct {
	// Events counts the events that were judged, Skipped the lines and events
	// that were not. Unjudged counts those of the latter that were understood,
	// but that the rules could not read.
	Events, Skipped, Unjudged int64
	// Late counts the events that were older than the newest before them;
	// LateMax is by how much at most.
	Late    int64
	LateMax time.Duration
	// Admitted and Refused count verdicts; Ceiling those that were refused
	// because the engine held as many keys as it may, by no rule.
	Admitted, Refused, Ceiling int64
	// First and Last are the times of the first and the last verdict.
	First, Last time.Time
	// Names are the names of the events that were judged, as far as there are
	// not too many.
	Names map[string]int64
	// Rules are those of the plan, in order.
	Rules []*RuleSummary
	// Timeline counts the verdicts over time.
	Timeline Timeline
	// Comparison and Candidate are what was judged beside the rules, or nil.
	Comparison *Comparison
	Candidate  *Candidate

	byRule  map[*rule.Compiled]*RuleSummary
	met     []rule.Met    // scratch
	secrets *rule.Secrets // names secret keys
}

// RuleSummary says what one rule did.
type RuleSummary struct {
	// Name is the rule's name. Shadow: it, or all its limits, refused nothing,
	// and Refused says what it would have.
	Name   string
	Shadow bool
	// Admitted and Refused count the events that met the rule: those that had
	// room in all its windows, and those that had not. An event that another
	// rule refused is in Admitted. The shadow limits of a rule that has others
	// too count in ShadowRefused instead. LetThrough counts those of Admitted that
	// were over a limit which degrades, or whose challenge was passed.
	Admitted, Refused, ShadowRefused, LetThrough int64
	// Keys counts different keys; KeysRefused those that were ever refused.
	// KeysCapped: there were more keys than are counted.
	Keys, KeysRefused int64
	KeysCapped        bool
	// Top are the most refused keys.
	Top []KeyCount
	// Limits are the limits of the rule, then those of overrides that refused.
	Limits []LimitSummary
	// Busiest is the second with the most events, and their number.
	Busiest      time.Time
	BusiestCount int64

	seed    maphash.Seed
	tally   *tally // of refusals
	second  int64
	inside  int64
	scratch []byte
}

// LimitSummary is one limit, and how many of the events that it had no room for it
// refused and let through. An event for which several limits had none counts in
// each.
type LimitSummary struct {
	Limit               string
	Shadow              bool
	Refused, LetThrough int64
}

func newSummary(plan *rule.Plan) *Summary {
	s := &Summary{Names: map[string]int64{}, byRule: map[*rule.Compiled]*RuleSummary{}, secrets: randomSecrets()}
	for _, r := range plan.Rules() {
		shadow := true
		var limits []LimitSummary
		for _, l := range r.All() {
			shadow = shadow && l.Shadow
			limits = append(limits, LimitSummary{Limit: l.Text, Shadow: l.Shadow})
		}
		s.Rules = append(s.Rules, &RuleSummary{
			Name: r.Name, Shadow: shadow, Limits: limits, seed: maphash.MakeSeed(), tally: newTally(maxKeys, maxNames),
		})
		s.byRule[r] = s.Rules[len(s.Rules)-1]
	}
	return s
}

// randomSecrets hides secret values under a key that is not kept: names of keys in
// a summary can be told apart, and compared with those of no other run.
func randomSecrets() *rule.Secrets {
	key := make([]byte, rule.MinSecretKey)
	_, _ = rand.Read(key) // never fails
	s, err := rule.NewSecrets(key)
	if err != nil {
		panic(err) // unreachable: the key is long enough
	}
	return s
}

// add counts one decision, made at now (microseconds since the epoch).
func (s *Summary) add(plan *rule.Plan, ev *slidegate.Event, d *slidegate.Decision, now int64) {
	s.Last = time.UnixMicro(now).UTC()
	if s.Events == 0 {
		s.First = s.Last
	}
	s.Events++
	if _, known := s.Names[ev.Name]; known || len(s.Names) < maxEventNames {
		s.Names[ev.Name]++
	}
	if d.Admitted() {
		s.Admitted++
	} else {
		s.Refused++
	}
	s.Timeline.add(now, d.Admitted())
	if d.Reason == slidegate.ReasonCeiling {
		s.Ceiling++
	}
	if listed, err := plan.Listed(ev); listed != rule.Unlisted || err != nil {
		return
	}
	var err error
	if s.met, err = plan.Meet(s.met[:0], ev, now, s.secrets, false); err != nil {
		return // unreachable: the engine would have refused the event
	}
	for i := range s.met {
		if m := &s.met[i]; m.Applies {
			s.byRule[m.Rule].add(m.Rule, ev, d, now, s.secrets)
		}
	}
}

func (s *RuleSummary) add(r *rule.Compiled, ev *slidegate.Event, d *slidegate.Decision, now int64, x *rule.Secrets) {
	key, found, err := r.AppendKey(s.scratch[:0], ev, x)
	s.scratch = key
	if err != nil || found == rule.KeySkip {
		return
	}
	if second := now / 1e6; second != s.second {
		s.second, s.inside = second, 0
	}
	if s.inside++; s.inside > s.BusiestCount {
		s.BusiestCount, s.Busiest = s.inside, time.Unix(s.second, 0).UTC()
	}
	trial, _ := s.overs(d.Shadow(), true)
	refused, through := s.overs(d.Windows(), false)
	refused = refused || found == rule.KeyReject || s.Shadow && trial
	if trial && !s.Shadow {
		s.ShadowRefused++
	}
	if refused {
		s.Refused++
	} else {
		s.Admitted++
	}
	if through && !refused {
		s.LetThrough++
	}
	if found == rule.KeyFound {
		s.tally.add(maphash.Bytes(s.seed, key), refused, func() []slidegate.Attr { return r.KeyAttrs(ev, x) })
	}
}

// overs counts the windows of the rule that had no room, and reports whether any
// of them refused, and whether any let the event through.
func (s *RuleSummary) overs(ws []slidegate.WindowState, shadow bool) (refused, through bool) {
	for i := range ws {
		w := &ws[i]
		if !w.Refused || w.Rule != s.Name {
			continue
		}
		l := s.limit(w.Limit, shadow)
		if w.Yielded {
			through = true
			l.LetThrough++
		} else {
			refused = true
			l.Refused++
		}
	}
	return refused, through
}

// limit returns the summary of a limit: of none that is kept, where there are too
// many.
func (s *RuleSummary) limit(text string, shadow bool) *LimitSummary {
	at := slices.IndexFunc(s.Limits, func(l LimitSummary) bool { return l.Limit == text && l.Shadow == shadow })
	switch {
	case at >= 0:
		return &s.Limits[at]
	case len(s.Limits) >= maxLimits:
		return &LimitSummary{}
	}
	s.Limits = append(s.Limits, LimitSummary{Limit: text, Shadow: shadow})
	return &s.Limits[len(s.Limits)-1]
}

// Mixed reports whether the rule has shadow limits beside others.
func (s *RuleSummary) Mixed() bool {
	return !s.Shadow && slices.ContainsFunc(s.Limits, func(l LimitSummary) bool { return l.Shadow })
}

// Finish computes what is only known at the end: the numbers of keys and the top of
// them, and how fine the timeline can be.
func (s *Summary) Finish() {
	s.Timeline.finish()
	for _, r := range s.Rules {
		r.Top, r.Keys, r.KeysRefused, r.KeysCapped = r.tally.top(), int64(len(r.tally.counts)), r.tally.counted, r.tally.capped
	}
}
