package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/bench/internal/exact"
	"github.com/slidegate/slidegate/bench/internal/measure"
	"github.com/slidegate/slidegate/bench/internal/peer"
)

// TestMain lets the tests call themselves as children, as the program does.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childWord {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestOneSmallRun drives the whole program, children and all.
func TestOneSmallRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "RESULTS.md")
	args := strings.Fields("-rounds 1 -seconds 0.01 -keys 1000 -window 20ms -retries 0 -limiters limiter,check-log,naive-fixed,go-limiter -o " + file)
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), args, nil, &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	kept, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(kept, stdout.Bytes()) {
		t.Errorf("the file differs from the output: %v", err)
	}
	for _, want := range []string{"# Results", "## A. Speed", "## B. Memory", "## C. Exactness", "## Goals", "## Notes", "go-limiter v", "gate.Limiter", "zipf 100 keys, 2g"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, stdout.String())
		}
	}
	if strings.Contains(stdout.String(), "failed") {
		t.Error(stdout.String())
	}
}

func TestOptions(t *testing.T) {
	o, err := parseOptions(strings.Fields("-tables memory,exact -limiters limiter,throttled,clock -rounds 3"), new(bytes.Buffer))
	if err != nil || len(o.tables) != 2 || len(o.limiters) != 3 || o.rounds != 3 {
		t.Fatalf("%+v, %v", o, err)
	}
	if got := len(o.in(peer.Memory)); got != 2 {
		t.Errorf("%d limiters stand in the memory table, want 2: the clock has no memory", got)
	}
	for args, want := range map[string]string{
		"-tables speed,sped":  `no table "sped"; there are speed, memory, exact`,
		"-limiters nobody":    `no limiter "nobody"; there are`,
		"-rounds 0":           "-rounds 0: want 1 or more",
		"-seconds 0":          "-seconds 0",
		"-keys 1500":          "-keys 1500: want a multiple of 1000",
		"-window 300ms":       "-window 300ms: want one that divides a second",
		"-window 0":           "-window 0s",
		"-retries -1":         "-retries -1",
		"-procs 0":            "-procs 0",
		"speed":               `unexpected "speed"`,
		"-rounds 0 -procs 0":  "-procs 0",
		"-limiters limiter,,": `no limiter ""`,
	} {
		if _, err := parseOptions(strings.Fields(args), new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"-rounds", "0"}, nil, &stdout, &stderr); code != 2 {
		t.Errorf("a wrong flag exits with %d", code)
	}
	if code := run(t.Context(), []string{"-list"}, nil, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), "go-limiter") {
		t.Errorf("-list: %d, %s", code, stdout.String())
	}
}

// TestRoundsAreInterleaved: limiters of one case run one after another, and each
// round begins with another.
func TestRoundsAreInterleaved(t *testing.T) {
	o, err := parseOptions([]string{"-limiters", "limiter,naive-fixed,go-limiter"}, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]bool{}
	for round := range 3 {
		js := o.jobs(peer.Speed, round)
		if len(js) != 3*6 {
			t.Fatalf("%d jobs, want 18", len(js))
		}
		for i := range js {
			if js[i].Case != js[i/3*3].Case {
				t.Fatalf("round %d: case %s stands among %s", round, js[i].Case, js[i/3*3].Case)
			}
		}
		first[js[0].Limiter] = true
	}
	if len(first) != 3 {
		t.Errorf("the rounds begin with %v", first)
	}
}

