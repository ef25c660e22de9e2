package httpapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/slidegate/slidegate"
)

// reload reads the rules again. A file that is wrong is refused whole, and the rules
// before it go on.
func (a *api) reload(w http.ResponseWriter, _ *http.Request) {
	if a.o.Reload == nil {
		problem(w, http.StatusNotFound, "this server cannot read its rules again")
		return
	}
	lost, err := a.o.Reload()
	switch {
	case errors.Is(err, slidegate.ErrClosed):
		fail(w, err)
		return
	case err != nil:
		problem(w, http.StatusUnprocessableEntity, "the rules before go on: "+said(err))
		return
	}
	type forgotten struct {
		Rule  string `json:"rule"`
		Limit string `json:"limit"`
		Why   string `json:"why"`
	}
	out := struct {
		Reloaded  bool        `json:"reloaded"`
		Rules     int         `json:"rules"`
		Forgotten []forgotten `json:"forgotten"`
	}{true, len(a.gate.Plan().Rules()), []forgotten{}}
	for _, f := range lost {
		out.Forgotten = append(out.Forgotten, forgotten(f))
	}
	answer(w, out)
}

// ready says whether the server wants requests. Rules that could not be read again
// do not make it unready: those before them go on. Everybody may ask, so it does not
// say what is wrong with them.
func (a *api) ready(w http.ResponseWriter, _ *http.Request) {
	var s State
	if a.o.State != nil {
		s = a.o.State()
	}
	out := struct {
		Ready        bool   `json:"ready"`
		Draining     bool   `json:"draining,omitempty"`
		Rules        int    `json:"rules"`
		Loaded       string `json:"rules_loaded,omitempty"`
		ReloadFailed string `json:"reload_failed,omitempty"`
		NotDurable   bool   `json:"not_durable,omitempty"`
	}{!s.Draining, s.Draining, len(a.gate.Plan().Rules()), stamp(s.Loaded), stamp(s.Failed), s.NotDurable}
	status := http.StatusOK
	if s.Draining {
		status = http.StatusServiceUnavailable
	}
	send(w, status, "application/json", out)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
