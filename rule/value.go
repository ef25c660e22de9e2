package rule

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
)

// scaledValue returns v in units of 10^-scale, rounded to the nearest, halves
// up. It takes numbers, and texts that spell one. It is computed in decimals,
// so that 19.99 is 1999 hundredths.
func scaledValue(v slidegate.Value, scale int) (int64, error) {
	if text, ok := v.Literal(); ok {
		return scaledText(text, scale)
	}
	var buf [64]byte
	return scaledText(string(v.AppendText(buf[:0])), scale)
}

var errTooLarge = errors.New("the number is too large to add up")

func scaledText(text string, scale int) (int64, error) {
	mantissa, exp := text, 0
	if i := strings.IndexAny(text, "eE"); i > 0 {
		n, err := strconv.Atoi(text[i+1:])
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, fmt.Errorf("%q is not a number", clip(text))
		}
		// Beyond this the digits before the exponent make no difference.
		far := len(text) + 30
		mantissa, exp = text[:i], max(-far, min(n, far))
	}
	if strings.HasPrefix(mantissa, "-") && strings.Trim(mantissa, "-0.") != "" {
		return 0, fmt.Errorf("%s is negative; a sum takes 0 or more", clip(text))
	}
	whole, frac, point := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	if whole == "" || point && frac == "" {
		return 0, fmt.Errorf("%q is not a number", clip(text))
	}
	return shift(text, whole, frac, scale+exp)
}

// shift reads the digits whole.frac, moves the point to the right, and rounds.
func shift(text, whole, frac string, right int) (int64, error) {
	var n uint64
	digits := len(whole) + len(frac)
	keep := len(whole) + right // digits before the moved point
	for i := range max(digits, keep) {
		d := byte('0')
		switch {
		case i < len(whole):
			d = whole[i]
		case i < digits:
			d = frac[i-len(whole)]
		}
		if d < '0' || d > '9' {
			return 0, fmt.Errorf("%q is not a number", clip(text))
		}
		switch {
		case i < keep && n > (math.MaxUint64-9)/10:
			return 0, errTooLarge
		case i < keep:
			n = n*10 + uint64(d-'0')
		case i == keep && d >= '5':
			n++
		}
	}
	if n > limit.MaxUnits {
		return 0, errTooLarge
	}
	return int64(n), nil
}
