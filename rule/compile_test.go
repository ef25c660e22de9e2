package rule

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
)

// TestCompileErrors holds what is refused, where it says so, and what it says.
func TestCompileErrors(t *testing.T) {
	ok := []Limit{{Limit: "1 per 1s"}}
	long := func(l Limit) []Limit { return []Limit{l} }
	for _, c := range []struct {
		name string
		set  Set
		want []string
	}{
		{"no rules", Set{}, []string{"no rules"}},
		{"no name", Set{Rules: []Rule{{Limits: ok}}}, []string{"rule rules[0]: name: a rule needs a name"}},
		{"bad name", Set{Rules: []Rule{{Name: "Api", Limits: ok}}}, []string{`rule Api: name: "Api": a name is lower case`}},
		{"name twice", Set{Rules: []Rule{{Name: "a", Limits: ok}, {Name: "a", Limits: ok}}}, []string{`rule a: name: "a": a rule before has this name`}},
		{"no limits", Set{Rules: []Rule{{Name: "a"}}}, []string{"rule a: limits: a rule needs limits"}},
		{"empty matcher", Set{Rules: []Rule{{Name: "a", Limits: ok, Match: []Matcher{{}}}}}, []string{"match[0]: an empty matcher"}},
		{"no value", Set{Rules: []Rule{{Name: "a", Limits: ok, Match: []Matcher{{"x": nil}}}}}, []string{"match[0].x: no value"}},
		{"bad address", Set{Rules: []Rule{{Name: "a", Limits: ok, Except: []Matcher{{"ip": {"10.0.0.0/33"}}}}}}, []string{`except[0].ip: "10.0.0.0/33": ip is an address`}},
		{"key twice", Set{Rules: []Rule{{Name: "a", Limits: ok, Key: []string{"u", "u"}}}}, []string{`key[1]: "u": this part of the key is named twice`}},
		{"key twice in other words", Set{Rules: []Rule{{Name: "a", Limits: ok, Key: []string{"ip", "ip/32/64"}}}}, []string{`key[1]: "ip/32/64": this part of the key is named twice`}},
		{"too many limits", Set{Rules: []Rule{{Name: "a", Limits: make([]Limit, 1001)}}}, []string{"limits: a rule has at most 1000 limits, this one has 1001"}},
		{"missing_key", Set{Rules: []Rule{{Name: "a", Limits: ok, MissingKey: "drop"}}}, []string{`missing_key: "drop": missing_key is skip, reject or shared`}},
		{"default missing_key once", Set{Defaults: Defaults{MissingKey: "drop"}, Rules: []Rule{{Name: "a", Limits: ok}}}, []string{`defaults.missing_key: "drop"`}},
		{"zone", Set{Rules: []Rule{{Name: "a", Limits: ok, Zone: "Mars/Olympus"}}}, []string{`zone: "Mars/Olympus": not a time zone`}},
		{"local zone", Set{Defaults: Defaults{Zone: "Local"}, Rules: []Rule{{Name: "a", Limits: ok}}}, []string{`defaults.zone: "Local"`}},
		{"type", Set{Attributes: map[string]Attribute{"x": {Type: "int"}}, Rules: []Rule{{Name: "a", Limits: ok}}}, []string{`attributes.x.type: "int": a type is text, address or number`}},
		{"scale", Set{Attributes: map[string]Attribute{"x": {Type: "number", Scale: new(10)}}, Rules: []Rule{{Name: "a", Limits: ok}}}, []string{`attributes.x.scale: "10": a scale is 0 to 9`}},
		{"scale of a text", Set{Attributes: map[string]Attribute{"x": {Scale: new(2)}}, Rules: []Rule{{Name: "a", Limits: ok}}}, []string{"attributes.x.scale: only an attribute of type number"}},
		{"attribute event", Set{Attributes: map[string]Attribute{"event": {}}, Rules: []Rule{{Name: "a", Limits: ok}}}, []string{`attributes.event: "event": not a name`}},
		{"undeclared in match", Set{Attributes: map[string]Attribute{"phone": {}}, Rules: []Rule{{Name: "a", Limits: ok, Match: []Matcher{{"phnoe": {"1"}}}}}}, []string{`match[0].phnoe: "phnoe": the attribute phnoe is not declared; is phone meant?`}},
		{"undeclared in sum", Set{Attributes: map[string]Attribute{"v": {Type: "number"}}, Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 sum(w) per 1s"})}}}, []string{"the attribute w is not declared; is v meant?"}},
		{"sum of a text", Set{Attributes: map[string]Attribute{"v": {}}, Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 sum(v) per 1s"})}}}, []string{"not a number; declare it with type: number"}},
		{"action", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 1s", Action: "explode"})}}}, []string{`limits[0].action: "explode": unknown action`}},
		{"algorithm", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 1s", Algorithm: "sliding-log"})}}}, []string{"unknown algorithm", "is sliding_log meant?"}},
		{"events is no word", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 1s", Algorithm: "events"})}}}, []string{"unknown algorithm"}},
		{"algorithm of events", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 9 events", Algorithm: "fixed"})}}}, []string{"a window of events has no algorithm"}},
		{"log of a sum", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 sum(v) per 1s", Algorithm: "sliding_log"})}}}, []string{"a sum is kept in sliding_buckets"}},
		{"burst without gcra", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 1s", Burst: new(int64(2))})}}}, []string{`limits[0].burst: "2": only gcra has a burst`}},
		{"gcra without burst", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 1s", Algorithm: "gcra"})}}}, []string{"limits[0]: gcra needs a burst"}},
		{"counts", Set{Rules: []Rule{{Name: "a", Counts: "report", Limits: long(Limit{Limit: "1 per 1s"})}}}, []string{"counts is checks or reports; is reports meant?"}},
		{"failures of checks", Set{Rules: []Rule{{Name: "a", Counts: "checks", Limits: long(Limit{Limit: "1 failures per 1s"})}}}, []string{"the rule says counts: checks"}},
		{"streak of checks", Set{Rules: []Rule{{Name: "a", Counts: "checks", Limits: long(Limit{Limit: "1 streak where v > 1 per 1s"})}}}, []string{"a streak is counted from reports"}},
		{"flights of reports", Set{Rules: []Rule{{Name: "a", Counts: "reports", Hold: "1m", Limits: long(Limit{Limit: "1 inflight"})}}}, []string{"what is in flight is counted from checks"}},
		{"flights that failed", Set{Rules: []Rule{{Name: "a", Where: "failed", Hold: "1m", Limits: long(Limit{Limit: "1 inflight"})}}}, []string{"what is in flight is counted from checks"}},
		{"events of reports", Set{Rules: []Rule{{Name: "a", Counts: "reports", Limits: long(Limit{Limit: "1 per 10 events"})}}}, []string{"the events of a limit are checks"}},
		{"reports refused", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 failures per 1s", CountRefused: true})}}}, []string{"who is refused is not reported"}},
		{"queue of reports", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 failures per 1s", Algorithm: "gcra", Burst: new(int64(1)), Action: "queue", MaxWait: "1s"})}}}, []string{"a queue is for limits that are fed by checks"}},
		{"algorithm of a streak", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 streak where failed per 1s", Algorithm: "fixed"})}}}, []string{"a streak has no algorithm"}},
		{"unsettled", Set{Rules: []Rule{{Name: "a", Hold: "1m", Unsettled: "drop", Limits: long(Limit{Limit: "1 per 1s"})}}}, []string{"unsettled is keep or release"}},
		{"unsettled without hold", Set{Rules: []Rule{{Name: "a", Unsettled: "release", Limits: long(Limit{Limit: "1 per 1s"})}}}, []string{"unsettled needs hold"}},
		{"lock without lasts", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 1s", Action: "lock"})}}}, []string{"lock needs lasts"}},
		{"lasts of a reject", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 1s", Lasts: []string{"1m"}})}}}, []string{"lasts is for the action lock; this limit has action reject"}},
		{"history of a reject", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 1s", KeepHistory: true})}}}, []string{"keep_history is for the action lock"}},
		{"lasts no time", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 1s", Action: "lock", Lasts: []string{"10 events"}})}}}, []string{"a lock lasts a duration such as 15m"}},
		{"lasts no longer", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 1s", Action: "lock", Lasts: []string{"5m", "5m"}})}}}, []string{"this is no longer than the one before"}},
		{"lock that counts refused", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 1s", Action: "lock", Lasts: []string{"5m"}, CountRefused: true})}}}, []string{"a locked key is refused anyhow"}},
		{"forget without lock", Set{Rules: []Rule{{Name: "a", ForgetAfter: "24h", Limits: long(Limit{Limit: "1 per 1s"})}}}, []string{"forget_after is for rules that lock"}},
		{"forget", Set{Rules: []Rule{{Name: "a", ForgetAfter: "a day", Limits: long(Limit{Limit: "1 per 1s", Action: "lock", Lasts: []string{"5m"}})}}}, []string{"forget_after is a duration"}},
		{"action lok", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 1s", Action: "lok"})}}}, []string{"is lock meant?"}},
		{"burst of a sum", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 sum(v) per 1s", Algorithm: "gcra", Burst: new(int64(1 << 50))})}}}, []string{"the burst, counted in units of 10^-3, is over 2^53"}},
		{"queue of a sum", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 sum(v) per 1s", Algorithm: "gcra", Burst: new(int64(1)), Action: "queue", MaxWait: "1s", MaxQueue: new(int64(1 << 50))})}}}, []string{"max_queue, counted in units of 10^-3, is over 2^53"}},
		{"burst 0", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 1s", Algorithm: "gcra", Burst: new(int64(0))})}}}, []string{"a burst is 1 or more"}},
		{"gcra too fast", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "10M per 1s", Algorithm: "gcra", Burst: new(int64(1))})}}}, []string{"whole microseconds"}},
		{"burst too long", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 400d", Algorithm: "gcra", Burst: new(int64(1000))})}}}, []string{"longer than 2^53"}},
		{"buckets without", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 1s", Buckets: new(int64(2))})}}}, []string{"only sliding_buckets has buckets"}},
		{"buckets 0", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 1s", Algorithm: "sliding_buckets", Buckets: new(int64(0))})}}}, []string{"buckets are 1 to 1000"}},
		{"count_refused of events", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "1 per 9 events", CountRefused: true})}}}, []string{"counts every check already"}},
		{"a log too long", Set{Rules: []Rule{{Name: "a", Limits: long(Limit{Limit: "100_001 per 1s"})}}}, []string{"say algorithm: sliding_buckets"}},
		{"override without match", Set{Rules: []Rule{{Name: "a", Limits: ok, Overrides: []Override{{Limits: []string{"2 per 1s"}}}}}}, []string{"overrides[0].match: an override needs a match"}},
		{"override without limits", Set{Rules: []Rule{{Name: "a", Limits: ok, Overrides: []Override{{Match: []Matcher{{"u": {"x"}}}}}}}}, []string{"overrides[0].limits: an override needs limits"}},
		{"override with both", Set{Rules: []Rule{{Name: "a", Limits: ok, Overrides: []Override{{Match: []Matcher{{"u": {"x"}}}, Unlimited: true, Limits: []string{"2 per 1s"}}}}}}, []string{"not both"}},
		{"override of no limit", Set{Rules: []Rule{{Name: "a", Limits: ok, Overrides: []Override{{Match: []Matcher{{"u": {"x"}}}, Limits: []string{"2 per 1m"}}}}}}, []string{`overrides[0].limits[0]: "2 per 1m": the rule has no limit of this measure and window to override; it has "1 per 1s"`}},
		{"override twice", Set{Rules: []Rule{{Name: "a", Limits: ok, Overrides: []Override{{Match: []Matcher{{"u": {"x"}}}, Limits: []string{"2 per 1s", "3 per 1s"}}}}}}, []string{`limits[1]: "3 per 1s": the rule has no limit`}},
		{"override too large for a log", Set{Rules: []Rule{{Name: "a", Limits: ok, Overrides: []Override{{Match: []Matcher{{"u": {"x"}}}, Limits: []string{"1M per 1s"}}}}}}, []string{"say algorithm: sliding_buckets"}},
		{"until", Set{Rules: []Rule{{Name: "a", Limits: ok, Overrides: []Override{{Match: []Matcher{{"u": {"x"}}}, Unlimited: true, Until: "2026-02-30"}}}}}, []string{`until: "2026-02-30": until is a day`}},
		{"all at once", Set{Rules: []Rule{{Name: "A", MissingKey: "x", Key: []string{"/"}, Limits: []Limit{{Limit: "x"}, {Limit: "1 per day"}}}}}, []string{"lower case", "missing_key: \"x\"", "key[0]", "limits[0].limit", "limits[1].limit"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan, _, err := Compile(&c.set)
			var all Errors
			if !errors.As(err, &all) || plan != nil {
				t.Fatalf("got %v, plan %v", err, plan)
			}
			for _, w := range c.want {
				if n := strings.Count(err.Error(), w); n != 1 {
					t.Errorf("%q is there %d times in:\n%v", w, n, err)
				}
			}
			if len(all) > len(c.want) {
				t.Errorf("more errors than expected:\n%v", err)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	limits := []Limit{{Limit: "1 per 1s"}}
	for _, c := range []struct {
		name string
		rule Rule
		want string
	}{
		{"whoever drops the header", Rule{Key: []string{"user", "api"}, Limits: limits}, "without user or api is not limited"},
		{"said", Rule{Key: []string{"user"}, MissingKey: "skip", Limits: limits}, ""},
		{"an alternative", Rule{Key: []string{"user|ip"}, Limits: limits}, ""},
		{"keyless", Rule{Limits: limits}, ""},
		{"rounding", Rule{Limits: []Limit{{Limit: "300k per 1s", Algorithm: "gcra", Burst: new(int64(5))}}}, "16.7 % less"},
		{"hardly any rounding", Rule{Limits: []Limit{{Limit: "7 per 1s", Algorithm: "gcra", Burst: new(int64(5))}}}, ""},
		{"never refuses", Rule{Limits: []Limit{{Limit: "11 per 10 events"}}}, "never refuses"},
	} {
		c.rule.Name = "r"
		_, warnings, err := Compile(&Set{Rules: []Rule{c.rule}})
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" && len(warnings) > 0 || c.want != "" && (len(warnings) != 1 || !strings.Contains(warnings[0].Error(), c.want)) {
			t.Errorf("%s: %v; want %q", c.name, warnings, c.want)
		}
	}
}

func TestAlgorithms(t *testing.T) {
	for _, c := range []struct {
		limit Limit
		want  limit.Params
	}{
		{Limit{Limit: "100 per 1m"}, limit.Params{Algorithm: limit.SlidingLog, Max: 100, Size: 60e6}},
		{Limit{Limit: "1 sum(v) per 1m"}, limit.Params{Algorithm: limit.SlidingBuckets, Max: 1000, Size: 60e6, Buckets: 60, Step: 1e6}},
		{Limit{Limit: "1M per 1h", Algorithm: "sliding_buckets", Buckets: new(int64(7))}, limit.Params{Algorithm: limit.SlidingBuckets, Max: 1e6, Size: 3600e6, Buckets: 7, Step: 514285715}},
		{Limit{Limit: "7 per 1s", Algorithm: "gcra", Burst: new(int64(3))}, limit.Params{Algorithm: limit.GCRA, Max: 7, Size: 1e6, Burst: 3, Step: 142858, Reach: 3 * 142858}},
		{Limit{Limit: "7 per 1s", Algorithm: "fixed"}, limit.Params{Algorithm: limit.Fixed, Max: 7, Size: 1e6}},
		{Limit{Limit: "3 per 10 events"}, limit.Params{Algorithm: limit.Events, Max: 3, Size: 10}},
	} {
		r := compileOne(t, nil, Rule{Limits: []Limit{c.limit}})
		if got := r.All()[0].Params; got != c.want {
			t.Errorf("%+v:\n got %+v\nwant %+v", c.limit, got, c.want)
		}
	}
}

// TestOverrides holds which maximum an event gets, and that windows stay.
func TestOverrides(t *testing.T) {
	r := compileOne(t, nil, Rule{
		Key: []string{"tenant"},
		Limits: []Limit{
			{Limit: "1000 per 1m"}, {Limit: "100k per 24h", Algorithm: "sliding_buckets"}, {Limit: "10 per 60s"},
		},
		Zone: "Asia/Shanghai",
		Overrides: []Override{
			{Match: []Matcher{{"tenant": {"acme"}}}, Limits: []string{"5000 per 1m", "1M per 24h"}, Until: "2026-12-31"},
			{Match: []Matcher{{"tenant": {"beta", "acme"}}}, Limits: []string{"7 per 60s", "8 per 1m"}},
			{Match: []Matcher{{"tenant": {"self"}}}, Unlimited: true},
		},
	})
	lastDay := time.Date(2026, 12, 31, 23, 59, 59, 999999000, time.FixedZone("", 8*3600)).UnixMicro()
	for _, c := range []struct {
		tenant string
		now    int64
		want   string
	}{
		{"free", 0, "1000 per 1m|100k per 24h|10 per 60s"},
		{"acme", lastDay, "5000 per 1m|1M per 24h"},
		{"acme", lastDay + 1, "7 per 60s|8 per 1m"}, // the first alike is the first, and so on
		{"beta", 0, "7 per 60s|8 per 1m"},
		{"self", 0, ""},
	} {
		ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("tenant", c.tenant)}}
		active, err := r.Active(&ev, c.now)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, a := range active {
			texts = append(texts, a.Text)
			if original := r.All()[a.ID]; original.Identity != a.Identity || original.Params.Algorithm != a.Params.Algorithm {
				t.Errorf("%s: %s is another window than %s", c.tenant, a.Text, original.Text)
			}
		}
		if got := strings.Join(texts, "|"); got != c.want {
			t.Errorf("%s at %d: %q, want %q", c.tenant, c.now, got, c.want)
		}
	}
	if a, _ := r.Active(&slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("tenant", "acme")}}, 0); a[1].Params.Max != 1_000_000 || a[1].Params.Step != r.All()[1].Params.Step {
		t.Errorf("got %+v", a[1].Params)
	}
}

// TestIdentity holds what keeps a history and what ends it.
func TestIdentity(t *testing.T) {
	base := Rule{Name: "r", Key: []string{"user", "ip"}, MissingKey: "skip", Limits: []Limit{
		{Limit: "10 per 60s"}, {Limit: "20 sum(v) per 1h"}, {Limit: "5 per 1m"}, {Limit: "3 per 10 events"}, {Limit: "5 per 1s", Algorithm: "gcra", Burst: new(int64(2))},
	}}
	compile := func(r Rule) *Plan {
		p, _, err := Compile(&Set{Rules: []Rule{r}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		name   string
		change func(*Rule)
		lost   string // limits that forget
	}{
		{"nothing", func(*Rule) {}, ""},
		{"maximum", func(r *Rule) { r.Limits[0].Limit = "99 per 1m" }, ""},
		{"1m is 60s is 60000ms", func(r *Rule) { r.Limits[0].Limit = "10 per 60000ms" }, ""},
		{"burst, message, shadow, count_refused", func(r *Rule) {
			r.Limits[4].Burst, r.Message, r.Limits[0].Shadow, r.Limits[2].CountRefused = new(int64(9)), "x", new(true), true
		}, ""},
		{"match, except, missing_key, overrides", func(r *Rule) {
			r.Match, r.MissingKey = []Matcher{{"event": {"x"}}}, "reject"
			r.Overrides = []Override{{Match: []Matcher{{"user": {"x"}}}, Unlimited: true}}
		}, ""},
		{"the same prefix said", func(r *Rule) { r.Key[1] = "ip/32/64" }, ""},
		{"window", func(r *Rule) { r.Limits[0].Limit = "10 per 61s" }, "5 per 1m"}, // the second alike is the first now
		{"measure", func(r *Rule) { r.Limits[1].Limit = "20 sum(w) per 1h" }, "20 sum(v) per 1h"},
		{"algorithm", func(r *Rule) { r.Limits[0].Algorithm = "fixed" }, "5 per 1m"},
		{"buckets", func(r *Rule) { r.Limits[1].Buckets = new(int64(6)) }, "20 sum(v) per 1h"},
		{"events", func(r *Rule) { r.Limits[3].Limit = "3 per 11 events" }, "3 per 10 events"},
		{"order of limits that are not alike", func(r *Rule) { r.Limits[0], r.Limits[3] = r.Limits[3], r.Limits[0] }, ""},
		{"key", func(r *Rule) { r.Key = []string{"ip", "user"} }, "10 per 60s|20 sum(v) per 1h|5 per 1m|3 per 10 events|5 per 1s"},
		{"prefix", func(r *Rule) { r.Key[1] = "ip/24" }, "10 per 60s|20 sum(v) per 1h|5 per 1m|3 per 10 events|5 per 1s"},
		{"name", func(r *Rule) { r.Name = "s" }, "10 per 60s|20 sum(v) per 1h|5 per 1m|3 per 10 events|5 per 1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := base
			changed.Key = append([]string(nil), base.Key...)
			changed.Limits = append([]Limit(nil), base.Limits...)
			c.change(&changed)
			var lost []string
			for _, f := range Forgets(compile(base), compile(changed)) {
				lost = append(lost, f.Limit)
				if f.Why == "" || f.Rule != "r" {
					t.Errorf("%+v", f)
				}
			}
			if got := strings.Join(lost, "|"); got != c.lost {
				t.Errorf("forgets %q, want %q", got, c.lost)
			}
		})
	}
}

func TestCost(t *testing.T) {
	r := compileOne(t, map[string]Attribute{"v": {Type: "number", Scale: new(2)}}, Rule{Limits: []Limit{{Limit: "10 per 1s"}, {Limit: "10 sum(v) per 1s"}}})
	count, sum := r.All()[0], r.All()[1]
	ev := slidegate.Event{Name: "e", Cost: slidegate.CostOf(4), Attrs: []slidegate.Attr{slidegate.Float("v", 1.25)}}
	if n, err := count.Cost(&ev); n != 4 || err != nil {
		t.Errorf("count %d %v", n, err)
	}
	if n, err := sum.Cost(&ev); n != 125 || err != nil {
		t.Errorf("sum %d %v", n, err)
	}
	ev.Cost = slidegate.CostOf(0)
	if n, err := sum.Cost(&ev); n != 0 || err != nil {
		t.Errorf("a sum that only looks: %d %v", n, err)
	}
	ev = slidegate.Event{Name: "e"}
	if _, err := sum.Cost(&ev); !errors.Is(err, slidegate.ErrEvent) || !strings.Contains(fmt.Sprint(err), "v is missing") {
		t.Errorf("missing: %v", err)
	}
}

func TestErrorText(t *testing.T) {
	e := &Error{File: "rules.yaml", Line: 7, Column: 14, Rule: "api", Path: "rules[3].limits[1]", Value: "100 per 0s", Msg: "a window is 1ms to 400d"}
	if got, want := e.Error(), `rules.yaml:7:14: rule api: limits[1]: "100 per 0s": a window is 1ms to 400d`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	long := &Error{Path: "defaults.zone", Value: strings.Repeat("é", 100), Msg: "m"}
	if got := long.Error(); len(got) > 200 || strings.ContainsRune(got, '�') || strings.Contains(got, `\x`) {
		t.Errorf("got %s", got)
	}
}

// TestCompileMany: compiling takes no time that grows with the square of the
// names of events, and the index no such memory.
func TestCompileMany(t *testing.T) {
	names := make([]Value, 200_000)
	for i := range names {
		names[i] = Value(fmt.Sprint("e", i))
	}
	one := []Limit{{Limit: "1 per 1s"}}
	set := &Set{Rules: []Rule{{Name: "named", Match: []Matcher{{"event": names}}, Limits: one}, {Name: "again", Match: []Matcher{{"event": names}, {"event": names}}, Limits: one}}}
	for i := range 1_000 {
		set.Rules = append(set.Rules, Rule{Name: fmt.Sprint("all", i), Limits: one})
	}
	p, _, err := Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range p.For("e7") {
		n++
	}
	if n != 1_002 {
		t.Errorf("e7 can meet %d rules", n)
	}
}

// TestCompileManyErrors: looking for what was meant takes no time, and what there
// is takes no room, that grows with the square of a file full of errors.
func TestCompileManyErrors(t *testing.T) {
	set := &Set{Attributes: map[string]Attribute{"x": {}}}
	wrong, one := Matcher{}, []Limit{{Limit: "1 per 1s"}}
	for i := range 3000 {
		set.Attributes[fmt.Sprint("attribute", i)] = Attribute{}
		wrong[fmt.Sprint("atribute", i)] = []Value{"x"}
	}
	var many []Limit
	for i := range maxLimits {
		many = append(many, Limit{Limit: fmt.Sprintf("1 per %ds", i+1)})
	}
	other := make([]string, 1000)
	for i := range other {
		other[i] = "1 per 9999s"
	}
	set.Rules = []Rule{{Name: "a", Match: []Matcher{wrong}, Limits: one}, {Name: "b", Limits: many, Overrides: []Override{{Match: []Matcher{{"x": {"y"}}}, Limits: other}}}}
	_, _, err := Compile(set)
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != 4000 || !strings.Contains(errs[0].Msg, "is attribute0 meant?") {
		t.Fatalf("%d errors, the first %v", len(errs), errs[:1])
	}
	if n := len(err.Error()); n > 1<<20 {
		t.Errorf("%d bytes of errors", n)
	}
}
