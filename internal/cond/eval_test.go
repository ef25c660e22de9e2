package cond

import (
	"math"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the test needs a zone, whatever the machine has

	"github.com/slidegate/slidegate"
)

// literal is a number that came with its spelling, as JSON numbers do.
func literal(name, spelling string) slidegate.Attr {
	v, err := slidegate.NumberValue(spelling)
	if err != nil {
		panic(err)
	}
	return slidegate.Attr{Name: name, Value: v}
}

// listsOf are lists by their names.
type listsOf map[string]func(slidegate.Value) bool

// lists are lists of which upper and lower case are told apart.
func lists(all listsOf) map[string]func(Member) (List, error) {
	made := map[string]func(Member) (List, error){}
	for name, has := range all {
		made[name] = func(Member) (List, error) {
			return func(v slidegate.Value) Truth { return truthOf(has(v)) }, nil
		}
	}
	return made
}

var testScope = &Scope{
	Attrs: map[string]Type{"ip": Address, "peer": Address, "name": Text, "size": Number, "x-id": Text, "x-size": Number},
	Lists: lists(listsOf{
		"trusted": func(v slidegate.Value) bool { return v.String() == "DE" || v.String() == "7" },
		"bad-ips": func(v slidegate.Value) bool { return strings.HasPrefix(v.String(), "192.0.2.") },
	}),
	Zone: time.FixedZone("CET", 3600),
}

var testEvent = &slidegate.Event{
	Name: "order.query", Cost: slidegate.CostOf(3),
	Attrs: []slidegate.Attr{
		slidegate.Int("n", 5), slidegate.Float("f", 2.5), slidegate.String("s", "hello"), slidegate.String("five", "5"), slidegate.String("fiveo", "5.0"),
		literal("lit", "5.00"), literal("huge", "12345678901234567890"), slidegate.String("empty", ""), slidegate.String("country", "DE"),
		slidegate.String("ip", "[::ffff:192.0.2.1]:443"), slidegate.String("peer", "nonsense"), slidegate.String("addr", "192.0.2.1"), slidegate.String("addr6", "2001:DB8::0:1"),
		slidegate.Int("zero", 0), slidegate.Float("big", 1e308), slidegate.String("a.b", "dotted"), slidegate.String("x-id", "hyphened"), slidegate.Int("x-size", 9),
		slidegate.Int("hour", 99), slidegate.Float("nan", math.NaN()), slidegate.Float("tiny", 5e-324), slidegate.Float("in.not", 1), slidegate.Int("seven", 7),
		slidegate.String("path", "/api/v1/orders"), slidegate.Int("name", 42), slidegate.String("size", "1e3"), slidegate.String("crlf", "a\r\nb"),
		slidegate.String("invalid", "\xff\xfe"), slidegate.String("注", "non-ASCII"), slidegate.String("utf8", "héllo wörld"),
	},
}

// sunday is 2023-11-19 23:30:00 UTC: Monday, 0:30, in CET.
const sunday = int64(1_700_436_600_000_000)

