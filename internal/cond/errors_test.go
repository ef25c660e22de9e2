package cond

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/slidegate/slidegate"
)

// TestErrors: every refusal says where, what, and the way out.
func TestErrors(t *testing.T) {
	scope := &Scope{
		Attrs: map[string]Type{"ip": Address, "a-b": Number, "s": Text, "n": Number},
		Lists: lists(listsOf{"trusted": inOffice, "bad-ips": inOffice}),
	}
	for _, c := range []struct {
		text string
		pos  int
		says string
	}{
		// What cannot be read.
		{"", 0, "leave where out"},
		{" \t\n", 0, "leave where out"},
		{"a == \x00", 6, "U+0000"},
		{"\xff == 1", 0, "not UTF-8"},
		{"a == \"\xed\xa0\x80\"", 0, "not UTF-8"},
		{strings.Repeat(" ", MaxText) + "a", 0, "at most 4096"},
		{`"abc`, 4, "not closed"},
		{"a == 'b\nc'", 8, "not closed"},
		{`a == "\q"`, 8, "not an escape"},
		{`a == "\ud800"`, 6, "half of a character"},
		{`a == "\u{110000}"`, 17, "not an escape"},
		{`12abc == a`, 3, "run together"},
		{`a @ b`, 3, "'@' is not a word"},
		{`(a == 1`, 1, "( is not closed"},
		{`a == 1)`, 7, ") closes nothing"},
		{`a in [1)`, 8, ") closes nothing"},
		{`a ==`, 4, "the condition ends"},
		{`== 1`, 1, "stands where it means nothing"},
		{`a == 1 b == 2`, 8, "where an operator is wanted"},
		{`a == "x" "y"`, 10, `"y" stands where`},
		{`a == 1 AND b == 2`, 8, "write and"},
		{`a startswith "x"`, 3, "write startsWith"},
		{`a == 1e999`, 6, "too large"},
		{`a == 1e`, 6, "not a number"},
		{`a == 0x10`, 6, "in decimal"},
		{`a == 0b1`, 6, "in decimal"},
		{`a == 007`, 6, "begins with 0"},
		{`a == 9007199254740992`, 6, "write it in quotes"},
		{`a == 99999999999999999999999`, 6, "write it in quotes"},
		{`a.1 == 2`, 2, `attr["…"]`},
		{`a. == 2`, 7, "ends in a dot"},
		// What the language has and conditions have not.
		{`a > 1 && b`, 7, "write and"},
		{`a > 1 || b`, 7, "write or"},
		{`!(a > 1)`, 1, "write not"},
		{`a = 1`, 3, "write =="},
		{`a === 1`, 5, "write =="},
		{`a <> 1`, 4, "write !="},
		{`a | b`, 3, "pipes"},
		{`a ? b : c`, 3, "no a ? b : c"},
		{`a ?? b`, 3, "no ??"},
		{`a?.b == 1`, 2, "no ?."},
		{`a % 2 == 1`, 3, "remainder"},
		{`a ** 2 == 1`, 3, "powers"},
		{`a ^ 2 == 1`, 3, "powers"},
		{`a in 1..5`, 7, "ranges"},
		{`#a`, 1, "closures"},
		{`a[1:2] == 3`, 4, "slices"},
		{`::abs(a)`, 1, "functions"},
		{`a > 1; b > 1`, 6, "one expression"},
		{`a == {}`, 6, "maps"},
		{`let x = 1; x == 1`, 1, "variables of their own"},
		{`if a > 1 {1} else {2}`, 1, "no if"},
		{`a & 1`, 3, "the operators are"},
		{`count(a) > 1`, 1, "count( calls a function"},
		{`abs(a) > 1`, 1, "abs( calls a function"},
		{`a.trim() == ""`, 3, "trim( calls a function"},
		{`all(a, {# > 1})`, 1, "all( calls a function"},
		{`a > 1 // c`, 7, "comments"},
		{`a /* c */ > 1`, 3, "comments"},
		{`a > 1 /* c`, 10, "comments"},
		{`a == b"x"`, 6, "no bytes"},
		{`$env == 1`, 1, "not the name of an attribute"},
		{`früh == 1`, 1, "not the name of an attribute"},
		{`a == true`, 6, `vip == "true"`},
		{`false`, 1, `vip == "false"`},
		{`a == nil`, 6, "never acts"},
		{`a[1] == 2`, 2, `conditions have no [ ]`},
		{`a["b"] == 2`, 2, `conditions have no [ ]`},
		{`attr[b] == 2`, 5, `conditions have no [ ]`},
		{`"x".y == 2`, 5, `conditions have no [ ]`},
		{`[1] == a`, 1, "after in only"},
		{`+a > 1`, 1, "leave it out"},
		{`a in (1, 2)`, 8, ", stands where"},
		{`(a)(b)`, 4, "( stands where"},
		// Types.
		{`a`, 1, "not a comparison"},
		{`a + 1`, 3, "not a comparison"},
		{`"x"`, 1, "not a comparison"},
		{`hour`, 1, "not a comparison"},
		{`a and b > 1`, 1, "a is an attribute, not a comparison"},
		{`not a`, 1, "not stands before an attribute"},
		{`not a == 1`, 1, "not (a == …)"},
		{`not a in [1]`, 1, "x not in …"},
		{`not hour == 1`, 1, "not stands before a variable"},
		{`a < b < c`, 7, "do not chain"},
		{`a == (b == c)`, 9, "is a comparison"},
		{`(a == 1) == (b == 1)`, 4, "is a comparison"},
		{`(a > 1) in [1]`, 4, "is a comparison"},
		{`(a > 1) + 1 > 2`, 4, "is a comparison"},
		{`"5" > a`, 1, "take the quotes away"},
		{`a < "b"`, 5, "order and arithmetic are for numbers"},
		{`a + "b" == 1`, 5, "order and arithmetic are for numbers"},
		{`a startsWith 5`, 14, "put it in quotes"},
		{`cost contains "1"`, 1, "cost is a number where a text is wanted"},
		{`event > 1`, 1, "event is a text where a number is wanted"},
		{`s > 3`, 1, "declared as a text"},
		{`s == 3`, 1, "declare s with type: number"},
		{`3 == s`, 6, "declare s with type: number"},
		{`ip == 3`, 1, "declared as an address"},
		{`ip == n`, 1, "declared as an address"},
		{`n == "x"`, 1, "declare n with type: text"},
		{`n startsWith "x"`, 1, "declare n with type: text"},
		{`s == n`, 1, "declared as a text"},
		{`a == 1 and a == "x"`, 12, "as a number at character 1 and as a text here"},
		{`a > 1 and a startsWith "x"`, 11, "as a number at character 1 and as a text here"},
		{`a startsWith "x" and b == a and b > 1`, 22, "as a number at character 33 and as a text here"},
		{`1 == "1"`, 1, "1 is a number where a text is wanted"},
		{`ip == "10.0.0.0/8"`, 7, "networks into a list"},
		{`ip in ["::1", "x"]`, 15, "compared with an address"},
		// Lists and patterns.
		{`a in []`, 6, "empty"},
		{`a in [1, "x"]`, 10, "mixes"},
		{`a in [b]`, 7, "texts in quotes and numbers only"},
		{`a in [1 + 2]`, 9, "texts in quotes and numbers only"},
		{`a in [[1]]`, 7, "texts in quotes and numbers only"},
		{`a in "abc"`, 6, `x contains "abc"`},
		{`a in 5`, 6, "the name of a list"},
		{`a in trustd`, 6, "did you mean trusted?"},
		{`a in nothing`, 6, "there is no list nothing"},
		{`a in bad-ips`, 9, `lists["bad-ips"]`},
		{`a in bad-ones`, 9, "the name of a list"},
		{`a in lists["bad"]`, 11, "there is no list bad"},
		{`a matches "("`, 11, "missing closing )"},
		{`a matches "(?=x)"`, 11, "RE2"},
		{`a matches b`, 11, "pattern in quotes"},
		{`a matches 5`, 11, "pattern in quotes"},
		{`5 matches "5"`, 1, "put it in quotes"},
		{`a matches "(\\pL{500}){2}|(\\pL{500}){2}"`, 11, "more than 2000"},
		{`a matches "((a{100}){10}){10}"`, 11, "not a pattern"},
		// Names.
		{`attr["event"] == "x"`, 5, "written event"},
		{`attr["früh"] == "x"`, 5, "not the name of an attribute"},
		{`attr[""] == "x"`, 5, "not the name of an attribute"},
		{`a-b > 1`, 2, `attr["a-b"]`},
		{`outcome == "failure"`, 1, "once an event is reported"},
	} {
		_, err := Compile(c.text, scope)
		var es Errors
		if !errors.As(err, &es) || len(es) == 0 {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if es[0].Pos != c.pos || !strings.Contains(es[0].Msg, c.says) {
			t.Errorf("%s: want %q at %d, got at %d: %s", c.text, c.says, c.pos, es[0].Pos, es[0].Msg)
		}
	}
}

// TestStrict: with declared attributes, any other name is an error.
func TestStrict(t *testing.T) {
	scope := &Scope{Strict: true, Attrs: map[string]Type{"status": Number, "phone": Text, "a-b": Text, "req-size-kb": Number, "b": Number}}
	for text, says := range map[string]string{
		`stauts > 1`:          "did you mean status?",
		`huor > 1`:            "did you mean hour?",
		`zzzzzzzz > 1`:        "no attribute zzzzzzzz is declared under attributes",
		`a-b == "x"`:          `attr["a-b"]`,
		`a == "x"`:            `no attribute a is declared; a-b is written attr["a-b"]`,
		`req-size-kb > 1`:     `attr["req-size-kb"]`,
		`1 + req-size-kb > 1`: `attr["req-size-kb"]`,
		`attr["stauts"] > 1`:  "did you mean status?",
		`x in ["a"]`:          "no attribute x is declared",
	} {
		if _, err := Compile(text, scope); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: want %q, got %v", text, says, err)
		}
	}
	for _, text := range []string{`status - b > 1`, `attr["a-b"] == "x"`, `hour > 1`, `event == "x"`} {
		mustCompile(t, text, scope)
	}
	scope.Attrs["a"] = Number
	mustCompile(t, `a-b > 1`, scope) // both are declared
}

