package replay

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

// The algorithms once more, in the plainest way: each keeps everything that it
// ever let through.

type naiveWindow struct {
	algorithm          string
	max, size, buckets int64

	through []let
	empty   int64 // of gcra: when all is worked off
}

func (w *naiveWindow) fits(now, cost int64) bool {
	var used int64
	switch w.algorithm {
	case "sliding_log":
		for _, l := range w.through {
			if l.at > now-w.size {
				used += l.units
			}
		}
	case "fixed":
		for _, l := range w.through {
			if l.at/w.size == now/w.size {
				used += l.units
			}
		}
	case "sliding_buckets":
		width := (w.size + w.buckets - 1) / w.buckets
		for _, l := range w.through {
			if l.at/width >= now/width-w.buckets {
				used += l.units
			}
		}
	case "sliding_counter":
		var before int64
		for _, l := range w.through {
			switch l.at / w.size {
			case now / w.size:
				used += l.units
			case now/w.size - 1:
				before += l.units
			}
		}
		rest := w.size - now%w.size
		used += (before*rest + w.size - 1) / w.size
	case "gcra": // the burst is max
		unit := (w.size + w.max - 1) / w.max
		return max(w.empty-now, 0)+cost*unit <= w.max*unit
	default:
		panic(w.algorithm)
	}
	return used+cost <= w.max
}

func (w *naiveWindow) add(now, cost int64) {
	w.through = append(w.through, let{at: now, units: cost})
	if w.algorithm == "gcra" {
		w.empty = max(w.empty, now) + cost*((w.size+w.max-1)/w.max)
	}
	if len(w.through) > 4000 { // nobody looks further back than two windows
		w.through = slices.DeleteFunc(w.through, func(l let) bool { return l.at < now-3*w.size })
	}
}

// naiveLimit is a limit for each key.
type naiveLimit struct {
	rule, text string
	max, size  int64
	sums       bool
	key        func(*slidegate.Event) string

	admitted, refused int64
	windows           map[string]*naiveWindow
	through           map[string][]let
	worst             let
	worstKey          string
}

// naiveRecount judges events by all limits at once under one algorithm.
func naiveRecount(events []slidegate.Event, limits []*naiveLimit, algorithm string) (admitted int64) {
	for _, l := range limits {
		*l = naiveLimit{rule: l.rule, text: l.text, max: l.max, size: l.size, sums: l.sums, key: l.key, windows: map[string]*naiveWindow{}, through: map[string][]let{}}
	}
	for i := range events {
		ev := &events[i]
		now, pass := ev.Time.UnixMicro(), true
		for _, l := range limits {
			w := l.windows[l.key(ev)]
			if w == nil {
				w = &naiveWindow{algorithm: algorithm, max: l.max, size: l.size, buckets: 60}
				if l.sums && algorithm == "sliding_log" {
					w.algorithm = "sliding_buckets" // as it was written
				}
				l.windows[l.key(ev)] = w
			}
			if w.fits(now, l.cost(ev)) {
				l.admitted++
			} else {
				l.refused++
				pass = false
			}
		}
		if !pass {
			continue
		}
		admitted++
		for _, l := range limits {
			l.windows[l.key(ev)].add(now, l.cost(ev))
			l.see(l.key(ev), now, l.cost(ev))
		}
	}
	return admitted
}

func (l *naiveLimit) cost(ev *slidegate.Event) int64 {
	if !l.sums || ev.Cost.Units() == 0 { // which only looks
		return ev.Cost.Units()
	}
	v, _ := ev.Attr("bytes")
	var n int64
	fmt.Sscan(v.String(), &n)
	return 1000 * n
}

// see finds the worst window, from all that the key was let through.
func (l *naiveLimit) see(key string, now, units int64) {
	l.through[key] = append(l.through[key], let{at: now, units: units})
	var sum int64
	for i := len(l.through[key]) - 1; i >= 0 && l.through[key][i].at > now-l.size; i-- {
		sum += l.through[key][i].units
	}
	if sum > l.worst.units {
		l.worst, l.worstKey = let{at: now, units: sum}, key
	}
}

