package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/slidegate/slidegate/internal/model"
)

// call is a line about an earlier charge.
type call struct {
	At        int64 `json:"at"`
	Refund    int64 `json:"refund,omitempty"`
	Release   int64 `json:"release,omitempty"`
	Renew     int64 `json:"renew,omitempty"`
	OK        bool  `json:"ok,omitempty"`
	Used      int64 `json:"used,omitempty"`
	Remaining int64 `json:"remaining,omitempty"`
	Reset     int64 `json:"reset,omitempty"`
}

// refund gives a charge back; what is in flight is released.
func (w *writer) refund(at, id int64) {
	c := call{At: at, Refund: id}
	if w.algorithm == "inflight" {
		c = call{At: at, Release: id}
	}
	if w.algorithm == "distinct" {
		c.OK = w.members.Refund(w.p, at, id)
	} else {
		c.OK = w.win.(model.Charges).Refund(w.p, at, id)
	}
	w.called(c)
}

func (w *writer) renew(at, id int64) {
	w.called(call{At: at, Renew: id, OK: w.win.(*model.Holders).Renew(w.p, at, id)})
}

// called writes the line of a call, and how the window stands after it.
func (w *writer) called(c call) {
	var r model.Result
	if w.algorithm == "distinct" {
		r = w.members.Check(w.p, c.At, nil, 0)
	} else {
		r = w.win.Check(w.p, c.At, 0)
	}
	w.at = c.At
	c.Used, c.Remaining, c.Reset = r.Used, r.Remaining, r.Reset
	w.line(c)
}

// unevenPeriods returns instants between two times that are about size apart.
func unevenPeriods(from, to, size int64) (periods []int64) {
	lengths := []int64{size, size / 3, 2 * size, 7, size + 1}
	for i := 0; from < to; i++ {
		periods = append(periods, from)
		from += lengths[i%len(lengths)]
	}
	return append(periods, from)
}

// periodsOf is the periods between instants.
func periodsOf(instants []int64) func(now int64) (start, end int64) {
	return func(now int64) (start, end int64) {
		i, found := slices.BinarySearch(instants, now)
		if !found {
			i--
		}
		return instants[i], instants[i+1]
	}
}

func (w *writer) counter() {
	w.begin("the window before weighs less and less", 3, minute, 0, 0)
	edge := epoch - epoch%minute + minute
	for range 3 {
		w.check(edge-1, 1)
	}
	for _, at := range []int64{0, 20*second - 1, 20 * second, 20 * second, 40 * second, minute - 1, minute, minute + 1} {
		w.check(edge+at, 1)
	}
	w.begin("a third of an odd window", 7, 1003, 0, 0)
	for at := int64(0); at < 4000; at += 167 {
		w.check(edge+at, 1+at%3)
	}
	// Products of 98 bits.
	const most, longest = 1 << 53, 400 * 24 * 60 * minute
	w.begin("the largest counts in the longest window", most, longest, 0, 0)
	edge = epoch - epoch%longest + longest
	w.check(edge-1, most-1)
	w.check(edge-1, 2)
	for _, at := range []int64{0, 1, 2, 3, 1_234_567, longest / 3, longest/2 + 1, longest - 7, longest - 1} {
		w.check(edge+at, 1)
		w.check(edge+at, most/1000+at%977)
		w.check(edge+at, most)
	}
	w.check(edge+longest+longest/7, most/3)
	w.check(edge+longest+longest/7, 1)
	w.begin("a charge of either window is given back", 5, minute, 0, 0)
	edge = epoch - epoch%minute
	w.check(edge+50*second, 2)
	w.check(edge+59*second, 1)
	w.check(edge+70*second, 2)
	w.refund(edge+80*second, 1)
	w.refund(edge+80*second, 3)
	w.check(edge+80*second, 4)
	w.refund(edge+120*second, 2) // has left
	w.refund(edge+120*second, 4)
}

