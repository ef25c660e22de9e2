package cond

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate"
)

// The tables of Kleene's strong logic, as in his book; F, U, T in this order.
var (
	kleeneNot = [3]byte{'T', 'U', 'F'}
	kleeneAnd = [3][3]byte{{'F', 'F', 'F'}, {'F', 'U', 'U'}, {'F', 'U', 'T'}}
	kleeneOr  = [3][3]byte{{'F', 'U', 'T'}, {'U', 'U', 'T'}, {'T', 'T', 'T'}}
)

func index(t byte) int { return map[byte]int{'F': 0, 'U': 1, 'T': 2}[t] }

// atoms are ways to be true, false and unknown.
var atoms = map[byte][]string{
	'T': {`one == 1`, `two > one`, `word == "w"`, `one in [1, 2]`, `word matches "w"`, `word not contains "x"`, `e == e`},
	'F': {`one != 1`, `two < one`, `word == "x"`, `one in [2, 3]`, `word matches "x"`, `word not contains "w"`},
	'U': {`none == 1`, `none != 1`, `word2 > 1`, `none in [2, 3]`, `none matches ""`, `none2 not contains "w"`, `one / 0 > 1`, `e == one2`},
}

var atomEvent = &slidegate.Event{Name: "e", Attrs: []slidegate.Attr{
	slidegate.Int("one", 1), slidegate.Int("two", 2), slidegate.String("word", "w"), slidegate.String("word2", "w"), slidegate.String("e", "e"), slidegate.Int("one2", 1),
}}

// drawFormula draws a formula and what the tables say of it. An attribute may
// be of one type only, so none2 stands where texts are missing.
func drawFormula(t *rapid.T, depth int) (string, byte) {
	kind := rapid.IntRange(0, 4).Draw(t, "kind")
	if depth == 0 {
		kind = 0
	}
	switch kind {
	case 0:
		want := rapid.SampledFrom([]byte("TFU")).Draw(t, "truth")
		text := rapid.SampledFrom(atoms[want]).Draw(t, "atom")
		if text == `none matches ""` {
			text = `none2 matches ""`
		}
		return text, want
	case 1:
		text, is := drawFormula(t, depth-1)
		return "not (" + text + ")", kleeneNot[index(is)]
	}
	left, l := drawFormula(t, depth-1)
	right, r := drawFormula(t, depth-1)
	if kind == 2 {
		return "(" + left + ") or (" + right + ")", kleeneOr[index(l)][index(r)]
	}
	return "(" + left + ") and (" + right + ")", kleeneAnd[index(l)][index(r)]
}

// TestKleene: formulas come to what the truth tables say.
func TestKleene(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, want := drawFormula(t, 4)
		c := mustCompileT(t, text, nil)
		if got := c.Eval(atomEvent, 0); got != map[byte]Truth{'T': True, 'F': False, 'U': Unknown}[want] {
			t.Fatalf("%s: %v, want %c", text, got, want)
		}
	})
}

// TestTables: every cell of the tables, in both orders of writing.
func TestTables(t *testing.T) {
	truths := map[byte]Truth{'T': True, 'F': False, 'U': Unknown}
	eval := func(text string) Truth { return mustCompile(t, text, nil).Eval(atomEvent, 0) }
	for l, left := range map[byte]string{'T': `one == 1`, 'F': `one == 2`, 'U': `none == 1`} {
		if got := eval("not (" + left + ")"); got != truths[kleeneNot[index(l)]] {
			t.Errorf("not %c: %v", l, got)
		}
		for r, right := range map[byte]string{'T': `two == 2`, 'F': `two == 3`, 'U': `none2 == 1`} {
			if got := eval(left + " and " + right); got != truths[kleeneAnd[index(l)][index(r)]] {
				t.Errorf("%c and %c: %v", l, r, got)
			}
			if got := eval(left + " or " + right); got != truths[kleeneOr[index(l)][index(r)]] {
				t.Errorf("%c or %c: %v", l, r, got)
			}
		}
	}
}
