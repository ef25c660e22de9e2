package storetest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

func vectorClauses() (all []clause) {
	for a := limit.SlidingLog; a <= limit.Events; a++ {
		all = append(all, clause{"golden vectors of " + a.String(), func(s *tester) { goldenVectors(s, a) }})
	}
	return all
}

// vector is one line of a file in testdata/vectors; internal/model/genvectors
// says what the lines mean.
type vector struct {
	Case, Algorithm           string
	Max, Size, Burst, Buckets int64
	Set, Record               bool
	At, Cost                  int64
	OK, Never                 bool
	Used, Remaining           int64
	Retry, Reset              int64
}

func (v *vector) result() limit.Result {
	return limit.Result{OK: v.OK, Never: v.Never, Used: v.Used, Remaining: v.Remaining, Retry: v.Retry, Reset: v.Reset}
}

// goldenVectors runs every line of a file through Decide. Look must say the same
// before and after. A case ends early where the clock steps back so far that an
// entry which was out comes back: a store may have forgotten it.
func goldenVectors(s *tester, a limit.Algorithm) {
	var w *store.Window
	var p limit.Params
	var twin *naive
	name, checks := "", 0
	for n, v := range readVectors(s.t, a) {
		switch {
		case v.Case != "":
			name, w, twin = v.Case, s.window(), &naive{}
			p = params(a, v.Max, v.Size, v.Burst, v.Buckets)
			s.clock.Set(start)
		case v.Set:
			p = params(a, v.Max, p.Size, v.Burst, p.Buckets)
		case twin == nil || twin.revives(p, s.clock.Now(), v.At):
			twin = nil
		default:
			checks++
			s.clock.Set(v.At)
			it := item(w, "k", p, v.Cost)
			it.CountRefused = v.Record
			twin.follow(it, v.At)
			goldenVector(s, fmt.Sprintf("line %d, %q: cost %d at %d", n+1, name, v.Cost, v.At), &v, it)
		}
	}
	if checks < 150 {
		s.Errorf("only %d checks", checks)
	}
}

func goldenVector(s *tester, at string, v *vector, it store.Item) {
	lookedBefore(s, at, v, s.look(it))
	req := s.decide(it)
	if got := req.Items[0].Result; got != v.result() || req.Admitted != v.OK {
		s.Errorf("%s: admitted %v\n got %+v\nwant %+v", at, req.Admitted, got, v.result())
	}
	it.Cost = 0
	lookedAfter(s, at, v, s.look(it))
}

// follow charges a request of one item.
func (w *naive) follow(it store.Item, now int64) {
	if it.Cost == 0 {
		return
	}
	w.advance(it.Limit, now)
	if it.CountRefused || w.judge(it.Limit, now, it.Cost).OK {
		w.charge(it.Limit, now, it.Cost, it.CountRefused)
	}
}

// lookedBefore holds a look of the same cost against the verdict that follows.
func lookedBefore(s *tester, at string, v *vector, req *store.Request) {
	got, want := req.Items[0].Result, v.result()
	charged := v.Cost > 0 && (v.OK || v.Record)
	if charged { // then the numbers of the verdict are those after the charge
		got.Used, got.Remaining, got.Reset = want.Used, want.Remaining, want.Reset
		if v.Record {
			got.Retry = want.Retry
		}
	}
	if got != want || req.Admitted != v.OK {
		s.Errorf("%s: look before: admitted %v\n got %+v\nwant %+v", at, req.Admitted, got, want)
	}
}

// lookedAfter holds what a look finds against what the verdict left. A refused
// check moves a window of events on, so there it may find less.
func lookedAfter(s *tester, at string, v *vector, req *store.Request) {
	got := req.Items[0].Result
	if req.Items[0].Limit.Algorithm == limit.Events && !v.OK {
		return
	}
	if got.Used != v.Used || got.Remaining != v.Remaining || got.Reset != v.Reset {
		s.Errorf("%s: look after:\n got %+v\nwant %+v", at, got, v.result())
	}
}

func readVectors(t *testing.T, a limit.Algorithm) (all []vector) {
	t.Helper()
	f, err := os.Open(filepath.Join(vectorFolder(t), a.String()+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s: line %d: %v", f.Name(), len(all)+1, err)
		}
		all = append(all, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// vectorFolder finds testdata/vectors of this module: beside the source of this
// file or, when the build hides that (-trimpath), above the package under test.
func vectorFolder(t *testing.T) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	at := filepath.Dir(file)
	if !filepath.IsAbs(file) {
		wd, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		at = wd
	}
	for {
		folder := filepath.Join(at, "testdata", "vectors")
		if _, err := os.Stat(filepath.Join(folder, limit.SlidingLog.String()+".jsonl")); err == nil {
			return folder
		}
		up := filepath.Dir(at)
		if up == at {
			t.Fatalf("testdata/vectors not found above %s; build the test without -trimpath", at)
		}
		at = up
	}
}
