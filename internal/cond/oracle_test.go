package cond

import (
	"math"
	"testing"

	"github.com/expr-lang/expr"
	"pgregory.net/rapid"
)

// TestAgainstVM: on events that have every attribute, a condition says what the
// machine of expr-lang says of the same text.
func TestAgainstVM(t *testing.T) {
	said := map[Truth]int{}
	rapid.Check(t, func(t *rapid.T) {
		text := drawCondition(t, 3)
		ev, env := drawEvent(t, false)
		env["x"] = map[string]any{"y": env["x.y"]}
		env["u"] = map[string]any{"v": env["u.v"]}
		env["attr"] = map[string]any{"a-b": env["a-b"]}
		c := mustCompileT(t, text, generatedScope())
		program, err := expr.Compile(text, expr.AsBool(), expr.DisableAllBuiltins())
		if err != nil {
			t.Fatalf("%s: expr: %v", text, err)
		}
		answer, err := expr.Run(program, env)
		if err != nil {
			t.Fatalf("%s: expr: %v", text, err)
		}
		got := c.Eval(ev, 0)
		said[got]++
		if got != truthOf(answer.(bool)) {
			t.Fatalf("%s: %v, and the machine says %v\nof %v", text, got, answer, env)
		}
	})
	if said[True] == 0 || said[False] == 0 {
		t.Errorf("the answers are all alike: %v", said)
	}
}

// TestCanonicalForm: the canonical form reads as itself and means the same, and
// two conditions that have the same form mean the same.
func TestCanonicalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := mustCompileT(t, drawCondition(t, 3), generatedScope())
		again := mustCompileT(t, c.String(), generatedScope())
		if again.String() != c.String() {
			t.Fatalf("%s reads as %s", c, again)
		}
		for range 4 {
			ev, _ := drawEvent(t, true)
			if a, b := c.Eval(ev, 0), again.Eval(ev, 0); a != b {
				t.Fatalf("%s: %v, and read again %v", c, a, b)
			}
		}
	})
}

// TestOneForm: what means the same by its words has one form.
func TestOneForm(t *testing.T) {
	scope := &Scope{Attrs: map[string]Type{"ip": Address}, Lists: lists(listsOf{"l": inOffice})}
	for want, texts := range map[string][]string{
		`links > 0`:                          {`links>0`, " links\n>\t0", `(links) > (0)`, `links > 0.0`, `links > 0e5`, `links > -0`, `((links > 0))`, `attr["links"] > 0`, `attr['links']>0`},
		`s == "it's"`:                        {`s == 'it\'s'`, "s==`it's`", `s == "it's"`, `s == "\u0069t's"`},
		`s == "a\x0ab"`:                      {`s == "a\nb"`, "s == `a\nb`", `s == "a\012b"`},
		`a in [1, 2]`:                        {`a in [2,1]`, `a in [1,2,1.0]`, `a in [2, 1,]`},
		`a not in ["x", "y"]`:                {`not (a in ["y","x"])`, `a not in ['x', 'y']`, `a  not  in ["x","y"]`},
		`a == 1 and b == 2 and c == 3`:       {`a==1 and (b==2 and c==3)`, `(a==1 and b==2) and c==3`},
		`a == 1 or b == 2 or c == 3`:         {`a==1 or (b==2 or c==3)`},
		`(a == 1 or b == 2) and c == 3`:      {`((a==1)or(b==2))and c==3`},
		`a + b - c > 0`:                      {`(a + b) - c > 0`, `((a+b)-c)>0`},
		`a > 1000000`:                        {`a > 1_000_000`, `a > 1e6`, `a > 1000000.0`},
		`a > 1e+300`:                         {`a > 1e300`, `a > 10e299`},
		`a.b == "x" and attr["x-y"] == "z"`:  {`attr["a.b"] == 'x' and attr['x-y'] == 'z'`, `a . b == "x" and attr [ "x-y" ] == "z"`},
		`attr["a.not"] == "x"`:               {`a.not == "x"`},
		`attr["a.1"] == "x"`:                 {`attr["a.1"] == "x"`},
		`ip == "192.0.2.1"`:                  {`ip == "::ffff:192.0.2.1"`, `ip == '::FFFF:c000:201'`},
		`ip in ["192.0.2.1", "2001:db8::1"]`: {`ip in ["2001:DB8:0::1", "192.0.2.1", "::ffff:192.0.2.1"]`},
		`ip in l`:                            {`ip in lists["l"]`, `ip  in  (l)`},
	} {
		for _, text := range append(texts, want) {
			if got := mustCompile(t, text, scope).String(); got != want {
				t.Errorf("%s is %s, want %s", text, got, want)
			}
		}
	}
}

