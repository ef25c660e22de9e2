package gate

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/rule"
)

// TestRefundTwiceAfterStepBack: a refund is by id and idempotent. With a
// clock that steps back to the instant of a hit that was given back, the same
// id gives back the hit of another.
func TestRefundTwiceAfterStepBack(t *testing.T) {
	c := newClock()
	g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: limits("1 per 1m")}), c.options())
	first := check(t, g, event("e"))
	c.move(time.Second)
	if given, err := g.Refund(bg, first.ID.String()); !given || err != nil {
		t.Fatal(given, err)
	}
	c.move(-time.Second)
	if d := check(t, g, event("e")); !d.Admitted() {
		t.Fatalf("%+v", d)
	}
	given, err := g.Refund(bg, first.ID.String())
	if err != nil {
		t.Fatal(err)
	}
	over := check(t, g, event("e"))
	if given || over.Admitted() {
		t.Fatalf("a second refund of one decision gave back %v; another was admitted: %v", given, over.Admitted())
	}
}

// TestReleaseTwiceAfterStepBack is the same of places in flight.
func TestReleaseTwiceAfterStepBack(t *testing.T) {
	c := newClock()
	g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: limits("1 inflight"), Hold: "1m"}), c.options())
	first := check(t, g, event("e"))
	c.move(time.Second)
	if ok, err := g.Release(bg, first.ID.String()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	c.move(-time.Second)
	if d := check(t, g, event("e")); !d.Admitted() {
		t.Fatalf("%+v", d)
	}
	if ok, _ := g.Release(bg, first.ID.String()); ok {
		t.Fatal("a place that was released before releases that of another")
	}
}
