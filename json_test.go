package slidegate_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
)

func TestEventJSON(t *testing.T) {
	var e slidegate.Event
	in := `{"event":"login","attrs":{"account":"a1","ip":"10.1.2.3","n":12345678901234567890,"f":1.50,"empty":""},"cost":3,"time":"2026-01-02T03:04:05.000006Z"}`
	if err := json.Unmarshal([]byte(in), &e); err != nil {
		t.Fatal(err)
	}
	if e.Name != "login" || e.Cost.Units() != 3 || !e.Time.Equal(time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)) {
		t.Errorf("got %+v", e)
	}
	for name, want := range map[string]string{"account": "a1", "n": "12345678901234567890", "f": "1.50", "empty": ""} {
		v, ok := e.Attr(name)
		if !ok || v.String() != want {
			t.Errorf("%s = %q, %v; want %q", name, v, ok, want)
		}
	}
	if err := json.Unmarshal([]byte(`{"event":"e","time":1700000000000001}`), &e); err != nil || e.Time.UnixMicro() != 1700000000000001 || e.Cost.Units() != 1 {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestEventJSONErrors(t *testing.T) {
	for in, want := range map[string]string{
		`[]`:                                           "want an object",
		`"x"`:                                          "want an object",
		`{"event":1}`:                                  "event: want a text, got 1",
		`{"event":null}`:                               "event: want a text, got null",
		`{"evnt":"e"}`:                                 `unknown field "evnt"`,
		`{"event":"e","event":"f"}`:                    "given twice",
		`{"event":"e","attrs":{"a":1,"a":2}}`:          "given twice",
		`{"event":"e","attrs":{"a":null}}`:             "a: want a text or a number, got null",
		`{"event":"e","attrs":{"a":true}}`:             "got true",
		`{"event":"e","attrs":{"a":[1]}}`:              "got a list",
		`{"event":"e","attrs":{"a":1e999}}`:            "too large",
		`{"event":"e","attrs":7}`:                      "attrs: want an object",
		`{"event":"e","cost":1.5}`:                     "cost: want a whole number",
		`{"event":"e","cost":"1"}`:                     "cost: want a whole number",
		`{"event":"e","cost":1e3}`:                     "cost: want a whole number",
		`{"event":"e","time":"yesterday"}`:             "time: want RFC 3339",
		`{"event":"e","time":"0001-01-01T00:00:00Z"}`:  "time: want RFC 3339",
		`{"event":"e","attrs":{"a":"\ud800"}}`:         "surrogate",
		`{"event":"e","attrs":{"a":"\udc00\ud800"}}`:   "surrogate",
		"{\"event\":\"e\",\"attrs\":{\"a\":\"\xff\"}}": "UTF-8",
	} {
		e := slidegate.Event{Name: "before"}
		err := e.UnmarshalJSON([]byte(in))
		if !errors.Is(err, slidegate.ErrEvent) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", in, err, want)
		}
		if e.Name != "before" {
			t.Errorf("%s: the event was changed", in)
		}
	}
	var e slidegate.Event
	for _, in := range []string{`{"event":"e"} {}`, `{"event":"e"`, `{"event"`, ``, `{"event":"e",}`, `{"event":"e"}x`} {
		if err := e.UnmarshalJSON([]byte(in)); !errors.Is(err, slidegate.ErrEvent) {
			t.Errorf("%q: %v", in, err)
		}
	}
	if err := e.UnmarshalJSON([]byte(`{"event":"e","attrs":{"a":"\ud83d\ude00 \\ud800"}}`)); err != nil {
		t.Errorf("a whole pair and an escaped backslash: %v", err)
	}
}

func TestDecisionJSON(t *testing.T) {
	d := slidegate.Decision{Action: slidegate.Reject, Rule: "r", Reason: slidegate.ReasonLimit, RetryAfter: 1500 * time.Microsecond}
	d.Reserve(1, 1)
	d.Windows()[0] = slidegate.WindowState{Rule: "r", Limit: "2 sum(v) per 1s", Used: 1500, Max: 2000, Remaining: 500, Scale: 3, Refused: true, RetryAfter: 1500 * time.Microsecond, ResetAfter: time.Second}
	d.Shadow()[0] = slidegate.WindowState{Rule: "s", Limit: "1 per 1s", Max: 1, Remaining: 1}
	got, err := json.Marshal(&d)
	want := `{"action":"reject","admitted":false,"rule":"r","reason":"limit","retry_after_us":1500,` +
		`"windows":[{"rule":"r","limit":"2 sum(v) per 1s","used":1.5,"max":2,"remaining":0.5,"retry_after_us":1500,"reset_after_us":1000000,"refused":true}],` +
		`"shadow":[{"rule":"s","limit":"1 per 1s","used":0,"max":1,"remaining":1}]}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s %v\nwant %s", got, err, want)
	}
}

func TestFormatUnits(t *testing.T) {
	for _, c := range []struct {
		n     int64
		scale uint8
		want  string
	}{{199990, 3, "199.99"}, {0, 3, "0"}, {5, 3, "0.005"}, {-5, 3, "-0.005"}, {12, 0, "12"}, {1000, 3, "1"}, {-9223372036854775808, 0, "-9223372036854775808"}} {
		if got := slidegate.FormatUnits(c.n, c.scale); got != c.want {
			t.Errorf("FormatUnits(%d, %d) = %s, want %s", c.n, c.scale, got, c.want)
		}
	}
}
