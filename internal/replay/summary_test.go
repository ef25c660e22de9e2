package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
	"pgregory.net/rapid"
)

// recount is a naive engine and summary of one rule: lists of hits that are
// gone through from the front, and counters by name.
type recount struct {
	attr           string
	limit, size    int64
	shadow, reject bool // shadow; missing_key: reject

	hits     map[string][]charge
	refusals map[string]int64 // by key, of every key that was met
	seconds  map[int64]int64
	admitted int64
	refused  int64
}

// charge is one admitted hit.
type charge struct{ at, cost int64 }

func (r *recount) rule(name string) rule.Rule {
	missing := map[bool]string{true: "reject", false: "skip"}[r.reject]
	return rule.Rule{
		Name: name, Match: []rule.Matcher{{"event": {"e"}}}, Key: []string{r.attr}, MissingKey: missing, Shadow: &r.shadow,
		Limits: []rule.Limit{{Limit: fmt.Sprintf("%d per %dms", r.limit, r.size/1000)}},
	}
}

// fits reports whether an event meets the rule under a key, and has room.
func (r *recount) fits(ev *slidegate.Event, now int64) (key string, met, keyed, room bool) {
	v, found := ev.Attr(r.attr)
	if ev.Name != "e" || !found && !r.reject {
		return "", false, false, true
	}
	if !found {
		return "", true, false, r.shadow
	}
	var used int64
	for _, h := range r.hits[v.String()] {
		if now-h.at < r.size {
			used += h.cost
		}
	}
	return v.String(), true, true, used+ev.Cost.Units() <= r.limit
}

// note counts what became of an event.
func (r *recount) note(ev *slidegate.Event, now int64, charged bool) {
	key, met, keyed, room := r.fits(ev, now)
	if !met {
		return
	}
	r.seconds[now/1e6]++
	if !keyed {
		r.refused++
		return
	}
	r.refusals[key] += 0
	if !room {
		r.refused++
		r.refusals[key]++
		return
	}
	r.admitted++
	if charged {
		r.hits[key] = append(r.hits[key], charge{now, ev.Cost.Units()})
	}
}

func (r *recount) String() string {
	keysRefused, most, busiest := 0, int64(0), int64(0)
	var refused []string
	for _, key := range slices.Sorted(maps.Keys(r.refusals)) {
		if r.refusals[key] > 0 {
			keysRefused++
			refused = append(refused, key)
		}
	}
	slices.SortStableFunc(refused, func(a, b string) int { return cmp.Compare(r.refusals[b], r.refusals[a]) })
	var top []string
	for _, key := range refused[:min(10, len(refused))] {
		top = append(top, fmt.Sprintf("%q=%d", key, r.refusals[key]))
	}
	for _, second := range slices.Sorted(maps.Keys(r.seconds)) {
		if r.seconds[second] > most {
			busiest, most = second, r.seconds[second]
		}
	}
	return fmt.Sprintf("shadow %v: %d admitted, %d refused; %d keys, %d refused: %s; busiest %d: %d",
		r.shadow, r.admitted, r.refused, len(r.refusals), keysRefused, strings.Join(top, " "), busiest, most)
}

// said writes a summary of a rule as a recount does.
func said(r *RuleSummary) string {
	var top []string
	for _, k := range r.Top {
		top = append(top, fmt.Sprintf("%q=%d", k.Key[0].Value.String(), k.Events))
	}
	busiest := int64(0)
	if r.BusiestCount > 0 {
		busiest = r.Busiest.Unix()
	}
	return fmt.Sprintf("shadow %v: %d admitted, %d refused; %d keys, %d refused: %s; busiest %d: %d",
		r.Shadow, r.Admitted, r.Refused, r.Keys, r.KeysRefused, strings.Join(top, " "), busiest, r.BusiestCount)
}

