package rule

import (
	"testing"
	"time"
)

// calendarZones are zones whose clocks are set in every way there is: at midnight,
// over it, by half an hour, by two hours, over a day, at one minute past.
var calendarZones = []string{
	"UTC", "Asia/Shanghai", "Asia/Kathmandu", "Europe/Berlin", "America/New_York", "America/St_Johns", "America/Sao_Paulo",
	"America/Havana", "America/Asuncion", "America/Scoresbysund", "Asia/Beirut", "Asia/Amman", "Asia/Gaza", "Asia/Tehran",
	"Africa/Cairo", "Africa/Casablanca", "Atlantic/Azores", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Chatham", "Antarctica/Troll",
}

// quarter is the step in which the oracle looks at the clock: all offsets of the
// last decades, and all midnights, are a multiple of it.
const quarter = 15 * time.Minute

// dates tell the periods of days and longer apart: by a number that grows.
var dates = map[calendarUnit]func(day time.Time) int{
	byDay:   func(day time.Time) int { return day.Year()*1000 + day.YearDay() },
	byMonth: func(day time.Time) int { return day.Year()*100 + int(day.Month()) },
	byYear:  func(day time.Time) int { return day.Year() },
	byWeek: func(day time.Time) int {
		for day.Weekday() != time.Monday {
			day = day.AddDate(0, 0, -1)
		}
		return day.Year()*1000 + day.YearDay()
	},
}

// oracle returns the instants from 1995 to 2026 at which periods begin, by looking
// at the clock on the wall every quarter of an hour: when its date is of a later
// period than any before, and when it shows a full hour or was set.
func oracle(zone *time.Location) map[calendarUnit][]int64 {
	all := map[calendarUnit][]int64{}
	latest := map[calendarUnit]int{}
	var day time.Time
	t := time.Date(1994, 12, 30, 0, 0, 0, 0, time.UTC)
	_, offset := t.In(zone).Zone()
	for end := time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC); t.Before(end); t = t.Add(quarter) {
		_, seconds := t.In(zone).Zone()
		if seconds != offset {
			offset = seconds
			if at := setAt(t, zone); !at.Equal(t) || !onTheHour(t, offset) {
				all[byHour] = append(all[byHour], at.UnixMicro())
			}
		}
		wall := t.Add(time.Duration(offset) * time.Second)
		if onTheHour(t, offset) {
			all[byHour] = append(all[byHour], t.UnixMicro())
		}
		if date := wall.Truncate(24 * time.Hour); date != day {
			day = date
			for unit, number := range dates {
				if n := number(date); n > latest[unit] {
					latest[unit] = n
					all[unit] = append(all[unit], t.UnixMicro())
				}
			}
		}
	}
	for unit := range dates {
		all[unit] = all[unit][1:] // the first is only where it began to look
	}
	return all
}

func onTheHour(t time.Time, offset int) bool { return (t.Unix()+int64(offset))%3600 == 0 }

// setAt returns the minute at which the clock was set that t is the first step
// after.
func setAt(t time.Time, zone *time.Location) time.Time {
	_, now := t.In(zone).Zone()
	for {
		before := t.Add(-time.Minute)
		if _, offset := before.In(zone).Zone(); offset != now {
			return t
		}
		t = before
	}
}

// TestCalendar holds the periods of every kind against the zone database, over 30
// years: each begins and ends where the clock on the wall says.
func TestCalendar(t *testing.T) {
	t.Parallel()
	for _, name := range calendarZones {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
			for unit, want := range oracle(zone) {
				checkPeriods(t, &calendar{unit: unit, zone: zone}, want)
			}
		})
	}
}

func checkPeriods(t *testing.T, c *calendar, want []int64) {
	t.Helper()
	wrong := 0
	for i := range len(want) - 1 {
		from, to := want[i], want[i+1]
		for _, now := range []int64{from, to - 1, from + (to-from)/2} {
			if start, end := c.Period(now); (start != from || end != to) && wrong < 5 {
				wrong++
				t.Errorf("%v at %v: %v to %v, want %v to %v", c.unit, at(now, c), at(start, c), at(end, c), at(from, c), at(to, c))
			}
		}
	}
	if len(want) < 30 {
		t.Errorf("%v: only %d periods", c.unit, len(want))
	}
}

func at(us int64, c *calendar) string { return time.UnixMicro(us).In(c.zone).Format(time.RFC3339) }

// TestCalendarDays names the days that are not like others.
func TestCalendarDays(t *testing.T) {
	for _, c := range []struct {
		zone, at   string
		unit       calendarUnit
		start, end string
	}{
		{"Europe/Berlin", "2026-03-29T12:00:00Z", byDay, "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},          // 23 hours
		{"Europe/Berlin", "2026-10-25T12:00:00Z", byDay, "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},          // 25 hours
		{"Europe/Berlin", "2026-10-25T00:30:00Z", byHour, "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"},         // 2 o'clock, the first
		{"Europe/Berlin", "2026-10-25T01:30:00Z", byHour, "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"},         // and again
		{"America/Sao_Paulo", "2017-10-15T12:00:00Z", byDay, "2017-10-15T03:00:00Z", "2017-10-16T02:00:00Z"},      // no midnight
		{"Pacific/Apia", "2011-12-30T11:00:00Z", byDay, "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},           // the 31st follows the 29th
		{"Pacific/Apia", "2011-12-30T09:59:59Z", byDay, "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},           // which ends there
		{"America/St_Johns", "2010-11-07T02:45:00Z", byDay, "2010-11-07T02:30:00Z", "2010-11-08T03:30:00Z"},       // 0:01 is 23:01 again
		{"Australia/Lord_Howe", "2026-04-04T15:10:00Z", byHour, "2026-04-04T15:00:00Z", "2026-04-04T15:30:00Z"},   // half an hour twice
		{"UTC", "2028-02-29T12:00:00Z", byMonth, "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},                  // a leap day
		{"UTC", "2026-01-31T23:59:59.999999Z", byMonth, "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"},           // the end of a month
		{"UTC", "2027-01-03T23:59:59Z", byWeek, "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z"},                   // Sunday is the last day
		{"UTC", "2100-02-28T12:00:00Z", byYear, "2100-01-01T00:00:00Z", "2101-01-01T00:00:00Z"},                   // no leap year
		{"Asia/Shanghai", "2026-01-01T15:59:59.999999Z", byDay, "2025-12-31T16:00:00Z", "2026-01-01T16:00:00Z"},   // until midnight there
		{"Asia/Shanghai", "1969-12-31T15:59:59.999999Z", byMonth, "1969-11-30T16:00:00Z", "1969-12-31T16:00:00Z"}, // before the epoch
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339Nano, c.at)
		if err != nil {
			t.Fatal(err)
		}
		start, end := (&calendar{unit: c.unit, zone: zone}).Period(now.UnixMicro())
		if got := time.UnixMicro(start).UTC().Format(time.RFC3339) + " " + time.UnixMicro(end).UTC().Format(time.RFC3339); got != c.start+" "+c.end {
			t.Errorf("%v of %s in %s: %s, want %s %s", c.unit, c.at, c.zone, got, c.start, c.end)
		}
	}
}
