package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// parseJSON reads one line the way a Reader does.
func parseJSON(line, timeField string) (string, TimeKind, error) {
	var rec Record
	p := jsonParser{event: DefaultEvent, timeField: timeField}
	kind, err := p.parse(line, &rec)
	if err != nil {
		return "", kind, err
	}
	return show(&rec), kind, nil
}

func TestJSON(t *testing.T) {
	const at = `"time":"2026-03-01T10:00:00Z"`
	for _, c := range []struct{ name, line, timeField, want string }{
		{name: "flat", line: `{` + at + `,"user":"a","n":5}`, want: `http user=a n=#5`},
		{name: "only a time", line: ` { ` + at + ` } `, want: `http`},
		{name: "event", line: `{"event":"login",` + at + `}`, want: `login`},
		{name: "event that is no text", line: `{"event":4625,` + at + `,"a":1}`, want: `http a=#1`},
		{name: "event with members", line: `{"event":{"kind":"x"},` + at + `}`, want: `http event.kind=x`},
		{name: "numbers keep their spelling", line: `{"a":12345678901234567890,"b":1.50,"c":-1e-7,"d":0,` + at + `}`, want: `http a=#12345678901234567890 b=#1.50 c=#-1e-7 d=#0`},
		{name: "other values", line: `{"t":true,"f":false,"n":null,"e":"","l":[1,{"x":[]},"]"],` + at + `}`, want: `http t=true f=false e=`},
		{name: "nested", line: `{"a":{"b":{"c":"x"},"d":1,"l":[2]},"a.e":2,"o":{},` + at + `}`, want: `http a.b.c=x a.d=#1 a.e=#2`},
		{name: "escapes", line: `{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00","\u0062":"c",` + at + `}`, want: "http a=\"\\/\b\f\n\r\té😀 b=c"},
		{name: "bytes as they are", line: "{\"a\":\"\xff\x7f\xc3\"," + at + "}", want: "http a=\xff\x7f\xc3"},
		{name: "cost is an attribute here", line: `{"cost":2,` + at + `}`, want: `http cost=#2`},
		{name: "timestamp", line: `{"timestamp":1772359200}`, want: `http`},
		{name: "ts", line: `{"ts":1772359200000}`, want: `http`},
		{name: "@timestamp", line: `{"@timestamp":"1772359200000000"}`, want: `http`},
		{name: "the first of them", line: `{"@timestamp":1,"ts":2,"timestamp":3,` + at + `}`, want: `http @timestamp=#1 ts=#2 timestamp=#3`},
		{name: "a time that is null is none", line: `{"time":null,"ts":1772359200}`, want: `http`},
		{name: "a time that is an object is none", line: `{"time":{"ms":5},"ts":1772359200}`, want: `http time.ms=#5`},
		{name: "named field", line: `{"when":1772359200,"time":3}`, timeField: "when", want: `http time=#3`},
		{name: "named field inside", line: `{"meta":{"when":1772359200,"id":"x"}}`, timeField: "meta.when", want: `http meta.id=x`},
		{name: "own shape", line: `{"event":"sms.send","attrs":{"phone":"1","n":2},"cost":3,` + at + `}`, want: `sms.send phone=1 n=#2 cost=3`},
		{name: "own shape, least", line: `{"attrs":{},` + at + `}`, want: `http`},
		{name: "own shape, cost 0", line: `{"attrs":{},"cost":0,` + at + `}`, want: `http cost=0`},
		{name: "own shape, cost null", line: `{"attrs":{},"cost":null,` + at + `}`, want: `http`},
		{name: "own shape, passed", line: `{"attrs":{},"passed":["captcha", "\u00e9\"" ],` + at + `}`, want: `http passed=["captcha" "é\""]`},
		{name: "own shape, nothing passed", line: `{"attrs":{},"passed":[ ],` + at + `}`, want: `http`},
		{name: "own shape, passed null", line: `{"attrs":{},"passed":null,` + at + `}`, want: `http`},
		{name: "passed as an attribute", line: `{"passed":"x","l":["y"],` + at + `}`, want: `http passed=x`},
		{name: "own shape, nested", line: `{"attrs":{"geo":{"country":"DE"},"l":[1],"b":true},` + at + `}`, want: `http geo.country=DE b=true`},
		{name: "own shape, time among the attributes", line: `{"attrs":{"ts":1772359200,"a":"b"}}`, timeField: "attrs.ts", want: `http a=b`},
		{name: "attrs that is no object", line: `{"attrs":"x","cost":-1,` + at + `}`, want: `http attrs=x cost=#-1`},
	} {
		got, kind, err := parseJSON(c.line, c.timeField)
		if err != nil || kind == KindNone {
			t.Errorf("%s: %s, %v", c.name, kind, err)
		} else if got != c.want+atTime {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want+atTime)
		}
	}
}

