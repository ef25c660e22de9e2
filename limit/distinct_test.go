package limit

import (
	"fmt"
	"testing"

	"github.com/slidegate/slidegate/internal/model"
	"pgregory.net/rapid"
)

// drawDistinct draws parameters of Distinct, over time or by the calendar.
func drawDistinct(t *rapid.T) Params {
	maximum := rapid.Int64Range(0, 6).Draw(t, "max")
	p, err := New(Distinct, maximum, 1000, 0, 0)
	if rapid.IntRange(0, 2).Draw(t, "by the calendar") == 0 {
		p, err = NewCalendar(Distinct, maximum, irregular{1000, 300, 2000})
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// drawMembers draws up to four different members.
func drawMembers(t *rapid.T, least int) []string {
	all := rapid.Permutation([]string{"a", "b", "c", "d", "e", "f", "g", "h"}).Draw(t, "members")
	return all[:rapid.IntRange(least, 4).Draw(t, "number")]
}

// TestDistinctAgainstModel: checks, refunds, recorded checks, steps back, and
// maxima that are raised and lowered.
func TestDistinctAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawDistinct(t)
		fast, slow := &membersDriver{}, &model.Members{}
		charges := map[int64]Charged{}
		now := int64(base)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 400), rapid.Int64Range(998, 1002), rapid.Int64Range(-600, 0)).Draw(t, "step")
			if rapid.IntRange(0, 9).Draw(t, "reload") == 0 {
				p.Max = rapid.Int64Range(0, 6).Draw(t, "new max")
			}
			members, id := drawMembers(t, 0), int64(fast.batch)+1
			var got Result
			var want model.Result
			if rapid.IntRange(0, 5).Draw(t, "record") == 0 {
				got, want = fast.record(p, now, members), slow.Record(toModel(p), now, members, id)
			} else {
				got, want = fast.check(p, now, members), slow.Check(toModel(p), now, members, id)
			}
			if fromResult(got) != want {
				t.Fatalf("%v at %d: %+v, want %+v", members, now, got, want)
			}
			if int64(fast.batch) == id {
				charges[id] = fast.charged
			}
			if id = rapid.Int64Range(0, id).Draw(t, "refund"); charges[id] == (Charged{}) {
				continue
			}
			if fast.Newest == 0 || fast.Seen(fast.Newest) <= now {
				fast.Advance(p, now) // so that what has left is gone
			}
			if got, want := fast.Refund(uint64(id), charges[id]), slow.Refund(toModel(p), now, id); got != want {
				t.Fatalf("refund %d at %d: %v, want %v", id, now, got, want)
			}
			if got, want := fast.check(p, now, nil), slow.Check(toModel(p), now, nil, 0); fromResult(got) != want {
				t.Fatalf("after refund %d at %d: %+v, want %+v", id, now, got, want)
			}
		}
	})
}

// TestDistinctRetryByForce tries every microsecond until the given members fit.
func TestDistinctRetryByForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawDistinct(t)
		d := &membersDriver{}
		now := int64(base)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			now += rapid.Int64Range(0, 400).Draw(t, "step")
			members := drawMembers(t, 1)
			r := d.check(p, now, members)
			if r.OK || r.Never {
				continue
			}
			given, wait := hashes(members), int64(0)
			for !d.Judge(p, now+wait, given).OK {
				wait++
			}
			if r.Retry != wait {
				t.Fatalf("%v at %d: %+v, fits after %d", members, now, r, wait)
			}
		}
	})
}

