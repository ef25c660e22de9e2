package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/internal/auth"
	"github.com/slidegate/slidegate/internal/busy"
	"github.com/slidegate/slidegate/internal/httpapi"
	"github.com/slidegate/slidegate/internal/listen"
	"github.com/slidegate/slidegate/internal/metrics"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
	"github.com/slidegate/slidegate/store/journal"
)

// daemon is the engine with all that a service needs around it.
type daemon struct {
	c       *settings
	log     *slog.Logger
	sampled *sampler
	memory  *store.Memory
	store   store.Store    // memory, or the journal around it
	journal *journal.Store // nil: nothing is kept over a restart
	gate    *gate.Gate
	metrics *metrics.Metrics
	busy    busy.Watch
	started time.Time
	rules   *reloader
	certs   *listen.Certificates // nil: no TLS
	limit   *listen.Limit
	server  *http.Server

	listeners []net.Listener
	unready   atomic.Bool
	draining  chan struct{} // closed when streams are to end
}

// newDaemon makes what does not listen yet.
func newDaemon(c *settings, stderr io.Writer) (*daemon, error) {
	log := newLog(stderr, c.Log.Level, c.Log.Format)
	warnings := stderr
	if c.Log.Format == "json" {
		warnings = lineWriter(func(text string) { log.Warn("rules", "warning", strings.TrimPrefix(text, "warning: ")) })
	}
	f, err := c.loadRules()
	if err != nil {
		return nil, fail(err)
	}
	printWarnings(warnings, f)
	d := &daemon{c: c, log: log, started: time.Now(), limit: listen.NewLimit(int(c.Limits.Connections)), draining: make(chan struct{})}
	if c.TLS.Cert != "" {
		if d.certs, err = listen.NewCertificates(c.TLS.Cert, c.TLS.Key, c.TLS.ClientCA); err != nil {
			return nil, fail(fmt.Errorf("slidegate: tls: %w", err))
		}
	}
	if err := d.open(f.Plan); err != nil {
		return nil, fail(err)
	}
	d.sampled = newSampler(d.log)
	d.metrics = metrics.New(metrics.Options{
		Gate: d.gate, Store: d.memory, Journal: d.journal, MaxKeys: c.Memory.MaxKeys, MaxBytes: c.Memory.MaxBytes, Version: version(),
		Connections: func() float64 { return float64(d.limit.Open()) }, LeftOut: d.sampled.leftOut,
	})
	d.rules = newReloader(d)
	d.server = d.newServer()
	return d, nil
}

// open opens the store and the engine on it, with one clock.
func (d *daemon) open(plan *rule.Plan) error {
	o := store.MemoryOptions{MaxKeys: d.c.Memory.MaxKeys, MaxBytes: d.c.Memory.MaxBytes, SketchBytes: d.c.Memory.SketchBytes}
	if o.SketchBytes == 0 {
		o.SketchBytes = -1 // none
	}
	if err := d.openStore(o); err != nil {
		return err
	}
	if len(d.c.secretKey) == 0 {
		d.c.secretKey = make([]byte, 32)
		_, _ = rand.Read(d.c.secretKey) // never fails
	}
	var err error
	d.gate, err = gate.New(plan, gate.Options{
		Store: d.store, IDKey: d.c.idKey, SecretKey: d.c.secretKey,
	})
	if err != nil {
		return errors.Join(err, d.store.Close())
	}
	return nil
}

func (d *daemon) close() {
	for _, ln := range d.listeners {
		_ = ln.Close() // most are closed already
	}
	_ = d.gate.Close() // the store is ours
	if err := d.store.Close(); err != nil {
		d.log.Error("the windows were not written down whole", "error", err.Error())
	}
	d.sampled.close()
}

func (d *daemon) newServer() *http.Server {
	l, t := d.c.Limits, d.c.Timeouts
	api := httpapi.New(d.gate, httpapi.Options{
		Limits: httpapi.Limits{
			Body: l.BodyBytes, Line: int(l.LineBytes), Batch: int(l.Batch), Attrs: int(l.Attributes), NameSize: int(l.NameBytes), TextSize: int(l.ValueBytes),
		},
		Authorize: d.authorize(),
		Decided:   d.decided(),
		Reload:    func() ([]rule.Forgotten, error) { return d.rules.reload("a request") },
		State:     d.state,
		Top:       d.top,
		Unlocked:  d.unlocked,
		Metrics:   d.metrics.Handler(),
		Version:   version(),
		Line:      t.Read, Write: t.Write,
		Draining: d.draining,
	})
	srv := &http.Server{
		Handler:           d.observe(api),
		ReadHeaderTimeout: t.Header,
		ReadTimeout:       t.Read,
		WriteTimeout:      t.Write,
		IdleTimeout:       t.Idle,
		MaxHeaderBytes:    int(l.HeaderBytes),
		ErrorLog:          d.sampled.standard("http"),
	}
	if d.certs != nil {
		srv.TLSConfig = d.certs.Config()
	}
	return srv
}

// state is what /readyz says.
func (d *daemon) state() httpapi.State {
	loaded, failed := d.rules.state()
	s := httpapi.State{Draining: d.unready.Load(), Loaded: loaded, Failed: failed}
	if d.journal != nil {
		s.NotDurable = d.journal.Health() != nil
	}
	return s
}

