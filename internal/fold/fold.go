// Package fold takes upper and lower case of a text for the same.
package fold

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns text without the difference of upper and lower case: letters
// that Unicode takes for the same in simple case folding become one of them. It
// allocates nothing for ASCII that is in lower case.
func Text(text string) string {
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			return foldRunes(text)
		}
	}
	return text
}

// foldRunes folds rune by rune. Bytes that are no UTF-8 stay as they are: texts
// that differ in them stay different.
func foldRunes(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			b.WriteByte(text[i])
		} else {
			b.WriteRune(foldRune(r))
		}
		i += size
	}
	return b.String()
}

// foldRune returns the lower case of the least of all that fold together.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if lower := unicode.ToLower(least); folds(lower, least) {
		return lower
	}
	return least
}

// folds reports whether a and b fold together.
func folds(a, b rune) bool {
	for next := unicode.SimpleFold(a); next != a; next = unicode.SimpleFold(next) {
		if next == b {
			return true
		}
	}
	return a == b
}
