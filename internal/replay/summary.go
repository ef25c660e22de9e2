package replay

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

const (
	// topKeys is how many of the most refused keys a summary names.
	topKeys = 10
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
	// too count in ShadowRefused instead.
	Admitted, Refused, ShadowRefused int64
	// Keys counts different keys; KeysRefused those that were ever refused.
	// KeysCapped: there were more keys than are counted.
	Keys, KeysRefused int64
	KeysCapped        bool
	// Top are the most refused keys.
	Top []KeySummary
	// Limits are the limits of the rule, then those of overrides that refused.
	Limits []LimitSummary
	// Busiest is the second with the most events, and their number.
	Busiest      time.Time
	BusiestCount int64

	seed     maphash.Seed
	keys     map[uint64]int64            // refusals by hash of the key
	names    map[uint64][]slidegate.Attr // of refused keys
	maxKeys  int                         // of keys
	maxNames int                         // of names
	second   int64
	inside   int64
	scratch  []byte
}

// LimitSummary is one limit and how many events it had no room for. An event
// for which several limits had none counts in each.
type LimitSummary struct {
	Limit   string
	Shadow  bool
	Refused int64
}

// KeySummary is one key and how often it was refused.
type KeySummary struct {
	Key     []slidegate.Attr
	Refused int64
}

func newSummary(plan *rule.Plan) *Summary {
	s := &Summary{Names: map[string]int64{}}
	for _, r := range plan.Rules() {
		shadow := true
		var limits []LimitSummary
		for _, l := range r.All() {
			shadow = shadow && l.Shadow
			limits = append(limits, LimitSummary{Limit: l.Text, Shadow: l.Shadow})
		}
		s.Rules = append(s.Rules, &RuleSummary{
			Name: r.Name, Shadow: shadow, Limits: limits, maxKeys: maxKeys, maxNames: maxNames, seed: maphash.MakeSeed(),
			keys: map[uint64]int64{}, names: map[uint64][]slidegate.Attr{},
		})
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
	if d.Reason == slidegate.ReasonCeiling {
		s.Ceiling++
	}
	for i, r := range plan.Rules() {
		if ok, err := r.Match(ev); err != nil || !ok {
			continue
		}
		s.Rules[i].add(r, ev, d, now)
	}
}

func (s *RuleSummary) add(r *rule.Compiled, ev *slidegate.Event, d *slidegate.Decision, now int64) {
	key, found, err := r.AppendKey(s.scratch[:0], ev)
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
	trial := s.refusedBy(d.Shadow(), true)
	refused := s.refusedBy(d.Windows(), false) || found == rule.KeyReject || s.Shadow && trial
	if trial && !s.Shadow {
		s.ShadowRefused++
	}
	if refused {
		s.Refused++
	} else {
		s.Admitted++
	}
	if found == rule.KeyFound {
		s.count(maphash.Bytes(s.seed, key), r, ev, refused)
	}
}

// refusedBy counts the windows of the rule that had no room, and reports
// whether there were any.
func (s *RuleSummary) refusedBy(ws []slidegate.WindowState, shadow bool) bool {
	refused := false
	for i := range ws {
		if w := &ws[i]; w.Refused && w.Rule == s.Name {
			refused = true
			s.countLimit(w.Limit, shadow)
		}
	}
	return refused
}

func (s *RuleSummary) countLimit(text string, shadow bool) {
	at := slices.IndexFunc(s.Limits, func(l LimitSummary) bool { return l.Limit == text && l.Shadow == shadow })
	if at < 0 && len(s.Limits) < maxLimits {
		at = len(s.Limits)
		s.Limits = append(s.Limits, LimitSummary{Limit: text, Shadow: shadow})
	}
	if at >= 0 {
		s.Limits[at].Refused++
	}
}

// Mixed reports whether the rule has shadow limits beside others.
func (s *RuleSummary) Mixed() bool {
	return !s.Shadow && slices.ContainsFunc(s.Limits, func(l LimitSummary) bool { return l.Shadow })
}

func (s *RuleSummary) count(h uint64, r *rule.Compiled, ev *slidegate.Event, refused bool) {
	n, known := s.keys[h]
	if !known {
		if len(s.keys) >= s.maxKeys {
			s.KeysCapped = true
			return
		}
		s.Keys++
		s.keys[h] = 0
	}
	if !refused {
		return
	}
	s.keys[h] = n + 1
	if n > 0 {
		return
	}
	s.KeysRefused++
	if len(s.names) < s.maxNames {
		s.names[h] = r.KeyAttrs(ev)
	}
}

// top returns the keys that were refused most often.
func (s *RuleSummary) top() []KeySummary {
	hashes := slices.Collect(maps.Keys(s.names))
	text := func(h uint64) string {
		var b []byte
		for _, a := range s.names[h] {
			b = append(a.Value.AppendText(b), 0)
		}
		return string(b)
	}
	slices.SortFunc(hashes, func(a, b uint64) int {
		if c := cmp.Compare(s.keys[b], s.keys[a]); c != 0 {
			return c
		}
		return cmp.Compare(text(a), text(b))
	})
	var top []KeySummary
	for _, h := range hashes[:min(topKeys, len(hashes))] {
		top = append(top, KeySummary{Key: s.names[h], Refused: s.keys[h]})
	}
	return top
}

// Finish computes what is only known at the end: the top keys.
func (s *Summary) Finish() {
	for _, r := range s.Rules {
		r.Top = r.top()
	}
}
