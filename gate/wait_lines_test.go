package gate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
)

// TestQueuedLeavesTheLine: who has a place in the queue of one rule does not hold up
// those who wait for a window of another.
func TestQueuedLeavesTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, compile(t, rule.Rule{Name: "user", Key: []string{"user"}, Limits: limits("1 per 1s")}, queueing("20s", "1h", 100)), Options{})
		u, a := slidegate.String("user", "u"), slidegate.String("api", "a")
		check(t, g, event("call", u))
		check(t, g, event("call", a))
		both := waiting(t.Context(), g, event("call", u, a)) // at 1s the user, and then a place at 20s
		one := waiting(t.Context(), g, event("call", u))
		if r := one(); r.err != nil || r.at != 2*time.Second {
			t.Errorf("went on after %v, %v; want 2s", r.at, r.err)
		}
		if r := both(); r.err != nil || r.at != 20*time.Second {
			t.Errorf("the other one: %v, %v", r.at, r.err)
		}
	})
}

// TestLinesAreOfWindows: who does not meet the window that others wait for does not
// stand behind them, though the key of the rule is the same.
func TestLinesAreOfWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, compile(t, rule.Rule{Name: "r", Key: []string{"user"}, Limits: limits("1 count where heavy == 1 per 1h", "100 per 1m")}), Options{})
		u := slidegate.String("user", "u")
		heavy := event("call", u, slidegate.Int("heavy", 1))
		check(t, g, heavy)
		first := waiting(t.Context(), g, heavy)
		if r := waiting(t.Context(), g, event("call", u))(); r.err != nil || r.at != 0 {
			t.Errorf("a light call waited %v, %v", r.at, r.err)
		}
		if r := first(); r.err != nil || r.at != time.Hour {
			t.Errorf("the heavy one: %v, %v", r.at, r.err)
		}
	})
}

// TestTooLateBehindOthers: a context that ends before the event could be admitted is
// known at once, also to those who would stand behind others.
func TestTooLateBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: limits("1 per 1h")}), Options{})
		check(t, g, event("e"))
		all, cancel := context.WithCancel(t.Context())
		first := waiting(all, g, event("e"))
		ctx, done := context.WithTimeout(t.Context(), time.Minute)
		defer done()
		if r := waiting(ctx, g, event("e"))(); !errors.Is(r.err, context.DeadlineExceeded) || r.at != 0 {
			t.Errorf("known after %v: %v", r.at, r.err)
		}
		cancel()
		first()
	})
}

// counting is a store that counts decisions.
type counting struct {
	store.Store

	decided int
}

func (c *counting) Decide(ctx context.Context, reqs []store.Request) error {
	c.decided++
	return c.Store.Decide(ctx, reqs)
}

// TestRenewWakesNobody: to stay on gives nothing back.
func TestRenewWakesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := store.NewMemory(store.MemoryOptions{SweepEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		c := &counting{Store: m}
		g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: limits("1 inflight"), Hold: "1h"}), Options{Store: c})
		id := check(t, g, event("e")).ID.String()
		next := waiting(t.Context(), g, event("e"))
		before := c.decided
		for range 20 {
			time.Sleep(time.Minute)
			var ok bool
			if id, ok, err = g.Renew(bg, id); !ok || err != nil {
				t.Fatal(ok, err)
			}
			synctest.Wait()
		}
		if c.decided != before {
			t.Errorf("20 renewals made %d decisions", c.decided-before)
		}
		if ok, err := g.Release(bg, id); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if r := next(); r.err != nil || r.at != 20*time.Minute {
			t.Errorf("released: %v, %v", r.at, r.err)
		}
	})
}

// TestChallengeHasNoDelay: a challenge is met, not waited for, also where another
// limit counts refused hits.
func TestChallengeHasNoDelay(t *testing.T) {
	g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: []rule.Limit{
		{Limit: "1 per 10s", Action: "challenge", With: "captcha"}, {Limit: "2 per 1m", CountRefused: true},
	}}), newClock().options())
	check(t, g, event("e"))
	d, err := g.Wait(bg, event("e"))
	if !errors.Is(err, slidegate.ErrRefused) || d.Action != slidegate.Challenge || d.RetryAfter != 0 {
		t.Errorf("%v with a delay of %v, %v", d.Action, d.RetryAfter, err)
	}
}

// TestRefundsTakeNoMemory: on the clock of the machine what was given back from a log
// need not be remembered.
func TestRefundsTakeNoMemory(t *testing.T) {
	g, err := New(compile(t, rule.Rule{Name: "r", Limits: limits("10 per 24h", "5 inflight"), Hold: "1h"}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for i := range 3000 {
		d := check(t, g, event("e"))
		time.Sleep(time.Microsecond)
		if i%2 == 0 { // and give the rest back
			if ok, err := g.Release(bg, d.ID.String()); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		if ok, err := g.Refund(bg, d.ID.String()); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if b := g.store.(*store.Memory).Stats().Bytes; b > 20<<10 {
		t.Errorf("two windows of one key take %d bytes after 3000 refunds", b)
	}
}

// TestLookInQueue: a cost of 0 looks and changes nothing, so it has no place in a
// queue, and does not keep those behind it from moving up.
func TestLookInQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, compile(t, queueing("1s", "1h", 100)), Options{})
		defer g.Close()
		check(t, g, api("a"))
		ctx, cancel := context.WithCancel(t.Context())
		first := waiting(ctx, g, api("a")) // at 1s
		ev := api("a")
		ev.Cost = slidegate.CostOf(0)
		look := waiting(t.Context(), g, ev)
		behind := waiting(t.Context(), g, api("a")) // at 2s
		cancel()
		first()
		look()
		if r := behind(); r.err != nil || r.at != time.Second {
			t.Fatalf("the one behind went on at %v, %v; the place at 1s was free", r.at, r.err)
		}
	})
}

// TestReloadBehind: whom a reload takes out of a rule does not wait for it any
// longer, also where it was not the first in its line.
func TestReloadBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rule.Rule{Name: "r", Limits: limits("1 inflight"), Hold: "1h"}
		g := newGate(t, compile(t, r), Options{})
		defer g.Close()
		check(t, g, event("e"))
		ahead := waiting(t.Context(), g, event("e"))
		vip := waiting(t.Context(), g, event("e", slidegate.String("user", "vip")))
		r.Except = []rule.Matcher{{"user": {"vip"}}}
		if _, err := g.Reload(compile(t, r)); err != nil {
			t.Fatal(err)
		}
		if r := vip(); r.err != nil || r.at > 0 {
			t.Errorf("no rule is for it any more, and it went on at %v, %v", r.at, r.err)
		}
		ahead()
	})
}
