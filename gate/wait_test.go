package gate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
	"go.uber.org/goleak"
)

// pace is a rule that lets one through every interval.
func pace(interval string) rule.Rule {
	return rule.Rule{Name: "pace", Key: []string{"api"}, Limits: []rule.Limit{{Limit: "1 per " + interval, Algorithm: "gcra", Burst: new(int64(1))}}}
}

// queueing is pace that queues.
func queueing(interval, wait string, most int64) rule.Rule {
	r := pace(interval)
	r.Limits[0].Action, r.Limits[0].MaxWait, r.Limits[0].MaxQueue = "queue", wait, &most
	return r
}

func api(name string) slidegate.Event { return event("call", slidegate.String("api", name)) }

// release is when a call of Wait came back, and with what.
type release struct {
	n   int
	at  time.Duration
	d   slidegate.Decision
	err error
}

// releases collects them.
type releases struct {
	mu    sync.Mutex
	start time.Time
	all   []release
}

func (r *releases) add(n int, d slidegate.Decision, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, release{n, time.Since(r.start), d, err})
}

// storm calls Wait n times for one event, one after another, and waits for all.
func storm(ctx context.Context, g *Gate, n int, ev slidegate.Event) []release {
	rs := &releases{start: time.Now()}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			d, err := g.Wait(ctx, ev)
			rs.add(i, d, err)
		})
		synctest.Wait() // it stands in line before the next comes
	}
	all.Wait()
	return rs.all
}

// TestWaitSpaces: on gcra with burst 1, whether it queues or not, Wait releases
// exactly an interval apart, in the order of arrival.
func TestWaitSpaces(t *testing.T) {
	const interval = 100 * time.Millisecond
	for name, r := range map[string]rule.Rule{"plain": pace("100ms"), "queue": queueing("100ms", "1h", 1000)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, compile(t, r), Options{})
				for i, got := range storm(t.Context(), g, 50, api("a")) {
					if got.n != i || got.at != time.Duration(i)*interval || got.err != nil || !got.d.Admitted() || got.d.RetryAfter != 0 {
						t.Fatalf("%d: call %d released at %v: %v, %v", i, got.n, got.at, got.d.Action, got.err)
					}
				}
				if err := g.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestWaitCancelled: a cancelled Wait gives its place back: the next one waits
// one interval, not two, and those behind it move up, too.
func TestWaitCancelled(t *testing.T) {
	const interval = 100 * time.Millisecond
	for name, r := range map[string]rule.Rule{"plain": pace("100ms"), "queue": queueing("100ms", "1h", 1000)} {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/next comes before: %v", name, before), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := newGate(t, compile(t, r), Options{})
					defer g.Close()
					cancelled(t, g, interval, before)
				})
			})
		}
	}
}

