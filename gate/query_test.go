package gate

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/store"
)

// TestResetEmptiesAllWindows: overrides that hold for the attributes neither
// leave windows out nor say that there is nothing to empty.
func TestResetEmptiesAllWindows(t *testing.T) {
	g := newGate(t, compile(t, rule.Rule{Name: "r", Key: []string{"user"}, Limits: limits("1 per 1m", "5 per 1h"), Overrides: []rule.Override{
		{Match: []rule.Matcher{{"plan": {"free"}}}, Unlimited: true},
		{Match: []rule.Matcher{{"plan": {"pro"}}}, Limits: []string{"9 per 1h"}},
	}}), newClock().options())
	user := slidegate.String("user", "a")
	for _, plan := range []string{"free", "pro", "none"} {
		if d := check(t, g, event("e", user)); !d.Admitted() {
			t.Fatalf("before %s: %v", plan, d.Action)
		}
		if err := g.Reset(bg, "r", user, slidegate.String("plan", plan)); err != nil {
			t.Fatal(err)
		}
		ws, err := g.Query(bg, "r", user)
		if err != nil || ws[0].Used != 0 || ws[1].Used != 0 {
			t.Errorf("after Reset of a %s user: %+v, %v", plan, ws, err)
		}
	}
}

// TestQueryByEventName: a key that is built from the name of the event can be
// asked for, and is not asked for by mistake.
func TestQueryByEventName(t *testing.T) {
	g := newGate(t, compile(t, rule.Rule{Name: "r", Key: []string{"event", "user"}, Limits: limits("5 per 1m")}), newClock().options())
	user, login := slidegate.String("user", "a"), slidegate.String("event", "login")
	check(t, g, event("login", user))
	attrs := []slidegate.Attr{login, user}
	ws, err := g.Query(bg, "r", attrs...)
	if err != nil || ws[0].Used != 1 {
		t.Errorf("got %+v, %v", ws, err)
	}
	if attrs[0] != login || attrs[1] != user {
		t.Errorf("the caller's attributes are now %v", attrs)
	}
	if ws, err := g.Query(bg, "r", user); !errors.Is(err, slidegate.ErrEvent) {
		t.Errorf("no event: %+v, %v", ws, err)
	}
	if err := g.Reset(bg, "r", user); !errors.Is(err, slidegate.ErrEvent) {
		t.Errorf("Reset without event: %v", err)
	}
	if err := g.Reset(bg, "r", user, login); err != nil {
		t.Error(err)
	}
	if ws, _ := g.Query(bg, "r", user, login); ws[0].Used != 0 {
		t.Errorf("after Reset: %+v", ws)
	}
}

// TestOneClock: the end of an override is judged by the clock of the store.
func TestOneClock(t *testing.T) {
	c := newClock() // in 2023
	plan := compile(t, rule.Rule{Name: "r", Limits: limits("1 per 1m"), Overrides: []rule.Override{
		{Match: []rule.Matcher{{"user": {"a"}}}, Unlimited: true, Until: "2024-01-01"},
	}})
	g := newGate(t, plan, Options{Memory: store.MemoryOptions{Now: c.us.Load}})
	if d := check(t, g, event("e", slidegate.String("user", "a"))); len(d.Windows()) != 0 {
		t.Errorf("the override has ended by another clock: %+v", d)
	}
	if _, err := New(plan, Options{Now: time.Now, Memory: store.MemoryOptions{Now: c.us.Load}}); err == nil || !strings.Contains(err.Error(), "Memory.Now") {
		t.Errorf("two clocks: %v", err)
	}
}

// TestExplainShadowMissingKey: a shadow rule rejects nobody, and is not said to.
func TestExplainShadowMissingKey(t *testing.T) {
	g := newGate(t, compile(t, rule.Rule{Name: "r", Key: []string{"user"}, MissingKey: "reject", Shadow: new(true), Limits: limits("1 per 1m")}), newClock().options())
	x, err := g.Explain(bg, event("e"))
	if err != nil || !x.Decision.Admitted() || !strings.Contains(x.Rules[0].Why, "would be rejected") {
		t.Errorf("%+v, %v", x, err)
	}
}

