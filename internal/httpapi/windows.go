package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/slidegate/slidegate"
)

// query answers with how the windows of a rule stand for a key.
func (a *api) query(w http.ResponseWriter, r *http.Request) {
	key, err := a.keyOf(r.URL.RawQuery)
	if err != nil {
		problem(w, http.StatusBadRequest, err.Error())
		return
	}
	states, err := a.gate.Query(r.Context(), r.PathValue("rule"), key...)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, struct {
		Rule    string                  `json:"rule"`
		Windows []slidegate.WindowState `json:"windows"`
	}{r.PathValue("rule"), states})
}

// reset empties the windows of a rule for a key.
func (a *api) reset(w http.ResponseWriter, r *http.Request) {
	key, err := a.keyOf(r.URL.RawQuery)
	if err != nil {
		problem(w, http.StatusBadRequest, err.Error())
		return
	}
	if err := a.gate.Reset(whole(r), r.PathValue("rule"), key...); err != nil {
		fail(w, err)
		return
	}
	answer(w, struct {
		Rule  string `json:"rule"`
		Reset bool   `json:"reset"`
	}{r.PathValue("rule"), true})
}

// wantKey says how to name a key. No error shows the query that was sent: a value
// in it may be a secret.
const wantKey = "write key=NAME=VALUE for each attribute, as in key=phone=13800000000, with & in a value as %26 and % as %25"

// keyOf reads the attributes that a key is built from: key=NAME=VALUE for each.
func (a *api) keyOf(raw string) ([]slidegate.Attr, error) {
	attrs, _, err := a.keyAnd(raw)
	return attrs, err
}

// keyAnd is keyOf where the query has other parameters, too, once each.
func (a *api) keyAnd(raw string, others ...string) ([]slidegate.Attr, map[string]string, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, nil, errors.New("the query cannot be read; " + wantKey)
	}
	more := map[string]string{}
	for _, name := range others {
		if values := query[name]; len(values) > 1 {
			return nil, nil, fmt.Errorf("%s is given twice", name)
		}
		more[name] = query.Get(name)
		delete(query, name)
	}
	attrs, err := a.keyIn(query)
	return attrs, more, err
}

func (a *api) keyIn(query url.Values) ([]slidegate.Attr, error) {
	if n := len(query["key"]); n > a.limits.Attrs {
		return nil, fmt.Errorf("key: %d attributes; at most %d", n, a.limits.Attrs)
	}
	for name := range query {
		if name != "key" {
			return nil, errors.New("there is a parameter that is not key; " + wantKey)
		}
	}
	var attrs []slidegate.Attr
	for _, text := range query["key"] {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, errors.New("a key has no name; " + wantKey)
		}
		attrs = append(attrs, slidegate.String(name, value))
	}
	return attrs, nil
}