// compareWithNaive judges events by rules and compares all that a comparison says
// with the recount.
func compareWithNaive(t *testing.T, name string, rules []rule.Rule, limits []*naiveLimit, events []slidegate.Event) {
	t.Helper()
	algorithms := compared()
	c, err := NewComparison(&rule.Set{Rules: rules}, algorithms)
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := rule.Compile(&rule.Set{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	src := &listed{end: io.EOF}
	for _, ev := range events {
		src.recs = append(src.recs, Record{Event: ev, File: "log"})
	}
	sum, err := Judge(t.Context(), p, src, nil, c)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range sum.Comparison.Algorithms {
		admitted := naiveRecount(events, limits, algorithms[i])
		if a.Name != algorithms[i] || a.Admitted != admitted || a.Refused != int64(len(events))-admitted || len(a.Limits) != len(limits) {
			t.Fatalf("%s, %s: %d admitted, %d refused, %d limits; want %d admitted", name, a.Name, a.Admitted, a.Refused, len(a.Limits), admitted)
		}
		for j, l := range limits {
			got := a.Limits[j]
			if l.sums && a.Name == "sliding_log" {
				if got.Impossible == "" {
					t.Errorf("%s: a sum by %s", name, a.Name)
				}
				continue
			}
			key := ""
			for _, part := range got.Worst.Key {
				key = part.Value.String()
			}
			w := got.Worst
			if got.Rule != l.rule || got.Limit != l.text || got.Admitted != l.admitted || got.Refused != l.refused ||
				w.Through != l.worst.units || w.At.UnixMicro() != l.worst.at || key != l.worstKey || w.Max != l.max || w.AtLeast || got.Impossible != "" {
				t.Errorf("%s, %s, %s: %s\n got %d admitted, %d refused, %+v\nwant %d, %d, %d at %d of %q", name, a.Name, l.rule, l.text,
					got.Admitted, got.Refused, w, l.admitted, l.refused, l.worst.units, l.worst.at, l.worstKey)
			}
		}
	}
}

// compared are the algorithms that this build knows, of those that there are
// models of here.
func compared() []string {
	algorithms := []string{"sliding_log", "fixed", "sliding_buckets", "gcra"}
	if nameable("sliding_counter") == nil {
		algorithms = append(algorithms, "sliding_counter")
	}
	return algorithms
}

func byIP(ev *slidegate.Event) string {
	v, _ := ev.Attr("ip")
	return v.String()
}

func byNothing(*slidegate.Event) string { return "" }

// On the public log every algorithm lets through what the recount says.
func TestCompareReference(t *testing.T) {
	s := sortedLog(t, "elastic_apache_access.log", SortOptions{})
	var events []slidegate.Event
	for {
		rec, err := s.Next()
		if err != nil {
			break
		}
		ev := rec.Event
		ev.Attrs = slices.Clone(ev.Attrs)
		events = append(events, ev)
	}
	second := time.Second.Microseconds()
	compareWithNaive(t, "public log",
		[]rule.Rule{perIP("short", "5 per 10s"), perIP("long", "100 per 24h"), {Name: "all", Limits: []rule.Limit{{Limit: "60 per 1m"}}}},
		[]*naiveLimit{
			{rule: "short", text: "5 per 10s", max: 5, size: 10 * second, key: byIP},
			{rule: "long", text: "100 per 24h", max: 100, size: 86_400 * second, key: byIP},
			{rule: "all", text: "60 per 1m", max: 60, size: 60 * second, key: byNothing},
		}, events)
}

// bursty returns events of a few addresses that come in bursts, many of them
// around the edges of windows, some at the same instant.
func bursty(seed uint64, n int) []slidegate.Event {
	rnd := rand.New(rand.NewPCG(seed, 9))
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var events []slidegate.Event
	for len(events) < n {
		at = at.Add(time.Duration(rnd.Int64N(9_000_000)) * time.Microsecond)
		if rnd.IntN(3) == 0 {
			at = at.Truncate(10 * time.Second).Add(10*time.Second - time.Duration(rnd.IntN(3))*time.Microsecond)
		}
		ip := fmt.Sprintf("192.0.2.%d", rnd.IntN(4))
		for range 1 + rnd.IntN(9) {
			events = append(events, slidegate.Event{
				Name: "http", Time: at, Cost: slidegate.CostOf(rnd.Int64N(3)),
				Attrs: []slidegate.Attr{slidegate.String("ip", ip), slidegate.Int("bytes", rnd.Int64N(500))},
			})
			at = at.Add(time.Duration(rnd.Int64N(200)) * time.Millisecond * time.Duration(rnd.IntN(2)))
		}
	}
	return events
}

func TestCompareGenerated(t *testing.T) {
	second := time.Second.Microseconds()
	for seed := range uint64(20) {
		events := bursty(seed, 600)
		compareWithNaive(t, fmt.Sprintf("seed %d", seed),
			[]rule.Rule{
				{Name: "ip", Key: []string{"ip"}, MissingKey: "skip", Limits: []rule.Limit{{Limit: "7 per 10s"}, {Limit: "30 per 1m", Algorithm: "fixed"}}},
				{Name: "bytes", Key: []string{"ip"}, MissingKey: "skip", Limits: []rule.Limit{{Limit: "3000 sum(bytes) per 20s"}}},
			},
			[]*naiveLimit{
				{rule: "ip", text: "7 per 10s", max: 7, size: 10 * second, key: byIP},
				{rule: "ip", text: "30 per 1m", max: 30, size: 60 * second, key: byIP},
				{rule: "bytes", text: "3000 sum(bytes) per 20s", max: 3_000_000, size: 20 * second, key: byIP, sums: true},
			}, events)
	}
}

// comparison judges events by an algorithm and returns what became of its limits.
func comparison(t *testing.T, src Source, algorithms []string, rules ...rule.Rule) []*AlgorithmSummary {
	t.Helper()
	c, err := NewComparison(&rule.Set{Rules: rules}, algorithms)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := Judge(t.Context(), plan(t, rules...), src, nil, c)
	if err != nil {
		t.Fatal(err)
	}
	return sum.Comparison.Algorithms
}

// Around an edge a fixed window lets twice its maximum through in a real window;
// a sliding log never does.
func TestCompareDoubleBurst(t *testing.T) {
	src := func() *listed {
		l := visits("192.0.2.1", 19, 19, 19, 19, 19, 19, 20, 20, 20, 20, 20, 20, 200)
		l.recs = append(l.recs, visits("192.0.2.2", 201).recs...)
		return l
	}
	got := comparison(t, src(), []string{"fixed", "sliding_log", "gcra"}, perIP("r", "5 per 10s"))
	for i, want := range []struct{ through, over, admitted, refused, at int64 }{{10, 5, 12, 2, 20}, {5, 0, 7, 7, 19}, {5, 0, 7, 7, 19}} {
		l := got[i].Limits[0]
		w := l.Worst
		if w.Through != want.through || w.Over() != want.over || l.Admitted != want.admitted || l.Refused != want.refused || w.At.Unix() != want.at {
			t.Errorf("%s: %+v, want %+v", got[i].Name, l, want)
		}
		if len(w.Key) != 1 || w.Key[0] != slidegate.String("ip", "192.0.2.1") {
			t.Errorf("%s: the key is %v", got[i].Name, w.Key)
		}
	}
}

// What was let through is what all limits together let through; a limit on trial
// is charged with what it would have.
func TestCompareManyLimits(t *testing.T) {
	yes := true
	got := comparison(t, visits("192.0.2.1", 1, 1, 1, 1, 1, 1, 1, 1), []string{"fixed"},
		rule.Rule{Name: "two", Limits: []rule.Limit{{Limit: "3 per 10s"}, {Limit: "100 per 1h"}, {Limit: "2 per 10s", Shadow: &yes}, {Limit: "3 per 10 events"}}})
	limits := got[0].Limits
	if len(limits) != 3 || got[0].Admitted != 3 || got[0].Refused != 5 {
		t.Fatalf("%+v", got[0])
	}
	for i, want := range []struct{ admitted, refused, through int64 }{{3, 5, 3}, {8, 0, 3}, {2, 6, 2}} {
		if l := limits[i]; l.Admitted != want.admitted || l.Refused != want.refused || l.Worst.Through != want.through || l.Shadow != (i == 2) {
			t.Errorf("%s: %+v, want %+v", l.Limit, l, want)
		}
	}
}

// A limit on trial and one that is not may be alike.
func TestCompareAlike(t *testing.T) {
	yes := true
	got := comparison(t, visits("192.0.2.1", 1, 2, 3, 4), []string{"sliding_log"},
		rule.Rule{Name: "r", Limits: []rule.Limit{{Limit: "2 per 10s", Shadow: &yes}, {Limit: "3 per 10s"}, {Limit: "3 per 10s", Shadow: &yes}, {Limit: "2 per 10s"}}})
	for i, want := range []string{"2 per 10s true 2 2 2", "3 per 10s false 4 0 2", "3 per 10s true 4 0 2", "2 per 10s false 2 2 2"} {
		l := got[0].Limits[i]
		if s := fmt.Sprint(l.Limit, " ", l.Shadow, l.Admitted, l.Refused, l.Worst.Through); s != want {
			t.Errorf("limit %d: %s, want %s", i, s, want)
		}
	}
}

// What only degrades is let through, but not untouched: it is not in the window.
func TestCompareDegrade(t *testing.T) {
	got := comparison(t, visits("192.0.2.1", 1, 2, 3, 4), []string{"fixed"},
		rule.Rule{Name: "r", Limits: []rule.Limit{{Limit: "2 per 10s", Action: "degrade", With: "small"}, {Limit: "9 per 10s", Action: "queue", MaxWait: "1s", Algorithm: "gcra", Burst: new(int64(9))}}})
	l := got[0].Limits
	if got[0].Admitted != 4 || l[0].Admitted != 2 || l[0].Refused != 2 || l[0].Worst.Through != 2 || !strings.Contains(l[1].Impossible, "gcra") {
		t.Errorf("%+v %+v %+v", got[0], l[0], l[1])
	}
}

// Refused events that are counted were not let through; overrides give other
// maxima, or none.
func TestCompareOverrides(t *testing.T) {
	src := &listed{end: io.EOF}
	for i := range 30 {
		user := []string{"a", "vip", "free"}[i%3]
		src.recs = append(src.recs, Record{Event: slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("user", user)}, Time: time.Unix(int64(i/15), 0)}})
	}
	got := comparison(t, src, []string{"sliding_log", "gcra"}, rule.Rule{
		Name: "r", Key: []string{"user"}, MissingKey: "skip", Limits: []rule.Limit{{Limit: "2 per 1m", CountRefused: true}},
		Overrides: []rule.Override{
			{Match: []rule.Matcher{{"user": {"vip"}}}, Limits: []string{"8 per 60s"}},
			{Match: []rule.Matcher{{"user": {"free"}}}, Unlimited: true},
		},
	})
	l := got[0].Limits[0]
	if l.Admitted != 10 || l.Refused != 10 || l.Worst.Through != 2 || l.Worst.Max != 2 || l.Worst.Key[0].Value.String() != "a" {
		t.Errorf("%+v", l)
	}
	if l := got[1].Limits[0]; l.Worst.Over() != 0 {
		t.Errorf("gcra keeps the burst of the rule under an override: %+v", l)
	}
}

