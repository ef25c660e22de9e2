package limit

import (
	"slices"
	"testing"

	"github.com/slidegate/slidegate/internal/model"
	"pgregory.net/rapid"
)

// held is a place in flight: in the fast version, and its name in the model.
type held struct {
	c  Charged
	id int64
}

// TestHoldersAgainstModel takes, releases and renews places at random, some of them
// again and late.
func TestHoldersAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := New(Inflight, rapid.Int64Range(0, 6).Draw(t, "max"), 1000, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		fast, slow := &holdersDriver{}, &model.Holders{}
		now := int64(base)
		var all []held
		for n := range rapid.Int64Range(1, 60).Draw(t, "steps") {
			now += rapid.Int64Range(1, 400).Draw(t, "step")
			cost := rapid.Int64Range(1, 3).Draw(t, "cost")
			r := fast.check(p, now, cost)
			if want := slow.Check(toModel(p), now, cost); fromResult(r) != want {
				t.Fatalf("at %d: %+v, want %+v", now, r, want)
			}
			if r.OK {
				slow.Name(n + 1)
				all = append(all, held{Charged{Stamp: now, Amount: cost}, n + 1})
			}
			if len(all) == 0 {
				continue
			}
			now++ // no two places of one instant: who is who, only a store knows
			h := &all[rapid.IntRange(0, len(all)-1).Draw(t, "which")]
			var got, want bool
			switch rapid.IntRange(0, 2).Draw(t, "call") {
			case 0:
				fast.Advance(p, now)
				got, want = fast.Refund(now, h.c), slow.Refund(toModel(p), now, h.id)
			case 1:
				h.c, got = fast.renew(p, now, h.c)
				want = slow.Renew(toModel(p), now, h.id)
			}
			if got != want {
				t.Fatalf("at %d, %+v: %v, want %v", now, h, got, want)
			}
			if r, want := fast.check(p, now, 0), slow.Check(toModel(p), now, 0); fromResult(r) != want {
				t.Fatalf("at %d, after a call: %+v, want %+v", now, r, want)
			}
		}
	})
}

// TestHolderDeadlines: a holder goes at its deadline and not one microsecond
// before; renewed, at the next one. The delay of a refusal is the earliest deadline
// that must pass.
func TestHolderDeadlines(t *testing.T) {
	p, err := New(Inflight, 3, 1000, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := &holdersDriver{}
	for _, at := range []int64{0, 100, 200} {
		d.check(p, base+at, 1)
	}
	if r, want := d.check(p, base+300, 1), (Result{Used: 3, Retry: 700, Reset: 900}); r != want {
		t.Fatalf("%+v, want %+v", r, want)
	}
	lower := p
	lower.Max = 1
	if r, want := d.check(lower, base+300, 1), (Result{Used: 3, Retry: 900, Reset: 900}); r != want {
		t.Fatalf("all three must go: %+v, want %+v", r, want)
	}
	renewed, ok := d.renew(p, base+400, Charged{Stamp: base, Amount: 1})
	if !ok || renewed != (Charged{Stamp: base + 400, Amount: 1}) {
		t.Fatalf("%+v, %v", renewed, ok)
	}
	if r := d.check(p, base+400, 1); r.Retry != 700 {
		t.Fatalf("the one that was not renewed goes first: %+v", r)
	}
	if c, ok := d.renew(p, base+400, Charged{Stamp: base, Amount: 1}); ok {
		t.Fatalf("renewed twice: %+v", c)
	}
	for _, c := range []struct {
		at   int64
		used int64
	}{{1099, 3}, {1100, 2}, {1199, 2}, {1200, 1}, {1399, 1}, {1400, 0}} {
		if r := d.check(p, base+c.at, 0); r.Used != c.used {
			t.Errorf("at %d: %+v, want %d", c.at, r, c.used)
		}
	}
	if _, ok := d.renew(p, base+1400, renewed); ok {
		t.Error("renewed after its deadline")
	}
}

// TestHoldersOfOneInstant are released one by one.
func TestHoldersOfOneInstant(t *testing.T) {
	p, err := New(Inflight, 3, 1000, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := &holdersDriver{}
	for range 3 {
		d.check(p, base, 1)
	}
	c := Charged{Stamp: base, Amount: 1}
	var got []bool
	for range 4 {
		got = append(got, d.Refund(base, c))
	}
	if !slices.Equal(got, []bool{true, true, true, false}) || d.Len != 0 {
		t.Errorf("released %v, %d are left", got, d.Len)
	}
}
