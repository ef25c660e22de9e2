package journal

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

// disk makes files that fail when it says so.
type disk struct {
	full   atomic.Bool // writes are cut short
	broken atomic.Bool // syncs fail
	closed atomic.Bool // files are closed behind our back
	slow   chan struct{}
}

type diskFile struct {
	*os.File

	d *disk
}

func (d *disk) create(path string) (file, error) {
	f, err := os.Create(path)
	return diskFile{f, d}, err
}

func (f diskFile) Write(b []byte) (int, error) {
	if f.d.slow != nil {
		<-f.d.slow
	}
	if f.d.closed.Load() {
		f.Close()
	}
	if f.d.full.Load() {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, syscall.ENOSPC
	}
	return f.File.Write(b)
}

func (f diskFile) Sync() error {
	if f.d.broken.Load() {
		return syscall.EIO
	}
	return f.File.Sync()
}

// TestDiskFails: when the disk fails, deciding goes on, health says so, what could not be
// written is counted, and with Every it is an error. When the disk works again, a
// snapshot makes all good. A crash before that loses what was not written, and no more.
func TestDiskFails(t *testing.T) {
	for _, d := range []Durability{Interval, Every} {
		for _, fault := range []string{"full", "broken", "closed"} {
			t.Run(d.String()+" "+fault, func(t *testing.T) {
				dir, now := t.TempDir(), start
				bad := &disk{}
				var log notes
				o := slow(d, func() int64 { return now })
				o.create, o.Logf = bad.create, log.logf
				s := open(t, dir, o)
				w, p := store.NewWindow("w"), sliding(100, minute)
				hit(t, s, w, p, "k")
				if err := s.log.flush(true); err != nil {
					t.Fatal(err)
				}
				set := map[string]*atomic.Bool{"full": &bad.full, "broken": &bad.broken, "closed": &bad.closed}[fault]
				set.Store(true)
				for range 3 {
					err := decideOne(s, w, p)
					if d == Every && !errors.Is(err, ErrNotDurable) || d == Interval && err != nil {
						t.Fatalf("while the disk fails: %v", err)
					}
					_ = s.log.flush(true)
				}
				if err := s.Health(); err == nil || !strings.Contains(err.Error(), "journal-") {
					t.Errorf("health: %v", err)
				}
				if st := s.JournalStats(); st.Lost != 3 || st.Failures == 0 {
					t.Errorf("stats: %+v", st)
				}
				if err := s.snapshot(t.Context(), false); err == nil {
					t.Error("a snapshot on a disk that fails")
				}
				crashed(t, dir, o, w, 1, 2, 3, 4) // what a failed sync left is not known
				set.Store(false)
				if err := s.snapshot(t.Context(), false); err != nil {
					t.Fatal(err)
				}
				if err := s.Health(); err != nil {
					t.Errorf("health after a snapshot: %v", err)
				}
				if err := decideOne(s, w, p); err != nil {
					t.Fatal(err)
				}
				if err := s.log.flush(true); err != nil {
					t.Fatal(err)
				}
				crashed(t, dir, o, w, 5)
				closeStore(t, s)
				if text := log.text(); !strings.Contains(text, "nothing is kept until") || !strings.Contains(text, "all is kept again") {
					t.Errorf("log: %q", text)
				}
			})
		}
	}
}

func decideOne(s store.Store, w *store.Window, p *limit.Params) error {
	reqs := []store.Request{{Items: []store.Item{{Window: w, Key: []byte("k"), Limit: p, Cost: 1}}}}
	return s.Decide(context.Background(), reqs)
}

// crashed opens a copy of a directory and fails unless one of these counts is in it.
func crashed(t *testing.T, dir string, o Options, w *store.Window, want ...int64) {
	t.Helper()
	o.create = nil
	s := open(t, copyDir(t, dir), o)
	defer s.Close()
	got := used(t, s, w, sliding(100, minute), "k")
	if !slices.Contains(want, got) {
		t.Errorf("after a crash %d are used, want one of %v", got, want)
	}
}

// TestCrashWhileRecovering: when the process ends after a segment was begun that follows
// a failure, and before its snapshot was written, that segment is of no use and is kept
// aside.
func TestCrashWhileRecovering(t *testing.T) {
	dir, now := t.TempDir(), start
	bad := &disk{}
	o := slow(Interval, func() int64 { return now })
	o.create = bad.create
	s := open(t, dir, o)
	w, p := store.NewWindow("w"), sliding(100, minute)
	hit(t, s, w, p, "k")
	_ = s.log.flush(true)
	bad.full.Store(true)
	hit(t, s, w, p, "k")
	_ = s.log.flush(true)
	bad.full.Store(false)
	s.gen++
	if err := s.log.rotate(dir, &head{magic: journalMagic, gen: s.gen, id: s.id}); err != nil {
		t.Fatal(err)
	}
	hit(t, s, w, p, "k")
	_ = s.log.flush(true)
	if s.Health() == nil {
		t.Error("healthy before the snapshot")
	}
	var log notes
	o.create, o.Logf = nil, log.logf
	after := copyDir(t, dir)
	for range 2 {
		r := open(t, after, o)
		if got := used(t, r, w, p, "k"); got != 1 {
			t.Errorf("%d used, want 1", got)
		}
		after = copyDir(t, after)
		defer r.Close()
	}
	if text := log.text(); !strings.Contains(text, "is lost") || !strings.Contains(text, "are kept in") {
		t.Errorf("log: %q", text)
	}
	closeStore(t, s)
}

// TestSlowDisk: what waits for a slow disk is bounded, and deciding does not wait.
func TestSlowDisk(t *testing.T) {
	bad := &disk{}
	o := Options{Interval: time.Millisecond, MaxBuffer: 1 << 16, SnapshotEvery: -1}
	o.create = bad.create
	s := open(t, t.TempDir(), o)
	s.log.disk.Lock() // the disk takes its time
	w, p := store.NewWindow("w"), sliding(100_000, minute)
	for range 5_000 {
		hit(t, s, w, p, "k")
	}
	s.log.mu.Lock()
	waits, lost := len(s.log.buf), s.log.count.Lost
	s.log.mu.Unlock()
	if waits > 1<<16 || lost == 0 || s.Health() == nil {
		t.Errorf("%d bytes wait, %d are lost, health %v", waits, lost, s.Health())
	}
	s.log.disk.Unlock()
	closeStore(t, s)
}
