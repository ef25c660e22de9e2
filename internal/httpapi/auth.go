package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
)

// reasonStore is the reason of a decision that its store could not make.
const reasonStore = "store"

// maxHold is how long a proxy is kept waiting for an event that queues. One that
// would wait longer is denied, and gives its place back.
const maxHold = 10 * time.Second

// auth answers a proxy that asks whether a request may go on: with 200, or with a
// status that denies. The event is in the query alone: headers come from whoever
// sent the request, and are not looked at.
func (a *api) auth(w http.ResponseWriter, r *http.Request) {
	q, err := a.authQuery(r.URL.RawQuery)
	if err != nil {
		problem(w, http.StatusBadRequest, said(err))
		return
	}
	d, err := a.gate.Check(whole(r), q.event)
	if err != nil {
		fail(w, err)
		return
	}
	a.decided(&q.event, &d)
	admitted := d.Admitted()
	if d.Action == slidegate.Queue {
		admitted = a.hold(w, r, &d)
	}
	a.authHeaders(w.Header(), &q.event, &d)
	switch {
	case admitted:
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusOK)
	case d.Reason == reasonStore:
		problem(w, http.StatusServiceUnavailable, "the state of the limits cannot be reached")
	default:
		if s := retryAfter(&d); s > 0 {
			w.Header().Set("Retry-After", strconv.FormatInt(s, 10))
		}
		problem(w, q.deny, denial(&d))
	}
}

// hold keeps a proxy waiting until it is the turn of an event that queues, and
// reports whether it is. Who goes, or would wait too long, gives his place back.
func (a *api) hold(w http.ResponseWriter, r *http.Request, d *slidegate.Decision) bool {
	if d.RetryAfter <= maxHold {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d.RetryAfter + 5*time.Second))
		t := time.NewTimer(d.RetryAfter)
		defer t.Stop()
		select {
		case <-t.C:
			return true
		case <-r.Context().Done():
		}
	}
	_, _ = a.gate.Refund(context.WithoutCancel(r.Context()), d.ID.String())
	return false
}

// retryAfter is the delay in whole seconds, rounded up; 0 when there is none to tell.
func retryAfter(d *slidegate.Decision) int64 {
	if d.Never {
		return 0
	}
	return seconds(d.RetryAfter)
}

// seconds rounds up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// denial is what the client is told.
func denial(d *slidegate.Decision) string {
	switch s := retryAfter(d); {
	case d.Message != "":
		return d.Message
	case s > 0:
		return fmt.Sprintf("too many requests; try again in %d s", s)
	default:
		return "this may not go on: " + d.Reason
	}
}

// authHeaders tells the proxy what there is to know.
func (a *api) authHeaders(h http.Header, ev *slidegate.Event, d *slidegate.Decision) {
	h.Set("Cache-Control", "no-store")
	h.Set("Slidegate-Action", d.Action.String())
	if d.Rule != "" {
		h.Set("Slidegate-Rule", d.Rule)
	}
	if d.With != "" {
		h.Set("Slidegate-With", url.PathEscape(d.With))
	}
	if id := d.ID.String(); id != "" && len(id) <= 4096 {
		h.Set("Slidegate-Id", id)
	}
	policies, states := a.rateLimit(ev, d)
	if text, err := httpsfv.Marshal(policies); err == nil && text != "" {
		h.Set("Ratelimit-Policy", text)
	}
	if text, err := httpsfv.Marshal(states); err == nil && text != "" {
		h.Set("Ratelimit", text)
	}
}

// maxPolicies is how many windows the headers tell of.
const maxPolicies = 16

