package rule

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/limit"
)

var (
	reWord     = regexp.MustCompile(`^([0-9]*) ?(second|sec|minute|min|hour|hr|day|week|w|month|year)s?$`)
	reCalendar = regexp.MustCompile(`^calendar (hour|day|week|month|year)$`)
	reBare     = regexp.MustCompile(`^[0-9]+$`)
	reUnit     = regexp.MustCompile(`^([0-9]+) *([A-Za-z]+)$`)
	reChecks   = regexp.MustCompile(`^([0-9_]+) *events?$`)
	reSeveral  = regexp.MustCompile(`^([0-9]+(ms|s|m|h|d))+$`)
	rePart     = regexp.MustCompile(`([0-9]+)(ms|s|m|h|d)`)
	reFraction = regexp.MustCompile(`^([0-9]*)\.([0-9]+)(ms|s|m|h|d)$`)
)

const theUnits = "the units are ms s m h d"

// windowAdvice says what to write instead of a window that is not one.
func windowAdvice(text string) string {
	if m := reWord.FindStringSubmatch(text); m != nil {
		return wordAdvice(m[1], m[2])
	}
	if m := reChecks.FindStringSubmatch(text); m != nil {
		return "say " + strings.ReplaceAll(m[1], "_", "") + " events"
	}
	if m := reUnit.FindStringSubmatch(text); m != nil {
		return unitAdvice(m[1], m[2])
	}
	switch {
	case reBare.MatchString(text):
		return fmt.Sprintf("a window needs a unit: say %ss for seconds; %s", text, theUnits)
	case reSeveral.MatchString(text):
		return "a duration is one number and one unit" + sayDuration(several(text), text)
	case reFraction.MatchString(text):
		return "a duration is a whole number" + sayDuration(fraction(text), text)
	}
	return `a window is a duration such as 60s or 24h, a number of events such as "100 events", or a period such as "calendar day"`
}

// wordAdvice is for 5 minutes, day or 1w.
func wordAdvice(n, word string) string {
	say, calendar := inUnits(n, word)
	if calendar == "" || n != "" && n != "1" {
		return "say " + say
	}
	return fmt.Sprintf("say %s (sliding) or calendar %s", say, calendar)
}

// inUnits returns n of a word in units of a window, and its name as a period of
// the calendar, if it is one.
func inUnits(n, word string) (say, calendar string) {
	times := func(k int64) string {
		count, err := strconv.ParseInt(n, 10, 32)
		if err != nil { // too large for any window
			count = 1
		}
		return strconv.FormatInt(count*k, 10) + "d"
	}
	if n == "" {
		n = "1"
	}
	switch word {
	case "second", "sec":
		return n + "s", ""
	case "minute", "min":
		return n + "m", ""
	case "hour", "hr":
		return n + "h", "hour"
	case "day":
		if n == "1" {
			return "24h", "day"
		}
		return n + "d", "day"
	case "week", "w":
		return times(7), "week"
	case "month":
		return times(30), "month"
	default:
		return times(365), "year"
	}
}

// unitAdvice is for a number and letters that are no unit, or not quite.
func unitAdvice(n, letters string) string {
	lower := strings.ToLower(letters)
	switch {
	case letters == "M" && n == "1":
		return "M is no unit: say 1m for a minute or 30d for a month"
	case letters == "M":
		return fmt.Sprintf("M is no unit: say %sm for minutes, or days for months", n)
	case !reTime.MatchString("1" + lower):
		return fmt.Sprintf("%q is no unit; %s", letters, theUnits)
	case lower != letters:
		return fmt.Sprintf("units are lower case: say %s%s; %s", n, lower, theUnits)
	default:
		return fmt.Sprintf("say %s%s, without a space", n, letters)
	}
}

// sayDuration writes a number of microseconds as a window, if it can be one.
func sayDuration(us int64, instead string) string {
	for _, unit := range []string{"d", "h", "m", "s", "ms"} {
		if n := unitOf(unit); us > 0 && us%n == 0 {
			return fmt.Sprintf(": say %d%s, not %s", us/n, unit, instead)
		}
	}
	return ", such as 90m"
}

// several adds up 1h30m; 0 if it is too large.
func several(text string) (us int64) {
	for _, m := range rePart.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil || n > limit.MaxSize/unitOf(m[2]) {
			return 0
		}
		if us += n * unitOf(m[2]); us > limit.MaxSize {
			return 0
		}
	}
	return us
}

// fraction reads 1.5h; 0 if it is no whole number of microseconds.
func fraction(text string) int64 {
	m := reFraction.FindStringSubmatch(text)
	d := decimal{whole: m[1], frac: strings.TrimRight(m[2], "0"), times: unitOf(m[3])}
	n, err := d.scaled(0)
	if err != nil {
		return 0
	}
	return n
}
