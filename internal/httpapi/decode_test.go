package httpapi

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var smallLimits = Limits{Batch: 3, Attrs: 2, NameSize: 8, TextSize: 8}

// sameBatch compares the pass through an array of events with the two passes: they
// take the same bodies, and make the same of them.
func sameBatch(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, body string,
) {
	t.Helper()
	if !isArray(body) {
		return
	}
	a := &api{limits: smallLimits.whole()}
	got, ok := a.cutBatch(body)
	want, err := a.parseBatch(body)
	if ok != (err == nil) || ok && (len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want)) {
		t.Fatalf("%q\ngot  %+v, %t\nwant %+v, %v", body, got, ok, want, err)
	}
}

var batches = []string{
	`[]`, ` [ ] `, `[`, `[,]`, `[]]`, `[] x`, `[][]`, `[{}]`, `[{},{}]`, ` [ {} , {} ] `, `[{},]`, `[,{}]`, `[{} {}]`, `[{}}`, `[{}`, `[{},`, `[{},{},{}]`, `[{},{},{},{}]`, `[{},{},{},]`, `[{},{},{}`, `[1,1,1,1]`, `[[]]`, `[null]`, `["a"]`,
	`[{"event":"e","attrs":{"k":"1"}},{"event":"é"}]`, "[{\"event\":\"\xff\"}]", "[{\"event\":\"e\"}\xff]", `[{"event":"\ud800"}]`, `[{"event":"123456789"}]`, `[{"attrs":{"a":1,"b":1,"c":1}}]`, `[{"attrs":{"a":"123456789"}}]`, `[{"passed":["a","b","c"]}]`, "\ufeff[]", "[]\x00", `[{"event":"]"},{"event":","}]`,
}

// TestCutBatch: both ways of reading agree on what is nearly an array of events.
func TestCutBatch(t *testing.T) {
	for _, body := range batches {
		sameBatch(t, body)
		for i := range body {
			sameBatch(t, body[:i])
			sameBatch(t, body[:i]+body[i+1:])
		}
	}
	parts := rapid.SampledFrom([]string{`[`, `]`, `,`, ` `, `{}`, `{"event":"e"}`, `,{"event":"e"}`, `1`, `null`, "\xff", `{"event":"123456789"}`, `{`, `}`})
	rapid.Check(t, func(t *rapid.T) { sameBatch(t, "["+strings.Join(rapid.SliceOfN(parts, 0, 12).Draw(t, "parts"), "")) })
}

// FuzzBatch: both ways of reading an array agree on whatever comes.
func FuzzBatch(f *testing.F) {
	for _, body := range batches {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) { sameBatch(t, body) })
}
