package limit

import (
	"math"
	"slices"
	"testing"

	"github.com/slidegate/slidegate/internal/model"
	"github.com/slidegate/slidegate/window"
	"pgregory.net/rapid"
)

// refunder charges and gives back on one state.
type refunder struct {
	charge func(p Params, now, cost int64) Charged
	refund func(now int64, c Charged) bool
}

// newRefunder returns a state of an algorithm with room enough.
func newRefunder(p Params) (refunder, func(p Params, now, cost int64) Result) {
	var s plain
	switch p.Algorithm {
	case SlidingLog:
		s = &Log[uint64]{Log: window.Log[uint64]{Ring: make([]uint64, 1000)}}
	case SlidingBuckets:
		s = &Buckets{Buckets: window.Buckets{Ring: make([]window.Bucket, 1000)}}
	case GCRA:
		m := EmptyMeter()
		s = &m
	case Fixed, Calendar:
		s = &Counter{}
	case SlidingCounter:
		s = &Weighted{}
	case Inflight:
		h := &Holders{Log: window.Log[uint64]{Ring: make([]uint64, 1000)}}
		return refunder{func(p Params, now, cost int64) Charged {
			h.Advance(p, now)
			return h.Charge(p, now, cost)
		}, h.Refund}, h.Judge
	default:
		m := &Marks{Log: window.Log[uint32]{Ring: make([]uint32, 1000)}}
		return refunder{func(p Params, now, cost int64) Charged {
			m.Advance(p, now)
			return m.Charge(p, now, cost)
		}, m.Refund}, m.Judge
	}
	return refunder{func(p Params, now, cost int64) Charged {
		s.Advance(p, now)
		return s.Charge(p, now, cost)
	}, s.Refund}, s.Judge
}

// TestRefundGivesBackOnce on states that know no ids: a second refund of the
// only charge finds nothing.
func TestRefundGivesBackOnce(t *testing.T) {
	for _, p := range endParams(t) {
		s, judge := newRefunder(p)
		c := s.charge(p, 1_700_000_000_000_000, 3)
		for n := range 2 {
			if given := s.refund(1_700_000_000_000_000, c); given != (n == 0) {
				t.Errorf("%v: refund %d gave back %v", p.Algorithm, n, given)
			}
			if r := judge(p, 1_700_000_000_000_000, 5); r != (Result{OK: true, Remaining: 5}) {
				t.Errorf("%v: after refund %d: %+v", p.Algorithm, n, r)
			}
		}
	}
}

// TestLogRefund holds refunds of a log against the list of the naive model.
func TestLogRefund(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := New(SlidingLog, 20, 1000, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		fast, slow := &logDriver[uint32]{}, &model.Log{}
		now := int64(1_700_000_000_000_000)
		var charges []Charged
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.Int64Range(-300, 600).Draw(t, "step")
			cost := rapid.Int64Range(1, 4).Draw(t, "cost")
			got, want := fast.check(p, now, cost), slow.Check(toModel(p), now, cost)
			if fromResult(got) != want {
				t.Fatalf("at %d: %+v, want %+v", now, got, want)
			}
			if got.OK {
				charges = append(charges, Charged{Stamp: now, Amount: cost})
			}
			if len(charges) == 0 || !rapid.Bool().Draw(t, "refund") {
				continue
			}
			c := charges[rapid.IntRange(0, len(charges)-1).Draw(t, "which")]
			before := len(slow.Hits)
			slow.Refund(c.Stamp, c.Amount)
			if given := fast.Refund(now, c); given != (len(slow.Hits) < before) {
				t.Fatalf("gave back %v, %d hits before, %d after", given, before, len(slow.Hits))
			}
			if r := fast.Judge(p, now, 0); r.Used != slow.Check(toModel(p), now, 0).Used {
				t.Fatalf("%+v, want %d used", r, slow.Check(toModel(p), now, 0).Used)
			}
		}
	})
}

