package replay

import (
	"fmt"
	"math"
	"strings"
)

// TimeKind is how a time is written. The zero TimeKind means that no time was
// read yet.
//
// Whole numbers are epochs whose unit is told by their size. From 1971 to 2262
// the four units do not overlap:
//
//	seconds       below               31 536 000 000
//	milliseconds  from there, below   31 536 000 000 000
//	microseconds  from there, below   31 536 000 000 000 000
//	nanoseconds   from there
//
// So an epoch of the year 1970 is only read right when it counts seconds. A
// number with a fraction is read the same way, digit by digit.
type TimeKind uint8

const (
	// KindNone says that no time was read.
	KindNone TimeKind = iota
	// KindRFC3339 is 2006-01-02T15:04:05Z, with any zone, with or without a
	// fraction; a space may stand for the T, and the zone may lack its colon.
	KindRFC3339
	// KindDateTime is 2006-01-02 15:04:05 without a zone; see [Options].Zone.
	KindDateTime
	// KindSeconds is an epoch in seconds, such as 1700000000 or 1700000000.123.
	KindSeconds
	// KindMillis is an epoch in milliseconds.
	KindMillis
	// KindMicros is an epoch in microseconds.
	KindMicros
	// KindNanos is an epoch in nanoseconds.
	KindNanos
	// KindCommonLog is 02/Jan/2006:15:04:05 +0000, as access logs have it.
	KindCommonLog
	// KindStamp is Jan _2 15:04:05 without a year and a zone, as syslog has it;
	// see [Options].Year.
	KindStamp
)

