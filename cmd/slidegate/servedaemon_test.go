package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/listen/certtest"
)

// writeFile writes a file and returns its path.
func writeFile(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// startDaemon runs serve with a file of settings.
func startDaemon(t *testing.T, text string) *served {
	t.Helper()
	return startServe(t, "--config", writeFile(t, t.TempDir(), "daemon.yaml", text))
}

// reply is what a server answers.
type reply struct {
	*http.Response

	body string
}

// ask sends a request on a connection of its own; headers are "Name: value".
func ask(t testing.TB, client *http.Client, method, url, body string, headers ...string) reply {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	if client == nil {
		client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp, string(data)}
}

// eventually waits until ok holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}

const oneRule = "version: 1\nrules: [{name: one, match: {event: e}, key: [k], limits: [%d per 1h]}]\n"

// TestServeSettings: flags win over the environment, and that over the file.
func TestServeSettings(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, dir, "daemon.yaml", "rules: r.yaml\nlog: {level: error, format: json}\nlimits: {batch: 5, body: 2KiB}\nauth: {tokens: [{name: a, scopes: [read], env: TEST_TOKEN}]}\n")
	t.Setenv("SLIDEGATE_CONFIG", file)
	t.Setenv("SLIDEGATE_LIMITS_BATCH", "6")
	t.Setenv("SLIDEGATE_LOG_LEVEL", "warn")
	t.Setenv("TEST_TOKEN", "0123456789abcdef")
	t.Setenv(secretKeyEnv, "a key of the secret attributes")
	r := command(t, "serve", "--print-config", "--log-level", "debug", "--set", "memory.max_keys=5", "--listen", "unix:/s,127.0.0.1:0")
	for _, want := range []string{
		"rules: " + filepath.Join(dir, "r.yaml"), "  level: debug", "  format: json", "  batch: 6", "  body: 2KiB", "  max_keys: 5", `listen: ["unix:/s", "127.0.0.1:0"]`,
		"    - {name: a, scopes: [read], env: TEST_TOKEN}", "# the key of secret attributes stands in SLIDEGATE_SECRET_KEY",
	} {
		if !strings.Contains(r.out, want+"\n") {
			t.Errorf("%s is missing in\n%s%s", want, r.out, r.err)
		}
	}
	if r.code != exitOK || strings.Contains(r.out, "0123456789abcdef") || strings.Contains(r.out, "a key of") {
		t.Errorf("exit %d: %s", r.code, r.out)
	}
	again := writeFile(t, dir, "again.yaml", r.out)
	t.Setenv("SLIDEGATE_CONFIG", "")
	if next := command(t, "serve", "--config", again, "--print-config", "--log-level", "debug"); next.out != r.out {
		t.Errorf("it reads back as\n%s%s", next.out, next.err)
	}
}

