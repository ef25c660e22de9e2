package rule

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"pgregory.net/rapid"
)

func TestParseLimit(t *testing.T) {
	const second, minute, hour = int64(1e6), int64(60e6), int64(3600e6)
	for _, c := range []struct {
		text string
		max  int64
		per  span
		attr string
	}{
		{"100 per 1m", 100, span{size: minute}, ""},
		{"100 count per 1m", 100, span{size: minute}, ""},
		{"10_000 per 1000ms", 10_000, span{size: second}, ""},
		{"200k per 24h", 200_000, span{size: 24 * hour}, ""},
		{"1Mi per 400d", 1 << 20, span{size: 400 * 24 * hour}, ""},
		{"0 per 1ms", 0, span{size: 1000}, ""},
		{"3 per 10 events", 3, span{size: 10, events: true}, ""},
		{"10Gi sum(bytes) per 1h", 10 << 30 * 1000, span{size: hour}, "bytes"},
		{"199.99 sum(amount) per 1d", 199_990, span{size: 24 * hour}, "amount"},
		{"1.5k sum( amount ) per 1d", 1_500_000, span{size: 24 * hour}, "amount"},
		{"  7   per  2s  ", 7, span{size: 2 * second}, ""},
	} {
		l, err := parseLimit(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		scale := 0
		if l.stat == statSum {
			scale = 3
		}
		n, err := l.max.scaled(scale)
		if err != nil || n != c.max || l.per != c.per || l.attr != c.attr {
			t.Errorf("%s: %d %v %+v; want %d %+v", c.text, n, err, l, c.max, c)
		}
	}
}

func TestLimitErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    `such as "100 per 1m"`,
		"100":                                 `such as "100 per 1m"`,
		"per 1m":                              `such as "100 per 1m"`,
		" per 1m":                             "not a maximum",
		"-1 per 1m":                           "not negative",
		"ten per 1m":                          "not a maximum",
		"1e3 per 1m":                          "not a maximum",
		"100K per 1m":                         "not a maximum",
		"1__0 per 1m":                         "not a maximum",
		"1.5 per 1m":                          "no fractions",
		"9007199254740993 per 1m":             "over 2^53",
		"99999999999999999999 per 1m":         "over 2^53",
		"10T sum(bytes) per 1h":               "over 2^53",
		"1.0001 sum(v) per 1h":                "more than 3 decimals",
		"100 per minute":                      "say 1m",
		"100 per 1 minute":                    "say 1m",
		"100 per 2 hours":                     "say 2h",
		"100 per 5 minutes":                   "say 5m",
		"100 per 30sec":                       "say 30s",
		"100 per 30 days":                     "say 30d",
		"100 per 2 weeks":                     "say 14d",
		"100 per 1w":                          "say 7d",
		"10 per day":                          "say 24h (sliding) or calendar day",
		"10 per calendar day":                 "a calendar day needs a time zone",
		"10 per calendar hour":                "a calendar hour needs a time zone",
		"10 per week":                         "say 7d",
		"10 per month":                        "say 30d",
		"100 per 1M":                          "say 1m for a minute",
		"100 per 5M":                          "say 5m for minutes",
		"100 per 1H":                          "lower case: say 1h",
		"100 per 90S":                         "lower case: say 90s",
		"100 per 5 m":                         "say 5m, without a space",
		"100 per 1horu":                       `"horu" is no unit`,
		"100 per 60":                          "needs a unit",
		"100 per 1h30m":                       "say 90m, not 1h30m",
		"100 per 2h15m":                       "say 135m, not 2h15m",
		"100 per 1d12h":                       "say 36h, not 1d12h",
		"100 per 999999999999999d1ms":         "such as 90m",
		"100 per 1.5h":                        "say 90m, not 1.5h",
		"100 per .5s":                         "say 500ms, not .5s",
		"100 per 0.00001s":                    "such as 90m",
		"100 per 0s":                          "1ms to 400d",
		"100 per 401d":                        "1ms to 400d",
		"100 per 99999999999999999999d":       "1ms to 400d",
		"100 per -1m":                         "a window is a duration",
		"3 per 0 events":                      "1 to 10000000 events",
		"3 per 10000001 events":               "1 to 10000000 events",
		"3 per 1 event":                       "say 1 events",
		"3 per 10 event":                      "say 10 events",
		"3 per 1_000 events":                  "say 1000 events",
		"3 in last 10 events":                 "say 3 per 10 events",
		"5 failures per 10 events":            "what failed is known from reports; say a window of time",
		"5 streak per 10m":                    "say 5 streak where failed per 10m",
		"5.5 failures per 10m":                "no fractions",
		"500 inflight":                        "needs a hold in the rule, such as hold: 2m",
		"5 sum(event) per 1h":                 "name of the event",
		"5 sum(ip) per 1h":                    "ip is an address",
		"1.0000000000000000001 sum(v) per 1h": "more than 3 decimals",
		"100.0 per 1m":                        "no fractions",
		"5 distinct phone per 1h":             "say distinct(phone)",
		"5 distinct() per 1h":                 "name of one attribute, such as distinct(phone)",
		"5 distinct(a) per 10 events":         "window of time",
		"10001 distinct(a) per 1h":            "at most 10000",
		"1.5 distinct(a) per 1h":              "no fractions",
		"50 inflight per 1m":                  "what is in flight has no window",
		"3 count where per 1h":                "where needs a condition",
		"3 count where x > per 1h":            "character",
		"3 where links > 0 per 10 events":     "put the condition into the rule",
		"800 p99(v) per 1m":                   "unknown measure",
		"5 sum per 1h":                        "unknown measure",
		"5 sum() per 1h":                      "name of one attribute",
		"5 sum(a b) per 1h":                   "name of one attribute",
		"5 sum(v) per 10 events":              "window of time",
	} {
		set := &Set{Rules: []Rule{{Name: "r", Limits: []Limit{{Limit: text}}}}}
		_, _, err := Compile(set)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "rule r: limits[0]") {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

// TestScaledValue holds the reading of decimals against exact arithmetic.
func TestScaledValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(`[0-9]{1,12}(\.[0-9]{1,12})?([eE][+-]?[0-9])?`),
			rapid.Map(rapid.Float64Range(0, 1e9), func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }),
		).Draw(t, "text")
		scale := rapid.IntRange(0, 9).Draw(t, "scale")
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		exact.Mul(exact, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
		exact.Add(exact, big.NewRat(1, 2)) // round half up
		want := new(big.Int).Quo(exact.Num(), exact.Denom())
		got, err := scaledText(text, scale)
		if err == nil && want.Cmp(big.NewInt(got)) != 0 {
			t.Fatalf("%s scaled by %d: %d, want %v", text, scale, got, want)
		}
		if err != nil && want.Cmp(big.NewInt(1<<53)) <= 0 {
			t.Fatalf("%s scaled by %d: %v", text, scale, err)
		}
	})
}

