// Package spell finds the word that was probably meant.
package spell

import "slices"

// Nearest returns the word of words that is closest to got, or "" when none is
// close: at most a third of its bytes differ, but one may always, and never more
// than three.
// Swapping two neighbours counts once. Of equally close words the first in
// the alphabet is taken.
func Nearest(got string, words []string) string {
	if len(got) > 64 {
		return ""
	}
	words = slices.Sorted(slices.Values(words))
	best, near := "", min(3, max(1, len(got)/3))+1
	for _, w := range words {
		if d := distance(got, w); d < near {
			best, near = w, d
		}
	}
	return best
}

// distance is the number of edits between a and b, swaps included (optimal
// string alignment).
func distance(a, b string) int {
	older, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			edit := prev[j-1]
			if a[i-1] != b[j-1] {
				edit++
			}
			row[j] = min(edit, prev[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, prev, row = prev, row, older
	}
	return prev[len(b)]
}
