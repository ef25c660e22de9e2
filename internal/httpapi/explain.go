package httpapi

import (
	"net/http"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
)

// explain answers with what a check of an event would do and why, and records
// nothing.
func (a *api) explain(w http.ResponseWriter, r *http.Request) {
	body, ok := a.readBody(w, r)
	if !ok {
		return
	}
	ev, err := a.decodeEvent(body)
	if err != nil {
		fail(w, err)
		return
	}
	x, err := a.gate.Explain(r.Context(), ev)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, explanationOf(x))
}

type explanation struct {
	Decision *slidegate.Decision `json:"decision"`
	Listed   string              `json:"listed,omitempty"`
	Rules    []ruleExplanation   `json:"rules"`
}

type ruleExplanation struct {
	Rule    string             `json:"rule"`
	Applies bool               `json:"applies"`
	Why     string             `json:"why"`
	Key     []nameText         `json:"key,omitempty"`
	Limits  []limitExplanation `json:"limits,omitempty"`
	Idle    []idleLimit        `json:"idle,omitempty"`
}

// idleLimit is a limit whose condition does not hold for the event.
type idleLimit struct {
	Limit string `json:"limit"`
	Why   string `json:"why"`
}

type limitExplanation struct {
	Action string                `json:"action"`
	Shadow bool                  `json:"shadow,omitempty"`
	Window slidegate.WindowState `json:"window"`
}

func explanationOf(x *gate.Explanation) explanation {
	out := explanation{Decision: &x.Decision, Listed: x.Listed, Rules: []ruleExplanation{}}
	for i := range x.Rules {
		r := &x.Rules[i]
		e := ruleExplanation{Rule: r.Rule, Applies: r.Applies, Why: r.Why}
		for j := range r.Limits {
			l := &r.Limits[j]
			e.Limits = append(e.Limits, limitExplanation{l.Action.String(), l.Shadow, l.Window})
		}
		e.Key = texts(r.Key)
		for _, l := range r.Idle {
			e.Idle = append(e.Idle, idleLimit(l))
		}
		out.Rules = append(out.Rules, e)
	}
	return out
}

type ruleInfo struct {
	Rule   string      `json:"rule"`
	Key    []string    `json:"key,omitempty"`
	Shadow bool        `json:"shadow,omitempty"`
	Limits []limitInfo `json:"limits"`
}

type limitInfo struct {
	Limit     string `json:"limit"`
	Algorithm string `json:"algorithm"`
	Action    string `json:"action"`
	With      string `json:"with,omitempty"`
	Shadow    bool   `json:"shadow,omitempty"`
}

// rules answers with the rules that are in force, in their order.
func (a *api) rules(w http.ResponseWriter, _ *http.Request) {
	out := struct {
		Rules []ruleInfo `json:"rules"`
	}{[]ruleInfo{}}
	for _, r := range a.gate.Plan().Rules() {
		info := ruleInfo{Rule: r.Name, Key: r.Key(), Shadow: r.Shadow, Limits: []limitInfo{}}
		for _, l := range r.All() {
			info.Limits = append(info.Limits, limitInfo{l.Text, l.Params.Algorithm.String(), l.Action.String(), l.With, l.Shadow})
		}
		out.Rules = append(out.Rules, info)
	}
	answer(w, out)
}
