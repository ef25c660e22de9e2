package rulefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slidegate/slidegate/rule"
)

// FuzzParse checks that no bytes make Parse panic, that every error has a
// place inside the file and fits into one line, and that the same bytes give
// the same answer.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*.yaml", "testdata/bad/*.yaml", "testdata/*.yaml", "testdata/f16/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	for _, s := range []string{
		"", "\ufeff", "a: *b\n", "a: [*b c]", "? ", "- - -", "%YAML 1.1\n---\n", "a: |\n\n #", "\r\n\r\"", "a:\n\tb", "{a: , b}", "&a *a",
		"version: 1\nrules: [{name: r, overrides: {file: x}}]", "!!x &y z: !<a> b", "<<: *a", "\"\\u2028\"", "a\rb: c", "'", "a: >-\n", "操: 作: x",
	} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	end := regexp.MustCompile("\r\n|\r|\n")
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := Parse("r.yaml", dir, data)
		if _, again := Parse("r.yaml", dir, data); fmt.Sprint(again) != fmt.Sprint(err) {
			t.Fatalf("first\n%v\nthen\n%v", err, again)
		}
		var errs rule.Errors
		if err != nil && !errors.As(err, &errs) {
			t.Fatalf("no rule.Errors: %v", err)
		}
		lines := end.Split(strings.TrimPrefix(string(data), "\ufeff"), -1)
		for _, e := range errs {
			if e.File != "r.yaml" || e.Line < 1 || e.Line > len(lines) ||
				e.Column < 1 || e.Column > 1+utf8.RuneCountInString(lines[e.Line-1]) {
				t.Fatalf("a place outside of the file: %v", e)
			}
			if e.Msg == "" || strings.ContainsAny(e.Error(), "\r\n") {
				t.Fatalf("not one line: %q", e.Error())
			}
		}
	})
}
