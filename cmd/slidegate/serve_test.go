package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/config"
)

// served is a server that runs in this process.
type served struct {
	lines *bufio.Scanner
	url   string
	stop  context.CancelFunc
	code  <-chan int
	err   bytes.Buffer // to be read once it has stopped
}

// startServe runs serve on a free port until the test ends.
func startServe(t *testing.T, args ...string) *served {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r, w, err := os.Pipe() // which holds what nobody reads
	if err != nil {
		t.Fatal(err)
	}
	code := make(chan int, 1)
	s := &served{lines: bufio.NewScanner(r), stop: stop, code: code}
	go func() {
		code <- run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...), nil, w, &s.err)
		close(code)
		w.Close()
	}()
	t.Cleanup(func() {
		stop()
		<-code
		r.Close()
	})
	s.url = first(t, s.lines, `^slidegate listens on (http://127\.0\.0\.1:[1-9]\d*) with `)[1]
	return s
}

// troubles are the lines on standard error that are more than news.
func troubles(stderr string) string {
	var b strings.Builder
	for line := range strings.Lines(stderr) {
		if !strings.Contains(line, " level=INFO ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// first reads lines up to one that matches, and returns its parts.
func first(t testing.TB, lines *bufio.Scanner, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	var seen []string
	for lines.Scan() {
		if parts := re.FindStringSubmatch(lines.Text()); parts != nil {
			return parts
		}
		seen = append(seen, lines.Text())
	}
	t.Fatalf("no line matches %s in %q", pattern, seen)
	return nil
}

// curl sends what the line says that is printed, as curl would.
func curl(t testing.TB, url, data string) decision {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post(url, "application/x-www-form-urlencoded", strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return readDecision(t, resp)
}

// decision is what the tests look at of an answer.
type decision struct {
	ID           string
	Action       string
	Admitted     bool
	Rule         string
	RetryAfterUS int64 `json:"retry_after_us"`
	Windows      []struct{ Rule, Limit string }
}

func readDecision(t testing.TB, resp *http.Response) decision {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v: %s", resp.StatusCode, err, body)
	}
	var d decision
	if err := json.Unmarshal(body, &d); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return d
}

// starterTrial follows the line that serve prints: once it is allowed, the
// second time it is refused for a minute.
func starterTrial(t testing.TB, lines *bufio.Scanner) {
	t.Helper()
	try := first(t, lines, `^  curl -s (http://\S+/v1/check) -d '([^']+)'$`)
	d := curl(t, try[1], try[2])
	if want := "[{sms-phone 1 per 60s} {sms-phone 10 per 24h} {sms-ip 20 per 1m}]"; d.Action != "allow" || !d.Admitted || d.Rule != "" || fmt.Sprint(d.Windows) != want {
		t.Errorf("the first time: %+v", d)
	}
	d = curl(t, try[1], try[2])
	if d.Action != "reject" || d.Admitted || d.Rule != "sms-phone" || d.RetryAfterUS >= 60e6 || d.RetryAfterUS < 30e6 {
		t.Errorf("the second time: %+v", d)
	}
}

func TestServeStarter(t *testing.T) {
	s := startServe(t)
	starterTrial(t, s.lines)
	s.stop()
	if code := <-s.code; code != exitOK || troubles(s.err.String()) != "" {
		t.Errorf("exit %d, %s", code, &s.err)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://")); err == nil {
		conn.Close()
		t.Error("it still listens")
	}
}

func TestServeRules(t *testing.T) {
	path := rules(t, "{name: r, match: {event: e}, limits: [1 per 1h]}")
	s := startServe(t, "--rules", path)
	if d := curl(t, s.url+"/v1/check", `{"event":"e"}`); d.Action != "allow" || len(d.Windows) != 1 {
		t.Errorf("got %+v", d)
	}
	if d := curl(t, s.url+"/v1/check", `{"event":"sms.send","attrs":{"phone":"1"}}`); len(d.Windows) != 0 {
		t.Errorf("a starter rule answers: %+v", d)
	}
	s.stop()
	if !s.lines.Scan() || s.lines.Text() != "slidegate has stopped." {
		t.Errorf("it tells how to try rules that it does not know: %s", s.lines.Text())
	}
	if code := <-s.code; code != exitOK || troubles(s.err.String()) != "" {
		t.Errorf("exit %d, %s", code, &s.err)
	}
}

// slowRequest begins a check whose body is still to come, and returns when the
// handler waits for it.
func slowRequest(t testing.TB, url, body string) (conn net.Conn, r *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "POST /v1/check HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	r = bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusContinue {
		t.Fatal(resp.Status)
	}
	return conn, r
}

// closed waits until nobody listens any more.
func closed(url string) {
	for {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			return
		}
		conn.Close()
	}
}

// A request that is under way when the server is told to stop is answered.
func TestServeDrains(t *testing.T) {
	s := startServe(t)
	const body = `{"event":"sms.send","attrs":{"phone":"1"}}`
	conn, r := slowRequest(t, s.url, body)
	s.stop()
	closed(s.url)
	select {
	case code := <-s.code:
		t.Fatalf("exit %d while a request is under way", code)
	default:
	}
	io.WriteString(conn, body)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if d := readDecision(t, resp); d.Action != "allow" || len(d.Windows) != 2 {
		t.Errorf("got %+v", d)
	}
	if code := <-s.code; code != exitOK || troubles(s.err.String()) != "" {
		t.Errorf("exit %d, %s", code, &s.err)
	}
}

// A request that takes too long is cut off, and that is no success.
func TestServeCutsOff(t *testing.T) {
	s := startServe(t, "--set", "drain.timeout=1ms")
	slowRequest(t, s.url, "{}")
	s.stop()
	if code := <-s.code; code != exitFailed || !strings.HasSuffix(s.err.String(), "\nslidegate: some requests were cut off: context deadline exceeded\n") {
		t.Errorf("exit %d, %s", code, &s.err)
	}
}

// A listener that fails ends the server.
func TestServeListenerFails(t *testing.T) {
	c := &settings{Config: config.Default()}
	c.Listen[0].Address = "127.0.0.1:0"
	d, err := newDaemon(c, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if err := d.listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.listeners[0].Close()
	if err := d.serve(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "slidegate: ") || !strings.Contains(err.Error(), "closed") {
		t.Errorf("got %v", err)
	}
}

func TestReachable(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:80": "127.0.0.1:80", "0.0.0.0:80": "localhost:80", "[::]:80": "localhost:80", "[::1]:80": "[::1]:80", "192.0.2.1:80": "192.0.2.1:80",
	} {
		tcp, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := reachable(tcp); got != want {
			t.Errorf("%s is reached at %s, want %s", addr, got, want)
		}
	}
	if got := reachable(&net.UnixAddr{Name: "/run/slidegate", Net: "unix"}); got != "/run/slidegate" {
		t.Errorf("a socket is reached at %s", got)
	}
}

func TestServeTakenPort(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	addr := ln.Addr().String()
	r := command(t, "serve", "--listen", addr)
	want := fmt.Sprintf("slidegate: cannot listen on %s: listen tcp %s: bind: address already in use\nTry: slidegate serve --listen 127.0.0.1:0\n", addr, addr)
	r.want(t, exitFailed, "", want)
	for _, addr := range []string{"127.0.0.1:nothing", "127.0.0.1:65536"} {
		r := command(t, "serve", "--listen", addr)
		if r.code != exitFailed || r.out != "" || !strings.HasPrefix(r.err, "slidegate: cannot listen on "+addr+": ") || !strings.HasSuffix(r.err, "\nTry: slidegate serve --listen 127.0.0.1:0\n") {
			t.Errorf("%s: %+v", addr, r)
		}
	}
}

// A rule file with errors: all of them are told, and nothing listens. The port
// is taken, so that trying to listen would be told as well.
func TestServeBadRules(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	path := rules(t, "{name: a, limits: [100 per 1horu], unlimied: true}", "{name: a, limits: [ten per 1m, 5 per 10]}")
	want := []string{
		`:4:40: rule a: unlimied: unknown field`,
		`:4:24: rule a: `, `"100 per 1horu": window "1horu": "horu" is no unit`,
		`:5:12: rule a: name: "a": a rule before has this name`,
		`:5:24: rule a: `, `"ten per 1m": "ten" is not a maximum`,
		`:5:36: rule a: `, `"5 per 10": window "10": a window needs a unit: say 10s`,
	}
	r := command(t, "serve", "--listen", ln.Addr().String(), "--rules", path)
	if r.code != exitFailed || r.out != "" || strings.Contains(r.err, "listen") {
		t.Errorf("%+v", r)
	}
	for _, w := range want {
		if !strings.Contains(r.err, w) {
			t.Errorf("%s is missing in\n%s", w, r.err)
		}
	}
	for line := range strings.Lines(r.err) {
		if !regexp.MustCompile(`^` + regexp.QuoteMeta(path) + `:\d+:\d+: `).MatchString(line) {
			t.Errorf("a line without its place: %s", line)
		}
	}
	for _, name := range []string{"none.yaml", t.TempDir()} {
		if r := command(t, "serve", "--listen", ln.Addr().String(), "--rules", name); r.code != exitFailed || r.out != "" || !strings.Contains(r.err, name) || strings.Contains(r.err, "listen") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// The files of one misspelling each: none of them is taken, and each is told
// with its place.
func TestMisspelledRules(t *testing.T) {
	const dir = "../../rule/rulefile/testdata/f16/"
	for i := 1; i <= 7; i++ {
		path := fmt.Sprintf("%sf%d.yaml", dir, i)
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		place := regexp.MustCompile(`^` + regexp.QuoteMeta(path) + `:\d+:\d+: `)
		for _, args := range [][]string{{"check", path}, {"serve", "--listen", "127.0.0.1:0", "--rules", path}, {"explain", "--rules", path, "--event", "e"}, {"replay", "--rules", path, "a.log"}} {
			if r := command(t, args...); r.code != exitFailed || r.out != "" || !place.MatchString(r.err) {
				t.Errorf("%q: %+v", args, r)
			}
		}
	}
	if r := command(t, "check", dir+"f7.yaml"); !strings.Contains(r.err, "no rules") {
		t.Errorf("an empty file: %s", r.err)
	}
}
