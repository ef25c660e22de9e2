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
// thousand a second.
func writeLog(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "access.log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		at := from.Add(time.Duration(i) * time.Millisecond).Format("02/Jan/2006:15:04:05 -0700")
		fmt.Fprintf(w, "192.0.%d.%d - - [%s] \"GET /articles/%d HTTP/1.1\" 200 %d \"-\" \"Mozilla/5.0 (X11; Linux x86_64)\"\n", i%5000/250, i%250, at, i%97, i%4099)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// peak replays a log with the program and returns the most memory it had, in
// KiB.
func peak(t *testing.T, program string, args ...string) int64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"replay", "--summary", "json"}, args...)...)
	from := time.Now()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	t.Logf("%s: %d KiB, %s", strings.Join(args, " "), usage.Maxrss, time.Since(from).Round(time.Millisecond))
	return usage.Maxrss
}

// A log that is ten times as long, of the same keys, is replayed in the same
// memory, in order or sorted.
func TestReplayMemory(t *testing.T) {
	if os.Getenv("SLIDEGATE_LONG") == "" {
		t.Skip("takes over 10 s; set SLIDEGATE_LONG=1 to run it")
	}
	program, path := build(t), rules(t, "{name: r, key: [ip], limits: [5 per 10s, 100 per 24h]}")
	short, long := writeLog(t, 100_000), writeLog(t, 1_000_000)
	for _, sort := range []string{"--sort=false", "--sort"} {
		small, large := peak(t, program, "--rules", path, sort, short), peak(t, program, "--rules", path, sort, long)
		if float64(large) > 1.2*float64(small) {
			t.Errorf("%s: %d KiB for a million events, %d KiB for a tenth of them", sort, large, small)
		}
	}
}
