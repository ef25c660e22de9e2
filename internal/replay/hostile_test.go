package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// Lines made to cost much: each is as long as a line may be, and whoever looks
// at a byte again for every byte needs hours for it and meets the time-out of
// the test.
func TestHostileLinesCostLittle(t *testing.T) {
	fill := func(unit string) string { return strings.Repeat(unit, maxLine/len(unit)) }
	combined := `h - - ` + stamp + ` "GET / HTTP/1.1" 200 1 "`
	for name, line := range map[string]string{
		"brackets":              "h - " + fill(" ["),
		"almost times":          "h - " + fill(" [01/Mar/2026:10:00:00 +00x0]"),
		"days that are not":     "h - " + fill(" [31/Feb/2026:10:00:00 +0000]"),
		"backslashes":           combined + fill(`\`),
		"escaped quotes":        combined + fill(`\"`),
		"hex escapes":           combined + fill(`\x41`),
		"spaces":                fill(" "),
		"NULs":                  fill("\x00"),
		"quotes":                fill(`"`),
		"JSON brackets":         `{"a":` + fill("["),
		"JSON objects":          fill(`{"a":`),
		"JSON escapes":          `{"time":1,"a":"` + fill(`\u0041`),
		"JSON fields":           `{"time":1,` + fill(`"a":1,`),
		"JSON numbers":          `{"time":1,"a":` + fill("1"),
		"JSON array of objects": `{"time":1,"a":[` + fill(`{"a":1},`),
		"JSON name":             `{"time":1,"` + fill("n"),
		"digits as a time":      `{"time":` + fill("9") + `}`,
		"fraction of a time":    `{"time":"2026-03-01T10:00:00.` + fill("9"),
		"syslog data":           "1 2026-11-30T21:00:01Z h a - - " + fill(`[x k="\]"]`),
		"syslog tag":            "Nov 30 21:00:01 h " + fill("a["),
		"a login over again":    sshdLine("Failed password for ") + fill(" from 192.0.2.1 port 22 ssh2") + "x",
		"repeated over again":   sshdLine("") + fill("message repeated 2 times: [ "),
	} {
		line = line[:min(len(line), maxLine)]
		for _, format := range []Format{FormatAuto, FormatCombined, FormatJSON, FormatCSV, FormatSyslog, FormatSSHD, FormatPattern} {
			opt := Options{Format: format, Year: 2026}
			if format == FormatPattern {
				opt.Pattern = pattern(t, `^(?P<a>.*) (?P<time>\S+) (?P<b>.*)$`, "")
			}
			t.Run(name+" as "+format.String(), func(t *testing.T) {
				_, _, _ = readAll(t, line+"\n", opt)
			})
		}
	}
}

// Tables made to cost much: quotes that are opened again and again and never
// closed right. Each is looked at once more, not the rest of the file.
func TestHostileTablesCostLittle(t *testing.T) {
	for name, row := range map[string]string{
		"open in every row":    "1,\"a\n",
		"doubled in every row": "1,\"a\"\"\n",
		"even runs":            "1,\"a\"\"\"\"\n",
		"closed wrong":         "1,\"a\"b\n",
		"quotes only":          "\"\"\"\"\"\n",
	} {
		data := "ts,a\n1,\"open\n" + strings.Repeat(row, 3<<19/len(row))
		_, r, err := readAll(t, data, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// Whatever is made of it, each line is read once.
		if f := r.Files()[0]; f.Lines != int64(strings.Count(data, "\n")) {
			t.Errorf("%s: counted %+v", name, f)
		}
	}
}

// Every way to cut a good line short, or to break one byte of it, gives an
// event that is fit to be judged or a line that is counted.
func TestBrokenLines(t *testing.T) {
	for _, good := range []string{
		`192.0.2.1 - al\"ice ` + stamp + ` "GET /a?b=c HTTP/1.1" 200 512 "https://ref.example/\x41" "curl/8.5"`,
		`{"event":"login","attrs":{"a":"x\u0041","o":{"n":-1.5e3},"l":[1,{}]},"cost":2,"time":"2026-03-01T10:00:00.5+01:00"}`,
		`{"ts":1770000000.25,"b":true,"n":null,"o":{"p":{"q":"r"}},"event":"x"}`,
		`<34>Nov 30 21:00:01 host app[123]: text`,
		`<165>1 2026-11-30T22:00:01.000003+01:00 host app 8710 ID47 [x@1 k="a\]]" l="\""][y] text`,
		`Nov 30 21:00:01 h sshd[7]: Failed password for invalid user a b from 192.0.2.1 port 4711 ssh2`,
		`2026-11-30T21:00:01+0000 h sshd-session[7]: message repeated 2 times: [ Invalid user x from 2001:db8::1 port 22]`,
	} {
		var broken []string
		for i := range good {
			broken = append(broken, good[:i], good[i:])
			for _, c := range []byte{0, '"', '\\', '{', ' ', 0xff, '0'} {
				broken = append(broken, good[:i]+string([]byte{c})+good[i+1:])
			}
		}
		for _, line := range broken {
			r, err := Open([]string{"-"}, strings.NewReader(line), Options{Format: formatOf(good), Year: 2026})
			if err != nil {
				t.Fatal(err)
			}
			rec, err := r.Next()
			switch f := r.Files()[0]; {
			case err == nil:
				checkSane(t, line, f.Times, rec)
			case !errors.Is(err, io.EOF):
				t.Errorf("%q: %v", line, err)
			case strings.TrimSpace(line) != "" && (r.Skipped() != 1 || r.Skips().First[0].Reason == ""):
				t.Errorf("%q: dropped in silence: %+v", line, f)
			}
		}
	}
}

func formatOf(line string) Format {
	f, _ := detect(line, true, "")
	return f
}

// Progress may be asked for from anywhere while the log is read.
func TestProgressFromElsewhere(t *testing.T) {
	data := newGenerated(21).combined(5000)
	r, err := Open([]string{logFile(t, "a.log", data)}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	done := make(chan struct{})
	var watchers sync.WaitGroup
	for range 2 {
		watchers.Go(func() {
			for last := int64(0); ; {
				read, total := r.Progress()
				if read < last || total != int64(len(data)) {
					t.Errorf("read %d of %d, %d before", read, total, last)
				}
				last = read
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	if n := drain(t, r); n != 5000 {
		t.Errorf("%d events", n)
	}
	close(done)
	watchers.Wait()
}

// Lines of exactly the bound are read, one byte more is too long.
func TestLineBound(t *testing.T) {
	for extra, skipped := range map[int]int64{-1: 0, 0: 0, 1: 1, 100: 1} {
		head := commonLine + ` "-" "`
		line := head + strings.Repeat("x", maxLine-len(head)-1+extra) + `"`
		var b bytes.Buffer
		fmt.Fprintf(&b, "%s\n%s\n%s\n", commonLine, line, commonLine)
		got, r, err := readAll(t, b.String(), Options{})
		if n := strings.Count(got, "http "); int64(n) != 3-skipped || r.Skipped() != skipped || err != nil {
			t.Errorf("%+d bytes: %d events, %d skipped, %v", extra, n, r.Skipped(), err)
		}
		for _, s := range r.Skips().First {
			if s.Line != 2 || len(s.Text) > 2*skipTextLength {
				t.Errorf("%+d bytes: line %d, %d bytes kept", extra, s.Line, len(s.Text))
			}
		}
	}
}
