package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
)

// topKeys is how many keys /v1/top names.
const topKeys = 100

// topAnswer is what /v1/top says, and what the command top reads.
type topAnswer struct {
	Since time.Time          `json:"since"`
	Now   time.Time          `json:"now"`
	Rules []topRule          `json:"rules"`
	Keys  []topKey           `json:"keys"`
	Locks int                `json:"locks"`
	Store map[string]float64 `json:"store"`
}

type topRule struct {
	Rule    string           `json:"rule"`
	Actions map[string]int64 `json:"actions"`
}

type topKey struct {
	Rule    string    `json:"rule"`
	Key     []keyPart `json:"key,omitempty"`
	Refused int64     `json:"refused"`
	Over    int64     `json:"over,omitempty"`
	Last    time.Time `json:"last"`
}

// keyPart is a part of a key.
type keyPart struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// shownKey writes a key for people.
func shownKey(parts []keyPart) string {
	words := make([]string, len(parts))
	for i, p := range parts {
		words[i] = p.Name + "=" + printable(p.Value)
	}
	return strings.Join(words, " ")
}

// top says what is going on.
func (d *daemon) top(ctx context.Context) (any, error) {
	locks, err := d.gate.Locks(ctx)
	if err != nil {
		return nil, err
	}
	s := d.busy.Snapshot(topKeys)
	now := d.gate.Time().UTC()
	out := topAnswer{Since: d.started.UTC(), Now: now, Rules: []topRule{}, Keys: []topKey{}}
	for _, r := range s.Rules {
		out.Rules = append(out.Rules, topRule{r.Name, r.Actions})
	}
	for _, k := range s.Keys {
		t := topKey{Rule: k.Rule, Refused: k.Refused, Over: k.Over, Last: k.Last.UTC()}
		for _, a := range k.Key {
			t.Key = append(t.Key, keyPart{a.Name, a.Value.String()})
		}
		out.Keys = append(out.Keys, t)
	}
	for i := range locks {
		if locks[i].Holds(now) {
			out.Locks++
		}
	}
	st, sk := d.memory.Stats(), d.memory.Sketch()
	out.Store = map[string]float64{
		"keys": float64(st.Keys), "bytes": float64(st.Bytes), "max_keys": float64(d.c.Memory.MaxKeys), "max_bytes": float64(d.c.Memory.MaxBytes),
		"full": float64(st.Full), "sketch_bytes": float64(sk.Bytes), "sketch_hits": float64(sk.Hits), "sketch_wrong": sk.Wrong,
	}
	return out, nil
}

// watched counts a decision for /v1/top.
func (d *daemon) watched(ev *slidegate.Event, dec *slidegate.Decision) {
	d.busy.Decided(dec, d.gate.Time(), func() []slidegate.Attr { return d.gate.Key(dec.Rule, ev) })
}

// unlocked logs that a lock was to be lifted.
func (d *daemon) unlocked(r *http.Request, rule, reason string, held bool) {
	d.log.Warn("unlocked", "rule", rule, "reason", reason, "held", held, "from", remote(r))
}
