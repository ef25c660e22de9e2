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

	// Measures of the grammar that are not there yet.
	reUnbuilt = regexp.MustCompile(`^\S+ +((?:inflight|failures|streak|distinct)\b.*)$`)
)

// parseLimit reads a LIMIT text.
func parseLimit(text string) (limitText, error) {
	var l limitText
	head, per, ok := cutLast(text, " per ")
	if !ok {
		return l, noWindow(text)
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
		return l, unknownMeasure(measure)
	}
	if l.stat == statCount && l.max.point {
		return l, errors.New("a count has no fractions; only a sum has")
	}
	l.per, err = parseSpan(strings.TrimSpace(per))
	if err == nil && l.per.events && l.stat == statSum {
		err = errors.New("a sum needs a window of time, such as 1h, not of events")
	}
	return l, err
}

// noWindow says what is wrong with a text that has no " per ".
func noWindow(text string) error {
	if n, rest, in := strings.Cut(text, " in last "); in && reCount.MatchString(rest) {
		return fmt.Errorf("say %s per %s", n, rest)
	}
	if m := reUnbuilt.FindStringSubmatch(text); m != nil {
		return unknownMeasure(m[1])
	}
	return errors.New(`a limit is a maximum and a window, such as "100 per 1m" or "3 per 10 events"`)
}

func unknownMeasure(measure string) error {
	return fmt.Errorf("unknown measure %q; a limit counts (100 per 1m) or sums (10Mi sum(bytes) per 1m)", measure)
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
		return span{}, fmt.Errorf("window %q: %s", clip(text), windowAdvice(text))
	}
	unit := unitOf(m[2])
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n < 1 || n > limit.MaxSize/unit || n*unit < limit.MinSize {
		return span{}, fmt.Errorf("window %q: a window is 1ms to 400d", clip(text))
	}
	return span{size: n * unit}, nil
}

// unitOf returns a unit of time in microseconds.
func unitOf(name string) int64 {
	switch name {
	case "ms":
		return 1e3
	case "s":
		return 1e6
	case "m":
		return 60e6
	case "h":
		return 3600e6
	}
	return 24 * 3600e6
}

// decimal is an exact number that is 0 or more: digits with a fraction, times
// a power.
type decimal struct {
	whole, frac string // digits, without zeros at the end of frac
	point       bool   // a point was written
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
	return decimal{whole: strings.ReplaceAll(m[1], "_", ""), frac: strings.TrimRight(m[2], "0"), point: m[2] != "", times: times}, nil
}

// scaled returns d in units of 10^-scale. It is exact or an error.
func (d decimal) scaled(scale int) (int64, error) {
	if len(d.frac) > maxScale { // so are all further decimals
		return 0, fmt.Errorf("the maximum has more than %d decimals", scale)
	}
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
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return endOfDay(day, zone).UnixMicro(), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UnixMicro(), nil
	}
	return 0, errors.New(`until is a day such as "2026-12-31" or a time such as "2026-12-31T18:00:00Z"`)
}

// endOfDay returns the first instant of the day after in zone. Where clocks are
// changed at midnight that is not always the one called 0:00.
func endOfDay(day time.Time, zone *time.Location) time.Time {
	y, m, d := day.Date()
	midnight := time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC) // as clocks show it
	at := time.Date(y, m, d, 12, 0, 0, 0, zone)
	for {
		_, offset := at.Zone()
		end := midnight.Add(-time.Duration(offset) * time.Second)
		if end.Before(at) {
			end = at
		}
		_, changed := at.ZoneBounds()
		if changed.IsZero() || end.Before(changed) {
			return end
		}
		at = changed
	}
}

// never is the end of an override that has none.
const never = math.MaxInt64
