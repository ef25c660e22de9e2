package replay

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// micro is the time t in microseconds.
func micro(t *testing.T, text string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixMicro()
}

func TestParseTime(t *testing.T) {
	for _, c := range []struct {
		text, want string
		kind       TimeKind
	}{
		{"2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z", KindRFC3339},
		{"2026-03-01t10:00:00z", "2026-03-01T10:00:00Z", KindRFC3339},
		{" 2026-03-01 10:00:00+00:00 ", "2026-03-01T10:00:00Z", KindRFC3339},
		{"2026-03-01T10:00:00.1+05:45", "2026-03-01T04:15:00.1Z", KindRFC3339},
		{"2026-03-01T10:00:00-08:00", "2026-03-01T18:00:00Z", KindRFC3339},
		{"2026-03-01T10:00:00-0800", "2026-03-01T18:00:00Z", KindRFC3339},
		{"2026-03-01T10:00:00.123456999Z", "2026-03-01T10:00:00.123456Z", KindRFC3339},
		{"2026-03-01T10:00:00,5Z", "2026-03-01T10:00:00.5Z", KindRFC3339},
		{"2026-12-31T23:59:60Z", "2027-01-01T00:00:00Z", KindRFC3339},
		// The hour that a clock set back repeats is two hours, told apart by the offset.
		{"2026-10-25T02:30:00+02:00", "2026-10-25T00:30:00Z", KindRFC3339},
		{"2026-10-25T02:30:00+01:00", "2026-10-25T01:30:00Z", KindRFC3339},
		// The offset decides whether a time near an edge is in range.
		{"1969-12-31T23:00:00-01:00", "1970-01-01T00:00:00Z", KindRFC3339},
		{"1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", KindRFC3339},
		{"2262-04-11T23:47:16.854775807Z", "2262-04-11T23:47:16.854775Z", KindRFC3339},
		{"2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z", KindRFC3339},
		{"2026-03-01 10:00:00", "2026-03-01T10:00:00Z", KindDateTime},
		{"2026-03-01T10:00:00.25", "2026-03-01T10:00:00.25Z", KindDateTime},
		{"29/Nov/2026:10:00:00 +0000", "2026-11-29T10:00:00Z", KindCommonLog},
		{" 29/Nov/2026:10:00:00 -0130 ", "2026-11-29T11:30:00Z", KindCommonLog},
		{"0", "1970-01-01T00:00:00Z", KindSeconds},
		{"1700000000", "2023-11-14T22:13:20Z", KindSeconds},
		{"1700000000.123", "2023-11-14T22:13:20.123Z", KindSeconds},
		{"1700000000.1234569", "2023-11-14T22:13:20.123456Z", KindSeconds},
		{"9223372036", "2262-04-11T23:47:16Z", KindSeconds},
		{"31536000000", "1971-01-01T00:00:00Z", KindMillis},
		{"1700000000123", "2023-11-14T22:13:20.123Z", KindMillis},
		{"1700000000123.4567", "2023-11-14T22:13:20.123456Z", KindMillis},
		{"9223372036854", "2262-04-11T23:47:16.854Z", KindMillis},
		{"31536000000000", "1971-01-01T00:00:00Z", KindMicros},
		{"1700000000123456", "2023-11-14T22:13:20.123456Z", KindMicros},
		{"1700000000123456.9", "2023-11-14T22:13:20.123456Z", KindMicros},
		{"9223372036854775", "2262-04-11T23:47:16.854775Z", KindMicros},
		{"31536000000000000", "1971-01-01T00:00:00Z", KindNanos},
		{"1700000000123456789", "2023-11-14T22:13:20.123456Z", KindNanos},
		{"9223372036854775807", "2262-04-11T23:47:16.854775Z", KindNanos},
	} {
		got, kind, err := parseTime(c.text)
		if err != nil || kind != c.kind || got != micro(t, c.want) {
			t.Errorf("parseTime(%q) = %s, %s, %v; want %s, %s", c.text, time.UnixMicro(got).UTC(), kind, err, c.want, c.kind)
		}
	}
}

// The reason says whether the text is no time at all or one out of range.
func TestParseTimeErrors(t *testing.T) {
	const none, outside = "is not a time", "outside 1970 to 2262"
	for text, want := range map[string]string{
		"": none, " ": none, "-": none, "now": none, ".5": none, "1.": none, "1e9": none, "+1": none, "0x10": none,
		"1,5": none, "--1": none, "1700000000.12x": none, "1.2.3": none, "-1x": none,
		"2026-03-01": none, "2026-03-01T10:00": none, "2026-03-01T10:00:00.Z": none,
		"2026-02-29T00:00:00Z": none, "2100-02-29T00:00:00Z": none, "2026-13-01T00:00:00Z": none, "2026-00-01T00:00:00Z": none,
		"2026-04-31T00:00:00Z": none, "2026-01-00T00:00:00Z": none, "2026-01-01T24:00:00Z": none, "2026-01-01T00:60:00Z": none,
		"2026-01-01T00:00:61Z": none, "2026-01-01T00:00:00+24:00": none, "2026-01-01T00:00:00+01:60": none,
		"2026-01-01T00:00:00X": none, "2026-01-01_00:00:00": none, "2026-01-01T00.00.00": none, "2026-01/01T00:00:00Z": none,
		"20a6-01-01T00:00:00Z": none, "29/Nov/2026:10:00:00": none, "29/Nov/2026 10:00:00 +0000": none, "1/2": none,
		"01/Jan/1970:00:00:00 +0001": outside,
		"-1":                         outside, "-0.5": outside, "1969-12-31T23:59:59.999999999Z": outside,
		"1970-01-01T00:00:00+00:01": outside, "2262-04-11T23:47:16.854776Z": outside, "9999-12-31T23:59:59Z": outside,
		"0000-01-01T00:00:00Z": outside, "9223372037": outside, "31535999999": outside,
		"9223372036855": outside, "31535999999999": outside, "9223372036854776": outside,
		"31535999999999999": outside, "9223372036854775808": outside, "99999999999999999999999": outside,
	} {
		if _, _, err := parseTime(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseTime(%q): error %v, want one with %q", text, err, want)
		}
	}
}