func cancelled(t *testing.T, g *Gate, interval time.Duration, before bool) {
	start := time.Now()
	if _, err := g.Wait(t.Context(), api("a")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var second, third, fourth release
	var all sync.WaitGroup
	wait := func(ctx context.Context, r *release) {
		all.Go(func() {
			r.d, r.err = g.Wait(ctx, api("a"))
			r.at = time.Since(start)
		})
		synctest.Wait()
	}
	wait(ctx, &second)
	if before {
		wait(t.Context(), &third)
		wait(t.Context(), &fourth)
	}
	time.Sleep(interval / 2)
	cancel()
	synctest.Wait()
	if !errors.Is(second.err, context.Canceled) || second.at != interval/2 {
		t.Errorf("the cancelled one: %v at %v", second.err, second.at)
	}
	if !before {
		wait(t.Context(), &third)
		wait(t.Context(), &fourth)
	}
	all.Wait()
	if third.at != interval || third.err != nil || fourth.at != 2*interval || fourth.err != nil {
		t.Errorf("the next came at %v (%v), the one behind at %v (%v); want %v and %v", third.at, third.err, fourth.at, fourth.err, interval, 2*interval)
	}
}

// TestWaitFromTheMiddle: whoever leaves in the middle of a queue is replaced by
// those behind; the instants stay an interval apart.
func TestWaitFromTheMiddle(t *testing.T) {
	const interval, n = 100 * time.Millisecond, 30
	for name, r := range map[string]rule.Rule{"plain": pace("100ms"), "queue": queueing("100ms", "1h", 1000)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, compile(t, r), Options{})
				defer g.Close()
				rs := &releases{start: time.Now()}
				var all sync.WaitGroup
				var leave []context.CancelFunc
				for i := range n {
					ctx, cancel := context.WithCancel(t.Context())
					leave = append(leave, cancel)
					all.Go(func() {
						if d, err := g.Wait(ctx, api("a")); err == nil {
							rs.add(i, d, err)
						}
					})
					synctest.Wait()
				}
				random := rand.New(rand.NewPCG(1, 2))
				var stay []int
				for i, cancel := range leave {
					if i > 0 && random.IntN(2) == 0 {
						defer cancel()
						stay = append(stay, i)
					} else if i > 0 {
						cancel()
						synctest.Wait()
					}
				}
				all.Wait()
				for k, got := range rs.all[1:] {
					if got.n != stay[k] || got.at != time.Duration(k+1)*interval {
						t.Errorf("%d: call %d at %v, want call %d at %v", k, got.n, got.at, stay[k], time.Duration(k+1)*interval)
					}
				}
				if len(rs.all) != len(stay)+1 {
					t.Errorf("%d were let through, want %d", len(rs.all), len(stay)+1)
				}
				leave[0]()
			})
		})
	}
}

// TestQueueBounds: no one waits longer than max_wait, no more than max_queue wait,
// and the delay that is told is the one that it takes.
func TestQueueBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, compile(t, queueing("100ms", "1s", 7)), Options{})
		defer g.Close()
		random := rand.New(rand.NewPCG(3, 4))
		var due []time.Time // of those who wait
		for range 500 {
			time.Sleep(time.Duration(random.Int64N(60_000)) * time.Microsecond)
			now := time.Now()
			due = slices.DeleteFunc(due, func(at time.Time) bool { return !at.After(now) })
			d := check(t, g, api("a"))
			switch d.Action {
			case slidegate.Queue:
				at := now.Add(d.RetryAfter)
				if d.RetryAfter > time.Second || len(due) >= 7 || len(due) > 0 && at.Sub(due[len(due)-1]) < 100*time.Millisecond {
					t.Fatalf("queued for %v behind %d", d.RetryAfter, len(due))
				}
				due = append(due, at)
			case slidegate.Reject:
				if len(due) < 7 {
					t.Fatalf("rejected behind %d", len(due))
				}
				time.Sleep(d.RetryAfter - time.Microsecond)
				if d := check(t, g, slidegate.Event{Name: "call", Attrs: api("a").Attrs, Cost: slidegate.CostOf(1)}); d.Admitted() {
					t.Fatalf("admitted 1 µs before the delay it was told")
				}
			}
		}
	})
}

// TestWaitQueueFull: a full queue refuses a Wait at once.
func TestWaitQueueFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, compile(t, queueing("100ms", "1h", 3)), Options{})
		defer g.Close()
		got := storm(t.Context(), g, 6, api("a"))
		refused := 0
		for _, r := range got {
			if errors.Is(r.err, slidegate.ErrRefused) {
				refused++
				if r.at != 0 || r.d.Action != slidegate.Reject || r.d.RetryAfter != 100*time.Millisecond || !strings.Contains(r.err.Error(), "queue of rule pace is full") {
					t.Errorf("%v after %v: %+v", r.err, r.at, r.d.RetryAfter)
				}
			}
		}
		if refused != 2 {
			t.Errorf("%d refused, want 2", refused)
		}
	})
}

