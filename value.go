package slidegate

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
)

type valueKind uint8

const (
	kindText valueKind = iota
	kindInt
	kindFloat
	kindLiteral
)

// Value is the value of an attribute: a text or a number. The zero Value is
// the empty text. Values are comparable with ==, but numbers that are written
// differently (1 and 1.0) are different values.
type Value struct {
	text string
	bits uint64
	kind valueKind
}

// TextValue returns a text.
func TextValue(s string) Value { return Value{text: s} }

// Errors of numbers. They do not quote the number: it may be a secret.
var (
	errNoNumber = errors.New("this is not a number in JSON")
	errTooLarge = errors.New("the number is too large; the largest is about 1.8e308")
)

// IntValue returns a whole number.
func IntValue(n int64) Value { return Value{kind: kindInt, bits: uint64(n)} }

// FloatValue returns a number.
func FloatValue(f float64) Value { return Value{kind: kindFloat, bits: math.Float64bits(f)} }

// NumberValue returns the number that literal spells in JSON, and keeps the
// spelling: as part of a key, 12345678901234567890 loses no digit. An error does
// not quote it.
func NumberValue(literal string) (Value, error) {
	if !isJSONNumber(literal) {
		return Value{}, errNoNumber
	}
	v := Value{kind: kindLiteral, text: literal}
	return v, v.validate()
}

// IsNumber reports whether v was given as a number.
func (v Value) IsNumber() bool { return v.kind != kindText }

// Literal returns the text of v without allocating, if it has one at hand:
// texts and numbers that came with their spelling do.
func (v Value) Literal() (text string, ok bool) {
	return v.text, v.kind == kindText || v.kind == kindLiteral
}

// AppendText appends the text of v to b: a text as it is, a number as it was
// spelled, or in the shortest form that reads back as the same number.
func (v Value) AppendText(b []byte) []byte {
	switch v.kind {
	case kindInt:
		return strconv.AppendInt(b, int64(v.bits), 10)
	case kindFloat:
		return strconv.AppendFloat(b, math.Float64frombits(v.bits), 'f', -1, 64)
	default:
		return append(b, v.text...)
	}
}

// String returns the text of v, as AppendText does.
func (v Value) String() string {
	if s, ok := v.Literal(); ok {
		return s
	}
	return string(v.AppendText(nil))
}

// ParseAddress reads an address as it appears in the wild: IPv4 and IPv6, with or
// without a zone, a port, or brackets. The zone and port are cut off, and an IPv4
// address mapped into IPv6 is the IPv4 address. It reports false for any other
// text.
func ParseAddress(text string) (netip.Addr, bool) {
	var addr netip.Addr
	var err error
	switch n := len(text); {
	case n > 2 && text[0] == '[' && text[n-1] == ']':
		addr, err = netip.ParseAddr(text[1 : n-1])
	case n > 0 && text[0] == '[' || strings.Count(text, ":") == 1:
		var port netip.AddrPort
		port, err = netip.ParseAddrPort(text)
		addr = port.Addr()
	default:
		addr, err = netip.ParseAddr(text)
	}
	return addr.Unmap().WithZone(""), err == nil
}

func (v Value) validate() error {
	switch v.kind {
	case kindFloat:
		if f := math.Float64frombits(v.bits); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%v is not a finite number", f)
		}
	case kindLiteral:
		if _, err := strconv.ParseFloat(v.text, 64); errors.Is(err, strconv.ErrRange) {
			return errTooLarge
		}
	}
	return nil
}

// isJSONNumber reports whether s is a number in the grammar of JSON.
func isJSONNumber(s string) bool {
	i := 0
	digits := func() bool {
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	start := i
	if !digits() || (s[start] == '0' && i > start+1) {
		return false
	}
	if i < len(s) && s[i] == '.' {
		i++
		if !digits() {
			return false
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	return i == len(s)
}

// plain returns a name for a message: as it is, or in quotes if it holds anything
// that is not commonly part of a name.
func plain(name string) string {
	for i := range len(name) {
		if c := name[i]; c != '_' && c != '.' && c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return strconv.Quote(shorten(name))
		}
	}
	return shorten(name)
}

// shorten cuts a text for a message, between characters.
func shorten(s string) string {
	if len(s) > 40 {
		n := 40
		for n > 36 && !utf8.RuneStart(s[n]) {
			n--
		}
		return s[:n] + "…"
	}
	return s
}
