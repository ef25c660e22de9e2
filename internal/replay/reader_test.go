package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/slidegate/slidegate"
)

// dataDir holds public logs, beside the project; see its README.
const dataDir = "../../../shared/data"

// realLog returns the path of a public log, and skips the test without it.
func realLog(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(dataDir, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no public log here: %v", err)
	}
	return path
}

func TestRealAccessLog(t *testing.T) {
	r, err := Open([]string{realLog(t, "elastic_apache_access.log")}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := drain(t, r); n != 10_000 || r.Skipped() != 0 {
		t.Errorf("%d events, %d skipped: %+v", n, r.Skipped(), r.Skips().First)
	}
	f := r.Files()[0]
	if f.Format != FormatCombined || f.Times != KindCommonLog || f.Lines != 10_000 {
		t.Errorf("counted %+v", f)
	}
	if read, total := r.Progress(); read != total {
		t.Errorf("read %d of %d bytes", read, total)
	}
}

func TestRealTables(t *testing.T) {
	for name, rows := range map[string]int{"nyc_taxi.csv": 10_320, "machine_temperature_system_failure.csv": 22_695} {
		r, err := Open([]string{realLog(t, name)}, nil, Options{Event: "sample"})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		rec, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := rec.Event.Attr("value"); !ok || !v.IsNumber() || rec.Event.Name != "sample" || len(rec.Event.Attrs) != 1 {
			t.Errorf("%s begins with %s", name, show(rec))
		}
		if n := drain(t, r) + 1; n != rows || r.Skipped() != 0 {
			t.Errorf("%s: %d events, want %d; %d skipped: %+v", name, n, rows, r.Skipped(), r.Skips().First)
		}
		if f := r.Files()[0]; f.Format != FormatCSV || f.Times != KindDateTime {
			t.Errorf("counted %+v", f)
		}
	}
}

// Several files of several formats, plain, compressed and standard input, are
// read in their order.
func TestReader(t *testing.T) {
	paths := []string{
		logFile(t, "a.log", []byte(commonLine+"\n")),
		"-",
		logFile(t, "c.csv.gz", compressed(t, []byte("ts;a\n1;x\n2;y\n"))),
		logFile(t, "empty.log", nil),
		logFile(t, "blank.log", []byte("\n\n")),
	}
	stdin := strings.NewReader(`{"time":5,"event":"login"}` + "\nnonsense\n")
	r, err := Open(paths, stdin, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []string
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s:%d %s", filepath.Base(rec.File), rec.Line, rec.Event.Name))
	}
	if got, want := strings.Join(got, "|"), "a.log:1 http|stdin:1 login|c.csv.gz:2 http|c.csv.gz:3 http"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	want := []File{
		{Name: paths[0], Format: FormatCombined, Times: KindCommonLog, Lines: 1, Events: 1},
		{Name: "stdin", Format: FormatJSON, Times: KindSeconds, Lines: 2, Events: 1, Skipped: 1},
		{Name: paths[2], Format: FormatCSV, Times: KindSeconds, Gzip: true, Lines: 3, Events: 2},
		{Name: paths[3]},
		{Name: paths[4], Lines: 2},
	}
	for i, f := range r.Files() {
		if f != want[i] {
			t.Errorf("file %d: %+v\nwant %+v", i, f, want[i])
		}
	}
	if _, total := r.Progress(); total != -1 {
		t.Errorf("total %d, want -1: a pipe has no size", total)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	file := logFile(t, "a.log", nil)
	for _, c := range []struct {
		name  string
		paths []string
		stdin io.Reader
		want  []string
	}{
		{"nothing", nil, nil, []string{"name files, or - for standard input"}},
		{"all that are wrong", []string{filepath.Join(dir, "x"), file, dir}, nil, []string{"x: no such file", dir + " is a directory; name the files in it"}},
		{"no stdin", []string{"-"}, nil, []string{"there is no standard input here"}},
		{"stdin twice", []string{"-", "-"}, strings.NewReader(""), []string{"named twice"}},
	} {
		_, err := Open(c.paths, c.stdin, Options{})
		for _, want := range c.want {
			checkError(t, c.name, err, want)
		}
	}
	if _, err := Open([]string{file}, nil, Options{Format: 77}); err == nil || !strings.Contains(err.Error(), "choose auto") {
		t.Errorf("unknown format: %v", err)
	}
}

// A file that goes away between Open and its turn is an error then.
func TestFileGone(t *testing.T) {
	path := logFile(t, "a.log", []byte(commonLine))
	r, err := Open([]string{path}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Next: %v", err)
	}
}

// A size is known of a plain file that was made standard input.
func TestProgress(t *testing.T) {
	data := newGenerated(5).combined(10_000)
	f, err := os.Open(logFile(t, "a.log.gz", compressed(t, data)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := Open([]string{"-", logFile(t, "b.log", data)}, f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var last int64
	for grew := 0; ; {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			if grew < 5 {
				t.Errorf("progress was seen %d times", grew)
			}
			break
		} else if err != nil {
			t.Fatal(err)
		}
		read, total := r.Progress()
		if read < last || read > total {
			t.Fatalf("read %d of %d bytes, %d before", read, total, last)
		}
		if read > last {
			grew++
		}
		last = read
	}
	if read, total := r.Progress(); read != total {
		t.Errorf("read %d of %d bytes", read, total)
	}
}

// What is no plain file has no size and is opened once, when its turn comes.
func TestPipes(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := io.WriteString(out, commonLine); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Open([]string{os.DevNull, "-"}, in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := drain(t, r); n != 1 {
		t.Errorf("%d events", n)
	}
	if read, total := r.Progress(); read != int64(len(commonLine)) || total != -1 {
		t.Errorf("read %d of %d bytes", read, total)
	}
}

func TestGzipMembers(t *testing.T) {
	one := compressed(t, []byte(commonLine+"\n"+commonLine[:20]))
	two := compressed(t, []byte(commonLine[20:]+"\n"))
	got, r, err := readAll(t, string(one)+string(two), Options{})
	if n := strings.Count(got, "http"); n != 2 || err != nil || !r.Files()[0].Gzip {
		t.Errorf("%d events of 2, %v, %+v", n, err, r.Files())
	}
}

// A damaged file gives what stands before the damage and then an error that
// says how far it came; it never looks like a short file that is whole.
func TestGzipDamaged(t *testing.T) {
	data := newGenerated(6).combined(5000)
	whole := compressed(t, data)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0xff
	for name, broken := range map[string][]byte{
		"cut in the middle":  whole[:len(whole)/2],
		"cut in the header":  whole[:5],
		"only the magic":     whole[:2],
		"cut in the sum":     whole[:len(whole)-3],
		"a byte changed":     flipped,
		"garbage behind it":  append(bytes.Clone(whole), "garbage"...),
		"second member cut":  append(bytes.Clone(whole), whole[:100]...),
		"cut behind a block": whole[:len(whole)-8],
	} {
		path := logFile(t, "a.log.gz", broken)
		r, err := Open([]string{path}, nil, Options{Format: FormatCombined})
		if err != nil {
			t.Fatal(err)
		}
		events := 0
		for ; err == nil; events++ {
			_, err = r.Next()
		}
		events--
		if errors.Is(err, io.EOF) {
			t.Errorf("%s: ended as if it were whole", name)
			continue
		}
		checkError(t, name, err, path+": the gzip data is damaged or cut short after line ")
		checkError(t, name, err, fmt.Sprintf(" of %d bytes read", len(broken)))
		// What a changed byte unpacks to is nonsense until the sum tells.
		if f := r.Files()[0]; f.Events != int64(events) || (r.Skipped() != 0 && name != "a byte changed") {
			t.Errorf("%s: %d events, counted %+v", name, events, f)
		}
		if strings.HasPrefix(name, "cut in the sum") && events != 5000 {
			t.Errorf("%s: %d events before the damage", name, events)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOtherCompression(t *testing.T) {
	for magic, want := range map[string]string{
		"\x28\xb5\x2f\xfd....": "pipe it through zstd -dc and name - instead",
		"BZh9....":             "bzip2 -dc",
		"\xfd7zXZ\x00":         "xz -dc",
	} {
		_, _, err := readAll(t, magic, Options{})
		checkError(t, want, err, want)
		checkError(t, want, err, "stdin: ")
	}
}

func TestReadError(t *testing.T) {
	src := io.MultiReader(strings.NewReader(commonLine+"\n"), iotest.ErrReader(errors.New("cable cut")))
	r, err := Open([]string{"-"}, src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	_, err = r.Next()
	checkError(t, "read error", err, fmt.Sprintf("stdin: reading stopped after line 1 (%d bytes read): cable cut", len(commonLine)+1))
	r, err = Open([]string{"-"}, iotest.ErrReader(errors.New("cable cut")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Next()
	checkError(t, "at once", err, "stdin: cable cut")
}

// Seconds taken for milliseconds make every answer wrong: two kinds of time in
// one file are an error, in two files they are none.
func TestMixedTimes(t *testing.T) {
	kinds := []struct{ text, words string }{
		{`1700000000`, "epoch in seconds"},
		{`1700000000123`, "epoch in milliseconds"},
		{`1700000000123456`, "epoch in microseconds"},
		{`1700000000123456789`, "epoch in nanoseconds"},
		{`"2026-03-01T10:00:00Z"`, "RFC 3339"},
		{`"2026-03-01 10:00:00"`, "date and time without a zone"},
	}
	line := func(text string) string { return `{"time":` + text + "}\n" }
	for i, a := range kinds {
		for k, b := range kinds {
			data := "junk {\n" + line(a.text) + line(a.text) + "\n" + line(b.text) + line(a.text)
			got, r, err := readAll(t, data, Options{Format: FormatJSON})
			if i == k {
				if err != nil || strings.Count(got, "\n") != 3 {
					t.Errorf("only %s: %q, %v", a.words, got, err)
				}
				continue
			}
			checkError(t, a.words, err, fmt.Sprintf("stdin:5: two kinds of time in one file: %s here, %s in line 2", b.words, a.words))
			if f := r.Files()[0]; f.Events != 2 {
				t.Errorf("counted %+v", f)
			}
		}
		other := kinds[(i+1)%len(kinds)]
		r, err := Open([]string{logFile(t, "a", []byte(line(a.text))), logFile(t, "b", []byte(line(other.text)))}, nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := drain(t, r); n != 2 {
			t.Errorf("two files: %d events", n)
		}
	}
}

// Fractions of a second are still seconds.
func TestSecondsWithFraction(t *testing.T) {
	_, r, err := readAll(t, `{"ts":1700000000}`+"\n"+`{"ts":1700000000.5}`+"\n", Options{})
	if err != nil || r.Files()[0].Events != 2 || r.Files()[0].Times != KindSeconds {
		t.Errorf("%v, %+v", err, r.Files())
	}
}

func TestSkipped(t *testing.T) {
	long := "x" + strings.Repeat("é", 1<<20) // 2 MiB
	lines := []string{commonLine, "nonsense\x1b[31m\x00\xff", long, "", " \t", commonLine, `GET "half`, "a", "b", "c", commonLine}
	data := strings.Join(lines, "\n") + "\n"
	got, r, err := readAll(t, data, Options{})
	if n := strings.Count(got, "http"); n != 3 || err != nil {
		t.Errorf("%d events, %v", n, err)
	}
	if r.Skipped() != 6 || r.Files()[0].Skipped != 6 || r.Files()[0].Lines != int64(len(lines)) {
		t.Errorf("%d skipped, %+v", r.Skipped(), r.Files())
	}
	want := []Skip{
		{"stdin", 2, `nonsense\x1b[31m\x00\xff`, string(errNoAddress), 5},
		{"stdin", 3, "x" + strings.Repeat("é", (skipTextLength-1)/2) + "…", errLongLine.Error(), 1},
	}
	if !slices.Equal(r.Skips().First, want) || r.Skips().Others() != 0 {
		t.Errorf("%+v", r.Skips())
	}
	for keep, n := range map[int]int{-1: 0, 0: 2, 1: 1, 50: 2} {
		_, r, _ := readAll(t, data, Options{KeepSkipped: keep})
		if len(r.Skips().First) != n || r.Skipped() != 6 {
			t.Errorf("KeepSkipped %d: %d kept, %d counted", keep, len(r.Skips().First), r.Skipped())
		}
	}
}

// The format is found out although it comes byte by byte, or the first line is
// longer than what is looked at.
func TestDetectFromSlowSource(t *testing.T) {
	for name, src := range map[string]io.Reader{
		"bytes":     iotest.OneByteReader(strings.NewReader("\n\n" + commonLine + "\n")),
		"long line": strings.NewReader("{" + strings.Repeat(" ", 3<<20) + "\n" + `{"time":1}`),
	} {
		r, err := Open([]string{"-"}, src, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := drain(t, r); n != 1 {
			t.Errorf("%s: %d events", name, n)
		}
	}
	_, _, err := readAll(t, strings.Repeat("x", 3<<20), Options{})
	checkError(t, "long text", err, "stdin: cannot tell the format")
}

// The texts of a record may be kept, its list of attributes may not.
func TestRecordTextsStay(t *testing.T) {
	r, err := Open([]string{"-"}, bytes.NewReader(newGenerated(7).combined(2000)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var kept []slidegate.Attr
	var copies []string
	for {
		rec, err := r.Next()
		if err != nil {
			break
		}
		for _, a := range rec.Event.Attrs {
			kept = append(kept, a)
			copies = append(copies, strings.Clone(a.Value.String()))
		}
		if rec.Event.Time.Location() != time.UTC {
			t.Fatalf("the time is in %s", rec.Event.Time.Location())
		}
	}
	for i, a := range kept {
		if a.Value.String() != copies[i] {
			t.Fatalf("%s became %q from %q", a.Name, a.Value, copies[i])
		}
	}
}

func TestReaderClose(t *testing.T) {
	r, err := Open([]string{logFile(t, "a.log", []byte(commonLine+"\n"+commonLine))}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := r.Next(); !errors.Is(err, slidegate.ErrClosed) {
		t.Errorf("Next after Close: %v", err)
	}
	if r.Files()[0].Events != 1 {
		t.Errorf("counted %+v", r.Files())
	}
}

// Reading a line costs one allocation: the text that its attributes share.
func TestAllocations(t *testing.T) {
	const lines = 1000
	data := newGenerated(8).combined(lines)
	n := testing.AllocsPerRun(10, func() {
		r, err := Open([]string{"-"}, bytes.NewReader(data), Options{})
		if err != nil {
			t.Fatal(err)
		}
		drain(t, r)
	})
	if n > lines+50 {
		t.Errorf("%.0f allocations for %d lines", n, lines)
	}
}
