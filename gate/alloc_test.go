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
	plan, _, err := rule.Compile(&rule.Set{Rules: smsRules()})
	if err != nil {
		tb.Fatal(err)
	}
	return plan
}

func smsRules() []rule.Rule {
	return []rule.Rule{
		{Name: "sms-phone", Match: []rule.Matcher{{"event": {"sms.send"}}}, Key: []string{"phone"}, Limits: []rule.Limit{{Limit: "1 per 60s"}, {Limit: "10 per 24h"}}},
		{Name: "sms-ip", Match: []rule.Matcher{{"event": {"sms.send"}}}, Key: []string{"ip"}, Limits: []rule.Limit{{Limit: "20 per 1m"}}},
	}
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
	if raced {
		t.Skip("sync.Pool drops things at random under the race detector")
	}
	sms := func(name, key string, limits ...rule.Limit) rule.Rule {
		return rule.Rule{Name: name, Match: []rule.Matcher{{"event": {"sms.send"}}}, Key: []string{key}, MissingKey: "skip", Limits: limits}
	}
	four := sms("shadow", "ip", rule.Limit{Limit: "90 per 1h", Shadow: new(true)})
	replacing := append(smsRules(), sms("device", "device", limits("9 per 1m")...))
	for i, name := range []string{"a", "b", "c"} {
		replaced := sms(name, "phone", limits("5 per 1m")...)
		replaced.Where = "phone != \"x\""
		replacing[i].Replaces = []string{name}
		replacing = append(replacing, replaced)
	}
	for name, tt := range map[string]struct {
		plan    *rule.Plan
		windows int
	}{
		"three windows":        {smsPlan(t), 3},
		"four, one a shadow":   {compile(t, append(smsRules(), four)...), 3},
		"rules replace others": {compile(t, replacing...), 4}, // the event has no device
	} {
		g := newGate(t, tt.plan, Options{})
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
			if err != nil || len(d.Windows()) != tt.windows {
				t.Fatalf("%s: %v, %d windows", name, err, len(d.Windows()))
			}
		}
		for range 200 { // windows grow to their size first
			check()
		}
		if n := testing.AllocsPerRun(1000, check); n != 0 {
			t.Errorf("%s: Check allocates %v times", name, n)
		}
	}
}

// TestCheckOfNumbersAllocatesNothing: numbers are matched, summed and made keys
// of as texts, and addresses come with ports; none of it costs memory.
func TestCheckOfNumbersAllocatesNothing(t *testing.T) {
	if raced {
		t.Skip("sync.Pool drops things at random under the race detector")
	}
	g := newGate(t, compile(t,
		rule.Rule{Name: "sum", Limits: limits("1M sum(v) per 1m")},
		rule.Rule{Name: "match", Match: []rule.Matcher{{"v": {"7", "*8"}}}, Limits: limits("1 per 1s")},
		rule.Rule{Name: "key", Key: []string{"v", "ip"}, Limits: limits("1 per 1s")},
	), Options{})
	for _, v := range []slidegate.Value{slidegate.IntValue(123456), slidegate.FloatValue(19.99), slidegate.TextValue("19.99")} {
		for _, ip := range []string{"192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]:80"} {
			ev := event("e", slidegate.Attr{Name: "v", Value: v}, slidegate.String("ip", ip))
			for range 20 {
				check(t, g, ev)
			}
			if n := testing.AllocsPerRun(200, func() { check(t, g, ev) }); n != 0 {
				t.Errorf("v=%v ip=%s: Check allocates %v times", v, ip, n)
			}
		}
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
