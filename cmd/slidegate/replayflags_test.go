//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What is wrong with the flags of replay is said before anything is read, with
// the way out.
func TestReplayFlagErrors(t *testing.T) {
	good := rules(t, "{name: r, key: [ip], limits: [5 per 10s]}")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--format", "combind"}, `--format: unknown format "combind": choose auto, combined, json, csv, syslog or sshd, or a regular expression with named groups, such as '^(?P<time>\S+) (?P<ip>\S+)'; did you mean combined?`},
		{[]string{"--format", "jsn"}, `; did you mean json?`},
		{[]string{"--format", "shd"}, `; did you mean sshd?`},
		{[]string{"--format", ""}, `--format: unknown format "": choose auto`},
		{[]string{"--format", `(?P<time>\S+`}, `--format: the regular expression "(?P<time>\S+": missing closing ): ` + "`(?P<time>\\S+`; put it in single quotes, so that the shell leaves it alone"},
		{[]string{"--format", `^(\S+) .*$`}, `--format: the regular expression "^(\S+) .*$" has no named group; name the parts of a line, as in '^(?P<time>\S+) (?P<ip>\S+)', in single quotes for the shell`},
		{[]string{"--format", `(?P<ip>\S+)`}, `--format: the regular expression has no group for the time; call it time, timestamp or ts, as in (?P<time>…), or name it with --time`},
		{[]string{"--format", `(?P<ip>\S+)`, "--time", "when"}, `--format: the regular expression has no group "when", which --time names; write (?P<when>…) around the time, or name another group`},
		{[]string{"--zone", "Mars/Olympus"}, `--zone "Mars/Olympus" is no time zone; name one as in --zone Asia/Shanghai or --zone UTC`},
		{[]string{"--zone", ""}, `--zone "" is no time zone`},
		{[]string{"--zone", "Local"}, `--zone "Local" is no time zone`},
		{[]string{"--year", "26"}, `--year 26: it is 1970 to 2261`},
		{[]string{"--year", "x"}, `invalid argument "x" for "--year" flag`},
		{[]string{"--timeline", "yes"}, `--timeline "yes": it is auto, on or off`},
		{[]string{"--compare", "sliding_lag"}, `--compare: "sliding_lag": unknown algorithm; it is sliding_log,`},
		{[]string{"--compare", "fixed,fixed"}, `--compare: algorithm fixed is named twice`},
		{[]string{"--compare", "fixed,"}, `--compare: an algorithm without a name`},
	} {
		r := command(t, append([]string{"replay", "--rules", good, "none.log"}, c.args...)...)
		if r.code != exitUsage || r.out != "" || !strings.Contains(r.err, c.want) || !strings.HasSuffix(r.err, "\nTry: slidegate replay --help\n") {
			t.Errorf("%q: %+v\nwant %s", c.args, r, c.want)
		}
	}
	bad := rules(t, "{name: r, limits: [5 per 10]}")
	if r := command(t, "replay", "--rules", good, "--candidate", bad, "none.log"); r.code != exitFailed || !strings.HasPrefix(r.err, bad+":4:24: ") {
		t.Errorf("a bad candidate: %+v", r)
	}
}

// A log of one's own is read by a regular expression; what does not match is
// counted.
func TestReplayPattern(t *testing.T) {
	path := rules(t, "{name: r, match: {event: login}, key: [user], limits: [1 per 10s]}")
	const log = "[2026-03-29 02:30:00] login user=\x1b[2Jeve!\nnothing\n[2026-03-29 03:00:00] login user=bob!\n[2026-03-29 03:00:01] login user=bob!\n[2026-03-29 03:00:02] logout\n"
	args := []string{"replay", "--rules", path, "--zone", "Europe/Berlin", "--format", `^\[(?P<ts>[^\]]+)\] (?P<event>\w+)(?: user=(?P<user>.*)!)?$`}
	r := commandWith(t.Context(), log, append(args, "-")...)
	for _, want := range []string{
		"stdin: lines by a regular expression, times in date and time without a zone (Europe/Berlin); 5 lines, 4 events, 1 line not understood\n",
		"  stdin:2: the line does not match the expression of --format: nothing\n",
		"4 events: 3 admitted, 1 refused (25.00 %), from 2026-03-29T01:30:00Z to 2026-03-29T01:30:00Z\n",
		"3 events came late, by up to 30m0s", // clocks were set forward over 02:30
		"         1  user=\"bob\"\n",
	} {
		if r.code != exitOK || r.err != "" || !strings.Contains(r.out, want) {
			t.Errorf("%s is missing in %+v", want, r)
		}
	}
	if strings.Contains(r.out, "\x1b") {
		t.Errorf("a control character in %q", r.out)
	}
}

