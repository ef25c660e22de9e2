package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ran is what a run of the program said.
type ran struct {
	code     int
	out, err string
}

// command runs the program in this process with nothing on its input.
func command(t testing.TB, args ...string) ran {
	t.Helper()
	return commandWith(t.Context(), "", args...)
}

func commandWith(ctx context.Context, stdin string, args ...string) ran {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, strings.NewReader(stdin), &stdout, &stderr)
	return ran{code, stdout.String(), stderr.String()}
}

// want reports whatever is not as it should be.
func (r ran) want(t testing.TB, code int, out, err string) {
	t.Helper()
	if r.code != code || r.out != out || r.err != err {
		t.Errorf("exit %d, want %d\n got %q\nwant %q\nerrors\n got %q\nwant %q", r.code, code, r.out, out, r.err, err)
	}
}

// file writes a file of a test and returns its path.
func file(t testing.TB, name, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// rules writes a rule file with these lines under rules and returns its path.
func rules(t testing.TB, lines ...string) string {
	t.Helper()
	return file(t, "rules.yaml", "version: 1\ndefaults: {missing_key: skip}\nrules:\n  - "+strings.Join(lines, "\n  - ")+"\n")
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"help"}, {"serve", "--help"}, {"check", "--help"}, {"explain", "-h"}, {"help", "replay"}, {"schema", "--help"}, {"version", "--help"}} {
		r := command(t, args...)
		for _, want := range []string{"Usage:", "Examples:\n  slidegate ", "Exit codes: 0 success; 1 the work failed", "2 the command line is wrong"} {
			if r.code != exitOK || r.err != "" || !strings.Contains(r.out, want) || strings.Contains(r.out, "[flags]") {
				t.Errorf("%q: exit %d, %q; want %q in\n%s", args, r.code, r.err, want, r.out)
			}
		}
	}
	if r := command(t); !strings.Contains(r.out, "explain ") || !strings.Contains(r.out, "replay ") || !strings.Contains(r.out, "check ") || !strings.Contains(r.out, "serve ") || !strings.Contains(r.out, "schema ") {
		t.Errorf("a command is missing in\n%s", r.out)
	}
	for _, arg := range []string{"--version", "version"} {
		if r := command(t, arg); r.code != exitOK || !regexp.MustCompile(`^slidegate version \S+`).MatchString(r.out) {
			t.Errorf("version: %+v", r)
		}
	}
}

