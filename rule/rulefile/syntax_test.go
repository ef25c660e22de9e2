package rulefile

import (
	"strings"
	"testing"
)

// structural returns the errors of this package for a rule file, without
// those of the compiler.
func structural(data string) []string {
	r := newReader("r.yaml", "testdata")
	r.read([]byte(data))
	var lines []string
	for _, e := range r.errors() {
		line, _, _ := strings.Cut(e.Error(), ": known here are ") // see TestKnownHere
		lines = append(lines, strings.TrimPrefix(line, "r.yaml:"))
	}
	return lines
}

// wrong is a rule file and the errors that are expected, "line:column: text".
type wrong struct {
	name, data string
	want       []string
}

func checkWrong(t *testing.T, tests []wrong) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Helper()
			got, want := strings.Join(structural(tt.data), "\n"), strings.Join(tt.want, "\n")
			if got != want {
				t.Errorf("got\n%s\nwant\n%s\nof\n%s", got, want, tt.data)
			}
		})
	}
}

// oneRule is a rule file with one rule that has these fields.
func oneRule(fields string) string {
	return "version: 1\nrules:\n  - name: r\n    " + strings.ReplaceAll(fields, "\n", "\n    ") + "\n"
}

func TestSyntax(t *testing.T) {
	checkWrong(t, []wrong{
		{"tab as indentation", "version: 1\nrules:\n\t- name: r\n", []string{
			"3:1: a tab: indent with spaces",
		}},
		{"tab inside a block", "version: 1\nrules:\n  - name: r\n\tkey: [user]\n", []string{
			"4:1: a tab: indent with spaces",
		}},
		{"open quote", `version: 1
rules:
  - name: "r
    key: [user]
`, []string{
			"3:11: the quote that begins here is never closed",
		}},
		{"open bracket", oneRule("key: [user\nlimits: [1 per 1s]"), []string{
			`5:11: expected a comma or "]" here: the list that begins on line 4 is not closed, or a text in it needs quotes`,
		}},
		{"open brace", `version: 1
rules:
  - {name: r, key: [user], limits: [1 per 1s]
`, []string{
			`4:1: expected a comma or "}" here: the mapping that begins on line 3 is not closed, or a text in it needs quotes`,
		}},
		{"bracket too many", `version: 1
rules:
  - {name: r, key: [user]]}
`, []string{
			`3:26: expected a comma or "}" here: the mapping that begins on line 3 is not closed, or a text in it needs quotes`,
		}},
		{"brackets in a text", oneRule("limits: [3 count where status in [404, 410] per 1m]"), []string{
			`4:38: expected a comma or "]" here: the list that begins on line 4 is not closed, or a text in it needs quotes`,
		}},
		{"two commas", `version: 1
rules:
  - {name: r,, key: [user]}
`, []string{
			"3:14: expected a value: a text that begins with , [ ] { or } must be in quotes",
		}},
		{"colon in a text", oneRule("message: wait: too many"), []string{
			`4:18: a ": " cannot stand here: put the text in quotes, or look at the indentation`,
		}},
		{"indentation of a field", `version: 1
rules:
  - name: r
   key: [user]
`, []string{
			`4:4: this does not fit into the list that begins on line 3: begin each item with "- " at the same indentation`,
		}},
		{"indentation of an item", `version: 1
rules:
    - name: r
  - name: s
`, []string{
			"4:3: this does not fit into the mapping that begins on line 1: look at the indentation, and for a text behind a closed quote",
		}},
		{"field below a list", `version: 1
rules:
- name: r
 limits: [1 per 1s]
`, []string{
			"4:2: this does not fit into the mapping that begins on line 1: look at the indentation, and for a text behind a closed quote",
		}},
		{"list item beside a field", `version: 1
rules: - name: r
`, []string{
			`2:8: a list item cannot begin here: put "- " on a line of its own`,
		}},
		{"no colon", `version: 1
rules
`, []string{
			`2:1: this line is no name: value; a list item begins with "- ", and a long text must be in quotes`,
		}},
		{"no colon, then a field", `version 1
rules: []
`, []string{
			`2:6: a ": " cannot stand here: put the text in quotes, or look at the indentation`,
		}},
		{"text that begins with %", `version: 1
rules:
  - name: %r
`, []string{
			"3:11: a text that begins with @, % or ` must be in quotes",
		}},
		{"text that begins with @", `version: 1
rules:
  - {name: r, key: [@user]}
`, []string{
			"3:21: a text that begins with @, % or ` must be in quotes",
		}},
		{"unknown escape", `version: 1
rules:
  - name: "\d"
`, []string{
			`3:12: not an escape that YAML knows: write \\ for a backslash, or put the text in single quotes`,
		}},
		{"bare star alone", `version: 1
rules:
  - {name: r, match: {user: *}}
`, []string{
			`3:29: write "*" in quotes: YAML takes a bare * for an alias`,
		}},
		{"bare star, then a word", `version: 1
rules:
  - {name: r, match: {user: [a, *bot* x]}}
`, []string{
			`3:33: write "*bot* x" in quotes: YAML takes a bare * for an alias`,
		}},
		{"bare star in a block", oneRule("match:\n  path: */admin/* # all"), []string{
			`5:13: rule r: match[0].path: "*/admin/*": write "*/admin/*" in quotes: YAML takes a bare * for an alias`,
		}},
		{"bare star and a colon", oneRule("match:\n  path: *a: b"), []string{
			`5:13: write "*a: b" in quotes: YAML takes a bare * for an alias`,
		}},
		{"bare ampersand alone", `version: 1
rules:
  - {name: r, match: {user: & }}
`, []string{
			"3:29: a text that begins with * or & must be in quotes",
		}},
		{"second document", `version: 1
rules: []
---
version: 1
`, []string{
			"3:1: a second document begins here: a rule file is one",
		}},
		{"text after the end", `version: 1
...
rules: []
`, []string{
			"3:1: a second document begins here: a rule file is one",
		}},
		{"33 brackets", `version: 1
rules: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
`, []string{
			"2:40: lists and mappings are nested more than 32 levels deep",
		}},
		{"32 brackets and the mapping around them", `version: 1
x: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
`, []string{
			"1:1: rules: no rules: write rules: with a list below it",
			"2:1: x: unknown field",
			"2:35: x[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: lists and mappings are nested more than 32 levels deep",
		}},
		{"33 dashes", `version: 1
rules:
 - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - a
`, []string{
			"3:64: lists and mappings are nested more than 32 levels deep",
		}},
		{"NUL", "version: 1\nrules: \x00[]\n", []string{
			"2:8: a NUL byte: the file is no text, or no UTF-8",
		}},
		{"control character", "version: 1\nrules:\n  - name: a\x1bb\n", []string{
			`3:12: the control character U+001B: take it out, or write "\u001b" in double quotes`,
		}},
		{"DEL", "version: 1\n\x7f", []string{
			`2:1: the control character U+007F: take it out, or write "\u007f" in double quotes`,
		}},
		{"next line", "version: 1\nrules:\n  - name: a\u0085b\n", []string{
			`3:12: the line separator U+0085: take it out, or write "\u0085" in double quotes`,
		}},
		{"line separator", "version: 1\nrules:\n  - name: 操\u2028b\n", []string{
			`3:12: the line separator U+2028: take it out, or write "\u2028" in double quotes`,
		}},
		{"byte order mark inside", "version: 1\n\ufeffrules: []\n", []string{
			"2:1: a byte order mark inside the file: take it out",
		}},
		{"no character", "version: 1\nrules: \uffff\n", []string{
			`2:8: the control character U+FFFF: take it out, or write "\uffff" in double quotes`,
		}},
	})
}

