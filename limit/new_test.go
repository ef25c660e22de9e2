package limit

import (
	"math"
	"strings"
	"testing"
)

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		name                          string
		a                             Algorithm
		maximum, size, burst, buckets int64
		want                          string // "" is right
	}{
		{"sliding log", SlidingLog, 100, 60_000_000, 0, 0, ""},
		{"the least", SlidingLog, 0, MinSize, 0, 0, ""},
		{"the largest log", SlidingLog, MaxLog, MaxSize, 0, 0, ""},
		{"the largest buckets", SlidingBuckets, MaxUnits, MaxSize, 0, MaxBuckets, ""},
		{"the most events", Events, MaxUnits, MaxEvents, 0, 0, ""},
		{"one event", Events, 1, 1, 0, 0, ""},
		{"a ban of gcra", GCRA, 0, MinSize, math.MaxInt64, 0, ""},
		{"unknown", 0, 1, MinSize, 0, 0, "unknown algorithm 0"},
		{"unknown", lastAlgorithm + 1, 1, MinSize, 0, 0, "unknown algorithm 10"},
		{"negative max", Fixed, -1, MinSize, 0, 0, "max -1: want 0 to 2^53"},
		{"max over 2^53", Fixed, MaxUnits + 1, MinSize, 0, 0, "max 9007199254740993: want 0 to 2^53"},
		{"short window", Fixed, 1, MinSize - 1, 0, 0, "size 999 µs: want 1ms to 400d"},
		{"long window", Fixed, 1, MaxSize + 1, 0, 0, "want 1ms to 400d"},
		{"no size", Fixed, 1, 0, 0, 0, "size 0 µs"},
		{"no events", Events, 1, 0, 0, 0, "size 0: want 1 to 10000000 events"},
		{"too many events", Events, 1, MaxEvents + 1, 0, 0, "size 10000001: want 1 to 10000000 events"},
		{"long log", SlidingLog, MaxLog + 1, MinSize, 0, 0, "a sliding log holds at most 100000 hits"},
		{"no buckets", SlidingBuckets, 1, MinSize, 0, 0, "buckets 0: sliding buckets, and only they, need them"},
		{"negative buckets", SlidingBuckets, 1, MinSize, 0, -5, "buckets -5: want 1 to 1000"},
		{"too many buckets", SlidingBuckets, 1, MinSize, 0, MaxBuckets + 1, "buckets 1001: want 1 to 1000"},
		{"buckets of a log", SlidingLog, 1, MinSize, 0, 5, "buckets 5: sliding buckets, and only they, need them"},
		{"no burst", GCRA, 1, MinSize, 0, 0, "burst 0: gcra, and only gcra, needs one"},
		{"negative burst", GCRA, 1, MinSize, -2, 0, "burst -2: want 1 or more"},
		{"burst of fixed", Fixed, 1, MinSize, 3, 0, "burst 3: gcra, and only gcra, needs one"},
		{"calendar without periods", Calendar, 1, MinSize, 0, 0, "calendar: make it with NewCalendar"},
		{"the most in flight", Inflight, MaxLog, MaxSize, 0, 0, ""},
		{"more in flight", Inflight, MaxLog + 1, MinSize, 0, 0, "max 100001: at most 100000 are held in flight"},
		{"the most members", Distinct, MaxMembers, MaxSize, 0, 0, ""},
		{"more members", Distinct, MaxMembers + 1, MinSize, 0, 0, "max 10001: a distinct holds at most 10000 members"},
		{"the largest counter", SlidingCounter, MaxUnits, MaxSize, 0, 0, ""},
		{"burst of a counter", SlidingCounter, 1, MinSize, 1, 0, "burst 1: gcra, and only gcra, needs one"},
		{"burst of 300 years", GCRA, 1, MaxSize, 1 << 30, 0, "a burst takes longer than 2^53 µs"},
	} {
		p, err := New(c.a, c.maximum, c.size, c.burst, c.buckets)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		case err != nil && p != Params{}:
			t.Errorf("%s: an error and %+v", c.name, p)
		}
	}
}

