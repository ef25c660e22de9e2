package limit

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// vector is one line of a file in testdata/vectors; see the command that
// writes them, internal/model/genvectors.
type vector struct {
	Case, Algorithm           string
	Max, Size, Burst, Buckets int64
	Set, Record               bool
	At, Cost                  int64
	OK, Never                 bool
	Used, Remaining           int64
	Retry, Reset              int64
}

func TestVectors(t *testing.T) {
	for a := SlidingLog; a <= Events; a++ {
		t.Run(a.String(), func(t *testing.T) {
			file := filepath.Join("..", "testdata", "vectors", a.String()+".jsonl")
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			runVectors(t, a, bufio.NewScanner(f))
		})
	}
}

func runVectors(t *testing.T, a Algorithm, lines *bufio.Scanner) {
	var p Params
	var d driver
	name, checks := "", 0
	for n := 1; lines.Scan(); n++ {
		var v vector
		err := json.Unmarshal(lines.Bytes(), &v)
		switch {
		case err != nil:
		case v.Case != "":
			name = v.Case
			p, err = New(a, v.Max, v.Size, v.Burst, v.Buckets)
			d = newDriver(a, v.Size > math.MaxUint32)
		case v.Set:
			p, err = New(a, v.Max, p.Size, v.Burst, p.Buckets)
		default:
			checks++
			run := d.check
			if v.Record {
				run = d.record
			}
			want := Result{OK: v.OK, Never: v.Never, Used: v.Used, Remaining: v.Remaining, Retry: v.Retry, Reset: v.Reset}
			if got := run(p, v.At, v.Cost); got != want {
				t.Errorf("line %d, %q: cost %d at %d:\n got %+v\nwant %+v", n, name, v.Cost, v.At, got, want)
			}
		}
		if err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
	}
	if checks < 100 {
		t.Errorf("only %d checks in the file", checks)
	}
}
