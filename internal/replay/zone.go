package replay

import (
	"fmt"
	"math"
	"time"
)

const (
	// repeatedAfter is by how many microseconds an hour that clocks show twice
	// must lie behind the newest time to be taken for its second pass.
	repeatedAfter = 30 * 60 * microsPerSecond
	// newYearAfter is by how many seconds a time without a year must step back
	// for a year to have gone by, and lateOverNewYear how late one of the old
	// year may come.
	newYearAfter    = 180 * secondsPerDay
	lateOverNewYear = 7 * secondsPerDay
	// almanacYear is a year of twelve months of 31 days, in which every time
	// without a year has its place, in seconds.
	almanacYear = 12 * 31 * secondsPerDay
	// maxAhead is how far the clock of a log may be ahead of this machine's.
	maxAhead = 24 * time.Hour
)

// wallClock reads the times of one log. What a time does not say, its zone or
// its year, follows from the clock that wrote the log. A nil wallClock shows
// UTC and knows no year.
type wallClock struct {
	zone *time.Location // nil means UTC
	now  func() time.Time
	// newest is the newest time so far, in microseconds.
	newest int64

	// given is the year of the first time without one, 0 where it must be
	// derived; ahead looks at the whole log for that, and is nil where it can be
	// read only once.
	given int
	ahead func() yearSpan
	// looking: this clock is the one that looks ahead.
	looking bool

	// firstYear is the year of the first time without one, 0 before it; span is
	// what was seen since.
	firstYear int
	span      yearSpan
}

// yearSpan is what is known of the times without a year of a log: the newest,
// as its place in the almanac and how many years after the first it lies, and
// how many years after the first there was a leap day, or -1.
type yearSpan struct {
	years, place, leap int
}

func newWallClock(opt *Options) *wallClock {
	return &wallClock{zone: opt.Zone, now: opt.Now, given: opt.Year, looking: opt.looking, newest: math.MinInt64, span: yearSpan{leap: -1}}
}

// parse reads a time in any of the ways of [TimeKind].
func (c *wallClock) parse(s string) (int64, TimeKind, error) {
	if len(s) >= stampLen && monthNumber(s[:3]) > 0 {
		return c.parseStamp(s)
	}
	micros, kind, err := parseTime(s)
	if err == nil && kind == KindDateTime {
		if micros = c.local(micros); micros < 0 || micros > maxMicros {
			err = outOfRange(s)
		}
	}
	return micros, kind, err
}

// local returns the instant at which clocks show micros, which counts as if
// they showed UTC.
//
// Of an hour that is shown twice, as clocks are set back, the first is taken,
// unless it lies more than half an hour behind the newest time: then it is the
// second. A time that is not shown at all, because clocks were set forward over
// it, is read as if they had not been.
func (c *wallClock) local(micros int64) int64 {
	if c == nil || c.zone == nil || c.zone == time.UTC {
		return micros
	}
	const west, east = 15 * 3600, 13 * 3600 // further than any offset
	shown := floorSeconds(micros)
	before, after := offsetAt(c.zone, shown-west), offsetAt(c.zone, shown+east)
	at := micros - before*microsPerSecond
	if before != after && offsetAt(c.zone, shown-after) == after {
		second := micros - after*microsPerSecond
		shownTwice := offsetAt(c.zone, shown-before) == before
		if !shownTwice || c.newest > at+repeatedAfter {
			at = second
		}
	}
	c.newest = max(c.newest, at)
	return at
}

// offsetAt returns by how many seconds clocks of a zone are ahead of UTC at an
// instant.
func offsetAt(zone *time.Location, seconds int64) int64 {
	_, offset := time.Unix(seconds, 0).In(zone).Zone()
	return int64(offset)
}

func floorSeconds(micros int64) int64 {
	seconds := micros / microsPerSecond
	if micros%microsPerSecond < 0 {
		seconds--
	}
	return seconds
}

// The years in which a log may begin.
const (
	MinYear = 1970
	MaxYear = 2261
)

// assume notes what the times of the file do not say.
func (f *File) assume(c *wallClock) {
	if f.Times != KindDateTime && f.Times != KindStamp {
		return
	}
	f.Zone = "UTC"
	if c.zone != nil {
		f.Zone = c.zone.String()
	}
	if f.Times == KindStamp {
		f.Year, f.Derived = c.firstYear, c.given == 0
	}
}

// stampLen is the length of Jan _2 15:04:05.
const stampLen = 15

