// Command genvectors writes the golden vectors, testdata/vectors/*.jsonl, from
// the naive model. Every implementation of an algorithm, in Go, Redis Lua or
// nginx Lua, must answer them exactly. Run it from the root of the module:
//
//	go generate ./internal/model
//
// A file is read line by line. A line with "case" starts a new, empty window
// and gives its parameters; sizes and times are microseconds (for events:
// checks). A line with "set" changes the maximum or the burst. A line with
// "refund", "release" or "renew" does that with an earlier charge. Any other
// line is a check at "at" of "cost", and how the window answers and stands
// after it; "record":true charges it even if refused. Numbers not named are 0,
// and booleans not named are false. docs/format/vectors.md says it all.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/slidegate/slidegate/internal/model"
)

type header struct {
	Case      string `json:"case"`
	Algorithm string `json:"algorithm"`
	Max       int64  `json:"max"`
	Size      int64  `json:"size"`
	Burst     int64  `json:"burst,omitempty"`
	Buckets   int64  `json:"buckets,omitempty"`

	Wait     int64   `json:"wait,omitempty"`
	MaxQueue int64   `json:"max_queue,omitempty"`
	Periods  []int64 `json:"periods,omitempty"`
}

type set struct {
	Set   bool  `json:"set"`
	Max   int64 `json:"max"`
	Burst int64 `json:"burst,omitempty"`
}

type step struct {
	At        int64 `json:"at"`
	Cost      int64 `json:"cost"`
	Record    bool  `json:"record,omitempty"`
	OK        bool  `json:"ok,omitempty"`
	Never     bool  `json:"never,omitempty"`
	Used      int64 `json:"used,omitempty"`
	Remaining int64 `json:"remaining,omitempty"`
	Retry     int64 `json:"retry,omitempty"`
	Reset     int64 `json:"reset,omitempty"`

	Wait    int64    `json:"wait,omitempty"`
	As      int64    `json:"as,omitempty"`
	Members []string `json:"members,omitempty"`
}

func main() {
	for _, algorithm := range []string{
		"sliding_log", "sliding_buckets", "gcra", "fixed", "events",
		"sliding_counter", "calendar", "inflight", "queue", "distinct",
	} {
		if err := write(algorithm); err != nil {
			fmt.Fprintln(os.Stderr, "genvectors:", err)
			os.Exit(1)
		}
	}
	if err := writeKeys(); err != nil {
		fmt.Fprintln(os.Stderr, "genvectors:", err)
		os.Exit(1)
	}
}

func write(algorithm string) error {
	w := &writer{algorithm: algorithm}
	if algorithm != "distinct" {
		w.common()
	}
	switch algorithm {
	case "sliding_log":
		w.log()
	case "sliding_buckets":
		w.buckets()
	case "gcra":
		w.gcra()
	case "fixed":
		w.fixed()
	case "events":
		w.events()
	case "sliding_counter":
		w.counter()
	case "calendar":
		w.calendar()
	case "inflight":
		w.inflight()
	case "queue":
		w.queue()
	case "distinct":
		w.distinct()
	}
	if algorithm != "distinct" {
		w.random()
	}
	w.randomCalls()
	return os.WriteFile(filepath.Join("testdata", "vectors", algorithm+".jsonl"), w.out.Bytes(), 0o644)
}

type writer struct {
	algorithm string
	out       bytes.Buffer
	p         model.Params
	win       model.Window
	members   *model.Members // instead of a window
	charges   int64          // that have names
	at        int64          // of the last line
}

func (w *writer) line(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.out.Write(append(b, '\n'))
}

// begin starts a case. Burst and buckets are used where they mean something.
func (w *writer) begin(name string, maximum, size, burst, buckets int64) {
	w.p = model.Params{Algorithm: w.algorithm, Max: maximum, Size: size}
	switch w.algorithm {
	case "gcra":
		w.p.Burst = burst
	case "sliding_buckets":
		w.p.Buckets = buckets
	case "queue":
		w.p.Algorithm, w.p.Burst = "gcra", burst
		w.p.Wait, w.p.MaxQueue = size*3/4, buckets
	}
	w.start(name, nil)
}

