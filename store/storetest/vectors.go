package storetest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

func vectorClauses() (all []clause) {
	for _, name := range []string{
		"sliding_log", "sliding_buckets", "gcra", "fixed", "events",
		"sliding_counter", "calendar", "inflight", "queue", "distinct",
	} {
		all = append(all, clause{"golden vectors of " + name, func(s *tester) { goldenVectors(s, name) }})
	}
	return all
}

// vector is one line of a file in testdata/vectors; docs/format/vectors.md says
// what the lines mean.
type vector struct {
	Case, Algorithm           string
	Max, Size, Burst, Buckets int64
	Wait                      int64
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

func (v *vector) result() limit.Result {
	return limit.Result{OK: v.OK, Never: v.Never, Used: v.Used, Remaining: v.Remaining, Retry: v.Retry, Reset: v.Reset, Wait: v.Wait}
}

// params returns what a case enforces with a maximum and a burst.
func (v *vector) params(t testing.TB, maximum, burst int64) limit.Params {
	t.Helper()
	a, _ := limit.ParseAlgorithm(v.Algorithm)
	p, err := limit.New(a, maximum, v.Size, burst, v.Buckets)
	switch {
	case v.Periods != nil:
		p, err = limit.NewCalendar(a, maximum, instants(v.Periods))
	case v.Wait > 0:
		p, err = p.Queued(v.Wait, v.MaxQueue)
	}
	if err != nil {
		t.Fatalf("%q: %v", v.Case, err)
	}
	return p
}

// instants are periods that begin at one of them and end at the next.
type instants []int64

func (l instants) Period(now int64) (from, end int64) {
	i, found := slices.BinarySearch(l, now)
	if !found {
		i--
	}
	return l[i], l[i+1]
}

// golden is one case of a file, in the store and in the naive one.
type golden struct {
	s        *tester
	header   vector
	w        *store.Window
	p        limit.Params
	twin     *naive
	receipts map[int64][]slidegate.Receipt
	placed   map[int64]placed
}

// goldenVectors runs every line of a file through the store. Look must say the
// same before and after a check. A case ends early where the clock steps back so
// far that an entry which was out comes back: a store may have forgotten it.
func goldenVectors(s *tester, file string) {
	var g *golden
	checks := 0
	for n, v := range readVectors(s.t, file) {
		switch {
		case v.Case != "":
			g = &golden{s, v, s.window(), v.params(s.t, v.Max, v.Burst), &naive{}, map[int64][]slidegate.Receipt{}, map[int64]placed{}}
			s.clock.Set(start)
		case v.Set:
			g.p = g.header.params(s.t, v.Max, v.Burst)
		case g.twin == nil || g.twin.revives(g.p, s.clock.Now(), v.At):
			g.twin = nil
		default:
			checks++
			s.clock.Set(v.At)
			at := fmt.Sprintf("line %d, %q: cost %d at %d", n+1, g.header.Case, v.Cost, v.At)
			if id := max(v.Refund, v.Release, v.Renew); id > 0 {
				g.call(at, &v, id)
			} else {
				g.check(at, &v)
			}
		}
	}
	if checks < 150 {
		s.Errorf("only %d checks", checks)
	}
}

func (g *golden) check(at string, v *vector) {
	s := g.s
	it := item(g.w, "k", g.p, v.Cost)
	it.CountRefused = v.Record
	if v.Members != nil {
		it = given1(it, v.Members...)
	}
	g.placed[v.As] = g.twin.follow(it, v.At)
	lookedBefore(s, at, v, s.look(it))
	req := s.decide(it)
	g.receipts[v.As] = receipts(req)
	if got := req.Items[0].Result; got != v.result() || req.Admitted != v.OK {
		s.Errorf("%s: admitted %v\n got %+v\nwant %+v", at, req.Admitted, got, v.result())
	}
	it.Cost = 0
	lookedAfter(s, at, v, s.look(it))
}

// call gives a charge back, releases it or renews it.
func (g *golden) call(at string, v *vector, id int64) {
	call := g.s.store.Refund
	switch {
	case v.Release > 0:
		call = g.s.store.Release
	case v.Renew > 0:
		call = g.s.store.Renew
	}
	if got, err := call(context.Background(), g.receipts[id]); got != v.OK || err != nil {
		g.s.Errorf("%s: %+v: %v, %v", at, *v, got, err)
	}
	if v.OK {
		g.twin.refund(g.p, v.At, g.placed[id])
	}
	if v.OK && v.Renew > 0 {
		g.placed[id] = g.twin.charge(g.p, v.At, g.placed[id].n, false)
	}
	lookedAfter(g.s, at, v, g.s.look(item(g.w, "k", g.p, 0)))
}

// follow charges a request of one item.
func (w *naive) follow(it store.Item, now int64) placed {
	if looks(&it) {
		return placed{}
	}
	w.advance(*it.Limit, now)
	if r := w.judgeItem(&it, *it.Limit, now); r.OK || records(&it) {
		return w.chargeItem(&it, *it.Limit, now, r.Wait, !r.OK)
	}
	return placed{}
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

func readVectors(t *testing.T, file string) (all []vector) {
	t.Helper()
	f, err := os.Open(filepath.Join(vectorFolder(t), file+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
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
