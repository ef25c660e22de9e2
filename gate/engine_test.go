package gate

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
	"go.uber.org/goleak"
)

var bg = context.Background()

// clock is a clock that tests move.
type clock struct{ us atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.us.Store(1_700_000_000_000_000)
	return c
}

func (c *clock) now() time.Time       { return time.UnixMicro(c.us.Load()) }
func (c *clock) move(d time.Duration) { c.us.Add(d.Microseconds()) }
func (c *clock) options() Options     { return Options{Now: c.now} }
func event(name string, attrs ...slidegate.Attr) slidegate.Event {
	return slidegate.Event{Name: name, Attrs: attrs}
}

func compile(tb testing.TB, rules ...rule.Rule) *rule.Plan {
	tb.Helper()
	for i := range rules {
		if rules[i].MissingKey == "" {
			rules[i].MissingKey = "skip"
		}
	}
	plan, _, err := rule.Compile(&rule.Set{Rules: rules})
	if err != nil {
		tb.Fatal(err)
	}
	return plan
}

func limits(texts ...string) (ls []rule.Limit) {
	for _, t := range texts {
		ls = append(ls, rule.Limit{Limit: t})
	}
	return ls
}

func check(tb testing.TB, g *Gate, ev slidegate.Event) slidegate.Decision {
	tb.Helper()
	d, err := g.Check(bg, ev)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func TestNewErrors(t *testing.T) {
	plan := compile(t, rule.Rule{Name: "r", Limits: limits("1 per 1s")})
	if _, err := New(nil, Options{}); err == nil {
		t.Error("no plan: no error")
	}
	if _, err := New(plan, Options{IDKey: []byte("short")}); err == nil || !strings.Contains(err.Error(), "IDKey") {
		t.Errorf("a short key: %v", err)
	}
	if _, err := New(nil, Options{IDKey: []byte("short")}); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("two errors at once: %v", err)
	}
}

func TestEventErrors(t *testing.T) {
	g := newGate(t, compile(t,
		rule.Rule{Name: "a", Key: []string{"ip"}, Limits: limits("5 per 1m")},
		rule.Rule{Name: "b", Limits: limits("5 sum(v) per 1m")},
	), newClock().options())
	good := event("e", slidegate.String("ip", "192.0.2.1"), slidegate.Int("v", 1))
	for want, ev := range map[string]slidegate.Event{
		"the name is empty":   {},
		"is negative":         {Name: "e", Cost: slidegate.CostOf(-1)},
		"given twice":         event("e", slidegate.Int("v", 1), slidegate.Int("v", 2)),
		"a check has none":    {Name: "e", Time: time.Now()},
		"not an IP address":   event("e", slidegate.String("ip", "x"), slidegate.Int("v", 1)),
		"v is missing":        event("e", slidegate.String("ip", "192.0.2.1")),
		"is not a number":     event("e", slidegate.String("v", "x")),
		"not a finite number": event("e", slidegate.Float("v", nan())),
		"taken by the name":   event("e", slidegate.String("event", "f")),
		"is negative; a sum":  event("e", slidegate.Int("v", -1)),
		"too large to add up": event("e", slidegate.Int("v", 1<<60)),
	} {
		if _, err := g.Check(bg, ev); !errors.Is(err, slidegate.ErrEvent) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", ev, err, want)
		}
		if _, err := g.CheckBatch(bg, []slidegate.Event{good, ev}); !errors.Is(err, slidegate.ErrEvent) || placeOf(err) != 1 || !strings.Contains(err.Error(), "event 1: ") {
			t.Errorf("in a batch: %v", err)
		}
		if _, err := g.CheckAll(bg, []slidegate.Event{good, ev}); !errors.Is(err, slidegate.ErrEvent) {
			t.Errorf("in one verdict: %v", err)
		}
		if _, err := g.Explain(bg, ev); !errors.Is(err, slidegate.ErrEvent) {
			t.Errorf("explained: %v", err)
		}
	}
	ws, err := g.Query(bg, "b")
	if err != nil || ws[0].Used != 0 {
		t.Errorf("after nothing but errors: %+v, %v", ws, err)
	}
}

func nan() float64 { z := 0.0; return z / z }

// placeOf returns the place of the event that an error of a batch names, or -1.
func placeOf(err error) int {
	if bad, ok := errors.AsType[*slidegate.EventError](err); ok {
		return bad.Index
	}
	return -1
}