// start starts a case of the parameters that are set.
func (w *writer) start(name string, periods []int64) {
	if w.algorithm == "calendar" && periods == nil {
		periods = unevenPeriods(epoch-30*w.p.Size, epoch+60*w.p.Size, w.p.Size)
		w.p.Size = 0
	}
	if periods != nil {
		w.p.Period = periodsOf(periods)
	}
	w.charges, w.members = 0, &model.Members{}
	if w.algorithm != "distinct" {
		w.win = model.New(w.p.Algorithm)
	}
	w.line(header{name, w.p.Algorithm, w.p.Max, w.p.Size, w.p.Burst, w.p.Buckets, w.p.Wait, w.p.MaxQueue, periods})
}

func (w *writer) set(maximum, burst int64) {
	w.p.Max = maximum
	if w.p.Algorithm == "gcra" {
		w.p.Burst = burst
	}
	w.line(set{true, w.p.Max, w.p.Burst})
}

func (w *writer) check(at, cost int64)  { w.step(at, cost, false) }
func (w *writer) record(at, cost int64) { w.step(at, cost, true) }

func (w *writer) step(at, cost int64, record bool) {
	var r model.Result
	record = record && w.algorithm != "inflight" && w.algorithm != "queue"
	if record {
		r = w.win.Record(w.p, at, cost)
	} else {
		r = w.win.Check(w.p, at, cost)
	}
	w.at = at
	s := answered(at, cost, record, r)
	if c, named := w.win.(model.Charges); named && w.algorithm != "gcra" && r.OK && cost > 0 && !record && w.p.Max > 0 {
		w.charges++
		s.As = w.charges
		c.Name(s.As)
	}
	w.line(s)
}

// answered is the line of a check and its answer.
func answered(at, cost int64, record bool, r model.Result) step {
	return step{
		At: at, Cost: cost, Record: record, OK: r.OK, Never: r.Never,
		Used: r.Used, Remaining: r.Remaining, Retry: r.Retry, Reset: r.Reset, Wait: r.Wait,
	}
}

const (
	second = int64(1_000_000)
	minute = 60 * second
	epoch  = 1_700_000_000 * second // some instant, aligned to nothing in particular
)

// common holds what every algorithm is asked.
func (w *writer) common() {
	size := minute
	if w.algorithm == "events" {
		size = 10
	}
	w.begin("three in a window", 3, size, 3, 60)
	for _, at := range []int64{0, 10, 20, 30, 59, 60, 61, 79, 80} {
		w.check(epoch+at*second, 1)
	}
	w.begin("a cost of 0 looks, a cost over the maximum can never pass", 3, size, 3, 60)
	for _, cost := range []int64{0, 2, 0, 4, 2, 1, 0, 1} {
		w.check(epoch, cost)
	}
	w.begin("a maximum of 0 is a ban", 0, size, 1, 60)
	w.check(epoch, 0)
	w.check(epoch, 1)
	w.check(epoch+size, 1)
	w.begin("a lower maximum bites at once, a higher one frees at once", 4, size, 4, 60)
	for range 4 {
		w.check(epoch, 1)
	}
	w.set(2, 2)
	w.check(epoch+1, 0)
	w.check(epoch+1, 1)
	w.set(6, 6)
	w.check(epoch+2, 1)
	w.begin("one microsecond around the edge", 1, size, 1, 60)
	for _, at := range []int64{0, size - 1, size, 2*size - 1, 2 * size, 2*size + 1, 3*size + 1} {
		w.check(epoch+at, 1)
	}
	w.begin("the clock steps back", 2, size, 2, 60)
	for _, at := range []int64{0, 30, 31, -100, -99, -70, -41, -40, -39, 200} {
		w.check(epoch+at*second, 1)
	}
	if w.algorithm == "inflight" || w.algorithm == "queue" {
		return // they record nothing that was refused
	}
	w.begin("refused checks are recorded", 3, size, 3, 60)
	for at := int64(0); at < 100; at += 15 {
		w.record(epoch+at*second, 1)
	}
	w.record(epoch+170*second, 2)
	w.record(epoch+171*second, 5)
	w.record(epoch+400*second, 1)
}

