package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/internal/httpapi"
	"github.com/slidegate/slidegate/rule/rulefile"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// api is the handler on an engine whose clock stands still until it is moved.
type api struct {
	http.Handler

	gate *gate.Gate
	now  time.Time
}

func newAPI(t testing.TB) *api {
	t.Helper()
	f, err := rulefile.Load("testdata/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a := &api{now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	if a.gate, err = gate.New(f.Plan, gate.Options{Now: func() time.Time { return a.now }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.gate.Close() })
	a.Handler = httpapi.New(a.gate, httpapi.Options{})
	return a
}

// serving is the handler on the rules of a text.
func serving(t testing.TB, rules string) *api {
	t.Helper()
	f, err := rulefile.Parse("rules.yaml", "", []byte("version: 1\n"+rules))
	if err != nil {
		t.Fatal(err)
	}
	a := &api{}
	if a.gate, err = gate.New(f.Plan, gate.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.gate.Close() })
	a.Handler = httpapi.New(a.gate, httpapi.Options{})
	return a
}

// post sends a check and returns the answer.
func (a *api) post(body io.Reader) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/check", body))
	return w
}

// check sends a check that must be answered with 200, and returns the answer
// with ID in place of the ids.
func (a *api) check(t testing.TB, body string) string {
	t.Helper()
	w := a.post(strings.NewReader(body))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%s: %d, %s: %s", body, w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	text, ok := strings.CutSuffix(w.Body.String(), "\n")
	if !ok {
		t.Errorf("%s: the answer does not end its line", body)
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v: %s", body, err, text)
	}
	empty(t, text, "", v)
	return regexp.MustCompile(`"id":"[\w-]{20,}"`).ReplaceAllString(text, `"id":"ID"`)
}

// empty reports members that say nothing and should be absent.
func empty(t testing.TB, text, name string, v any) {
	t.Helper()
	bad := false
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			empty(t, text, name, member)
		}
		bad = len(v) == 0
	case []any:
		for _, element := range v {
			empty(t, text, name, element)
		}
		bad = len(v) == 0 && name != ""
	case nil:
		bad = true
	case float64:
		bad = v == 0 && name != "used" && name != "max" && name != "remaining"
	case string:
		bad = v == ""
	case bool:
		bad = !v && name != "admitted"
	}
	if bad {
		t.Errorf("%s is %v and should be absent: %s", name, v, text)
	}
}

// problem is the answer to a request that is wrong.
type problem struct {
	Type, Title, Detail string
	Status              int
}

// readProblem checks that an answer is a problem with this status, as RFC 9457
// wants it, and returns its detail.
func readProblem(t testing.TB, w *http.Response, status int) string {
	t.Helper()
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Header.Get("Content-Type"); w.StatusCode != status || got != "application/problem+json" {
		t.Fatalf("%d, %s; want %d: %s", w.StatusCode, got, status, body)
	}
	var p problem
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if p.Type != "about:blank" || p.Title != http.StatusText(status) || p.Status != status || p.Detail == "" {
		t.Errorf("got %+v, want the status %d", p, status)
	}
	return p.Detail
}

// used returns how much all windows of a rule hold for some keys.
func (a *api) used(t testing.TB, rule, attrs string) (n int64) {
	t.Helper()
	ev := parseEvent(t, rule+" "+attrs)
	ws, err := a.gate.Query(t.Context(), rule, ev.Attrs...)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range ws {
		n += w.Used
	}
	return n
}
