package replay

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// sshdLine is a line of sshd with a message.
func sshdLine(message string) string { return "Nov 30 21:00:01 h sshd[7]: " + message }

// readLogins reads messages of sshd and returns user, ip, port, method and result of
// each event, and what was skipped.
func readLogins(t *testing.T, messages ...string) (got []string, r *Reader) {
	t.Helper()
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(sshdLine(m) + "\n")
	}
	text, r, err := readAll(t, b.String(), Options{Format: FormatSSHD, Year: 2026})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		_, line, _ = strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		line, _, _ = strings.Cut(line, " host=h app=sshd pid=#7 @")
		got = append(got, line)
	}
	return got, r
}

// TestSSHDOutcome: a login that failed or was accepted has an outcome.
func TestSSHDOutcome(t *testing.T) {
	text, _, err := readAll(t, strings.Join([]string{
		sshdLine("Failed password for root from 192.0.2.1 port 1 ssh2"), sshdLine("Accepted password for root from 192.0.2.1 port 1 ssh2"),
		sshdLine("Partial publickey for bob from 192.0.2.1 port 22 ssh2: RSA SHA256:x"), "",
	}, "\n"), Options{Format: FormatSSHD, Year: 2026})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[0], " outcome=failure") || !strings.HasSuffix(lines[1], " outcome=success") || strings.Contains(lines[2], "outcome") {
		t.Error(text)
	}
}

func TestSSHD(t *testing.T) {
	for message, want := range map[string]string{
		"Failed password for root from 192.0.2.1 port 4711 ssh2":                                         "login user=root ip=192.0.2.1 port=#4711 method=password result=failed",
		"Failed password for invalid user admin from 192.0.2.1 port 4711 ssh2":                           "login user=admin ip=192.0.2.1 port=#4711 method=password result=failed",
		"Failed none for invalid user  from 192.0.2.1 port 4711 ssh2":                                    "login user= ip=192.0.2.1 port=#4711 method=none result=failed",
		"Failed keyboard-interactive/pam for root from 2001:db8::1 port 1 ssh2":                          "login user=root ip=2001:db8::1 port=#1 method=keyboard-interactive/pam result=failed",
		"Accepted password for bob from 192.0.2.1 port 22 ssh2":                                          "login user=bob ip=192.0.2.1 port=#22 method=password result=accepted",
		"Accepted publickey for bob from 192.0.2.1 port 22 ssh2: ED25519 SHA256:0a+b/c":                  "login user=bob ip=192.0.2.1 port=#22 method=publickey result=accepted",
		"Postponed publickey for bob from 192.0.2.1 port 22 ssh2 [preauth]":                              "login user=bob ip=192.0.2.1 port=#22 method=publickey result=postponed",
		"Partial publickey for bob from 192.0.2.1 port 22 ssh2: RSA SHA256:x":                            "login user=bob ip=192.0.2.1 port=#22 method=publickey result=partial",
		"Invalid user admin from 192.0.2.1 port 4711":                                                    "login user=admin ip=192.0.2.1 port=#4711 result=invalid",
		"Invalid user admin from 192.0.2.1":                                                              "login user=admin ip=192.0.2.1 result=invalid",
		"Invalid user  from 192.0.2.1 port 4711":                                                         "login user= ip=192.0.2.1 port=#4711 result=invalid",
		"Connection closed by authenticating user root 192.0.2.1 port 4711 [preauth]":                    "login user=root ip=192.0.2.1 port=#4711 result=closed",
		"Connection closed by invalid user a b 192.0.2.1 port 4711 [preauth]":                            "login user=a b ip=192.0.2.1 port=#4711 result=closed",
		"Connection reset by authenticating user root 192.0.2.1 port 4711 [preauth]":                     "login user=root ip=192.0.2.1 port=#4711 result=reset",
		"Disconnected from authenticating user root 192.0.2.1 port 4711 [preauth]":                       "login user=root ip=192.0.2.1 port=#4711 result=disconnected",
		"error: maximum authentication attempts exceeded for root from 192.0.2.1 port 22 ssh2 [preauth]": "login user=root ip=192.0.2.1 port=#22 result=exceeded",
		"maximum authentication attempts exceeded for invalid user x from 192.0.2.1 port 22 ssh2":        "login user=x ip=192.0.2.1 port=#22 result=exceeded",
		"Failed password for maximum authentication attempts from 192.0.2.1 port 22 ssh2":                "login user=maximum authentication attempts ip=192.0.2.1 port=#22 method=password result=failed",
		"Failed password for root from fe80::1%eth0 port 22 ssh2":                                        "login user=root ip=fe80::1%eth0 port=#22 method=password result=failed",
		"Failed password for \x1b[2J from 192.0.2.1 port 22 ssh2":                                        "login user=\x1b[2J ip=192.0.2.1 port=#22 method=password result=failed",
		"message repeated 1 times: [ Failed password for root from 192.0.2.1 port 4711 ssh2]":            "login user=root ip=192.0.2.1 port=#4711 method=password result=failed",
		"message repeated 1 times: [Failed password for root from 192.0.2.1 port 4711 ssh2]":             "login user=root ip=192.0.2.1 port=#4711 method=password result=failed",
		"message repeated 1 times: [ Failed password for a] from 9.9.9.9 from 192.0.2.1 port 4711 ssh2]": "login user=a] from 9.9.9.9 ip=192.0.2.1 port=#4711 method=password result=failed",
	} {
		if got, r := readLogins(t, message); len(got) != 1 || got[0] != want || r.Skipped() != 0 {
			t.Errorf("%s\n got %q\nwant %q", message, got, want)
		}
	}
}

