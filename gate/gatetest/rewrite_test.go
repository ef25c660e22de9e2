package gatetest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/gate/gatetest"
)

// rewriteScript runs a script with Rewrite and returns what it says then, how
// many lines were rewritten, and what failed.
func rewriteScript(t *testing.T, script string) (rewritten string, r *gatetest.Result) {
	t.Helper()
	path := scriptFile(t, script)
	r, err := gatetest.File(path, gatetest.Options{Load: load, Rewrite: true})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), r
}

func TestRewrite(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"an action", "at 0s check e k=1 -> reject", "at 0s check e k=1 -> allow remaining=1"},
		{"a refusal", "at 0s 3x check e k=1\nat 0s check e k=1 -> allow", "at 0s 3x check e k=1\nat 0s check e k=1 -> reject two retry_after=10s"},
		{"only the names that are asked for", `at 0s check e k=1 -> reject "used[2 per 10s]=7" "max[1 per 1m]="`, `at 0s check e k=1 -> allow "used[2 per 10s]=1" "max[1 per 1m]="`},
		{"what is asked for and not there", "at 0s check e k=1 -> allow retry_after=5s", "at 0s check e k=1 -> allow retry_after="},
		{"nothing expected", "at 0s check e k=1 ->", "at 0s check e k=1 -> allow remaining=1"},
		{"counts", "at 0s 5x check e k=1 -> allow=5", "at 0s 5x check e k=1 -> allow=2"},
		{"both counts", "at 0s 5x check e k=1 -> reject=5 allow=0", "at 0s 5x check e k=1 -> reject=3 allow=2"},
		{"a repeated line whose answers differ", "at 0s..4s/1s check e k=1 -> allow", "at 0s..4s/1s check e k=1 -> allow=2 reject=3"},
		{"a repeated line of which only the delay differs", "at 0s 2x check e k=1\nat 0s..4s/1s check e k=1 -> allow", "at 0s 2x check e k=1\nat 0s..4s/1s check e k=1 -> reject=5"},
		{"a repeated line whose answers are alike", "at 0s 2x check e k=1\nat 0s 3x check e k=1 -> allow", "at 0s 2x check e k=1\nat 0s 3x check e k=1 -> reject two retry_after=10s"},
		{"a query", "at 0s query two k=1 -> nonsense", `at 0s query two k=1 -> "used[2 per 10s]=0"`},
		{"a refund", "at 0s check e k=1 as a\nat 0s refund a -> nothing", "at 0s check e k=1 as a\nat 0s refund a -> given"},
		{"a reload", "at 0s rules words.yaml -> forgets=x", "at 0s rules words.yaml -> forgets="},
		{"an error", "at 0s check pay k=1 -> allow", `at 0s check pay k=1 -> error "error=gate: rule sums: bad event: attribute v is missing; rule sums sums it"`},
		{"a message of two lines", "at 0s check lines\nat 0s check lines -> message=", "at 0s check lines\n" + `at 0s check lines -> reject lines "message=first\nsecond #2"`},
		{"a quoted arrow", `at 0s check e "k=a -> b" -> reject # was wrong`, `at 0s check e "k=a -> b" -> allow remaining=1 # was wrong`},
		{"an arrow in a word", `at 0s check e k=a->b -> reject`, `at 0s check e k=a->b -> allow remaining=1`},
		{"blanks and the end of the line", "at 0s  check e\tk=1  ->   reject   two  \t# was wrong \r", "at 0s  check e\tk=1  -> allow remaining=1  \t# was wrong \r"},
		{"no blank behind the arrow", "at 0s check e k=1 ->\t# empty", "at 0s check e k=1 -> allow remaining=1\t# empty"},
	} {
		got, r := rewriteScript(t, "rules words.yaml\n"+c.line+"\n")
		if want := "rules words.yaml\n" + c.want + "\n"; got != want || r.Rewritten != 1 || len(r.Failures) != 0 {
			t.Errorf("%s: %d rewritten, failures %v\n got %q\nwant %q", c.name, r.Rewritten, r.Failures, got, want)
		}
		if failures, _ := runScript(t, got); failures != "" {
			t.Errorf("%s: rewritten, and still it fails: %s", c.name, failures)
		}
	}
}