// TestDistinctEdges: three different phones a minute.
func TestDistinctEdges(t *testing.T) {
	const second, minute = 1_000_000, 60_000_000
	p, err := New(Distinct, 3, minute, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := &membersDriver{}
	for _, e := range []struct {
		name    string
		at      int64
		members []string
		want    Result
	}{
		{"no members before the first", 0, nil, Result{OK: true, Remaining: 3}},
		{"the first", 0, []string{"a"}, Result{OK: true, Used: 1, Remaining: 2, Reset: minute}},
		{"two more than there is room for", 5 * second, []string{"b", "c", "d"}, Result{Used: 1, Remaining: 2, Retry: minute - 5*second, Reset: minute - 5*second}},
		{"never", 5 * second, []string{"a", "b", "c", "d"}, Result{Never: true, Used: 1, Remaining: 2, Reset: minute - 5*second}},
		{"a known one and two new ones", 10 * second, []string{"b", "a", "c"}, Result{OK: true, Used: 3, Reset: minute}},
		{"known ones pass when it is full", 20 * second, []string{"c", "b"}, Result{OK: true, Used: 3, Reset: minute}},
		{"a new one does not", 30 * second, []string{"d"}, Result{Used: 3, Retry: 40 * second, Reset: 50 * second}},
		{"until the oldest other one has left", 30 * second, []string{"a", "d"}, Result{Used: 3, Retry: 50 * second, Reset: 50 * second}},
		{"1 µs before the edge", minute + 10*second - 1, []string{"d"}, Result{Used: 3, Retry: 1, Reset: 10*second + 1}},
		{"at the edge a renewed member is still there", minute + 10*second, []string{"d"}, Result{OK: true, Used: 3, Reset: minute}},
		{"time back", 40 * second, []string{"e"}, Result{Used: 3, Retry: 40 * second, Reset: minute}},
		{"gap longer than the window", 999 * minute, []string{"x", "y", "z"}, Result{OK: true, Used: 3, Reset: minute}},
	} {
		if got := d.check(p, base+e.at, e.members); got != e.want {
			t.Errorf("%s:\n got %+v\nwant %+v", e.name, got, e.want)
		}
	}
}

// TestDistinctRefund takes out what that charge brought in and nobody saw since,
// also when it was seen in the same microsecond.
func TestDistinctRefund(t *testing.T) {
	p, err := New(Distinct, 9, 1000, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, later := range []int64{0, 1} {
		d := &membersDriver{}
		d.check(p, base, []string{"old"})
		d.check(p, base, []string{"old", "a", "b", "c"})
		first, number := d.charged, d.batch
		d.check(p, base+later, []string{"b", "d"})
		if first.Amount != 3 || !d.Refund(number, first) || d.Len != 3 {
			t.Fatalf("%d µs later: %+v, %d are left, want old, b, d", later, first, d.Len)
		}
		for _, h := range hashes([]string{"old", "b", "d"}) {
			if d.Find(h) == 0 {
				t.Errorf("%d µs later: a member that was seen by another is gone", later)
			}
		}
		if d.Refund(number, first) {
			t.Errorf("%d µs later: given back twice", later)
		}
		d.check(p, base+later, []string{"old", "b"})
		if d.charged.Amount != 0 || d.Refund(d.batch, d.charged) {
			t.Errorf("%d µs later: a charge that brought nothing in was given back: %+v", later, d.charged)
		}
	}
}

// TestDistinctRecord: members that fit are recorded. Of others, those that are known
// are seen again, and a new one does not get in by trying twice.
func TestDistinctRecord(t *testing.T) {
	p, err := New(Distinct, 3, 1000, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := &membersDriver{}
	for i, m := range []string{"a", "b", "c"} {
		if r := d.record(p, base+100*int64(i), []string{m}); !r.OK || r.Used != int64(i)+1 {
			t.Fatalf("member %s: %+v", m, r)
		}
	}
	for range 2 {
		if r, want := d.record(p, base+500, []string{"a", "d"}), (Result{Used: 3, Retry: 600, Reset: 1000}); r != want {
			t.Fatalf("%+v, want %+v", r, want)
		}
	}
	if r := d.record(p, base+600, []string{"p", "q", "r", "s"}); !r.Never || r.Used != 3 {
		t.Errorf("more than ever fit: %+v", r)
	}
	if r := d.check(p, base+1100, []string{"d"}); !r.OK || r.Used != 3 { // b is out, a was seen again
		t.Errorf("%+v", r)
	}
	p.Max = 1
	if r := d.record(p, base+1100, []string{"u"}); r.OK || r.Used != 3 {
		t.Errorf("a lower maximum forgot members: %+v", r)
	}
}

// TestDistinctNeverOver: no real window holds more than max different members that
// were let through, recorded refusals or not.
func TestDistinctNeverOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := New(Distinct, rapid.Int64Range(1, 5).Draw(t, "max"), 1000, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		d := &membersDriver{}
		now := int64(base)
		seen := map[string]int64{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.Int64Range(0, 300).Draw(t, "step")
			members := drawMembers(t, 1)
			run := d.check
			if rapid.Bool().Draw(t, "record") {
				run = d.record
			}
			if !run(p, now, members).OK {
				continue
			}
			for _, m := range members {
				seen[m] = now
			}
			different := int64(0)
			for _, at := range seen {
				if now-at < p.Size {
					different++
				}
			}
			if different > p.Max {
				t.Fatalf("%d different members in a window, max %d", different, p.Max)
			}
		}
	})
}

// TestDistinctTenThousand: the largest set, full, renewed, and left.
func TestDistinctTenThousand(t *testing.T) {
	p, err := New(Distinct, MaxMembers, MaxSize, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := &membersDriver{}
	members := make([]string, MaxMembers)
	for i := range members {
		members[i] = fmt.Sprint("member ", i)
	}
	if r := d.check(p, base, members[:MaxMembers-1]); !r.OK || r.Remaining != 1 {
		t.Fatalf("%+v", r)
	}
	if r := d.check(p, base+5, members); !r.OK || r.Remaining != 0 {
		t.Fatalf("%+v", r)
	}
	for i := range 100 {
		at := base + 10 + int64(i)
		if r := d.check(p, at, members[i:i+1]); !r.OK {
			t.Fatalf("a known member: %+v", r)
		}
		if r := d.check(p, at, []string{"new"}); r.OK || r.Retry != MaxSize-(at-base-5) {
			t.Fatalf("a new member: %+v", r)
		}
	}
	if r := d.check(p, base+5+MaxSize, []string{"new"}); !r.OK || r.Used != 101 {
		t.Errorf("when all but the renewed have left: %+v", r)
	}
}
