package fold

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// TestText holds folding against strings.EqualFold: texts fold together if and
// only if they are equal but for their case.
func TestText(t *testing.T) {
	for a, b := range map[string]string{
		"": "", "Bob": "bOB", "ÄÖ": "äö", "ΣΑΣ": "σας", "K": "\u212a", "ſ": "S", "И": "и", "\xffA": "\xffa", "ǅ": "ǆ", "日本": "日本",
	} {
		if Text(a) != Text(b) {
			t.Errorf("%q is %q, %q is %q", a, Text(a), b, Text(b))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if rapid.Bool().Draw(t, "alike") {
			b = strings.Map(unicode.SimpleFold, a)
		}
		x, y := Text(a), Text(b)
		if (x == y) != strings.EqualFold(a, b) {
			t.Fatalf("%q folds to %q, %q to %q; equal but for case: %v", a, x, b, y, strings.EqualFold(a, b))
		}
		if Text(x) != x {
			t.Fatalf("%q folds to %q and that to %q", a, x, Text(x))
		}
	})
	if n := testing.AllocsPerRun(100, func() { _ = Text("lower case, all of it") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
