package measure

import (
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/bench/internal/peer"
)

func TestDisturbance(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		d    Disturbance
		want string // in the reason
	}{
		"quiet, one worker":           {Disturbance{Workers: 1, Wall: s, CPU: s}, ""},
		"quiet, two workers":          {Disturbance{Workers: 2, Wall: s, CPU: 2 * s}, ""},
		"two that sleep on a lock":    {Disturbance{Workers: 2, Wall: s, CPU: s}, ""},
		"a little waiting":            {Disturbance{Workers: 1, Wall: s, CPU: s, Waited: 15 * time.Millisecond}, ""},
		"waiting":                     {Disturbance{Workers: 1, Wall: s, CPU: s, Waited: 30 * time.Millisecond}, "waited for a processor for 3 %"},
		"waiting is shared by two":    {Disturbance{Workers: 2, Wall: s, CPU: 2 * s, Waited: 30 * time.Millisecond}, ""},
		"waiting of two":              {Disturbance{Workers: 2, Wall: s, CPU: 2 * s, Waited: 100 * time.Millisecond}, "waited"},
		"wall time far over CPU time": {Disturbance{Workers: 1, Wall: s, CPU: 900 * time.Millisecond}, "wall time"},
		"neither of two ran":          {Disturbance{Workers: 2, Wall: s, CPU: 900 * time.Millisecond}, "wall time"},
		"a gap":                       {Disturbance{Workers: 1, Wall: s, CPU: s, Lost: 25 * time.Millisecond}, "stood still for 2 %"},
		"no time":                     {Disturbance{Workers: 1}, "no time"},
	} {
		got := c.d.Reason()
		if got != "" != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestGapsAreSeen: a limiter that stands still once loses that time, and no
// other.
func TestGapsAreSeen(t *testing.T) {
	calls := 0
	stall := func(string) bool {
		if calls++; calls == 1000 {
			time.Sleep(3 * gap)
		}
		return true
	}
	got := work(stall, []string{"k"}, []uint32{0}, time.Now(), 5*gap)
	if got.lost < 3*gap {
		t.Errorf("lost %v, want at least %v", got.lost, 3*gap)
	}
	if got.ops != int64(calls) || got.admitted != got.ops {
		t.Errorf("%d calls, counted %d and %d", calls, got.ops, got.admitted)
	}
}

func TestOrders(t *testing.T) {
	cases := SpeedCases(1000)
	for i := range cases {
		c := &cases[i]
		for g := range c.Goroutines {
			o := order(c, g)
			if len(o)&(len(o)-1) != 0 {
				t.Fatalf("%s: %d draws, want a power of two", c.ID, len(o))
			}
			hits := make([]int, c.Keys)
			for _, k := range o {
				hits[k]++
			}
			if c.ID == "uniform" && (hits[0] < len(o)/2000 || hits[0] > len(o)/500) {
				t.Errorf("uniform: key 0 was drawn %d times of %d", hits[0], len(o))
			}
			if c.ID == "zipf" && hits[0] < 10*hits[9] {
				t.Errorf("zipf: key 0 was drawn %d times, key 9 %d times", hits[0], hits[9])
			}
		}
	}
	uniform := &cases[len(cases)-1]
	a, b, again := order(uniform, 0), order(uniform, 1), order(uniform, 0)
	if a[0] == b[0] && a[1] == b[1] && a[2] == b[2] {
		t.Error("both goroutines ask for the same keys")
	}
	if a[0] != again[0] || a[99] != again[99] {
		t.Error("the order changes from one limiter to the next")
	}
}

func TestCaseTitles(t *testing.T) {
	if got := SpeedCases(1_000_000)[5].Title; got != "uniform 1M keys, 2g" {
		t.Error(got)
	}
	if got := MemoryCases(1_000_000)[1].Title; got != "10k keys, 100 hits" {
		t.Error(got)
	}
	if got := count(1234); got != "1234" {
		t.Error(got)
	}
}

// TestSpeed: every limiter stands every load.
func TestSpeed(t *testing.T) {
	for _, l := range peer.All() {
		for _, c := range SpeedCases(1000) {
			if !l.In(peer.Speed) || c.ID == "refused-2" || c.ID == "admitted-2" {
				continue
			}
			out, err := Speed(&Job{Table: peer.Speed, Case: c.ID, Limiter: l.ID, Keys: 1000, Length: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if ns := out.Values[NsPerOp]; ns <= 0 || ns > 1e6 {
				t.Errorf("%s, %s: %v ns", l.ID, c.ID, ns)
			}
			admitted := out.Values[Admitted]
			if c.ID == "refused-1" && admitted > 0.5 && l.Kind != peer.Floor {
				t.Errorf("%s, %s: %v admitted", l.ID, c.ID, admitted)
			}
			if c.Admits && admitted < 0.999 {
				t.Errorf("%s, %s: only %v admitted", l.ID, c.ID, admitted)
			}
		}
	}
}

func TestMemory(t *testing.T) {
	for _, c := range MemoryCases(2000) {
		out, err := Memory(&Job{Table: peer.Memory, Case: c.ID, Limiter: peer.NaiveFixedID, Keys: 2000})
		if err != nil {
			t.Fatal(err)
		}
		if heap := out.Values[HeapPerKey]; c.ID == "one-hit" && (heap < 30 || heap > 1000) {
			t.Errorf("%s: %v B for a key", c.ID, heap)
		}
		if gc := out.Values[GCWall]; gc <= 0 || gc > 1000 {
			t.Errorf("%s: a collection took %v ms", c.ID, gc)
		}
		if _, ok := out.Values[NsPerKey]; ok != (c.Hits == 1) {
			t.Errorf("%s: the cost of a first hit is known: %v", c.ID, ok)
		}
	}
}

func TestUnknownJobs(t *testing.T) {
	for _, j := range []Job{{Case: "refused-1", Limiter: "none", Keys: 1000}, {Case: "none", Limiter: peer.OursID, Keys: 1000}} {
		if _, err := Speed(&j); err == nil {
			t.Errorf("Speed(%+v) went through", j)
		}
		j.Case = strings.Replace(j.Case, "refused-1", "one-hit", 1)
		if _, err := Memory(&j); err == nil {
			t.Errorf("Memory(%+v) went through", j)
		}
	}
}
