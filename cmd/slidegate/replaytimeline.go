package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/guptarohit/asciigraph"
	"github.com/slidegate/slidegate/internal/replay"
	"golang.org/x/term"
)

const (
	// plotHeight is how many rows a plot has above its lowest, at most.
	plotHeight = 10
	// plotMargin is what stands beside a plot: numbers, the axis, half a label.
	plotMargin = 18
	// minPlot and maxPlot bound its columns.
	minPlot, maxPlot = 20, 240
	// pipeWidth is how wide a report is that goes to no terminal.
	pipeWidth = 100
)

// printTimeline plots what was admitted and refused over the time of the log.
func printTimeline(w io.Writer, line *replay.Timeline, width int) {
	columns := min(max(width-plotMargin, minPlot), maxPlot)
	t := line.Within(columns)
	switch n := len(t.Admitted); n {
	case 0:
	case 1:
		fmt.Fprintf(w, "\nall events lie within %s of %s: there is nothing to plot over time\n", span(t.Slot), t.From.Format(time.RFC3339Nano))
	default:
		fmt.Fprintf(w, "\nevents admitted (─) and refused (•) per slot of %s:\n%s\n", span(t.Slot), plot(&t, columns/n))
	}
}

// plot draws a timeline, each slot stretched to so many columns.
func plot(t *replay.Timeline, stretch int) string {
	n := len(t.Admitted) * stretch
	at := func(column float64) string {
		return t.From.Add(time.Duration(math.Round(column)/float64(stretch)) * t.Slot).Format(slotFormat(t.Slot))
	}
	const labelWidth = 24 // with room to the next
	most := max(slices.Max(t.Admitted), slices.Max(t.Refused))
	series := [][]float64{steps(t.Admitted, stretch, 0)}
	if slices.Max(t.Refused) > 0 {
		series = append(series, steps(t.Refused, stretch, math.NaN())) // no line where there is none
	}
	return asciigraph.PlotMany(series,
		asciigraph.Height(int(min(most, plotHeight))), asciigraph.LowerBound(0), asciigraph.Precision(0),
		asciigraph.YAxisValueFormatter(func(v float64) string { return fmt.Sprintf("%.0f", v) }),
		asciigraph.SeriesChars(asciigraph.CharSet{}, asciigraph.CreateCharSet("•")),
		asciigraph.XAxisRange(0, float64(n-1)), asciigraph.XAxisTickCount(max(2, n/labelWidth)), asciigraph.XAxisValueFormatter(at))
}

// steps repeats each count; none stands for a count of 0.
func steps(counts []int64, stretch int, none float64) []float64 {
	var values []float64
	for _, n := range counts {
		value := float64(n)
		if n == 0 {
			value = none
		}
		for range stretch {
			values = append(values, value)
		}
	}
	return values
}

// slotFormat returns how the times of slots of a width are written.
func slotFormat(slot time.Duration) string {
	switch {
	case slot < time.Second:
		return "15:04:05.000"
	case slot < time.Minute:
		return time.TimeOnly
	case slot < 24*time.Hour:
		return "01-02 15:04"
	default:
		return time.DateOnly
	}
}

// span writes the width of a slot.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d%day == 0:
		return plural(int64(d/day), "day")
	case d%time.Hour == 0:
		return plural(int64(d/time.Hour), "hour")
	case d%time.Minute == 0:
		return plural(int64(d/time.Minute), "minute")
	case d%time.Second == 0:
		return plural(int64(d/time.Second), "second")
	default:
		return plural(int64(d/time.Millisecond), "millisecond")
	}
}

// terminalWidth returns how many columns w has, and false if it is no terminal.
func terminalWidth(w io.Writer) (int, bool) {
	if out, ok := w.(*output); ok {
		w = out.w
	}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return pipeWidth, false
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width, true
	}
	return pipeWidth, true
}
