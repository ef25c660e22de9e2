package gatetest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/gate/gatetest"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/rule/rulefile"
)

// load reads a rule file of testdata, wherever the script stands.
func load(path string) (*rule.Plan, error) {
	f, err := rulefile.Load(filepath.Join("testdata", filepath.Base(path)))
	if err != nil {
		return nil, err
	}
	return f.Plan, nil
}

// scriptFile writes a script and returns its path.
func scriptFile(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.gate")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runScript runs a script and returns what failed, with FILE for its path, and
// the number of expectations.
func runScript(t *testing.T, script string) (failures string, lines int) {
	t.Helper()
	path := scriptFile(t, script)
	r, err := gatetest.File(path, gatetest.Options{Load: load})
	if err != nil {
		t.Fatal(err)
	}
	if r.Scripts != 1 || r.Rewritten != 0 {
		t.Errorf("%d scripts, %d rewritten; want 1 and 0", r.Scripts, r.Rewritten)
	}
	var texts []string
	for _, f := range r.Failures {
		texts = append(texts, strings.ReplaceAll(f.Error(), path, "FILE"))
	}
	return strings.Join(texts, "\n"), r.Lines
}

// construct is a part of the language: a script that passes, with so many
// expectations, and one that fails with this text.
type construct struct {
	name  string
	pass  string
	lines int
	fail  string
	text  string
}

func testConstructs(t *testing.T, all []construct) {
	t.Helper()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			if got, lines := runScript(t, c.pass); got != "" || lines != c.lines {
				t.Errorf("%d expectations, want %d; failures: %s", lines, c.lines, got)
			}
			if got, _ := runScript(t, c.fail); got != c.text {
				t.Errorf("got\n%s\nwant\n%s", got, c.text)
			}
		})
	}
}

// wrong is the text of the failure of a line.
func wrong(line int, text, expected, got string) string {
	return fmt.Sprintf("FILE:%d: %s\n\texpected: %s\n\t     got: %s", line, text, expected, got)
}

func TestDirRunsScriptsInOrder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a [b]*")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"b.gate":     "rules words.yaml\nat 0s check e k=1 -> reject\n",
		"a.gate":     "rules words.yaml\nat 0s check ban -> allow\nat 0s check e k=1 -> allow\n",
		"notes.txt":  "at 0s check e -> nonsense\n",
		"c.gate.bak": "nonsense\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := gatetest.Dir(dir, gatetest.Options{Load: load})
	if err != nil {
		t.Fatal(err)
	}
	if r.Scripts != 2 || r.Lines != 3 || len(r.Failures) != 2 {
		t.Fatalf("%d scripts, %d lines, %v", r.Scripts, r.Lines, r.Failures)
	}
	if a, b := r.Failures[0], r.Failures[1]; filepath.Base(a.File) != "a.gate" || a.Line != 2 || filepath.Base(b.File) != "b.gate" || b.Line != 2 {
		t.Errorf("in the order %v", r.Failures)
	}
}

func TestDirErrors(t *testing.T) {
	empty, none := t.TempDir(), filepath.Join(t.TempDir(), "none")
	if _, err := gatetest.Dir(empty, gatetest.Options{Load: load}); err == nil || !strings.Contains(err.Error(), empty+": no scripts (*.gate) in it") {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := gatetest.Dir(none, gatetest.Options{Load: load}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if _, err := gatetest.Dir(scriptFile(t, ""), gatetest.Options{Load: load}); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a file: %v", err)
	}
	if _, err := gatetest.File(filepath.Join(none, "a.gate"), gatetest.Options{Load: load}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := gatetest.File(scriptFile(t, "rules words.yaml\n"), gatetest.Options{}); err == nil || !strings.Contains(err.Error(), "Options.Load is required") {
		t.Errorf("without Load: %v", err)
	}
}

// recorder is a TB that remembers what Run says.
type recorder struct{ errors, fatals []string }

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.fatals = append(r.fatals, fmt.Sprintf(format, args...))
	panic(r)
}

// runRecorded calls Run with a TB of which nothing comes back after Fatalf.
func runRecorded(dir string) (r *recorder) {
	r = &recorder{}
	defer func() {
		if p := recover(); p != nil && p != r {
			panic(p)
		}
	}()
	gatetest.Run(r, dir, gatetest.Options{Load: load})
	return r
}

func TestRunReports(t *testing.T) {
	path := scriptFile(t, "rules words.yaml\nat 0s check e k=1 -> reject\nat 0s chek e k=1 -> allow\n")
	got := runRecorded(filepath.Dir(path))
	want := []string{
		path + ":2: at 0s check e k=1 -> reject\n\texpected: reject\n\t     got: allow remaining=1",
		path + `:3: unknown word "chek"; a line is rules, start, or at TIME check, report, query, refund, release, renew, reset or unlock`,
	}
	if strings.Join(got.errors, "\n") != strings.Join(want, "\n") || got.fatals != nil {
		t.Errorf("got  %q, %q\nwant %q", got.errors, got.fatals, want)
	}
	path = scriptFile(t, "rules words.yaml\nat 0s check e k=1 -> allow\n")
	if got := runRecorded(filepath.Dir(path)); got.errors != nil || got.fatals != nil {
		t.Errorf("a script that passes: %q, %q", got.errors, got.fatals)
	}
	if got := runRecorded(filepath.Join(filepath.Dir(path), "none")); len(got.fatals) != 1 || got.errors != nil {
		t.Errorf("no directory: %q, %q", got.errors, got.fatals)
	}
}