// TestOtherForms: no two conditions that differ share a form.
func TestOtherForms(t *testing.T) {
	scope := &Scope{Lists: lists(listsOf{"a": inOffice, "x.y": inOffice})}
	seen := map[string]string{}
	for _, text := range []string{
		`a == 1`, `a == "1"`, `a != 1`, `not (a == 1)`, `not (a != 1)`, `not not (a == 1)`, `1 == a`, `a == b`, `b == a`, `a == -1`, `a == 1.5`, `a == 15`,
		`a == "a b"`, `a == "a  b"`, `a == "a\tb"`, `a == "a\\tb"`, `a == "A b"`, `a == "1\x00"`, `a == "\\x00"`, `a == "\"1\""`, `a == "b\" or a == \"c"`, `a == "b" or a == "c"`,
		`a == 1 and b == 1 or c == 1`, `a == 1 and (b == 1 or c == 1)`, `(a == 1 or b == 1) and c == 1`, `a == 1 or b == 1 and c == 1`, `not (a == 1) and b == 1`, `not (a == 1 and b == 1)`,
		`a - b - c > 0`, `a - (b - c) > 0`, `a - (b + c) > 0`, `a / b / c > 0`, `a / (b / c) > 0`, `a * (b + c) > 0`, `a * b + c > 0`, `a + b * c > 0`, `a + (b + c) > 0`, `a + b + c > 0`, `-a + b > 0`, `-(a + b) > 0`, `-a * b > 0`, `-(a * b) > 0`, `a - -b > 0`,
		`a.b == 1`, `attr["a-b"] == 1`, `a - b == 1`, `hour == 1`, `attr["hour"] == 1`, `attr == 1`, `attr.a == 1`, `attr["a.b"] == 2`, `a in a`, `a in ["a"]`, `a in x.y`, `a not in a`, `event in a`, `attr["lists.x"] == 1`,
		`a in [1]`, `a in ["1"]`, `a in [1, 2]`, `a in ["1, 2"]`, `a in ["1", "2"]`, `a matches "a"`, `a contains "a"`, `a startsWith "a"`, `a endsWith "a"`, `a not contains "a"`, `a == "9007199254740993"`, `a == "9007199254740992"`, `a == 9007199254740991`, `a == 9007199254740990`,
	} {
		form := mustCompile(t, text, scope).String()
		if other, ok := seen[form]; ok {
			t.Errorf("%s and %s are both %s", text, other, form)
		}
		seen[form] = text
	}
}

func mustCompileT(t *rapid.T, text string, s *Scope) *Cond {
	c, err := Compile(text, s)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

// TestFormatNumber: a literal reads back as the same number.
func TestFormatNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := math.Abs(rapid.Float64().Draw(t, "f"))
		if math.IsInf(f, 0) || math.IsNaN(f) {
			t.Skip()
		}
		form := string(formatNumber(nil, f))
		c := mustCompileT(t, "a == "+form, nil)
		if c.root.y.number != f || c.String() != "a == "+form {
			t.Fatalf("%v is %s, and read again %s", f, form, c)
		}
	})
}
