package gate

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/rule"
)

// TestIDsOfRenewed: after Renew the old id gives no place back; what else the decision
// charged is given back once, whichever id comes first.
func TestIDsOfRenewed(t *testing.T) {
	for name, newFirst := range map[string]bool{"the old id first": false, "the new id first": true} {
		c := newClock()
		g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: limits("1 inflight", "5 per 1h"), Hold: "1m"}), c.options())
		d := check(t, g, event("e"))
		c.move(time.Second)
		renewed, ok, err := g.Renew(bg, d.ID.String())
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		steps := []struct {
			id             string
			given          bool
			inflight, hits int64
		}{
			{d.ID.String(), true, 1, 0},
			{renewed, true, 0, 0},
			{d.ID.String(), false, 0, 0},
		}
		if newFirst {
			steps = steps[1:]
		}
		for _, s := range steps {
			given, err := g.Refund(bg, s.id)
			if err != nil {
				t.Fatal(err)
			}
			ws, err := g.Query(bg, "r")
			if err != nil {
				t.Fatal(err)
			}
			if given != s.given || ws[0].Used != s.inflight || ws[1].Used != s.hits {
				t.Errorf("%s: gave back: %v, want %v; %s holds %d, want %d; %s holds %d, want %d",
					name, given, s.given, ws[0].Limit, ws[0].Used, s.inflight, ws[1].Limit, ws[1].Used, s.hits)
			}
		}
	}
}
