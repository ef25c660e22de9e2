package journal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

const (
	start  = int64(1_700_000_000_000_000)
	second = int64(1_000_000)
	minute = 60 * second
)

// open opens a store, or fails.
func open(tb testing.TB, dir string, o Options) *Store {
	tb.Helper()
	s, err := Open(dir, o)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func closeStore(tb testing.TB, s *Store) {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
}

func sliding(maximum, size int64) *limit.Params {
	p, err := limit.New(limit.SlidingLog, maximum, size, 0, 0)
	if err != nil {
		panic(err)
	}
	return &p
}

// hit charges one unit and reports whether it was admitted.
func hit(tb testing.TB, s store.Store, w *store.Window, p *limit.Params, key string) *store.Request {
	tb.Helper()
	reqs := []store.Request{{Items: []store.Item{{Window: w, Key: []byte(key), Limit: p, Cost: 1}}}}
	if err := s.Decide(context.Background(), reqs); err != nil {
		tb.Fatal(err)
	}
	return &reqs[0]
}

// used returns what counts in a window.
func used(tb testing.TB, s store.Store, w *store.Window, p *limit.Params, key string) int64 {
	tb.Helper()
	req := &store.Request{Items: []store.Item{{Window: w, Key: []byte(key), Limit: p}}}
	if err := s.Look(context.Background(), req); err != nil {
		tb.Fatal(err)
	}
	return req.Items[0].Result.Used
}

// copyDir copies a directory as it is on disk now, as a crash would leave it.
func copyDir(tb testing.TB, dir string) string {
	tb.Helper()
	to := tb.TempDir()
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), b, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return to
}

// slow are options that write nothing by themselves.
func slow(d Durability, now func() int64) Options {
	return Options{
		Memory: store.MemoryOptions{Now: now, SweepEvery: -1}, Durability: d,
		Interval: time.Hour, SnapshotEvery: -1, SnapshotBytes: -1,
	}
}

// notes keeps what is logged.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) logf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

// text returns all of it.
func (n *notes) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.lines, "\n")
}

// inMemory lets the directories of a test lie in memory, if the machine has a place for
// that: it opens thousands.
func inMemory(t *testing.T) {
	const shm = "/dev/shm"
	if info, err := os.Stat(shm); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", shm)
	}
}
