package journal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/slidegate/slidegate/store"
)

// FuzzFiles reads what perhaps is a snapshot or a segment: it is read, refused or torn,
// and nothing panics.
func FuzzFiles(f *testing.F) {
	now := start
	dir := f.TempDir()
	s := open(f, dir, slow(Interval, func() int64 { return now }))
	hit(f, s, store.NewWindow("w"), sliding(5, minute), "k")
	_ = s.log.flush(true)
	l, err := list(dir)
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range []string{snapshotPath(dir, l.snapshots[0]), segmentPath(dir, l.segments[0])} {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, l.segments[0])
	}
	closeStore(f, s)
	f.Fuzz(func(t *testing.T, b []byte, gen uint64) {
		for _, magic := range []string{snapshotMagic, journalMagic} {
			st, err := emptyState(&Options{})
			if err != nil {
				t.Fatal(err)
			}
			src := newSource("file", io.NopCloser(bytes.NewReader(b)), int64(len(b)))
			h, err := src.head(magic, gen)
			if err == nil && magic == snapshotMagic {
				err = st.readParts(src)
			} else if err == nil {
				st.id, st.next = h.id, h.first
				err = st.loadSegment(src, &h, true)
			}
			var cut *torn
			if err != nil && !errors.Is(err, ErrDamaged) && !errors.As(err, &cut) {
				t.Fatal(err)
			}
		}
	})
}
