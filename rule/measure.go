package rule

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/limit"
)

// stat is what a limit counts.
type stat uint8

const (
	statCount stat = iota // adds the cost of the event
	statSum               // adds the value of an attribute
)

// span is the window of a measure.
type span struct {
	size   int64 // microseconds, or checks
	events bool
}

// String returns the span in its canonical form: 60s and 1m are the same.
func (s span) String() string {
	if s.events {
		return fmt.Sprintf("%d events", s.size)
	}
	return fmt.Sprintf("%dus", s.size)
}

// limitText is a parsed LIMIT: MAX [STAT] per WINDOW.
type limitText struct {
	max  decimal
	stat stat
	attr string // of sum(attr)
	per  span
}

var (
	reMax   = regexp.MustCompile(`^([0-9]+(?:_[0-9]+)*)(?:\.([0-9]+))?(k|M|G|T|Ki|Mi|Gi|Ti)?$`)
	reSum   = regexp.MustCompile(`^sum\(\s*([^()]*?)\s*\)$`)
	reTime  = regexp.MustCompile(`^([0-9]+)(ms|s|m|h|d)$`)
	reCount = regexp.MustCompile(`^([0-9]+) events$`)
	reName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
)

// parseLimit reads a LIMIT text.
func parseLimit(text string) (limitText, error) {
	var l limitText
	head, per, ok := cutLast(text, " per ")
	if !ok {
		if n, rest, in := strings.Cut(text, " in last "); in && reCount.MatchString(rest) {
			return l, fmt.Errorf("say %s per %s", n, rest)
		}
		return l, errors.New(`a limit is a maximum and a window, such as "100 per 1m" or "3 per 10 events"`)
	}
	maxText, measure, _ := strings.Cut(strings.TrimSpace(head), " ")
	var err error
	if l.max, err = parseMax(maxText); err != nil {
		return l, err
	}
	switch measure = strings.TrimSpace(measure); {
	case measure == "" || measure == "count":
		l.stat = statCount
	case reSum.MatchString(measure):
		l.stat, l.attr = statSum, reSum.FindStringSubmatch(measure)[1]
		if !reName.MatchString(l.attr) {
			return l, errors.New("sum takes the name of one attribute, such as sum(bytes)")
		}
	default:
		return l, fmt.Errorf("unknown measure %q; a limit counts (100 per 1m) or sums (10Mi sum(bytes) per 1m)", measure)
	}
	if l.stat == statCount && l.max.frac != "" {
		return l, errors.New("a count has no fractions; only a sum has")
	}
	l.per, err = parseSpan(strings.TrimSpace(per))
	if err == nil && l.per.events && l.stat == statSum {
		err = errors.New("a sum needs a window of time, such as 1h, not of events")
	}
	return l, err
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// parseSpan reads a WINDOW: 1000ms, 60s, 5m, 24h, 30d, 100 events.
func parseSpan(text string) (span, error) {
	if m := reCount.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil || n < 1 || n > limit.MaxEvents {
			return span{}, fmt.Errorf("a window of events is 1 to %d events", limit.MaxEvents)
		}
		return span{size: n, events: true}, nil
	}
	m := reTime.FindStringSubmatch(text)
	if m == nil {
		return span{}, fmt.Errorf("window %q: %s", text, windowAdvice(text))
	}
	unit := map[string]int64{"ms": 1000, "s": 1e6, "m": 60e6, "h": 3600e6, "d": 24 * 3600e6}[m[2]]
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n < 1 || n > limit.MaxSize/unit || n*unit < limit.MinSize {
		return span{}, fmt.Errorf("window %q: a window is 1ms to 400d", text)
	}
	return span{size: n * unit}, nil
}

var (
	reWord     = regexp.MustCompile(`^(?:[0-9]+ ?)?(second|minute|hour|day|week|month|year)s?$`)
	reBare     = regexp.MustCompile(`^[0-9]+$`)
	reUnit     = regexp.MustCompile(`^[0-9]+ *([A-Za-z]+)$`)
	reSeveral  = regexp.MustCompile(`^([0-9]+(ms|s|m|h|d))+$`)
	reFraction = regexp.MustCompile(`^[0-9]*\.[0-9]+(ms|s|m|h|d)$`)
)

