package replay

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// readAll reads data as one log of standard input and returns its events, one
// a line, and the reader.
func readAll(t *testing.T, data string, opt Options) (string, *Reader, error) {
	t.Helper()
	r, err := Open([]string{"-"}, strings.NewReader(data), opt)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return strings.TrimSuffix(b.String(), "\n"), r, nil
		}
		if err != nil {
			return b.String(), r, err
		}
		fmt.Fprintf(&b, "%d: %s\n", rec.Line, show(rec))
	}
}

func TestCSV(t *testing.T) {
	for _, c := range []struct{ name, data, timeField, want string }{
		{name: "plain", data: "timestamp,value\n1,2\n3,4\n", want: "2: http value=#2 @1000000\n3: http value=#4 @3000000"},
		{name: "no end of the last line, CRLF", data: "value,ts\r\na,1\r\nb,2", want: "2: http value=a @1000000\n3: http value=b @2000000"},
		{name: "byte order mark", data: "\xef\xbb\xbfts,a\n1,b\n", want: "2: http a=b @1000000"},
		{name: "semicolon", data: "ts;a,b;c\n1;x,y;z\n", want: "2: http a,b=x,y c=z @1000000"},
		{name: "tab", data: "ts\ta\n1\tx y\n", want: "2: http a=x y @1000000"},
		{name: "separator in quotes", data: "\"a;b;c\",ts\nx,1\n", want: "2: http a;b;c=x @1000000"},
		{name: "quotes", data: "ts,a,b\n\"1\",\"x,\"\"y\"\"\",\"5\"\n", want: `2: http a=x,"y" b=#5 @1000000`},
		{name: "line break in quotes", data: "ts,a\n1,\"x\r\ny\"\n2,z\n", want: "2: http a=x\r\ny @1000000\n4: http a=z @2000000"},
		{name: "empty is absent, quoted empty is not", data: "ts,a,b,c\n1,,\"\",\n", want: "2: http b= @1000000"},
		{name: "numbers as JSON has them", data: "ts,a,b,c,d,e\n1,1.50,007,1e999, 5,192.0.2.1\n", want: "2: http a=#1.50 b=007 c=1e999 d= 5 e=192.0.2.1 @1000000"},
		{name: "event", data: "ts,event,a\n1,login,x\n2,,y\n", want: "2: login a=x @1000000\n3: http a=y @2000000"},
		{name: "spaces around names", data: "ts, a , b\n1,x,y\n", want: "2: http a=x b=y @1000000"},
		{name: "columns without a name", data: ",ts,a,\n0,1,x,9\n", want: "2: http a=x @1000000"},
		{name: "blank lines", data: "\n\nts,a\n\n1,x\n\r\n2,y\n\n", want: "5: http a=x @1000000\n7: http a=y @2000000"},
		{name: "a row of nothing but tabs", data: "ts\ta\tb\n\t\t\n", want: ""},
		{name: "quote inside a field", data: "ts,a\n1,5\" disk\n", want: "2: http a=5\" disk @1000000"},
		{name: "the first name of a time", data: "@timestamp,ts,time\n5,6,7\n", want: "2: http @timestamp=#5 ts=#6 @7000000"},
		{name: "named column", data: "ts,when\n5,6\n", timeField: "when", want: "2: http ts=#5 @6000000"},
		{name: "the column event is the time", data: "event,a\n5,6\n", timeField: "event", want: "2: http a=#6 @5000000"},
		{name: "date and time", data: "timestamp,value\n2026-03-01 10:00:00,1.5\n", want: "2: http value=#1.5" + atTime},
		{name: "only a header", data: "ts,a\n", want: ""},
	} {
		got, _, err := readAll(t, c.data, Options{TimeField: c.timeField})
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n got %q\nwant %q", c.name, err, got, c.want)
		}
	}
}

// Rows that do not parse are counted with their line, and the rows behind them
// are read.
func TestCSVSkips(t *testing.T) {
	for _, c := range []struct{ name, row, reason string }{
		{"too few", "1", "1 fields where the header has 3"},
		{"too many", "1,2,3,4", "4 fields where the header has 3"},
		{"empty time", ",x,y", `the column "ts": "" is not a time`},
		{"no time", "noon,x,y", `the column "ts": "noon" is not a time`},
		{"empty event", `1,"",y`, "name is empty"},
		{"text behind a quote", `1,"a"b,y`, "text behind the closing quote"},
		{"open quote", `1,"a,y`, "not closed right"},
		{"quote closed wrong in the next line", "1,\"a\n1,e,\"b\"\"", "not closed right"},
	} {
		got, r, err := readAll(t, "ts,event,b\n"+c.row+"\n7,e,z\n", Options{})
		if err != nil || !strings.HasSuffix(got, ": e b=z @7000000") || r.Skipped() < 1 {
			t.Errorf("%s: %q, %v, %d skipped", c.name, got, err, r.Skipped())
			continue
		}
		if first := r.Skips().First[0]; first.Line != 2 || !strings.Contains(first.Reason, c.reason) {
			t.Errorf("%s: %+v, want line 2 and %q", c.name, first, c.reason)
		}
	}
}

