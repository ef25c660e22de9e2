// Package parts installs the programs that tests run for real, which are not Go:
// from Debian, once, where they are missing. It is for tests only.
package parts

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Debian returns the path of a program, and installs the package that holds it if
// it is missing, by apt-get, as root or by a sudo that asks for nothing. Where that
// cannot be done the test is skipped, and says why; with CI set in the environment
// it fails: nothing is skipped there for want of installing. It may be called by
// several test programs at once.
func Debian(tb testing.TB, program, pkg string) string {
	tb.Helper()
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	path, err := install(tb, program, pkg)
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") != "":
		tb.Fatalf("%s is not here and cannot be installed: %v", program, err)
	default:
		tb.Skipf("%s is not here and cannot be installed: %v; install %s to run this test", program, err, pkg)
	}
	return ""
}

func install(tb testing.TB, program, pkg string) (path string, err error) {
	tb.Helper()
	tb.Logf("installing %s from Debian for %s", pkg, program)
	for _, args := range [][]string{
		{"update", "-qq"},
		{"install", "-y", "-qq", "--no-install-recommends", pkg},
	} {
		args = append([]string{"apt-get", "-o", "DPkg::Lock::Timeout=600", "-o", "Acquire::Retries=3"}, args...)
		if os.Geteuid() != 0 {
			args = append([]string{"sudo", "-n"}, args...)
		}
		cmd := exec.CommandContext(tb.Context(), args[0], args[1:]...) //nolint:gosec // tests name the package
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w: %s", args, err, out)
		}
	}
	return exec.LookPath(program)
}