// windowAdvice says what to write instead of a window that is not one.
func windowAdvice(text string) string {
	const units = "the units are ms s m h d"
	if m := reWord.FindStringSubmatch(text); m != nil {
		return map[string]string{
			"second": "say 1s",
			"minute": "say 1m",
			"hour":   "say 1h (sliding) or calendar hour",
			"day":    "say 24h (sliding) or calendar day",
			"week":   "say 7d (sliding) or calendar week",
			"month":  "say 30d (sliding) or calendar month",
			"year":   "say 365d (sliding) or calendar year",
		}[m[1]]
	}
	switch {
	case reBare.MatchString(text):
		return fmt.Sprintf("a window needs a unit: say %ss for seconds; %s", text, units)
	case reSeveral.MatchString(text):
		return "a duration is one number and one unit: say 90m, not 1h30m"
	case reFraction.MatchString(text):
		return "a duration is a whole number: say 90m, not 1.5h"
	}
	if m := reUnit.FindStringSubmatch(text); m != nil {
		switch m[1] {
		case "M":
			return "M is no unit: say 1m for a minute or 30d for a month"
		case "event":
			return "say 1 events"
		}
		if l := strings.ToLower(m[1]); l != m[1] && reTime.MatchString("1"+l) {
			return fmt.Sprintf("units are lower case: say %s; %s", l, units)
		}
		return fmt.Sprintf("%q is no unit; %s", m[1], units)
	}
	return `a window is a duration such as 60s or 24h, or a number of events such as "100 events"`
}

// decimal is an exact number that is 0 or more: digits with a fraction, times
// a power.
type decimal struct {
	whole, frac string // digits
	times       int64
}

// parseMax reads a MAX: 100, 10_000, 200k, 10Gi, 199.99.
func parseMax(text string) (decimal, error) {
	if strings.HasPrefix(text, "-") {
		return decimal{}, errors.New("a maximum is 0 or more, not negative")
	}
	m := reMax.FindStringSubmatch(text)
	if m == nil {
		return decimal{}, fmt.Errorf("%q is not a maximum: say 100, 10_000, 200k, 10Gi or, for a sum, 199.99", text)
	}
	times := map[string]int64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}[m[3]]
	return decimal{whole: strings.ReplaceAll(m[1], "_", ""), frac: strings.TrimRight(m[2], "0"), times: times}, nil
}

// scaled returns d in units of 10^-scale. It is exact or an error.
func (d decimal) scaled(scale int) (int64, error) {
	n, err := strconv.ParseUint(strings.TrimLeft(d.whole+d.frac, "0")+"0", 10, 64)
	if err != nil {
		return 0, errors.New("the maximum is over 2^53")
	}
	n /= 10
	hi, lo := bits.Mul64(n, uint64(d.times))
	exp := scale - len(d.frac)
	for ; exp > 0; exp-- {
		var carry uint64
		carry, lo = bits.Mul64(lo, 10)
		hi = hi*10 + carry
		if hi > 1<<32 {
			break
		}
	}
	for ; exp < 0; exp++ {
		q, rem := bits.Div64(hi%10, lo, 10)
		if rem != 0 {
			return 0, fmt.Errorf("the maximum has more than %d decimals", scale)
		}
		hi, lo = hi/10, q
	}
	if hi != 0 || lo > limit.MaxUnits {
		return 0, fmt.Errorf("the maximum, counted in units of 10^-%d, is over 2^53", scale)
	}
	return int64(lo), nil
}

// parseUntil reads the end of an override: a day, which is included, in zone,
// or an instant. It returns microseconds since the epoch; the override holds
// before that.
func parseUntil(text string, zone *time.Location) (int64, error) {
	if day, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		next := time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, zone)
		return next.UnixMicro(), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UnixMicro(), nil
	}
	return 0, errors.New(`until is a day such as "2026-12-31" or a time such as "2026-12-31T18:00:00Z"`)
}

// never is the end of an override that has none.
const never = math.MaxInt64