// rateLimit returns the fields RateLimit-Policy and RateLimit of
// draft-ietf-httpapi-ratelimit-headers: a policy for each window that the event met,
// named by its rule, with a number behind it where the rule has several.
func (a *api) rateLimit(ev *slidegate.Event, d *slidegate.Decision) (policies, states httpsfv.List) {
	ws := d.Windows()
	several := map[string]bool{}
	for i := range ws {
		_, met := several[ws[i].Rule]
		several[ws[i].Rule] = met
	}
	place := map[string]int{}
	for i := range ws[:min(len(ws), maxPolicies)] {
		w := &ws[i]
		name := w.Rule
		if place[w.Rule]++; several[w.Rule] {
			name += "/" + strconv.Itoa(place[w.Rule])
		}
		policies = append(policies, a.policy(name, ev, w))
		states = append(states, state(name, w))
	}
	return policies, states
}

func (a *api) policy(name string, ev *slidegate.Event, w *slidegate.WindowState) httpsfv.Item {
	item := httpsfv.NewItem(name)
	item.Params.Add("q", units(w.Max, w.Scale))
	p, ok := a.paramsOf(ev, w)
	switch {
	case !ok || p.Algorithm == limit.Events:
	case p.Algorithm == limit.Inflight:
		item.Params.Add("qu", "concurrent-requests")
	case p.Size > 0 && p.Size%1e6 == 0:
		item.Params.Add("w", p.Size/1e6)
	}
	return item
}

func state(name string, w *slidegate.WindowState) httpsfv.Item {
	item := httpsfv.NewItem(name)
	item.Params.Add("r", units(w.Remaining, w.Scale))
	after := w.ResetAfter
	if w.Refused && w.RetryAfter > 0 {
		after = w.RetryAfter
	}
	if after > 0 {
		item.Params.Add("t", seconds(after))
	}
	return item
}

// paramsOf finds what a window enforces. It finds nothing where the rules changed
// since the decision.
func (a *api) paramsOf(ev *slidegate.Event, w *slidegate.WindowState) (limit.Params, bool) {
	r := a.gate.Plan().Rule(w.Rule)
	if r == nil {
		return limit.Params{}, false
	}
	active, err := r.Active(ev, time.Now().UnixMicro())
	if err != nil {
		return limit.Params{}, false
	}
	for i := range active {
		if active[i].Text == w.Limit {
			return active[i].Params, true
		}
	}
	return limit.Params{}, false
}

// units cuts the decimals off: a structured field counts whole units. It is bounded
// by what such a field holds.
func units(n int64, scale uint8) int64 {
	for range scale {
		n /= 10
	}
	return min(n, 999_999_999_999_999)
}

// authRequest is what a proxy asks.
type authRequest struct {
	event slidegate.Event
	deny  int
}

// wantEvent says how to ask. No error shows the query that was sent: a value in it
// may be a secret.
const wantEvent = "write event=NAME, attr=NAME=VALUE for each attribute, and deny=403 where it is not to be 429; in a value & is %26 and % is %25"

// authQuery reads event=NAME&attr=NAME=VALUE&deny=403. There is no parameter for a
// cost or a challenge that was met: a proxy that puts in what a client sent, as it
// is, would let the client set them.
func (a *api) authQuery(raw string) (authRequest, error) {
	q := authRequest{deny: http.StatusTooManyRequests}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return q, errors.New("the query cannot be read; " + wantEvent)
	}
	for name, values := range query {
		switch {
		case name != "event" && name != "attr" && name != "deny":
			return q, errors.New("there is a parameter that is not known; " + wantEvent)
		case name != "attr" && len(values) > 1:
			return q, fmt.Errorf("%s is given twice; %s", name, wantEvent)
		}
	}
	switch deny := query.Get("deny"); {
	case deny == "403":
		q.deny = http.StatusForbidden
	case query.Has("deny") && deny != "429":
		return q, errors.New("deny: want 403 or 429")
	}
	if query.Get("event") == "" {
		return q, errors.New("there is no event; " + wantEvent)
	}
	q.event.Name = query.Get("event")
	for _, text := range query["attr"] {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return q, errors.New("an attribute has no name; " + wantEvent)
		}
		q.event.Attrs = append(q.event.Attrs, slidegate.String(name, value))
		if len(q.event.Attrs) > a.limits.Attrs {
			break // check refuses it
		}
	}
	return q, a.limits.check(&q.event)
}
