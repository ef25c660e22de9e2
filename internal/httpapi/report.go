package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
)

// reported is the answer to a report.
type reported struct {
	Settled bool                    `json:"settled,omitempty"`
	Full    bool                    `json:"full,omitempty"`
	Windows []slidegate.WindowState `json:"windows,omitempty"`
	Locked  []lockInfo              `json:"locked,omitempty"`
}

// report records what happened: one event, or an array of them. Of an array nothing is
// recorded if one is wrong.
func (a *api) report(w http.ResponseWriter, r *http.Request) {
	body, ok := a.readBody(w, r)
	if !ok {
		return
	}
	if isArray(body) {
		a.reportBatch(w, r, body)
		return
	}
	ev, err := a.decodeEvent(body)
	if err != nil {
		fail(w, err)
		return
	}
	out, err := a.gate.Report(whole(r), ev)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, newReported(&out))
}

func (a *api) reportBatch(w http.ResponseWriter, r *http.Request, body string) {
	evs, ok := a.readBatch(w, body)
	if !ok {
		return
	}
	outs, err := a.gate.ReportBatch(whole(r), evs)
	if err != nil {
		fail(w, numbered(err, len(evs)))
		return
	}
	all := make([]reported, len(outs))
	for i := range outs {
		all[i] = newReported(&outs[i])
	}
	answer(w, all)
}

func newReported(r *gate.Reported) reported {
	out := reported{Settled: r.Settled, Full: r.Full, Windows: r.Windows}
	for i := range r.Locked {
		out.Locked = append(out.Locked, newLockInfo(&r.Locked[i], r.Locked[i].Since))
	}
	return out
}

// lockInfo is a lock as other programs see it.
type lockInfo struct {
	Rule  string     `json:"rule"`
	Limit string     `json:"limit,omitempty"`
	Key   []nameText `json:"key,omitempty"`
	Since string     `json:"since"`
	Until string     `json:"until"`
	Times int        `json:"times"`
	Holds bool       `json:"holds"`
}

// nameText is a part of a key: two may be of the same attribute.
type nameText struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func newLockInfo(l *gate.Lock, now time.Time) lockInfo {
	return lockInfo{
		Rule: l.Rule, Limit: l.Limit, Key: texts(l.Key), Times: l.Times, Holds: l.Holds(now),
		Since: l.Since.UTC().Format(time.RFC3339Nano), Until: l.Until.UTC().Format(time.RFC3339Nano),
	}
}

func texts(attrs []slidegate.Attr) (all []nameText) {
	for i := range attrs {
		all = append(all, nameText{attrs[i].Name, attrs[i].Value.String()})
	}
	return all
}

// locks answers with the locks that hold and, with all=true, those that are remembered.
func (a *api) locks(w http.ResponseWriter, r *http.Request) {
	all := false
	for name, values := range r.URL.Query() {
		if name != "all" || len(values) != 1 || values[0] != "true" && values[0] != "false" {
			problem(w, http.StatusBadRequest, "there is one parameter: all=true, for those that are over and remembered, too")
			return
		}
		all = values[0] == "true"
	}
	locks, err := a.gate.Locks(r.Context())
	if err != nil {
		fail(w, err)
		return
	}
	out := struct {
		Locks []lockInfo `json:"locks"`
	}{[]lockInfo{}}
	now := a.gate.Time()
	for i := range locks {
		if all || locks[i].Holds(now) {
			out.Locks = append(out.Locks, newLockInfo(&locks[i], now))
		}
	}
	answer(w, out)
}

// maxReason is how many bytes the reason for lifting a lock may have.
const maxReason = 500

// unlock lifts the locks of a rule for a key.
func (a *api) unlock(w http.ResponseWriter, r *http.Request) {
	key, more, err := a.keyAnd(r.URL.RawQuery, "rule", "reason")
	if err == nil && (more["rule"] == "" || more["reason"] == "" || len(more["reason"]) > maxReason) {
		err = fmt.Errorf("say whose lock is lifted, and why: rule=NAME, %s, and reason=TEXT of up to %d bytes", wantKey, maxReason)
	}
	if err != nil {
		problem(w, http.StatusBadRequest, err.Error())
		return
	}
	ok, err := a.gate.Unlock(whole(r), more["rule"], key...)
	if err != nil {
		fail(w, err)
		return
	}
	if a.o.Unlocked != nil {
		a.o.Unlocked(r, more["rule"], more["reason"], ok)
	}
	answer(w, struct {
		Rule     string `json:"rule"`
		Unlocked bool   `json:"unlocked"`
	}{more["rule"], ok})
}

// top answers with what is going on.
func (a *api) top(w http.ResponseWriter, r *http.Request) {
	if a.o.Top == nil {
		problem(w, http.StatusNotFound, "this server does not watch what is going on")
		return
	}
	v, err := a.o.Top(r.Context())
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, v)
}
