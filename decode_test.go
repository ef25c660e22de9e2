package slidegate

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sameEvent compares the short way of reading an event with the way by tokens: they
// take the same texts, and make the same of them.
func sameEvent(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, data string,
) {
	t.Helper()
	want, err := parseEvent([]byte(data))
	got, rest, ok := CutEvent(data)
	if ok && strings.Trim(rest, " \t\r\n") != "" {
		got, ok = Event{}, false
	}
	if ok != (err == nil) || ok && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q\ngot  %+v, %t\nwant %+v, %v", data, got, ok, want, err)
	}
	var e Event
	said := e.UnmarshalJSON([]byte(data))
	if (said == nil) != (err == nil) || said != nil && said.Error() != ErrEvent.Error()+": "+err.Error() {
		t.Fatalf("%q: %v; want %v", data, said, err)
	}
	// In an array, which is read on behind the event.
	for _, tail := range []string{",", "]", " ,{"} {
		if _, rest, inside := CutEvent(data + tail); ok && (!inside || strings.TrimLeft(rest, " \t\r\n") != strings.TrimLeft(tail, " ")) {
			t.Fatalf("%q%s: %q, %t", data, tail, rest, inside)
		}
	}
}

var eventTexts = []string{
	``, ` `, `{}`, ` { } `, `[]`, `null`, `7`, `"e"`, `{`, `{"`, `{"event"`, `{"event":`, `{"event":"`, `{"event":"e`, `{"event":"e"`, `{"event":"e",`, `{"event":"e",}`, `{,}`, `{"event":"e"}{}`, `{"event":"e"}x`, `{"event":"e"},`, `{"event":"e"]`,
	`{"event":"e","event":"e"}`, `{"event":"e" "cost":1}`, `{"event" "e"}`, `{"event"::"e"}`, `{"event":,"e"}`, `{event:"e"}`, `{'event':'e'}`, `{"Event":"e"}`, `{"ev\u0065nt":"e"}`, `{"ev\u0065nt":"e","event":"e"}`, `{null:1}`, `{1:1}`, `{"event":"e",,"cost":1}`,
	`{"event":null}`, `{"event":1}`, `{"event":{}}`, `{"event":[]}`, `{"event":true}`, "\ufeff{}", "{}\x00", "\x00{}", "{\v}", "{\"event\":\"\x7f\u2028\"}", "{\u00a0}",
	`{"event":"e","attrs":{}}`, `{"attrs":{"a":"b","c":1},"event":"e"}`, `{"attrs":{"a":1,"a":2}}`, `{"attrs":{"a":1,"\u0061":2}}`, `{"attrs":{"a":1},"attrs":{}}`, `{"attrs":{},"attrs":{}}`, `{"attrs":{"":""}}`, `{"attrs":{"event":1}}`, `{"attrs":null}`, `{"attrs":[]}`, `{"attrs":7}`, `{"attrs":{"a"}}`, `{"attrs":{"a":1,}}`, `{"attrs":{"a":1]}`, `{"attrs":{"a":{}}}`, `{"attrs":{"a":[1]}}`, `{"attrs":{"a":null}}`, `{"attrs":{"a":true}}`,
	`{"attrs":{"a":0}}`, `{"attrs":{"a":-0}}`, `{"attrs":{"a":-0.0e-0}}`, `{"attrs":{"a":00}}`, `{"attrs":{"a":01}}`, `{"attrs":{"a":+1}}`, `{"attrs":{"a":-}}`, `{"attrs":{"a":.5}}`, `{"attrs":{"a":5.}}`, `{"attrs":{"a":5.e1}}`, `{"attrs":{"a":5e}}`, `{"attrs":{"a":5e+}}`, `{"attrs":{"a":5E+01}}`, `{"attrs":{"a":1.5.2}}`, `{"attrs":{"a":1-1}}`, `{"attrs":{"a":1e308}}`, `{"attrs":{"a":1e309}}`, `{"attrs":{"a":1e-999}}`, `{"attrs":{"a":0x1}}`, `{"attrs":{"a":1_0}}`, `{"attrs":{"a":NaN}}`, `{"attrs":{"a":Infinity}}`, `{"attrs":{"a":1 }}`, `{"attrs":{"a":1 2}}`, `{"attrs":{"a":12345678901234567890.50}}`, `{"attrs":{"a":}}`, `{"attrs":{"a":1x}}`, `{"attrs":{"a":1"b":2}}`,
	`{"attrs":{"a":"\"\\\/\b\f\n\r\t\u0000\u00e9\u4e2d\uFFFD\ufffd"}}`, `{"attrs":{"a":"\'"}}`, `{"attrs":{"a":"\x41"}}`, `{"attrs":{"a":"\u12"}}`, `{"attrs":{"a":"\u12g4"}}`, `{"attrs":{"a":"\u+123"}}`, `{"attrs":{"a":"\U0041"}}`, `{"attrs":{"a":"\`, `{"attrs":{"a":"\"`, `{"attrs":{"a":"\u`, `{"attrs":{"a":"\u004`,
	`{"attrs":{"a":"\ud83d\ude00"}}`, `{"attrs":{"a":"\uD83D\uDE00\ud83d\ude00"}}`, `{"attrs":{"a":"\ud83d"}}`, `{"attrs":{"a":"\ude00"}}`, `{"attrs":{"a":"\ud83d\ud83d\ude00"}}`, `{"attrs":{"a":"\ud83dx\ude00"}}`, `{"attrs":{"a":"\\ud83d"}}`, `{"attrs":{"a":"\ud83d\\ude00"}}`, `{"attrs":{"a":"\ud83d\n"}}`, `{"attrs":{"a":"\ud83d\u0041"}}`, `{"attrs":{"\ud83d":1}}`,
	"{\"attrs\":{\"a\":\"\xff\"}}", "{\"attrs\":{\"a\":\"\\n\xff\"}}", "{\"attrs\":{\"a\":\"\xc3\\u00a9\"}}", "{\"attrs\":{\"a\":\"\xed\xa0\x80\"}}", "{\"attrs\":{\"a\":\"\xf4\x90\x80\x80\"}}", "{\"attrs\":{\"a\":\"é操😀\"}}", "{\"attrs\":{\"a\":\"\\té操😀\"}}", "{\"attrs\":{\"a\":\"\n\"}}", "{\"attrs\":{\"a\":\"\\t\n\"}}", "{\"attrs\":{\"a\":\"\x1f\"}}", "{\"attrs\":{\"\xff\":1}}",
	`{"cost":0}`, `{"cost":-0}`, `{"cost":-1}`, `{"cost":1}`, `{"cost":1,"cost":1}`, `{"cost":1.0}`, `{"cost":1e3}`, `{"cost":"1"}`, `{"cost":null}`, `{"cost":9223372036854775807}`, `{"cost":9223372036854775808}`, `{"cost":-9223372036854775808}`, `{"cost":}`, `{"cost":01}`,
	`{"passed":[]}`, `{"passed":[ ]}`, `{"passed":["a","a"]}`, `{"passed":["a",]}`, `{"passed":[,"a"]}`, `{"passed":["a" "b"]}`, `{"passed":["a"}`, `{"passed":[1]}`, `{"passed":[["a"]]}`, `{"passed":"a"}`, `{"passed":null}`, `{"passed":["a"],"passed":["b"]}`, `{"passed":["a"`, `{"passed":[""]}`,
	`{"outcome":"success"}`, `{"outcome":"failure"}`, `{"outcome":""}`, `{"outcome":"Success"}`, `{"outcome":1}`, `{"outcome":"success","outcome":"failure"}`, `{"decision":"x"}`, `{"decision":""}`, `{"decision":1}`, `{"decision":"x","decision":"x"}`,
	`{"time":"2026-01-02T03:04:05.000006Z"}`, `{"time":"2026-01-02T03:04:05,5+08:00"}`, `{"time":"2026-01-02"}`, `{"time":"0001-01-01T00:00:00Z"}`, `{"time":1700000000000001}`, `{"time":1700000000000000001}`, `{"time":-62135596800000000}`, `{"time":-99999999999999999}`, `{"time":0}`, `{"time":1.5}`, `{"time":1e3}`, `{"time":null}`, `{"time":{}}`, `{"time":1,"time":1}`, `{"time":"\u0032026-01-02T03:04:05Z"}`, `{"time":}`, `{"time":"x`,
	`{"event":"e","attrs":{"phone":"13800000000","size":12},"cost":1,"passed":["captcha"],"outcome":"failure","decision":"abc","time":1}`,
}

// TestCutEvent: both ways of reading agree on what is nearly an event.
func TestCutEvent(t *testing.T) {
	for _, data := range eventTexts {
		sameEvent(t, data)
		sameEvent(t, " \t\r\n"+data+" \t\r\n")
	}
	for n := range 80 { // few and many names, the last of them given twice
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"a%d":%d,`, i, i)
		}
		sameEvent(t, `{"event":"e","attrs":{`+b.String()+`"b":1}}`)
		sameEvent(t, `{"event":"e","attrs":{`+b.String()+`"a0":1}}`)
		sameEvent(t, `{"event":"e","attrs":{`+b.String()+`"a40":1}}`)
	}
	for _, deep := range []string{"[", "{\"a\":", `{"attrs":`, `{"attrs":{"a":`} {
		sameEvent(t, strings.Repeat(deep, 100_000))
		sameEvent(t, `{"event":"e","attrs":{"k":`+strings.Repeat(deep, 100_000))
	}
}

// TestCutEventCut: events that end too early, or lack a byte, or have one too many.
func TestCutEventCut(t *testing.T) {
	for _, data := range []string{
		`{"event":"e\u00e9","attrs":{"a":"\ud83d\ude00","n":-1.5e+2},"cost":10}`,
		`{ "passed" : [ "a" , "b" ] , "outcome" : "failure" , "decision":"\n", "time" : 12 }`,
		"{\"attrs\":{\"é\":\"操\\\"\"},\"time\":\"2026-01-02T03:04:05Z\"}",
	} {
		for i := range data {
			sameEvent(t, data[:i])
			sameEvent(t, data[:i]+data[i+1:])
			for c := range 256 {
				sameEvent(t, data[:i]+string([]byte{byte(c)})+data[i:])
				sameEvent(t, data[:i]+string([]byte{byte(c)})+data[i+1:])
			}
		}
	}
}

// TestCutEventParts: texts that are put together from the parts of events.
func TestCutEventParts(t *testing.T) {
	parts := rapid.SampledFrom([]string{
		`{`, `}`, `[`, `]`, `,`, `:`, ` `, `"event"`, `"attrs"`, `"cost"`, `"passed"`, `"outcome"`, `"decision"`, `"time"`, `"success"`, `"a"`, `"b"`, `1`, `-1.5e3`, `1e999`, `null`, `true`,
		`"\ud83d\ude00"`, `"\ud83d"`, `"\`, `"`, `é`, "\xff", `{"event":"e"`, `"attrs":{`, `"a":1`, `,"b":"x"`, `"passed":[`, `"time":1`, `"2026-01-02T03:04:05Z"`,
	})
	rapid.Check(t, func(t *rapid.T) { sameEvent(t, strings.Join(rapid.SliceOfN(parts, 0, 20).Draw(t, "parts"), "")) })
}

// FuzzCutEvent: both ways of reading an event agree on whatever comes.
func FuzzCutEvent(f *testing.F) {
	for _, data := range eventTexts {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) { sameEvent(t, data) })
}

// BenchmarkEvent is what it takes to read an event with two attributes.
func BenchmarkEvent(b *testing.B) {
	data := []byte(`{"event":"sms.send","attrs":{"phone":"13800000000","ip":"203.0.113.7"},"cost":1}`)
	b.Run("cut", func(b *testing.B) {
		b.ReportAllocs()
		var e Event
		for b.Loop() {
			if err := e.UnmarshalJSON(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tokens", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := parseEvent(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
