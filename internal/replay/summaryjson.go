package replay

import (
	"encoding/json"
	"time"

	"github.com/slidegate/slidegate"
)

type jsonSummary struct {
	Events    int64      `json:"events"`
	Skipped   int64      `json:"skipped"`
	Unjudged  int64      `json:"unjudged,omitempty"`
	Late      int64      `json:"late"`
	LateMaxUS int64      `json:"late_max_us,omitempty"`
	Admitted  int64      `json:"admitted"`
	Refused   int64      `json:"refused"`
	Ceiling   int64      `json:"ceiling,omitempty"`
	Rules     []jsonRule `json:"rules"`

	Timeline  *jsonTimeline   `json:"timeline,omitempty"`
	Compare   []jsonAlgorithm `json:"compare,omitempty"`
	Candidate *jsonCandidate  `json:"candidate,omitempty"`
}

type jsonTimeline struct {
	From     time.Time `json:"from"`
	SlotUS   int64     `json:"slot_us"`
	Admitted []int64   `json:"admitted"`
	Refused  []int64   `json:"refused"`
}

type jsonAlgorithm struct {
	Algorithm string           `json:"algorithm"`
	Admitted  int64            `json:"admitted"`
	Refused   int64            `json:"refused"`
	Limits    []jsonComparison `json:"limits"`
}

type jsonComparison struct {
	Rule       string     `json:"rule"`
	Limit      string     `json:"limit"`
	Shadow     bool       `json:"shadow,omitempty"`
	Admitted   int64      `json:"admitted"`
	Refused    int64      `json:"refused"`
	Worst      *jsonWorst `json:"worst,omitempty"`
	Impossible string     `json:"not_possible,omitempty"`
}

type jsonWorst struct {
	Through json.Number       `json:"through"`
	Max     json.Number       `json:"max"`
	Over    json.Number       `json:"over"`
	Key     map[string]string `json:"key"`
	At      time.Time         `json:"at"`
	AtLeast bool              `json:"at_least,omitempty"`
}

type jsonCandidate struct {
	Events      int64        `json:"events"`
	Refused     int64        `json:"newly_refused"`
	Freed       int64        `json:"freed"`
	OtherAction int64        `json:"other_action,omitempty"`
	Unjudged    int64        `json:"unjudged,omitempty"`
	Forgets     []jsonForget `json:"forgets"`
	Rules       []jsonChange `json:"rules"`
}

type jsonForget struct {
	Rule  string `json:"rule"`
	Limit string `json:"limit"`
	Why   string `json:"why"`
}

type jsonChange struct {
	Name    string       `json:"name"`
	Added   bool         `json:"added,omitempty"`
	Removed bool         `json:"removed,omitempty"`
	Before  int64        `json:"refused_before"`
	After   int64        `json:"refused_after"`
	Refused jsonAffected `json:"newly_refused"`
	Freed   jsonAffected `json:"freed"`
}

type jsonAffected struct {
	Events   int64       `json:"events"`
	Top      []jsonCount `json:"top"`
	Capped   bool        `json:"keys_capped,omitempty"`
	Examples []string    `json:"examples"`
}

type jsonCount struct {
	Key    map[string]string `json:"key"`
	Events int64             `json:"events"`
}

type jsonRule struct {
	Name        string      `json:"name"`
	Shadow      bool        `json:"shadow,omitempty"`
	Admitted    int64       `json:"admitted"`
	Refused     int64       `json:"refused"`
	Trial       int64       `json:"shadow_refused,omitempty"`
	LetThrough  int64       `json:"let_through,omitempty"`
	Keys        int64       `json:"keys"`
	KeysRefused int64       `json:"keys_refused"`
	KeysCapped  bool        `json:"keys_capped,omitempty"`
	Top         []jsonKey   `json:"top"`
	Limits      []jsonLimit `json:"limits"`
}

type jsonKey struct {
	Key     map[string]string `json:"key"`
	Refused int64             `json:"refused"`
}

