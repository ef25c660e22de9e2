package replay

import (
	"strings"
	"testing"
)

func TestSyslog(t *testing.T) {
	const at = "@1796072401000000" // 2026-11-30T21:00:01Z
	for _, c := range []struct{ name, line, want string }{
		{"RFC 3164", "Nov 30 21:00:01 web1 app[123]: some text", "http host=web1 app=app pid=#123 message=some text " + at},
		{"no pid", "Nov 30 21:00:01 web1 kernel: [1.5] text: more", "http host=web1 app=kernel message=[1.5] text: more " + at},
		{"no app", "Nov 30 21:00:01 web1 last message repeated 2 times", "http host=web1 message=last message repeated 2 times " + at},
		{"an app with a slash", "Nov 30 21:00:01 mx postfix/smtpd[7]: x", "http host=mx app=postfix/smtpd pid=#7 message=x " + at},
		{"a pid that is none", "Nov 30 21:00:01 h a[b-c]: x", "http host=h app=a pid=b-c message=x " + at},
		{"a lone bracket", "Nov 30 21:00:01 h [x]: y", "http host=h app=[x] message=y " + at},
		{"no text", "Nov 30 21:00:01 h a:", "http host=h app=a message= " + at},
		{"text with leading spaces", "Nov 30 21:00:01 h a:  x ", "http host=h app=a message= x  " + at},
		{"priority", "<34>Nov 30 21:00:01 h su: x", "http host=h app=su facility=auth severity=crit message=x " + at},
		{"priority 0", "<0>Nov 30 21:00:01 h a: x", "http host=h app=a facility=kern severity=emerg message=x " + at},
		{"priority 191", "<191>Nov 30 21:00:01 h a: x", "http host=h app=a facility=local7 severity=debug message=x " + at},
		{"a fraction", "Nov 30 21:00:01.5 h a: x", "http host=h app=a message=x @1796072401500000"},
		{"RFC 5424", "<165>1 2026-11-30T22:00:01.000003+01:00 web1 app 8710 ID47 - text", "http host=web1 app=app pid=#8710 facility=local4 severity=notice msgid=ID47 message=text @1796072401000003"},
		{"RFC 5424 without priority", "1 2026-11-30T21:00:01Z h a - - - x", "http host=h app=a message=x " + at},
		{"RFC 5424, all absent", "<13>1 2026-11-30T21:00:01Z - - - - -", "http facility=user severity=notice message= " + at},
		{"structured data", `<13>1 2026-11-30T21:00:01Z h a - - [x@1 k="a\]]" l="\""][y] t`, "http host=h app=a facility=user severity=notice message=t " + at},
		{"structured data without text", `1 2026-11-30T21:00:01Z h a - - [x@1]`, "http host=h app=a message= " + at},
		{"a byte order mark", "1 2026-11-30T21:00:01Z h a - - - \ufeffé", "http host=h app=a message=é " + at},
		{"journalctl -o short-iso", "2026-11-30T21:00:01+0000 h systemd[1]: Started.", "http host=h app=systemd pid=#1 message=Started. " + at},
		{"and as it is since", "2026-11-30T23:00:01+02:00 h systemd[1]: Started.", "http host=h app=systemd pid=#1 message=Started. " + at},
		{"control characters stay in the text", "Nov 30 21:00:01 h a: \x1b[2J\x00", "http host=h app=a message=\x1b[2J\x00 " + at},
	} {
		for _, format := range []Format{FormatSyslog, FormatAuto} {
			got, r, err := readAll(t, c.line, Options{Format: format, Now: clockAt(t, "2026-12-01T00:00:00Z")})
			if got != "1: "+c.want || err != nil || r.Files()[0].Format != FormatSyslog {
				t.Errorf("%s as %s: %v\n got %q\nwant %q", c.name, format, err, got, "1: "+c.want)
			}
		}
	}
}