// TestMarksRefund holds refunds of a window of events against the list of all
// checks: the check stays, its mark goes.
func TestMarksRefund(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := New(Events, rapid.Int64Range(1, 6).Draw(t, "max"), rapid.Int64Range(1, 12).Draw(t, "size"), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		fast, slow := &marksDriver{}, &model.Events{}
		var charges []Charged
		var places []int
		for range rapid.IntRange(1, 80).Draw(t, "checks") {
			got, want := fast.check(p, 0, 1), slow.Check(toModel(p), 0, 1)
			if fromResult(got) != want {
				t.Fatalf("check %d: %+v, want %+v", len(slow.Marks), got, want)
			}
			if got.OK {
				charges = append(charges, Charged{Stamp: fast.Newest, Amount: 1})
				places = append(places, len(slow.Marks)-1)
			}
			if len(charges) == 0 || !rapid.Bool().Draw(t, "refund") {
				continue
			}
			i := rapid.IntRange(max(0, len(charges)-9), len(charges)-1).Draw(t, "which")
			fast.Advance(p, 0) // so that what has left is gone
			inWindow := len(slow.Marks)-places[i] < int(p.Size)
			marked := slow.Marks[places[i]] && inWindow
			if given := fast.Refund(0, charges[i]); given != marked {
				t.Fatalf("gave back %v, want %v", given, marked)
			}
			slow.Marks[places[i]] = false
		}
	})
}

// TestBucketsRefund and TestCounterRefund: what is out gives nothing back.
func TestBucketsRefund(t *testing.T) {
	p, err := New(SlidingBuckets, 9, 60_000_000, 0, 6)
	if err != nil {
		t.Fatal(err)
	}
	s, judge := newRefunder(p)
	old := s.charge(p, base, 2)
	same := s.charge(p, base+9_999_999, 3) // of the same slice
	s.charge(p, base+10_000_000, 4)
	if !s.refund(base+10_000_000, same) || judge(p, base+10_000_000, 0).Used != 6 {
		t.Errorf("%+v", judge(p, base+10_000_000, 0))
	}
	s.charge(p, base+70_000_000, 1) // the first slice is out
	if s.refund(base+70_000_000, old) || judge(p, base+70_000_000, 0).Used != 5 {
		t.Errorf("%+v", judge(p, base+70_000_000, 0))
	}
}

func TestCounterRefund(t *testing.T) {
	p, err := New(Fixed, 9, 60_000_000, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, judge := newRefunder(p)
	old := s.charge(p, base, 2)
	if !s.refund(base, s.charge(p, base, 3)) || judge(p, base, 0).Used != 2 {
		t.Errorf("%+v", judge(p, base, 0))
	}
	s.charge(p, base+60_000_000, 1)
	if s.refund(base+60_000_000, old) || judge(p, base+60_000_000, 0).Used != 1 {
		t.Errorf("%+v", judge(p, base+60_000_000, 0))
	}
	if s.refund(base+60_000_000, Charged{Stamp: base / 60_000_000, Amount: 0}) {
		t.Error("gave nothing back and says that it did")
	}
}

// job is work in the queue that GCRA stands for.
type job struct {
	at, takes int64
	c         Charged
}

// emptyAt returns when a queue of the jobs is empty.
func emptyAt(jobs []job) int64 {
	end := int64(math.MinInt64)
	for _, j := range jobs {
		end = max(end, j.at) + j.takes
	}
	return end
}

// TestMeterRefund holds refunds of GCRA against a queue of jobs: without those
// that were given back it is never empty later. When nothing was charged since,
// and nothing else given back, they are empty at the same time.
func TestMeterRefund(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := New(GCRA, 10, 1_000_000, rapid.Int64Range(1, 12).Draw(t, "burst"), 0)
		if err != nil {
			t.Fatal(err)
		}
		m := EmptyMeter()
		now := int64(1_700_000_000_000_000)
		var jobs []job
		exact := true
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 2*p.Step)).Draw(t, "step")
			m.Advance(p, now)
			cost := rapid.Int64Range(1, p.Burst).Draw(t, "cost")
			if m.Judge(p, now, cost).OK {
				jobs = append(jobs, job{now, cost * p.Step, m.Charge(p, now, cost)})
			}
			if len(jobs) > 0 && rapid.Bool().Draw(t, "refund") {
				i := rapid.OneOf(rapid.Just(len(jobs)-1), rapid.IntRange(0, len(jobs)-1)).Draw(t, "which")
				newest := i == len(jobs)-1
				left := max(emptyAt(jobs)-now, 0)
				given := m.Refund(now, jobs[i].c)
				jobs = slices.Delete(jobs, i, i+1)
				if newest && exact && given != (left > 0) {
					t.Fatalf("gave back %v of %d µs that are left", given, left)
				}
				exact = exact && newest
			}
			got, want := max(m.TAT, now), max(emptyAt(jobs), now)
			if got < want || exact && got != want {
				t.Fatalf("empty at %d, want %d, exactly %v", got-now, want-now, exact)
			}
			if want == now && got == now {
				exact = true // all are worked off
			}
		}
	})
}