// TestServeBadSettings: what is wrong is told, and nothing listens.
func TestServeBadSettings(t *testing.T) {
	dir := t.TempDir()
	bad := writeFile(t, dir, "bad.yaml", "limits:\n  body: huge\nlistn: x\n")
	short := writeFile(t, dir, "token", "short\n")
	for _, c := range []struct {
		args []string
		code int
		err  string
	}{
		{[]string{"--config", bad}, exitFailed, bad + `:2:9: limits.body: "huge": want a size from 1KiB to 64MiB, in bytes or with KiB, MiB or GiB behind it` + "\n" + bad + `:3:1: unknown setting "listn"; did you mean listen?` + "\n"},
		{[]string{"--config", dir + "/none"}, exitFailed, "slidegate: " + dir + "/none: no such file or directory\n"},
		{[]string{"--set", "limits.body"}, exitUsage, `slidegate: --set "limits.body": write NAME=VALUE, as in --set limits.body=2MiB` + "\n"},
		{[]string{"--set", "x=1"}, exitUsage, "slidegate: --set x: there is no such setting\n"},
		{[]string{"--log-level", "loud"}, exitUsage, `slidegate: --log-level "loud": want debug or info or warn or error` + "\n"},
		{[]string{"--listen", "0.0.0.0:0"}, exitFailed, "slidegate: listen: others than this machine can connect to 0.0.0.0:0, and nobody is asked who he is: listen on 127.0.0.1, give auth.tokens or tls.client_ca, or say insecure: listen without auth\n"},
		{[]string{"--config", writeFile(t, dir, "t.yaml", "auth: {tokens: [{name: a, scopes: [read], file: token}]}")}, exitFailed, "slidegate: auth.tokens[0], a, from " + short + ": the token has 5 bytes; want 16 or more"},
		{[]string{"--config", writeFile(t, dir, "u.yaml", "auth: {tokens: [{name: a, scopes: [read], file: none}]}")}, exitFailed, "slidegate: auth.tokens[0], a, from " + dir + "/none: no such file or directory\n"},
		{[]string{"--config", writeFile(t, dir, "v.yaml", "auth: {tokens: [{name: a, scopes: [read], env: NO_TOKEN_HERE}]}")}, exitFailed, "slidegate: auth.tokens[0], a, from NO_TOKEN_HERE: the token has 0 bytes"},
		{[]string{"--config", writeFile(t, dir, "w.yaml", "tls: {cert: none, key: none}")}, exitFailed, "slidegate: tls: the certificate " + dir + "/none with the key " + dir + "/none cannot be taken: "},
		{[]string{"--config", writeFile(t, dir, "x.yaml", "id_key_file: token")}, exitFailed, "slidegate: id_key_file " + short + ": the key has 5 bytes; want 16 or more"},
		{[]string{"--config", writeFile(t, dir, "y.yaml", "secret_key_file: token")}, exitFailed, "slidegate: secret_key_file " + short + ": the key has 5 bytes"},
		{[]string{"--config", writeFile(t, dir, "z.yaml", "{rules: two.yaml, instances: 3}")}, exitFailed, writeFile(t, dir, "two.yaml", fmt.Sprintf(oneRule, 2)) + ":2:"},
		{[]string{"--listen", "unix:" + short}, exitFailed, "slidegate: cannot listen on unix:" + short + ": " + short + " is there and is no socket; remove it, or name another path\n"},
	} {
		if r := command(t, append([]string{"serve"}, c.args...)...); r.code != c.code || r.out != "" || !strings.HasPrefix(r.err, c.err) {
			t.Errorf("%q: %+v\nwant %s", c.args, r, c.err)
		}
	}
}