// TestUnavailable: variables that conditions know elsewhere are told apart.
func TestUnavailable(t *testing.T) {
	for _, text := range []string{`failed`, `not failed`, `outcome == "failure"`, `a > 1 and action == "reject"`} {
		_, err := Compile(text, nil)
		var es Errors
		if !errors.Is(err, ErrUnavailable) || !errors.As(err, &es) || len(es) != 1 {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Compile(`hour > 1`, &Scope{Vars: Event | Cost}); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	if _, err := Compile(`a b`, nil); errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	c := mustCompile(t, `attr["failed"] == "yes"`, nil)
	if c.Eval(&slidegate.Event{Attrs: []slidegate.Attr{slidegate.String("failed", "yes")}}, 0) != True {
		t.Error("an attribute that is called like a variable")
	}
}

// TestAllErrors: all that is wrong is said, in the order of the text.
func TestAllErrors(t *testing.T) {
	_, err := Compile(`a == 1 and a == "x" and b in nowhere and c`, nil)
	want := `character 12: a is used as a number at character 1 and as a text here: decide for one; texts stand in quotes, numbers do not, and order and arithmetic want numbers
character 30: there is no list nowhere under lists
character 42: c is an attribute, not a comparison: compare it, as in c == …`
	if fmt.Sprint(err) != want {
		t.Errorf("got\n%v", err)
	}
	_, err = Compile(strings.TrimSuffix(strings.Repeat("a and ", 50), " and "), nil)
	var es Errors
	if !errors.As(err, &es) || len(es) != maxErrors {
		t.Error(err)
	}
}

// TestBounds: what is too large or too deep is refused before it costs.
func TestBounds(t *testing.T) {
	for text, says := range map[string]string{
		strings.Repeat("(", 10_000) + "a == 1" + strings.Repeat(")", 10_000): "at most 4096",
		strings.Repeat("(", 2_000) + "a == 1" + strings.Repeat(")", 2_000):   "nests more than 50 deep",
		strings.Repeat("(", 51) + "a == 1" + strings.Repeat(")", 51):         "nests more than 50 deep",
		strings.Repeat("not ", 51) + "(a == 1)":                              "nests more than 50 deep",
		strings.Repeat("- ", 1000) + "a > 1":                                 "nests more than 50 deep",
		strings.Repeat("-(", 26) + "a" + strings.Repeat(")", 26) + " > 1":    "nests more than 50 deep",
		strings.Repeat("[", 1000):                                            "nests more than 50 deep",
		"a" + strings.Repeat("+a", 300) + " > 1":                             "more than 500",
		strings.Repeat("a>1 or ", 200) + "a>1":                               "more than 500",
	} {
		_, err := Compile(text, nil)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20s…: %v", text, err)
		}
	}
	c := mustCompile(t, "a in [1"+strings.Repeat(",2", 2000)+"]", nil)
	if c.String() != "a in [1, 2]" {
		t.Error(c)
	}
	deep := mustCompile(t, strings.Repeat("(", 49)+"a == 1"+strings.Repeat(")", 49), nil)
	if deep.String() != "a == 1" {
		t.Error(deep)
	}
	mustCompile(t, "a"+strings.Repeat("+a", 240)+" > 1", nil)
}