// TestExplainNew: lists, conditions and rules that replace others are explained.
func TestExplainNew(t *testing.T) {
	set := &rule.Set{
		Attributes: map[string]rule.Attribute{"user": {}, "group": {}, "phone": {Secret: true}, "links": {Type: "number"}},
		Lists:      map[string][]string{"staff": {"root", "ops"}},
		Allow:      []rule.Matcher{{"user": {rule.InList("staff")}}},
		Deny:       []rule.Matcher{{"phone": {"555"}}},
		Rules: []rule.Rule{
			{Name: "all", Limits: limits("9 per 1h")},
			{Name: "search", Match: []rule.Matcher{{"group": {"search"}}}, Replaces: []string{"all"}, Limits: limits("1 per 1h")},
			{Name: "links", Where: "links > 2", Limits: limits("1 per 1h", "3 count where links > 5 per 1h")},
			{Name: "secret", Match: []rule.Matcher{{"phone": {"5*"}}}, Key: []string{"phone"}, MissingKey: "skip", Limits: limits("1 per 1h")},
		},
	}
	plan, _, err := rule.Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, plan, Options{SecretKey: []byte("0123456789abcdef")})
	for _, c := range []struct {
		ev     slidegate.Event
		listed string
		why    []string
	}{
		{event("e"), "", []string{"matches every event", "does not match: group is missing", "where links > 2 is unknown", "phone is missing"}},
		{event("e", slidegate.String("group", "search")), "", []string{"replaced by rule search", `matches group="search"`, "", ""}},
		{event("e", slidegate.Int("links", 2)), "", []string{"", "", "where links > 2 is false", ""}},
		{event("e", slidegate.Int("links", 3)), "", []string{"", "", "where links > 2 is true", ""}},
		{event("e", slidegate.String("user", "ops")), `allow[0]: user="ops"`, []string{"on a list", "", "", ""}},
		{event("e", slidegate.String("user", "ops"), slidegate.String("phone", "555")), `deny[0]: phone=(secret)`, nil},
		{event("e", slidegate.String("phone", "556")), "", []string{"", "", "", "matches phone=(secret)"}},
	} {
		x, err := g.Explain(t.Context(), c.ev)
		if err != nil || x.Listed != c.listed {
			t.Fatalf("%+v: %+v, %v", c.ev, x, err)
		}
		for i, why := range c.why {
			if !strings.Contains(x.Rules[i].Why, why) {
				t.Errorf("%+v: rule %s: %q, want %q", c.ev, x.Rules[i].Rule, x.Rules[i].Why, why)
			}
		}
		if d := check(t, g, c.ev); d.Action != x.Decision.Action {
			t.Errorf("%+v: explained as %v, and it was %v", c.ev, x.Decision.Action, d.Action)
		}
	}
	x, err := g.Explain(t.Context(), event("e", slidegate.String("phone", "556")))
	if err != nil || strings.Contains(x.Rules[3].CanonicalKey+x.Rules[3].Key[0].Value.String(), "556") || !strings.HasPrefix(x.Rules[3].CanonicalKey, "32:") {
		t.Errorf("the key of a secret: %+v, %v", x.Rules[3], err)
	}
}

// TestSecretInCondition: the value of a secret attribute never lies in an
// explanation, nor does a value that it is compared with in a condition.
func TestSecretInCondition(t *testing.T) {
	for where, shown := range map[string]string{
		`phone == "13800000000"`:                         `phone == (secret)`,
		`"13800000000" != phone or user == "1"`:          `(secret) != phone or user == "1"`,
		`phone in ["13800000000"] and event == "e"`:      `phone in (secret) and event == "e"`,
		`not (phone in ["13800000001", "13800000002"])`:  `phone not in (secret)`,
		`phone startsWith "138"`:                         `phone startsWith (secret)`,
		`not (phone matches "^138" and user == phone)`:   `not (phone matches (secret) and user == phone)`,
		`phone in watched or phone not contains "13800"`: `phone in watched or phone not contains (secret)`,
	} {
		plan, _, err := rule.Compile(&rule.Set{
			Attributes: map[string]rule.Attribute{"phone": {Secret: true}, "user": {}},
			Lists:      map[string][]string{"watched": {"13800000000"}},
			Rules:      []rule.Rule{{Name: "r", Match: []rule.Matcher{{"phone": {"1380*"}}}, Where: where, Limits: limits("1 per 1h")}},
		})
		if err != nil {
			t.Fatal(err)
		}
		g := newGate(t, plan, Options{})
		for _, phone := range []string{"13800000000", "13900000000"} {
			x, err := g.Explain(bg, event("e", slidegate.String("phone", phone), slidegate.String("user", "1")))
			if err != nil {
				t.Fatal(err)
			}
			why := x.Rules[0].Why
			if strings.Contains(why, "138") || strings.Contains(why, "139") || phone == "13800000000" && !strings.Contains(why, "where "+shown+" is ") {
				t.Errorf("%s, %s: %s", where, phone, why)
			}
		}
	}
}

// TestExplainIdle: a limit whose condition does not hold for the event is told apart
// from none at all.
func TestExplainIdle(t *testing.T) {
	g := newGate(t, compile(t, rule.Rule{
		Name: "r", Limits: limits("3 count where links > 0 per 1h", "5 per 1h"),
		Overrides: []rule.Override{
			{Match: []rule.Matcher{{"user": {"some"}}}, Limits: []string{"9 count where links > 0 per 1h"}},
			{Match: []rule.Matcher{{"user": {"all"}}}, Unlimited: true},
		},
	}), Options{})
	for _, tt := range []struct {
		ev     slidegate.Event
		limits int
		idle   []IdleLimit
	}{
		{ev: event("e", slidegate.Int("links", 1)), limits: 2},
		{ev: event("e", slidegate.Int("links", 0)), limits: 1, idle: []IdleLimit{{"3 count where links > 0 per 1h", "where links > 0 is false"}}},
		{ev: event("e"), limits: 1, idle: []IdleLimit{{"3 count where links > 0 per 1h", "where links > 0 is unknown"}}},
		{ev: event("e", slidegate.String("user", "some")), idle: []IdleLimit{{"9 count where links > 0 per 1h", "where links > 0 is unknown"}}},
		{ev: event("e", slidegate.String("user", "all"))},
	} {
		x, err := g.Explain(bg, tt.ev)
		if err != nil {
			t.Fatal(err)
		}
		if r := x.Rules[0]; !r.Applies || len(r.Limits) != tt.limits || !slices.Equal(r.Idle, tt.idle) {
			t.Errorf("%v: %+v", tt.ev.Attrs, r)
		}
	}
}