// TestMeterRefundsInOrder: a charge moves up when an older one is given back.
// Given back in its turn, late, it takes nothing from a charge after it.
func TestMeterRefundsInOrder(t *testing.T) {
	p, err := New(GCRA, 10, 1_000_000, 20, 0)
	if err != nil {
		t.Fatal(err)
	}
	ms := int64(1000)
	m := EmptyMeter()
	a, b := m.Charge(p, 0, 10), m.Charge(p, 0, 10) // until 1 s, until 2 s
	if !m.Refund(100*ms, a) || m.TAT != 1100*ms {
		t.Fatalf("%+v", m)
	}
	m.Charge(p, 1200*ms, 10)
	if m.Refund(1300*ms, b) || m.TAT != 2200*ms {
		t.Fatalf("b is worked off since 1.1 s: %+v", m)
	}

	m = EmptyMeter()
	a, b = m.Charge(p, 0, 10), m.Charge(p, 0, 10)
	if !m.Refund(0, a) || !m.Refund(0, b) || m.TAT != 0 {
		t.Fatalf("the older first: %+v", m)
	}
}

// TestMeterRefundAfterCut: when a clock stepped back, what a burst does not hold
// is given up, and nobody gets back what may have been another's.
func TestMeterRefundAfterCut(t *testing.T) {
	p, err := New(GCRA, 10, 1_000_000, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := EmptyMeter()
	c := m.Charge(p, 0, 10)
	m.Advance(p, -5_000_000)
	if m.Refund(-5_000_000, c) {
		t.Errorf("%+v", m)
	}
	m.Advance(p, -4_500_000)
	fresh := m.Charge(p, -4_500_000, 5)
	if m.Refund(-4_500_000, c) || !m.Refund(-4_500_000, fresh) || m.TAT != -4_000_000 {
		t.Errorf("%+v", m)
	}

	m = EmptyMeter()
	c = m.Charge(p, 0, 10)
	m.Advance(p, -500_000) // gives up half of it
	m.Charge(p, 0, 5)      // in its place
	if m.Refund(0, c) || m.TAT != 1_000_000 {
		t.Errorf("%+v", m)
	}
}

// TestMeterForgetsShifts when all that was charged before has been worked off.
func TestMeterForgetsShifts(t *testing.T) {
	p, err := New(GCRA, 10, 1_000_000, 20, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := EmptyMeter()
	a := m.Charge(p, 0, 10)
	m.Charge(p, 0, 10)
	if !m.Refund(0, a) || m.Shift != 1_000_000 {
		t.Fatalf("%+v", m)
	}
	if m.Charge(p, 1_500_000, 1); m.Shift != 1_000_000 {
		t.Errorf("forgotten while a receipt is good: %+v", m)
	}
	if m.Charge(p, 9_000_000, 1); m.Shift != 0 {
		t.Errorf("remembered for ever: %+v", m)
	}
}