func TestSyslogErrors(t *testing.T) {
	for line, want := range map[string]string{
		"hello":                                  "no syslog line",
		"Nov 30":                                 "no syslog line",
		"Nov 30 21:00:01":                        "no syslog line",
		"Nov 30 21:00:01 host":                   "no syslog line",
		"Nov 30 21:00:01  a: x":                  "no syslog line",
		"Nov 31 21:00:01 h a: x":                 `"Nov 31 21:00:01" is not a time`,
		"Nov 30 21:00:01x h a: x":                `"Nov 30 21:00:01x" is not a time`,
		"<>Nov 30 21:00:01 h a: x":               "no priority of 0 to 191",
		"<192>Nov 30 21:00:01 h a: x":            "no priority of 0 to 191",
		"<0034>Nov 30 21:00:01 h a: x":           "no priority of 0 to 191",
		"<3Nov 30 21:00:01 h a: x":               "no priority of 0 to 191",
		"<-1>Nov 30 21:00:01 h a: x":             "no priority of 0 to 191",
		"1 2026-11-30T21:00:01Z h a":             "a line of RFC 5424 that has not all of",
		"1 2026-11-30T21:00:01Z h a - - x":       "a line of RFC 5424 that has not all of",
		"1 2026-11-30T21:00:01Z h a - -  -":      "a line of RFC 5424 that has not all of",
		"1 2026-11-30T21:00:01Z h a - - [x":      "the structured data between [ and ] are not closed",
		`1 2026-11-30T21:00:01Z h a - - [x "]`:   "the structured data between [ and ] are not closed",
		`1 2026-11-30T21:00:01Z h a - - [x "\`:   "the structured data between [ and ] are not closed",
		"1 - h a - - - x":                        `"" is not a time`,
		"1 2026-11-30T21:00:01Z h a - - [x] y\n": "",
		"2026-11-30T21:00:01 h a: x":             "",
		"2026-11-30x21:00:01 h a: x":             "is not a time",
	} {
		var rec Record
		p := syslogParser{event: "e", clock: newWallClock(&Options{Year: 2026})}
		_, err := p.parse(line, &rec)
		checkError(t, line, err, want)
		if want != "" && rec.Event.Name != "" {
			t.Errorf("%q: %+v", line, rec)
		}
	}
}

// What begins like syslog and is not stays what it is; access logs that went
// through syslog are syslog.
func TestSyslogDetected(t *testing.T) {
	const (
		sshd  = "Nov 30 21:00:01 h sshd[1]: Invalid user a from 192.0.2.1 port 1\n"
		parts = "2026-11-30T21:00:01Z h sshd-session[1]: x\n"
		cron  = "Nov 30 21:00:01 h CRON[1]: x\n"
	)
	for _, c := range []struct {
		name, head string
		want       Format
	}{
		{"syslog", cron, FormatSyslog},
		{"an access log inside", "Nov 30 21:00:01 h nginx: " + commonLine, FormatSyslog},
		{"no app behind RFC 3164", "Nov 30 21:00:01 h some text", FormatSyslog},
		{"sshd", sshd, FormatSSHD},
		{"parts of sshd", parts + "\n" + sshd, FormatSSHD},
		{"sshd and others", sshd + sshd + cron, FormatSyslog},
		{"others and sshd", cron + sshd, FormatSyslog},
		{"sshd and what is none", sshd + "x\n", FormatSyslog},
		{"others come later", strings.Repeat(sshd, detectLines) + cron, FormatSSHD},
		{"behind a cut line", "d[1]: x\n" + sshd, FormatSSHD},
		{"a time and text", "2026-11-30T21:00:01Z something happened\n{\"time\":1}", FormatJSON},
		{"a header", "time,text\nNov 30 21:00:01 h a: x", FormatCSV},
	} {
		if got, err := detect(c.head, true, ""); got != c.want || err != nil {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
	}
	for n := range len(sshd + sshd) {
		if f, err := detect((sshd + sshd)[:n], false, ""); f != FormatAuto || err != nil {
			t.Fatalf("after %d bytes: %s, %v", n, f, err)
		}
	}
}

// FuzzSyslog: every line becomes an event fit to be judged or is refused; what
// stands in the line is not made up.
func FuzzSyslog(f *testing.F) {
	f.Add("<34>Nov 30 21:00:01 host app[123]: text")
	f.Add(`<165>1 2026-11-30T22:00:01.000003+01:00 host app 8710 ID47 [x@1 k="a\]]" l="\""][y] text`)
	f.Add("2026-11-30T21:00:01+0000 h systemd[1]: Started.")
	f.Fuzz(func(t *testing.T, line string) {
		var rec Record
		p := syslogParser{event: DefaultEvent, clock: newWallClock(&Options{Year: 2026})}
		kind, err := p.parse(line, &rec)
		if err != nil {
			return
		}
		checkSane(t, line, kind, &rec)
		for _, name := range []string{"host", "app", "pid", "msgid", "message"} {
			if v, _ := rec.Event.Attr(name); !strings.Contains(line, v.String()) {
				t.Errorf("%q: %s is %q", line, name, v)
			}
		}
	})
}