// almanac is a time without a year.
type almanac struct {
	month, day, clock int
	micros            int64
}

// place returns the place in the almanac.
func (a almanac) place() int { return ((a.month-1)*31+a.day-1)*secondsPerDay + a.clock }

// splitStamp reads Jan _2 15:04:05, perhaps with a fraction.
func splitStamp(s string) (a almanac, ok bool) {
	if len(s) < stampLen || s[3] != ' ' || s[6] != ' ' {
		return a, false
	}
	a.month = monthNumber(s[:3])
	if s[4] == ' ' {
		a.day, ok = digits(s, 5, 1)
	} else {
		a.day, ok = digits(s, 4, 2)
	}
	clock, clockOK := clockSeconds(s[7:stampLen])
	a.clock = clock
	if rest := s[stampLen:]; rest != "" {
		if rest[0] != '.' || !allDigits(rest[1:]) {
			return a, false
		}
		a.micros = fractionDigits(rest[1:], 6)
	}
	const leapYear = 2000
	return a, ok && clockOK && validDate(leapYear, a.month, a.day)
}

// parseStamp reads a time without a year and a zone.
func (c *wallClock) parseStamp(s string) (int64, TimeKind, error) {
	a, ok := splitStamp(s)
	if !ok || c == nil {
		return 0, KindNone, notATime(s)
	}
	c.begin(a)
	year := c.firstYear + c.follow(a)
	if c.looking {
		return 0, KindStamp, nil
	}
	if !validDate(year, a.month, a.day) {
		return 0, KindNone, fmt.Errorf("there is no Feb 29 in %d; say with --year in which year the log begins", year)
	}
	micros := c.local((daysSince1970(year, a.month, a.day)*secondsPerDay+int64(a.clock))*microsPerSecond + a.micros)
	if micros < 0 || micros > maxMicros {
		return 0, KindNone, outOfRange(s)
	}
	if c.given == 0 && micros > c.latest() {
		return 0, KindNone, &fatalError{fmt.Errorf("%s lies in the future if the log begins in %d, as its first line let assume; say --year %d",
			printable(s, stampLen), c.firstYear, c.firstYear-1)}
	}
	return micros, KindStamp, nil
}

// fatalError is an error of one line that ends the reading of all.
type fatalError struct{ error }

// Unwrap returns the error.
func (e *fatalError) Unwrap() error { return e.error }

// latest is the instant that no derived time may lie behind.
func (c *wallClock) latest() int64 { return c.now().Add(maxAhead).UnixMicro() }

// begin finds the year of the first time without one.
func (c *wallClock) begin(first almanac) {
	if c.firstYear != 0 {
		return
	}
	c.span.place = first.place()
	switch {
	case c.looking:
		c.firstYear = 2000
	case c.given != 0:
		c.firstYear = c.given
	default:
		span := yearSpan{place: first.place(), leap: -1}
		if c.ahead != nil {
			span = c.ahead()
		} else if first.month == 2 && first.day == 29 {
			span.leap = 0
		}
		c.firstYear = c.derive(span)
	}
}

// derive returns the last year in which a log can have begun that does not end
// in the future.
func (c *wallClock) derive(span yearSpan) int {
	day := span.place / secondsPerDay
	month, dayOfMonth, clock := day/31+1, day%31+1, span.place%secondsPerDay
	latest := c.latest()
	for year := c.now().UTC().Year() + 1 - span.years; year > MinYear; year-- {
		if span.leap >= 0 && !validDate(year+span.leap, 2, 29) {
			continue
		}
		end := c.zoned().local((daysSince1970(year+span.years, month, dayOfMonth)*secondsPerDay + int64(clock)) * microsPerSecond)
		if end <= latest {
			return year
		}
	}
	return MinYear
}

// zoned returns a clock of the same zone that has read nothing.
func (c *wallClock) zoned() *wallClock { return &wallClock{zone: c.zone, newest: math.MinInt64} }

// follow returns how many years after the first a lies. A step back by half a
// year or more is a new year; a step forward that a late event of the old year
// explains better is one.
func (c *wallClock) follow(a almanac) int {
	place, years := a.place(), c.span.years
	switch {
	case place < c.span.place-newYearAfter:
		c.span.years++
		years, c.span.place = c.span.years, place
	case place-almanacYear >= c.span.place-lateOverNewYear:
		years--
	default:
		c.span.place = max(c.span.place, place)
	}
	if a.month == 2 && a.day == 29 && c.span.leap < 0 {
		c.span.leap = years
	}
	return years
}