func drawRecount(t *rapid.T, attr string, keepsOut bool) *recount {
	return &recount{
		attr:   attr,
		limit:  rapid.Int64Range(0, 6).Draw(t, attr+" max"),
		size:   rapid.SampledFrom([]int64{1000, 500_000, 3_000_000, 60_000_000}).Draw(t, attr+" window"),
		shadow: rapid.Bool().Draw(t, attr+" shadow"), reject: keepsOut && rapid.Bool().Draw(t, attr+" reject"),
		hits: map[string][]charge{}, refusals: map[string]int64{}, seconds: map[int64]int64{},
	}
}

func drawEvents(t *rapid.T) *listed {
	l := &listed{end: io.EOF}
	at := rapid.Int64Range(0, 5_000_000).Draw(t, "start")
	steps := rapid.SampledFrom([]int64{0, 0, 1, 999, 1000, 250_000, 500_000, 999_999, 1_000_000, 3_000_000, 61_000_000, -1, -700_000, -10_000_000})
	for range rapid.IntRange(0, 60).Draw(t, "events") {
		at = max(0, at+steps.Draw(t, "step"))
		ev := slidegate.Event{Name: rapid.SampledFrom([]string{"e", "e", "e", "other"}).Draw(t, "name"), Time: time.UnixMicro(at)}
		for _, attr := range []string{"a", "b"} {
			if key := rapid.SampledFrom([]string{"1", "2", "3", "", "-"}).Draw(t, attr); key != "-" {
				ev.Attrs = append(ev.Attrs, slidegate.String(attr, key))
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "with cost") == 0 {
			ev.Cost = slidegate.CostOf(rapid.Int64Range(0, 3).Draw(t, "cost"))
		}
		l.recs = append(l.recs, Record{Event: ev})
	}
	return l
}

// Every number of a summary is that of a naive count over a naive engine.
func TestSummaryAgainstRecount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := []*recount{drawRecount(t, "a", false), drawRecount(t, "b", true)}
		src := drawEvents(t)
		recs := slices.Clone(src.recs)
		p, _, err := rule.Compile(&rule.Set{Rules: []rule.Rule{rules[0].rule("first"), rules[1].rule("second")}})
		if err != nil {
			t.Fatal(err)
		}
		sum, err := Judge(t.Context(), p, src, nil)
		if err != nil {
			t.Fatal(err)
		}
		sum.Finish()
		var newest, admitted, late int64
		for i := range recs {
			ev := &recs[i].Event
			if at := ev.Time.UnixMicro(); at < newest {
				late++
			} else {
				newest = at
			}
			pass := true
			for _, r := range rules {
				_, _, _, room := r.fits(ev, newest)
				pass = pass && (room || r.shadow)
			}
			if pass {
				admitted++
			}
			for _, r := range rules {
				r.note(ev, newest, pass)
			}
		}
		n := int64(len(recs))
		if sum.Events != n || sum.Admitted != admitted || sum.Refused != n-admitted || sum.Late != late || sum.Skipped != 0 {
			t.Fatalf("%+v\nwant %d events, %d admitted, %d late", sum, n, admitted, late)
		}
		if n > 0 && (sum.First.UnixMicro() != recs[0].Event.Time.UnixMicro() || sum.Last.UnixMicro() != newest) {
			t.Fatalf("from %s to %s", sum.First, sum.Last)
		}
		for i, r := range rules {
			if got, want := said(sum.Rules[i]), r.String(); got != want {
				t.Fatalf("%s:\n got %s\nwant %s", sum.Rules[i].Name, got, want)
			}
		}
	})
}

