package httpapi

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/slidegate/slidegate"
)

// isStream reports whether a body is a stream of lines.
func isStream(r *http.Request) bool {
	if r.Header.Get("Content-Type") == jsonType { // the common one, sooner
		return false
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == streamType
}

const streamType = "application/x-ndjson"

// stream answers each line, which is an event, with a line: a decision, or what is
// wrong with the event. It ends with the body, when the client goes or is too slow,
// and when the server drains.
type stream struct {
	*api

	r    *http.Request
	in   *bufio.Reader
	out  *bufio.Writer
	conn *http.ResponseController
	line int
}

func (a *api) stream(w http.ResponseWriter, r *http.Request) {
	s := &stream{api: a, r: r, in: bufio.NewReaderSize(r.Body, a.limits.Line), out: bufio.NewWriterSize(w, 16<<10), conn: http.NewResponseController(w)}
	_ = s.conn.EnableFullDuplex() // of HTTP/2 it is always so
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-a.o.Draining:
			_ = s.conn.SetReadDeadline(time.Unix(1, 0)) // wakes who waits for a line
		case <-ended:
		}
	}()
	w.Header().Set("Content-Type", streamType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	for s.next() {
	}
	_ = s.flush()
}

// next answers one line, and reports whether there may be another.
func (s *stream) next() bool {
	data, err := s.read()
	s.line++
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return s.refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the line is over %d bytes", s.limits.Line)) && s.skip()
	case err != nil && !errors.Is(err, io.EOF):
		return false // gone, or too slow, and what came of a line is none
	}
	last := err != nil
	if len(bytes.Trim(data, blanks)) > 0 && !s.judge(data) {
		return false
	}
	return !last
}

// whole reports whether a line lies here that can be answered without waiting for
// the client. It is then not yet worth a packet to send the answers before it.
func (s *stream) whole() bool {
	ahead, _ := s.in.Peek(s.in.Buffered())
	return bytes.IndexByte(ahead, '\n') >= 0
}

func (s *stream) draining() bool {
	select {
	case <-s.o.Draining:
		return true
	default:
		return false
	}
}

// read reads a line. Before it waits for one it sends the answers so far. Who is
// silent for too long is cut off.
func (s *stream) read() ([]byte, error) {
	if !s.whole() {
		if err := s.flush(); err != nil {
			return nil, err
		}
		_ = s.conn.SetReadDeadline(time.Now().Add(cmp.Or(s.o.Line, 30*time.Second)))
		if s.draining() { // the deadline of the drain was perhaps taken back
			return nil, http.ErrServerClosed
		}
	}
	return s.in.ReadSlice('\n')
}

// skip reads to the end of a line that is too long.
func (s *stream) skip() bool {
	for {
		if _, err := s.read(); !errors.Is(err, bufio.ErrBufferFull) {
			return err == nil
		}
	}
}

// judge answers one event, and reports whether the next may come.
func (s *stream) judge(data []byte) bool {
	one := checks.Get().(*oneCheck)
	defer one.give()
	if err := s.checkOne(s.r, string(data), one); err != nil {
		return s.refuse(statusOf(err), said(err)) && !errors.Is(err, slidegate.ErrClosed)
	}
	return s.decision(&one.d)
}

// refuse writes what is wrong with a line. Lines are counted from 1.
func (s *stream) refuse(status int, detail string) bool {
	return s.write(struct {
		problemBody

		Line int `json:"line"`
	}{newProblem(status, detail), s.line})
}

// write writes an answer. It waits for a client that does not read, but not for ever.
func (s *stream) write(v any) bool {
	s.deadline()
	return line(s.out, v) == nil
}

// decision is write of a decision.
func (s *stream) decision(d *slidegate.Decision) bool {
	s.deadline()
	_, err := s.out.Write(append(d.AppendJSON(s.out.AvailableBuffer()), '\n'))
	return err == nil
}

func (s *stream) deadline() {
	if s.out.Available() < 4<<10 || s.out.Buffered() == 0 {
		_ = s.conn.SetWriteDeadline(time.Now().Add(cmp.Or(s.o.Write, 30*time.Second)))
	}
}

func (s *stream) flush() error {
	s.deadline()
	if err := s.out.Flush(); err != nil {
		return err
	}
	return s.conn.Flush()
}
