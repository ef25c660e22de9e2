//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// writeLog writes an access log of n lines of 5000 addresses, in order, a
// thousand a second. A hundred thousand of its lines are more than a sort holds
// in memory.
func writeLog(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), fmt.Sprintf("access-%d.log", n))
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	agent := "Mozilla/5.0 (X11; Linux x86_64) " + strings.Repeat("Example/1.0 ", 16)
	for i := range n {
		at := from.Add(time.Duration(i) * time.Millisecond).Format("02/Jan/2006:15:04:05 -0700")
		fmt.Fprintf(w, "192.0.%d.%d - - [%s] \"GET /articles/%d HTTP/1.1\" 200 %d \"-\" \"%s\"\n", i%5000/250, i%250, at, i%97, i%4099, agent)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// peak replays a log with the program and returns the most memory that it had,
// in KiB. What begins a program counts for its peak, so something small does.
func peak(t *testing.T, program, rules, sort, log string) (kib int64) {
	t.Helper()
	from := time.Now()
	helper := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPeakHelper$")
	helper.Env = append(os.Environ(), "SLIDEGATE_PEAK_OF="+strings.Join([]string{program, "replay", "--summary", "json", "--rules", rules, sort, log}, "\n"))
	out, err := helper.CombinedOutput()
	_, after, found := strings.Cut(string(out), "peak: ")
	if _, scanErr := fmt.Sscan(after, &kib); err != nil || !found || scanErr != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s %s: %d KiB, %s", sort, filepath.Base(log), kib, time.Since(from).Round(time.Millisecond))
	return kib
}

func TestPeakHelper(t *testing.T) {
	args := strings.Split(os.Getenv("SLIDEGATE_PEAK_OF"), "\n")
	if args[0] == "" {
		t.Skip("TestReplayMemory runs it")
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	fmt.Println("peak:", cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
}

// A log that is ten times as long, of the same keys, is replayed in the same
// memory, as it stands or sorted.
func TestReplayMemory(t *testing.T) {
	if os.Getenv("SLIDEGATE_LONG") == "" {
		t.Skip("takes over 10 s; set SLIDEGATE_LONG=1 to run it")
	}
	program, path := build(t), rules(t, "{name: r, key: [ip], limits: [5 per 10s]}")
	short, long := writeLog(t, 100_000), writeLog(t, 1_000_000)
	for _, sort := range []string{"--sort=false", "--sort"} {
		small, large := peak(t, program, path, sort, short), peak(t, program, path, sort, long)
		// A collection that comes late on a busy machine shows in one run; memory
		// that grows with the log shows in all.
		for again := 0; again < 2 && float64(large) > 1.2*float64(small); again++ {
			large = min(large, peak(t, program, path, sort, long))
		}
		if float64(large) > 1.2*float64(small) {
			t.Errorf("%s: %d KiB for a million events, %d KiB for a tenth of them", sort, large, small)
		}
	}
}
