package slidegate

import (
	"errors"
	"fmt"
	"math"
	"strconv"
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

// IntValue returns a whole number.
func IntValue(n int64) Value { return Value{kind: kindInt, bits: uint64(n)} }

// FloatValue returns a number.
func FloatValue(f float64) Value { return Value{kind: kindFloat, bits: math.Float64bits(f)} }

// NumberValue returns the number that literal spells in JSON, and keeps the
// spelling: as part of a key, 12345678901234567890 loses no digit.
func NumberValue(literal string) (Value, error) {
	if !isJSONNumber(literal) {
		return Value{}, fmt.Errorf("%q is not a number", shorten(literal))
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

func (v Value) validate() error {
	switch v.kind {
	case kindFloat:
		if f := math.Float64frombits(v.bits); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%v is not a finite number", f)
		}
	case kindLiteral:
		if _, err := strconv.ParseFloat(v.text, 64); errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("the number %s is too large", shorten(v.text))
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
