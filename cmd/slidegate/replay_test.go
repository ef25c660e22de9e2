package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write what came back into the golden files of testdata")

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%s: %v\n got %s\nwant %s", path, err, got, want)
	}
}

// accessLog is a small access log: 13 addresses come back in turn, faster and
// faster; a line is none, an address is none, and a few are late.
func accessLog() string {
	var b strings.Builder
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	line := func(ip, path string, at time.Time) {
		fmt.Fprintf(&b, "%s - - [%s] \"GET %s HTTP/1.1\" 200 512 \"-\" \"curl/8.5.0\"\n", ip, at.Format("02/Jan/2006:15:04:05 -0700"), path)
	}
	for i := range 200 {
		if i%8 == 0 {
			at = at.Add(time.Duration(3-i/80) * time.Second)
		}
		line(fmt.Sprintf("192.0.2.%d", i*i%13), fmt.Sprintf("/page/%d", i%3), at)
		switch i {
		case 50:
			b.WriteString("a line of something else\x1b[31m\n")
		case 100:
			line("host.example", "/", at)
		case 150:
			line("192.0.2.200", "/late", at.Add(-time.Hour))
			line("192.0.2.200", "/late", at.Add(-time.Second))
		}
	}
	return b.String()
}

// Two rules, of which one has a shadow, and one that no event meets.
func accessRules(t testing.TB) string {
	return rules(t, "{name: per-ip, key: [ip], limits: [2 per 5s, 12 per 1h]}",
		"{name: per-page, key: [path], shadow: true, limits: [9 per 10s]}", "{name: logins, match: {event: login}, limits: [1 per 1m]}")
}

// The summaries are what other programs and people see of a replay: their
// fields and their order stay.
func TestReplayGolden(t *testing.T) {
	log := file(t, "access.log", accessLog())
	masked := func(text string) string { // the path, and a reason that the reader gives
		text = strings.ReplaceAll(text, log, "LOG")
		return regexp.MustCompile(`(?m)^(  LOG:52: ).*(: a line of something else)`).ReplaceAllString(text, "${1}REASON$2")
	}
	for _, c := range []struct{ name, sort string }{{"replay", "--sort=false"}, {"replay-sorted", "--sort"}} {
		r := command(t, "replay", "--rules", accessRules(t), c.sort, log)
		if r.code != exitOK || r.err != "" {
			t.Errorf("%+v", r)
		}
		golden(t, c.name+".txt", masked(r.out))
		r = command(t, "replay", "--rules", accessRules(t), c.sort, "--summary", "json", log)
		if r.code != exitOK {
			t.Errorf("%+v", r)
		}
		golden(t, c.name+".json", r.out)
		golden(t, "replay.errors.txt", masked(r.err))
	}
}

// summary is what the tests look at of a summary.
type summary struct {
	Events, Skipped, Late, Admitted, Refused int64
	Rules                                    []struct {
		Name              string
		Admitted, Refused int64
		Keys              int64
		KeysRefused       int64 `json:"keys_refused"`
		Top               []struct {
			Key     map[string]string
			Refused int64
		}
	}
}

// summarise replays with a summary in JSON, which must work.
func summarise(t testing.TB, stdin string, args ...string) (s summary, stderr string) {
	t.Helper()
	r := commandWith(t.Context(), stdin, append([]string{"replay", "--summary", "json"}, args...)...)
	if err := json.Unmarshal([]byte(r.out), &s); r.code != exitOK || err != nil {
		t.Fatalf("%q: exit %d, %v\n%s%s", args, r.code, err, r.out, r.err)
	}
	return s, r.err
}

func zipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// One log gives the same answer however it comes.
func TestReplaySources(t *testing.T) {
	path := rules(t, "{name: r, match: {event: login}, key: [user], limits: [2 per 10s]}")
	const (
		asJSON  = "{\"when\":1000.5,\"event\":\"login\",\"user\":\"a\"}\n{\"when\":1001,\"event\":\"login\",\"user\":\"a\"}\n{\"when\":1002,\"event\":\"login\",\"user\":\"a\"}\n{\"when\":1003,\"event\":\"other\",\"user\":\"a\"}\n{\"when\":1010.5,\"event\":\"login\",\"user\":\"a\"}\n"
		asCSV   = "when;user;event\n1000.5;a;login\n1001;a;login\n1002;a;login\n1003;a;other\n1010.5;a;login\n"
		noNames = "when,user\n1970-01-01T00:16:40.5Z,a\n1970-01-01T00:16:41Z,a\n1970-01-01T00:16:42Z,a\n1970-01-01T00:16:50.500000Z,a\n"
	)
	const other = "{\"when\":1003,\"event\":\"other\"}\n"
	for _, c := range []struct {
		name, stdin string
		args        []string
		events      int64
	}{
		{"json", "", []string{file(t, "a", asJSON)}, 5},
		{"json, by its name", "", []string{"--format", "json", file(t, "a", asJSON)}, 5},
		{"json, zipped", "", []string{file(t, "a.gz", zipped(t, asJSON))}, 5},
		{"json from the input", asJSON, []string{"-"}, 5},
		{"json from the input, zipped and sorted", zipped(t, asJSON), []string{"--sort", "-"}, 5},
		{"csv", "", []string{file(t, "a", asCSV)}, 5},
		{"csv from the input", asCSV, []string{"--format", "csv", "-"}, 5},
		{"csv, its events named", noNames, []string{"--event", "login", "-"}, 4},
		{"several files and the input", asJSON, []string{file(t, "a", other), "-", file(t, "b", strings.Replace(other, "1003", "1011", 1))}, 7},
	} {
		args := append([]string{"--rules", path, "--time", "when"}, c.args...)
		if c.name == "several files and the input" {
			args = append(args, "--sort")
		}
		s, stderr := summarise(t, c.stdin, args...)
		if s.Events != c.events || s.Refused != 1 || s.Late+s.Skipped != 0 || s.Rules[0].Admitted != 3 || s.Rules[0].Refused != 1 || s.Rules[0].Keys != 1 || stderr != "" {
			t.Errorf("%s: %+v, %s", c.name, s, stderr)
		}
	}
	if s, _ := summarise(t, noNames, "--rules", path, "--time", "when", "-"); s.Events != 4 || s.Rules[0].Refused != 0 {
		t.Errorf("events are called http without a name: %+v", s)
	}
}

// What is known of each file is told before the summary; a plain file may be the
// input.
func TestReplayFiles(t *testing.T) {
	path := rules(t, "{name: r, limits: [2 per 10s]}")
	a, b := file(t, "a.gz", zipped(t, "{\"ts\":1}\n\n{\"ts\":2}\n{}\n")), file(t, "b.csv", "time,x\n2026-03-01 00:00:00,1\n")
	in, err := os.Open(file(t, "in", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"replay", "--rules", path, a, b, "-"}, in, &stdout, &stderr)
	want := a + ": json, gzip, times in epoch in seconds; 4 lines, 2 events, 1 line not understood\n" +
		b + ": csv, times in date and time without a zone (UTC assumed); 2 lines, 1 event, 0 lines not understood\n" +
		"stdin: empty\n1 line was not understood:\n  " + a + ":4: "
	if code != exitOK || stderr.Len() != 0 || !strings.HasPrefix(stdout.String(), want) {
		t.Errorf("exit %d, %s\n got %s\nwant %s", code, &stderr, &stdout, want)
	}
}

