package window

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// sight is one member in the naive version: a list, the oldest sight first.
type sight struct {
	h     Hash
	seen  int64
	batch uint64
}

// roster is the same members twice: in slots, and as a list.
type roster struct {
	m    Members
	list []sight
	now  int64
}

func (x *roster) index(h Hash) int {
	return slices.IndexFunc(x.list, func(s sight) bool { return s.h == h })
}

// see adds a member that is new, and touches one that is known.
func (x *roster) see(h Hash, batch uint64) {
	i := x.index(h)
	if i >= 0 {
		x.m.Touch(x.m.Find(h), x.now)
		x.list = append(slices.Delete(x.list, i, i+1), sight{h, x.now, 0})
		return
	}
	if int(x.m.Len) == len(x.m.Slots) {
		x.m.Move(stained(int(x.m.Len) + 1 + int(batch%5)))
	}
	x.m.Add(h, x.now, batch)
	x.list = append(x.list, sight{h, x.now, batch})
}

// stained returns slots that were used before, as an arena lends them.
func stained(n int) []Member {
	slots := make([]Member, n)
	for i := range slots {
		slots[i] = Member{Hash: Hash{1, 2}, Seen: -9, Batch: 7, older: 3, newer: 5, chain: 1, bucket: 2}
	}
	return slots
}

func (x *roster) remove(h Hash) {
	if i := x.index(h); i >= 0 {
		x.m.Remove(x.m.Find(h))
		x.list = slices.Delete(x.list, i, i+1)
	}
}

// pull steps the clock back.
func (x *roster) pull(by int64) {
	x.now -= by
	x.m.Pull(x.now)
	for i := range x.list {
		x.list[i].seen = min(x.list[i].seen, x.now)
	}
}

// batch takes out what one call brought in, and reports whether both agree. Which
// of them go first is open, so n is all or none of them.
func (x *roster) batch(batch uint64, all bool) bool {
	before := len(x.list)
	if !all {
		return x.m.Batch(batch, 0) == 0
	}
	x.list = slices.DeleteFunc(x.list, func(s sight) bool { return s.batch == batch })
	gone := before - len(x.list)
	return x.m.Batch(batch, before) == gone
}

// move puts the members into other slots, of any length that holds them.
func (x *roster) move(spare int) {
	x.m.Move(stained(len(x.list) + spare))
}

// do makes one call on both. It reports what differs.
func (x *roster) do(op, arg byte) string {
	h := Hash{uint64(arg % 29), uint64(arg%29) * 3}
	switch op % 8 {
	case 0, 1, 2, 3:
		x.now += int64(op / 8 % 4)
		x.see(h, uint64(arg/29)+1)
	case 4:
		x.remove(h)
	case 5:
		x.pull(int64(arg % 5))
	case 6:
		if !x.batch(uint64(arg/29)+1, arg%4 > 0) {
			return "Batch"
		}
	case 7:
		x.move(int(arg % 7))
	}
	return x.differs()
}

// differs says what the slots hold otherwise than the list, or what is wrong with
// their order and buckets.
func (x *roster) differs() string {
	if int(x.m.Len) != len(x.list) {
		return "Len"
	}
	place, older := x.m.Oldest, uint32(0)
	for _, want := range x.list {
		if place == 0 {
			return "the number of members in order"
		}
		e := x.m.at(place)
		switch {
		case e.Hash != want.h || e.Seen != want.seen || e.Batch != want.batch:
			return "a member"
		case e.older != older:
			return "the way back"
		case x.m.Find(want.h) != place:
			return "Find"
		}
		place, older = x.m.Newer(place), place
	}
	if place != 0 || x.m.Newest != older {
		return "the newest"
	}
	if x.m.Find(Hash{99, 99}) != 0 {
		return "Find of a stranger"
	}
	return x.buckets()
}

// buckets counts the members that the buckets lead to: each once, in the bucket
// of its hash.
func (x *roster) buckets() string {
	found := 0
	for i := range x.m.Slots {
		for place := x.m.Slots[i].bucket; place != 0; place = x.m.at(place).chain {
			if place > x.m.Len || x.m.at(place).Lo%uint64(len(x.m.Slots)) != uint64(i) {
				return "a bucket"
			}
			if found++; found > len(x.list) {
				return "the end of a bucket"
			}
		}
	}
	if found != len(x.list) {
		return "the number of members in buckets"
	}
	return ""
}

