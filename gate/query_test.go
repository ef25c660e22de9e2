package gate

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
)

// TestResetEmptiesAllWindows: overrides that hold for the attributes neither
// leave windows out nor say that there is nothing to empty.
func TestResetEmptiesAllWindows(t *testing.T) {
	g := newGate(t, compile(t, rule.Rule{Name: "r", Key: []string{"user"}, Limits: limits("1 per 1m", "5 per 1h"), Overrides: []rule.Override{
		{Match: []rule.Matcher{{"plan": {"free"}}}, Unlimited: true},
		{Match: []rule.Matcher{{"plan": {"pro"}}}, Limits: []string{"9 per 1h"}},
	}}), newClock().options())
	user := slidegate.String("user", "a")
	for _, plan := range []string{"free", "pro", "none"} {
		if d := check(t, g, event("e", user)); !d.Admitted() {
			t.Fatalf("before %s: %v", plan, d.Action)
		}
		if err := g.Reset(bg, "r", user, slidegate.String("plan", plan)); err != nil {
			t.Fatal(err)
		}
		ws, err := g.Query(bg, "r", user)
		if err != nil || ws[0].Used != 0 || ws[1].Used != 0 {
			t.Errorf("after Reset of a %s user: %+v, %v", plan, ws, err)
		}
	}
}

// TestQueryByEventName: a key that is built from the name of the event can be
// asked for, and is not asked for by mistake.
func TestQueryByEventName(t *testing.T) {
	g := newGate(t, compile(t, rule.Rule{Name: "r", Key: []string{"event", "user"}, Limits: limits("5 per 1m")}), newClock().options())
	user, login := slidegate.String("user", "a"), slidegate.String("event", "login")
	check(t, g, event("login", user))
	attrs := []slidegate.Attr{login, user}
	ws, err := g.Query(bg, "r", attrs...)
	if err != nil || ws[0].Used != 1 {
		t.Errorf("got %+v, %v", ws, err)
	}
	if attrs[0] != login || attrs[1] != user {
		t.Errorf("the caller's attributes are now %v", attrs)
	}
	if ws, err := g.Query(bg, "r", user); !errors.Is(err, slidegate.ErrEvent) {
		t.Errorf("no event: %+v, %v", ws, err)
	}
	if err := g.Reset(bg, "r", user); !errors.Is(err, slidegate.ErrEvent) {
		t.Errorf("Reset without event: %v", err)
	}
	if err := g.Reset(bg, "r", user, login); err != nil {
		t.Error(err)
	}
	if ws, _ := g.Query(bg, "r", user, login); ws[0].Used != 0 {
		t.Errorf("after Reset: %+v", ws)
	}
}

// TestOneClock: the end of an override is judged by the clock of the store.
func TestOneClock(t *testing.T) {
	c := newClock() // in 2023
	plan := compile(t, rule.Rule{Name: "r", Limits: limits("1 per 1m"), Overrides: []rule.Override{
		{Match: []rule.Matcher{{"user": {"a"}}}, Unlimited: true, Until: "2024-01-01"},
	}})
	g := newGate(t, plan, Options{Memory: store.MemoryOptions{Now: c.us.Load}})
	if d := check(t, g, event("e", slidegate.String("user", "a"))); len(d.Windows()) != 0 {
		t.Errorf("the override has ended by another clock: %+v", d)
	}
	if _, err := New(plan, Options{Now: time.Now, Memory: store.MemoryOptions{Now: c.us.Load}}); err == nil || !strings.Contains(err.Error(), "Memory.Now") {
		t.Errorf("two clocks: %v", err)
	}
}

// TestExplainShadowMissingKey: a shadow rule rejects nobody, and is not said to.
func TestExplainShadowMissingKey(t *testing.T) {
	g := newGate(t, compile(t, rule.Rule{Name: "r", Key: []string{"user"}, MissingKey: "reject", Shadow: new(true), Limits: limits("1 per 1m")}), newClock().options())
	x, err := g.Explain(bg, event("e"))
	if err != nil || !x.Decision.Admitted() || !strings.Contains(x.Rules[0].Why, "would be rejected") {
		t.Errorf("%+v, %v", x, err)
	}
}
