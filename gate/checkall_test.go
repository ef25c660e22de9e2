package gate

import (
	"testing"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

// TestCheckAllInflight: where events of one verdict meet the same window and
// key, what they cost is added up. Each costs one place in flight: five places are
// not enough for ten.
func TestCheckAllInflight(t *testing.T) {
	c := newClock()
	g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: limits("5 inflight"), Hold: "1m"}), c.options())
	evs := make([]slidegate.Event, 10)
	for i := range evs {
		evs[i] = event("job")
	}
	d, err := g.CheckAll(bg, evs)
	if err != nil {
		t.Fatal(err)
	}
	if d.Admitted() {
		t.Fatalf("ten were let in where five may be in flight; %d are held", d.Windows()[0].Used)
	}
	if d, err = g.CheckAll(bg, evs[:3]); err != nil || !d.Admitted() || d.Windows()[0].Used != 3 {
		t.Fatalf("three hold %+v, %v", d.Windows(), err)
	}
}