// playMembers runs calls, two bytes each.
func playMembers(t rapid.TB, now int64, calls []byte) {
	t.Helper()
	x := &roster{now: now}
	for i := 0; i+1 < len(calls); i += 2 {
		if what := x.do(calls[i], calls[i+1]); what != "" {
			t.Fatalf("call %d (%d, %d) at %d: %s differs from %v:\n%+v", i/2, calls[i]%8, calls[i+1], x.now, what, x.list, x.m)
		}
	}
}

func TestMembersAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := rapid.SampledFrom([]int64{0, 1_700_000_000_000_000, math.MinInt64 / 2, math.MaxInt64 / 2}).Draw(t, "start")
		playMembers(t, now, rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "calls"))
	})
}

func FuzzMembers(f *testing.F) {
	f.Add(int64(0), []byte{0, 10, 1, 20, 3, 4, 4, 10, 7, 3, 6, 31, 2, 80})
	f.Add(int64(1<<40), []byte{0, 1, 0, 30, 0, 59, 4, 1, 5, 3, 6, 61, 7, 0, 0, 1})
	f.Fuzz(func(t *testing.T, now int64, calls []byte) {
		playMembers(t, min(max(now, math.MinInt64/2), math.MaxInt64/2), calls[:min(len(calls), 400)])
	})
}

// TestMembersOfOneBucket: members that all fall into one bucket are told apart,
// whichever goes first.
func TestMembersOfOneBucket(t *testing.T) {
	for first := range uint64(6) {
		x := &roster{}
		x.move(6)
		for i := range uint64(6) {
			x.see(Hash{Hi: i, Lo: 6 * i}, 1)
		}
		for i := range uint64(6) {
			x.remove(Hash{Hi: (first + i) % 6, Lo: 6 * ((first + i) % 6)})
			if what := x.differs(); what != "" {
				t.Fatalf("from %d, %d removed: %s differs: %+v", first, i+1, what, x.m)
			}
		}
	}
}

// TestMembersBatchStopsAtItsNumber: no more than asked for are taken out.
func TestMembersBatchStopsAtItsNumber(t *testing.T) {
	x := &roster{}
	x.move(9)
	for i := range uint64(9) {
		x.see(Hash{i, i}, 1+i%2)
	}
	for _, want := range []int{2, 2, 1, 0} {
		if got := x.m.Batch(1, 2); got != want {
			t.Fatalf("%d taken out, want %d", got, want)
		}
	}
	if x.m.Len != 4 {
		t.Errorf("%d of the others are left, want 4", x.m.Len)
	}
}

// TestMembersOfTenThousand fills, renews and empties a large set.
func TestMembersOfTenThousand(t *testing.T) {
	const n = 10_000
	x := &roster{}
	x.move(n)
	hash := func(i uint64) Hash { return Hash{i * 0x9e3779b97f4a7c15, i * 0xc2b2ae3d27d4eb4f} }
	for i := range uint64(n) {
		x.m.Add(hash(i), int64(i), i+1)
	}
	for i := uint64(0); i < n; i += 2 { // the even ones become the newest
		x.m.Touch(x.m.Find(hash(i)), n+int64(i))
	}
	for i := uint64(1); i < n; i += 2 {
		if got := x.m.Hash(x.m.Oldest); got != hash(i) {
			t.Fatalf("the oldest is not number %d", i)
		}
		x.m.Remove(x.m.Oldest)
	}
	for i := uint64(0); i < n; i += 2 {
		place := x.m.Find(hash(i))
		if place != x.m.Oldest || x.m.Seen(place) != n+int64(i) {
			t.Fatalf("number %d at %d, the oldest is %d", i, place, x.m.Oldest)
		}
		x.m.Remove(place)
	}
	if x.m.Len != 0 || x.m.Oldest != 0 || x.m.Newest != 0 {
		t.Errorf("%+v", x.m.Len)
	}
}
