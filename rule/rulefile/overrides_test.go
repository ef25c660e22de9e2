package rulefile

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/rule"
)

func TestOverrideFile(t *testing.T) {
	data := oneRule("match: {event: e}\nkey: [tenant]\nlimits: [1000 per 1m]\noverrides: {file: overrides/good.yaml}")
	abs, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	want := []rule.Override{
		{Match: []rule.Matcher{{"tenant": {"acme"}}}, Limits: []string{"5000 per 1m"}, Until: "2026-12-31"},
		{Match: []rule.Matcher{{"tenant": {"beta", "gamma"}}}, Unlimited: true},
	}
	for _, dir := range []string{"testdata", abs} {
		f, err := Parse("r.yaml", dir, []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Set.Rules[0].Overrides; !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v", got)
		}
	}
	data = strings.Replace(data, "overrides/good.yaml", abs+"/overrides/good.yaml", 1)
	if _, err := Parse("r.yaml", "/nowhere", []byte(data)); err != nil {
		t.Errorf("an absolute path: %v", err)
	}
}

func TestOverrideFileErrors(t *testing.T) {
	for _, tt := range []wrong{
		{"bad.yaml", "", []string{
			`testdata/overrides/bad.yaml:2:11: rule r: overrides[0].limits: "5000 per 1m": limits is a list: write limits: [5000 per 1m]`,
			`testdata/overrides/bad.yaml:5:3: rule r: overrides[1].untill: unknown field: did you mean until?`,
			`testdata/overrides/bad.yaml:6:20: rule r: overrides[2].match[0].tenant: "*all": write "*all" in quotes: YAML takes a bare * for an alias`,
		}},
		{"syntax.yaml", "", []string{
			`testdata/overrides/syntax.yaml:1:47: rule r: overrides: expected a comma or "]" here: the list that begins on line 1 is not closed, or a text in it needs quotes`,
		}},
		{"empty.yaml", "", []string{
			`testdata/overrides/empty.yaml:1:1: rule r: overrides: no overrides: the file is empty, write [] if that is meant`,
		}},
		{"mapping.yaml", "", []string{
			`testdata/overrides/mapping.yaml:1:1: rule r: overrides: a file of overrides is a list: begin each override with "- match: "`,
		}},
		{"none.yaml", "", nil},
		{"nowhere.yaml", "", []string{
			`r.yaml:4:23: rule r: overrides.file: "overrides/nowhere.yaml": cannot read testdata/overrides/nowhere.yaml: no such file or directory`,
		}},
		{"", "", []string{
			`r.yaml:4:23: rule r: overrides.file: "overrides/": cannot read testdata/overrides: not a regular file`,
		}},
	} {
		r := newReader("r.yaml", "testdata")
		r.read([]byte(oneRule("overrides: {file: overrides/" + tt.name + "}")))
		want := strings.Join(tt.want, "\n")
		if got := r.errors().Error(); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, want)
		}
	}
}

// TestOverrideFilePlaces checks that what the compiler finds in a file of
// overrides is reported there, and after all that is in the rule file.
func TestOverrideFilePlaces(t *testing.T) {
	r := newReader("r.yaml", "testdata")
	r.read([]byte(oneRule("overrides: {file: overrides/good.yaml}\nlimits: [1 per 1s]")))
	r.merge(rule.Errors{
		{Rule: "r", Path: "rules[0].overrides[0].limits[0]", Msg: "a"},
		{Rule: "r", Path: "rules[0].overrides[1].match[0].tenant[1]", Msg: "b"},
		{Rule: "r", Path: "rules[0].overrides[0]", Msg: "c"},
		{Rule: "r", Path: "rules[0].overrides", Msg: "d"},
		{Rule: "r", Path: "rules[0].limits[0]", Msg: "e"},
	})
	want := `r.yaml:4:16: rule r: overrides: d
r.yaml:5:14: rule r: limits[0]: e
testdata/overrides/good.yaml:2:3: rule r: overrides[0]: c
testdata/overrides/good.yaml:3:12: rule r: overrides[0].limits[0]: a
testdata/overrides/good.yaml:5:27: rule r: overrides[1].match[0].tenant[1]: b`
	if got := r.errors().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestOverrideFileShared reads a file that two rules name: both have it, and
// what is wrong in it is said once.
func TestOverrideFileShared(t *testing.T) {
	two := func(file string) string {
		one := "    limits: [1000 per 1m]\n    overrides: {file: overrides/" + file + "}\n"
		return "version: 1\nrules:\n  - name: a\n" + one + "  - name: b\n" + one
	}
	f, err := Parse("r.yaml", "testdata", []byte(two("good.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := f.Set.Rules[0].Overrides, f.Set.Rules[1].Overrides; len(a) != 2 || !reflect.DeepEqual(a, b) {
		t.Errorf("got %+v and %+v", a, b)
	}
	_, err = Parse("r.yaml", "testdata", []byte(two("bad.yaml")))
	var errs rule.Errors
	if errors.As(err, &errs); len(errs) != 3 {
		t.Errorf("got %d errors, want 3:\n%v", len(errs), err)
	}
}

func TestOverrideFileSizes(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, size int) {
		t.Helper()
		data := "[]" + strings.Repeat(" ", size-2)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("over", maxFile+1)
	write("full", maxFile)
	r := newReader("r.yaml", dir)
	r.read([]byte(oneRule("overrides: {file: over}")))
	if got := r.errors().Error(); !strings.HasSuffix(got, "over:1:1: rule r: overrides: the file is over 4 MiB") {
		t.Errorf("got %s", got)
	}
	one := "  - {name: r, overrides: {file: full}}\n"
	r = newReader("r.yaml", dir)
	r.read([]byte("version: 1\nrules:\n" + strings.Repeat(one, maxFiles/maxFile+1)))
	want := `r.yaml:7:33: rule r: overrides.file: "full": the files of overrides are over 16 MiB together`
	if got := r.errors().Error(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
