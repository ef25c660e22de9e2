// Package httpapi is the engine over HTTP and JSON.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
)

// New returns the handler of the API for g:
//
//	POST   /v1/check           one event, an array of them, or a stream: one decision each
//	GET    /v1/auth            one event from the query, for proxies: 200 or a status that denies
//	POST   /v1/report          what happened: one event, or an array of them
//	POST   /v1/refund          gives back what the decision with this id charged
//	POST   /v1/release         ends what it has in flight
//	POST   /v1/renew           lets that stay for another hold
//	POST   /v1/explain         what a check would do and why; records nothing
//	GET    /v1/rules           the rules in force
//	GET    /v1/windows/{rule}  how the windows of a rule stand for ?key=NAME=VALUE
//	DELETE /v1/windows/{rule}  empties them
//	GET    /v1/locks           the locks that hold
//	DELETE /v1/locks           lifts one
//	GET    /v1/top             what is going on: rules, and the keys that are refused most
//	POST   /v1/reload          reads the rules again
//	GET    /metrics            numbers for Prometheus
//	GET    /version            which build this is
//	GET    /healthz            "ok" as long as the process serves
//	GET    /readyz             whether it wants requests
//	GET    /openapi.json       all of this as OpenAPI
//
// A check is answered with 200 whether it is allowed or not. What is wrong with
// a request is answered with a problem (RFC 9457) and changes nothing.
func New(g *gate.Gate, o Options) http.Handler {
	a := &api{gate: g, o: o, limits: o.Limits.whole()}
	mux := http.NewServeMux()
	paths, allowed := []string{}, map[string][]string{}
	for _, r := range a.routes() {
		if allowed[r.path] == nil {
			paths = append(paths, r.path)
		}
		allowed[r.path] = append(allowed[r.path], r.method)
		if r.method == http.MethodGet {
			allowed[r.path] = append(allowed[r.path], http.MethodHead)
		}
		mux.Handle(r.method+" "+r.path, a.guard(r.scope, r.do))
	}
	for _, path := range paths {
		mux.HandleFunc(path, notAllowed(strings.Join(allowed[path], ", ")))
	}
	mux.HandleFunc("/", notFound)
	return sameOrigin(mux)
}

type api struct {
	gate   *gate.Gate
	o      Options
	limits Limits
}

// route is one thing that can be asked for, and the scope that it needs; "" for
// everybody.
type route struct {
	method, path, scope string
	do                  http.HandlerFunc
}

func (a *api) routes() []route {
	return []route{
		{"POST", "/v1/check", Check, a.check},
		{"GET", "/v1/auth", Check, a.auth},
		{"POST", "/v1/report", Report, a.report},
		{"POST", "/v1/refund", Check, a.refund},
		{"POST", "/v1/release", Check, a.release},
		{"POST", "/v1/renew", Check, a.renew},
		{"POST", "/v1/explain", Read, a.explain},
		{"GET", "/v1/rules", Read, a.rules},
		{"GET", "/v1/windows/{rule}", Read, a.query},
		{"DELETE", "/v1/windows/{rule}", Admin, a.reset},
		{"GET", "/v1/locks", Read, a.locks},
		{"DELETE", "/v1/locks", Admin, a.unlock},
		{"GET", "/v1/top", Read, a.top},
		{"POST", "/v1/reload", Admin, a.reload},
		{"GET", "/metrics", Read, a.metrics},
		{"GET", "/version", Read, a.version},
		{"GET", "/healthz", "", health},
		{"GET", "/readyz", "", a.ready},
		{"GET", "/openapi.json", "", document},
	}
}

// guard lets a request pass that may use this scope.
func (a *api) guard(scope string, next http.HandlerFunc) http.Handler {
	if a.o.Authorize == nil || scope == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if no := a.o.Authorize(r, scope); no != nil {
			w.Header().Set("WWW-Authenticate", no.Challenge)
			problem(w, no.Status, no.Detail)
			return
		}
		next(w, r)
	})
}

// sameOrigin refuses what a page of another site makes a browser send: the browser
// may stand where only this machine can connect.
func sameOrigin(next http.Handler) http.Handler {
	p := http.NewCrossOriginProtection()
	p.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		problem(w, http.StatusForbidden, "a page of another site sent this; the API is not for browsers")
	}))
	return p.Handler(next)
}

func health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
}

func (a *api) version(w http.ResponseWriter, _ *http.Request) {
	answer(w, struct {
		Version string `json:"version"`
		Go      string `json:"go"`
	}{a.o.Version, runtime.Version()})
}

func (a *api) metrics(w http.ResponseWriter, r *http.Request) {
	if a.o.Metrics == nil {
		problem(w, http.StatusNotFound, "this server has no metrics")
		return
	}
	a.o.Metrics.ServeHTTP(w, r)
}

func (a *api) check(w http.ResponseWriter, r *http.Request) {
	if isStream(r) {
		a.stream(w, r)
		return
	}
	body, ok := a.readBody(w, r)
	if !ok {
		return
	}
	if isArray(body) {
		a.checkBatch(w, r, body)
		return
	}
	one := checks.Get().(*oneCheck)
	defer one.give()
	if err := a.checkOne(r, body, one); err != nil {
		fail(w, err)
		return
	}
	answerDecision(w, &one.d)
}

// oneCheck is an event and the decision on it. Who is told of them could keep both,
// for all that the compiler knows, so they are used again rather than made.
type oneCheck struct {
	ev slidegate.Event
	d  slidegate.Decision
}

var checks = sync.Pool{New: func() any { return new(oneCheck) }}

// give makes the place free for another request. It keeps no text of this one.
func (c *oneCheck) give() {
	*c = oneCheck{}
	checks.Put(c)
}

// checkOne decides on the event that a text holds.
func (a *api) checkOne(r *http.Request, text string, into *oneCheck) (err error) {
	if into.ev, err = a.decodeEvent(text); err != nil {
		return err
	}
	if into.d, err = a.gate.Check(whole(r), into.ev); err != nil {
		return err
	}
	a.decided(&into.ev, &into.d)
	return nil
}

// decided tells of a decision, and of the event that it is about.
func (a *api) decided(ev *slidegate.Event, d *slidegate.Decision) {
	if a.o.Decided != nil {
		a.o.Decided(ev, d)
	}
}

// readBody reads a body that is not too long, or answers why it does not.
func (a *api) readBody(w http.ResponseWriter, r *http.Request) (body string, ok bool) {
	var err error
	if r.ContentLength > a.limits.Body {
		err = &http.MaxBytesError{Limit: a.limits.Body}
	} else if body, err = readAll(http.MaxBytesReader(w, r.Body, a.limits.Body)); err == nil {
		return body, true
	}
	if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
		w.Header().Set("Connection", "close")
		problem(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is over %d bytes; send less at once", a.limits.Body))
	} else {
		problem(w, http.StatusBadRequest, "the body could not be read: "+err.Error())
	}
	return "", false
}

func (a *api) checkBatch(w http.ResponseWriter, r *http.Request, body string) {
	evs, ok := a.readBatch(w, body)
	if !ok {
		return
	}
	ds, err := a.gate.CheckBatch(whole(r), evs)
	if err != nil {
		fail(w, numbered(err, len(evs)))
		return
	}
	for i := range ds {
		a.decided(&evs[i], &ds[i])
	}
	answerDecisions(w, ds)
}

// whole returns the context of a decision: one that was begun is made, also for a
// client that has closed its side of the connection and waits for the answer.
func whole(r *http.Request) context.Context { return context.WithoutCancel(r.Context()) }