func TestCheckBatchIsIndependent(t *testing.T) {
	g := newGate(t, compile(t, rule.Rule{Name: "r", Key: []string{"k"}, Limits: limits("2 per 1m")}), newClock().options())
	ev := event("e", slidegate.String("k", "1"))
	ds, err := g.CheckBatch(bg, []slidegate.Event{ev, ev, ev, event("e", slidegate.String("k", "2")), event("e")})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, true, false, true, true} {
		if ds[i].Admitted() != want {
			t.Errorf("event %d: %v", i, ds[i].Action)
		}
	}
	if ds, err := g.CheckBatch(bg, nil); err != nil || len(ds) != 0 {
		t.Errorf("an empty batch: %v %v", ds, err)
	}
}

// TestCheckAllAddsCosts holds one verdict over several events: costs that meet
// in a window are added before they are judged, and all pass or none.
func TestCheckAllAddsCosts(t *testing.T) {
	g := newGate(t, compile(t,
		rule.Rule{Name: "r", Key: []string{"k"}, Limits: limits("5 per 1m")},
		rule.Rule{Name: "all", Limits: limits("6 per 1m")},
	), newClock().options())
	cost := func(k string, n int64) slidegate.Event {
		return slidegate.Event{Name: "e", Cost: slidegate.CostOf(n), Attrs: []slidegate.Attr{slidegate.String("k", k)}}
	}
	all := func(evs ...slidegate.Event) slidegate.Decision {
		d, err := g.CheckAll(bg, evs)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := all(cost("a", 2), cost("a", 2), cost("b", 1)); !d.Admitted() || len(d.Windows()) != 3 {
		t.Errorf("5 in all: %v, %d windows", d.Action, len(d.Windows()))
	}
	if d := all(cost("b", 1), cost("a", 1)); d.Admitted() || d.Rule != "all" {
		t.Errorf("7 in all: %v by %q", d.Action, d.Rule)
	}
	if d := all(cost("a", 3), cost("a", 3)); !d.Never {
		t.Errorf("6 of 5 at once: never is %v", d.Never)
	}
	if d := all(cost("a", 1)); !d.Admitted() {
		t.Error("the refused ones were charged")
	}
	if d := all(); !d.Admitted() || d.ID.String() == "" {
		t.Error("no events: nothing refuses")
	}
}

func TestRefund(t *testing.T) {
	c := newClock()
	g := newGate(t, compile(t,
		rule.Rule{Name: "r", Key: []string{"k"}, Limits: limits("1 per 1m", "9 per 1h")},
		rule.Rule{Name: "s", Limits: []rule.Limit{{Limit: "5 sum(v) per 1m"}, {Limit: "2 per 5 events"}, {Limit: "3 per 1m", Algorithm: "gcra", Burst: new(int64(3))}, {Limit: "7 per 1h", Algorithm: "fixed"}}},
	), c.options())
	ev := event("e", slidegate.String("k", "1"), slidegate.Float("v", 1.5))
	d := check(t, g, ev)
	id := d.ID.String()
	before, _ := g.Query(bg, "s")
	if given, err := g.Refund(bg, id); err != nil || !given {
		t.Fatalf("Refund = %v, %v", given, err)
	}
	for _, name := range []string{"r", "s"} {
		ws, err := g.Query(bg, name, slidegate.String("k", "1"))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range ws {
			if w.Used != 0 || w.Remaining != w.Max {
				t.Errorf("after the refund: %+v (before %+v)", w, before)
			}
		}
	}
	if given, err := g.Refund(bg, id); err != nil || given {
		t.Errorf("a second time: %v, %v", given, err)
	}
	if d := check(t, g, ev); !d.Admitted() {
		t.Errorf("after the refund: %v by %s", d.Action, d.Rule)
	}
	if given, _ := g.Refund(bg, id); given {
		t.Error("the id of another decision gave it back")
	}
	refused := check(t, g, ev)
	if given, err := g.Refund(bg, refused.ID.String()); err != nil || given {
		t.Errorf("a refused one: %v, %v", given, err)
	}
	c.move(time.Hour)
	if given, err := g.Refund(bg, d.ID.String()); err != nil || given {
		t.Errorf("late: %v, %v", given, err)
	}
}

func TestRefundErrors(t *testing.T) {
	plan := compile(t, rule.Rule{Name: "r", Limits: limits("9 per 1m")})
	g, other := newGate(t, plan, Options{}), newGate(t, plan, Options{})
	d, foreign := check(t, g, event("e")), check(t, other, event("e"))
	id := d.ID.String()
	for _, bad := range []string{"", "x", "é", id[:len(id)-1], id + "A", strings.ToUpper(id), foreign.ID.String(), strings.Repeat("A", 1000), strings.Repeat("=", 100)} {
		if given, err := g.Refund(bg, bad); !errors.Is(err, slidegate.ErrID) || given {
			t.Errorf("%.30q: %v, %v", bad, given, err)
		}
	}
	for i := range len(id) {
		changed := []byte(id)
		if changed[i]++; strings.ContainsRune("[`{:.", rune(changed[i])) {
			continue
		}
		if given, err := g.Refund(bg, string(changed)); err == nil {
			t.Fatalf("byte %d changed: given %v", i, given)
		}
	}
	if given, err := g.Refund(bg, id); !given || err != nil {
		t.Errorf("the true id: %v, %v", given, err)
	}
	key := []byte("0123456789abcdef")
	one, two := newGate(t, plan, Options{IDKey: key}), newGate(t, plan, Options{IDKey: key})
	d = check(t, one, event("e"))
	if _, err := two.Refund(bg, d.ID.String()); err != nil {
		t.Errorf("gates with the same key: %v", err)
	}
}

func TestQueryResetErrors(t *testing.T) {
	g := newGate(t, compile(t, rule.Rule{Name: "r", Key: []string{"ip"}, Limits: limits("2 per 1m")}), newClock().options())
	if _, err := g.Query(bg, "nobody"); !errors.Is(err, slidegate.ErrUnknownRule) {
		t.Errorf("unknown rule: %v", err)
	}
	if _, err := g.Query(bg, "r"); !errors.Is(err, slidegate.ErrEvent) || !strings.Contains(err.Error(), "[ip]") {
		t.Errorf("no key: %v", err)
	}
	if err := g.Reset(bg, "r", slidegate.String("ip", "x")); !errors.Is(err, slidegate.ErrEvent) {
		t.Errorf("bad key: %v", err)
	}
	ip := slidegate.String("ip", "192.0.2.1")
	d := check(t, g, event("e", ip))
	check(t, g, event("e", ip))
	if err := g.Reset(bg, "r", slidegate.String("ip", "::ffff:192.0.2.1")); err != nil {
		t.Fatal(err)
	}
	if ws, err := g.Query(bg, "r", ip); err != nil || ws[0].Used != 0 || ws[0].Limit != "2 per 1m" {
		t.Errorf("after Reset: %+v %v", ws, err)
	}
	check(t, g, event("e", ip))
	if given, _ := g.Refund(bg, d.ID.String()); given {
		t.Error("a decision from before the reset was given back")
	}
}

func TestClosed(t *testing.T) {
	g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: limits("1 per 1s")}), Options{})
	d := check(t, g, event("e"))
	if err := errors.Join(g.Close(), g.Close()); err != nil {
		t.Fatal(err)
	}
	_, errCheck := g.Check(bg, event("e"))
	_, errQuery := g.Query(bg, "r")
	_, errRefund := g.Refund(bg, d.ID.String())
	_, errReload := g.Reload(g.Plan())
	_, errExplain := g.Explain(bg, event("e"))
	for _, err := range []error{errCheck, errQuery, errRefund, errReload, errExplain, g.Reset(bg, "r")} {
		if !errors.Is(err, slidegate.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
	goleak.VerifyNone(t)
}

// TestReload holds that history stays by identity, and that a limit bites or
// frees at once.
func TestReload(t *testing.T) {
	c := newClock()
	plan := func(texts ...string) *rule.Plan { return compile(t, rule.Rule{Name: "r", Limits: limits(texts...)}) }
	g := newGate(t, plan("4 per 1m", "9 per 1h"), c.options())
	for range 4 {
		check(t, g, event("e"))
	}
	lost, err := g.Reload(plan("2 per 60s", "9 per 2h"))
	if err != nil || len(lost) != 1 || lost[0].Limit != "9 per 1h" {
		t.Fatalf("Reload = %+v, %v", lost, err)
	}
	d := check(t, g, event("e"))
	if w := d.Windows(); d.Admitted() || w[0].Used != 4 || w[0].Remaining != 0 || w[1].Used != 0 {
		t.Errorf("after a lower limit: %+v", d)
	}
	if _, err := g.Reload(plan("6 per 1m", "9 per 2h")); err != nil {
		t.Fatal(err)
	}
	if d := check(t, g, event("e")); !d.Admitted() || d.Windows()[0].Used != 5 {
		t.Errorf("after a higher limit: %+v", d)
	}
	if _, err := g.Reload(nil); err == nil {
		t.Error("no plan: no error")
	}
}

func TestMissingKeyReject(t *testing.T) {
	g := newGate(t, compile(t,
		rule.Rule{Name: "need", Key: []string{"tenant"}, MissingKey: "reject", Message: "Who are you?", Limits: limits("9 per 1m")},
		rule.Rule{Name: "all", Limits: []rule.Limit{{Limit: "9 per 1m"}, {Limit: "9 per 1h", CountRefused: true}}},
		rule.Rule{Name: "try", Key: []string{"x"}, MissingKey: "reject", Shadow: new(true), Limits: limits("9 per 1m")},
	), newClock().options())
	d := check(t, g, event("e"))
	if d.Admitted() || d.Rule != "need" || d.Reason != slidegate.ReasonMissingKey || d.Message != "Who are you?" || d.RetryAfter != 0 {
		t.Errorf("got %+v", d)
	}
	ws, _ := g.Query(bg, "all")
	if ws[0].Used != 0 || ws[1].Used != 1 {
		t.Errorf("charged %d, and counted %d as refused", ws[0].Used, ws[1].Used)
	}
	if d := check(t, g, event("e", slidegate.String("tenant", "t"))); !d.Admitted() {
		t.Errorf("a shadow rule rejected: %+v", d)
	}
}

func TestShadow(t *testing.T) {
	g := newGate(t, compile(t, rule.Rule{Name: "api", Key: []string{"user"}, Limits: []rule.Limit{{Limit: "3 per 1m"}, {Limit: "2 per 1m", Shadow: new(true)}}}), newClock().options())
	user := slidegate.String("user", "u")
	for i, want := range []struct {
		admitted, shadowRefused bool
		shadowUsed              int64
	}{{true, false, 1}, {true, false, 2}, {true, true, 2}, {false, true, 2}} {
		d := check(t, g, event("e", user))
		s := d.Shadow()
		if d.Admitted() != want.admitted || len(s) != 1 || s[0].Refused != want.shadowRefused || s[0].Used != want.shadowUsed {
			t.Errorf("check %d: %v, shadow %+v", i, d.Action, s)
		}
		if w, _ := d.Tightest(); w.Remaining != max(2-int64(i), 0) {
			t.Errorf("check %d: remaining %d", i, w.Remaining)
		}
	}
}

// TestShadowStopsNothing: what is on trial does not make an event fail either.
func TestShadowStopsNothing(t *testing.T) {
	g := newGate(t, compile(t,
		rule.Rule{Name: "on", Limits: []rule.Limit{{Limit: "3 per 1m"}, {Limit: "5 sum(v) per 1m", Shadow: new(true)}}},
		rule.Rule{Name: "trial", Key: []string{"ip"}, Shadow: new(true), Limits: limits("1 per 1m")},
		rule.Rule{Name: "half", Shadow: new(true), Limits: []rule.Limit{{Limit: "1 per 1h"}, {Limit: "2 per 1m", Shadow: new(false)}}},
	), newClock().options())
	for i, want := range []bool{true, true, false} {
		d := check(t, g, event("e", slidegate.String("ip", "nonsense")))
		if d.Admitted() != want || len(d.Windows()) != 2 || len(d.Shadow()) != 1 {
			t.Errorf("check %d: %v, %d windows, %d shadows", i, d.Action, len(d.Windows()), len(d.Shadow()))
		}
	}
	x, err := g.Explain(bg, event("e", slidegate.String("ip", "nonsense")))
	if err != nil || x.Rules[1].Applies || !strings.Contains(x.Rules[1].Why, "not an IP address") {
		t.Errorf("%+v %v", x, err)
	}
}

// TestManyWindows holds that decisions over more windows than fit inline are
// whole.
func TestManyWindows(t *testing.T) {
	var texts []string
	for _, w := range []string{"1s", "2s", "3s", "4s", "5s", "6s", "7s"} {
		texts = append(texts, "2 per "+w)
	}
	g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: limits(texts...)}), newClock().options())
	first := check(t, g, event("e"))
	second := check(t, g, event("e"))
	third := check(t, g, event("e"))
	if len(third.Windows()) != 7 || third.RetryAfter != 7*time.Second || first.Windows()[6].Used != 1 {
		t.Errorf("got %+v", third)
	}
	for _, d := range []slidegate.Decision{first, second} {
		if given, err := g.Refund(bg, d.ID.String()); !given || err != nil {
			t.Errorf("Refund = %v, %v", given, err)
		}
	}
	ws, _ := g.Query(bg, "r")
	for _, w := range ws {
		if w.Used != 0 {
			t.Errorf("%s: used %d after all was refunded", w.Limit, w.Used)
		}
	}
}

