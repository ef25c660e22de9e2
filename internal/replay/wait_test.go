//go:build unix

package replay

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// pipe makes a named pipe.
func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A named pipe is waited for, and read like a file.
func TestNamedPipe(t *testing.T) {
	path := pipe(t)
	go func() {
		if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			io.WriteString(f, stamped("Nov 30 21:00:01", "Nov 30 21:00:02"))
			f.Close()
		}
	}()
	r, err := Open([]string{path}, nil, Options{Now: clockAt(t, "2026-12-01T00:00:00Z")})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := drain(t, r); n != 2 || !r.Files()[0].Derived {
		t.Errorf("%d events, %+v", n, r.Files())
	}
}

// Whoever waits for a pipe that nobody writes to can be interrupted: before it
// is opened, while it is opened, while it is read.
func TestInterrupt(t *testing.T) {
	cause := errors.New("enough")
	check := func(name string, r *Reader) {
		if rec, err := r.Next(); rec != nil || !errors.Is(err, cause) {
			t.Errorf("%s: %v, %v", name, rec, err)
		}
		if _, err := r.Next(); !errors.Is(err, cause) {
			t.Errorf("%s: then %v", name, err)
		}
		_ = r.Close()
	}
	open := func(path string) *Reader {
		r, err := Open([]string{path}, nil, Options{Format: FormatSyslog, Year: 2026})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := open(pipe(t))
	r.Interrupt(cause)
	r.Interrupt(errors.New("twice"))
	check("before", r)

	r = open(pipe(t))
	go r.Interrupt(cause)
	check("meanwhile", r)

	path := pipe(t)
	r = open(path)
	w := make(chan *os.File)
	go func() {
		f, _ := os.OpenFile(path, os.O_WRONLY, 0)
		io.WriteString(f, stamped("Nov 30 21:00:01"))
		w <- f
	}()
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	f := <-w
	defer f.Close()
	go r.Interrupt(cause)
	check("while it is read", r)
}
