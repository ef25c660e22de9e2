package httpapi_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/httpapi"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/rule/rulefile"
)

// replace puts other rules in force.
func (a *api) replace(t testing.TB, rules ...string) {
	t.Helper()
	f, err := rulefile.Parse("rules.yaml", "", []byte("version: 1\ndefaults: {missing_key: skip}\nrules:\n- "+strings.Join(rules, "\n- ")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.gate.Reload(f.Plan); err != nil {
		t.Fatal(err)
	}
}

func TestReload(t *testing.T) {
	a := newAPI(t)
	if code, _ := a.call("POST", "/v1/reload", ""); code != http.StatusNotFound {
		t.Errorf("%d without a way to reload", code)
	}
	var lost []rule.Forgotten
	var failed error
	a.Handler = httpapi.New(a.gate, httpapi.Options{Reload: func() ([]rule.Forgotten, error) { return lost, failed }})
	a.wants(t, "POST", "/v1/reload", "", `{"reloaded":true,"rules":14,"forgotten":[]}`)
	lost = []rule.Forgotten{{Rule: "two", Limit: "2 per 10s", Why: "the rule is gone"}}
	a.wants(t, "POST", "/v1/reload", "", `{"reloaded":true,"rules":14,"forgotten":[{"rule":"two","limit":"2 per 10s","why":"the rule is gone"}]}`)
	for err, want := range map[error]string{
		errors.New("r.yaml:1:2: bad\nr.yaml:2:3: worse"): `"status":422,"detail":"the rules before go on: r.yaml:1:2: bad; r.yaml:2:3: worse"`,
		fmt.Errorf("gate: %w", slidegate.ErrClosed):      `"status":503,"detail":"the server is closing"`,
	} {
		failed = err
		if _, body := a.call("POST", "/v1/reload", ""); !strings.Contains(body, want) {
			t.Errorf("%v: %s", err, body)
		}
	}
}

func TestReady(t *testing.T) {
	a := newAPI(t)
	a.wants(t, "GET", "/readyz", "", `{"ready":true,"rules":14}`)
	var s httpapi.State
	a.Handler = httpapi.New(a.gate, httpapi.Options{Version: "v1.2.3", State: func() httpapi.State { return s }})
	s.Loaded = time.Date(2026, 3, 1, 0, 0, 0, 5, time.UTC)
	a.wants(t, "GET", "/readyz", "", `{"ready":true,"rules":14,"rules_loaded":"2026-03-01T00:00:00Z"}`)
	s.Failed = s.Loaded.Add(time.Minute)
	a.wants(t, "GET", "/readyz", "", `{"ready":true,"rules":14,"rules_loaded":"2026-03-01T00:00:00Z","reload_failed":"2026-03-01T00:01:00Z"}`)
	s = httpapi.State{Draining: true}
	if code, body := a.call("GET", "/readyz", ""); code != http.StatusServiceUnavailable || body != `{"ready":false,"draining":true,"rules":14}` {
		t.Errorf("%d, %s", code, body)
	}
	if code, body := a.call("GET", "/version", ""); code != http.StatusOK || !strings.HasPrefix(body, `{"version":"v1.2.3","go":"go1.`) {
		t.Errorf("%d, %s", code, body)
	}
}

// TestScopes: each route asks for its scope before it does anything, and only those
// that orchestrators need are for everybody.
func TestScopes(t *testing.T) {
	a := newAPI(t)
	asked := ""
	a.Handler = httpapi.New(a.gate, httpapi.Options{Authorize: func(_ *http.Request, scope string) *httpapi.Refusal {
		asked = scope
		return &httpapi.Refusal{Status: http.StatusUnauthorized, Challenge: "Bearer x", Detail: "no"}
	}})
	for route, want := range map[string]string{
		"POST /v1/check": "check", "GET /v1/auth?event=load": "check", "HEAD /v1/auth?event=load": "check", "POST /v1/refund": "check", "POST /v1/release": "check", "POST /v1/renew": "check",
		"POST /v1/explain": "read", "GET /v1/rules": "read", "GET /v1/windows/hundred": "read", "GET /metrics": "read", "GET /version": "read",
		"DELETE /v1/windows/hundred": "admin", "POST /v1/reload": "admin",
		"GET /healthz": "", "GET /readyz": "", "GET /openapi.json": "",
	} {
		asked = ""
		method, target, _ := strings.Cut(route, " ")
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(`{"event":"load"}`)))
		if asked != want || (w.Code == http.StatusUnauthorized) != (want != "") || want != "" && w.Header().Get("WWW-Authenticate") != "Bearer x" {
			t.Errorf("%s: %d, asked for %q", route, w.Code, asked)
		}
		if want != "" && method != "HEAD" {
			readProblem(t, w.Result(), http.StatusUnauthorized)
		}
	}
	if n := a.used(t, "hundred", ""); n != 0 {
		t.Errorf("%d were charged", n)
	}
}