func TestScaledValueEdges(t *testing.T) {
	for _, c := range []struct {
		v    slidegate.Value
		want int64
	}{
		{slidegate.FloatValue(19.99), 19_990}, {slidegate.FloatValue(0.1 + 0.2), 300}, {slidegate.IntValue(7), 7000},
		{slidegate.TextValue("12.3456"), 12_346}, {slidegate.TextValue("0.0004"), 0}, {slidegate.TextValue("0.0005"), 1},
		{slidegate.TextValue("-0"), 0}, {slidegate.TextValue("1e2"), 100_000}, {slidegate.TextValue("1e-400"), 0}, {slidegate.TextValue("1e-99999999999999999999"), 0}, {slidegate.TextValue("0e5000"), 0}, {slidegate.FloatValue(5e-324), 0},
	} {
		if got, err := scaledValue(c.v, 3); err != nil || got != c.want {
			t.Errorf("%v: %d %v, want %d", c.v, got, err, c.want)
		}
	}
	for _, v := range []slidegate.Value{
		slidegate.TextValue(""), slidegate.TextValue("x"), slidegate.TextValue("-1"), slidegate.TextValue("1."), slidegate.TextValue(".5"), slidegate.TextValue("1e"),
		slidegate.TextValue("NaN"), slidegate.TextValue("Inf"), slidegate.TextValue("0x10"), slidegate.TextValue("1 "), slidegate.TextValue("--1"), slidegate.TextValue("1e5000"),
		slidegate.FloatValue(1e300), slidegate.FloatValue(-0.5), slidegate.IntValue(math.MaxInt64), slidegate.IntValue(-1), slidegate.TextValue("9007199254740993"),
	} {
		if got, err := scaledValue(v, 0); err == nil {
			t.Errorf("%v: %d, want an error", v, got)
		}
	}
}

