package rulefile

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/rule"
)

// refused is a file that must be refused, with an error on a line that has all
// the words. Some errors are of this package, the others of rule.Compile.
type refused struct {
	file  string
	line  int
	words []string
}

func checkRefused(t *testing.T, dir string, tests []refused) {
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			path := filepath.Join(dir, tt.file)
			_, err := Load(path)
			var errs rule.Errors
			if !errors.As(err, &errs) {
				t.Fatalf("got %v, want a rule.Errors", err)
			}
			for _, e := range errs {
				if e.File == path && e.Line == tt.line && e.Column > 0 && holdsAll(e.Error(), tt.words) {
					return
				}
			}
			t.Errorf("no error on line %d has %q:\n%v", tt.line, tt.words, err)
		})
	}
}

func holdsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

func TestBad(t *testing.T) {
	checkRefused(t, "testdata/bad", []refused{
		{"01-burst-without-gcra.yaml", 6, []string{"rule r", "burst", "gcra"}},
		{"03-day-word.yaml", 6, []string{"rule r", "24h", "calendar day"}},
		{"04-minute-word.yaml", 6, []string{"rule r", "1m"}},
		{"05-capital-M.yaml", 6, []string{"rule r", "1M", "m"}},
		{"06-no-unit.yaml", 6, []string{"rule r", "100 per 60", "unit"}},
		{"07-minus.yaml", 6, []string{"rule r", "-1", "negative"}},
		{"09-lock-without-lasts.yaml", 6, []string{"rule r", "lock needs lasts", "lasts: 15m"}},
		{"19-old-ladder.yaml", 6, []string{"rule r", "count", "unknown field"}},
		{"19-old-ladder.yaml", 7, []string{"rule r", "window", "unknown field"}},
		{"19-old-ladder.yaml", 8, []string{"rule r", "ladder", "unknown field", "a ladder is a list of limits"}},
		{"20-nothing.yaml", 3, []string{"rule r", "a rule needs limits"}},
		{"21-limits-empty.yaml", 6, []string{"rule r", "limits", "a rule needs limits"}},
		{"27-where-in-flow.yaml", 6, []string{"quotes"}},
		{"29-unquoted-glob.yaml", 7, []string{"rule r", `"*bot*" in quotes`}},
		{"31-in-last.yaml", 6, []string{"rule r", "3 per 10 events"}},
		{"32-until-without-quotes.yaml", 7, []string{"rule r", "until", "in quotes", `"2026-12-31"`}},
		{"33-undeclared.yaml", 4, []string{"rule r", "phnoe", "phone"}},
		{"36-key-scalar.yaml", 6, []string{"rule r", "key is a list: write key: [user]"}},
		{"37-duplicate-key.yaml", 7, []string{"rule r", "key is written twice", "line 5"}},
	})
}

// TestBadOnce checks that the errors of this package stand alone: the
// compiler adds none that only follow from them.
func TestBadOnce(t *testing.T) {
	for file, want := range map[string]int{
		"19-old-ladder.yaml": 4, "21-limits-empty.yaml": 1, "29-unquoted-glob.yaml": 1,
		"32-until-without-quotes.yaml": 1, "36-key-scalar.yaml": 1, "37-duplicate-key.yaml": 1,
	} {
		_, err := Load("testdata/bad/" + file)
		var errs rule.Errors
		if errors.As(err, &errs); len(errs) > want || len(errs) == 0 {
			t.Errorf("%s: %d errors, want at most %d:\n%v", file, len(errs), want, err)
		}
	}
}

func TestBadAll(t *testing.T) {
	paths, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(paths) != 37 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		_, err := Load(path)
		var errs rule.Errors
		if !errors.As(err, &errs) || len(errs) == 0 {
			t.Errorf("%s: got %v, want a rule.Errors", path, err)
			continue
		}
		for _, e := range errs {
			if e.File != path || e.Line < 1 || e.Column < 1 {
				t.Errorf("no place: %v", e)
			}
		}
	}
}

// TestMisspelt is a word misspelt in each of seven ways. None may be ignored.
func TestMisspelt(t *testing.T) {
	checkRefused(t, "testdata/f16", []refused{
		{"f1.yaml", 6, []string{"rule api", "limits[0]", "100 per 1horu"}},
		{"f2.yaml", 7, []string{"rule api", "unlimied: unknown field", "limits: unlimited"}},
		{"f3.yaml", 6, []string{"rule api", "limits[0]", "ten per 1m"}},
		{"f4.yaml", 7, []string{"rule api", "limits is written twice", "line 6"}},
		{"f5.yaml", 6, []string{"rule api", "limits[0]", "100 per 1M"}},
		{"f6.yaml", 6, []string{"rule api", "limits[0]", "100 per 10", "unit"}},
		{"f7.yaml", 1, []string{"no rules"}},
	})
}