// Whatever a client calls itself, the address is the one that sshd wrote.
func TestSSHDSpoofedUsers(t *testing.T) {
	const truth = "203.0.113.9"
	forms := map[string]string{
		"Failed password for invalid user %s from " + truth + " port 22 ssh2":                                           "failed",
		"Failed password for %s from " + truth + " port 22 ssh2":                                                        "failed",
		"Accepted publickey for %s from " + truth + " port 22 ssh2: ED25519 SHA256:abc":                                 "accepted",
		"Invalid user %s from " + truth + " port 22":                                                                    "invalid",
		"Invalid user %s from " + truth:                                                                                 "invalid",
		"Connection closed by authenticating user %s " + truth + " port 22 [preauth]":                                   "closed",
		"Connection closed by invalid user %s " + truth + " port 22":                                                    "closed",
		"error: maximum authentication attempts exceeded for invalid user %s from " + truth + " port 22 ssh2 [preauth]": "exceeded",
		"message repeated 1 times: [ Failed password for %s from " + truth + " port 22 ssh2]":                           "failed",
	}
	users := []string{
		"root", "", " ", "a b", "from", " from ", "x from 192.0.2.1", "x from 192.0.2.1 port 22", "x from 192.0.2.1 port 22 ssh2", "x from 192.0.2.1 port 22 ssh2: ",
		"x from 192.0.2.1 port 22 ssh2: RSA SHA256:abc", "root 192.0.2.1 port 1 [preauth]", "192.0.2.1", "x 192.0.2.1 port 22", "y from 192.0.2.1 port 22 ssh2 [preauth]",
		"root from 192.0.2.1 port 22 ssh2]", "]", "[ Failed password for root from 192.0.2.1 port 22 ssh2]", "Failed password for root from 192.0.2.1 port 22 ssh2",
		"invalid user x", "message repeated 3 times: [ x]", "from 192.0.2.1 port 22 ssh2 for x", "\"; from 192.0.2.1", "é\xff\x00", "x from " + truth + " port 22",
	}
	for form, result := range forms {
		for _, user := range users {
			got, r := readLogins(t, fmt.Sprintf(form, user))
			want := "invalid user "
			if !strings.Contains(form, "invalid user %s") && strings.HasPrefix(user, want) && result != "invalid" && result != "closed" {
				user = strings.TrimPrefix(user, want) // as sshd writes it for a user who is not known
			}
			if len(got) != 1 || r.Skipped() != 0 || !strings.HasPrefix(got[0], "login user="+user+" ip="+truth+" ") || !strings.HasSuffix(got[0], "result="+result) {
				t.Errorf("%s by %q:\n got %q", form, user, got)
			}
		}
	}
}

