package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// file is what is written to: an *os.File, or in tests one on a disk that fails.
type file interface {
	io.WriteCloser
	Sync() error
}

func createFile(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
}

const (
	snapshotName = "snapshot-"
	segmentName  = "journal-"
	suffix       = ".sg"
	unfinished   = ".tmp"
)

func snapshotPath(dir string, gen uint64) string { return pathOf(dir, snapshotName, gen) }
func segmentPath(dir string, gen uint64) string  { return pathOf(dir, segmentName, gen) }

func pathOf(dir, name string, gen uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%s%016x%s", name, gen, suffix))
}

// genOf returns the generation in the name of a file.
func genOf(name, prefix string) (gen uint64, ok bool) {
	hex, ok := strings.CutPrefix(strings.TrimSuffix(name, suffix), prefix)
	if !ok || !strings.HasSuffix(name, suffix) || len(hex) != 16 {
		return 0, false
	}
	gen, err := strconv.ParseUint(hex, 16, 64)
	return gen, err == nil && fmt.Sprintf("%016x", gen) == hex
}

// listing is what lies in a directory, in order of generation.
type listing struct {
	snapshots, segments []uint64
	unfinished          []string
}

func list(dir string) (l listing, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return l, err
	}
	for _, e := range entries {
		name := e.Name()
		if gen, ok := genOf(name, snapshotName); ok {
			l.snapshots = append(l.snapshots, gen)
		} else if gen, ok := genOf(name, segmentName); ok {
			l.segments = append(l.segments, gen)
		} else if strings.HasSuffix(name, suffix+unfinished) {
			l.unfinished = append(l.unfinished, name)
		}
	}
	slices.Sort(l.snapshots)
	slices.Sort(l.segments)
	return l, nil
}

// begin creates a file with a head, durably. Until it is, it has another name.
func (o *Options) begin(path string, h *head) (f file, err error) {
	f, err = o.create(path + unfinished)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	_, err = f.Write(h.append(nil))
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = finish(path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal: %s: %w", path, err), f.Close())
	}
	return f, nil
}

// finish gives a file that was written and synced its name.
func finish(path string) error {
	if err := os.Rename(path+unfinished, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// setAside moves all files of a journal into a directory of their own.
func setAside(dir string, l *listing) (to string, err error) {
	to = filepath.Join(dir, "damaged-"+time.Now().UTC().Format("20060102T150405.000000000"))
	if err := os.Mkdir(to, 0o700); err != nil {
		return "", err
	}
	move := func(from string) {
		err = errors.Join(err, os.Rename(from, filepath.Join(to, filepath.Base(from))))
	}
	for _, gen := range l.snapshots {
		move(snapshotPath(dir, gen))
	}
	for _, gen := range l.segments {
		move(segmentPath(dir, gen))
	}
	return to, errors.Join(err, syncDir(to), syncDir(dir))
}

// source reads a file frame by frame.
type source struct {
	path   string
	r      *bufio.Reader
	closer io.Closer
	at     int64 // offset
	size   int64
	buf    []byte
}

func openSource(path string) (*source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return newSource(path, f, info.Size()), nil
}

func newSource(path string, r io.ReadCloser, size int64) *source {
	return &source{path: path, r: bufio.NewReaderSize(r, 1<<18), closer: r, size: size}
}

// damaged says that something is wrong at the offset.
func (s *source) damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s: offset %d: %s", ErrDamaged, s.path, s.at, fmt.Sprintf(format, args...))
}

// read reads the next n bytes, of which there are at least so many. The offset stays.
func (s *source) read(n int64) ([]byte, error) {
	if int64(cap(s.buf)) < n {
		s.buf = make([]byte, n)
	}
	b := s.buf[:n]
	if _, err := io.ReadFull(s.r, b); err != nil {
		return nil, fmt.Errorf("journal: %s: offset %d: %w", s.path, s.at, err)
	}
	return b, nil
}

func (s *source) head(magic string, gen uint64) (h head, err error) {
	b, err := s.read(min(headBytes, s.size))
	if err != nil {
		return h, err
	}
	if h, err = parseHead(b, magic); err != nil {
		return h, s.damaged("%v", err)
	}
	if h.gen != gen {
		return h, s.damaged("the file is of generation %d, its name says %d", h.gen, gen)
	}
	s.at = headBytes
	return h, nil
}

// torn says that the last frame of a file was not written whole.
type torn struct{ why string }

func (t *torn) Error() string { return t.why }

// more reports whether the file goes on.
func (s *source) more() bool { return s.at < s.size }

// frame reads the next one. The payload is good until the next call. An error that is a
// *torn says that what follows may be a frame that was being written at the end.
func (s *source) frame() (number uint64, payload []byte, err error) {
	left := s.size - s.at
	if left < frameBytes {
		return 0, nil, &torn{fmt.Sprintf("%d bytes are left, the head of a frame takes %d", left, frameBytes)}
	}
	b, err := s.read(frameBytes)
	if err != nil {
		return 0, nil, err
	}
	h, ok := parseFrameHead(b)
	left -= frameBytes
	switch {
	case !ok && s.onlyZeros(b):
		return 0, nil, &torn{"only zeros are left"}
	case !ok:
		return 0, nil, s.damaged("the head of a frame does not match its checksum")
	case int64(h.length) > left:
		return 0, nil, &torn{fmt.Sprintf("%d bytes are left of %d", left, h.length)}
	}
	payload, err = s.read(int64(h.length))
	switch {
	case err != nil:
		return 0, nil, err
	case !h.matches(payload) && int64(h.length) == left:
		return 0, nil, &torn{"the last frame does not match its checksum"}
	case !h.matches(payload):
		return 0, nil, s.damaged("a frame does not match its checksum")
	}
	return h.number, payload, nil
}

// passed moves the offset behind a frame with such a payload.
func (s *source) passed(payload []byte) { s.at += frameBytes + int64(len(payload)) }

// onlyZeros reports whether b and all that follows is 0.
func (s *source) onlyZeros(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return err == io.EOF
		}
		if c != 0 {
			return false
		}
	}
}

func (s *source) close() { _ = s.closer.Close() }