func (w *writer) calendar() {
	const day = 24 * 60 * minute
	w.p = model.Params{Algorithm: "calendar", Max: 2}
	var months []int64 // of 2023 and 2024, from November, in UTC
	for at, i := 1_698_796_800*second, 0; i < 6; i++ {
		months = append(months, at)
		at += []int64{30, 31, 31, 29, 31, 30}[i] * day
	}
	w.start("months", months)
	for _, d := range []int64{0, 29, 30, 60, 61, 61, 61, 91, 92, 93, 120, 121} {
		w.check(months[0]+d*day, 1)
		w.check(months[0]+d*day+day-1, 1)
	}
	w.check(months[0]+3*day, 1) // the clock steps back
	w.check(months[0]+40*day, 1)
}

func (w *writer) inflight() {
	w.begin("released, renewed and expired", 2, minute, 0, 0)
	w.check(epoch, 1)
	w.check(epoch+second, 3) // never
	w.check(epoch+second, 1)
	w.check(epoch+2*second, 1)
	w.refund(epoch+3*second, 1)
	w.refund(epoch+3*second, 1) // once
	w.check(epoch+4*second, 1)
	w.renew(epoch+30*second, 2)
	w.check(epoch+64*second-1, 1)
	w.check(epoch+64*second, 1)
	w.refund(epoch+65*second, 3) // its time was over
	w.renew(epoch+65*second, 3)
	w.renew(epoch+90*second-1, 2)
	w.check(epoch+124*second, 1)
	w.refund(epoch+150*second-1, 2) // its time is over now
	w.begin("places of one instant", 3, minute, 0, 0)
	for range 4 {
		w.check(epoch, 1)
	}
	w.refund(epoch+second, 2)
	w.renew(epoch+second, 3)
	w.refund(epoch+2*second, 3)
	w.refund(epoch+2*second, 1)
	w.refund(epoch+2*second, 2)
	w.begin("places that come and go together", 5, minute, 0, 0)
	w.check(epoch, 3)
	w.check(epoch, 2)
	w.check(epoch+second, 1)
	w.renew(epoch+20*second, 1)
	w.refund(epoch+30*second, 2)
	w.check(epoch+30*second, 3) // waits for the three
	w.check(epoch+30*second, 2)
	w.check(epoch+80*second-1, 1)
	w.check(epoch+80*second, 1)
	w.refund(epoch+80*second, 1) // their time was over
	w.refund(epoch+81*second, 3)
}

func (w *writer) queue() {
	w.begin("a burst, a queue, and nobody after it", 60, 60*second, 3, 4)
	for range 9 {
		w.check(epoch, 1)
	}
	for _, ms := range []int64{999, 1000, 1000, 2500, 2500, 20_000, 20_000} {
		w.check(epoch+ms*1000, 1)
	}
	w.begin("a cost over the burst waits until all of it fits", 10, 10*second, 3, 5)
	for _, cost := range []int64{9, 8, 8, 1, 0} {
		w.check(epoch, cost)
	}
	for _, s := range []int64{1, 4, 5, 8} {
		w.check(epoch+s*second, 3)
	}
	w.begin("the last place is given back, and no other", 10, 10*second, 1, 5)
	for range 5 {
		w.check(epoch, 1)
	}
	w.refund(epoch, 3)
	w.refund(epoch, 5)
	w.refund(epoch+second, 5)
	w.check(epoch+second, 1)
	w.refund(epoch+second, 4)
	w.refund(epoch+second, 6)
	w.refund(epoch+second, 4)
	w.refund(epoch+3*second+second/2, 3) // worked off
	w.begin("waits of no whole number of units", 7, second, 2, 9)
	for at := int64(0); at < 1_000_000; at += 51_429 {
		w.check(epoch+at, 1)
	}
}

// give is a check of members.
func (w *writer) give(at int64, record bool, members ...string) {
	cost := int64(min(len(members), 1))
	var r model.Result
	id := w.charges + 1
	if record {
		r = w.members.Record(w.p, at, members, 0)
	} else {
		r = w.members.Check(w.p, at, members, id)
	}
	w.at = at
	s := answered(at, cost, record, r)
	s.Members = members
	if r.OK && cost > 0 && !record {
		w.charges++
		s.As = w.charges
	}
	w.line(s)
}

