// Package report turns figures into text: medians, spreads, ratios and Markdown
// tables.
package report

import (
	"math"
	"slices"
	"strconv"
)

// Median returns the middle of xs, the mean of the middle two if there are two,
// and NaN if there is none. It leaves xs as it is.
func Median(xs []float64) float64 {
	n := len(xs)
	if n == 0 {
		return math.NaN()
	}
	xs = slices.Clone(xs)
	slices.Sort(xs)
	return (xs[(n-1)/2] + xs[n/2]) / 2
}

// Max returns the largest of xs, and NaN if there is none.
func Max(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	return slices.Max(xs)
}

// Min returns the smallest of xs, and NaN if there is none.
func Min(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	return slices.Min(xs)
}

// Spread returns how far xs lie apart: half of the distance between the smallest
// and the largest, as a share of the median. It is NaN for less than two.
func Spread(xs []float64) float64 {
	if len(xs) < 2 {
		return math.NaN()
	}
	return Ratio((slices.Max(xs)-slices.Min(xs))/2, Median(xs))
}

// Ratio returns a/b, and NaN if there is none.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

// Number writes x with three significant digits and no exponent; whole digits
// are never cut. NaN is "-".
func Number(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "-"
	case x == 0:
		return "0"
	}
	whole := int(math.Floor(math.Log10(math.Abs(x)))) + 1 // digits before the point
	return strconv.FormatFloat(x, 'f', min(max(3-whole, 0), 2), 64)
}

// Times writes a ratio.
func Times(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "-"
	}
	return strconv.FormatFloat(x, 'f', 2, 64) + "x"
}
