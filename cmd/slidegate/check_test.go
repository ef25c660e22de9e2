package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	one := rules(t, "{name: r, key: [ip], limits: [5 per 10s]}")
	three := rules(t, "{name: a, limits: [5 per 10s, 9 per 1h]}", "{name: b, limits: [1 per 1s]}", "{name: c, limits: [1 per 1s]}")
	command(t, "check", one, three).want(t, exitOK, one+": ok: 1 rule, 1 limit\n"+three+": ok: 3 rules, 4 limits\n", "")
	warned := file(t, "w.yaml", "version: 1\nrules: [{name: r, key: [user], limits: [5 per 10s]}]\n")
	command(t, "check", warned).want(t, exitOK, warned+": ok: 1 rule, 1 limit\n",
		"warning: "+warned+":2:24: rule r: key: an event without user is not limited by this rule; say missing_key: skip if that is meant, otherwise reject or shared, or name an alternative, as in user|ip\n")
}

// Every error of every file is told, and files that are right are told too.
func TestCheckErrors(t *testing.T) {
	good := rules(t, "{name: r, limits: [5 per 10s]}")
	bad := rules(t, "{name: r, limits: [5 per 10s], limit: 3}", "{name: R, limits: [5 per day]}")
	worse := file(t, "worse.yaml", "version: 2\nrules:\n\t- x\n")
	none := filepath.Join(t.TempDir(), "none.yaml")
	r := command(t, "check", bad, good, worse, none)
	if r.code != exitFailed || r.out != good+": ok: 1 rule, 1 limit\n" {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
	at := 0
	for _, want := range []string{
		bad + ":4:36: rule r: limit: ", bad + `:5:12: rule R: name: "R": `, bad + ":5:24: rule R: ", worse + ":3:", "slidegate: " + none + ": no such file or directory",
	} {
		i := strings.Index(r.err[at:], want)
		if i < 0 {
			t.Fatalf("%s is missing, or in another place, in\n%s", want, r.err)
		}
		at += i
	}
}

// against checks a rule against another and returns what is told, without the
// names of the files.
func against(t *testing.T, older, newer string) string {
	t.Helper()
	oldFile, newFile := rules(t, older), rules(t, newer)
	r := command(t, "check", newFile, "--against", oldFile)
	text, ok := strings.CutPrefix(r.out, newFile+": ok: ")
	if r.code != exitOK || r.err != "" || !ok {
		t.Fatalf("%+v", r)
	}
	_, text, _ = strings.Cut(text, "\n")
	return strings.ReplaceAll(strings.ReplaceAll(text, newFile+": a reload from "+oldFile+" ", ""), "forgets rule ", "")
}

func TestCheckAgainst(t *testing.T) {
	const (
		kept  = "keeps the history of every limit\n"
		other = ": no limit has the same measure, window and algorithm\n"
		head  = "{name: r, match: {event: e}, key: [user, ip], "
		base  = head + "limits: [10 per 1m, 99 sum(v) per 1h, {limit: 7 per 1m, algorithm: gcra, burst: 2}, {limit: 50 per 1d, algorithm: sliding_buckets, buckets: 24}]}"
	)
	gone := func(why string) string {
		var b strings.Builder
		for _, l := range []string{"10 per 1m", "99 sum(v) per 1h", "7 per 1m", "50 per 1d"} {
			fmt.Fprintf(&b, "r: %q: %s\n", l, why)
		}
		return b.String()
	}
	for _, c := range []struct{ name, from, to, want string }{
		{"nothing", "", "", kept},
		{"a maximum", "10 per 1m", "3 per 1m", kept},
		{"every maximum", "99 sum(v)", "1.5 sum(v)", kept},
		{"a burst", "burst: 2", "burst: 5", kept},
		{"the rate of a gcra", "7 per 1m", "8 per 1m", kept},
		{"the spelling of a window", "10 per 1m", "10 per 60s", kept},
		{"the spelling of a measure", "10 per 1m", "10 count per 60000ms", kept},
		{"an action", "10 per 1m", "{limit: 10 per 1m, action: reject}", kept},
		{"shadow", "10 per 1m", "{limit: 10 per 1m, shadow: true}", kept},
		{"what is counted", "10 per 1m", "{limit: 10 per 1m, count_refused: true}", kept},
		{"overrides", "limits: [10", "overrides: [{match: {user: vip}, limits: [100 per 1m]}], limits: [10", kept},
		{"a message", "limits: [10", "message: no, limits: [10", kept},
		{"the match", "event: e", "event: f", kept},
		{"missing_key", "limits: [10", "missing_key: reject, limits: [10", kept},
		{"the spelling of a key", "key: [user, ip]", "key: [user, ip/32/64]", kept},
		{"another limit before", "limits: [10 per 1m", "limits: [5 per 1s, 10 per 1m", kept},
		{"the order of limits that differ", "10 per 1m, 99 sum(v) per 1h", "99 sum(v) per 1h, 10 per 1m", kept},
		{"buckets of the same width", "buckets: 24", "buckets: 24, action: reject", kept},

		{"a measure", "10 per 1m", "10 sum(v) per 1m", `r: "10 per 1m"` + other},
		{"what is summed", "99 sum(v)", "99 sum(w)", `r: "99 sum(v) per 1h"` + other},
		{"a window", "10 per 1m", "10 per 61s", `r: "10 per 1m"` + other},
		{"a window of time to one of events", "10 per 1m", "10 per 100 events", `r: "10 per 1m"` + other},
		{"an algorithm", "10 per 1m", "{limit: 10 per 1m, algorithm: fixed}", `r: "10 per 1m"` + other},
		{"the width of buckets", "buckets: 24", "buckets: 48", `r: "50 per 1d"` + other},
		{"the width of buckets by default", ", buckets: 24", "", `r: "50 per 1d"` + other},
		{"the order of a key", "key: [user, ip]", "key: [ip, user]", gone("the key is another")},
		{"a key", "key: [user, ip]", "key: [user]", gone("the key is another")},
		{"the prefix of a key", "key: [user, ip]", "key: [user, ip/24]", gone("the key is another")},
		{"the name of the rule", "name: r,", "name: s,", gone("the rule is gone")},
		{"a limit is left out", "10 per 1m, ", "", `r: "10 per 1m"` + other},
	} {
		if c.from != "" && strings.Count(base, c.from) != 1 {
			t.Fatalf("%s: %s is not once in the rule", c.name, c.from)
		}
		newer := strings.Replace(base, c.from, c.to, 1)
		if got := against(t, base, newer); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	// Limits that are alike in all but the maximum are told apart by their
	// place.
	if got, want := against(t, head+"limits: [10 per 1m, 20 per 60s, 30 per 1m]}", head+"limits: [20 per 1m]}"), `r: "20 per 60s"`+other+`r: "30 per 1m"`+other; got != want {
		t.Errorf("places:\n got %s\nwant %s", got, want)
	}
	if got := against(t, head+"limits: [10 per 1m, 20 per 60s]}", head+"limits: [20 per 60s, 10 per 1m, 30 per 1m]}"); got != kept {
		t.Errorf("places that remain: %s", got)
	}
}

func TestCheckAgainstBad(t *testing.T) {
	good, bad := rules(t, "{name: r, limits: [5 per 10s]}"), rules(t, "{name: r, limits: [5 per 10]}")
	r := command(t, "check", good, "--against", bad)
	if r.code != exitFailed || r.out != good+": ok: 1 rule, 1 limit\n" || !strings.HasPrefix(r.err, bad+":4:24: ") {
		t.Errorf("%+v", r)
	}
	r = command(t, "check", bad, "--against", good)
	if r.code != exitFailed || r.out != "" || !strings.HasPrefix(r.err, bad+":4:24: ") {
		t.Errorf("%+v", r)
	}
}

// scripts writes a folder of a rule file and scripts.
func scripts(t *testing.T, named map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	named["r.yaml"] = "version: 1\nrules: [{name: r, match: {event: e}, limits: [2 per 10s]}]\n"
	for name, text := range named {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCheckScripts(t *testing.T) {
	dir := scripts(t, map[string]string{"a.gate": "rules r.yaml\nat 0s 3x check e -> allow=2 reject=1\n", "b.gate": "rules r.yaml\nat 0s check e -> allow\n"})
	command(t, "check", "--test", dir).want(t, exitOK, dir+": 2 scripts, 2 expectations, 0 failures\n", "")
	good := filepath.Join(dir, "r.yaml")
	command(t, "check", good, "--test", dir).want(t, exitOK, good+": ok: 1 rule, 1 limit\n"+dir+": 2 scripts, 2 expectations, 0 failures\n", "")
	bad := rules(t, "{name: r}")
	if r := command(t, "check", bad, "--test", dir); r.code != exitFailed || r.out != dir+": 2 scripts, 2 expectations, 0 failures\n" || !strings.HasPrefix(r.err, bad+":4:") {
		t.Errorf("%+v", r)
	}

	dir = scripts(t, map[string]string{"a.gate": "rules r.yaml\nat 0s  check e -> reject r # no\nat 1s check e -> allow remaining=0\nat 2s check e -> allow\n"})
	a := filepath.Join(dir, "a.gate")
	command(t, "check", "--test", dir).want(t, exitFailed, dir+": 1 script, 3 expectations, 2 failures\n",
		a+":2: at 0s  check e -> reject r # no\n\texpected: reject r\n\t     got: allow remaining=1\n"+
			a+":4: at 2s check e -> allow\n\texpected: allow\n\t     got: reject r retry_after=8s\n")
}

func TestCheckScriptErrors(t *testing.T) {
	for script, want := range map[string]string{
		"rules r.yaml\nat 5s check e -> allow\nat 4s check e -> allow\n": "3: time only goes forward; it is 5s now",
		"rules r.yaml\nat 5s chekc e -> allow\n":                         `2: unknown word "chekc"; a line is rules, start, or at TIME check, report, query, refund, release, renew, reset or unlock`,
		"rules r.yaml\n\nat 5s check \"e -> allow\n":                     "3: a quote is not closed",
		"# nothing\nat 5s check e -> allow\n":                            "2: a script begins with its rules: rules FILE",
		"# nothing\n":                                                    "1: a script begins with its rules: rules FILE",
		"rules none.yaml\n":                                              "1: DIR/none.yaml: no such file or directory",
	} {
		dir := scripts(t, map[string]string{"a.gate": script})
		want = strings.Replace(want, "DIR", dir, 1)
		r := command(t, "check", "--test", dir)
		if r.code != exitFailed || r.err != filepath.Join(dir, "a.gate")+":"+want+"\n" {
			t.Errorf("%q: %+v\nwant %s", script, r, want)
		}
		// Rewriting does not make it right.
		r = command(t, "check", "--test", dir, "--rewrite")
		if r.code != exitFailed || r.err != filepath.Join(dir, "a.gate")+":"+want+"\n" {
			t.Errorf("%q, with --rewrite: %+v\nwant %s", script, r, want)
		}
	}
	empty := t.TempDir()
	command(t, "check", "--test", empty).want(t, exitFailed, "", "slidegate: "+empty+": no scripts (*.gate) in it\n")
	none := filepath.Join(empty, "none")
	if r := command(t, "check", "--test", none); r.code != exitFailed || !strings.Contains(r.err, none+": no such file or directory") {
		t.Errorf("%+v", r)
	}
}

// What fails is rewritten and passes then; everything else stays byte for byte.
func TestCheckRewrite(t *testing.T) {
	const (
		passes = "# Passes.  \r\n\nrules   r.yaml\r\nat 0s\tcheck e -> allow   # no number\nat 0s 5x check e -> allow=1"
		fails  = "# Fails.\n\nrules r.yaml # all\nat 0s  check e -> allow # stays\nat 0s  check e -> reject r  # changes\n\nat 1s..4s/1s check e -> allow remaining=0\n# end\n"
		fixed  = "# Fails.\n\nrules r.yaml # all\nat 0s  check e -> allow # stays\nat 0s  check e -> allow remaining=0  # changes\n\nat 1s..4s/1s check e -> reject r remaining=0\n# end\n"
	)
	dir := scripts(t, map[string]string{"a.gate": passes, "b.gate": fails})
	if r := command(t, "check", "--test", dir); r.code != exitFailed || !strings.HasSuffix(r.out, "2 scripts, 5 expectations, 2 failures\n") {
		t.Fatalf("%+v", r)
	}
	command(t, "check", "--test", dir, "--rewrite").want(t, exitOK, dir+": rewrote 2 lines\n"+dir+": 2 scripts, 5 expectations, 0 failures\n", "")
	for name, want := range map[string]string{"a.gate": passes, "b.gate": fixed} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != want {
			t.Errorf("%s, %v:\n got %q\nwant %q", name, err, got, want)
		}
	}
	command(t, "check", "--test", dir).want(t, exitOK, dir+": 2 scripts, 5 expectations, 0 failures\n", "")
	command(t, "check", "--test", dir, "--rewrite").want(t, exitOK, dir+": rewrote 0 lines\n"+dir+": 2 scripts, 5 expectations, 0 failures\n", "")
}