// From 1971 to 2262 every unit is told apart from the others.
func TestEpochUnitsDoNotOverlap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	const first = year1971 * microsPerSecond
	for range 20_000 {
		us := first + rnd.Int64N(maxMicros-first+1)
		for _, u := range []struct {
			kind TimeKind
			text string
			want int64
		}{
			{KindSeconds, strconv.FormatInt(us/1e6, 10), us - us%1e6},
			{KindMillis, strconv.FormatInt(us/1e3, 10), us - us%1e3},
			{KindMicros, strconv.FormatInt(us, 10), us},
			{KindNanos, strconv.FormatInt(us*1000+rnd.Int64N(min(1000, math.MaxInt64-us*1000+1)), 10), us},
		} {
			if got, kind, err := parseTime(u.text); got != u.want || kind != u.kind || err != nil {
				t.Fatalf("parseTime(%s) = %d, %s, %v; want %d, %s", u.text, got, kind, err, u.want, u.kind)
			}
		}
	}
}

// The calendar is that of package time, on every day there is.
func TestDaysSince1970(t *testing.T) {
	day := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	for ; day.Year() < 2500; day = day.AddDate(0, 0, 1) {
		y, m, d := day.Date()
		if got, want := daysSince1970(y, int(m), d), day.Unix()/secondsPerDay; got != want {
			t.Fatalf("daysSince1970(%s) = %d, want %d", day.Format(time.DateOnly), got, want)
		}
		if !validDate(y, int(m), d) {
			t.Fatalf("%s is no date", day.Format(time.DateOnly))
		}
	}
}

func TestParseCommonTime(t *testing.T) {
	for text, want := range map[string]string{
		"17/May/2026:10:05:03 +0000": "2026-05-17T10:05:03Z",
		"01/Jan/1970:00:00:00 +0000": "1970-01-01T00:00:00Z",
		"01/Jan/1970:05:30:00 +0530": "1970-01-01T00:00:00Z",
		"29/Feb/2024:23:59:60 -0800": "2024-03-01T08:00:00Z",
		"11/Apr/2262:23:47:16 +0000": "2262-04-11T23:47:16Z",
		"25/Oct/2026:02:30:00 +0200": "2026-10-25T00:30:00Z",
		"25/Oct/2026:02:30:00 +0100": "2026-10-25T01:30:00Z",
	} {
		if got, err := parseCommonTime(text); err != nil || got != micro(t, want) {
			t.Errorf("parseCommonTime(%q) = %d, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "17/May/2026:10:05:03", "17/may/2026:10:05:03 +0000", "17/ayF/2026:10:05:03 +0000", "31/Jun/2026:10:05:03 +0000", "17/May/2026 10:05:03 +0000",
		"17/May/2026:25:05:03 +0000", "17/May/2026:10:05:03  0000", "17/May/2026:10:05:03 +00:0", "01/Jan/1970:00:00:00 +0001", "11/Apr/2262:23:47:17 +0000",
	} {
		if got, err := parseCommonTime(text); err == nil {
			t.Errorf("parseCommonTime(%q) = %d, want an error", text, got)
		}
	}
}

func TestTimeKindNames(t *testing.T) {
	seen := map[string]bool{}
	for k := KindNone; k <= KindStamp; k++ {
		if s := k.String(); seen[s] || strings.HasPrefix(s, "kind(") {
			t.Errorf("kind %d is called %q", uint8(k), s)
		} else {
			seen[s] = true
		}
	}
	if got := TimeKind(99).String(); got != "kind(99)" {
		t.Errorf("TimeKind(99) = %q", got)
	}
}

// twoDigits is what package time does not ask of an hour.
var twoDigits = regexp.MustCompile(`T\d\d:`)

// FuzzTime: what is read is in range; what package time reads too is the same
// instant, cut down to microseconds.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2026-03-01T10:00:00.5+05:45", "2026-03-01 10:00:00", "1700000000.123", "1700000000123", "9223372036854775807", "17/May/2026:10:05:03 +0000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if us, err := parseCommonTime(s); err == nil {
			if want, err := time.Parse("02/Jan/2006:15:04:05 -0700", s); err == nil && want.UnixMicro() != us {
				t.Errorf("parseCommonTime(%q) = %d, want %d", s, us, want.UnixMicro())
			}
		}
		us, kind, err := parseTime(s)
		want, stdErr := time.Parse(time.RFC3339Nano, s)
		if stdErr == nil && twoDigits.MatchString(s) {
			inside := want.Unix() >= 0 && want.UnixMicro() <= maxMicros && want.Year() < 3000
			if inside != (err == nil) || (inside && (us != want.UnixMicro() || kind != KindRFC3339)) {
				t.Errorf("parseTime(%q) = %d, %s, %v; want %d", s, us, kind, err, want.UnixMicro())
			}
		}
		if err == nil && (us < 0 || us > maxMicros || kind == KindNone) {
			t.Errorf("parseTime(%q) = %d, %s", s, us, kind)
		}
	})
}
