package replay

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// clockAt returns a clock of this machine that stands still.
func clockAt(t testing.TB, text string) func() time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return func() time.Time { return at }
}

// Times without a zone are those that clocks of a zone show. Of an hour that is
// shown twice the first is meant, and of one that is skipped what would have been
// shown.
func TestZones(t *testing.T) {
	for _, c := range []struct{ zone, shown, want string }{
		{"UTC", "2026-03-01 10:00:00", "2026-03-01T10:00:00Z"},
		{"Asia/Shanghai", "2026-03-01 10:00:00.5", "2026-03-01T02:00:00.5Z"},
		{"America/New_York", "2026-07-01 10:00:00", "2026-07-01T14:00:00Z"},
		{"America/New_York", "2026-01-01 10:00:00", "2026-01-01T15:00:00Z"},
		{"Pacific/Kiritimati", "2026-01-01 10:00:00", "2025-12-31T20:00:00Z"}, // 14 hours ahead
		{"Etc/GMT+12", "2026-01-01 10:00:00", "2026-01-01T22:00:00Z"},
		// Berlin skips 02:00 to 03:00 on 2026-03-29.
		{"Europe/Berlin", "2026-03-29 01:59:59", "2026-03-29T00:59:59Z"},
		{"Europe/Berlin", "2026-03-29 02:00:00", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "2026-03-29 02:30:00", "2026-03-29T01:30:00Z"},
		{"Europe/Berlin", "2026-03-29 03:00:00", "2026-03-29T01:00:00Z"},
		// It shows 02:00 to 03:00 twice on 2026-10-25.
		{"Europe/Berlin", "2026-10-25 01:59:59", "2026-10-24T23:59:59Z"},
		{"Europe/Berlin", "2026-10-25 02:00:00", "2026-10-25T00:00:00Z"},
		{"Europe/Berlin", "2026-10-25 02:59:59", "2026-10-25T00:59:59Z"},
		{"Europe/Berlin", "2026-10-25 03:00:00", "2026-10-25T02:00:00Z"},
		// Lord Howe moves its clocks by half an hour only.
		{"Australia/Lord_Howe", "2026-04-05 01:45:00", "2026-04-04T14:45:00Z"},
		{"Australia/Lord_Howe", "2026-10-04 02:15:00", "2026-10-03T15:45:00Z"},
		// Samoa left out a whole day.
		{"Pacific/Apia", "2011-12-31 00:00:00", "2011-12-30T10:00:00Z"},
	} {
		clock := newWallClock(&Options{Zone: zone(t, c.zone)})
		if got, kind, err := clock.parse(c.shown); err != nil || kind != KindDateTime || got != micro(t, c.want) {
			t.Errorf("%s in %s is %s, %s, %v; want %s", c.shown, c.zone, time.UnixMicro(got).UTC().Format(time.RFC3339Nano), kind, err, c.want)
		}
	}
}

// Every instant is found again from what clocks show at it, in order, as a log
// has it.
func TestZonesRunThrough(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/Sao_Paulo", "Australia/Sydney", "Asia/Tehran", "Africa/Casablanca"} {
		z := zone(t, name)
		clock := newWallClock(&Options{Zone: z})
		from := time.Date(2018, 1, 1, 0, 0, 0, 0, time.UTC)
		for at := from; at.Year() < 2020; at = at.Add(7 * time.Minute) {
			shown := at.In(z).Format(time.DateTime)
			if got, _, err := clock.parse(shown); got != at.UnixMicro() || err != nil {
				t.Fatalf("%s in %s is %s, %v; want %s", shown, name, time.UnixMicro(got).UTC(), err, at)
			}
		}
	}
}

// In an hour that is shown twice, an event that is a little late is still one of
// the first pass.
func TestZonesLateInRepeatedHour(t *testing.T) {
	clock := newWallClock(&Options{Zone: zone(t, "Europe/Berlin")})
	for _, c := range []struct{ shown, want string }{
		{"2026-10-25 02:40:00", "2026-10-25T00:40:00Z"},
		{"2026-10-25 02:15:00", "2026-10-25T00:15:00Z"}, // 25 minutes late
		{"2026-10-25 02:59:00", "2026-10-25T00:59:00Z"},
		{"2026-10-25 02:01:00", "2026-10-25T01:01:00Z"}, // the second pass
		{"2026-10-25 02:00:30", "2026-10-25T01:00:30Z"},
		{"2026-10-25 02:25:00", "2026-10-25T01:25:00Z"},
		{"2026-10-25 02:50:00", "2026-10-25T01:50:00Z"},
		{"2026-10-25 02:59:30", "2026-10-25T01:59:30Z"},
	} {
		if got, _, err := clock.parse(c.shown); got != micro(t, c.want) || err != nil {
			t.Errorf("%s is %s, %v; want %s", c.shown, time.UnixMicro(got).UTC(), err, c.want)
		}
	}
}

