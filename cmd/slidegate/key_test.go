package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// send sends a body to a running server.
func send(t testing.TB, url, body string) {
	t.Helper()
	if got := ask(t, nil, http.MethodPost, url, body); got.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", url, got.Status, got.body)
	}
}

// TestKeyCommands: the windows of a key are shown, emptied and unlocked in a running
// server, and top shows what went on.
func TestKeyCommands(t *testing.T) {
	url := startServe(t).url
	for range 10 {
		send(t, url+"/v1/report", `{"event":"login","attrs":{"account":"ann","ip":"192.0.2.1"},"outcome":"failure"}`)
	}
	for range 2 {
		send(t, url+"/v1/check", `{"event":"sms.send","attrs":{"phone":"1"}}`)
		send(t, url+"/v1/check", `{"event":"login","attrs":{"account":"ann","ip":"192.0.2.1"}}`)
	}
	flag := []string{"--server", url}
	run := func(words ...string) ran { return command(t, append(words, flag...)...) }
	show := run("key", "show", "login", "account=ann")
	if show.code != exitOK || !regexp.MustCompile(`│ 10 failures per 10m │ 0    │ 10  │ 10        │ -        │ locked for (59\.\ds|1m0s) │`).MatchString(show.out) {
		t.Errorf("%+v", show)
	}
	top := run("top", "--once", "--every", "100ms")
	for _, want := range []string{`1 locked`, `│ login      │`, `│ sms-phone  │`, `│ 2       │ login     │ account=ann │`, `│ 1       │ sms-phone │ phone=1     │`} {
		if !strings.Contains(top.out, want) {
			t.Errorf("top does not show %s:\n%s%s", want, top.out, top.err)
		}
	}
	run("key", "unlock", "login", "account=ann").want(t, exitFailed, "", "slidegate: say why, for the log of the server: --reason TEXT\n")
	run("key", "unlock", "login", "account=ann", "--reason", "the owner called").want(t, exitOK, "The lock is lifted, and the windows are empty.\n", "")
	run("key", "unlock", "login", "account=ann", "--reason", "once more").want(t, exitOK, "It was not locked.\n", "")
	run("key", "reset", "sms-phone", "phone=1").want(t, exitOK, "The windows are empty.\n", "")
	if show := run("key", "show", "sms-phone", "phone=1"); !strings.Contains(show.out, "│ 1 per 60s  │ 0    │ 1   │ 1         │ -        │") {
		t.Errorf("%+v", show)
	}
	if got := run("key", "show", "lgin", "account=ann"); got.code != exitFailed || !strings.Contains(got.err, `404 Not Found: unknown rule "lgin"`) {
		t.Errorf("%+v", got)
	}
	if got := run("key", "show", "login", "account"); got.code != exitUsage || !strings.Contains(got.err, "NAME=VALUE") {
		t.Errorf("%+v", got)
	}
}

// TestTopUntilStopped: top goes on until it is stopped, and that is no failure.
func TestTopUntilStopped(t *testing.T) {
	url := startServe(t).url
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	var out, errs strings.Builder
	if code := run(ctx, []string{"top", "--server", url, "--every", "100ms"}, nil, &out, &errs); code != exitOK || strings.Count(out.String(), clearScreen) < 2 {
		t.Errorf("%d, %q, %s", code, out.String(), errs.String())
	}
}

// TestClientErrors: what cannot be asked is said in one line.
func TestClientErrors(t *testing.T) {
	short := filepath.Join(t.TempDir(), "pem")
	if err := os.WriteFile(short, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, words := range map[string][]string{
		"is no server":            {"top", "--once", "--server", "ftp://x"},
		"does not answer":         {"top", "--once", "--server", "http://127.0.0.1:1"},
		"the token: open":         {"top", "--once", "--token-file", short + "x"},
		"no certificate in it":    {"top", "--once", "--ca-file", short},
		"--every is 100ms":        {"top", "--every", "1ms"},
		"--keys is 0 to 100":      {"top", "--keys", "101"},
		"does not answer: dial u": {"key", "show", "r", "a=b", "--server", "unix:" + short + ".sock"},
	} {
		if got := command(t, words...); got.code == exitOK || !strings.Contains(got.err, want) || strings.Count(got.err, "\n") > 2 {
			t.Errorf("%q: %+v; want %q", words, got, want)
		}
	}
}