type jsonLimit struct {
	Limit      string `json:"limit"`
	Shadow     bool   `json:"shadow,omitempty"`
	Refused    int64  `json:"refused"`
	LetThrough int64  `json:"let_through,omitempty"`
}

// MarshalJSON returns the summary in its stable form. Fields may be added to
// it; none is renamed or removed.
func (s *Summary) MarshalJSON() ([]byte, error) {
	out := jsonSummary{
		Events: s.Events, Skipped: s.Skipped, Unjudged: s.Unjudged, Late: s.Late, LateMaxUS: s.LateMax.Microseconds(),
		Admitted: s.Admitted, Refused: s.Refused, Ceiling: s.Ceiling, Rules: []jsonRule{},
	}
	for _, r := range s.Rules {
		j := jsonRule{r.Name, r.Shadow, r.Admitted, r.Refused, r.ShadowRefused, r.LetThrough, r.Keys, r.KeysRefused, r.KeysCapped, []jsonKey{}, []jsonLimit{}}
		for _, k := range r.Top {
			j.Top = append(j.Top, jsonKey{keyMap(k.Key), k.Events})
		}
		for _, l := range r.Limits {
			j.Limits = append(j.Limits, jsonLimit(l))
		}
		out.Rules = append(out.Rules, j)
	}
	if t := &s.Timeline; t.Slot > 0 {
		out.Timeline = &jsonTimeline{t.From, t.Slot.Microseconds(), t.Admitted, t.Refused}
	}
	if s.Comparison != nil {
		out.Compare = s.Comparison.json()
	}
	if s.Candidate != nil {
		out.Candidate = s.Candidate.json()
	}
	return json.Marshal(out)
}

// keyMap returns a key as an object.
func keyMap(key []slidegate.Attr) map[string]string {
	m := map[string]string{}
	for _, a := range key {
		m[a.Name] = a.Value.String()
	}
	return m
}

func (c *Comparison) json() []jsonAlgorithm {
	var all []jsonAlgorithm
	for _, a := range c.Algorithms {
		j := jsonAlgorithm{a.Name, a.Admitted, a.Refused, []jsonComparison{}}
		for _, l := range a.Limits {
			lj := jsonComparison{Rule: l.Rule, Limit: l.Limit, Shadow: l.Shadow, Admitted: l.Admitted, Refused: l.Refused, Impossible: l.Impossible}
			if w := &l.Worst; w.Through > 0 {
				lj.Worst = &jsonWorst{numberOf(w.Through, l.Scale), numberOf(w.Max, l.Scale), numberOf(w.Over(), l.Scale), keyMap(w.Key), w.At, w.AtLeast}
			}
			j.Limits = append(j.Limits, lj)
		}
		all = append(all, j)
	}
	return all
}

func numberOf(units int64, scale uint8) json.Number {
	return json.Number(slidegate.FormatUnits(units, scale))
}

func (c *Candidate) json() *jsonCandidate {
	j := &jsonCandidate{
		Events: c.Events, Refused: c.Refused, Freed: c.Freed, OtherAction: c.OtherAction, Unjudged: c.Unjudged,
		Forgets: []jsonForget{}, Rules: []jsonChange{},
	}
	for _, f := range c.Forgotten {
		j.Forgets = append(j.Forgets, jsonForget(f))
	}
	for _, r := range c.Rules {
		j.Rules = append(j.Rules, jsonChange{r.Name, r.Added, r.Removed, r.Before, r.After, r.Refused.json(), r.Freed.json()})
	}
	return j
}

func (a *Affected) json() jsonAffected {
	j := jsonAffected{Events: a.Events, Top: []jsonCount{}, Capped: a.Capped, Examples: []string{}}
	for _, k := range a.Top {
		j.Top = append(j.Top, jsonCount{keyMap(k.Key), k.Events})
	}
	for _, p := range a.Examples {
		j.Examples = append(j.Examples, p.String())
	}
	return j
}
