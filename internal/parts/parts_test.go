package parts_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/parts"
)

// TestDebian: what is there is found, and what is missing is installed and runs.
func TestDebian(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), parts.Debian(t, "mandoc", "mandoc"), "-man", "-Tutf8", "/dev/null").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if path := parts.Debian(t, "sh", "dash"); !strings.HasSuffix(path, "/sh") {
		t.Error(path)
	}
}

// told is a test that notes how it ended.
type told struct {
	testing.TB

	skipped, failed bool
}

func (t *told) Skipf(string, ...any)  { t.skipped = true }
func (t *told) Fatalf(string, ...any) { t.failed = true }

// TestMissing: a program that no package holds skips a test, and fails it in CI.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no apt-get, no sudo
	for _, ci := range []string{"", "true"} {
		t.Setenv("CI", ci)
		got := &told{TB: t}
		parts.Debian(got, "nothing", "nothing")
		if got.failed != (ci != "") || got.skipped == got.failed {
			t.Errorf("CI=%q: %+v", ci, got)
		}
	}
}
