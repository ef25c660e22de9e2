package replay

import (
	"strings"
	"testing"
)

func TestParseFormat(t *testing.T) {
	for _, want := range []Format{FormatAuto, FormatCombined, FormatJSON, FormatCSV, FormatSyslog, FormatSSHD} {
		if got, err := ParseFormat(want.String()); got != want || err != nil {
			t.Errorf("ParseFormat(%q) = %v, %v", want.String(), got, err)
		}
	}
	for _, text := range []string{"", "JSON", "ndjson", "csv ", "x\x1b[31m"} {
		_, err := ParseFormat(text)
		if err == nil || !strings.Contains(err.Error(), "choose auto, combined, json, csv, syslog or sshd, or a regular expression") {
			t.Errorf("ParseFormat(%q): %v, want the choices", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "\x1b") {
			t.Errorf("ParseFormat(%q): the error holds a raw escape", text)
		}
	}
	if got := Format(9).String(); got != "format(9)" {
		t.Errorf("Format(9) = %q", got)
	}
}

const commonLine = `192.0.2.1 - - [01/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5`

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		name, head, timeField string
		want                  Format
		err                   string
	}{
		{name: "common", head: commonLine + "\n", want: FormatCombined},
		{name: "no line end", head: commonLine, want: FormatCombined},
		{name: "blank lines first", head: "\n \r\n" + commonLine, want: FormatCombined},
		{name: "a cut line first", head: "GET / HTTP/1.1\" 200 5\n" + commonLine, want: FormatCombined},
		{name: "json", head: `{"time":1}`, want: FormatJSON},
		{name: "json behind a comment", head: "# started\n{\"time\":1}", want: FormatJSON},
		{name: "comma", head: "timestamp,value\n1,2", want: FormatCSV},
		{name: "semicolon", head: "ip;ts;value", want: FormatCSV},
		{name: "tab", head: "ip\t@timestamp", want: FormatCSV},
		{name: "the header wins over the rows", head: "time,text\n1,\"\n{\n\"", want: FormatCSV},
		{name: "named column", head: "when,value", timeField: "when", want: FormatCSV},
		{name: "only empty lines", head: "\n\n", want: FormatAuto},
		{name: "nothing", head: "", want: FormatAuto},
		{name: "text", head: "hello world", err: `begins with "hello world"; name it with --format`},
		{name: "array", head: `[{"time":1}]`, err: "jq -c '.[]'"},
		{name: "no column of time", head: "when,value\n1,2", err: "name the column of the time with --time"},
		{name: "named column is missing", head: "time,value", timeField: "when", err: "no column \"when\", which --time names"},
		{name: "control characters", head: "\x1b[2J\x00", err: `begins with "\x1b[2J\x00"`},
		{name: "ten lines of something else", head: strings.Repeat("x\n", 10) + commonLine, err: `begins with "x"`},
	} {
		got, err := detect(c.head, true, c.timeField)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		checkError(t, c.name, err, c.err)
	}
}

// A line that is not there in full is not judged yet.
func TestDetectWaits(t *testing.T) {
	for n := range len(commonLine) {
		if f, err := detect(commonLine[:n], false, ""); f != FormatAuto || err != nil {
			t.Fatalf("after %d bytes: %s, %v", n, f, err)
		}
	}
	if f, _ := detect(commonLine+"\n", false, ""); f != FormatCombined {
		t.Errorf("a whole line: %s", f)
	}
}

// checkError fails unless err holds the text want, or is nil where want is "".
func checkError(t *testing.T, name string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: error %v, want one with %q", name, err, want)
	}
}
