package gate

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
	"pgregory.net/rapid"
)

// TestRetryIsTrue holds the delay over several windows, rules and keys, refused
// checks that count among them: then the event passes, 1 µs earlier it does not.
func TestRetryIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		pool := []rule.Limit{
			{Limit: "1 per 10ms"}, {Limit: "3 per 50ms"}, {Limit: "5 per 1s"}, {Limit: "4 per 30ms", Algorithm: "fixed"},
			{Limit: "6 per 100ms", Algorithm: "gcra", Burst: new(int64(2))}, {Limit: "3 per 70ms", Algorithm: "sliding_buckets", Buckets: new(int64(7))},
			{Limit: "4 per 60ms", CountRefused: true}, {Limit: "9 sum(v) per 80ms"},
		}
		draw := rapid.SliceOfNDistinct(rapid.IntRange(0, len(pool)-1), 1, 4, rapid.ID[int])
		pick := func(label string) (ls []rule.Limit) {
			for _, i := range draw.Draw(t, label) {
				ls = append(ls, pool[i])
			}
			return ls
		}
		plan, _, err := rule.Compile(&rule.Set{Rules: []rule.Rule{
			{Name: "a", Key: []string{"k"}, MissingKey: "skip", Limits: pick("a")}, {Name: "b", Limits: pick("b")},
		}})
		if err != nil {
			t.Fatal(err)
		}
		g, err := New(plan, c.options())
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		for range rapid.IntRange(1, 30).Draw(t, "checks") {
			c.move(time.Duration(rapid.Int64Range(0, 40_000).Draw(t, "step")) * time.Microsecond)
			ev := event("e", slidegate.String("k", rapid.SampledFrom([]string{"x", "y"}).Draw(t, "k")), slidegate.Int("v", rapid.Int64Range(0, 5).Draw(t, "v")))
			ev.Cost = slidegate.CostOf(rapid.Int64Range(1, 2).Draw(t, "cost"))
			d, err := g.Check(bg, ev)
			if err != nil {
				t.Fatal(err)
			}
			if d.Admitted() || d.Never {
				continue
			}
			// Explain asks without counting, so that what counts refusals is
			// not moved by the question.
			c.move(d.RetryAfter - time.Microsecond)
			if x, err := g.Explain(bg, ev); err != nil || x.Decision.Admitted() {
				t.Fatalf("passes 1 µs before %v (%v)", d.RetryAfter, err)
			}
			c.move(time.Microsecond)
			if d2, err := g.Check(bg, ev); err != nil || !d2.Admitted() {
				t.Fatalf("refused by %s when due after %v: %+v (%v)", d2.Rule, d.RetryAfter, d2.Windows(), err)
			}
		}
	})
}

// TestAtomic holds totals under concurrency: several keys and rules for each
// event, random refusals, nothing charged by refused events.
func TestAtomic(t *testing.T) {
	g := newGate(t, compile(t,
		rule.Rule{Name: "user", Key: []string{"user"}, Limits: limits("50 per 1h", "70 per 24h")},
		rule.Rule{Name: "ip", Key: []string{"ip"}, Limits: limits("120 per 1h")},
		rule.Rule{Name: "all", Limits: []rule.Limit{{Limit: "700 per 1h", Algorithm: "sliding_buckets"}}},
	), newClock().options())
	users, ips := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"}, []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6", "192.0.2.7"}
	var total atomic.Int64
	var perUser, perIP sync.Map
	for _, u := range append(append([]string(nil), users...), ips...) {
		perUser.Store(u, new(atomic.Int64))
		perIP.Store(u, new(atomic.Int64))
	}
	add := func(m *sync.Map, k string) { v, _ := m.Load(k); v.(*atomic.Int64).Add(1) }
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for range 100 {
				u, ip := users[rng.IntN(len(users))], ips[rng.IntN(len(ips))]
				d, err := g.Check(bg, event("e", slidegate.String("user", u), slidegate.String("ip", ip)))
				if err != nil {
					t.Error(err)
					return
				}
				if d.Admitted() {
					total.Add(1)
					add(&perUser, u)
					add(&perIP, ip)
				}
			}
		})
	}
	wg.Wait()
	used := func(rule string, attrs ...slidegate.Attr) int64 {
		ws, err := g.Query(bg, rule, attrs...)
		if err != nil {
			t.Fatal(err)
		}
		return ws[0].Used
	}
	if n := used("all"); n != total.Load() || n != 700 {
		t.Errorf("%d in the window, %d were admitted, 700 fit", n, total.Load())
	}
	for _, u := range users {
		v, _ := perUser.Load(u)
		if n := used("user", slidegate.String("user", u)); n != v.(*atomic.Int64).Load() || n > 50 {
			t.Errorf("user %s: %d in the window, %d admitted", u, n, v.(*atomic.Int64).Load())
		}
	}
	for _, ip := range ips {
		v, _ := perIP.Load(ip)
		if n := used("ip", slidegate.String("ip", ip)); n != v.(*atomic.Int64).Load() || n > 120 {
			t.Errorf("ip %s: %d in the window, %d admitted", ip, n, v.(*atomic.Int64).Load())
		}
	}
}

// TestParallelChecksSeeEachOther: 200 goroutines released together on a limit
// of 5 let exactly 5 through, every time.
func TestParallelChecksSeeEachOther(t *testing.T) {
	g := newGate(t, compile(t, rule.Rule{Name: "r", Key: []string{"k"}, Limits: limits("5 per 60s")}), Options{})
	for round := range 50 {
		var admitted atomic.Int64
		var wg sync.WaitGroup
		start := make(chan struct{})
		ev := event("e", slidegate.Int("k", int64(round)))
		for range 200 {
			wg.Go(func() {
				<-start
				if d, err := g.Check(bg, ev); err == nil && d.Admitted() {
					admitted.Add(1)
				}
			})
		}
		close(start)
		wg.Wait()
		if n := admitted.Load(); n != 5 {
			t.Fatalf("round %d: %d admitted", round, n)
		}
	}
}

// TestReloadUnderLoad: checks go on while plans change, and none is lost.
func TestReloadUnderLoad(t *testing.T) {
	plans := []*rule.Plan{
		compile(t, rule.Rule{Name: "r", Limits: limits("500 per 1h")}),
		compile(t, rule.Rule{Name: "r", Limits: limits("500 per 1h")}, rule.Rule{Name: "s", Limits: limits("1000 per 1h")}),
	}
	g := newGate(t, plans[0], newClock().options())
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				if d, err := g.Check(bg, event("e")); err == nil && d.Admitted() {
					admitted.Add(1)
				}
			}
		})
	}
	for i := range 200 {
		if _, err := g.Reload(plans[i%2]); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if n := admitted.Load(); n != 500 {
		t.Errorf("%d admitted", n)
	}
}
