package httpapi_test

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/slidegate/slidegate/internal/httpapi"
)

// ask asks as a proxy does, with headers, and returns the answer.
func (a *api) ask(method, query string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/v1/auth?"+query, nil)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// TestAuthRetryAfter: Retry-After is in whole seconds, rounded up.
func TestAuthRetryAfter(t *testing.T) {
	a := newAPI(t)
	a.replace(t, "{name: api, match: {event: req}, key: [k], limits: [5 per 60s]}")
	start := a.now
	for _, c := range []struct {
		at     time.Duration
		status int
		after  string
	}{
		{0, 200, ""}, {0, 200, ""}, {0, 200, ""}, {0, 200, ""}, {0, 200, ""},
		{1500 * time.Millisecond, 429, "59"}, {59999 * time.Millisecond, 429, "1"}, {60*time.Second - time.Microsecond, 429, "1"}, {60 * time.Second, 200, ""},
	} {
		a.now = start.Add(c.at)
		if resp := a.ask("GET", "event=req&attr=k=1"); resp.Code != c.status || resp.Header().Get("Retry-After") != c.after {
			t.Errorf("at %v: %d, Retry-After %q; want %d and %q", c.at, resp.Code, resp.Header().Get("Retry-After"), c.status, c.after)
		}
	}
}

// TestAuthDenies: the status that denies, and what the proxy learns.
func TestAuthDenies(t *testing.T) {
	a := newAPI(t)
	for _, c := range []struct {
		query  string
		status int
		header string // Slidegate-Action, -Rule, -With, Retry-After
		detail string
	}{
		{"event=e&attr=k=1", 200, "allow", ""},
		{"event=e&attr=k=1", 200, "allow", ""},
		{"event=e&attr=k=1", 429, "reject two  10", "Slow down, <friend>."},
		{"event=e&attr=k=1&deny=429", 429, "reject two  10", "Slow down, <friend>."},
		{"deny=403&event=e&attr=k=1", 403, "reject two  10", "Slow down, <friend>."},
		{"event=other", 200, "allow", ""},
		{"event=ban", 429, "reject ban  ", "this may not go on: limit"},
		{"event=ask", 200, "allow", ""},
		{"event=ask", 429, "challenge shy captcha ", "Prove it."},
		{"event=talk", 200, "allow", ""},
		{"event=talk", 200, "degrade brief short", ""},
		{"event=both&attr=k=1&attr=ip=192.0.2.1", 200, "allow", ""},
		{"event=both&attr=k=1&attr=ip=192.0.2.1", 429, "reject both-k  60", "too many requests; try again in 60 s"},
		{"event=try&attr=k=1", 200, "allow", ""},
		{"event=try&attr=k=1", 429, "reject tries  ", "this may not go on: limit"},
		{"event=strict", 429, "reject strict  ", "this may not go on: missing_key"},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			if method == "HEAD" && c.status == 200 {
				continue // it counts, too
			}
			resp := a.ask(method, c.query)
			h := resp.Header()
			got := strings.TrimRight(strings.Join([]string{h.Get("Slidegate-Action"), h.Get("Slidegate-Rule"), h.Get("Slidegate-With"), h.Get("Retry-After")}, " "), " ")
			if resp.Code != c.status || got != strings.TrimRight(c.header, " ") || h.Get("Cache-Control") != "no-store" {
				t.Errorf("%s %s: %d, %q; want %d, %q", method, c.query, resp.Code, got, c.status, c.header)
			}
			if c.status != 200 {
				if detail := readProblem(t, resp.Result(), c.status); detail != c.detail {
					t.Errorf("%s: %s; want %s", c.query, detail, c.detail)
				}
			} else if h.Get("Slidegate-Id") == "" || h.Get("Content-Length") != "0" {
				t.Errorf("%s: %v", c.query, h)
			}
		}
	}
}