// The most refused come first; those that were refused as often, in the order
// of their texts; and no more than ten.
func TestSummaryTop(t *testing.T) {
	l := &listed{end: io.EOF}
	for i, key := range strings.Fields("m1 m3 m2 z b a j i h g f e d c z z b c") {
		ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("k", key), slidegate.Int("n", int64(i%2))}, Time: time.UnixMicro(1)}
		l.recs = append(l.recs, Record{Event: ev})
	}
	p := plan(t, rule.Rule{Name: "ban", Key: []string{"k"}, MissingKey: "skip", Limits: []rule.Limit{{Limit: "0 per 1s"}}})
	r := judged(t, p, l).Rules[0]
	var got []string
	for _, k := range r.Top {
		got = append(got, fmt.Sprintf("%s=%d", k.Key[0].Value, k.Events))
	}
	if want := "z=3 b=2 c=2 a=1 d=1 e=1 f=1 g=1 h=1 i=1"; strings.Join(got, " ") != want || r.KeysRefused != 14 {
		t.Errorf("%d keys, %v; want %s", r.KeysRefused, got, want)
	}
}

// Over its bounds a summary goes on counting events, and says that there were
// more keys.
func TestSummaryBounds(t *testing.T) {
	p := plan(t, rule.Rule{Name: "ban", Key: []string{"ip"}, MissingKey: "skip", Limits: []rule.Limit{{Limit: "0 per 1s"}}})
	sum := newSummary(p)
	r := sum.Rules[0]
	r.tally.maxKeys, r.tally.maxNames = 3, 2
	d := slidegate.Decision{Action: slidegate.Reject}
	d.Reserve(1, 0)
	d.Windows()[0] = slidegate.WindowState{Rule: "ban", Refused: true}
	for i, ip := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.4", "192.0.2.3", "192.0.2.3", "192.0.2.1"} {
		ev := slidegate.Event{Name: "http", Attrs: []slidegate.Attr{slidegate.String("ip", ip)}}
		sum.add(p, &ev, &d, int64(i))
	}
	sum.Finish()
	if r.Refused != 8 || r.Admitted != 0 || r.Keys != 3 || r.KeysRefused != 3 || !r.KeysCapped || len(r.Top) != 2 || r.Top[0].Events != 2 {
		t.Errorf("%+v", r)
	}
	text, err := json.Marshal(sum)
	if want := `{"name":"ban","admitted":0,"refused":8,"keys":3,"keys_refused":3,"keys_capped":true,"top":[{"key":{"ip":"192.0.2.1"},"refused":2},{"key":{"ip":"192.0.2.2"},"refused":1}],`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestSummaryJSON(t *testing.T) {
	yes := true
	p := plan(
		t, rule.Rule{Name: "user-path", Key: []string{"user|ip", "path/4"}, Limits: []rule.Limit{{Limit: "1 per 1m"}}},
		rule.Rule{Name: "all", Limits: []rule.Limit{{Limit: "1 per 1m", Shadow: new(true)}, {Limit: "2 per 1m", Shadow: new(true)}}},
		rule.Rule{Name: "none", Match: []rule.Matcher{{"event": {"other"}}}, Limits: []rule.Limit{{Limit: "1 per 1m"}}, Shadow: &yes},
	)
	l := visits("192.0.2.1", 1, 2, 3)
	for i := range l.recs {
		ev := &l.recs[i].Event
		ev.Attrs = append(ev.Attrs, slidegate.String("path", "/<a>/b"), slidegate.Int("status", 200))
		if i > 0 {
			ev.Attrs = append(ev.Attrs, slidegate.String("user", "z\n\"é\""))
		}
	}
	got, err := json.Marshal(judged(t, p, l))
	want := `{"events":3,"skipped":0,"late":0,"admitted":2,"refused":1,"rules":[` +
		`{"name":"user-path","admitted":2,"refused":1,"keys":2,"keys_refused":1,"top":[{"key":{"path":"/\u003ca\u003e","user":"z\n\"é\""},"refused":1}],"limits":[{"limit":"1 per 1m","refused":1}]},` +
		`{"name":"all","shadow":true,"admitted":1,"refused":2,"keys":1,"keys_refused":1,"top":[{"key":{},"refused":2}],"limits":[{"limit":"1 per 1m","shadow":true,"refused":2},{"limit":"2 per 1m","shadow":true,"refused":1}]},` +
		`{"name":"none","shadow":true,"admitted":0,"refused":0,"keys":0,"keys_refused":0,"top":[],"limits":[{"limit":"1 per 1m","shadow":true,"refused":0}]}],` +
		`"timeline":{"from":"1970-01-01T00:00:01Z","slot_us":1000000,"admitted":[1,1,0],"refused":[0,0,1]}}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
	empty, err := json.Marshal(&Summary{})
	if want := `{"events":0,"skipped":0,"late":0,"admitted":0,"refused":0,"rules":[]}`; err != nil || string(empty) != want {
		t.Errorf("%v, %s", err, empty)
	}
}

// What was judged beside the rules is in the summary, in a form that stays.
func TestSummaryJSONBeside(t *testing.T) {
	rules := []rule.Rule{perIP("r", "1 per 10s"), {Name: "sum", Limits: []rule.Limit{{Limit: "2.5 sum(n) per 10s"}}}}
	src := visits("z\n\"é\"", 9, 10, 11, 30)
	for i := range src.recs {
		src.recs[i].Event.Attrs[0].Name = "user"
		src.recs[i].Event.Attrs = append(src.recs[i].Event.Attrs, slidegate.Float("n", 1.25))
	}
	rules[0].Key = []string{"user"}
	old, next := plan(t, rules...), plan(t, rule.Rule{Name: "r", Key: []string{"user"}, MissingKey: "skip", Limits: []rule.Limit{{Limit: "2 per 10s"}}}, perIP("new", "1 per 1m"))
	c, err := NewComparison(&rule.Set{Rules: rules}, []string{"fixed", "sliding_log"})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := Judge(t.Context(), old, src, nil, c, NewCandidate(old, next))
	if err != nil {
		t.Fatal(err)
	}
	sum.Rules, sum.Timeline = nil, Timeline{}
	got, err := json.Marshal(sum)
	const key = `"key":{"user":"z\n\"é\""}`
	want := `{"events":4,"skipped":0,"late":0,"admitted":2,"refused":2,"rules":[],"compare":[` +
		`{"algorithm":"fixed","admitted":3,"refused":1,"limits":[` +
		`{"rule":"r","limit":"1 per 10s","admitted":3,"refused":1,"worst":{"through":2,"max":1,"over":1,` + key + `,"at":"1970-01-01T00:00:10Z"}},` +
		`{"rule":"sum","limit":"2.5 sum(n) per 10s","admitted":4,"refused":0,"worst":{"through":2.5,"max":2.5,"over":0,"key":{},"at":"1970-01-01T00:00:10Z"}}]},` +
		`{"algorithm":"sliding_log","admitted":2,"refused":2,"limits":[` +
		`{"rule":"r","limit":"1 per 10s","admitted":2,"refused":2,"worst":{"through":1,"max":1,"over":0,` + key + `,"at":"1970-01-01T00:00:09Z"}},` +
		`{"rule":"sum","limit":"2.5 sum(n) per 10s","admitted":0,"refused":0,"not_possible":"a sum is kept in sliding_buckets, which is the default; leave algorithm out"}]}],` +
		`"candidate":{"events":4,"newly_refused":0,"freed":1,` +
		`"forgets":[{"rule":"sum","limit":"2.5 sum(n) per 10s","why":"the rule is gone"}],"rules":[` +
		`{"name":"r","refused_before":2,"refused_after":1,"newly_refused":{"events":0,"top":[],"examples":[]},"freed":{"events":1,"top":[{` + key + `,"events":1}],"examples":["log:2"]}},` +
		`{"name":"sum","removed":true,"refused_before":0,"refused_after":0,"newly_refused":{"events":0,"top":[],"examples":[]},"freed":{"events":0,"top":[],"examples":[]}},` +
		`{"name":"new","added":true,"refused_before":0,"refused_after":0,"newly_refused":{"events":0,"top":[],"examples":[]},"freed":{"events":0,"top":[],"examples":[]}}]}}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}
