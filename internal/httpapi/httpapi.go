// Package httpapi answers checks over HTTP and JSON.
package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
)

// Bounds of a request.
const (
	// MaxBody is how many bytes the body of a request may have.
	MaxBody = 1 << 20
	// MaxBatch is how many events an array may hold.
	MaxBatch = 1000
	// MaxAttrs is how many attributes an event may have.
	MaxAttrs = 100
)

// New returns the handler of the API for g:
//
//	POST /v1/check  one event, or an array of them: one decision each
//	GET  /healthz   "ok" as long as the process serves
//
// A check is answered with 200 whether it is allowed or not. What is wrong with
// a request is answered with a problem (RFC 9457) and changes nothing.
func New(g *gate.Gate) http.Handler {
	a := &api{gate: g}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/check", a.check)
	mux.HandleFunc("GET /healthz", health)
	mux.HandleFunc("/v1/check", notAllowed(http.MethodPost))
	mux.HandleFunc("/healthz", notAllowed(http.MethodGet+", "+http.MethodHead))
	mux.HandleFunc("/", notFound)
	return mux
}

type api struct{ gate *gate.Gate }

func health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
}

func (a *api) check(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		problem(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is over %d bytes; send fewer events at once", MaxBody))
		return
	case err != nil:
		problem(w, http.StatusBadRequest, "the body could not be read: "+err.Error())
		return
	}
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) == 0 {
		problem(w, http.StatusBadRequest, `the body is empty; send an event such as {"event":"sms.send","attrs":{"phone":"13800000000"}}`)
		return
	}
	if body[0] == '[' {
		a.checkBatch(w, r, body)
		return
	}
	ev, err := decodeEvent(body)
	if err != nil {
		fail(w, err)
		return
	}
	d, err := a.gate.Check(whole(r), ev)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, &d)
}

func (a *api) checkBatch(w http.ResponseWriter, r *http.Request, body []byte) {
	var raw []json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		problem(w, http.StatusBadRequest, "the body is not an array of events: "+err.Error())
		return
	}
	if len(raw) > MaxBatch {
		problem(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the array has %d events; at most %d go in one request", len(raw), MaxBatch))
		return
	}
	evs := make([]slidegate.Event, len(raw))
	for i := range raw {
		ev, err := decodeEvent(raw[i])
		if err != nil {
			fail(w, fmt.Errorf("event %d: %w", i, err))
			return
		}
		evs[i] = ev
	}
	ds, err := a.gate.CheckBatch(whole(r), evs)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, ds)
}

// whole returns the context of a decision: one that was begun is made, also for a
// client that has closed its side of the connection and waits for the answer.
func whole(r *http.Request) context.Context { return context.WithoutCancel(r.Context()) }

func decodeEvent(data []byte) (slidegate.Event, error) {
	var ev slidegate.Event
	// Not json.Unmarshal: it would check the syntax first and say less.
	if err := ev.UnmarshalJSON(data); err != nil {
		return ev, err
	}
	if n := len(ev.Attrs); n > MaxAttrs {
		return ev, fmt.Errorf("%w: attrs: %d attributes; at most %d", slidegate.ErrEvent, n, MaxAttrs)
	}
	return ev, nil
}

// answer writes a decision or a list of them.
func answer(w http.ResponseWriter, v any) {
	out, err := json.Marshal(v)
	if err != nil { // cannot happen: decisions hold numbers and texts
		problem(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(out, '\n'))
}

// fail answers an error of the engine: a bad event is the caller's fault.
func fail(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, slidegate.ErrEvent):
		problem(w, http.StatusBadRequest, strings.ReplaceAll(err.Error(), "\n", "; ")) // joined errors
	case errors.Is(err, slidegate.ErrClosed):
		problem(w, http.StatusServiceUnavailable, "the server is closing")
	default:
		problem(w, http.StatusInternalServerError, err.Error())
	}
}

// problem writes an RFC 9457 problem.
func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	out, err := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"about:blank", http.StatusText(status), status, detail})
	if err != nil {
		return // unreachable: texts and a number
	}
	_, _ = w.Write(append(out, '\n'))
}

func notAllowed(allow string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		problem(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s %s: use %s", r.Method, r.URL.Path, allow))
	}
}

func notFound(w http.ResponseWriter, r *http.Request) {
	problem(w, http.StatusNotFound, r.URL.Path+": there are POST /v1/check and GET /healthz")
}