// What is wrong with a command line is said in a line, with where to look, and
// nothing else happens.
func TestUsageErrors(t *testing.T) {
	good := rules(t, "{name: r, key: [ip], limits: [5 per 10s]}")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"bogus"}, `unknown command "bogus"; there are check, completion, explain, help, key, replay, schema, serve, top, version`},
		{[]string{"chekc"}, `unknown command "chekc"; did you mean check?`},
		{[]string{"serve", "--rule", "a.yaml"}, "unknown flag: --rule; did you mean --rules?"},
		{[]string{"replay", "--sotr"}, "unknown flag: --sotr; did you mean --sort?"},
		{[]string{"check", "-x"}, "unknown shorthand flag: 'x' in -x"},
		{[]string{"serve", "--listen", "8080"}, `--listen "8080": it takes an address and a port, as in 127.0.0.1:8080, or a socket, as in unix:/run/slidegate.sock`},
		{[]string{"serve", "--listen", "localhost"}, `--listen "localhost": it takes an address and a port, as in 127.0.0.1:8080, or a socket, as in unix:/run/slidegate.sock`},
		{[]string{"version", "now"}, `unknown command "now" for "slidegate version"`},
		{[]string{"--bogus"}, "unknown flag: --bogus"},
		{[]string{"serve", "rules.yaml"}, "serve takes its rule file as a flag: write --rules rules.yaml"},
		{[]string{"serve", "--listen"}, "flag needs an argument: --listen"},
		{[]string{"check"}, "check needs a rule file, or --test DIR"},
		{[]string{"check", good, "--rewrite"}, "--rewrite goes with --test DIR"},
		{[]string{"check", good, good, "--against", good}, "--against compares with exactly one rule file"},
		{[]string{"check", "--test", ".", "--against", good}, "--against compares with exactly one rule file"},
		{[]string{"explain"}, "explain needs --event 'NAME name=value …'"},
		{[]string{"explain", "sms.send", "phone=1"}, "explain takes the event as a flag: write --event 'sms.send phone=1'"},
		{[]string{"explain", "--event", "sms.send", "phone=1"}, `unexpected "phone=1": put all of the event in quotes, as in --event 'NAME name=value …'`},
		{[]string{"explain", "--event", ` {"event":"e"}`}, "--event: an event is not written in JSON here, but as a name and attributes: --event 'sms.send phone=13800000000 ip=192.0.2.9'"},
		{[]string{"explain", "--event", "k=1"}, `--event: "k=1": an event begins with its name, as in: sms.send phone=13800000000`},
		{[]string{"explain", "--event", `e "k=1`}, "--event: a quote is not closed"},
		{[]string{"explain", "--event", "e k"}, `--event: "k": an attribute is name=value`},
		{[]string{"explain", "--event", "e k=1 k=2"}, "--event: bad event: attribute k: given twice"},
		{[]string{"explain", "--event", "e cost=-1"}, "--event: bad event: cost: -1 is negative; a cost is 0 or more"},
		{[]string{"explain", "--event", " # nothing"}, "--event: an event begins with its name, as in: sms.send phone=13800000000"},
		{[]string{"explain", "--event", "e time=5"}, `--event: "time=5": time cannot be given here`},
		{[]string{"replay", "a.log"}, "replay needs --rules FILE"},
		{[]string{"replay", "--rules", good}, "replay needs a log: a file, or - for standard input"},
		{[]string{"replay", "--rules", good, "--format", "xml", "a.log"}, `--format: unknown format "xml": choose auto, combined, json, csv, syslog or sshd, or a regular expression with named groups, such as '^(?P<time>\S+) (?P<ip>\S+)'`},
		{[]string{"replay", "--rules", good, "--summary", "yaml", "a.log"}, `--summary "yaml": it is table or json`},
		{[]string{"replay", "--rules", good, "--sort=perhaps", "a.log"}, `invalid argument "perhaps" for "--sort" flag: strconv.ParseBool: parsing "perhaps": invalid syntax`},
	} {
		path := "slidegate"
		if first := c.args[0]; slices.Contains([]string{"serve", "check", "explain", "replay", "version"}, first) {
			path += " " + first
		}
		command(t, c.args...).want(t, exitUsage, "", "slidegate: "+c.want+"\nTry: "+path+" --help\n")
	}
}

// brokenPipe takes nothing.
type brokenPipe struct{}

// Write fails.
func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// An answer that could not be written is no success.
func TestOutputFails(t *testing.T) {
	good := rules(t, "{name: r, key: [ip], limits: [5 per 10s]}")
	log := file(t, "a.log", `{"ts":1,"ip":"192.0.2.1"}`)
	for _, args := range [][]string{
		{"check", good}, {"explain", "--event", "e"}, {"replay", "--rules", good, log}, {"replay", "--rules", good, "--summary", "json", log}, {"--help"},
	} {
		var stderr bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(""), brokenPipe{}, &stderr); code != exitFailed || !strings.HasSuffix(stderr.String(), "no space left on device\n") {
			t.Errorf("%q: exit %d, %s", args, code, &stderr)
		}
	}
}

func TestStarterRules(t *testing.T) {
	f, err := loadRules("", os.Stderr)
	if err != nil || len(f.Warnings) != 0 {
		t.Fatalf("%v, %v", f, err)
	}
	var names []string
	for _, r := range f.Plan.Rules() {
		names = append(names, r.Name)
	}
	if got := strings.Join(names, " "); got != "order-query sms-phone sms-ip login login-ip" {
		t.Errorf("the starter rules are %s", got)
	}
}