// TestServeTokens: who asks without a token, with a wrong one, or with one that is for
// something else, is not let in, and nothing is charged.
func TestServeTokens(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "check", "checker-0123456789\n")
	writeFile(t, dir, "ops", "operator-0123456789")
	writeFile(t, dir, "r.yaml", fmt.Sprintf(oneRule, 1))
	s := startServe(t, "--config", writeFile(t, dir, "daemon.yaml",
		"rules: r.yaml\nauth:\n  tokens:\n    - {name: gateway, scopes: [check], file: check}\n    - {name: ops, scopes: [read, admin], file: ops}\n"))
	const ev = `{"event":"e","attrs":{"k":"1"}}`
	gateway, ops := "Authorization: Bearer checker-0123456789", "Authorization: Bearer operator-0123456789"
	for _, c := range []struct {
		method, path, header string
		status               int
		challenge            string
	}{
		{"POST", "/v1/check", "X: y", 401, `Bearer realm="slidegate"`},
		{"POST", "/v1/check", "Authorization: Bearer wrong", 401, `Bearer realm="slidegate", error="invalid_token"`},
		{"POST", "/v1/check", ops, 403, `Bearer realm="slidegate", error="insufficient_scope", scope="check"`},
		{"GET", "/v1/auth?event=e&attr=k=1", "X: y", 401, `Bearer realm="slidegate"`},
		{"GET", "/v1/auth?event=e&attr=k=1&access_token=checker-0123456789", "X: y", 401, `Bearer realm="slidegate"`},
		{"POST", "/v1/reload", gateway, 403, `Bearer realm="slidegate", error="insufficient_scope", scope="admin"`},
		{"GET", "/metrics", gateway, 403, `Bearer realm="slidegate", error="insufficient_scope", scope="read"`},
		{"POST", "/v1/check", gateway, 200, ""},
		{"GET", "/metrics", ops, 200, ""},
		{"POST", "/v1/reload", ops, 200, ""},
		{"GET", "/readyz", "X: y", 200, ""},
		{"GET", "/healthz", "X: y", 200, ""},
	} {
		r := ask(t, nil, c.method, s.url+c.path, ev, c.header)
		if r.StatusCode != c.status || r.Header.Get("WWW-Authenticate") != c.challenge {
			t.Errorf("%s %s %s: %d, %s: %s", c.method, c.path, c.header, r.StatusCode, r.Header.Get("WWW-Authenticate"), r.body)
		}
	}
	s.stop()
	<-s.code
	if log := s.err.String(); strings.Contains(log, "0123456789") || !strings.Contains(log, "token=gateway") || !strings.Contains(log, `msg="an admin asks" token=ops`) {
		t.Errorf("the log: %s", log)
	}
}

// TestServeLog: the log is JSON where that is asked for, names no key in the clear, says
// the same of one key, and leaves out what is too much.
func TestServeLog(t *testing.T) {
	t.Setenv(secretKeyEnv, "a key of the secret attributes")
	s := startDaemon(t, "log: {format: json, access: true}\n")
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for i := range 60 {
		ask(t, client, "POST", s.url+"/v1/check", fmt.Sprintf(`{"event":"sms.send","attrs":{"phone":"138%08d","ip":"192.0.2.9"}}`, i%2))
	}
	ask(t, client, "GET", s.url+"/v1/windows/sms-phone?key=phone=13800000000", "")
	ask(t, client, "GET", s.url+"/13800000000", "")
	s.stop()
	<-s.code
	if strings.Contains(s.err.String(), "1380000") {
		t.Errorf("a key is in the log: %s", &s.err)
	}
	keys, lines, left, requests, routes := map[string]bool{}, 0, 0, 0, map[string]bool{}
	for line := range strings.Lines(s.err.String()) {
		var l struct {
			Msg, Rule, Limit, Key, Of, Route string
			LeftOut                          int `json:"left_out"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch l.Msg {
		case "refused":
			lines++
			keys[l.Key] = true
			if l.Rule != "sms-phone" || l.Limit != "1 per 60s" || len(l.Key) != 16 {
				t.Error(line)
			}
		case "lines were left out":
			left += l.LeftOut
		case "request":
			requests++
			routes[l.Route] = true
		}
	}
	if len(keys) != 2 || lines+left != 58 || lines > 12 || requests != 62 || !routes["GET /v1/windows/{rule}"] {
		t.Errorf("%d keys, %d lines, %d left out, %d requests, %v", len(keys), lines, left, requests, routes)
	}
}

// TestServeUnix: a socket has its permissions, is served, and is gone after the stop;
// one that was left behind is replaced.
func TestServeUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	s := startDaemon(t, "socket_mode: 0600\nlisten: x:1\n")
	s.stop()
	<-s.code
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, stop := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		defer w.Close()
		code <- run(ctx, []string{"serve", "--set", "socket_mode=0600", "--listen", "unix:" + path + ",127.0.0.1:0"}, nil, w, io.Discard)
	}()
	first(t, bufio.NewScanner(r), `^slidegate listens on unix:`+path+`, http://127\.0\.0\.1:\d+ with 5 rules `)
	if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v, %v", info, err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	if got := ask(t, client, "GET", "http://slidegate/healthz", ""); got.body != "ok\n" {
		t.Error(got)
	}
	stop()
	if c := <-code; c != exitOK {
		t.Errorf("exit %d", c)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

// load asks without a pause until it is stopped, and fails the test if any request
// fails. It returns how many there were.
func load(t testing.TB, client *http.Client, url string) (stop func() int64) {
	var asked atomic.Int64
	var running sync.WaitGroup
	end := make(chan struct{})
	for i := range 4 {
		running.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-end:
					return
				default:
				}
				resp, err := client.Post(url+"/v1/check", "", strings.NewReader(`{"event":"load","attrs":{"k":"`+fmt.Sprint(i)+`"}}`))
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("%d, %v: %s", resp.StatusCode, err, body)
					return
				}
				asked.Add(1)
				if n%16 == 15 {
					client.CloseIdleConnections() // so that there are handshakes
				}
			}
		})
	}
	return func() int64 {
		close(end)
		running.Wait()
		client.CloseIdleConnections()
		return asked.Load()
	}
}

