package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/store"
)

// small makes a directory with a snapshot and two segments after it, of which the last
// holds three frames. Each hit is of a frame of its own.
func small(t *testing.T, now *int64) (dir string, o Options) {
	t.Helper()
	dir = t.TempDir()
	o = slow(Interval, func() int64 { return *now })
	s := open(t, dir, o)
	defer s.Close()
	w, p := store.NewWindow("w"), sliding(100, minute)
	write := func(n int) {
		for range n {
			hit(t, s, w, p, "k")
			if err := s.log.flush(true); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(2)
	if err := s.snapshot(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	write(2)
	s.snapshots.Lock()
	s.gen++
	err := s.log.rotate(dir, &head{magic: journalMagic, gen: s.gen, id: s.id})
	s.snapshots.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	write(3)
	return copyDir(t, dir), o
}

const smallHits = 7

// filesOf returns the files of a small directory: the snapshot, and the segments.
func filesOf(t *testing.T, dir string) (snapshot string, segments []string) {
	t.Helper()
	l, err := list(dir)
	if err != nil || len(l.snapshots) != 1 || len(l.segments) != 2 {
		t.Fatalf("%+v, %v", l, err)
	}
	return snapshotPath(dir, l.snapshots[0]), []string{segmentPath(dir, l.segments[0]), segmentPath(dir, l.segments[1])}
}

// try opens a directory in which a file was changed, and returns what counts in it. Files
// that are refused must stay as they are.
func try(t *testing.T, dir, path string, content []byte, o Options) (count int64, err error) {
	t.Helper()
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	l, _ := list(dir)
	o.create = unsynced
	s, err := Open(dir, o)
	if err != nil {
		is, _ := os.ReadFile(path)
		if !bytes.Equal(is, content) {
			t.Fatalf("%s was refused and changed", path)
		}
	} else {
		count = used(t, s, store.NewWindow("w"), sliding(100, minute), "k")
		s.log.close()
		s.Memory.Close()
		close(s.stop)
		s.loops.Wait()
		s.lock.unlock()
		after, _ := list(dir)
		os.Remove(segmentPath(dir, after.segments[len(after.segments)-1]))
	}
	if after, _ := list(dir); len(after.segments) != len(l.segments) || len(after.snapshots) != len(l.snapshots) {
		t.Fatalf("files came or went: %+v, %+v", l, after)
	}
	if err := os.WriteFile(path, was, 0o600); err != nil {
		t.Fatal(err)
	}
	return count, err
}

// TestDamage: of a snapshot and of journals, every flip of a bit of every byte, and every
// truncation, is refused with the name of the file, or cut where the last frame of the
// last journal was torn. Nothing is ever counted wrong.
func TestDamage(t *testing.T) {
	inMemory(t)
	now := start
	dir, o := small(t, &now)
	snapshot, segments := filesOf(t, dir)
	for _, path := range append(segments, snapshot) {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		last := path == segments[1]
		frames := frameEnds(whole)
		name := filepath.Base(path)
		t.Logf("%s: %d bytes", name, len(whole))
		judge := func(what string, at int, content []byte, atMost int64) {
			count, err := try(t, dir, path, content, o)
			switch {
			case err == nil && !last:
				t.Fatalf("%s: %s at %d was not noticed; %d are counted", name, what, at, count)
			case err == nil && count != atMost:
				t.Fatalf("%s: %s at %d: %d are counted, want %d", name, what, at, count, atMost)
			case err != nil && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "journal-") && !strings.Contains(err.Error(), name)):
				t.Fatalf("%s: %s at %d: %v", name, what, at, err)
			}
		}
		for at := range whole {
			flipped := bytes.Clone(whole)
			flipped[at] ^= 1 << (at % 8)
			judge("a flip", at, flipped, smallHits-1) // only the last frame may be cut
			kept := int64(0)
			for _, end := range frames {
				if end <= at {
					kept++
				}
			}
			judge("the end", at, whole[:at], smallHits-int64(len(frames))+kept)
		}
	}
	if count, err := try(t, dir, snapshot, mustRead(t, snapshot), o); err != nil || count != smallHits {
		t.Errorf("untouched: %d, %v", count, err)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// frameEnds returns where the frames of a file end.
func frameEnds(b []byte) (ends []int) {
	for at := headBytes; at < len(b); {
		h, _ := parseFrameHead(b[at:])
		at += frameBytes + int(h.length)
		ends = append(ends, at)
	}
	return ends
}

// TestWrongFiles: a segment that is missing, another's, a copy, in the place of another,
// or of another version is refused, and so is a snapshot.
func TestWrongFiles(t *testing.T) {
	now := start
	other, _ := small(t, &now)
	_, others := filesOf(t, other)
	for _, c := range []struct {
		what, says string
		do         func(snapshot string, segments []string) error
	}{
		{"the first segment is missing", "is missing", func(_ string, s []string) error { return os.Remove(s[0]) }},
		{"the snapshot is missing", "no snapshot", func(p string, _ []string) error { return os.Remove(p) }},
		{"segments are swapped", "its name says", func(_ string, s []string) error {
			return errors.Join(os.Rename(s[0], s[0]+"x"), os.Rename(s[1], s[0]), os.Rename(s[0]+"x", s[1]))
		}},
		{"a segment is there twice", "its name says", func(_ string, s []string) error {
			return os.WriteFile(s[1][:len(s[1])-4]+"9.sg", mustRead(t, s[1]), 0o600)
		}},
		{"a segment of another directory", "another directory", func(_ string, s []string) error {
			return os.WriteFile(s[1], mustRead(t, others[1]), 0o600)
		}},
		{"a snapshot as a segment", "is not how", func(p string, s []string) error {
			return os.WriteFile(s[0], mustRead(t, p), 0o600)
		}},
		{"another version", `version "02"`, func(_ string, s []string) error {
			b := mustRead(t, s[0])
			b[7] = '2'
			return os.WriteFile(s[0], b, 0o600)
		}},
		{"a hole between segments", "in place of", func(_ string, s []string) error {
			b := mustRead(t, s[0])
			return os.WriteFile(s[0], b[:frameEnds(b)[0]], 0o600)
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir, o := small(t, &now)
			snapshot, segments := filesOf(t, dir)
			if err := c.do(snapshot, segments); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir, o)
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), dir) {
				t.Fatalf("%v: want %q", err, c.says)
			}
			var log notes
			o.StartEmpty, o.Logf = true, log.logf
			s := open(t, dir, o)
			if got := used(t, s, store.NewWindow("w"), sliding(100, minute), "k"); got != 0 {
				t.Errorf("%d used of an empty store", got)
			}
			closeStore(t, s)
			aside, _ := filepath.Glob(filepath.Join(dir, "damaged-*", "*.sg"))
			if len(aside) == 0 || !strings.Contains(log.text(), "the files are kept in") {
				t.Errorf("kept aside: %v; %q", aside, log.text())
			}
		})
	}
}

// TestTornThenFiles: what was torn is cut for good, so that files may follow.
func TestTornThenFiles(t *testing.T) {
	now := start
	dir, o := small(t, &now)
	_, segments := filesOf(t, dir)
	b := mustRead(t, segments[1])
	if err := os.WriteFile(segments[1], append(b, 1, 2, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	var log notes
	o.Logf = log.logf
	for n := range 3 {
		s := open(t, dir, o)
		w, p := store.NewWindow("w"), sliding(100, minute)
		if got := used(t, s, w, p, "k"); got != int64(smallHits+n) {
			t.Errorf("%d used, want %d", got, smallHits+n)
		}
		hit(t, s, w, p, "k")
		if err := s.log.flush(true); err != nil {
			t.Fatal(err)
		}
		dir = copyDir(t, dir) // a crash
		defer s.Close()
	}
	if text := log.text(); strings.Count(text, "cut off") != 1 || !strings.Contains(text, segments[1]) {
		t.Errorf("log: %q", log.text())
	}
}