func TestEval(t *testing.T) {
	const (
		no      = False
		yes     = True
		unknown = Unknown
	)
	for text, want := range map[string]Truth{
		// Numbers, however they came.
		`n == 5`: yes, `n == 5.0`: yes, `n != 5`: no, `n < 5`: no, `n <= 5`: yes, `n > 4.9`: yes, `n >= 5.1`: no,
		`five == 5`: yes, `fiveo == 5`: yes, `lit == 5`: yes, `lit + five == 10`: yes, `f == 2.5`: yes, `-n == -5`: yes, `-(n) < -4`: yes,
		`n == 5e0`: yes, `n < 1_000`: yes, `n == .5e1`: yes, `huge > 9_007_199_254_740_991`: yes, `tiny > 0`: yes, `size == 1000`: yes,
		`s == 5`: unknown, `empty == 0`: unknown, `s < 5 or n == 5`: yes, `nan == 1`: unknown, `nan != 1`: unknown, `nan in [1]`: unknown,
		// Arithmetic.
		`n + 2 * 3 == 11`: yes, `(n + 2) * 3 == 21`: yes, `n - 2 - 3 == 0`: yes, `n - (2 - 3) == 6`: yes, `n / 2 == 2.5`: yes, `8 / 4 / 2 == 1`: yes, `8 / (4 / 2) == 4`: yes,
		`n / zero == 0`: unknown, `zero / zero == 0`: unknown, `big * big > 1`: unknown, `big * 10 / 10 > 1`: unknown, `-big * 10 < 0`: unknown, `n / 0 > 1 or n > 1`: yes,
		`n - -5 == 10`: yes, `s + 1 > 0`: unknown, `missing + 1 > 0`: unknown, `1 - missing > 0`: unknown,
		// Texts, and numbers where texts are wanted.
		`s == "hello"`: yes, `s == 'hello'`: yes, "s == `hello`": yes, `"hello" == s`: yes, `s != "x"`: yes, `s == "Hello"`: no, `empty == ""`: yes,
		`n == "5"`: yes, `n == "5.0"`: no, `lit == "5.00"`: yes, `lit == "5"`: no, `f == "2.5"`: yes, `huge == "12345678901234567890"`: yes, `name == "42"`: yes, `five == "5"`: yes, `n == "` + strings.Repeat("5", 100) + `"`: no,
		`s startsWith "he"`: yes, `s endsWith "lo"`: yes, `s contains "ell"`: yes, `s contains ""`: yes, `s startsWith "lo"`: no, `s endsWith "he"`: no, `s contains "xx"`: no,
		`s not startsWith "he"`: no, `s not endsWith "x"`: yes, `s not contains "x"`: yes, `s not matches "x"`: yes, `n startsWith "5"`: yes, `path startsWith s`: no, `s startsWith s`: yes,
		`s matches "^h.*o$"`: yes, `s matches "l{2}"`: yes, `s matches "^l"`: no, `n matches "^[0-9]$"`: yes, `path matches "(?i)/API/V[0-9]+/"`: yes, `invalid matches "^..$"`: yes, `crlf == "a\r\nb"`: yes,
		`utf8 == "h\u00e9llo wörld"`: yes, `utf8 startsWith "h\xe9"`: yes,
		// Two attributes of which nothing tells the type.
		`n == lit`: yes, `n != lit`: no, `s == s`: yes, `s == country`: no, `five == fiveo`: no, `n == five`: unknown, `n != five`: unknown, `nan == nan`: unknown, `n == missing`: unknown, `missing == n`: unknown,
		// Two attributes of which something does.
		`n == five and n > 1`: yes, `five == fiveo and fiveo > 1`: yes, `n == five and n startsWith "5"`: yes, `five == five and five == fiveo and fiveo == lit and lit > 1`: yes,
		// Variables.
		`event == "order.query"`: yes, `event startsWith "order."`: yes, `event matches "^order"`: yes, `event in ["a", "order.query"]`: yes, `event in trusted`: no,
		`cost == 3`: yes, `cost > 3`: no, `cost in [1, 3]`: yes, `cost in trusted`: no, `hour == 0`: yes, `weekday == 1`: yes, `weekday in [6, 7]`: no, `hour * 60 < 60`: yes, `attr["hour"] == 99`: yes,
		`event == country`: no, `event == s`: no,
		// Lists.
		`n in [1, 5]`: yes, `n in [5.0]`: yes, `n in [-5]`: no, `n not in [1, 2]`: yes, `s in ["a", "hello"]`: yes, `n in ["5"]`: yes, `lit in [5]`: yes, `lit in ["5"]`: no,
		`s in ["a","b","c","d","e","f","g","h","i","hello"]`: yes, `n in [1,2,3,4,5,6,7,8,9,10]`: yes, `n in [1,2,3,4,6,7,8,9,10]`: no, `n + 1 in [6]`: yes, `missing in [1]`: unknown, `missing not in ["a"]`: unknown, `s in [1]`: unknown,
		`country in trusted`: yes, `s in trusted`: no, `country not in trusted`: no, `missing in trusted`: unknown, `missing not in trusted`: unknown, `n + 2 in trusted`: yes, `7 in trusted`: yes, `n / 0 in trusted`: unknown, `seven in trusted`: yes,
		`addr in lists["bad-ips"]`: yes, `country in lists["trusted"]`: yes,
		// Addresses.
		`ip == "192.0.2.1"`: yes, `ip == "::ffff:192.0.2.1"`: yes, `ip != "192.0.2.2"`: yes, `"192.0.2.1" == ip`: yes, `ip in ["192.0.2.1", "::1"]`: yes, `ip in ["::1"]`: no, `ip == addr`: yes, `addr == ip`: yes, `ip == addr6`: no, `ip == s`: unknown, `ip == event`: unknown, `ip == missing`: unknown,
		`peer == "192.0.2.1"`: unknown, `peer != "192.0.2.1"`: unknown, `peer in ["::1"]`: unknown, `peer startsWith "n"`: unknown, `peer matches "n"`: unknown, `ip startsWith "192.0."`: yes, `ip endsWith ".1"`: yes, `ip contains "0.2"`: yes, `ip matches "^192[.]"`: yes, `n == 5 and ip == peer`: unknown,
		// Names.
		`a.b == "dotted"`: yes, `attr["a.b"] == "dotted"`: yes, `attr["x-id"] == "hyphened"`: yes, `attr["x-size"] - n == 4`: yes, `in.not == 1`: unknown, `attr["in.not"] == 1`: yes,
		// What is missing.
		`missing == 1`: unknown, `missing != 1`: unknown, `not (missing == 1)`: unknown, `missing == "x"`: unknown, `missing startsWith ""`: unknown, `s startsWith missing`: unknown, `missing matches ""`: unknown, `missing < 1`: unknown, `1 < missing`: unknown,
		`missing == 1 and n == 5`: unknown, `missing == 1 and n == 6`: no, `n == 6 and missing == 1`: no, `missing == 1 or n == 5`: yes, `n == 5 or missing == 1`: yes, `missing == 1 or n == 6`: unknown, `missing == 1 or not (missing == 1)`: unknown,
		// Precedence.
		`n == 5 or n == 6 and n == 7`: yes, `(n == 5 or n == 6) and n == 7`: no, `not (n == 5) or n == 5`: yes, `not (n == 5 or n == 5)`: no, `not not (n == 5)`: yes,
	} {
		if text == `in.not == 1` { // no operator can begin a name
			continue
		}
		c := mustCompile(t, text, testScope)
		if got := c.Eval(testEvent, sunday); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		again := mustCompile(t, c.String(), testScope)
		if again.String() != c.String() || again.Eval(testEvent, sunday) != want {
			t.Errorf("%s: the canonical form %s reads as %s: %v", text, c, again, again.Eval(testEvent, sunday))
		}
	}
}

