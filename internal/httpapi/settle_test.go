package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/internal/httpapi"
	"github.com/slidegate/slidegate/store"
)

// call sends a request and returns the status and the body.
func (a *api) call(method, target, body string) (int, string) {
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w.Code, strings.TrimSuffix(w.Body.String(), "\n")
}

// idOf checks an event and returns the id of the decision.
func (a *api) idOf(t testing.TB, event string) string {
	t.Helper()
	code, body := a.call("POST", "/v1/check", event)
	var d struct {
		ID       string
		Admitted bool
	}
	if err := json.Unmarshal([]byte(body), &d); err != nil || code != http.StatusOK || !d.Admitted || d.ID == "" {
		t.Fatalf("%s: %d, %s, %v", event, code, body, err)
	}
	return d.ID
}

// wants calls and compares the answer.
func (a *api) wants(t testing.TB, method, target, body, want string) {
	t.Helper()
	if code, got := a.call(method, target, body); code != http.StatusOK || got != want {
		t.Errorf("%s %s %s: %d\n got %s\nwant %s", method, target, body, code, got, want)
	}
}

func named(id string) string { return `{"id":"` + id + `"}` }

func TestRefund(t *testing.T) {
	a := newAPI(t)
	id := a.idOf(t, `{"event":"both","attrs":{"k":"1","ip":"192.0.2.1"}}`)
	a.wants(t, "POST", "/v1/refund", named(id), `{"refunded":true}`)
	a.wants(t, "POST", "/v1/refund", named(id), `{"refunded":false}`)
	a.wants(t, "POST", "/v1/release", named(id), `{"released":false}`)
	a.idOf(t, `{"event":"both","attrs":{"k":"1","ip":"192.0.2.1"}}`)
}

func TestReleaseAndRenew(t *testing.T) {
	a := newAPI(t)
	const job = `{"event":"job","attrs":{"k":"1"}}`
	first, second := a.idOf(t, job), a.idOf(t, job)
	a.now = a.now.Add(20 * time.Second)
	code, body := a.call("POST", "/v1/renew", named(second))
	var next struct {
		ID      string
		Renewed bool
	}
	if err := json.Unmarshal([]byte(body), &next); err != nil || code != http.StatusOK || !next.Renewed || next.ID == second {
		t.Fatalf("renew: %d, %s, %v", code, body, err)
	}
	a.wants(t, "POST", "/v1/release", named(second), `{"released":false}`)
	a.wants(t, "GET", "/v1/windows/jobs?key=k=1", "", `{"rule":"jobs","windows":[{"rule":"jobs","limit":"2 inflight","used":2,"max":2,"remaining":0,"reset_after_us":30000000}]}`)
	a.now = a.now.Add(10 * time.Second)
	a.wants(t, "POST", "/v1/release", named(first), `{"released":false}`) // its hold is over
	a.wants(t, "POST", "/v1/release", named(next.ID), `{"released":true}`)
	a.wants(t, "POST", "/v1/release", named(next.ID), `{"released":false}`)
	a.wants(t, "GET", "/v1/windows/jobs?key=k=1", "", `{"rule":"jobs","windows":[{"rule":"jobs","limit":"2 inflight","used":0,"max":2,"remaining":2}]}`)
}

// TestIDGivenTwice: a body that names a decision is read as strictly as an
// event: a member given twice, or spelled otherwise, is an error, and nothing is
// given back.
func TestIDGivenTwice(t *testing.T) {
	a := newAPI(t)
	for _, form := range []string{`{"id":%q,"id":%q}`, `{"id":%q,"ID":%q}`, `{"ID":%q,"Id":%q}`} {
		one, two := a.idOf(t, `{"event":"job","attrs":{"k":"1"}}`), a.idOf(t, `{"event":"job","attrs":{"k":"2"}}`)
		if code, body := a.call("POST", "/v1/release", fmt.Sprintf(form, one, two)); code != http.StatusBadRequest {
			t.Errorf("%s: %d, %s", form, code, body)
		}
		a.call("POST", "/v1/release", named(one))
		a.call("POST", "/v1/release", named(two))
	}
}

// TestLongID: a body that names a decision may be as long as any, so a decision over
// thousands of windows can be given back, too.
func TestLongID(t *testing.T) {
	limits := strings.TrimSuffix(strings.Repeat("1000 per 1h, ", 1000), ", ")
	a := serving(t, "rules: [{name: a, limits: ["+limits+"]}, {name: b, limits: ["+limits+"]}]\n")
	if code, body := a.call("POST", "/v1/refund", named(a.idOf(t, `{"event":"e"}`))); code != http.StatusOK || body != `{"refunded":true}` {
		t.Errorf("%d, %.200s", code, body)
	}
}

func TestWindows(t *testing.T) {
	a := newAPI(t)
	a.check(t, `{"event":"both","attrs":{"k":"a=b&c 号","ip":"192.0.2.1"}}`)
	const target = "/v1/windows/both-k?key=k%3Da%3Db%26c+%E5%8F%B7"
	a.wants(t, "GET", target, "", `{"rule":"both-k","windows":[{"rule":"both-k","limit":"1 per 60s","used":1,"max":1,"remaining":0,"reset_after_us":60000000},`+
		`{"rule":"both-k","limit":"3 per 24h","used":1,"max":3,"remaining":2,"reset_after_us":86400000000}]}`)
	a.wants(t, "DELETE", target, "", `{"rule":"both-k","reset":true}`)
	a.wants(t, "GET", target, "", `{"rule":"both-k","windows":[{"rule":"both-k","limit":"1 per 60s","used":0,"max":1,"remaining":1},{"rule":"both-k","limit":"3 per 24h","used":0,"max":3,"remaining":3}]}`)
	a.wants(t, "GET", "/v1/windows/ban", "", `{"rule":"ban","windows":[{"rule":"ban","limit":"0 per 1m","used":0,"max":0,"remaining":0}]}`)
}