// A message that was repeated is as many logins, each to be judged.
func TestSSHDRepeated(t *testing.T) {
	const failed = "Failed password for root from 192.0.2.1 port 4711 ssh2"
	got, r := readLogins(t, failed, "message repeated 3 times: [ "+failed+"]", "message repeated 2 times: [ Received disconnect]", failed)
	if f := r.Files()[0]; len(got) != 5 || f.Events != 5 || f.Lines != 4 || f.Skipped != 1 {
		t.Errorf("%q, %+v", got, f)
	}
	got, r = readLogins(t, "message repeated 10000 times: [ "+failed+"]", "message repeated 10001 times: [ "+failed+"]",
		"message repeated 99999999999999999999 times: [ "+failed+"]", "message repeated 0 times: [ "+failed+"]")
	if len(got) != 10_000 || r.Skipped() != 3 || r.Skips().First[0].Reason != errRepetition.Error() || r.Skips().First[0].Count != 2 {
		t.Errorf("%d events, %+v", len(got), r.Skips())
	}
	// They stay together when they are sorted, and end with the reader.
	src, err := Open([]string{"-"}, strings.NewReader(sshdLine("message repeated 3 times: [ "+failed+"]")), Options{Format: FormatSSHD, Year: 2026})
	if err != nil {
		t.Fatal(err)
	}
	sorted, err := Sort(t.Context(), src, SortOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if rec, err := sorted.Next(); err != nil || rec.Line != 1 {
			t.Errorf("%+v, %v", rec, err)
		}
	}
	if _, err := sorted.Next(); err == nil {
		t.Error("there are more than three")
	}
}

// All else is counted, for one reason.
func TestSSHDSkips(t *testing.T) {
	messages := []string{
		"Server listening on 0.0.0.0 port 22.", "Connection closed by 192.0.2.1 port 22 [preauth]", "Received disconnect from 192.0.2.1 port 22:11: Bye",
		"pam_unix(sshd:auth): authentication failure; logname= uid=0", "Failed password for root from UNKNOWN port 22 ssh2", "Failed password for root from 192.0.2.1 port x ssh2",
		"Invalid user a from host.example", "Accepted", "", "message repeated 3 times: [ x", "Disconnected from user bob 192.0.2.1 port 22",
	}
	got, r := readLogins(t, messages...)
	if s := r.Skips(); len(got) != 0 || len(s.First) != 1 || s.First[0].Reason != "no login" || s.Total != int64(len(messages)) {
		t.Errorf("%q, %+v", got, s)
	}
	_, r, err := readAll(t, "Nov 30 21:00:01 h cron[1]: Invalid user a from 192.0.2.1\nx\n", Options{Format: FormatSSHD, Year: 2026})
	if s := r.Skips(); err != nil || len(s.First) != 2 || s.First[0].Reason != "no login" || s.First[1].Reason != errNoSyslog.Error() {
		t.Errorf("%v, %+v", err, s)
	}
}

// The events of sshd are logins unless they are called something else.
func TestSSHDEvent(t *testing.T) {
	line := sshdLine("Invalid user a from 192.0.2.1")
	for event, want := range map[string]string{"": "1: login ", "http": "1: http ", "ssh": "1: ssh "} {
		got, _, err := readAll(t, line, Options{Event: event, Year: 2026})
		if !strings.HasPrefix(got, want) || err != nil {
			t.Errorf("called %q: %s, %v", event, got, err)
		}
	}
}

// FuzzSSHD: the address of a login is the last that stands in the line, and the
// line is read in time that grows with its length.
func FuzzSSHD(f *testing.F) {
	f.Add("root", "192.0.2.1")
	f.Add("x from 192.0.2.7 port 22 ssh2", "2001:db8::1")
	f.Add("message repeated 3 times: [ x from 192.0.2.7 port 1 ssh2]", "192.0.2.1")
	f.Fuzz(func(t *testing.T, user, ip string) {
		if _, err := netip.ParseAddr(ip); err != nil || strings.ContainsAny(ip, " \n\r\t\f\v") || strings.ContainsAny(user, "\n\r") {
			return
		}
		for _, message := range []string{
			"Failed password for " + user + " from " + ip + " port 22 ssh2", "Accepted publickey for " + user + " from " + ip + " port 22 ssh2: RSA SHA256:x",
			"Invalid user " + user + " from " + ip + " port 22", "Connection closed by authenticating user " + user + " " + ip + " port 22 [preauth]",
		} {
			var rec Record
			p := sshdParser{event: loginEvent, clock: newWallClock(&Options{Year: 2026})}
			kind, err := p.parse(sshdLine(message), &rec)
			if err != nil {
				t.Fatalf("%q: %v", message, err)
			}
			checkSane(t, message, kind, &rec)
			if v, _ := rec.Event.Attr("ip"); v.String() != ip {
				t.Errorf("%q: the address is %q", message, v)
			}
		}
	})
}
