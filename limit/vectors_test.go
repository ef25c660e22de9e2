package limit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// vector is one line of a file in testdata/vectors; see docs/format/vectors.md.
type vector struct {
	Case, Algorithm           string
	Max, Size, Burst, Buckets int64
	Wait                      int64 // of a case, how long one may; of an answer, how long one does
	MaxQueue                  int64 `json:"max_queue"`
	Periods                   []int64
	Set, Record               bool
	At, Cost                  int64
	Members                   []string
	As                        int64
	Refund, Release, Renew    int64
	OK, Never                 bool
	Used, Remaining           int64
	Retry, Reset              int64
}

func (v *vector) result() Result {
	return Result{OK: v.OK, Never: v.Never, Used: v.Used, Remaining: v.Remaining, Retry: v.Retry, Reset: v.Reset, Wait: v.Wait}
}

// instants are periods that each begin at one of them and end at the next.
type instants []int64

func (l instants) Period(now int64) (start, end int64) {
	i, found := slices.BinarySearch(l, now)
	if !found {
		i--
	}
	return l[i], l[i+1]
}

// params returns what a case enforces, or, with another maximum and burst, what
// it does after a line with "set".
func (v *vector) params(maximum, burst int64) (p Params, err error) {
	a, ok := ParseAlgorithm(v.Algorithm)
	switch {
	case !ok:
		return p, fmt.Errorf("algorithm %q", v.Algorithm)
	case v.Periods != nil:
		return NewCalendar(a, maximum, instants(v.Periods))
	}
	p, err = New(a, maximum, v.Size, burst, v.Buckets)
	if err == nil && v.Wait > 0 {
		p, err = p.Queued(v.Wait, v.MaxQueue)
	}
	return p, err
}

func TestVectors(t *testing.T) {
	for _, name := range []string{
		"sliding_log", "sliding_buckets", "gcra", "fixed", "events",
		"sliding_counter", "calendar", "inflight", "queue", "distinct",
	} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open(filepath.Join("..", "testdata", "vectors", name+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			runVectors(t, bufio.NewScanner(f))
		})
	}
}

// player is one case: a state, and what was charged to it by names.
type player struct {
	p       Params
	d       driver
	members *membersDriver // instead of d
	charges map[int64]Charged
	batches map[int64]uint64
}

func runVectors(t *testing.T, lines *bufio.Scanner) {
	var header vector
	var x player
	lines.Buffer(nil, 1<<20)
	checks := 0
	for n := 1; lines.Scan(); n++ {
		var v vector
		err := json.Unmarshal(lines.Bytes(), &v)
		switch {
		case err != nil:
		case v.Case != "":
			header = v
			x = player{members: &membersDriver{}, charges: map[int64]Charged{}, batches: map[int64]uint64{}}
			if x.p, err = v.params(v.Max, v.Burst); err == nil {
				x.d = newDriver(x.p.Algorithm, v.Size > math.MaxUint32)
			}
		case v.Set:
			x.p, err = header.params(v.Max, v.Burst)
		default:
			checks++
			if got := x.play(&v); got != v.result() {
				t.Errorf("line %d, %q, %s:\n got %+v\nwant %+v", n, header.Case, lines.Bytes(), got, v.result())
			}
		}
		if err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
	}
	if err := lines.Err(); err != nil || checks < 100 {
		t.Errorf("only %d checks in the file, %v", checks, err)
	}
}

func (x *player) play(v *vector) Result {
	if id := max(v.Refund, v.Release, v.Renew); id > 0 {
		return x.call(v, id)
	}
	if x.p.Algorithm == Distinct {
		run := x.members.check
		if v.Record {
			run = x.members.record
		}
		r := run(x.p, v.At, v.Members)
		x.charges[v.As], x.batches[v.As] = x.members.charged, x.members.batch
		return r
	}
	run := x.d.check
	if v.Record {
		run = x.d.record
	}
	r := run(x.p, v.At, v.Cost)
	if v.As > 0 {
		x.charges[v.As] = x.charged(v)
	}
	return r
}

// charged returns what the state took for an admitted check.
func (x *player) charged(v *vector) Charged {
	switch d := x.d.(type) {
	case *plainDriver:
		if m, ok := d.s.(*Meter); ok {
			return Charged{Stamp: m.stamp(), Amount: v.Cost * x.p.Step}
		}
		period, _ := floorDiv(v.At, x.p.Size)
		return Charged{Stamp: period, Amount: v.Cost}
	default:
		return Charged{Stamp: v.At, Amount: v.Cost}
	}
}

// call gives a charge back, releases it or renews it.
func (x *player) call(v *vector, id int64) (r Result) {
	c := x.charges[id]
	switch d := x.d.(type) {
	case *holdersDriver:
		d.Advance(x.p, v.At)
		if v.Renew > 0 {
			x.charges[id], r.OK = d.renew(x.p, v.At, c)
		} else {
			r.OK = d.Refund(v.At, c)
		}
	case *plainDriver:
		if m, ok := d.s.(*Meter); ok {
			r.OK = m.Refund(v.At, c)
			break
		}
		d.s.Advance(x.p, v.At)
		r.OK = d.s.Refund(v.At, c)
	}
	var now Result
	if x.p.Algorithm == Distinct {
		x.members.Advance(x.p, v.At)
		r.OK = x.members.Refund(x.batches[id], c)
		now = x.members.Judge(x.p, v.At, nil)
	} else {
		now = x.d.check(x.p, v.At, 0)
	}
	r.Used, r.Remaining, r.Reset = now.Used, now.Remaining, now.Reset
	if v.Refund > 0 && r.OK {
		delete(x.charges, id) // once
	}
	return r
}