// TestWrongCalls: what is wrong is named, and changes nothing.
func TestWrongCalls(t *testing.T) {
	a := newAPI(t)
	id := a.idOf(t, `{"event":"job","attrs":{"k":"1"}}`)
	for _, c := range []struct {
		method, target, body string
		code                 int
		want                 string
	}{
		{"POST", "/v1/refund", "", 400, "the body is empty; send"},
		{"POST", "/v1/refund", " \n", 400, "the body is empty; send"},
		{"POST", "/v1/refund", "{}", 400, "with the id of a decision: it has no id"},
		{"POST", "/v1/refund", `{"id":""}`, 400, "id: want a text that is not empty"},
		{"POST", "/v1/refund", `{"id":null}`, 400, "id: want a text that is not empty"},
		{"POST", "/v1/refund", `{"id":7}`, 400, "id: want a text that is not empty"},
		{"POST", "/v1/refund", `{"id":"` + id + `","force":true}`, 400, `unknown field \"force\"`},
		{"POST", "/v1/refund", named(id) + named(id), 400, "with the id of a decision: something follows it"},
		{"POST", "/v1/refund", `["` + id + `"]`, 400, "want an object"},
		{"POST", "/v1/refund", `"` + id + `"`, 400, "want an object"},
		{"POST", "/v1/refund", id, 400, "the JSON goes wrong at byte 1: "},
		{"POST", "/v1/refund", `{"id":"` + id, 400, "the JSON ends too early"},
		{"POST", "/v1/refund", `{"id":"` + id + `",}`, 400, "the JSON goes wrong at byte "},
		{"POST", "/v1/refund", `{"id":"` + id + `","id":null}`, 400, "id is given twice"},
		{"POST", "/v1/refund", named("nonsense"), 400, `"detail":"bad decision id: `},
		{"POST", "/v1/release", named(id + "x"), 400, `"detail":"bad decision id: `},
		{"POST", "/v1/renew", named(strings.Repeat("A", httpapi.MaxBody)), 413, "over 1048576 bytes"},
		{"GET", "/v1/refund", "", 405, "use POST"},
		{"GET", "/v1/windows/nobody", "", 404, `"detail":"unknown rule \"nobody\"`},
		{"DELETE", "/v1/windows/nobody", "", 404, "unknown rule"},
		{"GET", "/v1/windows/jobs?k=1", "", 400, "key=NAME=VALUE"},
		{"GET", "/v1/windows/jobs?key=k", "", 400, "key=NAME=VALUE"},
		{"GET", "/v1/windows/jobs?key==1", "", 400, "key=NAME=VALUE"},
		{"GET", "/v1/windows/jobs?key=k=1&key=k=2", "", 400, "given twice"},
		{"GET", "/v1/windows/jobs?key=k=7351%zz", "", 400, "the query cannot be read; write key=NAME=VALUE"},
		{"GET", "/v1/windows/jobs?key=k=a&7351", "", 400, "not key; write key=NAME=VALUE"},
		{"GET", "/v1/windows/jobs?key=7351", "", 400, "a key has no name; write key=NAME=VALUE"},
		{"GET", "/v1/windows/jobs", "", 400, `"detail":"rule jobs: bad event: the key is [k], and a part of it is missing"`},
		{"DELETE", "/v1/windows/jobs?" + strings.Repeat("key=k=1&", 101), "", 400, "at most 100"},
		{"GET", "/v1/windows/both-ip?key=ip=nonsense", "", 400, "ip"},
	} {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest(c.method, c.target, strings.NewReader(c.body)))
		body := w.Body.String()
		if strings.Contains(body, "7351") || strings.Contains(body, "gate: ") {
			t.Errorf("%s shows a value, or the name of a package: %s", c.target, body)
		}
		if w.Code != c.code || !strings.Contains(body, c.want) || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %.60s %.60s: %d, %s", c.method, c.target, c.body, w.Code, body)
		}
	}
	if n := a.used(t, "jobs", "k=1"); n != 1 {
		t.Errorf("%d are in flight, want 1", n)
	}
}

// fullStore is a store that has no room to remember that a window was emptied.
type fullStore struct{ store.Store }

func (fullStore) Reset(context.Context, []store.Item) error {
	return fmt.Errorf("store: %w", slidegate.ErrFull)
}

// TestAtTheCeiling: what cannot be remembered is not done, and may be asked for again.
func TestAtTheCeiling(t *testing.T) {
	a := newAPI(t)
	m, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	g, err := gate.New(a.gate.Plan(), gate.Options{Store: fullStore{m}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	a.Handler = httpapi.New(g, httpapi.Options{})
	if code, body := a.call("DELETE", "/v1/windows/ban", ""); code != http.StatusServiceUnavailable || !strings.Contains(body, `"detail":"at the ceiling of memory, `) {
		t.Errorf("%d, %s", code, body)
	}
}
