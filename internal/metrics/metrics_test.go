package metrics_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/internal/metrics"
	"github.com/slidegate/slidegate/rule/rulefile"
	"github.com/slidegate/slidegate/store"
)

// open returns an engine with a rule and its numbers.
func open(t testing.TB) (*gate.Gate, *metrics.Metrics) {
	t.Helper()
	f, err := rulefile.Parse("r.yaml", "", []byte("version: 1\nrules: [{name: all, limits: [100 per 1h]}, {name: keyed, key: [k], missing_key: skip, limits: [1 per 1h]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(f.Plan, gate.Options{Store: m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = g.Close()
		_ = m.Close()
	})
	return g, metrics.New(metrics.Options{Gate: g, Store: m, MaxKeys: 7, MaxBytes: 8, Version: "v1", LeftOut: func() float64 { return 3 }})
}

// lines are the series with their values.
func lines(m *metrics.Metrics) map[string]bool {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	all := map[string]bool{}
	for line := range strings.Lines(w.Body.String()) {
		all[strings.TrimSpace(line)] = true
	}
	return all
}

// TestCounts: what many tell at once is counted, once each.
func TestCounts(t *testing.T) {
	g, m := open(t)
	var asking sync.WaitGroup
	for i := range 8 {
		asking.Go(func() {
			for n := range 50 {
				m.Begin()
				d, err := g.Check(t.Context(), slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("k", fmt.Sprint(i, n))}})
				if err != nil {
					t.Error(err)
				}
				m.Decided(&d)
				m.End("POST /v1/check", 200, time.Millisecond)
			}
		})
	}
	asking.Wait()
	m.Begin()
	m.End("/", 404, time.Second)
	m.Begin()
	m.End("GET /metrics", 403, time.Second)
	m.Begin()
	m.End("GET /v1/auth", 403, time.Second) // denies
	got := lines(m)
	for _, want := range []string{
		`slidegate_decisions_total{action="allow",rule=""} 100`, `slidegate_decisions_total{action="reject",rule="all"} 300`, `slidegate_refused_total{limit="100 per 1h",rule="all"} 300`,
		`slidegate_window_used_max{limit="1 per 1h",rule="keyed"} 1`, `slidegate_locks 0`, `slidegate_sketch_hits_total 0`,
		`slidegate_window_used{limit="100 per 1h",rule="all"} 100`, `slidegate_http_request_duration_seconds_count{route="POST /v1/check",status="200"} 400`,
		`slidegate_http_request_duration_seconds_count{route="none",status="404"} 1`, `slidegate_http_requests_in_flight 0`, `slidegate_auth_refused_total{status="403"} 1`,
		`slidegate_store_max_keys 7`, `slidegate_store_max_bytes 8`, `slidegate_log_left_out_total 3`, `slidegate_build_info{version="v1"} 1`, `slidegate_store_keys 101`,
	} {
		if !got[want] {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestReloaded(t *testing.T) {
	g, m := open(t)
	m.Reloaded("rules", nil)
	m.Reloaded("certificates", errors.New("no"))
	got := lines(m)
	for _, want := range []string{
		`slidegate_reload_last_ok{of="rules"} 1`, `slidegate_reload_failures_total{of="rules"} 0`, `slidegate_reload_last_ok{of="certificates"} 0`, `slidegate_reload_failures_total{of="certificates"} 1`,
	} {
		if !got[want] {
			t.Errorf("%s is missing", want)
		}
	}
	d, err := g.Check(t.Context(), slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("k", "1")}})
	if err != nil {
		t.Fatal(err)
	}
	d.Rule = "gone"
	m.Decided(&d)
	if !lines(m)[`slidegate_decisions_total{action="allow",rule="gone"} 1`] {
		t.Error("it is not counted")
	}
	m.Keep(g.Plan())
	if lines(m)[`slidegate_decisions_total{action="allow",rule="gone"} 1`] {
		t.Error("it is kept")
	}
	m.Decided(&d)
	if !lines(m)[`slidegate_decisions_total{action="allow",rule="gone"} 1`] {
		t.Error("it does not begin anew")
	}
	_ = g.Close()
	if lines(m)[`slidegate_window_used{limit="100 per 1h",rule="all"} 1`] {
		t.Error("windows of an engine that is closed")
	}
}