// TestSyntaxRare goes through what else the YAML library may say, in texts
// that are no rule files.
func TestSyntaxRare(t *testing.T) {
	const (
		mapping = "this does not fit into the mapping that begins on line 1: " +
			"look at the indentation, and for a text behind a closed quote"
		tag    = "a text that begins with ! must be in quotes"
		escape = "not an escape that YAML knows: write \\\\ for a backslash, or put the text in single quotes"
		ended  = "the file should have ended here: look at the indentation"
		noName = "this line is no name: value; a list item begins with \"- \", and a long text must be in quotes"
	)
	checkWrong(t, []wrong{
		{"text behind a quote", "a: 'b' c", []string{"1:8: " + mapping}},
		{"letter behind a quote", "a: 'b'c", []string{"1:7: " + mapping}},
		{"comment behind a quote", "a: \"b\"#c", []string{"1:7: put a space before the comment, or the text in quotes"}},
		{"text behind a list", "[a]b", []string{"1:4: " + ended}},
		{"text behind a mapping", "{a: b}c", []string{"1:7: " + ended}},
		{"item before the list", "  - a\n - b\n", []string{"2:2: " + ended}},
		{"text behind a list item", "- a: b\n- c\nd", []string{"3:1: " + noName}},
		{"field between two levels", "a:\n  b: c\n d: e\n", []string{"3:2: " + mapping}},
		{"block text to the left", "a: |\n   \n x\n", []string{"3:2: " + mapping}},
		{"tab in a block text", "a: >\n\t x\n", []string{"2:1: a tab: indent with spaces"}},
		{"text in the line of a block", "a: | x\n", []string{
			"1:6: not valid YAML: while scanning a block scalar: did not find expected comment or line break",
		}},
		{"short escape", "a: \"\\x4\"\n", []string{"1:7: " + escape}},
		{"half a surrogate", "a: \"\\uD800\"\n", []string{"1:7: " + escape}},
		{"quote over a document", "a: 'x\n---\n'", []string{"1:4: the quote that begins here is never closed"}},
		{"open tag", "a: !<x y", []string{"1:7: " + tag}},
		{"tag handle", "a: !x!y z", []string{"1:4: " + tag}},
		{"YAML of the future", "%YAML 9.9\n---\na: 1\n", []string{"1:1: not valid YAML: found incompatible YAML document"}},
		{"directive", "%FOO\n", []string{"1:5: not valid YAML: while scanning a directive: found unknown directive name"}},
		{"key over two lines", "a: [b\n]: c", []string{
			"2:2: a \": \" cannot stand here: put the text in quotes, or look at the indentation",
		}},
		{"only a bracket", "a: ]", []string{
			"1:4: expected a value: a text that begins with , [ ] { or } must be in quotes",
		}},
	})
}

