package replay

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// waiting is what a Reader may have to wait for: a pipe that nobody has opened
// for writing, or on which nothing comes.
type waiting struct {
	sync.Mutex

	cause error    // of the interruption
	path  string   // of a pipe that is being opened
	pipe  *os.File // that is open
}

// Interrupt ends the reading, also while it waits for a named pipe: Next returns
// cause. It may be called at any time from any goroutine. Standard input is not
// interrupted.
func (r *Reader) Interrupt(cause error) {
	w := &r.waiting
	w.Lock()
	defer w.Unlock()
	if w.cause != nil {
		return
	}
	w.cause = cause
	if w.path != "" {
		go r.wake(w.path)
	}
	if w.pipe != nil {
		// Where that is not supported the pipe is a file that never waits.
		_ = w.pipe.SetReadDeadline(time.Unix(1, 0))
	}
}

// wake lets whoever waits to open the pipe at path go on. It may be about to
// begin to, so one knock does not do.
func (r *Reader) wake(path string) {
	for r.opening() {
		if f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			_ = f.Close() // nothing was written
		}
		time.Sleep(time.Millisecond)
	}
}

func (r *Reader) opening() bool {
	r.waiting.Lock()
	defer r.waiting.Unlock()
	return r.waiting.path != ""
}

// interrupted returns why Interrupt was called, or nil.
func (r *Reader) interrupted() error {
	r.waiting.Lock()
	defer r.waiting.Unlock()
	return r.waiting.cause
}

// open opens a log. A named pipe is waited for until somebody writes to it, or
// Interrupt is called.
func (r *Reader) open(in input) (*os.File, error) {
	if in.size >= 0 {
		return os.Open(in.path)
	}
	w := &r.waiting
	w.Lock()
	if w.cause != nil {
		defer w.Unlock()
		return nil, w.cause
	}
	w.path = in.path
	w.Unlock()

	f, err := os.Open(in.path)

	w.Lock()
	defer w.Unlock()
	w.path = ""
	switch {
	case w.cause != nil:
		if err == nil {
			_ = f.Close()
		}
		return nil, w.cause
	case err == nil:
		w.pipe = f
	}
	return f, err
}
