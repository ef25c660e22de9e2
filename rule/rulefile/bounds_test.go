package rulefile

import (
	"fmt"
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

// TestManyUnknownFields: what is not shown is not thought about.
func TestManyUnknownFields(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < maxFile-20; i++ {
		fmt.Fprintf(&b, "lim%d: 1\n", i)
	}
	if got := structural(b.String()); len(got) != maxErrors+1 {
		t.Errorf("%d errors", len(got))
	}
}

// TestMessagesAreShort: an error does not repeat a text as long as the file.
func TestMessagesAreShort(t *testing.T) {
	long := strings.Repeat("1s", 1<<18)
	for _, text := range []string{"1 per " + long, "1 " + long + " per 1s", long + " per 1s", "1 sum(" + long + ".) per 1s", "1 per 9" + long, "1 per 1" + strings.Repeat("x", 1<<18)} {
		_, err := Parse("r.yaml", "", []byte("version: 1\nrules: [{name: r, limits: [\""+text+"\"]}]\n"))
		if err == nil || len(err.Error()) > 1000 {
			t.Errorf("%.20s…: an error of %d bytes", text, len(fmt.Sprint(err)))
		}
	}
}
