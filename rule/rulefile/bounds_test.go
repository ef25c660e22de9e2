package rulefile

import (
	"runtime"
	"strings"
	"testing"
)

// TestManyStars: looking for an unquoted glob takes no time that grows with the
// square of the line.
func TestManyStars(t *testing.T) {
	text := "version: 1\nrules: x" + strings.Repeat("*", 1<<20) + " : y: z\n"
	if _, err := Parse("r.yaml", "", []byte(text)); err == nil {
		t.Error("no error")
	}
}

// TestLongPaths: many values under long names do not each keep all the names.
func TestLongPaths(t *testing.T) {
	const n, levels = 20_000, 29
	name := strings.Repeat("n", maxName)
	text := "version: 1\nx: " + strings.Repeat("{"+name+": ", levels) + "[" + strings.Repeat("1,", n) + "]" + strings.Repeat("}", levels) + "\n"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Parse("r.yaml", "", []byte(text))
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "names that lead here have over 512 bytes") {
		t.Errorf("got %v", err)
	}
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 100 {
		t.Errorf("%d KB of text took %d MiB", len(text)>>10, got)
	}
}
