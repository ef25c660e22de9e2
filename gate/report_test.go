package gate

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
	"pgregory.net/rapid"
)

// loginRule locks an account after three failures.
func loginRule() rule.Rule {
	return rule.Rule{
		Name: "login", Match: []rule.Matcher{{"event": {"login"}}}, Key: []string{"account"}, MissingKey: "skip",
		Limits: []rule.Limit{{Limit: "3 failures per 10m", Action: "lock", Lasts: []string{"1m", "5m"}}},
	}
}

func login(account string) slidegate.Event {
	return event("login", slidegate.String("account", account))
}

// report reports an outcome of an event.
func report(tb testing.TB, g *Gate, ev slidegate.Event, o slidegate.Outcome, of *slidegate.Decision) Reported {
	tb.Helper()
	ev.Outcome = o
	if of != nil {
		ev.Decision = of.ID.String()
	}
	r, err := g.Report(bg, ev)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// TestParallelGuesses: however many guesses run at once, no more are let in than the
// limit has room for failures, and none after it is full.
func TestParallelGuesses(t *testing.T) {
	g := newGate(t, compile(t, loginRule()), newClock().options())
	var admitted, failed atomic.Int64
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			d, err := g.Check(bg, login("a"))
			if err != nil || !d.Admitted() {
				return
			}
			admitted.Add(1)
			ev := login("a")
			ev.Outcome, ev.Decision = slidegate.Failure, d.ID.String()
			if r, err := g.Report(bg, ev); err != nil || !r.Settled {
				t.Error(r, err)
			}
			failed.Add(1)
		})
	}
	wg.Wait()
	if admitted.Load() != 3 || failed.Load() != 3 {
		t.Fatalf("%d of 100 guesses were let in, %d failed; want 3", admitted.Load(), failed.Load())
	}
	locks, err := g.Locks(bg)
	if err != nil || len(locks) != 1 || locks[0].Times != 1 {
		t.Fatalf("%+v, %v", locks, err)
	}
}

// TestGuessesNeverOver: whatever is checked, reported or left open in whatever order, no
// window holds more failures than the limit, and with what is open no more are let in.
func TestGuessesNeverOver(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(rt, "limit")
		r := rule.Rule{Name: "r", Limits: limits(fmt.Sprintf("%d failures per 10s", limit)), Hold: "3s", Unsettled: rapid.SampledFrom([]string{"keep", "release"}).Draw(rt, "unsettled")}
		c := newClock()
		g := newGate(t, compile(t, r), c.options())
		var open []slidegate.Decision
		var failures []time.Time
		for range 40 {
			switch rapid.IntRange(0, 3).Draw(rt, "call") {
			case 0, 1:
				if d := check(t, g, event("e")); d.Admitted() {
					open = append(open, d)
				}
			case 2:
				c.move(time.Duration(rapid.IntRange(0, 4000).Draw(rt, "ms")) * time.Millisecond)
			default:
				if len(open) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(open)-1).Draw(rt, "which")
				o := rapid.SampledFrom([]slidegate.Outcome{slidegate.Success, slidegate.Failure}).Draw(rt, "outcome")
				if settled := report(t, g, event("e"), o, &open[i]).Settled; settled && o == slidegate.Failure {
					failures = append(failures, c.now())
				}
				open = slices.Delete(open, i, i+1)
			}
			now, n := c.now(), 0
			for _, at := range failures {
				if now.Sub(at) < 10*time.Second {
					n++
				}
			}
			if n > limit {
				rt.Fatalf("%d failures of events that were let in within 10s, of at most %d", n, limit)
			}
		}
	})
}

// TestReportWakes: who waits for a place that is held is let through when a success
// frees it.
func TestReportWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: limits("1 failures per 1h"), Hold: "30m"}), Options{})
		d := check(t, g, event("e"))
		w := waiting(t.Context(), g, event("e"))
		time.Sleep(time.Second)
		report(t, g, event("e"), slidegate.Success, &d)
		if r := w(); r.err != nil || r.at != time.Second {
			t.Errorf("went on at %v, %v; want 1s", r.at, r.err)
		}
	})
}

// TestReportErrors: what is wrong with a report is an error, and nothing is recorded.
func TestReportErrors(t *testing.T) {
	c := newClock()
	sum := rule.Rule{Name: "sum", Counts: "reports", Limits: limits("100 sum(v) per 1h")}
	g := newGate(t, compile(t, loginRule(), sum), c.options())
	d := check(t, g, login("a"))
	future := login("a")
	future.Attrs = append(future.Attrs, slidegate.Int("v", 1))
	future.Outcome, future.Time = slidegate.Failure, c.now().Add(61*time.Second)
	missing := login("a")
	missing.Outcome = slidegate.Failure
	good := future
	good.Time = time.Time{}
	for name, ev := range map[string]slidegate.Event{"future": future, "missing": missing, "no name": {}} {
		if _, err := g.Report(bg, ev); !errors.Is(err, slidegate.ErrEvent) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := g.ReportBatch(bg, []slidegate.Event{good, good, ev}); !errors.Is(err, slidegate.ErrEvent) || placeOf(err) != 2 {
			t.Errorf("%s in a batch: %v", name, err)
		}
	}
	bad := future
	bad.Time, bad.Decision = time.Time{}, "abc"
	if _, err := g.Report(bg, bad); !errors.Is(err, slidegate.ErrID) {
		t.Error(err)
	}
	ws, err := g.Query(bg, "login", slidegate.String("account", "a"))
	if err != nil || ws[0].Used != 1 { // what the check holds
		t.Errorf("%+v, %v", ws, err)
	}
	future.Time = c.now().Add(time.Minute)
	if r, err := g.Report(bg, future); err != nil || len(r.Windows) != 2 || r.Settled {
		t.Errorf("%+v, %v", r, err)
	}
	for _, ev := range []slidegate.Event{{Name: "e", Outcome: slidegate.Success}, {Name: "e", Decision: d.ID.String()}} {
		if _, err := g.Check(bg, ev); !errors.Is(err, slidegate.ErrEvent) {
			t.Errorf("a check of what is reported: %v", err)
		}
	}
	g.Close()
	if _, err := g.Report(bg, future); !errors.Is(err, slidegate.ErrClosed) {
		t.Error(err)
	}
}

