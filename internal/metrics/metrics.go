// Package metrics is the numbers of the daemon, for Prometheus.
//
// No label ever holds a key or anything else that a client chose: labels are names
// of rules, texts of limits, actions, routes and statuses.
package metrics

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
	"github.com/slidegate/slidegate/store/journal"
)

// Options are what the numbers are of.
type Options struct {
	// Gate is the engine, and Store the store that it has.
	Gate  *gate.Gate
	Store *store.Memory
	// Journal is what keeps it over a restart; nil for nothing.
	Journal *journal.Store
	// MaxKeys and MaxBytes are the ceiling of the store.
	MaxKeys, MaxBytes int64
	// Connections says how many connections are open, and LeftOut how many lines of
	// the log were left out; nil where nobody counts.
	Connections, LeftOut func() float64
	// Version is the build.
	Version string
}

// Metrics counts. All methods are safe for concurrent use.
type Metrics struct {
	registry            *prometheus.Registry
	decisions           *series
	refused, shadowed   *series
	peaks               *peaks
	requests            *prometheus.HistogramVec
	inFlight            prometheus.Gauge
	reloads, lastReload *prometheus.GaugeVec
	failures            *prometheus.CounterVec
	shut                *prometheus.CounterVec
}

// New returns the numbers of o.
func New(o Options) *Metrics {
	r := prometheus.NewRegistry()
	m := &Metrics{
		registry:   r,
		decisions:  newSeries(r, "slidegate_decisions_total", "Checks that were decided, by the action and the rule that decided on it (none where the action is allow).", "rule", "action"),
		refused:    newSeries(r, "slidegate_refused_total", "Checks for which the window of a limit had no room.", "rule", "limit"),
		shadowed:   newSeries(r, "slidegate_shadow_refused_total", "Checks for which the window of a shadow limit had no room; it refused nobody.", "rule", "limit"),
		requests:   newRequests(r),
		inFlight:   gauge(r, "slidegate_http_requests_in_flight", "Requests that are being answered."),
		reloads:    newGauges(r, "slidegate_reload_last_ok", "1 where the last reading of the rules or of the certificates succeeded, else 0."),
		lastReload: newGauges(r, "slidegate_reload_last_success_timestamp_seconds", "When the rules or the certificates that are in force were read."),
		failures:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "slidegate_reload_failures_total", Help: "Readings of the rules or of the certificates that failed; those before go on."}, []string{"of"}),
		shut:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "slidegate_auth_refused_total", Help: "Requests that were not let in, by status."}, []string{"status"}),
	}
	r.MustRegister(m.failures, m.shut, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.peaks = newPeaks(o.Gate.Time)
	r.MustRegister(&windows{gate: o.Gate, peaks: m.peaks})
	registerLocks(r, o.Gate)
	if o.Journal != nil {
		registerJournal(r, o.Journal)
	}
	registerStore(r, &o)
	if o.Connections != nil {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "slidegate_connections", Help: "Connections that are open."}, o.Connections))
	}
	if o.LeftOut != nil {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "slidegate_log_left_out_total", Help: "Lines of the log that were left out because there were too many of their kind."}, o.LeftOut))
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "slidegate_build_info", Help: "The build, always 1."}, []string{"version"})
	r.MustRegister(build)
	build.WithLabelValues(o.Version).Set(1)
	return m
}

// buckets of durations: from what a check takes to what a slow client does.
var buckets = []float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 1, 5, 30}

func newRequests(r *prometheus.Registry) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "slidegate_http_request_duration_seconds", Help: "How long requests took, by route and status; a stream is one request.", Buckets: buckets,
	}, []string{"route", "status"})
	r.MustRegister(h)
	return h
}

func gauge(r *prometheus.Registry, name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	r.MustRegister(g)
	return g
}

func newGauges(r *prometheus.Registry, name, help string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"of"})
	r.MustRegister(g)
	return g
}

func registerStore(r *prometheus.Registry, o *Options) {
	stat := func(get func(store.Stats) int64) func() float64 {
		return func() float64 { return float64(get(o.Store.Stats())) }
	}
	for _, g := range []struct {
		name, help string
		f          func() float64
	}{
		{"slidegate_store_keys", "Windows of keys that the store holds.", stat(func(s store.Stats) int64 { return s.Keys })},
		{"slidegate_store_bytes", "Memory that they take.", stat(func(s store.Stats) int64 { return s.Bytes })},
		{"slidegate_store_max_keys", "The ceiling of the windows of keys.", func() float64 { return float64(o.MaxKeys) }},
		{"slidegate_store_max_bytes", "The ceiling of their memory.", func() float64 { return float64(o.MaxBytes) }},
		{"slidegate_sketch_bytes", "Memory of the sketches, which count keys that the store has no room for.", func() float64 { return float64(o.Store.Sketch().Bytes) }},
		{"slidegate_sketch_wrong_bound", "A bound on the probability that a key in a sketch, which has used half of its limit, is refused for what others used.", func() float64 { return o.Store.Sketch().Wrong }},
	} {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.name, Help: g.help}, g.f))
	}
	for _, c := range []struct {
		name, help string
		f          func() float64
	}{
		{"slidegate_store_swept_total", "Windows of keys that expired and were swept.", stat(func(s store.Stats) int64 { return s.Swept })},
		{"slidegate_sketch_hits_total", "Charges of keys that the store had no room for.", func() float64 { return float64(o.Store.Sketch().Hits) }},
		{"slidegate_store_full_total", "Requests that were refused at the ceiling.", stat(func(s store.Stats) int64 { return s.Full })},
	} {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: c.name, Help: c.help}, c.f))
	}
}

