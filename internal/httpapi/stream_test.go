package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/httpapi"
)

// serve runs the API on a port of the loopback.
func (a *api) serve(t testing.TB, o httpapi.Options) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(httpapi.New(a.gate, o))
	t.Cleanup(s.Close)
	return s
}

// streaming is a stream that is open.
type streaming struct {
	t    testing.TB
	in   *io.PipeWriter
	resp *http.Response
	out  *bufio.Reader
}

func openStream(t testing.TB, s *httptest.Server) *streaming {
	t.Helper()
	r, w := io.Pipe()
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/check", r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-ndjson; charset=utf-8")
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Close()
		stop()
		resp.Body.Close()
		s.Client().CloseIdleConnections()
	})
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("%d, %v", resp.StatusCode, resp.Header)
	}
	return &streaming{t, w, resp, bufio.NewReader(resp.Body)}
}

// answered is a line of a stream.
type answered struct {
	Action string
	Status int
	Line   int
	Detail string
}

// ask sends a text and reads so many lines.
func (s *streaming) ask(text string, lines int) (got []answered) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, text); err != nil {
		s.t.Fatal(err)
	}
	for range lines {
		got = append(got, s.read())
	}
	return got
}

func (s *streaming) read() (a answered) {
	s.t.Helper()
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		s.t.Fatalf("%v: %s", err, line)
	}
	if err := json.Unmarshal(line, &a); err != nil {
		s.t.Fatalf("%v: %s", err, line)
	}
	return a
}

func (s *streaming) ends() {
	s.t.Helper()
	if rest, err := io.ReadAll(s.out); len(rest) > 0 {
		s.t.Errorf("%v: it goes on: %s", err, rest)
	}
}

// TestStream: each line is answered before the next is sent, a bad one too.
func TestStream(t *testing.T) {
	a := newAPI(t)
	s := openStream(t, a.serve(t, httpapi.Options{}))
	const ev = `{"event":"e","attrs":{"k":"1"}}`
	for i, c := range []struct{ line, want string }{
		{ev + "\n", "[{allow 0 0 }]"},
		{"\n \r\n" + ev + "\r\n", "[{allow 0 0 }]"},
		{ev + "\n", "[{reject 0 0 }]"},
		{"{\n", "[{ 400 6 bad event: the JSON ends too early}]"},
		{ev + " " + ev + "\n", "[{ 400 7 bad event: there is something after the event}]"},
		{`[` + ev + "]\n", "[{ 400 8 bad event: want an object, got a list}]"},
		{`{"event":"pay","attrs":{"k":"1"}}` + "\n", "[{ 400 9 rule sums: bad event: attribute v is missing; rule sums sums it}]"},
		{`{"event":"other"}` + "\n" + strings.Repeat("x", httpapi.MaxLine+1), "[{allow 0 0 } { 413 11 the line is over 65536 bytes}]"},
		{strings.Repeat("y", 3*httpapi.MaxLine) + "\n" + ev + "\n", "[{reject 0 0 }]"},
	} {
		n := strings.Count(c.want, "{")
		if got := fmt.Sprint(s.ask(c.line, n)); got != c.want {
			t.Errorf("%d: %.100s: got %s, want %s", i, c.line, got, c.want)
		}
	}
	if got := fmt.Sprint(s.ask(`{"event":"other"}`, 0)); got != "[]" { // no line end
		t.Error(got)
	}
	s.in.Close()
	if last := s.read(); last.Action != "allow" {
		t.Errorf("the last line: %+v", last)
	}
	s.ends()
	if n := a.used(t, "two", "k=1"); n != 2 {
		t.Errorf("%d were charged", n)
	}
}

// TestStreamMany: lines are answered in order, many at once.
func TestStreamMany(t *testing.T) {
	a := newAPI(t)
	decided := 0
	s := a.serve(t, httpapi.Options{Decided: func(*slidegate.Event, *slidegate.Decision) { decided++ }})
	const n = 20_000
	var body strings.Builder
	for i := range n {
		fmt.Fprintf(&body, `{"event":"e","attrs":{"k":"%d"}}`+"\n", i/3)
	}
	resp, err := s.Client().Post(s.URL+"/v1/check", "application/x-ndjson", strings.NewReader(body.String()))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	i := 0
	for ; lines.Scan(); i++ {
		if refused := strings.Contains(lines.Text(), `"action":"reject"`); refused != (i%3 == 2) {
			t.Fatalf("line %d: %s", i, lines.Text())
		}
	}
	if i != n || decided != n || lines.Err() != nil {
		t.Errorf("%d lines, %d decisions, %v", i, decided, lines.Err())
	}
}

// TestStreamSilent: who sends nothing for too long, or half a line, is cut off.
func TestStreamSilent(t *testing.T) {
	a := newAPI(t)
	s := openStream(t, a.serve(t, httpapi.Options{Line: 300 * time.Millisecond}))
	for range 3 { // each line begins the time anew
		time.Sleep(150 * time.Millisecond)
		if got := fmt.Sprint(s.ask(`{"event":"e","attrs":{"k":"1"}}`+"\n", 1)); !strings.Contains(got, "0 0") {
			t.Error(got)
		}
	}
	s.ask(`{"event":"e","attrs":{"k":"2"}}`, 0)
	s.ends()
	if n := a.used(t, "two", "k=2"); n != 0 {
		t.Error("half a line was taken for one")
	}
}

// TestStreamDrains: a server that drains ends its streams, also those in which
// nothing happens.
func TestStreamDrains(t *testing.T) {
	a := newAPI(t)
	draining := make(chan struct{})
	s := openStream(t, a.serve(t, httpapi.Options{Draining: draining}))
	s.ask(`{"event":"e","attrs":{"k":"1"}}`+"\n", 1)
	close(draining)
	s.ends()
}

// TestStreamEndless: a client that sends for ever and never reads is cut off, and
// what it sends is held nowhere.
func TestStreamEndless(t *testing.T) {
	a := newAPI(t)
	srv := a.serve(t, httpapi.Options{Write: 300 * time.Millisecond})
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
	lines := strings.Repeat(`{"event":"e","attrs":{"k":"1"}}`+"\n", 100)
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(lines), lines)
	_ = conn.SetWriteDeadline(time.Now().Add(20 * time.Second))
	for sent := 0; sent < 1<<28; sent += len(chunk) {
		if _, err := io.WriteString(conn, chunk); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the server neither reads nor closes")
			}
			return
		}
	}
	t.Error("256 MiB were read")
}