// TestWaitErrors: what cannot be waited for is an error at once, and nothing is
// charged.
func TestWaitErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := &rule.Set{
			Deny: []rule.Matcher{{"user": {"mallory"}}},
			Rules: []rule.Rule{
				{Name: "ban", Match: []rule.Matcher{{"event": {"ban"}}}, Limits: limits("0 per 1m")},
				{Name: "last", Match: []rule.Matcher{{"event": {"last"}}}, Limits: limits("1 per 10 events")},
				{Name: "ask", Match: []rule.Matcher{{"event": {"ask"}}}, Limits: []rule.Limit{{Limit: "1 per 1h", Action: "challenge", With: "captcha"}}},
				{Name: "key", Match: []rule.Matcher{{"event": {"key"}}}, Key: []string{"user"}, MissingKey: "reject", Limits: limits("1 per 1h")},
				{Name: "hour", Match: []rule.Matcher{{"event": {"hour"}}}, Limits: limits("1 per 1h")},
				{Name: "beside", Match: []rule.Matcher{{"event": {"ban", "hour"}}}, Limits: limits("5 per 1h")},
			},
		}
		plan, _, err := rule.Compile(set)
		if err != nil {
			t.Fatal(err)
		}
		g := newGate(t, plan, Options{})
		defer g.Close()
		for _, name := range []string{"last", "ask", "hour"} {
			check(t, g, event(name))
		}
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, c := range []struct {
			ctx  context.Context
			ev   slidegate.Event
			want error
			text string
		}{
			{t.Context(), event("ban"), slidegate.ErrRefused, "rule ban can never let it through"},
			{t.Context(), event("last"), slidegate.ErrRefused, "rule last: limit"},
			{t.Context(), event("ask"), slidegate.ErrRefused, "rule ask asks for captcha"},
			{t.Context(), event("key"), slidegate.ErrRefused, "rule key: missing_key"},
			{t.Context(), event("key", slidegate.String("user", "mallory")), slidegate.ErrRefused, "deny"},
			{t.Context(), slidegate.Event{}, slidegate.ErrEvent, "the name is empty"},
			{short, event("hour"), context.DeadlineExceeded, "rule hour lets it through in 1h0m0s, after the context ends"},
		} {
			began := time.Now()
			_, err := g.Wait(c.ctx, c.ev)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || time.Since(began) != 0 {
				t.Errorf("%s: %v after %v; want %q", c.ev.Name, err, time.Since(began), c.text)
			}
		}
		if ws, err := g.Query(t.Context(), "beside"); err != nil || ws[0].Used != 1 {
			t.Errorf("beside: %+v, %v", ws, err)
		}
	})
}

// TestWaitInflight: Wait is a semaphore on what is in flight: whoever is next goes
// on as soon as a place is released, long before its deadline.
func TestWaitInflight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, compile(t, rule.Rule{Name: "work", Hold: "1h", Limits: limits("2 inflight")}), Options{})
		defer g.Close()
		start := time.Now()
		var mu sync.Mutex
		inside, most, order := 0, 0, []int{}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the hold is longer
				defer cancel()
				d, err := g.Wait(ctx, event("job"))
				if err != nil {
					t.Errorf("%d: %v", i, err)
					return
				}
				mu.Lock()
				inside++
				most = max(most, inside)
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				inside--
				mu.Unlock()
				if ok, err := g.Release(context.Background(), d.ID.String()); !ok || err != nil {
					t.Errorf("%d: release: %v, %v", i, ok, err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		if most != 2 || !slices.IsSorted(order) || time.Since(start) != 10*time.Second {
			t.Errorf("%d inside at once, in the order %v, in %v", most, order, time.Since(start))
		}
	})
}

// TestWaitWakes: who waits looks again when windows are emptied, rules change or
// the gate is closed.
func TestWaitWakes(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*testing.T, *Gate)
		want error
	}{
		"reset": {func(t *testing.T, g *Gate) {
			if err := g.Reset(t.Context(), "r", slidegate.String("k", "a")); err != nil {
				t.Error(err)
			}
		}, nil},
		"reload": {func(t *testing.T, g *Gate) {
			if _, err := g.Reload(compile(t, rule.Rule{Name: "r", Key: []string{"k"}, Limits: limits("2 per 1h")})); err != nil {
				t.Error(err)
			}
		}, nil},
		"close": {func(t *testing.T, g *Gate) {
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}, slidegate.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, compile(t, rule.Rule{Name: "r", Key: []string{"k"}, Limits: limits("1 per 1h")}), Options{})
				defer g.Close()
				ev := event("e", slidegate.String("k", "a"))
				check(t, g, ev)
				done := make(chan error, 1)
				go func() {
					_, err := g.Wait(t.Context(), ev)
					done <- err
				}()
				synctest.Wait()
				c.do(t, g)
				synctest.Wait()
				select {
				case err := <-done:
					if !errors.Is(err, c.want) {
						t.Errorf("got %v, want %v", err, c.want)
					}
				default:
					t.Error("still waits")
				}
			})
		})
	}
}

