package rulefile

import (
	"fmt"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, tt := range []struct{ name, data, want string }{
		{"empty", "", ""},
		{"text", "a: 操作\r\n\tb", ""},
		{"byte order mark", "\ufeffa", ""},
		{"UTF-16, little endian", "\xff\xfea\x00", "1:1 the file is UTF-16: save it as UTF-8"},
		{"UTF-16, big endian", "\xfe\xff\x00a", "1:1 the file is UTF-16: save it as UTF-8"},
		{"UTF-16 without a mark", "a\x00", "1:2 a NUL byte: the file is no text, or no UTF-8"},
		{"Latin-1", "a\nb: caf\xe9\n", "2:7 this is no UTF-8: save the file as UTF-8"},
		{"overlong", "\xc0\x80", "1:1 this is no UTF-8: save the file as UTF-8"},
		{"surrogate", "\xed\xa0\x80", "1:1 this is no UTF-8: save the file as UTF-8"},
		{"cut", "操\xe6\x93", "1:2 this is no UTF-8: save the file as UTF-8"},
		{"written replacement character", "\ufffd", ""},
		{"after LF", "\n\n\x01", `3:1 the control character U+0001: take it out, or write "\u0001" in double quotes`},
		{"after CRLF", "\r\na\x01", `2:2 the control character U+0001: take it out, or write "\u0001" in double quotes`},
		{"after CR", "\r\ra\x01", `3:2 the control character U+0001: take it out, or write "\u0001" in double quotes`},
		{"after CR at the end", "a\r", ""},
		{"size", strings.Repeat("#", maxFile), ""},
		{"over size", strings.Repeat("#", maxFile+1), "1:1 the file is over 4 MiB"},
	} {
		got := ""
		if _, bad := check([]byte(tt.data)); bad != nil {
			got = fmt.Sprintf("%d:%d %s", bad.line, bad.col, bad.msg)
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestLineOf(t *testing.T) {
	const text = "a\nb\r\nc\rd\n"
	for n, want := range []string{1: "a", 2: "b", 3: "c", 4: "d", 5: "", 6: ""} {
		if got := string(lineOf([]byte(text), n)); n > 0 && got != want {
			t.Errorf("line %d is %q, want %q", n, got, want)
		}
	}
}

func TestClamp(t *testing.T) {
	const text = "ab\r\n操作频\n"
	for _, tt := range [][4]int{
		{1, 1, 1, 1}, {1, 3, 1, 3}, {1, 4, 1, 3}, {2, 4, 2, 4}, {2, 9, 2, 4}, {3, 1, 3, 1}, {3, 5, 3, 1}, {9, 1, 3, 1}, {0, 0, 1, 1},
	} {
		line, col := clamp([]byte(text), tt[0], tt[1])
		if line != tt[2] || col != tt[3] {
			t.Errorf("clamp(%d:%d) is %d:%d, want %d:%d", tt[0], tt[1], line, col, tt[2], tt[3])
		}
	}
}

// TestDeepFirst checks that depth is refused while reading, not after.
func TestDeepFirst(t *testing.T) {
	for _, one := range []string{"[", "{a: ", "- ", "? "} {
		got := structural(strings.Repeat(one, maxFile/len(one)))
		if len(got) != 1 || !strings.HasSuffix(got[0], deep) {
			t.Errorf("%q: got %q", one, got)
		}
	}
}

// TestLargeFiles reads texts in which work that grows with the square of the
// size would not end before the test times out: it takes well under a second.
func TestLargeFiles(t *testing.T) {
	const size = 256 << 10
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for name, data := range map[string]string{
		"unknown fields":       fill("abcdefgh: 1\n"),
		"names with long":      "version: 1\nrules:\n  - match:\n      " + strings.Repeat("a", maxName) + ": [" + fill("a,") + "]\n",
		"names too long":       "version: 1\nrules:\n  - match: {" + strings.Repeat("a", size/2) + ": [" + fill("a,") + "]}\n",
		"attributes of one":    "version: 1\nrules:\n  - match: {" + fill("a: 1,") + "}\n",
		"rules":                "version: 1\nrules:\n" + fill("- {name: r, limits: [1 per 1s]}\n"),
		"wrong rules":          "version: 1\nrules:\n" + fill("- r\n"),
		"limits":               "version: 1\nrules:\n- limits: [" + fill("x,") + "]\n",
		"wrong limits":         "version: 1\nrules:\n- limits: [" + fill("{},[],~,") + "]\n",
		"aliases":              "version: 1\nrules: [" + fill("*a,") + "]\n",
		"anchors":              "version: 1\nrules: [" + fill("&a b,") + "]\n",
		"one line":             "version: 1\nrules:\n- name: " + fill("a") + "\n",
		"star, then an error":  "version: 1\nrules: [a, " + fill("*b ") + "]\n",
		"comments":             fill("# x\n"),
		"line ends":            fill("\n"),
		"carriage returns":     fill("\r"),
		"spaces":               "version: 1\nrules:" + fill(" ") + "[]\n",
		"documents":            fill("---\n"),
		"error on a last line": fill("#\n") + "a: b: c",
	} {
		t.Run(name, func(*testing.T) { structural(data) })
	}
}
