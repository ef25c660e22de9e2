package replay

import (
	"strconv"
	"unicode/utf8"

	"github.com/slidegate/slidegate"
)

// lineError is the reason why a line does not parse.
type lineError string

// Error returns the reason.
func (e lineError) Error() string { return string(e) }

// maxAttrs is how many fields a line may have. Judging an event compares its
// attributes with each other, so a line with a hundred thousand would hold up
// everything behind it.
const maxAttrs = 1000

const errTooManyFields = lineError("more than 1000 fields; an event may have 1000")

// printable returns the first limit bytes of s in quotes, with everything
// escaped that a terminal would act on.
func printable(s string, limit int) string {
	return `"` + shorten(s, limit) + `"`
}

// shorten returns the first limit bytes of s, or a little less, with a … where
// it was cut and with everything escaped that a terminal would act on.
func shorten(s string, limit int) string {
	b := make([]byte, 0, min(len(s), limit)+8)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if i+n > limit {
			return string(append(b, "…"...))
		}
		switch {
		case r == utf8.RuneError && n == 1:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'x', hex[s[i]>>4], hex[s[i]&15])
		case strconv.IsPrint(r):
			b = append(b, s[i:i+n]...)
		default:
			q := strconv.QuoteRune(r)
			b = append(b, q[1:len(q)-1]...)
		}
		i += n
	}
	return string(b)
}

// scanNumber returns the end of the number in the grammar of JSON that begins
// at s[at], or at itself where none begins.
func scanNumber(s string, at int) int {
	i := at
	if i < len(s) && s[i] == '-' {
		i++
	}
	whole := skipDigits(s, i)
	if whole == i || (s[i] == '0' && whole > i+1) {
		return at
	}
	i = whole
	if i < len(s) && s[i] == '.' {
		end := skipDigits(s, i+1)
		if end == i+1 {
			return at
		}
		i = end
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		end := skipDigits(s, i)
		if end == i {
			return at
		}
		i = end
	}
	return i
}

// skipDigits returns the index of the first byte from at on that is no digit.
func skipDigits(s string, at int) int {
	for at < len(s) && s[at] >= '0' && s[at] <= '9' {
		at++
	}
	return at
}

// numberOrText returns s as a number if JSON would take it for one, else as a
// text.
func numberOrText(s string) slidegate.Value {
	// NumberValue makes an error where it is none, which costs more.
	if s != "" && scanNumber(s, 0) == len(s) {
		if v, err := slidegate.NumberValue(s); err == nil {
			return v
		}
	}
	return slidegate.TextValue(s)
}

// interner keeps one copy of each short text it has seen, up to a bound, so
// that names which repeat on every line are made once. The zero interner is
// ready to use.
type interner struct {
	known map[string]string
}

const (
	internTexts  = 4096
	internLength = 64
)

// get returns b as a string.
func (in *interner) get(b []byte) string {
	if s, ok := in.known[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(s) <= internLength && len(in.known) < internTexts {
		if in.known == nil {
			in.known = make(map[string]string)
		}
		in.known[s] = s
	}
	return s
}
