package gate

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

// smsPlan has two rules and three windows for one event.
func smsPlan(tb testing.TB) *rule.Plan {
	tb.Helper()
	plan, _, err := rule.Compile(&rule.Set{Rules: []rule.Rule{
		{Name: "sms-phone", Match: []rule.Matcher{{"event": {"sms.send"}}}, Key: []string{"phone"}, Limits: []rule.Limit{{Limit: "1 per 60s"}, {Limit: "10 per 24h"}}},
		{Name: "sms-ip", Match: []rule.Matcher{{"event": {"sms.send"}}}, Key: []string{"ip"}, Limits: []rule.Limit{{Limit: "20 per 1m"}}},
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return plan
}

func newGate(tb testing.TB, plan *rule.Plan, o Options) *Gate {
	tb.Helper()
	g, err := New(plan, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = g.Close() })
	return g
}

func TestCheckAllocatesNothing(t *testing.T) {
	g := newGate(t, smsPlan(t), Options{})
	ctx := context.Background()
	phones := make([]string, 64)
	for i := range phones {
		phones[i] = fmt.Sprint(i)
	}
	i := 0
	check := func() {
		i++
		d, err := g.Check(ctx, slidegate.Event{Name: "sms.send", Attrs: []slidegate.Attr{
			slidegate.String("phone", phones[i%len(phones)]), slidegate.String("ip", "192.0.2.9"),
		}})
		if err != nil || len(d.Windows()) != 3 {
			t.Fatalf("%v %v", d, err)
		}
	}
	for range 200 { // windows grow to their size first
		check()
	}
	if n := testing.AllocsPerRun(1000, check); n != 0 {
		t.Errorf("Check allocates %v times", n)
	}
}

func TestLimiterAllocatesNothing(t *testing.T) {
	l := MustLimiter(100, time.Minute, LimiterOptions{})
	for range 200 {
		l.Allow("user")
	}
	if n := testing.AllocsPerRun(1000, func() { l.Allow("user") }); n != 0 {
		t.Errorf("a refused Allow allocates %v times", n)
	}
	l = MustLimiter(100, time.Millisecond, LimiterOptions{})
	for end := time.Now().Add(10 * time.Millisecond); time.Now().Before(end); {
		l.Allow("user")
	}
	if n := testing.AllocsPerRun(1000, func() { l.Allow("user") }); n != 0 {
		t.Errorf("an admitted Allow allocates %v times", n)
	}
}

func BenchmarkCheck(b *testing.B) {
	g := newGate(b, smsPlan(b), Options{})
	ctx := context.Background()
	for b.Loop() {
		_, _ = g.Check(ctx, slidegate.Event{Name: "sms.send", Attrs: []slidegate.Attr{
			slidegate.String("phone", "13800000000"), slidegate.String("ip", "192.0.2.9"),
		}})
	}
}
