package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

// newLog returns the log of the daemon.
func newLog(w io.Writer, level, format string) *slog.Logger {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level)) // the settings know the words
	o := &slog.HandlerOptions{Level: l}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// sampleLines is how many lines of one kind are logged in a second.
const sampleLines = 3

// maxKinds bounds the kinds that a sampler keeps apart. They are names of rules and a
// few of our own; over it, after very many reloads, it begins anew.
const maxKinds = 100_000

// sampler logs a few lines of each kind in a second, and how many it left out. It is
// safe for concurrent use.
type sampler struct {
	log  *slog.Logger
	stop chan struct{}
	done chan struct{}
	left atomic.Int64 // over all

	mu    sync.Mutex
	kinds map[string]*kind
}

// kind is what was logged of one kind in this second.
type kind struct{ lines, left int }

func newSampler(to *slog.Logger) *sampler {
	s := &sampler{log: to, stop: make(chan struct{}), done: make(chan struct{}), kinds: map[string]*kind{}}
	go s.run()
	return s
}

// run begins a new second once a second.
func (s *sampler) run() {
	defer close(s.done)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.next()
		case <-s.stop:
			s.next()
			return
		}
	}
}

// next says how many lines were left out of each kind, and begins anew.
func (s *sampler) next() {
	s.mu.Lock()
	left := map[string]int{}
	for name, k := range s.kinds {
		if k.left > 0 {
			left[name] = k.left
		}
		k.lines, k.left = 0, 0
	}
	if len(s.kinds) > maxKinds {
		s.kinds = map[string]*kind{}
	}
	s.mu.Unlock()
	for name, n := range left {
		s.log.Info("lines were left out", "of", name, "left_out", n)
	}
}

func (s *sampler) close() {
	close(s.stop)
	<-s.done
}

func (s *sampler) leftOut() float64 { return float64(s.left.Load()) }

// take reports whether one more line of a kind is to be logged.
func (s *sampler) take(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[name]
	if k == nil {
		k = &kind{}
		s.kinds[name] = k
	}
	if k.lines < sampleLines {
		k.lines++
		return true
	}
	k.left++
	s.left.Add(1)
	return false
}

// info logs a line of a kind, if it is not one too many. attrs is asked only then.
func (s *sampler) info(name, msg string, attrs func() []any) {
	s.write(slog.LevelInfo, name, msg, attrs)
}

// warn is info at its level.
func (s *sampler) warn(name, msg string, attrs func() []any) {
	s.write(slog.LevelWarn, name, msg, attrs)
}

func (s *sampler) write(level slog.Level, name, msg string, attrs func() []any) {
	ctx := context.Background()
	if s.log.Enabled(ctx, level) && s.take(name) {
		s.log.Log(ctx, level, msg, attrs()...)
	}
}

// standard returns a log of the standard library whose lines are a kind.
func (s *sampler) standard(name string) *log.Logger {
	return log.New(lineWriter(func(text string) {
		s.warn(name, name, func() []any { return []any{"error", text} })
	}), "", 0)
}

type lineWriter func(text string)

func (f lineWriter) Write(p []byte) (int, error) {
	f(strings.TrimSpace(string(p)))
	return len(p), nil
}

// keyNames gives keys a name that the log may hold: the same for one key as long as
// the process runs, and nothing that tells the key.
type keyNames struct {
	salt    []byte
	secrets *rule.Secrets
}

func newKeyNames(secretKey []byte) *keyNames {
	mac := hmac.New(sha256.New, secretKey)
	mac.Write([]byte("names of keys in the log"))
	secrets, _ := rule.NewSecrets(secretKey) // nil where it is none: such keys have no name
	return &keyNames{salt: mac.Sum(nil), secrets: secrets}
}

// refusal says why an event was refused.
func (n *keyNames) refusal(plan *rule.Plan, ev *slidegate.Event, d *slidegate.Decision) []any {
	attrs := []any{"rule", d.Rule, "action", d.Action.String(), "reason", d.Reason}
	for i, ws := 0, d.Windows(); i < len(ws); i++ {
		if ws[i].Refused && ws[i].Rule == d.Rule {
			attrs = append(attrs, "limit", ws[i].Limit)
			break
		}
	}
	if d.RetryAfter > 0 {
		attrs = append(attrs, "retry_after", d.RetryAfter.String())
	}
	if name := n.of(plan.Rule(d.Rule), ev); name != "" {
		attrs = append(attrs, "key", name)
	}
	return attrs
}

// of names the key of ev in a rule; "" where there is none.
func (n *keyNames) of(r *rule.Compiled, ev *slidegate.Event) string {
	if r == nil || n.secrets == nil {
		return ""
	}
	key, found, err := r.AppendKey(nil, ev, n.secrets)
	if err != nil || found != rule.KeyFound || len(key) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, n.salt)
	mac.Write([]byte(r.Name))
	mac.Write([]byte{0})
	mac.Write(key)
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// recorder notes what a handler answers.
type recorder struct {
	http.ResponseWriter

	status int
	bytes  int64
}

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap is for [http.ResponseController].
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// observe counts requests and, where it is told to, logs each. The log has the route,
// never the path or the query: keys stand in them.
func (d *daemon) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{ResponseWriter: w}
		begin := time.Now()
		d.metrics.Begin()
		defer func() {
			took := time.Since(begin)
			if rec.status == 0 {
				rec.status = http.StatusInternalServerError // it panicked, or the client is gone
			}
			d.metrics.End(r.Pattern, rec.status, took)
			if d.c.Log.Access {
				d.log.Info("request", "method", method(r.Method), "route", r.Pattern, "status", rec.status, "bytes", rec.bytes, "took", took.String(), "from", remote(r), "proto", r.Proto)
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

// method returns a method that may stand in a log: a client can write anything there.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}

// remote is the address that the connection came from.
func remote(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return "unix"
	}
	return host
}