func TestBareStar(t *testing.T) {
	for _, tt := range []struct {
		line  string
		col   int
		text  string
		start int
	}{
		{"a: *", 4, "*", 4},
		{"a: *b c", 7, "*b c", 4},
		{"a: *b c # d", 7, "*b c", 4},
		{"[*b c, d]", 5, "*b c", 2},
		{"{a: *b c}", 8, "*b c", 5},
		{"- *b c", 6, "*b c", 3},
		{"[a, *操作* c]", 10, "*操作* c", 5},
		{"a: b* c", 7, "", 0},   // within a text
		{"a: b *c d", 9, "", 0}, // within a text
		{"a: '*b' c", 9, "", 0}, // in quotes
		{"[*b, c d]", 8, "", 0}, // in another item
		{"", 1, "", 0},
		{"a", 9, "", 0},
	} {
		if text, start := bareStar([]byte(tt.line), tt.col); text != tt.text || start != tt.start {
			t.Errorf("%q at %d: got %q at %d, want %q at %d", tt.line, tt.col, text, start, tt.text, tt.start)
		}
	}
}

func TestInFlow(t *testing.T) {
	for s, want := range map[string]string{
		"user": "user", "user|ip": "user|ip", "ip/24/48": "ip/24/48", "5 per 1m, 9 per 1h": "5 per 1m, 9 per 1h",
		"sum(bytes)": "sum(bytes)", "<limit>": "<limit>", "a b": "a b",
		"": `""`, "*a": `"*a"`, "a: b": `"a: b"`, "[a]": `"[a]"`, "a#": `"a#"`, "-1": `"-1"`, "|": `"|"`, " a": `" a"`,
		"操作": `"操作"`, "a\nb": `"a\nb"`, strings.Repeat("a", 61): `"` + strings.Repeat("a", 60) + `…"`,
	} {
		if got := inFlow(s); got != want {
			t.Errorf("inFlow(%q) is %s, want %s", s, got, want)
		}
	}
}
