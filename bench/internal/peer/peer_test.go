package peer

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func open(t *testing.T, l *Limiter, q Quota) Allow {
	t.Helper()
	allow, stop, err := l.Open(q)
	if err != nil {
		t.Fatalf("%s: %v", l.ID, err)
	}
	if stop != nil {
		t.Cleanup(stop)
	}
	return allow
}

// TestAHundredAtOneInstant: whatever a limiter promises over time, of 150 hits
// at one instant it admits 100, for each key.
func TestAHundredAtOneInstant(t *testing.T) {
	for _, l := range All() {
		allow := open(t, &l, Quota{Max: 100, Per: time.Hour})
		for _, key := range []string{"user-0000001", "user-0000002"} {
			want := 100
			if l.Kind == Floor {
				want = 150
			}
			admitted := 0
			for range 150 {
				if allow(key) {
					admitted++
				}
			}
			if admitted != want {
				t.Errorf("%s, %s: %d of 150 admitted, want %d", l.ID, key, admitted, want)
			}
		}
	}
}

// TestAHundredFromManyGoroutines: nor do goroutines get more out of it.
func TestAHundredFromManyGoroutines(t *testing.T) {
	for _, l := range All() {
		if l.Kind == Floor {
			continue
		}
		allow := open(t, &l, Quota{Max: 100, Per: time.Hour})
		var admitted atomic.Int64
		var done sync.WaitGroup
		for range 4 {
			done.Go(func() {
				for range 100 {
					if allow("user-0000001") {
						admitted.Add(1)
					}
				}
			})
		}
		done.Wait()
		if n := admitted.Load(); n != 100 {
			t.Errorf("%s: %d of 400 admitted, want 100", l.ID, n)
		}
	}
}

// TestPlentyIsNeverUsedUp: the case in which all is admitted is one, also after
// several windows have passed.
func TestPlentyIsNeverUsedUp(t *testing.T) {
	for _, l := range All() {
		if !l.In(Speed) {
			continue
		}
		q := l.Plenty
		if q == (Quota{}) {
			q = Plenty()
		}
		allow := open(t, &l, q)
		refused := 0
		for end := time.Now().Add(10 * time.Millisecond); time.Now().Before(end); {
			for range 100 {
				if !allow("user-0000001") {
					refused++
				}
			}
		}
		if refused > 0 {
			t.Errorf("%s: %d hits refused of a quota of %d per %v", l.ID, refused, q.Max, q.Per)
		}
	}
}

// TestKeysComeBack: after a window everything is admitted again.
func TestKeysComeBack(t *testing.T) {
	const per = 20 * time.Millisecond
	for _, l := range All() {
		if l.Kind == Floor || l.Kind == SlidingCounter || l.ID == RulesID {
			continue // counters weigh the window before; the rules have one twice as long
		}
		allow := open(t, &l, Quota{Max: 3, Per: per})
		for range 5 {
			allow("user-0000001")
		}
		time.Sleep(per + per/10) // buckets free up to a sixtieth of a window late
		admitted := 0
		for range 3 {
			if allow("user-0000001") {
				admitted++
			}
		}
		if admitted != 3 {
			t.Errorf("%s: %d of 3 admitted after a window", l.ID, admitted)
		}
	}
}

func TestIDsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range All() {
		if seen[l.ID] || l.ID == "" || l.Name == "" || l.Kind == "" || len(l.Tables) == 0 {
			t.Errorf("%+v: an ID of its own, a name, a kind and tables are needed", l)
		}
		seen[l.ID] = true
		if found, err := Find(l.ID); err != nil || found.Name != l.Name {
			t.Errorf("Find(%q) = %q, %v", l.ID, found.Name, err)
		}
	}
	for _, id := range []string{OursID, RulesID, LogID, ClockID, NaiveFixedID, NaiveLogID, GoLimiterID, ThrottledID} {
		if !seen[id] {
			t.Errorf("goals name %q, and it is not there", id)
		}
	}
	if _, err := Find("nobody"); err == nil {
		t.Error("Find(nobody) found somebody")
	}
}

func TestModules(t *testing.T) {
	got := Modules(All())
	if len(got) != 6 || got[0] != "github.com/go-chi/httprate" {
		t.Errorf("Modules = %v", got)
	}
}

func TestNumber(t *testing.T) {
	for key, want := range map[string]int{"user-0000001": 1, "user-0012345": 12345, "user": 0, "": 0, "7": 7} {
		if got := number(key); got != want {
			t.Errorf("number(%q) = %d, want %d", key, got, want)
		}
	}
}

func TestLimitText(t *testing.T) {
	for want, q := range map[string]Quota{"100 per 60s": {100, time.Minute}, "5 per 200ms": {5, 200 * time.Millisecond}, "1 per 1500ms": {1, 1500 * time.Millisecond}} {
		if got := limitText(q); got != want {
			t.Errorf("limitText(%v) = %q, want %q", q, got, want)
		}
	}
}

// TestNaiveLogMovesDown: the log neither loses a stamp nor grows for ever when
// it is moved down.
func TestNaiveLogMovesDown(t *testing.T) {
	var l log
	for i := range 1000 {
		l.add(time.Duration(i))
		for len(l.stamps)-l.head > 10 {
			l.head++
		}
		for k, s := range l.stamps[l.head:] {
			if want := max(0, i-9) + k; s != time.Duration(want) {
				t.Fatalf("after %d: stamp %d is %d, want %d", i, k, s, want)
			}
		}
	}
	if cap(l.stamps) > 64 {
		t.Errorf("ten live stamps take %d places", cap(l.stamps))
	}
}