func (w *writer) log() {
	w.begin("many at one instant are as many hits", 10, second, 0, 0)
	for range 12 {
		w.check(epoch, 1)
	}
	w.check(epoch+second, 1)
	w.begin("costs leave together", 10, minute, 0, 0)
	for _, s := range [][2]int64{{0, 4}, {10, 5}, {20, 3}, {30, 10}, {60, 3}, {60, 4}, {70, 4}, {500, 10}, {501, 1}} {
		w.check(epoch+s[0]*second, s[1])
	}
	w.begin("a window of thirty days", 3, 30*24*60*minute, 0, 0)
	for day := int64(0); day < 64; day += 9 {
		w.check(epoch+day*24*60*minute+day, 1)
	}
}

func (w *writer) buckets() {
	w.begin("five slices of 200 ms, with gaps longer than the window", 100, second, 0, 5)
	for _, s := range [][2]int64{{0, 60}, {199, 40}, {200, 1}, {999, 1}, {1000, 1}, {1200, 1}, {1201, 99}, {1202, 1}, {5000, 100}, {5001, 1}, {6199, 1}, {6200, 1}, {60000, 101}} {
		w.check(epoch+s[0]*1000, s[1])
	}
	w.begin("a size that the slices do not divide", 3, 1000, 0, 7)
	for at := int64(0); at < 3000; at += 143 {
		w.check(epoch+at, 1)
	}
	w.begin("large amounts", 200_000_000_000, 24*60*minute, 0, 60)
	w.check(epoch, 150_000_000_000)
	w.check(epoch+60*minute, 50_000_000_001)
	w.check(epoch+60*minute, 50_000_000_000)
	w.check(epoch+25*60*minute, 150_000_000_000)
}

func (w *writer) gcra() {
	w.begin("a burst, then the rate", 60, minute, 5, 0)
	for _, at := range []int64{0, 0, 0, 0, 0, 0, 500, 999, 1000, 1001, 3000, 3000, 9000} {
		w.check(epoch+at*1000, 1)
	}
	w.begin("seven per second is not a whole number of microseconds", 7, second, 2, 0)
	for at := int64(0); at < 1_000_000; at += 71_429 {
		w.check(epoch+at, 1)
	}
}

func (w *writer) fixed() {
	w.begin("twice the maximum around an edge", 3, minute, 0, 0)
	edge := epoch - epoch%minute + minute
	for _, at := range []int64{-2, -1, -1, -1, 0, 0, 0, 0} {
		w.check(edge+at, 1)
	}
}

func (w *writer) events() {
	w.begin("three of ten", 3, 10, 0, 0)
	for i := range int64(24) {
		w.check(epoch+i, 1)
	}
	w.begin("a window of one check", 1, 1, 0, 0)
	for i := range int64(3) {
		w.check(epoch+i, 1)
	}
}

// random adds random cases, the same ones every time.
func (w *writer) random() {
	rng := rand.New(rand.NewPCG(7, uint64(len(w.algorithm))))
	for i := range 4 {
		size := []int64{1000, 60_000, minute, 24 * 60 * minute}[i]
		if w.algorithm == "events" {
			size = []int64{2, 5, 17, 40}[i]
		}
		w.begin(fmt.Sprintf("random %d", i+1), 1+rng.Int64N(8), size, 1+rng.Int64N(4), 1+rng.Int64N(9))
		at := epoch + rng.Int64N(minute)
		if w.algorithm == "calendar" {
			at = epoch // where its periods are
		}
		for range 40 {
			switch rng.IntN(12) {
			case 0:
				at -= rng.Int64N(2 * size)
			case 1:
				at += rng.Int64N(4 * size)
			case 2:
				w.set(rng.Int64N(9), 1+rng.Int64N(4))
			default:
				at += rng.Int64N(size/4 + 1)
			}
			w.step(at, rng.Int64N(4), rng.IntN(8) == 0)
		}
	}
}
