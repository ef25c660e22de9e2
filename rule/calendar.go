package rule

import (
	"sync/atomic"
	"time"
)

// calendarUnit is a kind of period of the calendar.
type calendarUnit uint8

const (
	byHour calendarUnit = iota + 1
	byDay
	byWeek // from Monday
	byMonth
	byYear
)

// calendarUnits are the words for them.
var calendarUnits = map[string]calendarUnit{"hour": byHour, "day": byDay, "week": byWeek, "month": byMonth, "year": byYear}

// String returns the word for it.
func (u calendarUnit) String() string {
	for word, unit := range calendarUnits {
		if unit == u {
			return word
		}
	}
	return ""
}

// calendar tells the periods of a calendar in a time zone. It is a
// limit.Periods.
//
// Days, weeks, months and years begin at the first instant at which a clock on
// the wall shows their first day, or a later one: where clocks are set forward at
// midnight that is not 0:00, and a day that was left out is no period. Where they
// are set back over midnight, the second pass belongs to the new day: a day
// begins once.
//
// Hours begin whenever the clock shows a full hour, and when it is set: an hour
// that comes twice is two periods.
type calendar struct {
	unit calendarUnit
	zone *time.Location
	last atomic.Pointer[period] // the period asked for last
}

// period is start <= t < end, in microseconds since the epoch.
type period struct{ start, end int64 }

// Period implements limit.Periods. It allocates when the period is another than
// that of the call before.
func (c *calendar) Period(now int64) (start, end int64) {
	if p := c.last.Load(); p != nil && p.start <= now && now < p.end {
		return p.start, p.end
	}
	p := c.find(time.UnixMicro(now))
	c.last.Store(p)
	return p.start, p.end
}

func (c *calendar) find(now time.Time) *period {
	if c.unit == byHour {
		return c.hour(now)
	}
	first := c.first(now.In(c.zone))
	for {
		next := c.next(first)
		end := firstInstant(next, c.zone)
		if now.Before(end) {
			return &period{firstInstant(first, c.zone).UnixMicro(), end.UnixMicro()}
		}
		first = next // clocks were set back over the end of the period
	}
}

// first returns the first day of the period that a day lies in. Days are given as
// 0:00 UTC.
func (c *calendar) first(t time.Time) time.Time {
	y, m, d := t.Date()
	switch c.unit {
	case byWeek:
		d -= (int(t.Weekday()) + 6) % 7
	case byMonth:
		d = 1
	case byYear:
		m, d = time.January, 1
	}
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// next returns the first day of the period after.
func (c *calendar) next(first time.Time) time.Time {
	switch c.unit {
	case byWeek:
		return first.AddDate(0, 0, 7)
	case byMonth:
		return first.AddDate(0, 1, 0)
	case byYear:
		return first.AddDate(1, 0, 0)
	}
	return first.AddDate(0, 0, 1)
}

// firstInstant returns the first instant at which clocks in zone show the time of
// wall, which is given as UTC, or a later one.
func firstInstant(wall time.Time, zone *time.Location) time.Time {
	// No clock is more than 24 hours from UTC, and none jumps by more.
	t := wall.Add(-50 * time.Hour).In(zone)
	for {
		_, offset := t.Zone()
		at := wall.Add(-time.Duration(offset) * time.Second)
		if at.Before(t) {
			at = t // the clock jumped over it
		}
		_, changed := t.ZoneBounds()
		if changed.IsZero() || at.Before(changed) {
			return at
		}
		t = changed
	}
}

// hour returns the hour of the clock that now lies in.
func (c *calendar) hour(now time.Time) *period {
	const hour = int64(time.Hour / time.Microsecond)
	now = now.In(c.zone)
	_, seconds := now.Zone()
	offset := int64(seconds) * 1e6
	wall := now.UnixMicro() + offset
	into := wall % hour
	if into < 0 {
		into += hour
	}
	p := &period{start: wall - into - offset, end: wall - into + hour - offset}
	set, reset := now.ZoneBounds()
	if !set.IsZero() && isSet(set) {
		p.start = max(p.start, set.UnixMicro())
	}
	if !reset.IsZero() && isSet(reset) {
		p.end = min(p.end, reset.UnixMicro())
	}
	return p
}

// isSet reports whether clocks are set at an instant at which something about
// the zone changes, which may be its name only.
func isSet(at time.Time) bool {
	_, before := at.Add(-time.Microsecond).Zone()
	_, after := at.Zone()
	return before != after
}
