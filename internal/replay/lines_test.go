package replay

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// cut returns the lines that a bound of max bytes gives, with their numbers.
func cut(t *testing.T, src io.Reader, maxLen int) []string {
	t.Helper()
	var got []string
	for l := newLineReader(src, maxLen); ; {
		line, err := l.next()
		switch {
		case err == nil:
			got = append(got, fmt.Sprintf("%d:%s", l.line, line))
		case errors.Is(err, errLongLine):
			got = append(got, fmt.Sprintf("%d:long %s", l.line, line))
		case errors.Is(err, io.EOF):
			return got
		default:
			return append(got, "error "+err.Error())
		}
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"", ""},
		{"\n", "1:"},
		{"a", "1:a"},
		{"a\nb\n", "1:a|2:b"},
		{"a\r\nb\r", "1:a|2:b"},
		{"a\rb\n", "1:a\rb"},
		{"\n\nx", "1:|2:|3:x"},
		{"12345678\n", "1:12345678"},
		{"12345678", "1:12345678"},
		{"123456789\nx", "1:long 123456789|2:x"},
		{"123456789", "1:long 123456789"},
		{"a\n" + strings.Repeat("x", 100) + "\nb\n", "1:a|2:long X|3:b"},
	} {
		for name, src := range map[string]io.Reader{
			"whole":  strings.NewReader(c.data),
			"bytes":  iotest.OneByteReader(strings.NewReader(c.data)),
			"halves": iotest.HalfReader(strings.NewReader(c.data)),
			"eof":    iotest.DataErrReader(strings.NewReader(c.data)),
		} {
			got := strings.Join(cut(t, src, 8), "|")
			if i := strings.Index(got, "xxxxxxxx"); i >= 0 { // how much is kept of it depends on the reader
				got = got[:i] + "X" + strings.TrimLeft(got[i:], "x")
			}
			if got != c.want {
				t.Errorf("%s %q:\n got %q\nwant %q", name, c.data, got, c.want)
			}
		}
	}
}

// A line that ends because reading failed is not given out as if it were whole.
func TestLinesReadError(t *testing.T) {
	src := io.MultiReader(strings.NewReader("a\nhalf of b"), iotest.ErrReader(errors.New("cable cut")))
	if got, want := strings.Join(cut(t, src, 100), "|"), "1:a|error cable cut"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := strings.Join(cut(t, stuck{}, 100), "|"), "error "+io.ErrNoProgress.Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// stuck is a reader that never gives anything and never ends.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// A long line is not held in memory: the buffer stays below its bound.
func TestLinesMemory(t *testing.T) {
	long := io.LimitReader(letters{}, 64<<20)
	l := newLineReader(io.MultiReader(strings.NewReader("first\n"), long, strings.NewReader("\nlast\n")), maxLine)
	for _, want := range []error{nil, errLongLine, nil, io.EOF} {
		if _, err := l.next(); !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
	}
	if len(l.buf) > 4*maxLine {
		t.Errorf("the buffer has %d bytes", len(l.buf))
	}
	if l.lines != 3 {
		t.Errorf("%d lines, want 3", l.lines)
	}
}

// letters is a reader without end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// Rows of a table may span lines; a quote that is not closed right leaves the
// lines behind it alone.
func TestRecords(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"a,b\nc\n", "1:a,b|2:c"},
		{"\"a\nb\",c\nd\n", "1:\"a\nb\",c|3:d"},
		{"\"a\r\n\"\"\r\n\"\r\nd", "1:\"a\r\n\"\"\r\n\"|4:d"},
		{"x\"y\nz\n", "1:x\"y|2:z"},
		{"\"a\nb", "1:\"a|2:b"},
		{"\"a\nb\"c\nd\n", "1:\"a|2:b\"c|3:d"},
		{"\"a\"b\nc\n", "1:\"a\"b|2:c"},
		{"\"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\"\n", "1:\"a|2:b|3:c|4:d|5:e|6:f|7:g|8:h|9:i|10:j\""},
		{"\"\",\"\"\n", "1:\"\",\"\""},
		{"a,\"\"\n\"", "1:a,\"\"|2:\""},
	} {
		for name, src := range map[string]io.Reader{
			"whole": strings.NewReader(c.data),
			"bytes": iotest.OneByteReader(strings.NewReader(c.data)),
		} {
			var got []string
			for l := newLineReader(src, 16); ; {
				record, err := l.nextRecord(',')
				if err != nil {
					break
				}
				got = append(got, fmt.Sprintf("%d:%s", l.line, record))
			}
			if got := strings.Join(got, "|"); got != c.want {
				t.Errorf("%s %q:\n got %q\nwant %q", name, c.data, got, c.want)
			}
		}
	}
}