// TestOtherSite: a page of another site cannot make a browser change anything.
func TestOtherSite(t *testing.T) {
	a := newAPI(t)
	for _, h := range []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: https://evil.example"} {
		r := httptest.NewRequest(http.MethodPost, "/v1/check", strings.NewReader(`{"event":"load"}`))
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		readProblem(t, w.Result(), http.StatusForbidden)
	}
	if n := a.used(t, "hundred", ""); n != 0 {
		t.Errorf("%d were charged", n)
	}
}

// TestOtherLimits: the bounds are those that are set.
func TestOtherLimits(t *testing.T) {
	a := newAPI(t)
	a.Handler = httpapi.New(a.gate, httpapi.Options{Limits: httpapi.Limits{Body: 200, Line: 100, Batch: 2, Attrs: 1, NameSize: 4, TextSize: 5}})
	for body, want := range map[string]int{
		`{"event":"load"}`: 200, `{"event":"load5"}`: 400, `{"event":"e","attrs":{"k":"12345"}}`: 200, `{"event":"e","attrs":{"k":"123456"}}`: 400, `{"event":"e","attrs":{"k":"1","l":"1"}}`: 400,
		`[{"event":"load"},{"event":"load"}]`: 200, `[{"event":"load"},{"event":"load"},{"event":"load"}]`: 413, strings.Repeat(" ", 200): 400, strings.Repeat(" ", 201): 413,
	} {
		if code, got := a.call("POST", "/v1/check", body); code != want {
			t.Errorf("%.60s: %d: %s", body, code, got)
		}
	}
	if code, _ := a.call("GET", "/v1/windows/two?key=k=1&key=l=1", ""); code != 400 {
		t.Errorf("%d for a key of two attributes", code)
	}
}

// TestBodyBombs: a body that never ends, and one shorter than it says, are cut off,
// and charge nothing.
func TestBodyBombs(t *testing.T) {
	a := newAPI(t)
	s := a.serve(t, httpapi.Options{})
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		return conn
	}
	endless := dial()
	defer endless.Close()
	go func() {
		fmt.Fprint(endless, "POST /v1/check HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
		for {
			if _, err := fmt.Fprintf(endless, "1000\r\n%s\r\n", strings.Repeat(" ", 0x1000)); err != nil {
				return
			}
		}
	}()
	wantStatus(t, endless, http.StatusRequestEntityTooLarge)

	large := dial() // is refused before a byte of it is read
	defer large.Close()
	fmt.Fprint(large, "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999999\r\n\r\n")
	wantStatus(t, large, http.StatusRequestEntityTooLarge)

	short := dial()
	defer short.Close()
	fmt.Fprint(short, "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{\"event\":\"load\"}")
	_ = short.(*net.TCPConn).CloseWrite()
	wantStatus(t, short, http.StatusBadRequest)

	both := dial() // two lengths: a proxy before us could take the other one
	defer both.Close()
	fmt.Fprint(both, "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 16\r\n\r\n{\"event\":\"load\"}")
	wantStatus(t, both, http.StatusBadRequest)
	if n := a.used(t, "hundred", ""); n != 0 {
		t.Errorf("%d were charged", n)
	}
}

// wantStatus reads an answer whole, after which the connection is to be closed.
func wantStatus(t testing.TB, conn net.Conn, status int) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status || status == http.StatusRequestEntityTooLarge && !resp.Close {
		t.Errorf("%d, %v, %t: %s", resp.StatusCode, err, resp.Close, body)
	}
}