// A file that says its times in two units is not judged, and neither is one
// that cannot be read.
func TestReplayErrors(t *testing.T) {
	path, dir := rules(t, "{name: r, limits: [2 per 10s]}"), t.TempDir()
	mixed := file(t, "mixed.json", "{\"ts\":1700000000}\n{\"ts\":1700000001}\n\n{\"ts\":1700000002000}\n")
	unknown := file(t, "notes.txt", "to be, or not\nto be\n")
	cut := file(t, "cut.gz", zipped(t, accessLog())[:60])
	none := filepath.Join(dir, "none.log")
	good := file(t, "good.json", "{\"ts\":1700000000}\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{mixed}, mixed + ":4: two kinds of time in one file: epoch in milliseconds here, epoch in seconds in line 1; split the file, or name another field with --time\n"},
		{[]string{"--sort", mixed}, mixed + ":4: two kinds of time in one file"},
		{[]string{"--summary", "json", mixed}, mixed + ":4: two kinds of time in one file"},
		{[]string{none}, "slidegate: " + none + ": no such file or directory\n"},
		{[]string{good, none, dir}, "slidegate: " + none + ": no such file or directory\n" + "slidegate: " + dir + " is a directory; name the files in it\n"},
		{[]string{"--format", "csv", good}, good + ":1: "},
		{[]string{unknown}, "slidegate: " + unknown + ": cannot tell the format: the file begins with \"to be, or not\"; "},
		{[]string{cut}, "slidegate: " + cut + ": the gzip data is damaged or cut short after line "},
		{[]string{"-", "-"}, "slidegate: -: standard input is named twice; it can be read only once\n"},
	} {
		r := command(t, append([]string{"replay", "--rules", path}, c.args...)...)
		if r.code != exitFailed || r.out != "" || !strings.HasPrefix(r.err, c.want) {
			t.Errorf("%q: %+v\nwant %s", c.args, r, c.want)
		}
	}
}