// What passes stays byte for byte, however it is written.
func TestRewriteKeeps(t *testing.T) {
	const script = "# A head  \r\n\n\nrules   words.yaml # these\n\t at 0s  check e k=1->2 -> allow  # without remaining\n" +
		"at 0s check e k=1 -> allow \"remaining=1\"\nat 0s 2x check e k=2\nat 0s check e k=2 -> reject retry_after=10000ms\n" +
		"at 1s..2s/1s check e k=2 -> reject two\n   # a tail without an end"
	got, r := rewriteScript(t, script)
	if got != script || r.Rewritten != 0 || len(r.Failures) != 0 || r.Lines != 4 {
		t.Errorf("%d lines, %d rewritten, failures %v\n got %q\nwant %q", r.Lines, r.Rewritten, r.Failures, got, script)
	}
	changed := strings.Replace(script, "reject retry_after=10000ms", "allow", 1)
	got, r = rewriteScript(t, changed)
	if want := strings.Replace(script, "retry_after=10000ms", "two retry_after=10s", 1); got != want || r.Rewritten != 1 {
		t.Errorf("%d rewritten\n got %q\nwant %q", r.Rewritten, got, want)
	}
}

// What no words can say stays a failure, and so does a line that is wrong; the
// lines before it are rewritten.
func TestRewriteCannot(t *testing.T) {
	const query = `at 0s..10s/5s query two k=1 -> "reset_after[2 per 10s]=1s"`
	got, r := rewriteScript(t, "rules words.yaml\nat 0s check e k=1 -> reject\n"+query+"\nat 10s check e k=1 -> reject\nat 5s check e k=1 -> reject\n")
	want := "rules words.yaml\nat 0s check e k=1 -> allow remaining=1\n" + query + "\nat 10s check e k=1 -> allow remaining=1\nat 5s check e k=1 -> reject\n"
	if got != want || r.Rewritten != 2 || len(r.Failures) != 2 {
		t.Fatalf("%d rewritten, failures %v\n got %q\nwant %q", r.Rewritten, r.Failures, got, want)
	}
	if r.Failures[0].Line != 3 || r.Failures[0].Got != `"reset_after[2 per 10s]=10s"` || r.Failures[0].Note != "at 0s" || r.Failures[1].Line != 5 || r.Failures[1].Err == nil {
		t.Errorf("failures %v", r.Failures)
	}
	for _, line := range []string{
		"at 0s check ip=1 -> allow", `at 0s check e k=1 -> reject "used[3 per 10s]=1"`, "at 0s reset two k=1 -> allow", "at 0s 2x check e k=1 as a\nat 0s 2x refund a -> given",
	} {
		script := "rules words.yaml\n" + line + "\n"
		if got, r := rewriteScript(t, script); got != script || r.Rewritten != 0 || len(r.Failures) != 1 {
			t.Errorf("%q became %q, %d rewritten, failures %v", script, got, r.Rewritten, r.Failures)
		}
	}
}

// A script that needs no change is not written, and one that does keeps its
// mode.
func TestRewriteFile(t *testing.T) {
	path := scriptFile(t, "rules words.yaml\nat 0s check e k=1 -> allow\n")
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	o := gatetest.Options{Load: load, Rewrite: true}
	if r, err := gatetest.Dir(filepath.Dir(path), o); err != nil || len(r.Failures) != 0 {
		t.Fatalf("%v, %v", r, err)
	}
	after, err := os.Stat(path)
	if err != nil || !after.ModTime().Equal(before.ModTime()) || after.Mode() != before.Mode() {
		t.Errorf("the file was written: %v, %v", after, err)
	}
	path = scriptFile(t, "rules words.yaml\nat 0s check e k=1 -> reject\n")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if r, err := gatetest.File(path, o); err != nil || r.Rewritten != 1 {
		t.Fatalf("%v, %v", r, err)
	}
	if after, err := os.Stat(path); err != nil || after.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v now: %v", after.Mode(), err)
	}
}
