package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// refund gives back what a decision charged.
func (a *api) refund(w http.ResponseWriter, r *http.Request) {
	a.settle(w, r, func(ctx context.Context, id string) (any, error) {
		given, err := a.gate.Refund(ctx, id)
		return struct {
			Refunded bool `json:"refunded"`
		}{given}, err
	})
}

// release ends what a decision has in flight.
func (a *api) release(w http.ResponseWriter, r *http.Request) {
	a.settle(w, r, func(ctx context.Context, id string) (any, error) {
		released, err := a.gate.Release(ctx, id)
		return struct {
			Released bool `json:"released"`
		}{released}, err
	})
}

// renew lets what a decision has in flight stay for another hold.
func (a *api) renew(w http.ResponseWriter, r *http.Request) {
	a.settle(w, r, func(ctx context.Context, id string) (any, error) {
		next, renewed, err := a.gate.Renew(ctx, id)
		return struct {
			ID      string `json:"id"`
			Renewed bool   `json:"renewed"`
		}{next, renewed}, err
	})
}

// settle reads the id of a decision and answers with what do does about it.
func (a *api) settle(w http.ResponseWriter, r *http.Request, do func(context.Context, string) (any, error)) {
	body, ok := a.readBody(w, r)
	if !ok {
		return
	}
	id, err := decodeID([]byte(body))
	if err != nil {
		problem(w, http.StatusBadRequest, err.Error())
		return
	}
	v, err := do(whole(r), id)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, v)
}

// decodeID reads {"id":"…"}, as strictly as an event is read.
func decodeID(body []byte) (string, error) {
	if len(bytes.Trim(body, blanks)) == 0 {
		return "", errors.New(`the body is empty; send {"id":"…"}, with the id of a decision`)
	}
	var value json.RawMessage
	err := decodeJSON(body, &value)
	id := ""
	if err == nil {
		id, err = readID(value)
	}
	if err != nil {
		return "", fmt.Errorf(`the body is not {"id":"…"}, with the id of a decision: %w`, err)
	}
	return id, nil
}

// readID reads the one member of an object. Its name must be spelled so: package
// json would take ID for id, and the last of several. value is JSON, so reading a
// token does not fail.
func readID(value json.RawMessage) (string, error) {
	d := json.NewDecoder(bytes.NewReader(value))
	if t, _ := d.Token(); t != json.Delim('{') {
		return "", errors.New("want an object")
	}
	id := ""
	for d.More() {
		name, _ := d.Token()
		switch {
		case name != "id":
			return "", fmt.Errorf("unknown field %.50q; there is only id", name)
		case id != "":
			return "", errors.New("id is given twice")
		}
		t, _ := d.Token()
		if id, _ = t.(string); id == "" {
			return "", errors.New("id: want a text that is not empty")
		}
	}
	if id == "" {
		return "", errors.New("it has no id")
	}
	return id, nil
}
