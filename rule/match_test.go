package rule

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slidegate/slidegate"
	"pgregory.net/rapid"
)

// compileOne compiles a set with one rule and returns it.
func compileOne(tb testing.TB, attrs map[string]Attribute, r Rule) *Compiled {
	tb.Helper()
	r.Name = "r"
	if r.Limits == nil {
		r.Limits = []Limit{{Limit: "1 per 1s"}}
	}
	p, _, err := Compile(&Set{Attributes: attrs, Rules: []Rule{r}})
	if err != nil {
		tb.Fatal(err)
	}
	return p.Rule("r")
}

func TestMatch(t *testing.T) {
	num := func(s string) slidegate.Attr {
		v, err := slidegate.NumberValue(s)
		if err != nil {
			t.Fatal(err)
		}
		return slidegate.Attr{Name: "status", Value: v}
	}
	str := slidegate.String
	for _, c := range []struct {
		name          string
		match, except []Matcher
		attrs         []slidegate.Attr
		want          bool
	}{
		{name: "no matcher takes all", want: true},
		{name: "the name of the event", match: []Matcher{{"event": {"e"}}}, want: true},
		{name: "another name", match: []Matcher{{"event": {"f"}}}},
		{name: "a list", match: []Matcher{{"event": {"x", "e"}}}, want: true},
		{name: "all must hold", match: []Matcher{{"event": {"e"}, "plan": {"pro"}}}},
		{name: "any of several", match: []Matcher{{"plan": {"pro"}}, {"event": {"e"}}}, want: true},
		{name: "a missing attribute", match: []Matcher{{"plan": {"pro"}}}},
		{name: "as written", match: []Matcher{{"n": {"007"}}}, attrs: []slidegate.Attr{str("n", "007")}, want: true},
		{name: "not as a number", match: []Matcher{{"n": {"007"}}}, attrs: []slidegate.Attr{str("n", "7")}},
		{name: "a number by its spelling", match: []Matcher{{"status": {"404"}}}, attrs: []slidegate.Attr{num("404")}, want: true},
		{name: "a number from Go", match: []Matcher{{"status": {"404"}}}, attrs: []slidegate.Attr{slidegate.Int("status", 404)}, want: true},
		{name: "a float from Go", match: []Matcher{{"status": {"1.5"}}}, attrs: []slidegate.Attr{slidegate.Float("status", 1.5)}, want: true},
		{name: "present", match: []Matcher{{"user": {"*"}}}, attrs: []slidegate.Attr{str("user", "")}, want: true},
		{name: "not present", match: []Matcher{{"user": {"*"}}}},
		{name: "empty is a value", match: []Matcher{{"user": {""}}}, attrs: []slidegate.Attr{str("user", "")}, want: true},
		{name: "a glob", match: []Matcher{{"path": {"/v1/*"}}}, attrs: []slidegate.Attr{str("path", "/v1/a/b")}, want: true},
		{name: "a glob of nothing", match: []Matcher{{"path": {"/v1/*"}}}, attrs: []slidegate.Attr{str("path", "/v1/")}, want: true},
		{name: "a glob is whole", match: []Matcher{{"path": {"*.js"}}}, attrs: []slidegate.Attr{str("path", "/a.json")}},
		{name: "a glob on a number", match: []Matcher{{"status": {"5*"}}}, attrs: []slidegate.Attr{slidegate.Int("status", 503)}, want: true},
		{name: "an address in another spelling", match: []Matcher{{"ip": {"2001:db8::1"}}}, attrs: []slidegate.Attr{str("ip", "2001:0DB8:0::0:1")}, want: true},
		{name: "a mapped address", match: []Matcher{{"ip": {"192.0.2.9"}}}, attrs: []slidegate.Attr{str("ip", "::ffff:192.0.2.9")}, want: true},
		{name: "another address", match: []Matcher{{"ip": {"192.0.2.9"}}}, attrs: []slidegate.Attr{str("ip", "192.0.2.8")}},
		{name: "excepted", except: []Matcher{{"plan": {"internal"}}}, attrs: []slidegate.Attr{str("plan", "internal")}},
		{name: "not excepted", except: []Matcher{{"plan": {"internal"}}}, attrs: []slidegate.Attr{str("plan", "free")}, want: true},
		{name: "excepted by any", except: []Matcher{{"plan": {"x"}}, {"user": {"*"}}}, attrs: []slidegate.Attr{str("user", "u")}},
		{name: "many values", match: []Matcher{{"plan": {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}}}, attrs: []slidegate.Attr{str("plan", "j")}, want: true},
		{name: "none of many values", match: []Matcher{{"plan": {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}}}, attrs: []slidegate.Attr{str("plan", "k")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compileOne(t, nil, Rule{Match: c.match, Except: c.except})
			ev := slidegate.Event{Name: "e", Attrs: c.attrs}
			got, err := r.Match(&ev)
			if err != nil || got != c.want {
				t.Errorf("Match = %v, %v", got, err)
			}
			if why, text := r.WhyMatch(&ev); why != c.want || text == "" {
				t.Errorf("WhyMatch = %v, %q", why, text)
			}
		})
	}
}