func TestCSVHeaderErrors(t *testing.T) {
	wide := strings.Repeat("a,", maxAttrs)
	for _, c := range []struct{ name, data, timeField, want string }{
		{name: "no time", data: "a,b\n", want: `stdin:1: the header "a,b" has no column time, timestamp, ts or @timestamp; name the column of the time with --time`},
		{name: "no named column", data: "ts,b\n", timeField: "when", want: `has no column "when", which --time names`},
		{name: "twice", data: "\nts,a,a\n", want: `stdin:2: the header has the column "a" twice`},
		{name: "twice by spaces", data: "ts,a, a\n", want: `column "a" twice`},
		{name: "open quote", data: "ts,\"a\n", want: "not closed right"},
		{name: "behind a quote", data: "ts,\"a\"b\n", want: "text behind the closing quote"},
		{name: "too many", data: strings.ReplaceAll(wide, "a,", " ,") + "ts\n", want: "more than 1000 fields"},
		{name: "too long", data: strings.Repeat("x", maxLine+1), want: "stdin:1: the header is longer than 1 MiB"},
	} {
		_, r, err := readAll(t, c.data, Options{Format: FormatCSV, TimeField: c.timeField})
		checkError(t, c.name, err, c.want)
		if _, again := r.Next(); !errors.Is(again, err) {
			t.Errorf("%s: then %v", c.name, again)
		}
	}
	broken := string(compressed(t, []byte(strings.Repeat("x", 100_000))))
	_, _, err := readAll(t, broken[:len(broken)/2], Options{Format: FormatCSV})
	checkError(t, "damaged before the header", err, "the gzip data is damaged or cut short after line 0")
	if got, r, err := readAll(t, "\n\n", Options{Format: FormatCSV}); got != "" || err != nil || r.Files()[0].Format != FormatCSV {
		t.Errorf("nothing but empty lines: %q, %v, %+v", got, err, r.Files())
	}
}

// A quote that is never closed costs its own line, not those behind it.
func TestCSVOpenQuoteSwallowsNothing(t *testing.T) {
	var b strings.Builder
	b.WriteString("ts,a\n1,\"open\n")
	const rows = 100_000 // more than the bound of a row
	for range rows {
		b.WriteString("2,0123456789\n")
	}
	got, r, err := readAll(t, b.String(), Options{})
	if n := strings.Count(got, "\n") + 1; err != nil || n != rows || r.Skipped() != 1 {
		t.Errorf("%d events, %d skipped, %v; want %d and 1", n, r.Skipped(), err, rows)
	}
	if f := r.Files()[0]; f.Lines != rows+2 || f.Events != rows || f.Skipped != 1 {
		t.Errorf("counted %+v", f)
	}
}

// FuzzCSV: nothing panics, every event is fit to be judged, and a table that
// encoding/csv reads without an error has the same fields here.
func FuzzCSV(f *testing.F) {
	f.Add(string(newGenerated(4).csv(4)))
	f.Add("ts,a\n1,\"x\r\n\"\"y\"\n\n2,\n")
	f.Add("\xef\xbb\xbfts;a;\"b\"\r\n1;2;\"")
	f.Fuzz(func(t *testing.T, data string) {
		r, err := Open([]string{"-"}, strings.NewReader(data), Options{Format: FormatCSV})
		if err != nil {
			t.Fatal(err)
		}
		for {
			rec, err := r.Next()
			if err != nil {
				break
			}
			checkSane(t, data, r.Files()[0].Times, rec)
		}
		file := r.Files()[0]
		if file.Events+file.Skipped > file.Lines || file.Skipped != r.Skipped() {
			t.Errorf("%q: counted %+v, skipped %d", data, file, r.Skipped())
		}
		compareCSV(t, data)
	})
}

// compareCSV cuts data into records here and with encoding/csv.
func compareCSV(t *testing.T, data string) {
	t.Helper()
	std := csv.NewReader(strings.NewReader(data))
	std.FieldsPerRecord = -1
	want, err := std.ReadAll()
	if err != nil || strings.Contains(data, "\r") {
		return // encoding/csv drops \r before \n inside quotes; it is kept here
	}
	l := newLineReader(bytes.NewReader([]byte(data)), maxLine)
	for i := 0; ; {
		record, err := l.nextRecord(',')
		if errors.Is(err, io.EOF) {
			if i != len(want) {
				t.Fatalf("%q: %d records, encoding/csv has %d", data, i, len(want))
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(record) == 0 {
			continue
		}
		fields, err := splitFields(nil, string(record), ',')
		if err != nil || i >= len(want) || len(fields) != len(want[i]) {
			t.Fatalf("%q: record %d is %+v, %v", data, i, fields, err)
		}
		for k, f := range fields {
			if f.text != want[i][k] {
				t.Fatalf("%q: record %d field %d is %q, encoding/csv says %q", data, i, k, f.text, want[i][k])
			}
		}
		i++
	}
}