func FuzzLimitText(f *testing.F) {
	for _, s := range []string{"100 per 1m", "3 per 10 events", "10Gi sum(bytes) per 1h", "1 per 1 per 1s", "9.99 sum(a) per 400d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseLimit(text)
		if err != nil {
			return
		}
		if l.per.size < 1 {
			t.Errorf("%q: window %d", text, l.per.size)
		}
		if n, err := l.max.scaled(3); err == nil && n < 0 {
			t.Errorf("%q: maximum %d", text, n)
		}
	})
}

// TestEndOfDay holds the end of a day where clocks change at midnight: in the
// microsecond before it is still that day, and from then on it is not.
func TestEndOfDay(t *testing.T) {
	for _, name := range []string{"UTC", "Asia/Shanghai", "Europe/London", "Africa/Cairo", "America/Santiago", "America/Sao_Paulo", "Asia/Amman", "Asia/Beirut", "America/Havana", "Atlantic/Azores", "Australia/Lord_Howe"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 365 * 16 {
			day := time.Date(2012, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
			us, err := parseUntil(day, zone)
			if err != nil {
				t.Fatal(err)
			}
			last, next := time.UnixMicro(us-1).In(zone), time.UnixMicro(us).In(zone)
			if last.Format(time.DateOnly) != day || next.Format(time.DateOnly) <= day {
				t.Fatalf("%s: until %s ends at %v, after %v", name, day, next, last)
			}
		}
	}
}

// TestInstances: of a fleet without a common store each has its part of every limit,
// and what cannot be divided is an error that says so.
func TestInstances(t *testing.T) {
	set := func(of int, l Limit, overrides ...Override) *Set {
		return &Set{Instances: of, Rules: []Rule{{Name: "r", Hold: "1m", Limits: []Limit{l}, Overrides: overrides}}}
	}
	for _, tt := range []struct {
		of         int
		l          Limit
		max, burst int64
		reach      int64 // 0: not of gcra
	}{
		{of: 0, l: Limit{Limit: "6 per 1m"}, max: 6},
		{of: 1, l: Limit{Limit: "6 per 1m"}, max: 6},
		{of: 3, l: Limit{Limit: "6 per 1m"}, max: 2},
		{of: 3, l: Limit{Limit: "8 per 1m"}, max: 2},
		{of: 3, l: Limit{Limit: "0 per 1m"}, max: 0},
		{of: 3, l: Limit{Limit: "1 sum(v) per 1m"}, max: 333},
		{of: 3, l: Limit{Limit: "9 inflight"}, max: 3},
		{of: 3, l: Limit{Limit: "9 distinct(v) per 1h"}, max: 3},
		{of: 3, l: Limit{Limit: "9 failures per 1h"}, max: 3},
		{of: 3, l: Limit{Limit: "60 per 1m", Algorithm: "gcra", Burst: new(int64(7))}, max: 20, burst: 2, reach: 6e6},
		{of: 3, l: Limit{Limit: "60 per 1m", Algorithm: "gcra", Burst: new(int64(3)), Action: "queue", MaxWait: "1h", MaxQueue: new(int64(2))}, max: 20, burst: 1, reach: 6e6},
	} {
		p, _, err := Compile(set(tt.of, tt.l))
		if err != nil {
			t.Errorf("%+v: %v", tt.l, err)
			continue
		}
		if got := p.Rule("r").All()[0].Params; got.Max != tt.max || got.Burst != tt.burst || got.Reach != tt.reach {
			t.Errorf("%+v of %d: %+v", tt.l, tt.of, got)
		}
	}
	for _, l := range []Limit{{Limit: "2 per 1m"}, {Limit: "3 per 10 events"}, {Limit: "60 per 1m", Algorithm: "gcra", Burst: new(int64(2))}} {
		if _, _, err := Compile(set(3, l)); err == nil || !strings.Contains(err.Error(), "rule r: limits[0]") || !strings.Contains(err.Error(), "divided among 3 instances") {
			t.Errorf("%+v: %v", l, err)
		}
	}
	_, _, err := Compile(set(3, Limit{Limit: "6 per 1m"}, Override{Match: []Matcher{{"user": {"a"}}}, Limits: []string{"2 per 1m"}}))
	if err == nil || !strings.Contains(err.Error(), "rule r: overrides[0].limits[0]") {
		t.Error(err)
	}
}