// registerLocks tells how many keys are locked. Of an engine that is closed, none are.
func registerLocks(r *prometheus.Registry, g *gate.Gate) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "slidegate_locks", Help: "Keys that are locked now."}, func() float64 {
		locks, err := g.Locks(context.Background())
		if err != nil {
			return 0
		}
		n, now := 0, g.Time()
		for i := range locks {
			if locks[i].Holds(now) {
				n++
			}
		}
		return float64(n)
	}))
}

// Handler answers for /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 8, EnableOpenMetrics: true})
}

// Decided counts a decision.
func (m *Metrics) Decided(d *slidegate.Decision) {
	m.decisions.inc(d.Rule, d.Action.String())
	count(m.refused, d.Windows())
	m.peaks.see(d.Windows())
	count(m.shadowed, d.Shadow())
}

func count(to *series, ws []slidegate.WindowState) {
	for i := range ws {
		if ws[i].Refused {
			to.inc(ws[i].Rule, ws[i].Limit)
		}
	}
}

// Begin counts a request that begins to be answered, and End one that was. route is
// the pattern that it met, "" for none.
func (m *Metrics) Begin() { m.inFlight.Inc() }

// End is described with Begin.
func (m *Metrics) End(route string, status int, took time.Duration) {
	m.inFlight.Dec()
	if route == "" || route == "/" {
		route = "none"
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Observe(took.Seconds())
	if status == http.StatusUnauthorized || route != "GET /v1/auth" && status == http.StatusForbidden {
		m.shut.WithLabelValues(strconv.Itoa(status)).Inc()
	}
}

// Reloaded tells that something was read again: rules or certificates.
func (m *Metrics) Reloaded(of string, err error) {
	if err != nil {
		m.failures.WithLabelValues(of).Inc()
		m.reloads.WithLabelValues(of).Set(0)
		return
	}
	m.failures.WithLabelValues(of) // so that it is there
	m.reloads.WithLabelValues(of).Set(1)
	m.lastReload.WithLabelValues(of).SetToCurrentTime()
}

// Keep drops what was counted of rules that are no longer in force, so that series do
// not pile up over many plans.
func (m *Metrics) Keep(plan *rule.Plan) {
	for _, s := range []*series{m.decisions, m.refused, m.shadowed} {
		s.keep(func(name string) bool { return name == "" || plan.Rule(name) != nil })
	}
}

// series is counters with two labels, the first of which is a rule.
type series struct {
	vec  *prometheus.CounterVec
	fast sync.Map // [2]string → prometheus.Counter
}

func newSeries(r *prometheus.Registry, name, help string, labels ...string) *series {
	s := &series{vec: prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)}
	r.MustRegister(s.vec)
	return s
}

func (s *series) inc(rule, other string) {
	key := [2]string{rule, other}
	c, ok := s.fast.Load(key)
	if !ok {
		c, _ = s.fast.LoadOrStore(key, s.vec.WithLabelValues(rule, other))
	}
	c.(prometheus.Counter).Inc()
}

func (s *series) keep(rule func(string) bool) {
	s.fast.Range(func(k, _ any) bool {
		if key, ok := k.([2]string); ok && !rule(key[0]) {
			s.fast.Delete(key)
			s.vec.DeleteLabelValues(key[0], key[1])
		}
		return true
	})
}

// windows tells how the windows of rules without a key stand, when it is asked.
type windows struct {
	gate  *gate.Gate
	peaks *peaks
}

var (
	used = prometheus.NewDesc("slidegate_window_used", "What the window of a rule without a key holds.", []string{"rule", "limit"}, nil)
	most = prometheus.NewDesc("slidegate_window_max", "What the window of a rule without a key may hold.", []string{"rule", "limit"}, nil)
)

// Describe implements [prometheus.Collector].
func (w *windows) Describe(to chan<- *prometheus.Desc) {
	to <- used
	to <- most
	w.peaks.Describe(to)
}

// Collect implements [prometheus.Collector].
func (w *windows) Collect(to chan<- prometheus.Metric) {
	w.peaks.collect(w.gate.Plan(), to)
	for _, r := range w.gate.Plan().Rules() {
		if len(r.Key()) > 0 {
			continue
		}
		states, err := w.gate.Query(context.Background(), r.Name)
		if err != nil {
			continue // the rule is gone since, or the engine is closed
		}
		seen := map[string]bool{}
		for i := range states {
			s := &states[i]
			if seen[s.Limit] {
				continue // one written twice has one series
			}
			seen[s.Limit] = true
			to <- prometheus.MustNewConstMetric(used, prometheus.GaugeValue, decimal(s.Used, s.Scale), s.Rule, s.Limit)
			to <- prometheus.MustNewConstMetric(most, prometheus.GaugeValue, decimal(s.Max, s.Scale), s.Rule, s.Limit)
		}
	}
}

// decimal returns n units of 10^-scale.
func decimal(n int64, scale uint8) float64 {
	unit := 1.0
	for range scale {
		unit *= 10
	}
	return float64(n) / unit
}
