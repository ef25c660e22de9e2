package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
)

// list is a source of records that were made by a test.
type list struct {
	records []Record
	err     error // behind the last; nil means io.EOF
	at      int
	each    func(at int)
}

func (l *list) Next() (*Record, error) {
	if l.each != nil {
		l.each(l.at)
	}
	if l.at == len(l.records) {
		if l.err != nil {
			return nil, l.err
		}
		return nil, io.EOF
	}
	l.at++
	rec := l.records[l.at-1]
	rec.Event.Attrs = slices.Clone(rec.Event.Attrs) // the caller may keep nothing
	return &rec, nil
}

// number returns a number as it is spelled.
func number(t testing.TB, text string) slidegate.Value {
	t.Helper()
	v, err := slidegate.NumberValue(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// randomRecords returns n records with many equal times. The attribute seq is
// the place in the input.
func randomRecords(t testing.TB, n int, seed uint64) []Record {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	records := make([]Record, n)
	for i := range records {
		e := slidegate.Event{
			Name: []string{"http", "login", strings.Repeat("long", 30)}[rnd.IntN(3)],
			Time: time.UnixMicro(rnd.Int64N(int64(n)/4 + 1)).UTC(),
			Attrs: []slidegate.Attr{
				slidegate.Int("seq", int64(i)),
				slidegate.String("text", strings.Repeat("x\x00\xff", rnd.IntN(20))),
				{Name: "literal", Value: number(t, "1.50")},
				slidegate.String(fmt.Sprint("name", rnd.IntN(n)), ""),
			}[:rnd.IntN(4)+1],
		}
		if rnd.IntN(3) == 0 {
			e.Cost = slidegate.CostOf(rnd.Int64N(3))
		}
		records[i] = Record{Event: e, File: []string{"a.log", "b.log"}[i*2/n], Line: i + 1}
	}
	return records
}

// limits are bounds under which the records of the tests become no run, a few,
// many, and so many that they are merged in several steps.
func limits(dir string) map[string]SortOptions {
	return map[string]SortOptions{
		"memory":            {Dir: dir},
		"a few runs":        {MaxEvents: 3000, Dir: dir},
		"by bytes":          {MaxBytes: 10_000, Dir: dir},
		"many runs":         {MaxEvents: 50, Dir: dir},
		"merged in steps":   {MaxEvents: 50, Dir: dir, fanIn: 3},
		"one event a run":   {MaxEvents: 1, Dir: dir, fanIn: 40},
		"one byte a run":    {MaxBytes: 1, Dir: dir},
		"exactly the limit": {MaxEvents: 10_000, Dir: dir},
	}
}

func TestSort(t *testing.T) {
	records := randomRecords(t, 10_000, 1)
	want := slices.Clone(records)
	slices.SortStableFunc(want, func(a, b Record) int { return a.Event.Time.Compare(b.Event.Time) })
	dir := t.TempDir()
	for name, opt := range limits(dir) {
		t.Run(name, func(t *testing.T) {
			s, err := Sort(t.Context(), &list{records: records}, opt)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for i := range want {
				rec, err := s.Next()
				if err != nil {
					t.Fatalf("record %d: %v", i, err)
				}
				if got, w := where(rec), where(&want[i]); got != w {
					t.Fatalf("record %d:\n got %q\nwant %q", i, got, w)
				}
			}
			for range 2 {
				if _, err := s.Next(); !errors.Is(err, io.EOF) {
					t.Errorf("behind the last: %v", err)
				}
			}
			checkNoFiles(t, dir)
		})
	}
}

// where shows all of a record.
func where(rec *Record) string {
	return fmt.Sprintf("%s:%d %s set=%v", rec.File, rec.Line, show(rec), rec.Event.Cost != slidegate.Cost{})
}

// checkNoFiles fails if a temporary file is left.
func checkNoFiles(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSortOfNothing(t *testing.T) {
	s, err := Sort(t.Context(), &list{}, SortOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("Next: %v", err)
	}
}

func TestSortNegative(t *testing.T) {
	for _, opt := range []SortOptions{{MaxEvents: -1}, {MaxBytes: -1}} {
		if _, err := Sort(t.Context(), &list{}, opt); err == nil || !strings.Contains(err.Error(), "neither may be negative") {
			t.Errorf("%+v: %v", opt, err)
		}
	}
}

// An error of the source is the error of Sort, whether or not something was
// spilled before; no file is left.
func TestSortSourceFails(t *testing.T) {
	dir := t.TempDir()
	cause := errors.New("two kinds of time")
	for name, opt := range limits(dir) {
		if _, err := Sort(t.Context(), &list{records: randomRecords(t, 1000, 2), err: cause}, opt); !errors.Is(err, cause) {
			t.Errorf("%s: %v", name, err)
		}
		checkNoFiles(t, dir)
	}
}

// Cancelling ends sorting and reading back, with the cause; no file is left.
func TestSortCancel(t *testing.T) {
	dir := t.TempDir()
	cause := errors.New("interrupted")
	records := randomRecords(t, 10_000, 3)
	for name, opt := range limits(dir) {
		ctx, cancel := context.WithCancelCause(t.Context())
		src := &list{records: records, each: func(at int) {
			if at == 5000 {
				cancel(cause)
			}
		}}
		if _, err := Sort(ctx, src, opt); !errors.Is(err, cause) {
			t.Errorf("%s: Sort: %v", name, err)
		}
		checkNoFiles(t, dir)

		ctx, cancel = context.WithCancelCause(t.Context())
		s, err := Sort(ctx, &list{records: records}, opt)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
		}
		cancel(cause)
		n := 0
		for ; err == nil; n++ {
			_, err = s.Next()
		}
		if !errors.Is(err, cause) || n > checkEvery+1 {
			t.Errorf("%s: %v after %d more", name, err, n)
		}
		checkNoFiles(t, dir)
	}
}

// Cancelling while runs are merged into longer ones ends that too.
func TestSortCancelWhileMerging(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	records := randomRecords(t, 1000, 4)
	src := &list{records: records, each: func(at int) {
		if at == len(records) {
			cancel()
		}
	}}
	if _, err := Sort(ctx, src, SortOptions{MaxEvents: 10, Dir: dir, fanIn: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("Sort: %v", err)
	}
	checkNoFiles(t, dir)
}

func TestSortClose(t *testing.T) {
	dir := t.TempDir()
	for name, opt := range limits(dir) {
		s, err := Sort(t.Context(), &list{records: randomRecords(t, 1000, 5)}, opt)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Errorf("%s: Close: %v", name, err)
			}
		}
		if _, err := s.Next(); !errors.Is(err, slidegate.ErrClosed) {
			t.Errorf("%s: Next after Close: %v", name, err)
		}
		checkNoFiles(t, dir)
	}
}

func TestSortNoTemporaryFile(t *testing.T) {
	dir := t.TempDir() + "/missing"
	_, err := Sort(t.Context(), &list{records: randomRecords(t, 100, 6)}, SortOptions{MaxEvents: 10, Dir: dir})
	checkError(t, "no directory", err, "set TMPDIR to a directory that can be written")
}

// The disk gives out, or gives back something else: an error, never a wrong
// order.
func TestSortDiskFails(t *testing.T) {
	for name, spoil := range map[string]func(*os.File) error{
		"cut short": func(f *os.File) error { return f.Truncate(5000) },
		"zeros":     func(f *os.File) error { _, err := f.WriteAt(make([]byte, 5000), 5000); return err },
		"ones": func(f *os.File) error {
			_, err := f.WriteAt([]byte(strings.Repeat("\xff", 5000)), 5000)
			return err
		},
		"closed": func(f *os.File) error { return f.Close() },
	} {
		s, err := Sort(t.Context(), &list{records: randomRecords(t, 2000, 7)}, SortOptions{MaxEvents: 100, MaxBytes: 1 << 20, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		// What was read ahead is sound; all else is spoiled.
		for i := range s.merge.all {
			r := &s.merge.all[i]
			r.rest.from -= int64(r.end - r.at - r.length)
			r.end = r.at + r.length
		}
		if err := spoil(s.runs.file); err != nil {
			t.Fatal(err)
		}
		n := 0
		for err = nil; err == nil; n++ {
			_, err = s.Next()
		}
		if errors.Is(err, io.EOF) || n > 2000 {
			t.Errorf("%s: %d records and %v", name, n, err)
		}
	}
	runs, err := newRunFile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := runs.file.Close(); err != nil {
		t.Fatal(err)
	}
	err = runs.write(make([]byte, 1<<20))
	checkError(t, "writing", err, "set TMPDIR to a directory with room")
}

// Where a file in use cannot lose its name it is removed when it is closed.
func TestRunFileRemovedLate(t *testing.T) {
	dir := t.TempDir()
	f, err := os.CreateTemp(dir, "run-*")
	if err != nil {
		t.Fatal(err)
	}
	if err := (&runFile{file: f}).close(); err != nil {
		t.Error(err)
	}
	checkNoFiles(t, dir)
}

// One event larger than all bounds passes through every stage.
func TestSortLargeEvents(t *testing.T) {
	dir := t.TempDir()
	var records []Record
	for i := range 40 {
		e := slidegate.Event{Name: "big", Time: time.UnixMicro(int64(i * 7 % 40)).UTC(), Attrs: []slidegate.Attr{slidegate.String("text", strings.Repeat("x", i*5000))}}
		records = append(records, Record{Event: e, File: "f", Line: i})
	}
	for _, fanIn := range []int{3, 100} {
		s, err := Sort(t.Context(), &list{records: records}, SortOptions{MaxBytes: 20_000, Dir: dir, fanIn: fanIn})
		if err != nil {
			t.Fatal(err)
		}
		for i := range int64(40) {
			rec, err := s.Next()
			if err != nil || rec.Event.Time.UnixMicro() != i || len(rec.Event.Attrs[0].Value.String()) != rec.Line*5000 {
				t.Fatalf("record %d: %v", i, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What Sort holds does not grow with the number of events.
func TestSortMemory(t *testing.T) {
	opt := SortOptions{MaxBytes: 256 << 10, Dir: t.TempDir()}
	held := func(n int) int {
		s, err := Sort(t.Context(), &list{records: randomRecords(t, n, 8)}, opt)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sum := 0
		for i := range s.merge.all {
			sum += cap(s.merge.all[i].buf)
		}
		return sum
	}
	few, many := held(5000), held(50_000)
	if few > 2*opt.MaxBytes || many > few*12/10 {
		t.Errorf("5000 events hold %d bytes, 50 000 hold %d", few, many)
	}
}

// The access log with its shuffled seconds comes out in order, and stable.
func TestSortRealLog(t *testing.T) {
	path := realLog(t, "elastic_apache_access.log")
	for name, opt := range map[string]SortOptions{"memory": {}, "runs": {MaxEvents: 300, Dir: t.TempDir()}} {
		r, err := Open([]string{path}, nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Sort(t.Context(), r, opt)
		if err != nil {
			t.Fatal(err)
		}
		var lastTime time.Time
		lastLine := 0
		for n := 0; ; n++ {
			rec, err := s.Next()
			if errors.Is(err, io.EOF) {
				if n != 10_000 {
					t.Errorf("%s: %d events", name, n)
				}
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if c := rec.Event.Time.Compare(lastTime); c < 0 || (c == 0 && rec.Line < lastLine) {
				t.Fatalf("%s: line %d comes behind line %d", name, rec.Line, lastLine)
			}
			lastTime, lastLine = rec.Event.Time, rec.Line
		}
		if err := errors.Join(s.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	}
}