// Limits that cannot be of an algorithm say why, and are judged as they are.
func TestCompareImpossible(t *testing.T) {
	rules := []rule.Rule{
		{Name: "sum", Limits: []rule.Limit{{Limit: "2 sum(n) per 1m"}, {Limit: "5 per 1m"}}},
		{Name: "large", Limits: []rule.Limit{{Limit: "200k per 1h", Algorithm: "sliding_buckets"}}},
		{Name: "over", Key: []string{"ip"}, MissingKey: "skip", Limits: []rule.Limit{{Limit: "9 per 1h", Algorithm: "fixed"}, {Limit: "3 per 5 events"}},
			Overrides: []rule.Override{{Match: []rule.Matcher{{"ip": {"*"}}}, Limits: []string{"300k per 1h"}}}},
	}
	src := visits("192.0.2.1", 1, 2, 3)
	for i := range src.recs {
		src.recs[i].Event.Attrs = append(src.recs[i].Event.Attrs, slidegate.Int("n", 1))
	}
	got := comparison(t, src, []string{"sliding_log", "fixed"}, rules...)
	for i, want := range []string{"a sum is kept in", "", "holds at most 100000", "holds at most 100000"} {
		if why := got[0].Limits[i].Impossible; want == "" && why != "" || !strings.Contains(why, want) {
			t.Errorf("limit %d: %q, want %q", i, why, want)
		}
		if why := got[1].Limits[i].Impossible; why != "" {
			t.Errorf("limit %d as fixed: %q", i, why)
		}
	}
	if len(got[0].Limits) != 4 || got[0].Admitted != 2 || got[0].Limits[1].Worst.Through != 2 {
		t.Errorf("%+v", got[0])
	}
	if l := got[1].Limits[0]; l.Worst.Through != 2000 || l.Scale != 3 || l.Worst.Max != 2000 {
		t.Errorf("%+v", l)
	}
}