// TestServeReload: the rules are read again when their file changes, through a link
// that is swapped, on SIGHUP, and by the API; no request fails meanwhile and no
// history is lost. A file that is wrong changes nothing, and that is told.
func TestServeReload(t *testing.T) {
	dir := t.TempDir()
	version := func(name, text string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, name), "rules.yaml", text)
		if err := os.Symlink(name, filepath.Join(dir, "..new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	version("..1", fmt.Sprintf(oneRule, 2))
	path := filepath.Join(dir, "rules.yaml")
	if err := os.Symlink("..data/rules.yaml", path); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, "--rules", path)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	stop := load(t, client, s.url)
	check := func() decision { return curl(t, s.url+"/v1/check", `{"event":"e","attrs":{"k":"1"}}`) }
	limit := func() string { return ask(t, nil, "GET", s.url+"/v1/rules", "").body }
	ready := func() string { return ask(t, nil, "GET", s.url+"/readyz", "").body }
	check()
	version("..2", fmt.Sprintf(oneRule, 3))
	eventually(t, "the limit of the file behind the link", func() bool { return strings.Contains(limit(), `"3 per 1h"`) })
	for i, want := range []string{"allow", "allow", "reject"} {
		if d := check(); d.Action != want {
			t.Errorf("%d: %+v; its history is lost", i, d)
		}
	}
	version("..3", "version: 1\nrules: [{name: one, limits: [lots]}]\n")
	eventually(t, "the failure in /readyz", func() bool { return strings.Contains(ready(), `"reload_failed":"`) })
	if !strings.Contains(limit(), `"3 per 1h"`) || !strings.HasPrefix(ready(), `{"ready":true,"rules":1,`) {
		t.Errorf("%s, %s", limit(), ready())
	}
	if r := ask(t, nil, "POST", s.url+"/v1/reload", ""); r.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(r.body, `lots`) {
		t.Errorf("%d, %s", r.StatusCode, r.body)
	}
	if m := ask(t, nil, "GET", s.url+"/metrics", "").body; !strings.Contains(m, `slidegate_reload_last_ok{of="rules"} 0`) || strings.Contains(m, `slidegate_reload_failures_total{of="rules"} 0`) {
		t.Error("the metrics do not tell of the failure")
	}
	writeFile(t, filepath.Join(dir, "..3"), "rules.yaml", "version: 1\nrules: [{name: one, match: {event: e}, key: [k], limits: [3 per 2h]}]\n")
	eventually(t, "the end of the failure", func() bool { return !strings.Contains(ready(), `"reload_failed":"`) })
	if d := check(); d.Action != "allow" {
		t.Errorf("%+v: another window is empty", d)
	}
	if err := os.Remove(path); err != nil { // what lies there is not what is watched: by hand
		t.Fatal(err)
	}
	writeFile(t, dir, "rules.yaml", fmt.Sprintf(oneRule, 9))
	r := ask(t, nil, "POST", s.url+"/v1/reload", "")
	if r.StatusCode != http.StatusOK || !strings.Contains(r.body, `"forgotten":[`) || !strings.Contains(limit(), `"9 per 1h"`) {
		t.Errorf("%d, %s, %s", r.StatusCode, r.body, limit())
	}
	if n := stop(); n < 100 {
		t.Errorf("only %d requests", n)
	}
	s.stop()
	<-s.code
	if log := s.err.String(); !strings.Contains(log, `level=ERROR msg="the rules were not read again; those before go on" because="a file changed"`) || !strings.Contains(log, `level=WARN msg="the history of a limit ends" rule=one limit="3 per 1h"`) {
		t.Errorf("the log: %s", log)
	}
}

