package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
)

// waiting calls Wait in a goroutine of its own, and returns when it waits or has
// come back.
func waiting(ctx context.Context, g *Gate, ev slidegate.Event) func() release {
	start := time.Now()
	done := make(chan release, 1)
	go func() {
		d, err := g.Wait(ctx, ev)
		done <- release{at: time.Since(start), d: d, err: err}
	}()
	synctest.Wait()
	return func() release { return <-done }
}

// TestWaitErrorHoldsNothing: the decision beside an error has nothing to give back,
// least of all the place that somebody else has now.
func TestWaitErrorHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, compile(t, queueing("1s", "1h", 100)), Options{})
		defer g.Close()
		check(t, g, api("a"))
		ctx, cancel := context.WithCancel(t.Context())
		first, second := waiting(ctx, g, api("a")), waiting(t.Context(), g, api("a"))
		cancel()
		synctest.Wait()
		if r := first(); !errors.Is(r.err, context.Canceled) || r.d.ID.String() != "" {
			t.Errorf("%v with the id %q", r.err, r.d.ID.String())
		}
		if d := check(t, g, api("a")); d.RetryAfter != 2*time.Second {
			t.Errorf("who comes now goes on in %v, want 2s", d.RetryAfter)
		}
		if r := second(); r.err != nil || r.at != time.Second {
			t.Errorf("the one behind went on at %v, %v", r.at, r.err)
		}
	})
}

// TestWaitTwoQueues: who leaves one queue moves nobody up who also stands in
// another.
func TestWaitTwoQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := func(name, key, interval string) rule.Rule {
			r := queueing(interval, "1h", 100)
			r.Name, r.Key, r.MissingKey = name, []string{key}, "skip"
			return r
		}
		g := newGate(t, compile(t, line("addr", "addr", "1s"), line("user", "user", "1500ms")), Options{})
		defer g.Close()
		ev := func(addr, user string) slidegate.Event {
			return event("call", slidegate.String("addr", addr), slidegate.String("user", user))
		}
		check(t, g, ev("y", "b"))
		check(t, g, ev("z", "b")) // b went on at 0s, and does at 1.5s
		check(t, g, ev("x", "c"))
		ctx, cancel := context.WithCancel(t.Context())
		ahead := waiting(ctx, g, ev("x", "a"))
		behind := waiting(t.Context(), g, ev("x", "b"))
		cancel()
		if r := ahead(); !errors.Is(r.err, context.Canceled) {
			t.Error(r.err)
		}
		if r := behind(); r.err != nil || r.at != 3*time.Second {
			t.Errorf("b went on at %v, %v; want 3s", r.at, r.err)
		}
	})
}

// TestWaitShortDeadlines: many who cannot wait as long as they would have to leave
// no place taken behind.
func TestWaitShortDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, compile(t, queueing("10s", "1h", 1000)), Options{})
		defer g.Close()
		check(t, g, api("a"))
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := g.Wait(ctx, api("a")); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if ws, err := g.Query(t.Context(), "pace", slidegate.String("api", "a")); err != nil || ws[0].ResetAfter != 10*time.Second {
			t.Errorf("%+v, %v", ws, err)
		}
	})
}

// TestCloseEndsQueues: Close ends the calls of Wait that have a place.
func TestCloseEndsQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, compile(t, queueing("10s", "1h", 1000)), Options{})
		check(t, g, api("a"))
		w := waiting(t.Context(), g, api("a"))
		time.Sleep(time.Second)
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		if r := w(); !errors.Is(r.err, slidegate.ErrClosed) || r.at != time.Second {
			t.Errorf("%v at %v", r.err, r.at)
		}
	})
}

// busyStore gives a hit of another key back during every decision.
type busyStore struct {
	store.Store

	other   []slidegate.Receipt
	gate    *Gate
	decides int
}

func (s *busyStore) Decide(ctx context.Context, reqs []store.Request) error {
	s.decides++
	if s.gate != nil {
		s.gate.lines.freed(s.other, false)
	}
	return s.Store.Decide(ctx, reqs)
}

// TestWaitDoesNotSpin: what is given back to other keys makes nobody ask again.
func TestWaitDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := store.NewMemory(store.MemoryOptions{SweepEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		s := &busyStore{Store: m}
		g := newGate(t, compile(t, rule.Rule{Name: "r", Key: []string{"k"}, Limits: limits("1 per 1h")}), Options{Store: s})
		defer g.Close()
		other := check(t, g, event("e", slidegate.String("k", "other")))
		check(t, g, event("e", slidegate.String("k", "a")))
		s.other, s.gate, s.decides = slices.Clone(other.ID.Receipts()), g, 0
		r := waiting(t.Context(), g, event("e", slidegate.String("k", "a")))()
		if r.err != nil || r.at != time.Hour || s.decides > 3 {
			t.Errorf("%v at %v after %d decisions", r.err, r.at, s.decides)
		}
	})
}

// TestWaitSure: a limit on what is in flight lets nobody wait for what another
// limit refuses for longer than the context lasts; a full one in shadow neither.
func TestWaitSure(t *testing.T) {
	for name, shadow := range map[string]*bool{"both refuse": nil, "in shadow": new(true)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, compile(t,
					rule.Rule{Name: "log", Match: []rule.Matcher{{"event": {"both"}}}, Limits: limits("1 per 1h")},
					rule.Rule{Name: "work", Hold: "2h", Limits: []rule.Limit{{Limit: "1 inflight", Shadow: shadow}}},
				), Options{})
				defer g.Close()
				check(t, g, event("both"))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if r := waiting(ctx, g, event("both"))(); !errors.Is(r.err, context.DeadlineExceeded) || r.at != 0 {
					t.Errorf("%v at %v", r.err, r.at)
				}
			})
		})
	}
}

// TestReloadWhileQueued: a shorter queue gives no instant to two. (Places that were
// handed out stay; only who comes then is held against the new rule.)
func TestReloadWhileQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, compile(t, queueing("1s", "1h", 1000)), Options{})
		defer g.Close()
		var due []time.Duration
		start := time.Now()
		note := func(d slidegate.Decision) {
			if d.Admitted() {
				due = append(due, time.Since(start)+d.RetryAfter)
			}
		}
		for range 10 {
			note(check(t, g, api("a")))
		}
		for _, wait := range []string{"1s", "5s"} {
			if _, err := g.Reload(compile(t, queueing("1s", wait, 1000))); err != nil {
				t.Fatal(err)
			}
			for range 60 {
				note(check(t, g, api("a")))
				time.Sleep(100 * time.Millisecond)
			}
		}
		slices.Sort(due)
		for i := range len(due) - 1 {
			if due[i+1]-due[i] < time.Second {
				t.Fatalf("two go on at %v and %v", due[i], due[i+1])
			}
		}
		if len(due) < 15 {
			t.Errorf("only %d went on: %v", len(due), fmt.Sprint(due))
		}
	})
}