func TestChild(t *testing.T) {
	text, err := json.Marshal(job{Table: peer.Memory, Case: "one-hit", Limiter: peer.OursID, Keys: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{childWord}, bytes.NewReader(text), &stdout, &stderr); code != 0 {
		t.Fatal(stderr.String())
	}
	var out measure.Outcome
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil || out.Values[measure.HeapPerKey] <= 0 {
		t.Errorf("%s: %v", stdout.String(), err)
	}
	for _, bad := range []string{"", "{}", `{"Table":"speed","Case":"refused-1","Limiter":"nobody","Keys":1000}`} {
		if code := run(t.Context(), []string{childWord}, strings.NewReader(bad), &stdout, &stderr); code != 1 {
			t.Errorf("%q: exit %d, want 1", bad, code)
		}
	}
}

// outcomes puts figures for one place into results.
func outcomes(r *results, table, id, limiter, metric string, disturbed bool, values ...float64) {
	for _, v := range values {
		out := measure.Outcome{Job: job{Table: table, Case: id, Limiter: limiter}, Values: map[string]float64{metric: v}}
		if disturbed {
			out.Disturbed = "noise"
		}
		r.add(&out)
	}
}

func TestOnlyCleanRepetitionsCount(t *testing.T) {
	r := newResults()
	outcomes(r, peer.Speed, "zipf", "a", measure.NsPerOp, false, 100, 120, 110)
	outcomes(r, peer.Speed, "zipf", "a", measure.NsPerOp, true, 900, 1000)
	outcomes(r, peer.Speed, "zipf", "b", measure.NsPerOp, true, 300, 500)
	outcomes(r, peer.Memory, "one-hit", "a", measure.HeapPerKey, true, 50, 60)
	a := r.figure(place{peer.Speed, "zipf", "a"}, measure.NsPerOp)
	b := r.figure(place{peer.Speed, "zipf", "b"}, measure.NsPerOp)
	for _, c := range []struct{ name, got, want string }{
		{"clean", a.textSpread(), "110 ±9%"},
		{"none clean", b.text(), "400~"},
		{"ratio", a.over(a).textTimes(), "1.00x"},
		{"ratio to a noisy one", a.over(b).textTimes(), "0.28x~"},
		{"heap does not depend on time", r.figure(place{peer.Memory, "one-hit", "a"}, measure.HeapPerKey).text(), "55.0"},
		{"not measured", r.figure(place{peer.Speed, "zipf", "c"}, measure.NsPerOp).textSpread(), "-"},
		{"ratio to nothing", a.over(figure{}).textTimes(), "-"},
		{"thrown away", fmt.Sprint(r.thrown, " of ", r.runs), "6 of 9"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
}

// sample is a document with a figure for every goal.
func sample(t *testing.T) *document {
	t.Helper()
	o, err := parseOptions(nil, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	r := newResults()
	for _, c := range o.cases(peer.Speed) {
		outcomes(r, peer.Speed, c.id, peer.OursID, measure.NsPerOp, false, 40)
		outcomes(r, peer.Speed, c.id, peer.NaiveFixedID, measure.NsPerOp, false, 50)
		outcomes(r, peer.Speed, c.id, peer.GoLimiterID, measure.NsPerOp, false, 60)
		outcomes(r, peer.Speed, c.id, peer.RulesID, measure.NsPerOp, true, 300)
		outcomes(r, peer.Speed, c.id, peer.OursID, measure.AllocsPerOp, false, 0)
	}
	outcomes(r, peer.Speed, "zipf", peer.OursID, measure.AllocsPerOp, false, 0.02)
	outcomes(r, peer.Speed, "uniform", peer.OursID, measure.AllocsPerOp, false, 5)
	outcomes(r, peer.Memory, "one-hit", peer.OursID, measure.HeapPerKey, false, 57)
	outcomes(r, peer.Memory, "full", peer.OursID, measure.HeapPerKey, false, 612)
	for _, p := range exact.Patterns() {
		outcomes(r, peer.Exact, p.ID, peer.OursID, exact.MostInWindow, false, 99, 100)
		outcomes(r, peer.Exact, p.ID, peer.LogID, exact.MostInWindow, false, 100, 101, 100)
		outcomes(r, peer.Exact, p.ID, peer.OursID, exact.DueAdmitted, false, 100, 98)
	}
	return &document{options: o, results: r, began: time.Unix(0, 0), took: time.Second}
}

func TestGoals(t *testing.T) {
	var b bytes.Buffer
	if err := sample(t).goals(&b); err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(b.String()) {
		if cells := strings.Split(line, "|"); len(cells) == 6 {
			rows[strings.TrimSpace(cells[1])] = strings.Join(strings.Fields(cells[3]+cells[4]), " ")
		}
	}
	for what, want := range map[string]string{
		"gate.Limiter: most admitted in any real window, four patterns":                "100 yes",
		"gate.Limiter: refused of 100 that are due":                                    "2 no",
		"gate.Check with sliding_log: most admitted in any real window, four patterns": "101 no",
		"gate.Check with sliding_log: refused of 100 that are due":                     "- not measured",
		"gate.Limiter, hot, refused, 1g, against the naive fixed window":               "0.80x yes",
		"gate.Limiter, zipf, 2g, against go-limiter":                                   "0.67x no",
		"gate.Limiter: allocations for a decision, hot and zipf":                       "0.01 no",
		"gate.Check: allocations for a decision, hot and zipf":                         "- not measured",
		"gate.Check, 2 rules, 3 windows, hot, refused, 1g":                             "300 ns~ yes~",
		"gate.Limiter: heap for a key with one hit":                                    "57.0 B yes",
		"gate.Limiter: heap for a key with 100 hits":                                   "612 B yes",
		"the same, a record": "612 B no",
		"gate.Limiter: full collection with all keys held, wall time": "- not measured",
	} {
		if rows[what] != want {
			t.Errorf("%s: %q, want %q", what, rows[what], want)
		}
	}
}

func TestDocument(t *testing.T) {
	d := sample(t)
	d.results.fail(job{Table: peer.Speed, Case: "zipf", Limiter: "ulule"}, os.ErrDeadlineExceeded)
	d.results.fail(job{Table: peer.Speed, Case: "zipf", Limiter: "ulule"}, os.ErrDeadlineExceeded)
	var b bytes.Buffer
	if err := d.write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if n := strings.Count(text, "- failed: speed, zipf, ulule: i/o timeout"); n != 1 {
		t.Errorf("the failure is noted %d times, want once", n)
	}
	for _, want := range []string{"1970-01-01 00:00 UTC", "| **101** |", "300~", "0.80x", "0.67x"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "NaN") || strings.Contains(line, "Inf") {
			t.Error(line)
		}
	}
}

func TestWorstNeedsAllPatterns(t *testing.T) {
	d := &document{options: &options{}, results: newResults()}
	outcomes(d.results, peer.Exact, "boundary", peer.OursID, exact.MostInWindow, false, 100)
	if got := d.worst(peer.OursID).median(); !math.IsNaN(got) {
		t.Errorf("one pattern of four was measured, and the worst is %v", got)
	}
}