// String returns the kind in words.
func (k TimeKind) String() string {
	switch k {
	case KindNone:
		return "none"
	case KindRFC3339:
		return "RFC 3339"
	case KindDateTime:
		return "date and time without a zone"
	case KindSeconds:
		return "epoch in seconds"
	case KindMillis:
		return "epoch in milliseconds"
	case KindMicros:
		return "epoch in microseconds"
	case KindNanos:
		return "epoch in nanoseconds"
	case KindCommonLog:
		return "access log time"
	case KindStamp:
		return "month, day and time without a year and a zone"
	default:
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
}

const (
	// maxMicros is the last whole microsecond whose nanoseconds fit in 64
	// bits: 2262-04-11T23:47:16.854775Z.
	maxMicros = math.MaxInt64 / 1000
	// year1971 is the number of seconds from 1970 to 1971, and with it the
	// smallest epoch in milliseconds that is told from one in seconds, and so
	// on by thousands.
	year1971 = 31_536_000

	microsPerSecond = 1_000_000
	secondsPerDay   = 86_400
)

// parseTime reads a time in any of the ways of [TimeKind], and returns it in
// microseconds since 1970, cut down to whole ones.
func parseTime(s string) (micros int64, kind TimeKind, err error) {
	s = strings.TrimSpace(s)
	switch {
	case len(s) > 4 && s[4] == '-':
		micros, kind, err = parseDateTime(s)
	case len(s) > 2 && s[2] == '/':
		micros, err = parseCommonTime(s)
		kind = KindCommonLog
	default:
		micros, kind, err = parseEpoch(s)
	}
	if err == nil && (micros < 0 || micros > maxMicros) {
		err = outOfRange(s)
	}
	return micros, kind, err
}

func outOfRange(s string) error {
	return fmt.Errorf("the time %s lies outside 1970 to 2262", printable(s, 40))
}

func notATime(s string) error {
	return fmt.Errorf("%s is not a time: RFC 3339, 2006-01-02 15:04:05, 02/Jan/2006:15:04:05 +0000, Jan _2 15:04:05, or an epoch in s, ms, µs or ns", printable(s, 40))
}

// parseEpoch reads digits, with or without a fraction. Its unit follows from
// the digits before the point; see [TimeKind].
func parseEpoch(s string) (int64, TimeKind, error) {
	whole, fraction, pointed := strings.Cut(s, ".")
	negative := strings.HasPrefix(whole, "-")
	n, ok := parseDigits(strings.TrimPrefix(whole, "-"))
	if !ok || (pointed && !allDigits(fraction)) {
		return 0, KindNone, notATime(s)
	}
	if negative || n > math.MaxInt64 {
		return 0, KindNone, outOfRange(s)
	}
	switch t := int64(n); {
	case t < year1971*1000:
		if t > maxMicros/microsPerSecond {
			return 0, KindNone, outOfRange(s)
		}
		return t*microsPerSecond + fractionDigits(fraction, 6), KindSeconds, nil
	case t < year1971*1000_000:
		if t > maxMicros/1000 {
			return 0, KindNone, outOfRange(s)
		}
		return t*1000 + fractionDigits(fraction, 3), KindMillis, nil
	case t < year1971*1000_000_000:
		return t, KindMicros, nil
	default:
		return t / 1000, KindNanos, nil
	}
}

// parseDigits reads a number of one digit or more. A number too large for 64
// bits comes back as the largest.
func parseDigits(s string) (n uint64, ok bool) {
	if !allDigits(s) {
		return 0, false
	}
	for i := range len(s) {
		d := uint64(s[i] - '0')
		if n > (math.MaxUint64-d)/10 {
			return math.MaxUint64, true
		}
		n = n*10 + d
	}
	return n, true
}

// allDigits reports whether s is one digit or more and nothing else.
func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// fractionDigits returns the first n digits of a fraction as a number, as if
// zeros followed it: ("5", 3) is 500. It drops what is behind them.
func fractionDigits(s string, n int) int64 {
	var v int64
	for i := range n {
		v *= 10
		if i < len(s) {
			v += int64(s[i] - '0')
		}
	}
	return v
}

// parseDateTime reads a date, T or a space, a time of day, perhaps a fraction,
// perhaps a zone. Without a zone it is UTC.
func parseDateTime(s string) (int64, TimeKind, error) {
	if len(s) < 19 || s[7] != '-' || (s[10] != 'T' && s[10] != 't' && s[10] != ' ') {
		return 0, KindNone, notATime(s)
	}
	year, ok1 := digits(s, 0, 4)
	month, ok2 := digits(s, 5, 2)
	day, ok3 := digits(s, 8, 2)
	clock, ok4 := clockSeconds(s[11:19])
	if !ok1 || !ok2 || !ok3 || !ok4 || !validDate(year, month, day) {
		return 0, KindNone, notATime(s)
	}
	micros, rest := int64(0), s[19:]
	if rest != "" && (rest[0] == '.' || rest[0] == ',') {
		end := 1
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if end == 1 {
			return 0, KindNone, notATime(s)
		}
		micros, rest = fractionDigits(rest[1:end], 6), rest[end:]
	}
	seconds := daysSince1970(year, month, day)*secondsPerDay + int64(clock)
	if rest == "" {
		return seconds*microsPerSecond + micros, KindDateTime, nil
	}
	offset, ok := zoneSeconds(rest)
	if !ok {
		return 0, KindNone, notATime(s)
	}
	return (seconds-int64(offset))*microsPerSecond + micros, KindRFC3339, nil
}

// digits reads the n digits at s[at:].
func digits(s string, at, n int) (v int, ok bool) {
	for i := at; i < at+n; i++ {
		d := s[i] - '0'
		if d > 9 {
			return 0, false
		}
		v = v*10 + int(d)
	}
	return v, true
}

// clockSeconds reads the time of day from s, 15:04:05. A leap second, :60, is
// the first instant of the next minute.
func clockSeconds(s string) (int, bool) {
	h, ok1 := digits(s, 0, 2)
	m, ok2 := digits(s, 3, 2)
	sec, ok3 := digits(s, 6, 2)
	ok := ok1 && ok2 && ok3 && s[2] == ':' && s[5] == ':' && h < 24 && m < 60 && sec <= 60
	return h*3600 + m*60 + sec, ok
}

// zoneSeconds reads Z or an offset such as +01:00 or +0100.
func zoneSeconds(s string) (int, bool) {
	switch {
	case s == "Z" || s == "z":
		return 0, true
	case len(s) == 5:
		return offsetSeconds(s[0], s[1:3], s[3:5])
	case len(s) != 6 || s[3] != ':':
		return 0, false
	default:
		return offsetSeconds(s[0], s[1:3], s[4:6])
	}
}

// offsetSeconds returns the offset of a zone from its sign and digits.
func offsetSeconds(sign byte, hours, minutes string) (int, bool) {
	h, ok1 := digits(hours, 0, 2)
	m, ok2 := digits(minutes, 0, 2)
	if !ok1 || !ok2 || h > 23 || m > 59 || (sign != '+' && sign != '-') {
		return 0, false
	}
	offset := h*3600 + m*60
	if sign == '-' {
		offset = -offset
	}
	return offset, true
}

// commonTimeLen is the length of 02/Jan/2006:15:04:05 +0000.
const commonTimeLen = 26

// parseCommonTime reads the time of an access log.
func parseCommonTime(s string) (int64, error) {
	if len(s) != commonTimeLen || s[2] != '/' || s[6] != '/' || s[11] != ':' || s[20] != ' ' {
		return 0, notCommonTime(s)
	}
	day, ok1 := digits(s, 0, 2)
	month := monthNumber(s[3:6])
	year, ok2 := digits(s, 7, 4)
	clock, ok3 := clockSeconds(s[12:20])
	offset, ok4 := offsetSeconds(s[21], s[22:24], s[24:26])
	if !ok1 || !ok2 || !ok3 || !ok4 || !validDate(year, month, day) {
		return 0, notCommonTime(s)
	}
	seconds := daysSince1970(year, month, day)*secondsPerDay + int64(clock-offset)
	if seconds < 0 || seconds > maxMicros/microsPerSecond {
		return 0, outOfRange(s)
	}
	return seconds * microsPerSecond, nil
}

func notCommonTime(s string) error {
	return fmt.Errorf("%s is not a time such as 02/Jan/2006:15:04:05 +0000", printable(s, 40))
}

// monthNumber returns 1 for Jan, and 0 for what is no month.
func monthNumber(s string) int {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	for i := 0; i < len(names); i += 3 {
		if names[i:i+3] == s {
			return i/3 + 1
		}
	}
	return 0
}

// validDate reports whether there is such a day.
func validDate(year, month, day int) bool {
	if month < 1 || month > 12 || day < 1 {
		return false
	}
	last := 31
	switch month {
	case 4, 6, 9, 11:
		last = 30
	case 2:
		last = 28
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			last = 29
		}
	}
	return day <= last
}

// daysSince1970 counts the days from 1970-01-01 to a day of the Gregorian
// calendar. Years begin in March here, so that the leap day comes last; the
// formula is days_from_civil of Howard Hinnant's "chrono-compatible low-level
// date algorithms", for years from 0.
func daysSince1970(year, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	// Up to a whole 400 years more keep the terms positive; they are taken
	// off again at the end.
	y := int64(year) + 400
	dayOfYear := int64(153*(month-3)+2)/5 + int64(day) - 1
	return y*365 + y/4 - y/100 + y/400 + dayOfYear - 719_468 - 146_097
}