func TestMatchAddressError(t *testing.T) {
	r := compileOne(t, nil, Rule{Match: []Matcher{{"ip": {"192.0.2.9"}}}})
	ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("ip", "nonsense")}}
	if _, err := r.Match(&ev); !errors.Is(err, slidegate.ErrEvent) {
		t.Errorf("got %v", err)
	}
}

// TestGlob holds globs against the regular expression that means the same.
func TestGlob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab/*]{1,6}\*[ab*]{0,4}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab/]{0,10}`).Draw(t, "text")
		parts := strings.Split(pattern, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		want := regexp.MustCompile(`(?s)^` + strings.Join(parts, `.*`) + `$`).MatchString(text)
		g := newGlob(pattern)
		if got := g.match(text); got != want {
			t.Fatalf("%q on %q: %v", pattern, text, got)
		}
	})
}

func TestWhyMatch(t *testing.T) {
	r := compileOne(t, nil, Rule{
		Match:  []Matcher{{"event": {"login"}}, {"path": {"/login*"}, "ip": {"192.0.2.9"}}},
		Except: []Matcher{{"user": {"root"}}},
	})
	for _, c := range []struct {
		ev   slidegate.Event
		want string
	}{
		{slidegate.Event{Name: "login"}, `matches event="login"`},
		{slidegate.Event{Name: "http"}, `event is "http", not "login"; ip is missing`},
		{slidegate.Event{Name: "http", Attrs: []slidegate.Attr{slidegate.String("ip", "192.0.2.9"), slidegate.String("path", "/")}}, `path is "/", not "/login*"`},
		{slidegate.Event{Name: "login", Attrs: []slidegate.Attr{slidegate.String("user", "root")}}, `excepted: user="root"`},
	} {
		if _, why := r.WhyMatch(&c.ev); !strings.Contains(why, c.want) {
			t.Errorf("%+v: %q; want %q", c.ev, why, c.want)
		}
	}
}

// TestPlanFor holds the index by event name against matching every rule.
func TestPlanFor(t *testing.T) {
	matchers := []Matcher{{"event": {"a"}}, {"event": {"a", "b"}}, {"event": {"b"}, "x": {"1"}}, {"event": {"a*"}}, {"event": {"*"}}, {"x": {"1"}}}
	rapid.Check(t, func(t *rapid.T) {
		set := &Set{}
		for i := range rapid.IntRange(1, 6).Draw(t, "rules") {
			set.Rules = append(set.Rules, Rule{
				Name:   string(rune('a' + i)),
				Match:  rapid.SliceOfN(rapid.SampledFrom(matchers), 0, 2).Draw(t, "match"),
				Limits: []Limit{{Limit: "1 per 1s"}},
			})
		}
		p, _, err := Compile(set)
		if err != nil {
			t.Fatal(err)
		}
		ev := slidegate.Event{Name: rapid.SampledFrom([]string{"a", "b", "c", "aa"}).Draw(t, "event")}
		if rapid.Bool().Draw(t, "x") {
			ev.Attrs = []slidegate.Attr{slidegate.Int("x", 1)}
		}
		met := func(rules []*Compiled) (names string) {
			for _, r := range rules {
				if ok, err := r.Match(&ev); err == nil && ok {
					names += r.Name
				}
			}
			return names
		}
		if got, want := met(slices.Collect(p.For(ev.Name))), met(p.Rules()); got != want {
			t.Fatalf("For(%s) meets %q, all rules meet %q", ev.Name, got, want)
		}
	})
}

// TestGlobOfAddress: a glob is held against the canonical form of an address,
// however the event spells it, and a text that is no address does not pass for
// one.
func TestGlobOfAddress(t *testing.T) {
	r := compileOne(t, nil, Rule{Name: "r", Match: []Matcher{{"ip": {"10.*", "2001:db8:*", "192.0.2.7"}}}, Limits: []Limit{{Limit: "1 per 1s"}}})
	for text, want := range map[string]bool{
		"10.1.2.3": true, "::ffff:10.1.2.3": true, "[::ffff:10.1.2.3]:443": true, "10.1.2.3:80": true,
		"2001:DB8:0::1": true, "192.0.2.7": true, "::ffff:192.0.2.7": true, "11.1.2.3": false, "2001:db9::1": false,
	} {
		ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("ip", text)}}
		if got, err := r.Match(&ev); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"10.", "10.example.org", ""} {
		ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("ip", text)}}
		if got, err := r.Match(&ev); !errors.Is(err, slidegate.ErrEvent) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// TestForKeepsOrder: rules for events of one name and rules for all come in the
// order of the plan.
func TestForKeepsOrder(t *testing.T) {
	one := []Limit{{Limit: "1 per 1s"}}
	set := &Set{}
	for _, name := range []string{"a", "b-e", "c", "d", "e-e", "f-f", "g-e", "h"} {
		r := Rule{Name: name, Limits: one}
		if _, ev, only := strings.Cut(name, "-"); only {
			r.Match = []Matcher{{"event": {Value(ev)}}}
		}
		set.Rules = append(set.Rules, r)
	}
	p, _, err := Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"e": "a b-e c d e-e g-e h", "f": "a c d f-f h", "x": "a c d h"} {
		var got []string
		for r := range p.For(name) {
			got = append(got, r.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		for r := range p.For(name) {
			if r.Name == "c" {
				break
			}
		}
	}
}

// compileSet compiles a set that is right.
func compileSet(t *testing.T, set *Set) *Plan {
	t.Helper()
	for i := range set.Rules {
		set.Rules[i].Limits = []Limit{{Limit: "1 per 1s"}}
	}
	p, _, err := Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPatternsInListOfCondition: an address is compared in its canonical form,
// however it is spelled, so a list of patterns holds in a condition for the addresses
// for which it holds in a matcher.
func TestPatternsInListOfCondition(t *testing.T) {
	p := compileSet(t, &Set{
		Lists: map[string][]string{"office": {"2001:db8:*", "192.0.2.*"}},
		Rules: []Rule{{Name: "match", Match: []Matcher{{"ip": {InList("office")}}}}, {Name: "where", Where: "ip in office"}},
	})
	for _, ip := range []string{"192.0.2.7", "2001:DB8::1", "[2001:db8::1]:443", "::ffff:192.0.2.7"} {
		ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("ip", ip)}}
		ok, err := p.Rule("match").Match(&ev)
		if where := p.Rule("where").Where(&ev, 0); !ok || err != nil || !where {
			t.Errorf("%s: matches %v, %v; in a condition %v", ip, ok, err, where)
		}
	}
}

// TestNetworksAreForAddresses: a network in a list is compared with attributes
// of type address; a text is compared as it is written, in a condition as in a
// matcher.
func TestNetworksAreForAddresses(t *testing.T) {
	p := compileSet(t, &Set{
		Attributes: map[string]Attribute{"version": {}},
		Lists:      map[string][]string{"old": {"10.0.0.0/8"}},
		Rules:      []Rule{{Name: "match", Match: []Matcher{{"version": {InList("old")}}}}, {Name: "where", Where: "version in old"}},
	})
	ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("version", "10.1.2.3")}}
	ok, err := p.Rule("match").Match(&ev)
	if where := p.Rule("where").Where(&ev, 0); ok || err != nil || where {
		t.Errorf("a text that is not in the list: matches %v, %v; in a condition %v", ok, err, where)
	}
}

// TestErrorOfRuleNotMet: a text that is no address is an error of the event
// where a rule that the event meets compares it; a rule whose other matchers do not
// hold is not met.
func TestErrorOfRuleNotMet(t *testing.T) {
	for _, attr := range []string{"group", "plan"} { // before and after ip
		p := compileSet(t, &Set{Rules: []Rule{{Name: "r", Match: []Matcher{{"ip": {"10.0.0.0/8"}, attr: {"pro"}}}}}})
		ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("ip", "unknown"), slidegate.String(attr, "free")}}
		if ok, err := p.Rule("r").Match(&ev); ok || err != nil {
			t.Errorf("%s is not pro, so the rule is not met: %v, %v", attr, ok, err)
		}
	}
}

// TestErrorDecides: a text that is no address is an error only where it decides
// whether the rule applies.
func TestErrorDecides(t *testing.T) {
	net, free, pro := Matcher{"ip": {"10.0.0.0/8"}}, Matcher{"plan": {"free"}}, Matcher{"plan": {"pro"}}
	for _, tt := range []struct {
		rule     Rule
		ok, fail bool
	}{
		{rule: Rule{Match: []Matcher{net}}, fail: true},
		{rule: Rule{Match: []Matcher{net, pro}}, fail: true},
		{rule: Rule{Match: []Matcher{net, free}}, ok: true},
		{rule: Rule{Match: []Matcher{free, net}}, ok: true},
		{rule: Rule{Match: []Matcher{pro}, Except: []Matcher{net}}},
		{rule: Rule{Match: []Matcher{free}, Except: []Matcher{net}}, fail: true},
		{rule: Rule{Match: []Matcher{free}, Except: []Matcher{net, free}}},
		{rule: Rule{Match: []Matcher{net}, Except: []Matcher{free}}},
	} {
		tt.rule.Name = "r"
		p := compileSet(t, &Set{Rules: []Rule{tt.rule}})
		ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("ip", "unknown"), slidegate.String("plan", "free")}}
		if ok, err := p.Rule("r").Match(&ev); ok != tt.ok || (err != nil) != tt.fail {
			t.Errorf("match %v except %v: %v, %v", tt.rule.Match, tt.rule.Except, ok, err)
		}
		tt.rule.Where = "plan == 'pro'"
		p = compileSet(t, &Set{Rules: []Rule{tt.rule}})
		if met, err := p.Meet(nil, &ev, 0, nil, false); err != nil || met[0].Applies {
			t.Errorf("match %v except %v where %s: %v, %v", tt.rule.Match, tt.rule.Except, tt.rule.Where, met, err)
		}
	}
}

// TestListOfCondition: a list is checked for what a condition compares with it, as it
// is for a matcher.
func TestListOfCondition(t *testing.T) {
	for _, r := range []Rule{{Where: "ip not in bad"}, {Match: []Matcher{{"ip": {InList("bad")}}}}} {
		r.Name, r.Limits = "r", []Limit{{Limit: "1 per 1s"}}
		_, _, err := Compile(&Set{Lists: map[string][]string{"bad": {"10.0.0.0/8", "10.0.0.0/33"}}, Rules: []Rule{r}})
		if err == nil || !strings.Contains(err.Error(), `lists.bad[1] is "10.0.0.0/33": ip is an address`) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// TestNetworkOfText: whoever compares a text with a network is told that it is
// compared letter by letter.
func TestNetworkOfText(t *testing.T) {
	for where, r := range map[string]Rule{
		"rules[0].match[0].client":    {Match: []Matcher{{"client": {"10.0.0.0/8"}}}},
		"rules[0].match[0].client[1]": {Match: []Matcher{{"client": {"a/b", "2001:db8::/32"}}}},
		"lists.old[1]":                {Where: "client in old"},
	} {
		r.Name, r.Limits = "r", []Limit{{Limit: "1 per 1s"}}
		_, warnings, err := Compile(&Set{Lists: map[string][]string{"old": {"10.0.0.1", "10.0.0.0/8"}}, Rules: []Rule{r}})
		if err != nil || len(warnings) != 1 || warnings[0].Path != where || !strings.Contains(warnings[0].Msg, "type: address") {
			t.Errorf("%s: %v, %v", where, warnings, err)
		}
	}
}

// TestSecretInLimit: a value that a secret attribute is compared with does not belong
// into the text of a limit, which every answer shows.
func TestSecretInLimit(t *testing.T) {
	for where, warned := range map[string]int{`phone == "13800000000"`: 1, `user == "13800000000"`: 0, `phone in watched`: 0, `phone == user`: 0, `phone not in ["1"] and user == "2"`: 1} {
		_, warnings, err := Compile(&Set{
			Attributes: map[string]Attribute{"phone": {Secret: true}, "user": {}},
			Lists:      map[string][]string{"watched": {"13800000000"}},
			Rules:      []Rule{{Name: "r", Limits: []Limit{{Limit: "1 count where " + where + " per 1s"}}}},
		})
		if err != nil || len(warnings) != warned {
			t.Errorf("%s: %v, %v", where, warnings, err)
		}
	}
}
