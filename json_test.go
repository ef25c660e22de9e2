package slidegate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
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
		`{"event":"e","outcome":"failed"}`:             "outcome: want \"success\" or \"failure\"",
		`{"event":"e","outcome":1}`:                    "outcome: want",
		`{"event":"e","decision":""}`:                  "decision: want the id of a decision",
		`{"event":"e","decision":7}`:                   "decision: want the id of a decision",
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

// TestEventJSONErrorsQuoteNoValue: what an attribute holds lies in no error, for it
// may be a secret, and what is no JSON is told by its place.
func TestEventJSONErrorsQuoteNoValue(t *testing.T) {
	for in, want := range map[string]string{
		`{"event":"e","attrs":{"token":7351e88042}}`:           "attrs: token: the number is too large; the largest is about 1.8e308",
		`{"event":"e","attrs":{"token":"7351\ud800"}}`:         "half of a surrogate pair at byte 36 of the event",
		"{\"event\":\"e\",\"attrs\":{\"token\":\"7351\xff\"}}": "the text is not UTF-8",
		`{"event":"e","attrs":"token=7351"}`:                   "attrs: want an object, got a text",
		`{"event":"e","attrs":7351}`:                           "attrs: want an object, got a number",
		`"7351"`:                                               "want an object, got a text",
		`7351`:                                                 "want an object, got a number",
		`{"event":"e","attrs":{"token":07351}}`:                "the JSON goes wrong at byte 32: after object key:value pair",
		`{"event":"e","attrs":{"token":x7351}}`:                "the JSON goes wrong at byte 31: looking for beginning of value",
		`{"event":"e","attrs":{"token":"7351\ "}}`:             "the JSON goes wrong at byte 37: in string escape code",
		`{"event":"e","attrs":{"token":"7351`:                  "the JSON ends too early",
		`{"event":"e","attrs":{"token":7351`:                   "the JSON ends too early",
		`{"event":"e" "attrs":{"token":7351}}`:                 "the JSON goes wrong at byte 14: after object key:value pair",
		`{"event":"e","attrs":{"token":[7351]}}`:               "attrs: token: want a text or a number, got a list; leave it out if there is none",
		`{"event":"e","token":7351}`:                           `unknown field "token"; an event has event, attrs, cost and passed (a report outcome, decision and time), and attributes go into attrs`,
	} {
		var e slidegate.Event
		if err := e.UnmarshalJSON([]byte(in)); !errors.Is(err, slidegate.ErrEvent) || err.Error() != "bad event: "+want {
			t.Errorf("%s: %v; want %q", in, err, want)
		}
	}
	if _, err := slidegate.NumberValue("0x7351"); err == nil || strings.Contains(err.Error(), "7351") {
		t.Errorf("a text that is no number: %v", err)
	}
}

// TestDecisionJSONUnescaped: <, > and & are escaped by encoders that escape them,
// and not by those that do not.
func TestDecisionJSONUnescaped(t *testing.T) {
	d := slidegate.Decision{Action: slidegate.Reject, Message: "<1 & more>"}
	d.Reserve(1, 0)
	d.Windows()[0] = slidegate.WindowState{Limit: "3 count where links > 0 per 1h"}
	var plain strings.Builder
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil || !strings.Contains(plain.String(), `"message":"<1 & more>"`) || !strings.Contains(plain.String(), "links > 0") {
		t.Errorf("%s, %v", &plain, err)
	}
	if escaped, err := json.Marshal(d); err != nil || bytes.ContainsAny(escaped, "<>&") {
		t.Errorf("%s, %v", escaped, err)
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

// TestEventPassed: the challenges that were met go through JSON, and nothing else
// is taken for them.
func TestEventPassed(t *testing.T) {
	var ev slidegate.Event
	if err := json.Unmarshal([]byte(`{"event":"e","passed":["captcha","totp"]}`), &ev); err != nil || !ev.HasPassed("totp") || ev.HasPassed("") || len(ev.Passed) != 2 {
		t.Errorf("%+v, %v", ev, err)
	}
	out, err := json.Marshal(ev)
	if want := `{"event":"e","passed":["captcha","totp"]}`; err != nil || string(out) != want {
		t.Errorf("%s, %v", out, err)
	}
	for body, want := range map[string]string{
		`{"event":"e","passed":"captcha"}`:      `passed: want a list of texts, got "captcha"`,
		`{"event":"e","passed":null}`:           "passed: want a list of texts, got null",
		`{"event":"e","passed":["a",1]}`:        "passed[1]: want a text, got 1",
		`{"event":"e","passed":[["a"]]}`:        "passed[0]: want a text, got a list",
		`{"event":"e","passed":["a"`:            "unexpected end",
		`{"event":"e","passed":[],"passed":[]}`: `field "passed" is given twice`,
	} {
		if err := json.Unmarshal([]byte(body), &ev); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
	if err := (&slidegate.Event{Name: "e", Passed: []string{"a", ""}}).Validate(); err == nil || !strings.Contains(err.Error(), "passed[1]") {
		t.Errorf("an empty name: %v", err)
	}
}

// FuzzEvent: whatever is read as an event is a whole one that goes through JSON
// unchanged, and whatever is not changes nothing.
func FuzzEvent(f *testing.F) {
	for _, seed := range []string{
		`{"event":"sms.send","attrs":{"phone":"13800000000","size":12},"cost":1,"passed":["captcha"]}`,
		`{"event":"e","time":"2026-01-01T00:00:00Z"}`, `{"event":"e","time":1700000000000000}`, `{"event":"e","attrs":{"a":1e400,"a":-0.0}}`,
		`{"event":"\ud800","attrs":{"\u0000":"\ufffd"}}`, `{"event":"e","passed":[[]]}`, `{"event":1}`, `[]`, `null`, `{"event":"e"}{}`, "{\"event\":\"\xff\"}",
		`{"event":"e","cost":-9223372036854775808}`, `{"event":"e","cost":1.0}`, `{"attrs":{"a":{"b":1}}}`, `{"event":"e","attrs":{"event":"x"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := slidegate.Event{Name: "before", Attrs: []slidegate.Attr{slidegate.Int("n", 1)}}
		ev := before
		if err := ev.UnmarshalJSON(data); err != nil {
			if !errors.Is(err, slidegate.ErrEvent) || !reflect.DeepEqual(ev, before) {
				t.Fatalf("%q: %v left %+v", data, err, ev)
			}
			return
		}
		if ev.Validate() != nil {
			return
		}
		out, err := json.Marshal(ev)
		if err != nil {
			t.Fatalf("%q: %+v cannot be written: %v", data, ev, err)
		}
		var again slidegate.Event
		if err := again.UnmarshalJSON(out); err != nil || !ev.Time.Equal(again.Time) {
			t.Fatalf("%q became %s: %v", data, out, err)
		}
		if ev.Time = again.Time; !reflect.DeepEqual(ev, again) && len(ev.Attrs)+len(ev.Passed) > 0 {
			t.Fatalf("%q became %s: %+v and %+v", data, out, ev, again)
		}
	})
}