func TestJSONErrors(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 70)
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"a%d":1,`, i)
		}
		return b.String()
	}
	for _, c := range []struct{ name, line, want string }{
		{"empty", ``, "does not begin with {"},
		{"array", `[1]`, "does not begin with {"},
		{"cut", `{"time":1,"a":`, "ends in the middle"},
		{"cut in a text", `{"time":1,"a":"b`, "ends in the middle"},
		{"cut in an escape", `{"time":1,"a":"\u12`, "begins no escape"},
		{"cut behind a backslash", `{"time":1,"a":"\`, "begins no escape"},
		{"first line of an indented object", `{`, "jq -c"},
		{"cut behind an escape", `{"time":1,"a":"\n`, "ends in the middle"},
		{"cut in a name", `{"ti`, "ends in the middle"},
		{"too deep in an array", `{"time":1,"o":[` + strings.Repeat(`{"a":`, 5000), "64 deep"},
		{"error in an array", `{"time":1,"o":[{"a":tru}]}`, "a value is due"},
		{"two objects", `{"time":1} {"time":2}`, "more text behind the end"},
		{"control character", "{\"time\":1,\"a\":\"\x00\"}", "control character"},
		{"control character behind an escape", "{\"time\":1,\"a\":\"\\n\x00\"}", "control character"},
		{"bad escape", `{"time":1,"a":"\x41"}`, "begins no escape"},
		{"half a pair", `{"time":1,"a":"\ud83dx"}`, "half of a surrogate pair"},
		{"the other half", `{"time":1,"a":"\udc00"}`, "half of a surrogate pair"},
		{"two first halves", `{"time":1,"a":"\ud83d\ud83d"}`, "half of a surrogate pair"},
		{"bad escape in hex", `{"time":1,"a":"\u12g4"}`, "begins no escape"},
		{"leading zero", `{"time":1,"a":01}`, `"01}" at byte 15, where a value is due`},
		{"word", `{"time":1,"a":nil}`, `"nil}" at byte 15, where a value is due`},
		{"comma at the end", `{"time":1,}`, "a name in quotes is due"},
		{"comma at the end of an array", `{"time":1,"a":[1,]}`, "a value is due"},
		{"no colon", `{"time" 1}`, "a colon is due"},
		{"name without quotes", `{time:1}`, "a name in quotes is due"},
		{"array not closed", `{"time":1,"a":[1}`, "a comma or the end of the array is due"},
		{"given twice", `{"time":1,"a":1,"a":1}`, `"a" is given twice`},
		{"given twice, once null", `{"time":1,"a":null,"a":1}`, `"a" is given twice`},
		{"given twice inside", `{"time":1,"o":{"a":1,"a":2}}`, `"o.a" is given twice`},
		{"given twice by a dot", `{"time":1,"o":{"a":1},"o.a":2}`, `"o.a" is given twice`},
		{"given twice by an escape", `{"time":1,"a":1,"\u0061":2}`, `"a" is given twice`},
		{"given twice among many", `{"time":1,` + members(500) + `"a7":2}`, `"a7" is given twice`},
		{"too many", `{` + members(maxAttrs) + `"time":1}`, "more than 1000 fields"},
		{"too deep", `{"time":1,"o":` + deep + `1` + strings.Repeat("}", 71), "64 deep"},
		{"too deep in arrays", `{"time":1,"o":` + strings.Repeat("[", 5000), "64 deep"},
		{"empty name", `{"time":1,"":1}`, "empty name"},
		{"empty name inside", `{"time":1,"a":{"":1}}`, "empty name"},
		{"empty event", `{"time":1,"event":""}`, "name is empty"},
		{"number without end", `{"time":1,"a":1e999}`, "too large"},
		{"no time", `{"a":1}`, "no field time, timestamp, ts or @timestamp"},
		{"time that is none", `{"time":"yesterday"}`, `the field time: "yesterday" is not a time`},
		{"time with an exponent", `{"time":1.7e9}`, `"1.7e9" is not a time`},
		{"time before 1970", `{"time":-1}`, "outside 1970 to 2262"},
		{"own shape, negative cost", `{"time":1,"attrs":{},"cost":-1}`, `the cost "-1" is no whole number`},
		{"own shape, half a cost", `{"time":1,"attrs":{},"cost":1.5}`, `the cost "1.5"`},
		{"own shape, cost as a text", `{"time":1,"attrs":{},"cost":"1"}`, `the cost "1"`},
		{"own shape, cost too large", `{"time":1,"attrs":{},"cost":9223372036854775808}`, `the cost "9223372036854775808"`},
		{"own shape, passed is no list", `{"time":1,"attrs":{},"passed":"captcha"}`, "the field passed is no list of texts"},
		{"own shape, passed holds none", `{"time":1,"attrs":{},"passed":["a",1]}`, "the field passed is no list of texts"},
		{"own shape, passed holds a list", `{"time":1,"attrs":{},"passed":[["a"]]}`, "the field passed is no list of texts"},
		{"own shape, passed holds an empty text", `{"time":1,"attrs":{},"passed":[""]}`, "the field passed is no list of texts"},
		{"own shape, too many passed", `{"time":1,"attrs":{},"passed":["a"` + strings.Repeat(`,"a"`, maxAttrs) + `]}`, "more than 1000 fields"},
		{"own shape, misspelled", `{"time":1,"attrs":{},"cots":1}`, `unknown field "cots" beside attrs`},
		{"own shape, no outcome", `{"time":1,"event":"e","attrs":{},"outcome":"failed"}`, `the field outcome is neither "success" nor "failure"`},
		{"own shape, a dot beside it", `{"time":1,"attrs":{},"attrs.a":1}`, `unknown field "attrs.a"`},
		{"own shape, event is no text", `{"time":1,"attrs":{},"event":5}`, "event is no text"},
		{"own shape, empty event", `{"time":1,"attrs":{},"event":""}`, "name is empty"},
		{"own shape, attribute event", `{"time":1,"attrs":{"event":"x"}}`, "taken by the name of the event"},
	} {
		got, _, err := parseJSON(c.line, "")
		if err == nil {
			t.Errorf("%s: %q, want an error", c.name, got)
		}
		checkError(t, c.name, err, c.want)
	}
	_, _, err := parseJSON(`{"time":1}`, "when")
	checkError(t, "named field", err, `no field "when", which --time names`)
}

// A scanner is used again for each line; nothing of the line before may show.
func TestJSONReuse(t *testing.T) {
	p := jsonParser{event: DefaultEvent}
	var rec Record
	var kept []string
	for _, line := range []string{
		`{"time":1,"o":{"a":"x\n1"},"b":true}`,
		`{"time":2,"o":{"a":`,
		`{"time":3,"o":{"a":"y\n2"}}`,
		`{"time":4}`,
	} {
		if _, err := p.parse(line, &rec); err == nil {
			kept = append(kept, show(&rec))
		}
	}
	want := "http o.a=x\n1 b=true @1000000|http o.a=y\n2 @3000000|http @4000000"
	if got := strings.Join(kept, "|"); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// FuzzJSON: a line parses only if encoding/json takes it for one object; what
// parses is an event fit to be judged.
func FuzzJSON(f *testing.F) {
	for line := range strings.Lines(string(newGenerated(3).json(3))) {
		f.Add(strings.TrimSpace(line))
	}
	f.Add(`{"event":"a","attrs":{"b":{"c":[1,{"d":null}]},"e":1e5},"cost":3,"time":"2026-03-01T10:00:00Z"}`)
	f.Add(`{"attrs":{},"passed":["captcha","\n"],"ts":17}`)
	f.Add(`{"ts":1700000000.5,"\ud83d\ude00":"\u0000","a":{},"b":[]}`)
	f.Fuzz(func(t *testing.T, line string) {
		var s jsonScanner
		err := s.scan(line)
		var members map[string]json.RawMessage
		d := json.NewDecoder(bytes.NewReader([]byte(line)))
		stdErr := d.Decode(&members)
		if _, more := d.Token(); stdErr == nil && !errors.Is(more, io.EOF) {
			stdErr = errBehindJSON
		}
		if err == nil && (stdErr != nil || members == nil) {
			t.Fatalf("%q: parses, encoding/json says %v", line, stdErr)
		}
		stricter := errors.Is(err, errTooDeep) || errors.Is(err, errNoName) || errors.Is(err, errTooManyFields) || errors.Is(err, errHalfPair) ||
			(err != nil && strings.Contains(err.Error(), "given twice"))
		if err != nil && !stricter && stdErr == nil && members != nil {
			t.Fatalf("%q: %v, encoding/json has no error", line, err)
		}
		if err == nil && utf8.ValidString(line) {
			checkTexts(t, s.fields, members)
		}
		var rec Record
		p := jsonParser{event: DefaultEvent}
		if kind, err := p.parse(line, &rec); err == nil {
			checkSane(t, line, kind, &rec)
		}
	})
}

// checkTexts fails unless the texts of the outer object are those that
// encoding/json finds.
func checkTexts(t *testing.T, fields []jsonField, members map[string]json.RawMessage) {
	t.Helper()
	for _, f := range fields {
		if f.nested || f.kind != jsonText {
			continue
		}
		var want string
		if err := json.Unmarshal(members[f.name], &want); err != nil || f.text != want {
			t.Errorf("field %q is %q, encoding/json says %q, %v", f.name, f.text, want, err)
		}
	}
}
