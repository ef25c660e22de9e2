package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// build builds the program as a user would and returns where it is.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "slidegate")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// TestBinary runs the program itself, with its signals and exit codes.
func TestBinary(t *testing.T) {
	program := build(t)
	for name, test := range map[string]func(*testing.T, string){
		"serve": binaryServes, "a second signal": binaryEndsAtOnce, "replay stops": binaryStopsReplay, "a pipe that ends": binaryPipe, "killed": binaryKilled, "exit codes": binaryExitCodes,
	} {
		t.Run(name, func(t *testing.T) { test(t, program) })
	}
}

// process is the program, running.
type process struct {
	*exec.Cmd

	lines *bufio.Scanner // of its output
	err   bytes.Buffer   // to be read once it has ended
}

func start(t *testing.T, stdin io.Reader, program string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.CommandContext(t.Context(), program, args...)}
	p.Stdin, p.Stderr = stdin, &p.err
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill() // has ended, unless the test failed
		_ = p.Wait()
	})
	return p
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// exit waits for the end and returns the exit code, or the signal it died of.
func (p *process) exit(t *testing.T) (code int, by syscall.Signal) {
	t.Helper()
	for p.lines.Scan() {
	}
	err := p.Wait()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	status := p.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return -1, status.Signal()
	}
	return status.ExitStatus(), 0
}

func binaryServes(t *testing.T, program string) {
	p := start(t, nil, program, "serve", "--listen", "127.0.0.1:0")
	url := first(t, p.lines, `^slidegate listens on (http://127\.0\.0\.1:\d+) with 5 rules from the starter rules\.$`)[1]
	starterTrial(t, p.lines)
	taken := start(t, nil, program, "serve", "--listen", strings.TrimPrefix(url, "http://"))
	if code, _ := taken.exit(t); code != exitFailed || !strings.HasSuffix(taken.err.String(), "\nTry: slidegate serve --listen 127.0.0.1:0\n") {
		t.Errorf("a port that is taken: exit %d, %s", code, &taken.err)
	}
	const body = `{"event":"other"}`
	conn, r := slowRequest(t, url, body)
	p.signal(t, syscall.SIGTERM)
	closed(url)
	io.WriteString(conn, body)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if d := readDecision(t, resp); d.Action != "allow" {
		t.Errorf("got %+v", d)
	}
	if code, by := p.exit(t); code != exitOK || troubles(p.err.String()) != "" {
		t.Errorf("exit %d, signal %v, %s", code, by, &p.err)
	}
}

// Who does not want to wait for the requests under way sends a second signal.
func binaryEndsAtOnce(t *testing.T, program string) {
	p := start(t, nil, program, "serve", "--listen", "127.0.0.1:0")
	url := first(t, p.lines, `^slidegate listens on (http://127\.0\.0\.1:\d+) with `)[1]
	slowRequest(t, url, "{}")
	p.signal(t, os.Interrupt)
	closed(url)
	p.signal(t, os.Interrupt)
	if code, by := p.exit(t); by != syscall.SIGINT {
		t.Errorf("exit %d, signal %v, %s", code, by, &p.err)
	}
}

// A replay of an input on which nothing more comes ends on a signal.
func binaryStopsReplay(t *testing.T, program string) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p := start(t, r, program, "replay", "--rules", rules(t, "{name: r, limits: [2 per 10s]}"), "-")
	r.Close()
	// More than a pipe holds: once it is written the program is reading.
	if _, err := io.WriteString(w, strings.Repeat("{\"ts\":100}\n", 50_000)); err != nil {
		t.Fatal(err)
	}
	p.signal(t, os.Interrupt)
	code, by := p.exit(t)
	if !regexp.MustCompile(`^slidegate: stopped after \d+ events: interrupt signal received\n$`).MatchString(p.err.String()) || code != exitFailed {
		t.Errorf("exit %d, signal %v, %s", code, by, &p.err)
	}
}

// The usual line of a shell: zcat … | slidegate replay … - | head.
func binaryPipe(t *testing.T, program string) {
	p := start(t, strings.NewReader(zipped(t, accessLog())), program, "replay", "--rules", accessRules(t), "--summary", "json", "-")
	p.lines.Buffer(nil, 1<<20)
	want, err := os.ReadFile("testdata/replay.json")
	if err != nil {
		t.Fatal(err)
	}
	if !p.lines.Scan() || p.lines.Text()+"\n" != string(want) {
		t.Errorf("got %s", p.lines.Text())
	}
	if code, _ := p.exit(t); code != exitOK || !strings.HasPrefix(p.err.String(), "1 line was not understood:\n  stdin:52: ") {
		t.Errorf("exit %d, %s", code, &p.err)
	}
}

func binaryExitCodes(t *testing.T, program string) {
	good, bad := rules(t, "{name: r, limits: [2 per 10s]}"), rules(t, "{name: r, limits: [2 per 10]}")
	for _, c := range []struct {
		args []string
		code int
		err  string
	}{
		{[]string{"check", good}, exitOK, ""},
		{[]string{"check", good, bad}, exitFailed, bad + ":4:24: "},
		{[]string{"check", "--test", t.TempDir()}, exitFailed, ""},
		{[]string{"serve", "--rules", bad}, exitFailed, bad + ":4:24: "},
		{[]string{"explain", "--event", "sms.send ip=192.0.2.1"}, exitOK, ""},
		{[]string{"explain", "--event", "sms.send ip=here"}, exitFailed, "slidegate: rule sms-ip: "},
		{[]string{"explain", "--event", "="}, exitUsage, "slidegate: --event: "},
		{[]string{"replay", "--rules", good, good + ".none"}, exitFailed, "slidegate: " + good + ".none: no such file or directory\n"},
		{[]string{"replay", good}, exitUsage, "slidegate: replay needs --rules FILE\nTry: slidegate replay --help\n"},
		{[]string{}, exitOK, ""},
		{[]string{"--help"}, exitOK, ""},
		{[]string{"nonsense"}, exitUsage, "slidegate: unknown command \"nonsense\""},
	} {
		p := start(t, nil, program, c.args...)
		if code, _ := p.exit(t); code != c.code || !strings.HasPrefix(p.err.String(), c.err) {
			t.Errorf("%q: exit %d, want %d: %s", c.args, code, c.code, fmt.Sprint(&p.err))
		}
	}
}