// TestServeHangup: SIGHUP reads the rules again, and the files that they name are
// watched, too; watch: false leaves it at SIGHUP.
func TestServeHangup(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "blocked.txt", "1\n")
	writeFile(t, dir, "r.yaml", "version: 1\nlists: {blocked: {file: blocked.txt}}\ndeny: [{k: {list: blocked}}]\nrules: [{name: one, key: [k], missing_key: skip, limits: [9 per 1h]}]\n")
	for _, watched := range []bool{true, false} {
		writeFile(t, dir, "blocked.txt", "1\n")
		s := startServe(t, "--rules", filepath.Join(dir, "r.yaml"), "--set", fmt.Sprintf("watch=%t", watched))
		denied := func(k string) bool {
			return curl(t, s.url+"/v1/check", `{"event":"e","attrs":{"k":"`+k+`"}}`).Action == "reject"
		}
		if !denied("1") || denied("2") {
			t.Error("the list is not what it says")
		}
		writeFile(t, dir, "blocked.txt", "2\n")
		if !watched {
			time.Sleep(2 * watchQuiet)
			if denied("2") {
				t.Error("it is watched all the same")
			}
			if err := hangUp(); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "the new list", func() bool { return denied("2") && !denied("1") })
		s.stop()
		<-s.code
	}
}

// TestServeTLS: a certificate is swapped under load and no request fails; a bad one
// leaves the one before in force; without a certificate of a client nobody is let in.
func TestServeTLS(t *testing.T) {
	dir, ca, clients := t.TempDir(), certtest.NewAuthority(t, "ca"), certtest.NewAuthority(t, "clients")
	ca.Write(t, dir, "first")
	writeFile(t, dir, "clients.pem", string(clients.PEM()))
	file := writeFile(t, dir, "daemon.yaml", "tls: {cert: tls.crt, key: tls.key, client_ca: clients.pem}\n")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, stop := context.WithCancel(t.Context())
	code := make(chan int, 1)
	var log strings.Builder
	go func() {
		defer w.Close()
		code <- run(ctx, []string{"serve", "--config", file, "--listen", "127.0.0.1:0"}, nil, w, &log)
	}()
	url := first(t, bufio.NewScanner(r), `^slidegate listens on (https://127\.0\.0\.1:\d+) with `)[1]
	pair := clients.Pair(t, "client")
	client := func() *http.Client {
		return &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{pair}}}}
	}
	name := func() string {
		c := client()
		defer c.CloseIdleConnections()
		return ask(t, c, "GET", url+"/healthz", "").TLS.PeerCertificates[0].Subject.CommonName
	}
	ends := load(t, client(), url)
	if name() != "first" {
		t.Error("it shows another certificate")
	}
	for _, next := range []string{"second", "third"} {
		ca.Write(t, dir, next)
		eventually(t, next, func() bool { return name() == next })
	}
	writeFile(t, dir, "tls.crt", "nothing")
	metrics := func() string {
		c := client()
		defer c.CloseIdleConnections()
		return ask(t, c, "GET", url+"/metrics", "").body
	}
	eventually(t, "the failure", func() bool { return strings.Contains(metrics(), `slidegate_reload_last_ok{of="certificates"} 0`) })
	if name() != "third" {
		t.Error("a bad certificate is in force")
	}
	nobody := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}}
	if resp, err := nobody.Get(url + "/healthz"); err == nil {
		resp.Body.Close()
		t.Error("who shows no certificate is let in")
	}
	if resp, err := http.Get(strings.Replace(url, "https", "http", 1) + "/healthz"); err == nil {
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%d without TLS", resp.StatusCode)
		}
		resp.Body.Close()
	}
	if n := ends(); n < 100 {
		t.Errorf("only %d requests", n)
	}
	stop()
	if c := <-code; c != exitOK || !strings.Contains(log.String(), "the certificates were not read again; those before go on") {
		t.Errorf("exit %d, %s", c, &log)
	}
}

