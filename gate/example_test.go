package gate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/rule"
)

// One event meets two rules, and both are judged in one verdict.
func Example() {
	plan, _, err := rule.Compile(&rule.Set{Rules: []rule.Rule{
		{Name: "sms-phone", Key: []string{"phone"}, MissingKey: "skip", Limits: []rule.Limit{{Limit: "1 per 60s"}, {Limit: "10 per 24h"}}},
		{Name: "sms-ip", Key: []string{"ip"}, MissingKey: "skip", Limits: []rule.Limit{{Limit: "20 per 1m"}}},
	}})
	if err != nil {
		panic(err)
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	g, err := gate.New(plan, gate.Options{Now: func() time.Time { return noon }})
	if err != nil {
		panic(err)
	}
	defer g.Close()
	for range 2 {
		d, err := g.Check(context.Background(), slidegate.Event{Name: "sms.send", Attrs: []slidegate.Attr{
			slidegate.String("phone", "13800000000"), slidegate.String("ip", "192.0.2.9"),
		}})
		if err != nil {
			panic(err)
		}
		fmt.Println(d.Action, d.Rule, d.RetryAfter)
	}
	// Output:
	// allow  0s
	// reject sms-phone 1m0s
}
