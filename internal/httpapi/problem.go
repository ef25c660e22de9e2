package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/slidegate/slidegate"
)

// fail answers an error of the engine: a bad event, id or rule is the caller's fault.
func fail(w http.ResponseWriter, err error) { problem(w, statusOf(err), said(err)) }

// statusOf returns the status that goes with an error of the engine.
func statusOf(err error) int {
	switch {
	case errors.Is(err, slidegate.ErrUnknownRule):
		return http.StatusNotFound
	case errors.Is(err, slidegate.ErrEvent), errors.Is(err, slidegate.ErrID):
		return http.StatusBadRequest
	case errors.Is(err, slidegate.ErrFull), errors.Is(err, slidegate.ErrClosed):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// said returns an error in one line, without the names of packages in front: who
// asks over HTTP knows of none.
func said(err error) string {
	if errors.Is(err, slidegate.ErrClosed) {
		return "the server is closing"
	}
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "gate: "), "store: ")
	return strings.ReplaceAll(text, "\n", "; ") // joined errors
}

// numbered returns what is wrong with one of so many events. Its text counts them from
// 1, as people do.
func numbered(err error, of int) error {
	if bad, ok := errors.AsType[*slidegate.EventError](err); ok {
		return fmt.Errorf("event %d of %d: %w", bad.Index+1, of, bad.Err)
	}
	return err
}

// problemBody is an RFC 9457 problem.
type problemBody struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func newProblem(status int, detail string) problemBody {
	return problemBody{"about:blank", http.StatusText(status), status, detail}
}

// problem answers with a problem.
func problem(w http.ResponseWriter, status int, detail string) {
	send(w, status, "application/problem+json", newProblem(status, detail))
}

func notAllowed(allow string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		problem(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s %s: use %s", r.Method, r.URL.Path, allow))
	}
}

func notFound(w http.ResponseWriter, r *http.Request) {
	problem(w, http.StatusNotFound, r.URL.Path+": there are POST /v1/check, /v1/refund, /v1/release, /v1/renew, /v1/explain and /v1/reload, GET /v1/auth and /v1/rules, GET and DELETE /v1/windows/RULE, GET /healthz, /readyz, /version, /metrics and /openapi.json")
}
