package gate

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
)

// TestQueuedHolderIsHeld: whoever Wait lets through on a limit of places in
// flight has a place, also when a queue of the same event let him wait for longer
// than a place is held.
func TestQueuedHolderIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := rule.Rule{Name: "busy", Key: []string{"api"}, Limits: limits("1 inflight"), Hold: "2s"}
		g := newGate(t, compile(t, queueing("5s", "1h", 100), busy), Options{})
		first := check(t, g, api("a"))
		if ok, err := g.Release(bg, first.ID.String()); !ok || err != nil {
			t.Fatal(ok, err)
		}
		d, err := g.Wait(t.Context(), api("a"))
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := g.Release(bg, d.ID.String()); !ok || err != nil {
			t.Fatalf("the place of a call that was let through this instant: released %v, %v", ok, err)
		}
	})
}

// TestTwoQueues: a queue takes its place for the instant that retry_after
// names. With two queues the later one names it, and the other must not let
// more through at that instant than its rate.
func TestTwoQueues(t *testing.T) {
	user := queueing("10s", "1h", 100)
	user.Name, user.Key = "user", []string{"user"}
	c := newClock()
	g := newGate(t, compile(t, queueing("1s", "1h", 100), user), c.options())
	var at []time.Duration
	for _, name := range []string{"u1", "u2", "u3", "u4", "u5"} {
		check(t, g, event("call", slidegate.String("user", name))) // only of the user
		d := check(t, g, event("call", slidegate.String("user", name), slidegate.String("api", "a")))
		if !d.Admitted() {
			t.Fatalf("%+v", d)
		}
		at = append(at, d.RetryAfter)
	}
	for i := 1; i < len(at); i++ {
		if at[i]-at[i-1] < time.Second {
			t.Fatalf("one a second with burst 1 lets through at %v", at)
		}
	}
}

// TestWaitOrderOverTwoRules: for the same key of a rule Wait lets through in
// the order of arrival, also where a later call stood in the line of another rule
// first.
func TestWaitOrderOverTwoRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := []rule.Rule{
			{Name: "user", Key: []string{"user"}, Limits: limits("1 inflight"), Hold: "1h"},
			{Name: "ip", Key: []string{"ip"}, Limits: limits("5 per 10s")},
		}
		g := newGate(t, compile(t, rules...), Options{})
		ip, user := slidegate.String("ip", "192.0.2.1"), slidegate.String("user", "u")
		for range 5 {
			check(t, g, event("job", ip))
			time.Sleep(time.Second)
		}
		held := check(t, g, event("job", user))
		var order []string
		var mu sync.Mutex
		wait := func(name string, cost int64, attrs ...slidegate.Attr) {
			ev := event("job", attrs...)
			ev.Cost = slidegate.CostOf(cost)
			d, err := g.Wait(t.Context(), ev)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			order = append(order, name)
			mu.Unlock()
			if _, err := g.Release(bg, d.ID.String()); err != nil {
				t.Error(err)
			}
		}
		var all sync.WaitGroup
		all.Go(func() { wait("first for ip", 5, ip) }) // passes when all five are out
		synctest.Wait()
		all.Go(func() { wait("first for user", 1, user) })
		synctest.Wait()
		all.Go(func() { wait("last for both", 1, ip, user) })
		synctest.Wait()
		time.Sleep(5500 * time.Millisecond) // one of five is out
		if _, err := g.Release(bg, held.ID.String()); err != nil {
			t.Error(err)
		}
		all.Wait()
		if want := []string{"first for user", "first for ip", "last for both"}; !slices.Equal(order, want) {
			t.Fatalf("let through %q; arrived as %q", order, want)
		}
	})
}

// TestHopelessWaitStandsInLine: ErrRefused is for those whom waiting does not
// help. An event that lacks a part of a key, in a rule that rejects that, and a
// cost that no window can hold, are told so, and do not stand in line first.
func TestHopelessWaitStandsInLine(t *testing.T) {
	rules := []rule.Rule{
		{Name: "api", Key: []string{"api"}, Limits: limits("1 inflight", "5 per 1m"), Hold: "1h"},
		{Name: "user", Key: []string{"user"}, Limits: limits("10 per 1m"), MissingKey: "reject"},
	}
	user := slidegate.String("user", "u")
	huge := event("call", slidegate.String("api", "a"), user)
	huge.Cost = slidegate.CostOf(6)
	for name, ev := range map[string]slidegate.Event{"missing key": api("a"), "cost": huge} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, compile(t, rules...), Options{})
				check(t, g, event("call", slidegate.String("api", "a"), user))
				ctx, cancel := context.WithCancel(t.Context())
				defer synctest.Wait()
				defer cancel()
				go func() { _, _ = g.Wait(ctx, event("call", slidegate.String("api", "a"), user)) }()
				synctest.Wait()
				start := time.Now()
				_, err := g.Wait(t.Context(), ev)
				if after := time.Since(start); !errors.Is(err, slidegate.ErrRefused) || after > 0 {
					t.Fatalf("came back after %v with %v", after, err)
				}
			})
		})
	}
}

