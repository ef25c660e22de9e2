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
		{"unknown", Events + 1, 1, MinSize, 0, 0, "unknown algorithm 6"},
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
	for a := SlidingLog; a <= Events; a++ {
		if got, ok := ParseAlgorithm(a.String()); !ok || got != a {
			t.Errorf("%v is read as %v, %v", a, got, ok)
		}
	}
	for _, name := range []string{"", "leaky", "Fixed", "algorithm(0)"} {
		if a, ok := ParseAlgorithm(name); ok {
			t.Errorf("%q is read as %v", name, a)
		}
	}
	if got := Algorithm(9).String() + Algorithm(0).String(); got != "algorithm(9)algorithm(0)" {
		t.Error(got)
	}
}