// TestAuthRateLimit: the fields are structured fields and say what the windows say.
func TestAuthRateLimit(t *testing.T) {
	a := newAPI(t)
	a.replace(t, "{name: a, match: {event: a}, limits: [3 per 10s, 5 per 1h, 9 per 1500ms]}",
		"{name: b, match: {event: b}, limits: [2 inflight], hold: 30s}", "{name: c, match: {event: c}, limits: [1 per 3 events]}",
		"{name: d, match: {event: d}, limits: [10.5 sum(v) per 1h]}", "{name: g, match: {event: g}, limits: [{limit: 10 per 1s, algorithm: gcra, burst: 4}]}")
	for _, c := range []struct {
		after                 time.Duration
		query, policy, states string
	}{
		{0, "event=a", `"a/1";q=3;w=10, "a/2";q=5;w=3600, "a/3";q=9`, `"a/1";r=2;t=10, "a/2";r=4;t=3600, "a/3";r=8;t=2`},
		{2500 * time.Millisecond, "event=a", `"a/1";q=3;w=10, "a/2";q=5;w=3600, "a/3";q=9`, `"a/1";r=1;t=10, "a/2";r=3;t=3600, "a/3";r=8;t=2`},
		{0, "event=a", `"a/1";q=3;w=10, "a/2";q=5;w=3600, "a/3";q=9`, `"a/1";r=0;t=10, "a/2";r=2;t=3600, "a/3";r=7;t=2`},
		{0, "event=a", `"a/1";q=3;w=10, "a/2";q=5;w=3600, "a/3";q=9`, `"a/1";r=0;t=8, "a/2";r=2;t=3600, "a/3";r=7;t=2`},
		{0, "event=b", `"b";q=2;qu="concurrent-requests"`, `"b";r=1;t=30`},
		{0, "event=c", `"c";q=1`, `"c";r=0`},
		{0, "event=d&attr=v=1.25", `"d";q=10;w=3600`, `"d";r=9;t=3658`},
		{0, "event=g", `"g";q=4;w=1`, `"g";r=3;t=1`},
		{0, "event=none", ``, ``},
	} {
		a.now = a.now.Add(c.after)
		h := a.ask("GET", c.query).Header()
		if h.Get("Ratelimit-Policy") != c.policy || h.Get("Ratelimit") != c.states {
			t.Errorf("%s:\n got %s\n     %s\nwant %s\n     %s", c.query, h.Get("Ratelimit-Policy"), h.Get("Ratelimit"), c.policy, c.states)
		}
		for _, name := range []string{"RateLimit-Policy", "RateLimit"} {
			if _, err := httpsfv.UnmarshalList(h.Values(name)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestAuthQueues: a proxy is kept waiting for an event that queues; one that would
// wait too long, and one whose client goes, gives its place back.
func TestAuthQueues(t *testing.T) {
	a := newAPI(t)
	a.replace(t, "{name: line, match: {event: call}, limits: [{limit: 10 per 1s, algorithm: gcra, burst: 1, action: queue, max_wait: 1s}]}",
		"{name: slow, match: {event: slow}, limits: [{limit: 1 per 20s, algorithm: gcra, burst: 1, action: queue, max_wait: 60s}]}")
	begin := time.Now()
	for i := range 2 {
		if resp := a.ask("GET", "event=call"); resp.Code != 200 || resp.Header().Get("Slidegate-Action") != []string{"allow", "queue"}[i] {
			t.Errorf("%d: %d, %v", i, resp.Code, resp.Header())
		}
	}
	if took := time.Since(begin); took < 100*time.Millisecond {
		t.Errorf("the second went on after %v; its turn was after 100 ms", took)
	}
	for i, want := range []int{200, 429, 429} {
		if resp := a.ask("GET", "event=slow"); resp.Code != want || i > 0 && resp.Header().Get("Retry-After") != "20" {
			t.Errorf("%d: %d, %v", i, resp.Code, resp.Header())
		}
	}
	if n := a.used(t, "slow", ""); n != 1 {
		t.Errorf("%d places are taken", n)
	}
}

// TestAuthSpoofed: what headers say is not looked at.
func TestAuthSpoofed(t *testing.T) {
	a := newAPI(t)
	const query = "event=both&attr=k=1&attr=ip=192.0.2.1"
	if resp := a.ask("GET", query); resp.Code != 200 {
		t.Fatal(resp.Code)
	}
	for _, name := range []string{"X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Original-URI", "X-Forwarded-Uri", "True-Client-IP", "X-Original-Method", "X-HTTP-Method-Override", "X-Slidegate-Attr-Ip"} {
		for _, value := range []string{"198.51.100.7", "for=198.51.100.7", "/v1/auth?event=other", "DELETE"} {
			if resp := a.ask("GET", query, name+": "+value); resp.Code != 429 {
				t.Errorf("%s: %s: %d", name, value, resp.Code)
			}
		}
	}
}

// TestAuthBadQueries: what is wrong is told, charges nothing, and shows no value.
func TestAuthBadQueries(t *testing.T) {
	a := newAPI(t)
	many := strings.Repeat("&attr=x=1", httpapi.MaxAttrs)
	for query, want := range map[string]string{
		"":                                      "there is no event; write event=NAME, attr=NAME=VALUE for each attribute",
		"event=":                                "there is no event",
		"event=e&attr=k=7351&cost=0":            "there is a parameter that is not known",
		"event=e&attr=k=7351&passed=7351":       "there is a parameter that is not known",
		"event=e&event=other&attr=k=7351":       "event is given twice",
		"event=e&attr=k=7351&deny=200":          "deny: want 403 or 429",
		"event=e&attr=k=7351&deny=":             "deny: want 403 or 429",
		"event=e&attr=k=7351&deny=403&deny=429": "deny is given twice",
		"event=e&attr=7351":                     "an attribute has no name",
		"event=e&attr==7351":                    "an attribute has no name",
		"event=e&attr=k=7351&attr=k=2":          "attribute k: given twice",
		"event=e&attr=k=7351;x=2":               "the query cannot be read",
		"event=e&attr=k=%zz7351":                "the query cannot be read",
		"event=e&attr=k=1" + many:               "attrs: 101 attributes; at most 100",
		"event=e&attr=event=x":                  "taken",
		"event=pay&attr=k=1":                    "attribute v is missing",
		"event=e&attr=k=" + strings.Repeat("x", httpapi.MaxValue+1): "has 65537 bytes; at most 65536",
	} {
		if got := readProblem(t, a.ask("GET", query).Result(), 400); !strings.Contains(got, want) || strings.Contains(got, "7351") {
			t.Errorf("%.60s: %s; want %s", query, got, want)
		}
	}
	if n := a.used(t, "two", "k=7351") + a.used(t, "two", "k=1"); n != 0 {
		t.Errorf("%d were charged", n)
	}
	if resp := a.ask("GET", "event=e&attr="+url.QueryEscape("k=a&b=c%+ü")); resp.Code != 200 || a.used(t, "two", "k=a&b=c%+ü") != 1 {
		t.Error(fmt.Sprint(resp.Code))
	}
}
