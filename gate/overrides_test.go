package gate

import (
	"math"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

// admittedAt counts how many of n checks pass.
func admittedAt(t *testing.T, g *Gate, n int, attrs ...slidegate.Attr) (admitted int) {
	t.Helper()
	for range n {
		if d := check(t, g, event("e", attrs...)); d.Admitted() {
			admitted++
		}
	}
	return admitted
}

// overridden is a rule in which exports have another maximum.
func overridden(l rule.Limit, export string) rule.Rule {
	return rule.Rule{Name: "r", Key: []string{"user"}, Limits: []rule.Limit{l},
		Overrides: []rule.Override{{Match: []rule.Matcher{{"api": {"export"}}}, Limits: []string{export}}}}
}

// TestRefusedOverrideChangesNothing: an event that is refused under one maximum
// must not make room for events under another.
func TestRefusedOverrideChangesNothing(t *testing.T) {
	user, export := slidegate.String("user", "u"), slidegate.String("api", "export")
	for _, c := range []struct {
		name   string
		limit  rule.Limit
		export string
		want   int
	}{
		{"gcra", rule.Limit{Limit: "10 per 1m", Algorithm: "gcra", Burst: new(int64(10))}, "1000 per 1m", 10},
		{"count_refused log", rule.Limit{Limit: "5 per 1m", CountRefused: true}, "1 per 1m", 5},
		{"count_refused buckets", rule.Limit{Limit: "5 per 1m", CountRefused: true, Algorithm: "sliding_buckets"}, "1 per 1m", 5},
		{"count_refused ban", rule.Limit{Limit: "5 per 1m", CountRefused: true}, "0 per 1m", 5},
		{"count_refused fixed", rule.Limit{Limit: "5 per 1m", CountRefused: true, Algorithm: "fixed"}, "1 per 1m", 5},
		{"log", rule.Limit{Limit: "5 per 1m"}, "1 per 1m", 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGate(t, compile(t, overridden(c.limit, c.export)), newClock().options())
			admitted := 0
			for range 50 {
				admitted += admittedAt(t, g, 10, user)
				if n := admittedAt(t, g, 1, user, export); n != 0 {
					t.Fatal("the export passed")
				}
			}
			if admitted != c.want {
				t.Errorf("%d admitted at one instant, want %d", admitted, c.want)
			}
		})
	}
}

// TestReloadForgetsNothing: a lower maximum for a while, while refused checks are
// recorded, must not let more than the maximum through afterwards.
func TestReloadForgetsNothing(t *testing.T) {
	plan := func(text string) *rule.Plan {
		return compile(t, rule.Rule{Name: "r", Limits: []rule.Limit{{Limit: text, CountRefused: true}}})
	}
	g := newGate(t, plan("5 per 1m"), newClock().options())
	admitted := admittedAt(t, g, 5)
	for _, text := range []string{"1 per 1m", "0 per 1m", "5 per 1m"} {
		if lost, err := g.Reload(plan(text)); err != nil || len(lost) > 0 {
			t.Fatal(lost, err)
		}
		admitted += admittedAt(t, g, 5)
	}
	if admitted != 5 {
		t.Errorf("%d admitted at one instant", admitted)
	}
}

// TestEndOfTime: the last microsecond that there is limits like any other.
func TestEndOfTime(t *testing.T) {
	c := newClock()
	c.us.Store(math.MaxInt64)
	g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: limits("2 per 1m")}), c.options())
	if n := admittedAt(t, g, 10); n != 2 {
		t.Errorf("%d admitted", n)
	}
}

// TestLateRefundBeforeTheEpoch: numbers of marks are not used twice, before 1970
// either.
func TestLateRefundBeforeTheEpoch(t *testing.T) {
	c := newClock()
	c.us.Store(-100 * 24 * 3600 * 1_000_000)
	g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: limits("1 per 10 events")}), c.options())
	d := check(t, g, event("e"))
	c.move(25 * time.Hour)
	for range 100 { // the sweeper of the store walks a shard a few records at a time
		check(t, g, event("e", slidegate.String("x", "y")))
	}
	if given, err := g.Refund(bg, d.ID.String()); given || err != nil {
		t.Errorf("a refund 25 h late: %v, %v", given, err)
	}
}
