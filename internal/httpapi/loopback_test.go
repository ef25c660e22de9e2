//go:build unix

package httpapi_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// BenchmarkCheckLoopback is what a check costs with the connection: several clients,
// which keep theirs. Rounds of checks take turns with rounds of requests to a handler
// of the same server that reads the body and answers with two bytes; x-constant is how
// many checks are answered in the time of one request to it, and cpu-x-constant in its
// time of the processor, clients included, which says more where other programs run.
// Once every event is refused, and once every one is admitted.
func BenchmarkCheckLoopback(b *testing.B) {
	const admitting = "rules: [{name: two, match: {event: e}, key: [k], limits: [{limit: 1000000000 per 1s, algorithm: sliding_buckets}]}]\n"
	for _, size := range benchSizes {
		for _, verdict := range []string{"refused", "admitted"} {
			b.Run(size.name+"/"+verdict, func(b *testing.B) {
				a := newAPI(b)
				if verdict == "admitted" {
					a = serving(b, admitting)
				}
				compareLoopback(b, a, benchBody(size.n), size.n)
			})
		}
	}
}

// compareLoopback takes the times, and reports them.
func compareLoopback(b *testing.B, a http.Handler, body string, events int) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/constant" {
			constant(w, r)
			return
		}
		a.ServeHTTP(w, r)
	}))
	defer s.Close()
	const clients = 8
	each := max(24/events, 2) // requests of a client in a round
	var conns []*benchConn
	for range clients {
		conns = append(conns, dialBench(b, s.Listener.Addr().String()))
	}
	run := func(path string) spent {
		request := []byte("POST " + path + " HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
		began, used := time.Now(), processorTime(b)
		var wg sync.WaitGroup
		for _, c := range conns {
			wg.Go(func() {
				for range each {
					if err := c.do(request); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		return spent{time.Since(began), processorTime(b) - used}
	}
	run("/constant")
	run("/v1/check")
	var check, base spent
	for b.Loop() {
		base.add(run("/constant"))
		check.add(run("/v1/check"))
	}
	requests := float64(b.N * clients * each)
	decisions := requests * float64(events)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(base.wall.Seconds()/check.wall.Seconds(), "x-constant")
	b.ReportMetric(base.processor.Seconds()/check.processor.Seconds(), "cpu-x-constant")
	b.ReportMetric(requests/base.wall.Seconds(), "constants/s")
	b.ReportMetric(decisions/check.wall.Seconds(), "decisions/s")
	b.ReportMetric(check.processor.Seconds()*1e6/decisions, "cpu-us/decision")
}

// spent is what requests took.
type spent struct{ wall, processor time.Duration }

func (s *spent) add(more spent) {
	s.wall += more.wall
	s.processor += more.processor
}

// processorTime is how long this process has run, on all processors.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// constant reads a body and answers always the same.
func constant(w http.ResponseWriter, r *http.Request) {
	if _, err := io.ReadAll(r.Body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

// benchConn is a client that does as little as can be: what it takes of the two cores
// the server lacks.
type benchConn struct {
	net.Conn

	in *bufio.Reader
}

func dialBench(b *testing.B, address string) *benchConn {
	b.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return &benchConn{conn, bufio.NewReaderSize(conn, 64<<10)}
}

// do sends a request and reads the answer, which is to be 200.
func (c *benchConn) do(request []byte) error {
	if _, err := c.Write(request); err != nil {
		return err
	}
	size, first := -1, true
	for {
		line, err := c.in.ReadSlice('\n')
		switch {
		case err != nil:
			return err
		case first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")):
			return fmt.Errorf("%s", line)
		case len(line) == 2:
			return c.skip(size)
		}
		first = false
		if text, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if size, err = strconv.Atoi(string(bytes.TrimSpace(text))); err != nil {
				return err
			}
		}
	}
}

// skip reads a body of this size, or one in chunks.
func (c *benchConn) skip(size int) error {
	if size >= 0 {
		_, err := c.in.Discard(size)
		return err
	}
	if _, err := io.Copy(io.Discard, httputil.NewChunkedReader(c.in)); err != nil {
		return err
	}
	_, err := c.in.Discard(2) // the end of the trailer
	return err
}
