package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

func generated(t *testing.T) []byte {
	t.Helper()
	t.Chdir("../../../..")
	data, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestCurrent checks that what is kept is what the types and comments say.
func TestCurrent(t *testing.T) {
	data := generated(t)
	kept, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != string(data) {
		t.Errorf("%s is not what go generate ./rule/rulefile/schema writes: commit what it wrote", output)
	}
}

// TestForPeople checks that nothing that is shown in an editor speaks of Go.
func TestForPeople(t *testing.T) {
	var s any
	if err := json.Unmarshal(generated(t), &s); err != nil {
		t.Fatal(err)
	}
	ofGo := regexp.MustCompile(`\bnil\b|\bzero\b|\b[a-z]+[A-Z]|\b[A-Z][a-z]+[A-Z]|\[[A-Z]\w+\]|see rule|\b(Rule|Set|Limit|Passed)\.`)
	described := 0
	var walk func(string, any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, value := range v {
				if text, ok := value.(string); ok && k == "description" {
					described++
					if found := ofGo.FindString(text); found != "" || !strings.HasSuffix(text, ".") {
						t.Errorf("%s: %q in %q", at, found, text)
					}
				}
				walk(at+"/"+k, value)
			}
		case []any:
			for _, value := range v {
				walk(at, value)
			}
		}
	}
	walk("", s)
	if described < 50 {
		t.Errorf("only %d descriptions", described)
	}
}

// TestPatterns checks that each pattern is read alike by ECMA-262, which editors
// use, and RE2.
func TestPatterns(t *testing.T) {
	portable := regexp.MustCompile(`\\[^sS()./|]|\(\?|\[\[:|[*+?]\+`)
	patterns := regexp.MustCompile(`"pattern": "([^"]*)"`).FindAllSubmatch(generated(t), -1)
	if len(patterns) < 10 {
		t.Fatalf("%d patterns", len(patterns))
	}
	for _, p := range patterns {
		text := strings.ReplaceAll(string(p[1]), `\\`, `\`)
		if found := portable.FindString(text); found != "" {
			t.Errorf("%q in %s", found, text)
		}
		if _, err := regexp.Compile(text); err != nil {
			t.Error(err)
		}
	}
}

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{"Name": "name", "OnStoreError": "on_store_error", "MaxWait": "max_wait", "With": "with"} {
		if got := snake(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestForFile(t *testing.T) {
	names := []string{"CountRefused", "Match", "Where"}
	for text, want := range map[string]string{
		"Where is a\ncondition. Left out (nil), it is Where (see [Message]).": "where is a condition. Left out, it is where.",
		"Where leaves out what Match selected, by [InList]. Where it holds.":  "where leaves out what match selected, by {list: NAME}. Where it holds.",
	} {
		if got := forFile(text, "Where", names); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	if got := forFile("Override replaces.\nThe zero Override is wrong.", "", names); got != "An override replaces." {
		t.Errorf("got %q", got)
	}
}
