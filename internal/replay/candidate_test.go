package replay

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

// candidate judges a log by old rules, and new ones beside them.
func candidate(t *testing.T, src Source, old, next []rule.Rule) *Candidate {
	t.Helper()
	before := plan(t, old...)
	sum, err := Judge(t.Context(), before, src, nil, NewCandidate(before, plan(t, next...)))
	if err != nil {
		t.Fatal(err)
	}
	return sum.Candidate
}

// changes writes what changes for each rule.
func changes(c *Candidate) string {
	var b strings.Builder
	for _, r := range c.Rules {
		fmt.Fprintf(&b, "%s %d>%d +%d%v -%d%v", r.Name, r.Before, r.After, r.Refused.Events, r.Refused.Examples, r.Freed.Events, r.Freed.Examples)
		if r.Added {
			b.WriteString(" added")
		}
		if r.Removed {
			b.WriteString(" removed")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestCandidate(t *testing.T) {
	log := func() *listed { return visits("192.0.2.1", 1, 2, 3, 4, 20, 21) }
	for _, c := range []struct {
		name           string
		old, next      []rule.Rule
		refused, freed int64
		want           string
	}{
		{"the same", []rule.Rule{perIP("r", "2 per 10s")}, []rule.Rule{perIP("r", "2 per 10s")}, 0, 0, "r 2>2 +0[] -0[]\n"},
		{"stricter", []rule.Rule{perIP("r", "2 per 10s")}, []rule.Rule{perIP("r", "1 per 10s")}, 2, 0, "r 2>4 +2[log:2 log:6] -0[]\n"},
		{"milder", []rule.Rule{perIP("r", "1 per 10s")}, []rule.Rule{perIP("r", "4 per 10s")}, 0, 4, "r 4>0 +0[] -4[log:2 log:3 log:4]\n"},
		{"both", []rule.Rule{perIP("r", "2 per 10s")}, []rule.Rule{perIP("r", "4 per 30s")}, 2, 2, "r 2>2 +2[log:5 log:6] -2[log:3 log:4]\n"},
		{"another name", []rule.Rule{perIP("a", "2 per 10s")}, []rule.Rule{perIP("b", "1 per 10s")}, 2, 0, "a 2>0 +0[] -0[] removed\nb 0>4 +2[log:2 log:6] -0[] added\n"},
		{"one gone", []rule.Rule{perIP("a", "2 per 10s"), perIP("b", "3 per 1h")}, []rule.Rule{perIP("b", "3 per 1h")}, 1, 1,
			"a 2>0 +0[] -1[log:3] removed\nb 1>3 +1[log:5] -0[]\n"},
		{"on trial", []rule.Rule{perIP("r", "2 per 10s")}, []rule.Rule{onTrial(perIP("r", "2 per 10s"))}, 0, 2, "r 2>0 +0[] -2[log:3 log:4]\n"},
	} {
		got := candidate(t, log(), c.old, c.next)
		if changes(got) != c.want || got.Refused != c.refused || got.Freed != c.freed || got.Events != 6 {
			t.Errorf("%s: %d refused, %d freed of %d\n got %s\nwant %s", c.name, got.Refused, got.Freed, got.Events, changes(got), c.want)
		}
	}
}

func onTrial(r rule.Rule) rule.Rule {
	yes := true
	r.Shadow = &yes
	return r
}

// Who is affected is named by the key of the rule that refuses.
func TestCandidateKeys(t *testing.T) {
	log := visits("192.0.2.1", 1, 1, 1, 1)
	log.recs = append(log.recs, visits("192.0.2.2", 2, 2, 2).recs...)
	log.recs = append(log.recs, visits("192.0.2.3", 3).recs...)
	got := candidate(t, log, []rule.Rule{perIP("a", "9 per 1m"), {Name: "all", Limits: []rule.Limit{{Limit: "7 per 1m"}}}}, []rule.Rule{perIP("a", "1 per 1m")})
	a, all := got.Rules[0], got.Rules[1]
	var top []string
	for _, k := range a.Refused.Top {
		top = append(top, fmt.Sprint(k.Key[0].Value, k.Events))
	}
	if !slices.Equal(top, []string{"192.0.2.1 3", "192.0.2.2 2"}) || a.Refused.Capped || len(a.Freed.Top) != 0 {
		t.Errorf("%+v", a)
	}
	if f := all.Freed; f.Events != 1 || len(f.Top) != 1 || len(f.Top[0].Key) != 0 || f.Examples[0].Line != 1 {
		t.Errorf("%+v", all)
	}
	if f := got.Forgotten; len(f) != 1 || f[0].Rule != "all" || f[0].Limit != "7 per 1m" {
		t.Errorf("%+v", f)
	}
}

// A part of a key that is missing refuses by its rule, for no key.
func TestCandidateMissingKey(t *testing.T) {
	log := &listed{end: io.EOF, recs: []Record{{Event: slidegate.Event{Name: "e", Time: time.Unix(1, 0)}, File: "log", Line: 1}}}
	strict := perIP("r", "1 per 1m")
	strict.MissingKey = "reject"
	got := candidate(t, log, []rule.Rule{perIP("r", "1 per 1m")}, []rule.Rule{strict})
	if r := got.Rules[0]; r.Refused.Events != 1 || len(r.Refused.Top) != 0 || got.Refused != 1 || r.After != 1 {
		t.Errorf("%+v", r)
	}
}

// What is let through with less is not refused; its action is another.
func TestCandidateDegrades(t *testing.T) {
	mild := perIP("r", "1 per 10s")
	mild.Limits[0].Action, mild.Limits[0].With = "degrade", "small"
	mild.Overrides = []rule.Override{{Match: []rule.Matcher{{"ip": {"192.0.2.9"}}}, Limits: []string{"2 per 10s"}}}
	log := visits("192.0.2.1", 1, 2)
	log.recs = append(log.recs, visits("192.0.2.9", 1, 1, 1).recs...)
	got := candidate(t, log, []rule.Rule{perIP("r", "9 per 10s")}, []rule.Rule{mild})
	if r := got.Rules[0]; got.Refused != 0 || got.Freed != 0 || got.OtherAction != 2 || r.After != 0 {
		t.Errorf("%+v, %+v", got, r)
	}
}

// What only the new rules cannot read is counted and not compared.
func TestCandidateUnjudged(t *testing.T) {
	log := visits("host\x1b", 1, 2)
	log.recs = append(log.recs, visits("192.0.2.1", 3).recs...)
	got := candidate(t, log, []rule.Rule{{Name: "r", Limits: []rule.Limit{{Limit: "9 per 1m"}}}}, []rule.Rule{perIP("r", "1 per 1m")})
	if got.Events != 1 || got.Unjudged != 2 || got.Where.String() != "log:1" || got.Why != `rule r: bad event: attribute ip: "host\x1b" is not an IP address` {
		t.Errorf("%+v", got)
	}
}

// On a random log the change is what two judgements apart from each other say.
func TestCandidateAgrees(t *testing.T) {
	for seed := range uint64(10) {
		events := bursty(seed, 400)
		rnd := rand.New(rand.NewPCG(seed, 3))
		some := func() []rule.Rule {
			return []rule.Rule{perIP("ip", fmt.Sprintf("%d per 20s", 2+rnd.IntN(6))), {Name: "all", Limits: []rule.Limit{{Limit: fmt.Sprintf("%d per 1m", 20+rnd.IntN(60))}}}}
		}
		old, next := some(), some()
		src := func() *listed {
			l := &listed{end: io.EOF}
			for i, ev := range events {
				l.recs = append(l.recs, Record{Event: ev, File: "log", Line: i + 1})
			}
			return l
		}
		got := candidate(t, src(), old, next)
		before, after := judged(t, plan(t, old...), src()), judged(t, plan(t, next...), src())
		if got.Refused-got.Freed != after.Refused-before.Refused || got.Events != int64(len(events)) {
			t.Errorf("seed %d: %d refused, %d freed; %d refused before, %d after", seed, got.Refused, got.Freed, before.Refused, after.Refused)
		}
		for i, r := range got.Rules {
			if r.Before != before.Rules[i].Refused || r.After != after.Rules[i].Refused {
				t.Errorf("seed %d: %+v; %d refused before, %d after", seed, r, before.Rules[i].Refused, after.Rules[i].Refused)
			}
		}
	}
}

// Event by event the change is what two engines apart from each other say, and the
// keys and places are those of these events.
func TestCandidateByEvent(t *testing.T) {
	for seed := range uint64(10) {
		events := bursty(50+seed, 300)
		old, next := []rule.Rule{perIP("ip", "4 per 20s")}, []rule.Rule{perIP("ip", "9 per 1m")}
		verdicts := func(rules []rule.Rule) (admitted []bool) {
			for i := range events {
				// One more event each time, and what it adds.
				src := &listed{end: io.EOF}
				for _, ev := range events[:i+1] {
					src.recs = append(src.recs, Record{Event: ev})
				}
				n := judged(t, plan(t, rules...), src).Admitted
				for _, before := range admitted {
					if before {
						n--
					}
				}
				admitted = append(admitted, n == 1)
			}
			return admitted
		}
		if seed > 2 {
			events = events[:60]
		} else {
			events = events[:120]
		}
		before, after := verdicts(old), verdicts(next)
		src := &listed{end: io.EOF}
		refused, freed := map[string]int64{}, map[string]int64{}
		var places []Place
		for i, ev := range events {
			src.recs = append(src.recs, Record{Event: ev, File: "log", Line: i + 1})
			switch {
			case before[i] && !after[i]:
				refused[byIP(&ev)]++
				places = append(places, Place{"log", i + 1})
			case !before[i] && after[i]:
				freed[byIP(&ev)]++
			}
		}
		got := candidate(t, src, old, next).Rules[0]
		for name, c := range map[string]struct {
			got  Affected
			want map[string]int64
		}{"refused": {got.Refused, refused}, "freed": {got.Freed, freed}} {
			counts := map[string]int64{}
			for _, k := range c.got.Top {
				counts[k.Key[0].Value.String()] = k.Events
			}
			if !maps.Equal(counts, c.want) {
				t.Errorf("seed %d, %s: %v, want %v", seed, name, counts, c.want)
			}
		}
		if want := places[:min(maxExamples, len(places))]; !slices.Equal(got.Refused.Examples, want) {
			t.Errorf("seed %d: %v, want %v", seed, got.Refused.Examples, want)
		}
	}
}

// TestCandidatePassed: an event whose challenge was passed is refused by neither
// file, and counted as let through.
func TestCandidatePassed(t *testing.T) {
	log := visits("192.0.2.1", 1, 2, 3)
	for i := 1; i < 3; i++ {
		log.recs[i].Event.Passed = []string{"captcha"}
	}
	r := rule.Rule{Name: "chal", Limits: []rule.Limit{{Limit: "1 per 1h", Action: "challenge", With: "captcha"}}}
	p := plan(t, r)
	c := NewCandidate(p, p)
	sum, err := Judge(t.Context(), p, log, nil, c)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Rules[0]; got.Before != 0 || got.After != 0 || sum.Admitted != 3 {
		t.Errorf("%d admitted, refused before %d, after %d", sum.Admitted, got.Before, got.After)
	}
	if got := sum.Rules[0]; got.Admitted != 3 || got.Refused != 0 || got.LetThrough != 2 || got.Limits[0].Refused != 0 || got.Limits[0].LetThrough != 2 {
		t.Errorf("%+v", got)
	}
}