func TestHoursAndWeekdays(t *testing.T) {
	for now, want := range map[int64][2]string{
		0:                         {"0", "4"}, // a Thursday
		3 * 24 * 3600 * 1e6:       {"0", "7"},
		4*24*3600*1e6 - 1:         {"23", "7"},
		4 * 24 * 3600 * 1e6:       {"0", "1"},
		-1:                        {"23", "3"},
		1_700_436_600_000_000:     {"23", "7"},
		1_700_000_000_000_000:     {"22", "2"},
		1_700_000_000_000_000 - 1: {"22", "2"},
	} {
		c := mustCompile(t, "hour == "+want[0]+" and weekday == "+want[1], nil)
		if !c.NeedsTime() || c.Eval(testEvent, now) != True {
			t.Errorf("%v does not hold at %d", c, now)
		}
	}
	c := mustCompile(t, "hour >= 0 and hour <= 23 and weekday >= 1 and weekday <= 7", nil)
	for _, now := range []int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64} {
		if c.Eval(testEvent, now) != True {
			t.Errorf("%v does not hold at %d", c, now)
		}
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	summer := time.Date(2024, 3, 31, 1, 0, 0, 0, time.UTC).UnixMicro() // the clock goes from 2 to 3
	c = mustCompile(t, "hour == 3", &Scope{Zone: berlin})
	if c.Eval(testEvent, summer) != True || c.Eval(testEvent, summer-1) != False {
		t.Error("the hour that is left out in spring")
	}
}

func TestNilCondHoldsForAll(t *testing.T) {
	for _, c := range []*Cond{nil, {}} {
		if c.Eval(testEvent, 0) != True || c.String() != "" || c.Attrs() != nil || c.NeedsTime() {
			t.Error("a condition that is not there holds for every event")
		}
	}
}

func TestAttrs(t *testing.T) {
	c := mustCompile(t, `b > 1 and a.x == "1" and b < 3 and attr["x-id"] == "2" and hour > 1 and event == "e" and country in trusted`, testScope)
	if got := strings.Join(c.Attrs(), " "); got != "a.x b country x-id" {
		t.Error(got)
	}
	c.Attrs()[0] = "changed"
	if c.Attrs()[0] != "a.x" {
		t.Error("Attrs returns what the condition holds")
	}
	if mustCompile(t, "a > 1", nil).NeedsTime() {
		t.Error("a > 1 needs no time")
	}
}

func TestTruthString(t *testing.T) {
	if False.String()+True.String()+Unknown.String()+Truth(0).String() != "falsetrueunknownunknown" {
		t.Error("the names of truth")
	}
	if Text.String()+Number.String()+Address.String() != "textnumberaddress" {
		t.Error("the names of types")
	}
}

// TestNumbersSpelled: what is a number is what JSON says.
func TestNumbersSpelled(t *testing.T) {
	for s, want := range map[string]float64{
		"0": 0, "-0": 0, "7": 7, "-7": -7, "123456789012345": 123456789012345, "1234567890123456": 1234567890123456, "0.5": 0.5, "-0.5e1": -5, "1E+2": 100, "1e-2": 0.01, "1e-400": 0,
	} {
		if got, ok := parseNumber(s); !ok || got != want {
			t.Errorf("%q: %v %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "0x10", "1_000", "inf", "Infinity", "NaN", "1e999", "-1e999", " 1", "1 ", "1,5", "1.5.2", "١", "--1", "1\x00"} {
		if got, ok := parseNumber(s); ok {
			t.Errorf("%q is %v", s, got)
		}
	}
}

// TestLongTextsAreNotMatched: a regular expression takes time for each byte.
func TestLongTextsAreNotMatched(t *testing.T) {
	c, err := Compile(`ua matches "b*x$"`, &Scope{})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]Truth{MaxMatched: True, MaxMatched + 1: Unknown} {
		ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("ua", strings.Repeat("b", n-1)+"x")}}
		if got := c.Eval(&ev, 0); got != want {
			t.Errorf("%d bytes: %v, want %v", n, got, want)
		}
	}
}
