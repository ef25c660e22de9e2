package rule

import (
	"cmp"
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
	statCount    stat = iota // adds the cost of the event
	statSum                  // adds the value of an attribute
	statDistinct             // counts different values of an attribute
	statInflight             // counts places that are held
	statFailures             // adds the cost of events that failed
	statStreak               // counts the newest in a row that meet a condition
)

// span is the window of a measure. The zero span is that of what is in flight,
// which has none.
type span struct {
	size   int64 // microseconds, or checks
	events bool
	unit   calendarUnit // of the calendar; 0 for none
}

// String returns the span in its canonical form: 60s and 1m are the same.
func (s span) String() string {
	switch {
	case s.events:
		return fmt.Sprintf("%d events", s.size)
	case s.unit != 0:
		return "calendar " + s.unit.String()
	}
	return fmt.Sprintf("%dus", s.size)
}

// sliding reports a window over the last microseconds.
func (s span) sliding() bool { return s.size > 0 && !s.events }

// limitText is a parsed LIMIT: MAX [STAT] [where COND] [per WINDOW].
type limitText struct {
	max   decimal
	stat  stat
	attr  string // of sum(attr) and distinct(attr)
	where string // as written; "" for none
	per   span
}

var (
	reMax      = regexp.MustCompile(`^([0-9]+(?:_[0-9]+)*)(?:\.([0-9]+))?(k|M|G|T|Ki|Mi|Gi|Ti)?$`)
	reFunction = regexp.MustCompile(`^(sum|distinct)\(\s*([^()]*?)\s*\)$`)
	reBareFunc = regexp.MustCompile(`^(sum|distinct)(?:\s+|\s*\(\s*)?([A-Za-z_][A-Za-z0-9_.-]*)?\)?$`)
	reTime     = regexp.MustCompile(`^([0-9]+)(ms|s|m|h|d)$`)
	reCount    = regexp.MustCompile(`^([0-9]+) events$`)
	reName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
)

// parseLimit reads a LIMIT text.
func parseLimit(text string) (limitText, error) {
	var l limitText
	head, per, windowed := cutLast(text, " per ")
	maxText, measure, _ := strings.Cut(strings.TrimSpace(head), " ")
	measure, where, conditional := cutWhere(measure)
	l.where = where
	// What is in flight has no window, so its measure is read first.
	statErr := l.readStat(measure)
	if !windowed && l.stat != statInflight {
		if hint := inLast(text); hint != nil || statErr == nil {
			return l, cmp.Or(hint, errNoWindow)
		}
	}
	var err error
	if l.max, err = parseMax(maxText); err != nil {
		if !windowed {
			err = errNoWindow
		}
		return l, err
	}
	switch {
	case statErr != nil:
		return l, statErr
	case conditional && where == "":
		return l, errors.New("where needs a condition, as in 3 count where links > 0 per 1h")
	case l.stat == statStreak && !conditional:
		return l, fmt.Errorf("a streak needs a condition: say %s streak where failed per 10m", maxText)
	case l.stat != statSum && l.max.point:
		return l, errors.New("a count has no fractions; only a sum has")
	case l.stat == statInflight && windowed:
		return l, fmt.Errorf("what is in flight has no window: say %s inflight, and hold: 2m in the rule for how long a place is kept that is not renewed", maxText)
	case l.stat == statInflight:
		return l, nil
	}
	if l.per, err = parseSpan(strings.TrimSpace(per)); err != nil {
		return l, err
	}
	switch {
	case l.per.events && l.stat == statSum:
		err = errors.New("a sum needs a window of time, such as 1h, not of events")
	case l.per.events && l.stat == statDistinct:
		err = errors.New("a distinct needs a window of time, such as 1h, not of events")
	case l.per.events && (l.stat == statFailures || l.stat == statStreak):
		err = errors.New("the events of a limit are checks, and what failed is known from reports; say a window of time, such as 10m")
	case l.per.events && conditional:
		err = errors.New("a window of events counts every check that the rule meets; put the condition into the rule, as where: links > 0")
	}
	return l, err
}