func (w *writer) distinct() {
	w.begin("known members pass and are renewed", 3, minute, 0, 0)
	w.give(epoch, false)
	w.give(epoch, false, "a")
	w.give(epoch+10*second, false, "b", "c")
	w.give(epoch+20*second, false, "d")
	w.give(epoch+20*second, false, "a", "b")
	w.give(epoch+30*second, false, "a", "b", "c", "d")
	w.give(epoch+30*second, false, "c", "d", "e")
	w.give(epoch+70*second-1, false, "d")
	w.give(epoch+70*second, false, "d")
	w.give(epoch+70*second, false, "c")
	w.give(epoch+80*second, false, "c", "d")
	w.begin("a refund takes out what it brought in and nobody saw since", 9, minute, 0, 0)
	w.give(epoch, false, "a", "b", "c")
	w.give(epoch, false, "b", "d")
	w.refund(epoch, 1)
	w.refund(epoch, 1)
	w.give(epoch+second, false, "a", "e")
	w.give(epoch+second, false, "b")
	w.refund(epoch+2*second, 4) // brought nothing in
	w.refund(epoch+61*second, 3)
	w.begin("of a recorded refusal known members are renewed", 2, minute, 0, 0)
	w.give(epoch, true, "a")
	w.give(epoch+second, true, "b")
	w.give(epoch+30*second, true, "a", "c")
	w.give(epoch+31*second, true, "a", "c")
	w.give(epoch+61*second, false, "c")
	w.begin("a maximum of 0 is a ban, a lower one bites at once", 0, minute, 0, 0)
	w.give(epoch, false)
	w.give(epoch, false, "a")
	w.set(4, 0)
	w.give(epoch, false, "a", "b", "c")
	w.set(2, 0)
	w.give(epoch+second, false)
	w.give(epoch+second, false, "a")
	w.give(epoch+second, false, "a", "b", "c")
	w.begin("the clock steps back", 2, minute, 0, 0)
	for i, at := range []int64{0, 30, 31, -100, -99, -70, -41, -40, -39, 200} {
		w.give(epoch+at*second, false, string(rune('a'+i)))
	}
	w.p = model.Params{Algorithm: "distinct", Max: 2}
	w.start("by the calendar", unevenPeriods(epoch-minute, epoch+20*minute, minute))
	for i := range int64(20) {
		w.give(epoch+i*17*second, i == 9, string(rune('a'+i%5)))
	}
}

// randomCalls adds random cases with calls about earlier charges, the same ones
// every time.
func (w *writer) randomCalls() {
	if !map[string]bool{"sliding_counter": true, "inflight": true, "queue": true, "distinct": true}[w.algorithm] {
		return
	}
	rng := rand.New(rand.NewPCG(8, uint64(len(w.algorithm))))
	for i, size := range []int64{1003, minute, 24 * 60 * minute} {
		w.begin(fmt.Sprintf("random calls %d", i+1), 2+rng.Int64N(5), size, 1+rng.Int64N(3), 1+rng.Int64N(6))
		w.at = epoch + rng.Int64N(minute)
		for range 60 {
			w.randomCall(rng, size)
		}
	}
}

func (w *writer) randomCall(rng *rand.Rand, size int64) {
	at := w.at + rng.Int64N(size/5)
	id := w.charges - rng.Int64N(3)
	switch n := rng.IntN(10); {
	case n == 0 && id > 0 && w.algorithm == "inflight":
		w.renew(at, id)
	case n < 3 && id > 0:
		w.refund(at, id)
	case n == 3:
		w.set(1+rng.Int64N(7), 1+rng.Int64N(3))
	case w.algorithm == "distinct":
		members := []string{"a", "b", "c", "d", "e", "f", "g", "号"}
		rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		members = members[:rng.IntN(4)]
		if n == 4 && len(members) > 0 { // the clock steps back, and a check sees it
			at -= rng.Int64N(size)
		}
		w.give(at, n == 5, members...)
	default:
		w.check(at, rng.Int64N(3))
	}
}