// Of the lines that were skipped, the first are shown: those that are no
// events, and those that the rules cannot read.
func TestReplaySkipped(t *testing.T) {
	path := rules(t, "{name: r, key: [ip], limits: [2 per 10s]}")
	var b strings.Builder
	b.WriteString("{\"ts\":1,\"ip\":\"192.0.2.1\"}\n")
	for i := range 7 {
		fmt.Fprintf(&b, "garbage %d\a\n", i)
	}
	for i := range 7 {
		fmt.Fprintf(&b, "{\"ts\":%d,\"event\":\"e\\u001b[31m\",\"ip\":\"host%d\\u001b\"}\n", i+2, i)
	}
	log := file(t, "a.log", b.String())
	s, stderr := summarise(t, "", "--rules", path, log)
	if s.Events != 1 || s.Skipped != 14 || s.Admitted != 1 || s.Rules[0].Keys != 1 {
		t.Errorf("%+v", s)
	}
	lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
	if len(lines) != 9 || lines[0] != "7 lines were not understood:" || lines[2] != "7 events could not be judged:" || lines[8] != "  and 2 for other reasons" {
		t.Fatalf("got %s", stderr)
	}
	if got := lines[1]; !strings.HasPrefix(got, "  "+log+":2: ") || !strings.HasSuffix(got, `: garbage 0\a (and 6 more)`) {
		t.Errorf("got %s", got)
	}
	for i := range 5 {
		if got, want := lines[3+i], fmt.Sprintf(`  %s:%d: rule r: bad event: attribute ip: "host%d\x1b" is not an IP address`, log, i+9, i); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	r := command(t, "replay", "--rules", path, log)
	if r.code != exitOK || r.err != "" || !strings.Contains(r.out, stderr) || !strings.Contains(r.out, "1 event: 1 admitted, 0 refused (0.00 %), from 1970-01-01T00:00:01Z to 1970-01-01T00:00:01Z\n") {
		t.Errorf("%+v", r)
	}
}

// Whatever a key holds, nothing of it reaches the terminal as a control
// character.
func TestReplayEscapes(t *testing.T) {
	path := rules(t, "{name: users, key: [user, n], limits: [1 per 1h]}", "{name: all, limits: [1 per 1h]}")
	var b strings.Builder
	for i := range 4 {
		fmt.Fprintf(&b, "{\"ts\":%d,\"user\":\"\\u001b[2J\\r\\n\\u202e\\\"\\u00e9\",\"n\":1.50}\n", i)
	}
	r := command(t, "replay", "--rules", path, file(t, "a.log", b.String()))
	for _, want := range []string{
		"\nmost refused by users:\n         3  user=\"\\x1b[2J\\r\\n\\u202e\\\"é\" n=\"1.50\"\n",
		"\nmost refused by all:\n         3  (without a key)\n",
	} {
		if r.code != exitOK || !strings.Contains(r.out, want) {
			t.Errorf("exit %d, %q; want %q", r.code, r.out, want)
		}
	}
	if strings.ContainsAny(r.out, "\x1b\r\u202e") {
		t.Errorf("control characters in %q", r.out)
	}
	if s, _ := summarise(t, b.String(), "--rules", path, "-"); s.Rules[0].Top[0].Key["user"] != "\x1b[2J\r\n\u202e\"é" || s.Rules[0].Top[0].Key["n"] != "1.50" {
		t.Errorf("%+v", s)
	}
}

// Where no event was judged there is no table, and one sentence says why.
func TestReplayNothing(t *testing.T) {
	path := rules(t, "{name: r, key: [ip], limits: [2 per 10s]}")
	for _, c := range []struct{ log, want string }{
		{"", "there is no event in the log"},
		{"\n \n", "there is no event in the log"},
		{"{\"ts\":1,\"ip\":\"x\"}\n{\"ts\":2,\"ip\":\"x\"}\n", `the rules could not read any of the events; the first: rule r: bad event: attribute ip: "x" is not an IP address`},
		{"{\"ts\":1\n", "no line was understood; the first: "},
	} {
		for _, as := range []string{"table", "json"} {
			r := commandWith(t.Context(), c.log, "replay", "--rules", path, "--summary", as, "-")
			if r.code != exitFailed || (as == "table") != (r.out == "") || !strings.Contains(r.err, "slidegate: no event was judged: "+c.want) {
				t.Errorf("%q: %+v", c.log, r)
			}
		}
	}
}

// A rule that no event met is named; where none was met, so are the names of
// the events.
func TestReplayUnmet(t *testing.T) {
	const log = "{\"ts\":1,\"event\":\"a\"}\n{\"ts\":2}\n"
	for _, c := range []struct {
		rules []string
		want  string
	}{
		{[]string{"{name: r, match: {event: a}, limits: [2 per 10s]}", "{name: s, match: {event: b}, limits: [2 per 10s]}"}, "no event met rule s\n"},
		{[]string{"{name: r, match: {event: c}, limits: [2 per 10s]}", "{name: s, match: [{event: b}, {event: c}], limits: [2 per 10s]}"},
			"no event met rule r\nno event met rule s\nthe log's events are named \"a\", \"http\" (see --event); the rules match b, c\n"},
		{[]string{"{name: r, match: {event: a}, key: [user], limits: [2 per 10s]}"},
			"no event met rule r\nto see why, give an event of the log to: slidegate explain --rules FILE --event 'NAME name=value …'\n"},
		{[]string{"{name: r, limits: [2 per 10s]}"}, ""},
	} {
		r := commandWith(t.Context(), log, "replay", "--rules", rules(t, c.rules...), "-")
		if _, got, _ := strings.Cut(r.out, "┘\n"); r.code != exitOK || got != c.want {
			t.Errorf("got %s\nwant %s\nin %s%s", got, c.want, r.out, r.err)
		}
	}
}

// Shadow limits beside others have a column, and every limit its refusals.
func TestReplayLimits(t *testing.T) {
	path := rules(t, "{name: mixed, limits: [3 per 10s, 4 per 1h, {limit: 1 per 10s, shadow: true}], overrides: [{match: {user: vip}, limits: [9 per 10s, 2 per 1h, 1 per 10s]}]}", "{name: trial, shadow: true, limits: [5 per 1h]}")
	const log = "{\"ts\":1}\n{\"ts\":2}\n{\"ts\":3}\n{\"ts\":4}\n{\"ts\":20}\n{\"ts\":40}\n{\"ts\":41,\"user\":\"vip\"}\n"
	r := commandWith(t.Context(), log, "replay", "--rules", path, "-")
	for _, want := range []string{
		"│ SHARE REFUSED │ SHADOW REFUSED │ KEYS │",
		"│ mixed          │      7 │        4 │       3 │       42.86 % │              3 │    1 │            1 │ 1970-01-01T00:00:01Z (1) │",
		"│ trial (shadow) │      7 │        7 │       0 │        0.00 % │                │    1 │",
		"┘\n\nmixed, by limit: 1 per 10s (shadow) 3, 3 per 10s 1, 4 per 1h 1, 2 per 1h 1\nmost refused by mixed:\n",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%s is missing in\n%s", want, r.out)
		}
	}
	r = commandWith(t.Context(), log, "replay", "--rules", path, "--summary", "json", "-")
	if want := `"limits":[{"limit":"3 per 10s","refused":1},{"limit":"4 per 1h","refused":1},{"limit":"1 per 10s","shadow":true,"refused":3},{"limit":"2 per 1h","refused":1}]}`; !strings.Contains(r.out, want) {
		t.Errorf("%s is missing in\n%s", want, r.out)
	}
}