// condition returns the condition of what is counted; "" for none.
func (l *limitText) condition() string {
	switch {
	case l.stat != statFailures:
		return l.where
	case l.where == "":
		return "failed"
	}
	return "failed and (" + l.where + ")"
}

// reOutcome finds a variable of conditions that is known from reports.
var reOutcome = regexp.MustCompile(`\b(failed|outcome)\b`)

// readsOutcome reports whether a condition may read the outcome.
func readsOutcome(where string) bool { return reOutcome.MatchString(where) }

// cutWhere cuts a measure before the condition.
func cutWhere(measure string) (stat, where string, conditional bool) {
	for i := range measure {
		rest, is := strings.CutPrefix(measure[i:], "where")
		if is && (i == 0 || measure[i-1] == ' ') && (rest == "" || rest[0] == ' ' || rest[0] == '(') {
			return strings.TrimSpace(measure[:i]), strings.TrimSpace(rest), true
		}
	}
	return strings.TrimSpace(measure), "", false
}

// readStat reads the word of a measure, which may be left out.
func (l *limitText) readStat(text string) error {
	switch text {
	case "", "count":
		l.stat = statCount
		return nil
	case "inflight":
		l.stat = statInflight
		return nil
	case "failures":
		l.stat = statFailures
		return nil
	case "streak":
		l.stat = statStreak
		return nil
	}
	m := reFunction.FindStringSubmatch(text)
	if m == nil {
		return unknownMeasure(text)
	}
	if l.stat, l.attr = statSum, m[2]; m[1] == "distinct" {
		l.stat = statDistinct
	}
	if !reName.MatchString(l.attr) {
		return fmt.Errorf("%s takes the name of one attribute, such as %s(%s)", m[1], m[1], map[stat]string{statSum: "bytes", statDistinct: "phone"}[l.stat])
	}
	return nil
}

var errNoWindow = errors.New(`a limit is a maximum and a window, such as "100 per 1m" or "3 per 10 events"`)

// inLast says what to write instead of "3 in last 10 events".
func inLast(text string) error {
	if n, rest, in := strings.Cut(text, " in last "); in && reCount.MatchString(rest) {
		return fmt.Errorf("say %s per %s", n, rest)
	}
	return nil
}

func unknownMeasure(measure string) error {
	if m := reBareFunc.FindStringSubmatch(measure); m != nil && m[2] != "" {
		return fmt.Errorf("say %s(%s): the name of the attribute stands in parentheses", m[1], m[2])
	}
	return fmt.Errorf("unknown measure %q; a limit counts (100 per 1m), sums (10Mi sum(bytes) per 1m), counts different values (5 distinct(phone) per 1h), what is in flight (500 inflight) or what failed (5 failures per 10m, 5 streak where failed per 10m)", measure)
}

// cutLast cuts a text around the last separator that is not in quotes.
func cutLast(s, sep string) (before, after string, ok bool) {
	at := -1
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.HasPrefix(s[i:], sep):
			at = i
		}
	}
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(sep):], true
}

// parseSpan reads a WINDOW: 1000ms, 60s, 5m, 24h, 30d, 100 events, calendar day.
func parseSpan(text string) (span, error) {
	if m := reCount.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil || n < 1 || n > limit.MaxEvents {
			return span{}, fmt.Errorf("a window of events is 1 to %d events", limit.MaxEvents)
		}
		return span{size: n, events: true}, nil
	}
	if m := reCalendar.FindStringSubmatch(text); m != nil {
		return span{unit: calendarUnits[m[1]]}, nil
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
		return firstInstant(day.AddDate(0, 0, 1), zone).UnixMicro(), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UnixMicro(), nil
	}
	return 0, errors.New(`until is a day such as "2026-12-31" or a time such as "2026-12-31T18:00:00Z"`)
}

// never is the end of an override that has none.
const never = math.MaxInt64
