package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const explained = `sms.send would be: allow

┌───────────┬──────────────────────────┬───────────────────┬────────────┬──────┬─────┬─────────┐
│ RULE      │ WHY                      │ KEY               │ LIMIT      │ USED │ MAX │ VERDICT │
├───────────┼──────────────────────────┼───────────────────┼────────────┼──────┼─────┼─────────┤
│ sms-phone │ matches event="sms.send" │ phone=13800000000 │ 1 per 60s  │ 0    │ 1   │ admits  │
│           │                          │                   │ 10 per 24h │ 0    │ 10  │ admits  │
│ sms-ip    │ matches event="sms.send" │ ip=192.0.2.9      │ 20 per 1m  │ 0    │ 20  │ admits  │
└───────────┴──────────────────────────┴───────────────────┴────────────┴──────┴─────┴─────────┘

order-query: does not match: event is "sms.send", not "order.query"
login: does not match: event is "sms.send", not "login"
login-ip: does not match: event is "sms.send", not "login"
`

// Explaining records nothing: it says the same as often as it is asked.
func TestExplainStarter(t *testing.T) {
	for range 2 {
		command(t, "explain", "--event", "sms.send phone=13800000000 ip=192.0.2.9").want(t, exitOK, explained, "")
	}
}

func TestExplain(t *testing.T) {
	path := rules(t,
		"{name: visits, match: [{event: http, path: /login}, {event: http, path: '/api/*'}], except: {ip: 192.0.2.1}, key: [ip], limits: [5 per 1m], overrides: [{match: {user: vip}, limits: [50 per 1m], until: \"2999-12-31\"}, {match: {user: root}, limits: unlimited}]}",
		"{name: all, limits: [99.5 sum(bytes) per 1h, {limit: 3 per 10 events, shadow: true}], match: {bytes: '*'}}",
		"{name: phones, match: {event: sms}, key: [phone/3, 'user|ip'], missing_key: reject, limits: [1 per 1m]}",
		"{name: trial, match: {event: trial}, limits: [5 per 1m, {limit: 0 per 1m, shadow: true}]}",
		"{name: nobody, match: {event: ban}, limits: [0 per 1m]}",
		"{name: posts, match: {event: post}, limits: [10 per 1m, 3 count where links > 0 per 1h]}",
		"{name: links, match: {event: post}, limits: [1 count where links > 1 per 1h]}",
	)
	for _, c := range []struct {
		event, verdict string
		lines          []string
	}{
		{"http path=/login ip=2001:db8:1:2::7", "http would be: allow", []string{
			`│ visits │ matches event="http" and path="/login" │ ip=2001:db8:1:2::/64 │ 5 per 1m │ 0 │ 5 │ admits │`,
			"\n" + `all: does not match: bytes is missing` + "\n",
		}},
		{"http path=/api/x ip=192.0.2.7 user=vip", "http would be: allow", []string{
			`│ visits │ matches event="http" and path="/api/x"; overrides[0] holds until 3000-01-01T00:00:00Z │ ip=192.0.2.7 │ 50 per 1m │ 0 │ 50 │ admits │`,
		}},
		{"http path=/api/x ip=192.0.2.7 user=root", "http would be: allow", []string{
			`│ visits │ matches event="http" and path="/api/x"; overrides[1] holds │ ip=192.0.2.7 │ unlimited │ │ │ admits │`,
		}},
		{"http path=/login ip=192.0.2.1", "http would be: allow (no rule applies)", []string{"\n" + `visits: excepted: ip="192.0.2.1"` + "\n"}},
		{"http path=/ ip=192.0.2.1", "http would be: allow (no rule applies)", []string{"\n" + `visits: does not match: path is "/", not "/login"; path is "/", not "/api/*"` + "\n"}},
		{"http path=/login", "http would be: allow (no rule applies)", []string{
			"\n" + `visits: matches event="http" and path="/login", but the key [ip] is missing a part: skipped (missing_key)` + "\n",
		}},
		{"http path=/login ip=192.0.2.7 cost=6", "http would be: reject by visits (limit), never passes", []string{
			`│ visits │ matches event="http" and path="/login" │ ip=192.0.2.7 │ 5 per 1m │ 0 │ 5 │ refuses │`,
		}},
		{"x bytes=0.5", "x would be: allow", []string{
			`│ all │ matches bytes="0.5" │ (one window for all) │ 99.5 sum(bytes) per 1h │ 0 │ 99.5 │ admits │`, `│ │ │ │ 3 per 10 events │ 0 │ 3 │ shadow: would admit │`,
		}},
		{"x bytes=100", "x would be: reject by all (limit), never passes", []string{`99.5 sum(bytes) per 1h │ 0 │ 99.5 │ refuses │`}},
		{"trial", "trial would be: allow", []string{`│ 5 per 1m │ 0 │ 5 │ admits │`, `│ 0 per 1m │ 0 │ 0 │ shadow: would refuse │`}},
		{"sms phone=1380000 ip=192.0.2.7", "sms would be: allow", []string{`│ phones │ matches event="sms" │ phone=138 ip=192.0.2.7 │ 1 per 1m │ 0 │ 1 │ admits │`}},
		{"sms phone=1380000 ip=192.0.2.7 user=a", "sms would be: allow", []string{`│ phones │ matches event="sms" │ phone=138 user=a │ 1 per 1m │ 0 │ 1 │ admits │`}},
		{"sms phone=1380000", "sms would be: reject by phones (missing_key)", []string{
			"\n" + `phones: matches event="sms", but the key [phone/3 user|ip] is missing a part: rejected (missing_key)` + "\n",
		}},
		{"ban", "ban would be: reject by nobody (limit), never passes", []string{`│ nobody │ matches event="ban" │ (one window for all) │ 0 per 1m │ 0 │ 0 │ refuses │`}},
		{"post links=0", "post would be: allow", []string{
			`│ posts │ matches event="post" │ (one window for all) │ 10 per 1m │ 0 │ 10 │ admits │`,
			`│ │ │ │ 3 count where links > 0 per 1h │ │ │ idle: where links > 0 is false │`,
			`│ links │ matches event="post" │ (one window for all) │ 1 count where links > 1 per 1h │ │ │ idle: where links > 1 is false │`,
		}},
		{"\"a\x1b[31m\" bytes=1", `"a\x1b[31m" would be: allow`, nil},
		{"sms phone=\x1b[31m user=\"a\u2028b\"", "sms would be: allow", []string{`│ phones │ matches event="sms" │ phone="\x1b[3" user="a\u2028b" │ 1 per 1m │ 0 │ 1 │ admits │`}},
	} {
		r := command(t, "explain", "--rules", path, "--event", c.event)
		text := strings.Join(strings.FieldsFunc(r.out, func(r rune) bool { return r == ' ' }), " ")
		if r.code != exitOK || r.err != "" || !strings.HasPrefix(text, c.verdict+"\n\n") {
			t.Errorf("%q: exit %d, %s\n%s\nwant %s", c.event, r.code, r.err, r.out, c.verdict)
		}
		for _, want := range c.lines {
			if !strings.Contains(text, want) {
				t.Errorf("%q: %s is missing in\n%s", c.event, want, r.out)
			}
		}
	}
}