func TestExplain(t *testing.T) {
	g := newGate(t, compile(t,
		rule.Rule{Name: "phone", Match: []rule.Matcher{{"event": {"sms.send"}}}, Key: []string{"phone"}, Limits: limits("1 per 60s", "10 per 24h"),
			Overrides: []rule.Override{{Match: []rule.Matcher{{"phone": {"2"}}}, Unlimited: true}}},
		rule.Rule{Name: "ip", Key: []string{"ip/24"}, Limits: limits("20 per 1m")},
		rule.Rule{Name: "other", Match: []rule.Matcher{{"event": {"login"}}}, Limits: limits("1 per 1s")},
	), newClock().options())
	ev := event("sms.send", slidegate.String("phone", "1"), slidegate.String("ip", "192.0.2.77"))
	check(t, g, ev)
	for range 2 { // it records nothing
		x, err := g.Explain(bg, ev)
		if err != nil {
			t.Fatal(err)
		}
		p, ip, other := x.Rules[0], x.Rules[1], x.Rules[2]
		switch {
		case x.Decision.Admitted() || x.Decision.Rule != "phone" || x.Decision.RetryAfter != time.Minute || x.Decision.ID.String() != "":
			t.Errorf("decision %+v", x.Decision)
		case !p.Applies || p.CanonicalKey != "1:1" || len(p.Limits) != 2 || p.Limits[0].Window.Used != 1 || p.Limits[1].Window.Used != 1:
			t.Errorf("phone %+v", p)
		case !ip.Applies || ip.Key[0].Value.String() != "192.0.2.0/24" || ip.Limits[0].Window.Used != 1:
			t.Errorf("ip %+v", ip)
		case other.Applies || !strings.Contains(other.Why, `event is "sms.send", not "login"`):
			t.Errorf("other %+v", other)
		}
	}
	x, err := g.Explain(bg, event("sms.send", slidegate.String("phone", "2")))
	if err != nil || !strings.Contains(x.Rules[0].Why, "overrides[0]") || len(x.Rules[0].Limits) != 0 || !strings.Contains(x.Rules[1].Why, "skipped") {
		t.Errorf("%+v %v", x, err)
	}
}