// TestReportSkips: lists come before the rules, what no rule meets is recorded nowhere,
// and an event without the key belongs to none.
func TestReportSkips(t *testing.T) {
	plan, _, err := rule.Compile(&rule.Set{
		Deny: []rule.Matcher{{"account": {"denied"}}}, Allow: []rule.Matcher{{"account": {"root"}}},
		Rules: []rule.Rule{loginRule()},
	})
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, plan, newClock().options())
	for _, ev := range []slidegate.Event{login("denied"), login("root"), event("login"), event("other", slidegate.String("account", "a"))} {
		if r := report(t, g, ev, slidegate.Failure, nil); len(r.Windows) > 0 {
			t.Errorf("%v: %+v", ev, r)
		}
	}
	if s := g.store.(*store.Memory).Stats(); s.Keys != 0 {
		t.Errorf("%+v", s)
	}
}

// TestLocks: a lock says whom it is for, survives a reload, and can be lifted.
func TestLocks(t *testing.T) {
	c := newClock()
	r := loginRule()
	r.Key = []string{"account", "device|ip"}
	plan, _, err := rule.Compile(&rule.Set{Attributes: map[string]rule.Attribute{"account": {Secret: true}, "ip": {Type: "address"}, "device": {}}, Rules: []rule.Rule{r}})
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, plan, c.options())
	ev := event("login", slidegate.String("account", "ann"), slidegate.String("ip", "192.0.2.1"))
	for n := range 3 {
		got := report(t, g, ev, slidegate.Failure, nil)
		if locked := n == 2; locked != (len(got.Locked) == 1) {
			t.Fatalf("report %d: %+v", n, got)
		}
	}
	locks, err := g.Locks(bg)
	if err != nil || len(locks) != 1 {
		t.Fatalf("%+v, %v", locks, err)
	}
	l := locks[0]
	if l.Rule != "login" || l.Limit != "3 failures per 10m" || !l.Until.Equal(c.now().Add(time.Minute)) || !l.Holds(c.now()) || l.Holds(l.Until) {
		t.Errorf("%+v", l)
	}
	if l.Key[0].Name != "account" || strings.Contains(l.Key[0].Value.String(), "ann") || !reflect.DeepEqual(l.Key[1], slidegate.String("ip", "192.0.2.1")) {
		t.Errorf("key %v", l.Key)
	}
	r.Limits[0].Limit = "5 failures per 10m" // the same windows
	plan, _, _ = rule.Compile(&rule.Set{Attributes: map[string]rule.Attribute{"account": {Secret: true}, "ip": {Type: "address"}, "device": {}}, Rules: []rule.Rule{r}})
	if lost, err := g.Reload(plan); err != nil || len(lost) > 0 {
		t.Fatal(lost, err)
	}
	if d := check(t, g, ev); d.Action != slidegate.Lock || d.Reason != slidegate.ReasonLock || d.RetryAfter != time.Minute || !d.Windows()[0].Locked {
		t.Fatalf("%v %s %v %+v", d.Action, d.Reason, d.RetryAfter, d.Windows())
	}
	for n := range 2 {
		if ok, err := g.Unlock(bg, "login", ev.Attrs...); err != nil || ok != (n == 0) {
			t.Fatalf("unlock %d: %v, %v", n, ok, err)
		}
	}
	if d := check(t, g, ev); !d.Admitted() || d.Windows()[0].Used != 1 {
		t.Fatalf("%v %+v", d.Action, d.Windows())
	}
	if _, err := g.Reload(compile(t, rule.Rule{Name: "other", Limits: limits("1 per 1s")})); err != nil {
		t.Fatal(err)
	}
	if locks, err := g.Locks(bg); err != nil || len(locks) != 0 {
		t.Errorf("%+v, %v", locks, err)
	}
}

// TestLockOfGoneRule: a lock whose rule is gone is still listed.
func TestLockOfGoneRule(t *testing.T) {
	g := newGate(t, compile(t, loginRule()), newClock().options())
	for range 3 {
		report(t, g, login("a"), slidegate.Failure, nil)
	}
	if _, err := g.Reload(compile(t, rule.Rule{Name: "other", Limits: limits("1 per 1s")})); err != nil {
		t.Fatal(err)
	}
	locks, err := g.Locks(bg)
	if err != nil || len(locks) != 1 || locks[0].Rule != "login" || locks[0].Limit != "" || locks[0].Key[0].Value.String() != "1:a" {
		t.Errorf("%+v, %v", locks, err)
	}
}

// TestShadowLock: a limit on trial that would lock locks nobody.
func TestShadowLock(t *testing.T) {
	r := loginRule()
	r.Shadow = new(true)
	g := newGate(t, compile(t, r), newClock().options())
	for range 5 {
		report(t, g, login("a"), slidegate.Failure, nil)
	}
	d := check(t, g, login("a"))
	if !d.Admitted() || len(d.Shadow()) != 1 || !d.Shadow()[0].Refused {
		t.Errorf("%v %+v", d.Action, d.Shadow())
	}
	if locks, err := g.Locks(bg); err != nil || len(locks) != 0 {
		t.Errorf("%+v, %v", locks, err)
	}
}