// TestWaitRefundWakes: a refund makes room for who waits.
func TestWaitRefundWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: limits("1 per 1h")}), Options{})
		defer g.Close()
		first := check(t, g, event("e"))
		start := time.Now()
		time.AfterFunc(time.Minute, func() {
			if ok, err := g.Refund(context.Background(), first.ID.String()); !ok || err != nil {
				t.Error(ok, err)
			}
		})
		if _, err := g.Wait(t.Context(), event("e")); err != nil || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// TestWaitIsFair: calls that come while others wait for the same key stand behind
// them, also where they meet another rule too; other keys are let through.
func TestWaitIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, compile(t,
			rule.Rule{Name: "ip", Key: []string{"ip"}, Limits: limits("2 per 10s")},
			rule.Rule{Name: "phone", Key: []string{"phone"}, Limits: limits("1 per 60s")},
		), Options{})
		defer g.Close()
		sms := func(phone, ip string) slidegate.Event {
			return event("sms", slidegate.String("phone", phone), slidegate.String("ip", ip))
		}
		rs := &releases{start: time.Now()}
		var all sync.WaitGroup
		for i, ev := range []slidegate.Event{
			sms("1", "192.0.2.1"), sms("2", "192.0.2.1"), // both at once
			sms("1", "192.0.2.1"), // waits for the phone
			sms("3", "192.0.2.1"), // waits for the address only
			sms("4", "192.0.2.2"), // for nothing
			sms("5", "192.0.2.1"), sms("6", "192.0.2.1"),
		} {
			all.Go(func() {
				d, err := g.Wait(t.Context(), ev)
				rs.add(i, d, err)
			})
			synctest.Wait()
		}
		all.Wait()
		want := map[int]time.Duration{0: 0, 1: 0, 2: 60 * time.Second, 3: 10 * time.Second, 4: 0, 5: 10 * time.Second, 6: 20 * time.Second}
		for _, r := range rs.all {
			if r.err != nil || r.at != want[r.n] {
				t.Errorf("call %d: at %v, %v; want %v", r.n, r.at, r.err, want[r.n])
			}
		}
	})
}

// TestWaitStorm: many calls for many keys, of which many end early, leave no
// goroutine, no line and no place behind, and never more inside than fits.
func TestWaitStorm(t *testing.T) {
	defer goleak.VerifyNone(t)
	g, err := New(compile(t, queueing("2ms", "1s", 20),
		rule.Rule{Name: "user", Key: []string{"user"}, Limits: limits("20 per 50ms")},
		rule.Rule{Name: "work", Key: []string{"api"}, Hold: "10s", Limits: limits("30 inflight")},
	), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 400 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.Int64N(int64(200*time.Millisecond))))
			defer cancel()
			ev := event("call", slidegate.Int("api", random.Int64N(3)), slidegate.Int("user", random.Int64N(3)))
			d, err := g.Wait(ctx, ev)
			switch {
			case err == nil:
				if ok, err := g.Release(context.Background(), d.ID.String()); !ok || err != nil {
					t.Errorf("release: %v, %v", ok, err)
				}
			case !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, slidegate.ErrRefused):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(g.lines.byName) + len(g.lines.queues); n != 0 || !g.lines.none() {
		t.Errorf("%d lines and queues are left", n)
	}
	for name := range 3 {
		ws, err := g.Query(context.Background(), "work", slidegate.Int("api", int64(name)))
		if err != nil || ws[0].Used != 0 {
			t.Errorf("in flight: %+v, %v", ws, err)
		}
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}