func TestCeiling(t *testing.T) {
	o := newClock().options()
	o.Memory.MaxKeys, o.Memory.SketchBytes = 2, -1
	g := newGate(t, compile(t, rule.Rule{Name: "r", Key: []string{"k"}, Limits: limits("2 per 1m")}), o)
	for _, c := range []struct {
		key    string
		reason string
	}{{"a", ""}, {"b", ""}, {"c", slidegate.ReasonCeiling}, {"a", ""}, {"a", slidegate.ReasonLimit}, {"d", slidegate.ReasonCeiling}} {
		d := check(t, g, event("e", slidegate.String("k", c.key)))
		if d.Reason != c.reason || d.Admitted() != (c.reason == "") {
			t.Errorf("%s: %v %q", c.key, d.Action, d.Reason)
		}
	}
}

// TestBurstOfSum: the burst of gcra is how much may pass at one instant, and max_queue
// how much may wait, in the units of the maximum, also of a sum.
func TestBurstOfSum(t *testing.T) {
	l := rule.Limit{Limit: "100 sum(v) per 1m", Algorithm: "gcra", Burst: new(int64(50))}
	queue := l
	queue.Action, queue.MaxWait, queue.MaxQueue = "queue", "1h", new(int64(60))
	for name, l := range map[string]rule.Limit{"burst": l, "queue": queue} {
		g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: []rule.Limit{l}}), newClock().options())
		if d := check(t, g, event("e", slidegate.Int("v", 50))); d.Action != slidegate.Allow {
			t.Errorf("%s: 50 of a burst of 50: %v, never %v; %+v", name, d.Action, d.Never, d.Windows())
		}
		if d := check(t, g, event("e", slidegate.Int("v", 60))); name == "queue" && d.Action != slidegate.Queue {
			t.Errorf("60 of a queue of 60: %v; %+v", d.Action, d.Windows())
		}
	}
}
