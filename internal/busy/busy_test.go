package busy

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
)

var at = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func refused(w *Watch, rule, user string, n int) {
	for range n {
		d := slidegate.Decision{Action: slidegate.Reject, Rule: rule}
		w.Decided(&d, at, func() []slidegate.Attr { return []slidegate.Attr{slidegate.String("user", user)} })
	}
}

// TestWatch counts actions by rule, and the keys that were refused.
func TestWatch(t *testing.T) {
	var w Watch
	if s := w.Snapshot(10); len(s.Rules)+len(s.Keys) != 0 {
		t.Error(s)
	}
	var allowed slidegate.Decision
	w.Decided(&allowed, at, func() []slidegate.Attr { t.Error("asked for the key of what was allowed"); return nil })
	refused(&w, "a", "x", 3)
	refused(&w, "a", "y", 5)
	refused(&w, "b", "x", 4)
	s := w.Snapshot(2)
	if len(s.Rules) != 3 || s.Rules[0].Actions["allow"] != 1 || s.Rules[1].Actions["reject"] != 8 || s.Rules[2].Name != "b" || !s.Since.Equal(at) {
		t.Errorf("%+v", s.Rules)
	}
	if len(s.Keys) != 2 || s.Keys[0].Refused != 5 || s.Keys[0].Key[0].Value.String() != "y" || s.Keys[1].Rule != "b" {
		t.Errorf("%+v", s.Keys)
	}
	w.Keep(func(rule string) bool { return rule == "b" })
	if s := w.Snapshot(10); len(s.Rules) != 2 || len(s.Keys) != 1 || s.Keys[0].Rule != "b" {
		t.Errorf("%+v", s)
	}
}

// TestFlood: a flood of keys takes no more memory, and who is refused a lot stays.
func TestFlood(t *testing.T) {
	var w Watch
	refused(&w, "a", "often", 500)
	for i := range 20_000 {
		refused(&w, "a", fmt.Sprint(i), 1)
		if i%50 == 0 {
			refused(&w, "a", "often", 1)
		}
	}
	if n := len(w.keys); n > maxKeys {
		t.Errorf("%d keys", n)
	}
	k := w.Snapshot(1).Keys[0]
	if k.Key[0].Value.String() != "often" || k.Refused-k.Over > 900 || k.Refused < 900 {
		t.Errorf("%+v", k)
	}
}

// TestRace is for the race detector.
func TestRace(t *testing.T) {
	var w Watch
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				refused(&w, "a", fmt.Sprint(i*n), 1)
				w.Snapshot(5)
				w.Keep(func(string) bool { return true })
			}
		})
	}
	wg.Wait()
}