// An event that can be read and not be judged is no error of the command line.
func TestExplainBadEvent(t *testing.T) {
	command(t, "explain", "--event", "sms.send ip=nonsense").want(t, exitFailed, "", "slidegate: rule sms-ip: bad event: attribute ip: \"nonsense\" is not an IP address\n")
	path := rules(t, "{name: sums, match: {event: pay}, limits: [9 sum(v) per 1h]}")
	command(t, "explain", "--rules", path, "--event", "pay").want(t, exitFailed, "", "slidegate: rule sums: bad event: attribute v is missing; rule sums sums it\n")
	if r := command(t, "explain", "--rules", path+".none", "--event", "pay"); r.code != exitFailed || !strings.Contains(r.err, "no such file") {
		t.Errorf("%+v", r)
	}
}

// TestExplainSecret: a secret value is shown as it is kept under the key that is
// given, and never as it is.
func TestExplainSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	text := "version: 1\nattributes: {phone: {secret: true}}\nrules:\n  - {name: sms, key: [phone], missing_key: skip, limits: [1 per 60s]}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	explain := func(args ...string) string {
		r := command(t, append([]string{"explain", "--rules", path, "--event", "sms.send phone=13800000000"}, args...)...)
		if r.code != exitOK || strings.Contains(r.out, "1380") || !strings.Contains(r.out, "phone=") {
			t.Errorf("%q: %+v", args, r)
		}
		return r.out
	}
	kept := explain("--secret-key-file", key)
	if again := explain("--secret-key-file", key); again != kept {
		t.Errorf("one key, two names:\n%s\n%s", kept, again)
	}
	if other := explain(); other == kept || other == explain() {
		t.Errorf("without a key, a name is used again:\n%s", other)
	}
	t.Setenv(secretKeyFileEnv, key)
	if env := explain(); env != kept {
		t.Errorf("by the environment:\n%s\nwant\n%s", env, kept)
	}
	if r := command(t, "explain", "--event", "e", "--secret-key-file", path+".none"); r.code != exitFailed || !strings.Contains(r.err, "no such file") {
		t.Errorf("%+v", r)
	}
}
