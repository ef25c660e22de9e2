package replay

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
)

// runsOf writes runs of the given times into a temporary file. The line of a
// record is the number of its run.
func runsOf(t *testing.T, c *codec, runs ...[]int64) *runFile {
	t.Helper()
	f, err := newRunFile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.close() })
	for i, times := range runs {
		for _, us := range times {
			rec := Record{Event: slidegate.Event{Name: "e", Time: time.UnixMicro(us)}, Line: i}
			if err := f.write(c.append(nil, &rec)); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.endRun(); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// Records of several runs come in the order of time; of equal times the one of
// the earlier run comes first, wherever it is in its run.
func TestMerge(t *testing.T) {
	for _, c := range []struct {
		name string
		runs [][]int64
		want string
	}{
		{"no run", nil, ""},
		{"one run", [][]int64{{1, 2, 2, 3}}, "1/0 2/0 2/0 3/0"},
		{"one behind the other", [][]int64{{1, 2}, {3, 4}}, "1/0 2/0 3/1 4/1"},
		{"the later first", [][]int64{{3, 4}, {1, 2}}, "1/1 2/1 3/0 4/0"},
		{"all equal", [][]int64{{7, 7}, {7}, {7, 7}}, "7/0 7/0 7/1 7/2 7/2"},
		{"equal at the ends", [][]int64{{1, 5}, {5, 9}, {1, 9}}, "1/0 1/2 5/0 5/1 9/1 9/2"},
		{"of other lengths", [][]int64{{4}, {1, 2, 3, 4, 5, 6}, {6}}, "1/1 2/1 3/1 4/0 4/1 5/1 6/1 6/2"},
		{"an empty run is none", [][]int64{{}, {2}, {}, {1}}, "1/3 2/1"},
		{"the ends of time", [][]int64{{0, maxMicros}, {0, maxMicros}}, fmt.Sprintf("0/0 0/1 %d/0 %d/1", int64(maxMicros), int64(maxMicros))},
	} {
		for _, memory := range []int{0, 10, 1 << 20} {
			var codec codec
			f := runsOf(t, &codec, c.runs...)
			m, err := newMerger(f, f.runs, make([]byte, memory))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for {
				b, err := m.next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				var rec Record
				if err := codec.read(b, &rec); err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%d/%d", rec.Event.Time.UnixMicro(), rec.Line))
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("%s, %d bytes:\n got %s\nwant %s", c.name, memory, got, c.want)
			}
			if _, err := m.next(); !errors.Is(err, io.EOF) {
				t.Errorf("%s: behind the last: %v", c.name, err)
			}
		}
	}
}

// The bytes of a record are those that the comment on them says.
func TestCodecBytes(t *testing.T) {
	var c codec
	rec := Record{
		Event: slidegate.Event{
			Name:  "a",
			Time:  time.UnixMicro(0x0102),
			Cost:  slidegate.CostOf(3),
			Attrs: []slidegate.Attr{slidegate.String("b", "xy"), {Name: "a", Value: number(t, "1.0")}},

			Outcome: slidegate.Failure,
			Passed:  []string{"f", "c"},
		},
		File: "f", Line: 300,
	}
	got := fmt.Sprintf("% x", c.append(nil, &rec))
	want := "1b 00 00 00" + // length
		" 02 01 00 00 00 00 00 00" + // time
		" 04 02 01 ac 02 02" + // cost, outcome, file, line, name
		" 02 03 04 78 79 02 07 31 2e 30" + // attributes
		" 02 01 04" // passed
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if names := strings.Join(c.names, " "); names != "f a b c" {
		t.Errorf("the names are %s", names)
	}
}

// Numbers that were not spelled by a log come back as numbers of the same text.
func TestCodecNumbers(t *testing.T) {
	var c codec
	attrs := []slidegate.Attr{slidegate.Int("i", -5), slidegate.Float("f", 2.5), slidegate.Float("g", 1e21), slidegate.Int("z", 0)}
	rec := Record{Event: slidegate.Event{Name: "e", Attrs: attrs}}
	var back Record
	if err := c.read(c.append(nil, &rec), &back); err != nil {
		t.Fatal(err)
	}
	for i, a := range back.Event.Attrs {
		if !a.Value.IsNumber() || a.Value.String() != attrs[i].Value.String() {
			t.Errorf("%s came back as %q", a.Name, a.Value)
		}
	}
}

func TestSeparator(t *testing.T) {
	for header, want := range map[string]byte{
		"": ',', "a": ',', "a,b": ',', "a;b": ';', "a\tb": '\t', "a,b;c": ',', "a;b;c,d": ';', "a\tb\tc,d": '\t',
		`"a;b;c",d`: ',', `"a,b,c";d`: ';', "a;b\tc": ';',
	} {
		if got := separator(header); got != want {
			t.Errorf("separator(%q) = %q, want %q", header, got, want)
		}
	}
}
