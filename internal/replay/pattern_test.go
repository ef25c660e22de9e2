package replay

import (
	"strings"
	"testing"
)

func pattern(t testing.TB, text, timeField string) *Pattern {
	t.Helper()
	p, err := ParsePattern(text, timeField)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPattern(t *testing.T) {
	for _, c := range []struct{ name, pattern, timeField, data, want string }{
		{"parts", `^(?P<time>\S+) (?P<ip>\S+) (?P<ms>\d+)$`, "", "2026-03-01T10:00:00Z 192.0.2.1 12\n", "1: http ip=192.0.2.1 ms=#12 @1772359200000000"},
		{"Go's other spelling", `^(?<ts>\d+) (?<user>.*)$`, "", "5 a b\n7 \n", "1: http user=a b @5000000\n2: http user= @7000000"},
		{"absent and empty", `^(?P<ts>\d+)(?: u=(?P<u>\w*))?(?P<rest>.*)$`, "", "1 u=\n2\n3 u=x y", "1: http u= rest= @1000000\n2: http rest= @2000000\n3: http u=x rest= y @3000000"},
		{"the event", `^(?P<ts>\d+)(?: (?P<event>\S+))?$`, "", "1 login\n2\n", "1: login @1000000\n2: http @2000000"},
		{"a time of one's own", `(?P<when>\d+)s (?P<time>\w+)`, "when", "x 9s lunch\n", "1: http time=lunch @9000000"},
		{"the first of the usual names", `(?P<ts>\d+) (?P<timestamp>\d+)`, "", "1 2\n", "1: http ts=#1 @2000000"},
		{"groups without names", `^(\[)?(?P<time>[^\]]+)\]? (?P<a>a|(b))$`, "", "[Nov 30 21:00:01] b\n", "1: http a=b @1796072401000000"},
		{"numbers as in tables", `(?P<ts>\d+) (?P<a>\S+)`, "", "1 007\n2 1.50\n3 -0e1\n", "1: http a=007 @1000000\n2: http a=#1.50 @2000000\n3: http a=#-0e1 @3000000"},
		{"anywhere in the line", `ts=(?P<ts>\d+).*k=(?P<k>\w+)`, "", "> ts=1, k=v <\n", "1: http k=v @1000000"},
	} {
		got, r, err := readAll(t, c.data, Options{Format: FormatPattern, Pattern: pattern(t, c.pattern, c.timeField), Now: clockAt(t, "2026-12-01T00:00:00Z")})
		if got != c.want || err != nil || r.Skipped() != 0 {
			t.Errorf("%s: %v, %d skipped\n got %s\nwant %s", c.name, err, r.Skipped(), got, c.want)
		}
	}
}

// What does not match is counted, and the first of each reason is kept.
func TestPatternSkips(t *testing.T) {
	const data = "1 a\nx\x1b[2J\n\ny\nnever b\n2 c\n99999999999999999999 d\n3 \n"
	got, r, err := readAll(t, data, Options{Format: FormatPattern, Pattern: pattern(t, `^(?P<ts>\w+) (?P<event>\w*)$`, "")})
	if want := "1: a @1000000\n6: c @2000000"; got != want || err != nil {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
	var reasons []string
	for _, s := range r.Skips().First {
		reasons = append(reasons, s.Reason+" | "+s.Text)
	}
	want := `the line does not match the expression of --format | x\x1b[2J
"never" is not a time: RFC 3339, 2006-01-02 15:04:05, 02/Jan/2006:15:04:05 +0000, Jan _2 15:04:05, or an epoch in s, ms, µs or ns | never b
the time "99999999999999999999" lies outside 1970 to 2262 | 99999999999999999999 d
the event's name is empty | 3 `
	if strings.Join(reasons, "\n") != want || r.Skipped() != 5 || r.Skips().First[0].Count != 2 {
		t.Errorf("%d skipped:\n%s\nwant\n%s", r.Skipped(), strings.Join(reasons, "\n"), want)
	}
}

func TestPatternErrors(t *testing.T) {
	for _, c := range []struct{ pattern, timeField, want string }{
		{`(?P<time>\S+`, "", `the regular expression "(?P<time>\S+": missing closing )`},
		{`(?P<time>\S+`, "", "put it in single quotes, so that the shell leaves it alone"},
		{`(?P<time>\S+) (?=x)`, "", "invalid or unsupported Perl syntax"},
		{"(?P<time>\x1b[2J", "", `\x1b[2J`},
		{`^(\S+) (\S+)$`, "", "has no named group; name the parts of a line, as in '^(?P<time>"},
		{`^(?P<event>x)$`, "", "has no group for the time; call it time, timestamp or ts, as in (?P<time>…), or name it with --time"},
		{`^(?P<when>\S+)$`, "", "has no group for the time"},
		{`^(?P<time>\S+)$`, "when", `has no group "when", which --time names; write (?P<when>…) around the time`},
		{`^(?P<time>\S+)$`, "@timestamp", `has no group "@timestamp", which --time names`},
		{`(?P<a>x)(?P<a>y)`, "", "a"},
		{`(?P<time>x)` + strings.Repeat("(z{1000}){1000}", 2), "", "put it in single quotes"},
	} {
		_, err := ParsePattern(c.pattern, c.timeField)
		checkError(t, c.pattern, err, c.want)
		if err != nil && strings.ContainsAny(err.Error(), "\x1b") {
			t.Errorf("%q: a control character in %q", c.pattern, err)
		}
	}
	for text, want := range map[string]bool{"": false, "combind": false, "json": false, "ndjson-2": false, `\d+`: true, "(x)": true, "a b": true, "^x$": true, "a.log": true} {
		if got := IsPattern(text); got != want {
			t.Errorf("IsPattern(%q) = %v", text, got)
		}
	}
	for _, opt := range []Options{{Format: FormatPattern}, {Format: FormatJSON, Pattern: pattern(t, `(?P<ts>\d)`, "")}, {Pattern: pattern(t, `(?P<ts>\d)`, "")}} {
		if _, err := Open([]string{"-"}, strings.NewReader(""), opt); err == nil {
			t.Errorf("%+v is taken", opt)
		}
	}
}

// FuzzPattern: whatever a line holds, it becomes an event fit to be judged or is
// refused, and what is refused leaves no trace.
func FuzzPattern(f *testing.F) {
	f.Add(`^(?P<time>\S+) (?P<ip>\S+)(?: (?P<event>.*))?$`, "2026-03-01T10:00:00Z 192.0.2.1 login")
	f.Add(`(?P<ts>\d+)(?P<a>x)?(?P<b>.*)`, "17x\xff")
	f.Add(`^(?P<timestamp>.{15}) (?P<rest>.*)$`, "Nov 30 21:00:01 \x00")
	f.Fuzz(func(t *testing.T, text, line string) {
		if len(text) > 200 || len(line) > 2000 {
			return
		}
		p, err := ParsePattern(text, "")
		if err != nil {
			return
		}
		rec := Record{Line: 7}
		parser := patternParser{event: DefaultEvent, clock: newWallClock(&Options{Year: 2026}), pattern: p}
		kind, err := parser.parse(line, &rec)
		if err != nil {
			if rec.Event.Name != "" || rec.Event.Attrs != nil {
				t.Errorf("%q, %q: %v, and %+v", text, line, err, rec)
			}
			return
		}
		checkSane(t, line, kind, &rec)
	})
}