// TestServeDrainDelay: while it waits before it stops, the server says that it is not
// ready and goes on answering; then streams end.
func TestServeDrainDelay(t *testing.T) {
	s := startServe(t, "--set", "drain.delay=1s")
	in, out := io.Pipe()
	defer out.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/check", in)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	line := func() bool {
		_, _ = io.WriteString(out, `{"event":"x"}`+"\n")
		return lines.Scan()
	}
	if !line() {
		t.Fatal(lines.Err())
	}
	s.stop()
	eventually(t, "not ready", func() bool {
		r := ask(t, nil, "GET", s.url+"/readyz", "")
		return r.StatusCode == http.StatusServiceUnavailable && strings.HasPrefix(r.body, `{"ready":false,"draining":true,`)
	})
	if r := ask(t, nil, "POST", s.url+"/v1/check", `{"event":"x"}`); r.StatusCode != http.StatusOK || !line() {
		t.Errorf("%d: it stopped too early", r.StatusCode)
	}
	if lines.Scan() {
		t.Errorf("the stream goes on: %s", lines.Text())
	}
	if code := <-s.code; code != exitOK || troubles(s.err.String()) != "" {
		t.Errorf("exit %d, %s", code, &s.err)
	}
}

// TestServeSlowClients: who sends his head or body a byte at a time, or too large a
// head, is cut off; who comes when all places are taken is served when one is free.
func TestServeSlowClients(t *testing.T) {
	s := startDaemon(t, "timeouts: {header: 300ms, read: 600ms, idle: 500ms}\nlimits: {header: 1KiB, connections: 3}\n")
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		return conn
	}
	trickle := func(conn net.Conn, text string) time.Duration {
		begin := time.Now()
		go func() {
			for i := range len(text) {
				if _, err := io.WriteString(conn, text[i:i+1]); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}()
		_, _ = io.Copy(io.Discard, conn)
		return time.Since(begin)
	}
	if took := trickle(dial(), "GET /healthz HTTP/1.1\r\nHost: h\r\nX: "+strings.Repeat("x", 400)); took > 5*time.Second {
		t.Errorf("a slow head: %v", took)
	}
	conn := dial()
	fmt.Fprint(conn, "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n\r\n")
	if took := trickle(conn, strings.Repeat(" ", 400)); took > 5*time.Second {
		t.Errorf("a slow body: %v", took)
	}
	conn = dial()
	go func() {
		fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: h\r\n")
		for i := range 5000 {
			if _, err := fmt.Fprintf(conn, "X-%d: %s\r\n", i, strings.Repeat("y", 100)); err != nil {
				return
			}
		}
	}()
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a flood of headers: %d", resp.StatusCode)
		}
	}
	for range 3 { // who only connects is cut off, too
		dial()
	}
	if r := ask(t, nil, "GET", s.url+"/healthz", ""); r.body != "ok\n" {
		t.Error(r)
	}
}

// hangUp sends this process a SIGHUP.
func hangUp() error {
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return p.Signal(syscall.SIGHUP)
}