func TestNewJoinsAllErrors(t *testing.T) {
	_, err := New(Fixed, -1, 0, 3, 5)
	for _, want := range []string{"max -1", "size 0", "burst 3", "buckets 5"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

func TestNewDerives(t *testing.T) {
	for _, c := range []struct {
		a                                   Algorithm
		maximum, size, burst, buckets, step int64
	}{
		{SlidingBuckets, 5, 60_000_000, 0, 60, 1_000_000},
		{SlidingBuckets, 5, 1000, 0, 7, 143}, // rounded up
		{SlidingBuckets, 5, 1000, 0, 1000, 1},
		{GCRA, 60, 60_000_000, 5, 0, 1_000_000},
		{GCRA, 7, 1_000_000, 5, 0, 142_858}, // rounded up
		{GCRA, 5000, 1000, 5, 0, 1},
		{GCRA, 0, 1000, 5, 0, 0},
		{Fixed, 5, 1000, 0, 0, 0},
	} {
		p, err := New(c.a, c.maximum, c.size, c.burst, c.buckets)
		if err != nil || p.Step != c.step {
			t.Errorf("%v of %d per %d: step %d, want %d, %v", c.a, c.maximum, c.size, p.Step, c.step, err)
		}
	}
}

func TestAlgorithmNames(t *testing.T) {
	for a := SlidingLog; a <= lastAlgorithm; a++ {
		if got, ok := ParseAlgorithm(a.String()); !ok || got != a {
			t.Errorf("%v is read as %v, %v", a, got, ok)
		}
	}
	for _, name := range []string{"", "leaky", "Fixed", "algorithm(0)"} {
		if a, ok := ParseAlgorithm(name); ok {
			t.Errorf("%q is read as %v", name, a)
		}
	}
	if got := (lastAlgorithm + 1).String() + Algorithm(0).String(); got != "algorithm(10)algorithm(0)" {
		t.Error(got)
	}
}

func TestNewCalendar(t *testing.T) {
	for _, a := range []Algorithm{Calendar, Distinct} {
		if p, err := NewCalendar(a, 5, months); err != nil || p.Max != 5 || p.Size != 0 || p.Periods == nil {
			t.Errorf("%v: %+v, %v", a, p, err)
		}
	}
	for _, c := range []struct {
		a       Algorithm
		maximum int64
		periods Periods
		want    string
	}{
		{Fixed, 5, months, "fixed of a calendar: want periods, and calendar or distinct"},
		{Calendar, 5, nil, "calendar of a calendar: want periods"},
		{Calendar, -1, months, "max -1: want 0 to 2^53"},
		{Distinct, MaxMembers + 1, months, "a distinct holds at most 10000 members"},
	} {
		if _, err := NewCalendar(c.a, c.maximum, c.periods); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v of %d: error %v, want %q", c.a, c.maximum, err, c.want)
		}
	}
}

func TestQueued(t *testing.T) {
	base, err := New(GCRA, 10, 1_000_000, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ wait, queue, want int64 }{
		{250_000, 100, 250_000}, // the wait binds
		{10_000_000, 7, 700_000},
		{1, 1, 1},
		{MaxSize, MaxUnits, MaxSize},
	} {
		p, err := base.Queued(c.wait, c.queue)
		if err != nil || p.Wait != c.want || p.Reach != 300_000+c.want {
			t.Errorf("wait %d, queue %d: %+v, %v", c.wait, c.queue, p, err)
		}
	}
	for _, c := range []struct {
		wait, queue int64
		want        string
	}{
		{0, 5, "wait 0 µs: want 1 µs to 400d"},
		{MaxSize + 1, 5, "want 1 µs to 400d"},
		{5, 0, "queue 0: want 1 to 2^53"},
		{5, MaxUnits + 1, "want 1 to 2^53"},
	} {
		if _, err := base.Queued(c.wait, c.queue); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("wait %d, queue %d: error %v, want %q", c.wait, c.queue, err, c.want)
		}
	}
	log, err := New(SlidingLog, 10, 1_000_000, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Queued(5, 5); err == nil || !strings.Contains(err.Error(), "sliding_log: only gcra has a queue") {
		t.Error(err)
	}
	ban, err := New(GCRA, 0, 1_000_000, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := EmptyMeter()
	if p, err := ban.Queued(5, 5); err != nil || m.Judge(p, 0, 1) != (Result{Never: true}) {
		t.Errorf("a queue of a ban: %+v, %v", p, err)
	}
}
