package cond

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate"
)

// numberOf is the number that a value is or spells.
func numberOf(v slidegate.Value) (float64, bool) {
	if s, ok := v.Literal(); ok {
		return parseNumber(s)
	}
	var buf [32]byte
	return parseNumber(string(v.AppendText(buf[:0])))
}

// parseNumber reads a finite number in the grammar of JSON.
func parseNumber(s string) (float64, bool) {
	rest := strings.TrimPrefix(s, "-")
	whole := digits(rest)
	if whole == 0 || whole > 1 && rest[0] == '0' {
		return 0, false
	}
	if len(rest) == whole && whole <= 15 { // exact as it is
		var n int64
		for i := range whole {
			n = n*10 + int64(rest[i]-'0')
		}
		if len(rest) != len(s) {
			n = -n
		}
		return float64(n), true
	}
	rest = rest[whole:]
	if strings.HasPrefix(rest, ".") {
		n := digits(rest[1:])
		if n == 0 {
			return 0, false
		}
		rest = rest[1+n:]
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		rest = rest[1:]
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		n := digits(rest)
		if n == 0 {
			return 0, false
		}
		rest = rest[n:]
	}
	if rest != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// digits counts the digits at the front of s.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// addressOf is the address that a text spells; a number spells none.
func addressOf(v slidegate.Value) (netip.Addr, bool) {
	if v.IsNumber() {
		return netip.Addr{}, false
	}
	text, _ := v.Literal()
	return slidegate.ParseAddress(text)
}