// A limit that is of the algorithm already keeps what is written.
func TestCompareKeepsWhatIsWritten(t *testing.T) {
	burst, buckets := int64(2), int64(1)
	src := visits("192.0.2.1", 0, 0, 0, 0, 0, 0)
	got := comparison(t, src, []string{"gcra", "sliding_buckets", "fixed"},
		rule.Rule{Name: "g", Limits: []rule.Limit{{Limit: "5 per 10s", Algorithm: "gcra", Burst: &burst}, {Limit: "4 per 10s", Algorithm: "sliding_buckets", Buckets: &buckets}}})
	if l := got[0].Limits; l[0].Refused != 4 {
		t.Errorf("the burst is not 2: %+v", l[0])
	}
	for _, a := range got[1:] {
		if l := a.Limits; l[0].Refused != 0 || l[1].Refused != 2 {
			t.Errorf("%s: %+v %+v", a.Name, l[0], l[1])
		}
	}
	ban := comparison(t, visits("192.0.2.1", 0), []string{"gcra"}, perIP("ban", "0 per 1m"))
	if l := ban[0].Limits[0]; l.Refused != 1 || l.Impossible != "" || l.Worst.Through != 0 {
		t.Errorf("%+v", l)
	}
}

func TestCompareErrors(t *testing.T) {
	good := &rule.Set{Rules: []rule.Rule{perIP("r", "1 per 1m")}}
	for _, c := range []struct {
		set        *rule.Set
		algorithms []string
		want       string
	}{
		{good, nil, "no algorithm to compare"},
		{good, []string{""}, "an algorithm without a name"},
		{good, []string{"fixed", "slidinglog"}, `"slidinglog": unknown algorithm; it is sliding_log`},
		{good, []string{"x\x1b[2J"}, `unknown algorithm; it is`},
		{good, []string{"events"}, "unknown algorithm"},
		{good, []string{"fixed", "gcra", "fixed"}, "algorithm fixed is named twice"},
		{&rule.Set{}, []string{"fixed"}, "no rules"},
	} {
		_, err := NewComparison(c.set, c.algorithms)
		checkError(t, strings.Join(c.algorithms, ","), err, c.want)
		if err != nil && strings.Contains(err.Error(), "\x1b") {
			t.Errorf("a control character in %q", err)
		}
	}
}