// A zone moves no time out of range without an error.
func TestZonesAtTheEnds(t *testing.T) {
	for name, shown := range map[string]string{"Asia/Shanghai": "1970-01-01 07:59:59", "America/New_York": "2262-04-11 23:00:00"} {
		clock := newWallClock(&Options{Zone: zone(t, name)})
		if got, _, err := clock.parse(shown); err == nil || !strings.Contains(err.Error(), "outside 1970 to 2262") {
			t.Errorf("%s in %s: %d, %v", shown, name, got, err)
		}
	}
}

func TestStamps(t *testing.T) {
	for text, want := range map[string]string{
		"Nov 30 21:00:01":        "2026-11-30T21:00:01Z",
		"Nov  3 21:00:01":        "2026-11-03T21:00:01Z",
		"Nov 03 21:00:01.250001": "2026-11-03T21:00:01.250001Z",
		"Jan  1 00:00:00":        "2026-01-01T00:00:00Z",
		"Dec 31 23:59:60":        "2027-01-01T00:00:00Z",
	} {
		clock := newWallClock(&Options{Year: 2026})
		if got, kind, err := clock.parse(text); err != nil || kind != KindStamp || got != micro(t, want) {
			t.Errorf("%s is %s, %s, %v; want %s", text, time.UnixMicro(got).UTC(), kind, err, want)
		}
	}
	for _, text := range []string{
		"Nov 31 21:00:01", "Nov 0 21:00:01", "Nov  0 21:00:01", "Feb 30 00:00:00", "Nov 30 24:00:00", "Nov 30 21:00", "Nov-30 21:00:01", "Nov 30-21:00:01", "nov 30 21:00:01",
		"Nov 30 21:00:01.", "Nov 30 21:00:01,5", "Nov 30 21:00:01 ", "Nov a0 21:00:01", "Nov 30 21:00:01.x", "Nov",
	} {
		clock := newWallClock(&Options{Year: 2026})
		if got, _, err := clock.parse(text); err == nil || !strings.Contains(err.Error(), "is not a time") {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	var none *wallClock
	if _, _, err := none.parse("Nov 30 21:00:01"); err == nil {
		t.Error("a clock that knows no year reads a time without one")
	}
	clock := newWallClock(&Options{Year: 2026})
	if _, _, err := clock.parse("Feb 29 00:00:00"); err == nil || !strings.Contains(err.Error(), "there is no Feb 29 in 2026; say with --year") {
		t.Errorf("got %v", err)
	}
}

// Where a log crosses New Year the next year begins; a late event of the old one
// stays in it.
func TestYearsGoOn(t *testing.T) {
	clock := newWallClock(&Options{Year: 2024})
	for _, c := range []struct{ text, want string }{
		{"Dec 30 10:00:00", "2024-12-30T10:00:00Z"},
		{"Dec 31 23:59:59", "2024-12-31T23:59:59Z"},
		{"Jan  1 00:00:00", "2025-01-01T00:00:00Z"},
		{"Dec 31 23:59:58", "2024-12-31T23:59:58Z"}, // late
		{"Jan  1 00:00:02", "2025-01-01T00:00:02Z"},
		{"Jun 15 00:00:00", "2025-06-15T00:00:00Z"},
		{"Mar  1 00:00:00", "2025-03-01T00:00:00Z"}, // late by months, not a new year
		{"Dec 31 00:00:00", "2025-12-31T00:00:00Z"},
		{"Feb  2 00:00:00", "2026-02-02T00:00:00Z"}, // a month was silent
		{"Dec 31 00:00:00", "2026-12-31T00:00:00Z"},
		{"Jan  5 00:00:00", "2027-01-05T00:00:00Z"},
		{"Dec 29 00:00:00", "2026-12-29T00:00:00Z"}, // a week late at most
		{"Dec 29 00:00:00", "2026-12-29T00:00:00Z"},
		{"Dec 27 00:00:00", "2027-12-27T00:00:00Z"},
		{"Feb 29 12:00:00", "2028-02-29T12:00:00Z"},
	} {
		if got, _, err := clock.parse(c.text); err != nil || got != micro(t, c.want) {
			t.Fatalf("%s is %s, %v; want %s", c.text, time.UnixMicro(got).UTC(), err, c.want)
		}
	}
}

// stamped returns lines of syslog at these times.
func stamped(times ...string) string {
	var b strings.Builder
	for _, at := range times {
		fmt.Fprintf(&b, "%s host app[1]: text\n", at)
	}
	return b.String()
}

// The year is derived so that the log does not end in the future: of a file from
// all of it, of what can be read once from its first line.
func TestYearsDerived(t *testing.T) {
	now := clockAt(t, "2026-11-30T12:00:00Z")
	for _, c := range []struct {
		name  string
		times []string
		file  string // when it begins, of a file
		once  string // of what is read once, or the error
	}{
		{"today", []string{"Nov 30 11:00:00", "Nov 30 12:00:00"}, "2026-11-30", "2026-11-30"},
		{"a clock that is ahead", []string{"Dec  1 11:00:00"}, "2026-12-01", "2026-12-01"},
		{"tomorrow", []string{"Dec  1 13:00:00"}, "2025-12-01", "2025-12-01"},
		{"this year", []string{"Jan  1 00:00:00", "Oct  1 00:00:00"}, "2026-01-01", "2026-01-01"},
		{"over New Year", []string{"Dec 20 00:00:00", "Jan  3 00:00:00"}, "2025-12-20", "2025-12-20"},
		{"over New Year, begun at this time of the year", []string{"Nov  1 00:00:00", "Jan  3 00:00:00"}, "2025-11-01", `stdin:2: "Jan  3 00:00:00" lies in the future if the log begins in 2026, as its first line let assume; say --year 2025`},
		{"into December", []string{"Nov  1 00:00:00", "Dec  3 00:00:00"}, "2025-11-01", `stdin:2: "Dec  3 00:00:00" lies in the future`},
		{"two years", []string{"Nov  1 00:00:00", "Jan  3 00:00:00", "Nov 30 00:00:00", "Jan  1 00:00:00"}, "2024-11-01", "stdin:2: "},
		{"a leap day", []string{"Feb 29 00:00:00"}, "2024-02-29", "2024-02-29"},
		{"a leap day in the second year", []string{"Dec  5 00:00:00", "Feb 28 00:00:00", "Feb 29 00:00:00"}, "2023-12-05", ""},
	} {
		data := stamped(c.times...)
		for _, text := range [][]byte{[]byte(data), compressed(t, []byte(data))} {
			r, err := Open([]string{logFile(t, "a.log", text)}, nil, Options{Now: now})
			if err != nil {
				t.Fatal(err)
			}
			rec, err := r.Next()
			if err != nil || rec.Event.Time.Format(time.DateOnly) != c.file {
				t.Errorf("%s: a file begins on %v, %v; want %s", c.name, rec, err, c.file)
			}
			if n := 1 + drain(t, r); n != len(c.times) {
				t.Errorf("%s: %d events", c.name, n)
			}
			if f := r.Files()[0]; !f.Derived || f.Year != rec.Event.Time.Year()-yearsSince(c.file, rec.Event.Time) || f.Zone != "UTC" {
				t.Errorf("%s: %+v", c.name, f)
			}
			_ = r.Close()
		}
		got, _, err := readAll(t, data, Options{Now: now})
		switch {
		case c.once == "":
		case strings.HasPrefix(c.once, "stdin"):
			checkError(t, c.name, err, c.once)
		case err != nil || !strings.Contains(got, fmt.Sprintf("@%d", micro(t, c.once+"T"+c.times[0][7:]+"Z"))):
			t.Errorf("%s: read once: %s, %v; want %s", c.name, got, err, c.once)
		}
	}
}

// yearsSince is by how many years at lies after a day.
func yearsSince(day string, at time.Time) int {
	from, _ := time.Parse(time.DateOnly, day)
	return at.Year() - from.Year()
}

// A year that is given is that of the first line, whatever the clock says.
func TestYearGiven(t *testing.T) {
	got, r, err := readAll(t, stamped("Dec 31 00:00:00", "Jan  1 00:00:00"), Options{Now: clockAt(t, "2026-11-30T12:00:00Z"), Year: 2030, Zone: zone(t, "Asia/Shanghai")})
	want := fmt.Sprintf("@%d\n2: http host=host app=app pid=#1 message=text @%d", micro(t, "2030-12-30T16:00:00Z"), micro(t, "2030-12-31T16:00:00Z"))
	if err != nil || !strings.HasSuffix(got, want) {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	if f := r.Files()[0]; f.Derived || f.Year != 2030 || f.Zone != "Asia/Shanghai" {
		t.Errorf("%+v", f)
	}
	for _, year := range []int{-1, 1969, 2262} {
		if _, err := Open([]string{"-"}, strings.NewReader(""), Options{Year: year}); err == nil {
			t.Errorf("the year %d is taken", year)
		}
	}
}
