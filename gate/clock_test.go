package gate

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
)

// TestStoreClock: a store that tells its time decides the time of the gate, unless the
// gate is given one.
func TestStoreClock(t *testing.T) {
	m, err := store.NewMemory(store.MemoryOptions{Now: func() int64 { return 1_000_000 }, SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	plan := compile(t, rule.Rule{Name: "r", Limits: limits("1 per 1m")})
	if got := newGate(t, plan, Options{Store: m}).Time(); !got.Equal(time.Unix(1, 0)) {
		t.Error(got)
	}
	given := func() time.Time { return time.Unix(2, 0) }
	if got := newGate(t, plan, Options{Store: m, Now: given}).Time(); !got.Equal(time.Unix(2, 0)) {
		t.Error(got)
	}
	if got := newGate(t, plan, Options{Store: struct{ store.Store }{m}}).Time(); time.Since(got).Abs() > time.Minute {
		t.Error(got)
	}
}