// A late event is judged at the newest time and counted; --sort makes none.
func TestReplayLate(t *testing.T) {
	path := rules(t, "{name: r, limits: [2 per 10s]}")
	const log = "{\"ts\":100}\n{\"ts\":130}\n{\"ts\":101}\n{\"ts\":131}\n{\"ts\":99}\n"
	late, _ := summarise(t, log, "--rules", path, "-")
	if late.Late != 2 || late.Admitted != 3 || late.Refused != 2 {
		t.Errorf("as they came: %+v", late)
	}
	sorted, _ := summarise(t, log, "--rules", path, "--sort", "-")
	if sorted.Late != 0 || sorted.Admitted != 4 || sorted.Refused != 1 {
		t.Errorf("sorted: %+v", sorted)
	}
	r := commandWith(t.Context(), log, "replay", "--rules", path, "-")
	if want := "\n2 events came late, by up to 32s, and were judged at the newest time before; --sort puts them in order\n┌"; !strings.Contains(r.out, want) {
		t.Errorf("%q is missing in %s", want, r.out)
	}
	r = commandWith(t.Context(), "{\"ts\":1302}\n{\"ts\":100}\n", "replay", "--rules", path, "-")
	if want := "\n1 event came late, by up to 20m2s, and was judged at the newest time before; --sort puts them in order\nthese results are not to be trusted without --sort\n┌"; !strings.Contains(r.out, want) {
		t.Errorf("%q is missing in %s", want, r.out)
	}
	r = commandWith(t.Context(), log, "replay", "--rules", path, "--summary", "json", "-")
	if want := `"late":2,"late_max_us":32000000,`; !strings.Contains(r.out, want) {
		t.Errorf("%q is missing in %s", want, r.out)
	}
}

// An input on which more is to come does not keep the program: it stops while
// it waits.
func TestReplayStops(t *testing.T) {
	path := rules(t, "{name: r, limits: [2 per 10s]}")
	log := strings.Repeat("{\"ts\":100}\n", 20_000)
	for _, args := range [][]string{{"-"}, {"--sort", "-"}} {
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		go func() {
			io.WriteString(w, log)
			cancel()
		}()
		var stdout, stderr bytes.Buffer
		code := run(ctx, append([]string{"replay", "--rules", path}, args...), r, &stdout, &stderr)
		w.Close()
		if code != exitFailed || stdout.Len() != 0 || !stopped(stderr.String()) {
			t.Errorf("%q: exit %d, %s%s", args, code, &stdout, &stderr)
		}
	}
	// Stopped before it begins.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{file(t, "a.log", log)}, {"-"}, {"--sort", "-"}} {
		r := commandWith(ctx, log, append([]string{"replay", "--rules", path}, args...)...)
		if r.code != exitFailed || r.out != "" || !stopped(r.err) {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

func stopped(text string) bool {
	return regexp.MustCompile(`^slidegate: stopped (after \d+ events|while sorting): context canceled\n$`).MatchString(text)
}

// On a terminal the progress is shown, and what shows it ends with the replay.
// The null device is a terminal in that it is a device of characters.
func TestReplayProgress(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	path, log := rules(t, "{name: r, limits: [2 per 10s]}"), file(t, "a.log", accessLog())
	for _, args := range [][]string{{log}, {"-"}, {"--sort", log}, {filepath.Join(t.TempDir(), "none")}} {
		var stdout bytes.Buffer
		code := run(t.Context(), append([]string{"replay", "--rules", path}, args...), strings.NewReader(accessLog()), &stdout, null)
		if (code == exitOK) != strings.Contains(stdout.String(), "203 events: ") {
			t.Errorf("%q: exit %d, %s", args, code, &stdout)
		}
	}
}