// What times do not say is told with what was taken for it.
func TestReplayAssumed(t *testing.T) {
	path := rules(t, "{name: r, limits: [9 per 10s]}")
	const log = "Dec 31 23:59:59 h a: x\nJan  1 00:00:00 h a: x\n"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--year", "2024"}, "syslog, times in month, day and time without a year and a zone (UTC assumed, begun in 2024); 2 lines"},
		{[]string{"--year", "2024", "--zone", "Asia/Shanghai"}, "without a year and a zone (Asia/Shanghai, begun in 2024); 2 lines"},
		{nil, "(UTC assumed, begun in "},
		{nil, ", so that it does not end in the future); 2 lines"},
	} {
		r := command(t, append([]string{"replay", "--rules", path, file(t, "a.log", log)}, c.args...)...)
		if r.code != exitOK || !strings.Contains(r.out, c.want) {
			t.Errorf("%q: %+v", c.args, r)
		}
	}
	if r := commandWith(t.Context(), log[:strings.Index(log, "\n")+1], "replay", "--rules", path, "--summary", "json", "-"); r.code != exitOK || !strings.HasPrefix(r.err, "stdin: syslog, times in month, day") || strings.Count(r.err, "\n") != 1 {
		t.Errorf("as JSON: %+v", r)
	}
	r := commandWith(t.Context(), log, "replay", "--rules", path, "--year", "2024", "--zone", "Asia/Shanghai", "--summary", "json", "-")
	if r.code != exitOK || r.err != "" {
		t.Errorf("as JSON: %+v", r)
	}
	r = commandWith(t.Context(), log, "replay", "--rules", path, "--year", "2024", "--zone", "Asia/Shanghai", "-")
	if want := "from 2024-12-31T15:59:59Z to 2024-12-31T16:00:00Z\n"; !strings.Contains(r.out, want) {
		t.Errorf("%s is missing in %s", want, r.out)
	}
}

// A log of sshd is found out, its events are logins, and what is none is counted.
func TestReplaySSHD(t *testing.T) {
	path := rules(t, "{name: guess, match: {event: login, result: failed}, key: [ip], limits: [2 per 1m]}")
	const log = `Nov 30 21:00:00 h sshd[7]: Invalid user x from 203.0.113.9 port 1 from 192.0.2.1 port 4711
Nov 30 21:00:01 h sshd[7]: Failed password for invalid user x from 203.0.113.9 port 1 from 192.0.2.1 port 4711 ssh2
Nov 30 21:00:02 h sshd[7]: message repeated 2 times: [ Failed password for root from 192.0.2.1 port 4711 ssh2]
Nov 30 21:00:03 h sshd[7]: Connection closed by 192.0.2.1 port 4711
Nov 30 21:00:04 h sshd[8]: Accepted publickey for bob from 203.0.113.9 port 22 ssh2: ED25519 SHA256:x
`
	r := commandWith(t.Context(), log, "replay", "--rules", path, "--year", "2026", "-")
	for _, want := range []string{
		"stdin: sshd, times in month, day", "; 5 lines, 5 events, 1 line not understood\n", ":4: no login: Nov 30 21:00:03 h sshd[7]: Connection closed by 192.0.2.1 port 4711\n",
		"│ guess │      3 │        2 │       1 │", "         1  ip=\"192.0.2.1\"\n",
	} {
		if r.code != exitOK || r.err != "" || !strings.Contains(r.out, want) {
			t.Errorf("%s is missing in %s%s", want, r.out, r.err)
		}
	}
}

func TestZone(t *testing.T) {
	for _, name := range []string{"UTC", "Asia/Shanghai", "America/Argentina/Ushuaia", "Etc/GMT-14"} {
		if z, err := zone(name); err != nil || z.String() != name {
			t.Errorf("%s: %v, %v", name, z, err)
		}
	}
	for _, name := range []string{"", "local", "LOCAL", "../../etc/passwd", "+01:00", time.Local.String()} {
		if z, err := zone(name); err == nil && name != "UTC" {
			t.Errorf("%q is %v", name, z)
		}
	}
}

// A named pipe is waited for, until somebody has had enough of it.
func TestReplayWaitsForPipe(t *testing.T) {
	path, log := rules(t, "{name: r, limits: [2 per 10s]}"), filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(log, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		if f, err := os.OpenFile(log, os.O_WRONLY, 0); err == nil {
			f.WriteString(edgeLog)
			f.Close()
		}
	}()
	if s, stderr := summarise(t, "", "--rules", path, log); s.Events != 7 || stderr != "" {
		t.Errorf("%+v, %s", s, stderr)
	}
	for _, sort := range []string{"--sort=false", "--sort"} {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		r := commandWith(ctx, "", "replay", "--rules", path, sort, log)
		if r.code != exitFailed || r.out != "" || !stopped(r.err) {
			t.Errorf("%s: %+v", sort, r)
		}
	}
}
