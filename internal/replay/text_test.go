package replay

import (
	"fmt"
	"strings"
	"testing"
)

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 5, ""},
		{"hello", 5, "hello"},
		{"hello!", 5, "hello…"},
		{"日本語", 9, "日本語"},
		{"日本語", 8, "日本…"},
		{"a\x00b\x1b\r\n\t", 20, `a\x00b\x1b\r\n\t`},
		{"\xff\xc3", 20, `\xff\xc3`},
		{`"\`, 20, `"\`},
		{"\u202e\u2028\ufeff", 20, `\u202e\u2028\ufeff`},
	} {
		if got := shorten(c.text, c.limit); got != c.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
	}
	if got := printable("a\n", 9); got != `"a\n"` {
		t.Errorf("printable = %s", got)
	}
}

func TestScanNumber(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "-": 0, "0": 1, "-0": 2, "10": 2, "01": 0, "1.5x": 3, "1.": 0, ".5": 0, "1e": 0, "1e+": 0, "1E-5": 4, "1.5e10,": 6, "+1": 0, "x": 0,
	} {
		if got := scanNumber(text, 0); got != want {
			t.Errorf("scanNumber(%q) = %d, want %d", text, got, want)
		}
	}
}

// The tables of names stay bounded, whatever the lines hold.
func TestNamesAreBounded(t *testing.T) {
	var in interner
	var c codec
	var b []byte
	long := strings.Repeat("x", internLength+1)
	for i := range 2 * internTexts {
		name := fmt.Sprint("name", i)
		if got := in.get([]byte(name)); got != name {
			t.Fatalf("get(%q) = %q", name, got)
		}
		b = c.appendName(b, name)
		b = c.appendName(b, long)
	}
	in.get([]byte(long))
	if len(in.known) != internTexts || len(c.names) != internTexts {
		t.Errorf("%d and %d names are kept, want %d", len(in.known), len(c.names), internTexts)
	}
	d := decoder{codec: &c, b: b, text: string(b)}
	for i := range 2 * internTexts {
		if got, want := d.name(), fmt.Sprint("name", i); got != want || d.name() != long || d.bad {
			t.Fatalf("name %d came back as %q", i, got)
		}
	}
}

// A record cut anywhere, or with a number of a name that is not, is an error
// and no panic.
func TestCodecDamaged(t *testing.T) {
	records := randomRecords(t, 50, 9)
	var c codec
	for i := range records {
		b := c.append(nil, &records[i])
		for n := range b {
			var back Record
			if err := c.read(b[:n], &back); err == nil {
				t.Fatalf("%d of %d bytes were read as a record", n, len(b))
			}
		}
		for n := lengthSize; n < len(b); n++ {
			changed := append([]byte(nil), b...)
			changed[n] ^= 0xff
			var back Record
			_ = c.read(changed, &back) // it may still be a record, another one
		}
	}
}