// hooked is a store that calls a function after the next decision, once.
type hooked struct {
	store.Store

	then atomic.Pointer[func()]
}

func (h *hooked) Decide(ctx context.Context, reqs []store.Request) error {
	err := h.Store.Decide(ctx, reqs)
	if then := h.then.Swap(nil); then != nil {
		(*then)()
	}
	return err
}

// TestPlaceAfterDeadline: a call of Wait whose place lies after its context
// ends gives the place back to those behind, also to one that came in between.
func TestPlaceAfterDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := store.NewMemory(store.MemoryOptions{SweepEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		h := &hooked{Store: m}
		g := newGate(t, compile(t, queueing("1s", "1h", 1000)), Options{Store: h})
		check(t, g, api("a"))
		start := time.Now()
		behind := make(chan time.Duration, 1)
		then := func() {
			go func() {
				if _, err := g.Wait(t.Context(), api("a")); err != nil {
					t.Error(err)
				}
				behind <- time.Since(start)
			}()
			synctest.Wait() // it has its place, at two seconds
		}
		h.then.Store(&then)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := g.Wait(ctx, api("a")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if got := <-behind; got != time.Second {
			t.Fatalf("the one behind went on after %v; the place at 1s was free", got)
		}
	})
}

// TestTooLateBesideInflight: when the context would end before the event could
// be admitted, Wait says so at once: a window of time that frees nothing before
// then decides that, whatever is given back in flight.
func TestTooLateBesideInflight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: limits("1 per 1m", "1 inflight"), Hold: "10s"}), Options{})
		check(t, g, event("e"))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		_, err := g.Wait(ctx, event("e"))
		if after := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || after > 0 {
			t.Fatalf("the minute is full for 60s and the context ends in 5s: known after %v: %v", after, err)
		}
	})
}

// TestHandOnOverTwoQueues: who gets the place of another, earlier one in one
// queue, has still to wait for his own in the other.
func TestHandOnOverTwoQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		user := queueing("10s", "1h", 100)
		user.Name, user.Key = "user", []string{"user"}
		g := newGate(t, compile(t, queueing("1s", "1h", 100), user), Options{})
		u, a := slidegate.String("user", "u"), slidegate.String("api", "a")
		start := time.Now()
		check(t, g, event("call", u))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = g.Wait(ctx, event("call", u)) }() // at 10s of the user
		synctest.Wait()
		for range 15 { // at 0s to 14s of the api
			check(t, g, event("call", a))
		}
		went := make(chan time.Duration, 1)
		go func() { // at 20s of the user, and at 15s of the api
			if _, err := g.Wait(t.Context(), event("call", u, a)); err != nil {
				t.Error(err)
			}
			went <- time.Since(start)
		}()
		synctest.Wait()
		cancel()
		if got := <-went; got < 15*time.Second {
			t.Fatalf("it went on after %v; its place of the api is at 15s, and another has that instant", got)
		}
	})
}

// TestCloseBetweenPlaceAndSleep: calls of Wait that have not come to an end when the
// gate is closed fail with ErrClosed, at once, also one that has taken its place in a
// queue and does not sleep yet.
func TestCloseBetweenPlaceAndSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := store.NewMemory(store.MemoryOptions{SweepEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		h := &hooked{Store: m}
		g := newGate(t, compile(t, queueing("30m", "1h", 100)), Options{Store: h})
		check(t, g, api("a"))
		then := func() { _ = g.Close() }
		h.then.Store(&then)
		start := time.Now()
		_, err = g.Wait(t.Context(), api("a"))
		if after := time.Since(start); !errors.Is(err, slidegate.ErrClosed) || after > time.Second {
			t.Fatalf("closed after its place was taken, Wait came back in %v with %v; want ErrClosed at once", after, err)
		}
	})
}