// authorize returns who lets requests in; nil where everybody may do everything.
func (d *daemon) authorize() func(*http.Request, string) *httpapi.Refusal {
	if d.c.keeper == nil {
		return nil
	}
	return func(r *http.Request, scope string) *httpapi.Refusal {
		name, err := d.c.keeper.Judge(r.Header.Get("Authorization"), scope)
		if err == nil {
			if scope == httpapi.Admin {
				d.log.Info("an admin asks", "token", name, "route", r.Pattern, "from", remote(r))
			}
			return nil
		}
		d.sampled.warn(strings.TrimSpace("auth "+name), "not let in", func() []any {
			return []any{"token", name, "scope", scope, "route", r.Pattern, "from", remote(r), "error", err.Error()}
		})
		status := http.StatusUnauthorized
		if errors.Is(err, auth.ErrScope) {
			status = http.StatusForbidden
		}
		return &httpapi.Refusal{Status: status, Challenge: auth.Challenge(err, scope), Detail: err.Error()}
	}
}

// decided returns who is told of decisions: the metrics, and of refusals the log.
func (d *daemon) decided() func(*slidegate.Event, *slidegate.Decision) {
	names := newKeyNames(d.c.secretKey)
	return func(ev *slidegate.Event, dec *slidegate.Decision) {
		d.metrics.Decided(dec)
		d.watched(ev, dec)
		if dec.Admitted() {
			return
		}
		d.sampled.info(dec.Rule, "refused", func() []any { return names.refusal(d.gate.Plan(), ev, dec) })
	}
}

// listen opens all sockets, or none.
func (d *daemon) listen(ctx context.Context) error {
	for _, a := range d.c.Listen {
		var ln net.Listener
		var err error
		if a.Network == "unix" {
			ln, err = listen.Unix(ctx, a.Address, d.c.SocketMode)
		} else {
			ln, err = (&net.ListenConfig{}).Listen(ctx, a.Network, a.Address)
		}
		if err != nil {
			return fmt.Errorf("slidegate: cannot listen on %s: %w\nTry: slidegate serve --listen 127.0.0.1:0", a, err)
		}
		d.listeners = append(d.listeners, d.limit.Listener(ln))
		if !a.Loopback() && d.certs == nil && d.c.Asks() {
			d.log.Warn("tokens travel in the clear to others than this machine; give tls.cert and tls.key", "listen", a.String())
		}
	}
	return nil
}

// serve serves until ctx ends, then drains.
func (d *daemon) serve(ctx context.Context) error {
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	defer func() {
		stop()
		background.Wait()
	}()
	d.watch(watching, &background)
	done := make(chan error, len(d.listeners))
	for _, ln := range d.listeners {
		go func() { done <- d.serveOn(ln) }()
	}
	var err error
	left := len(d.listeners)
	select {
	case err = <-done:
		left--
		err = fmt.Errorf("slidegate: %w", err)
	case <-ctx.Done():
		d.log.Info("draining", "why", context.Cause(ctx).Error())
	}
	err = errors.Join(err, d.drain(context.WithoutCancel(ctx), err == nil))
	for range left {
		if e := <-done; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, fmt.Errorf("slidegate: %w", e))
		}
	}
	return err
}

func (d *daemon) serveOn(ln net.Listener) error {
	if d.certs != nil && ln.Addr().Network() == "tcp" {
		return d.server.ServeTLS(ln, "", "")
	}
	return d.server.Serve(ln)
}

// drain says that the daemon is not ready, and lets the requests under way finish.
func (d *daemon) drain(ctx context.Context, wait bool) error {
	d.unready.Store(true)
	if wait {
		time.Sleep(d.c.Drain.Delay)
	}
	close(d.draining)
	ctx, cancel := context.WithTimeout(ctx, d.c.Drain.Timeout)
	defer cancel()
	if err := d.server.Shutdown(ctx); err != nil {
		_ = d.server.Close()
		return fmt.Errorf("slidegate: some requests were cut off: %w", err)
	}
	return nil
}

func (d *daemon) announce(w io.Writer) {
	var urls []string
	for _, ln := range d.listeners {
		urls = append(urls, d.url(ln.Addr()))
	}
	from := d.c.Rules
	if from == "" {
		from = "the starter rules"
	}
	fmt.Fprintf(w, "slidegate listens on %s with %s from %s.\n", strings.Join(urls, ", "), plural(len(d.gate.Plan().Rules()), "rule"), from)
	if d.c.Rules == "" && strings.HasPrefix(urls[0], "http://") && d.c.keeper == nil {
		fmt.Fprintf(w, "Try it (twice: one SMS per phone in 60 seconds):\n\n  curl -s %s/v1/check -d '%s'\n\n",
			urls[0], `{"event":"sms.send","attrs":{"phone":"13800000000","ip":"192.0.2.9"}}`)
	}
}

func (d *daemon) url(addr net.Addr) string {
	switch {
	case addr.Network() == "unix":
		return "unix:" + addr.String()
	case d.certs != nil:
		return "https://" + reachable(addr)
	default:
		return "http://" + reachable(addr)
	}
}

// reachable returns an address to connect to: one that listens on all is
// reached by the loopback.
func reachable(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
