package gatetest

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever words come back, a rewritten line reads them back as they are.
func TestQuoteRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.OneOf(
			rapid.StringMatching(`[ab"\\# \t\r\n=>-]{0,6}`), rapid.String(),
		)).Draw(t, "words")
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, quote(w))
		}
		line := strings.Join(quoted, " ")
		if strings.Contains(line, "\n") {
			t.Fatalf("%q is more than one line", line)
		}
		got, err := split(line + " # a comment")
		if err != nil || !slices.Equal(texts(got), words) {
			t.Fatalf("%q reads as %q, %v; want %q", line, texts(got), err, words)
		}
		for _, w := range got {
			if again, err := split(line[w.from:w.to]); err != nil || len(again) != 1 || again[0].text != w.text {
				t.Fatalf("%q stands at %q", w.text, line[w.from:w.to])
			}
		}
	})
}

func TestDurations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64/2/1000).Draw(t, "us")) * time.Microsecond
		if got, err := parseDuration(formatDuration(d)); err != nil || got != d {
			t.Fatalf("%s is written %s and reads as %s, %v", d, formatDuration(d), got, err)
		}
	})
	for text, want := range map[string]time.Duration{
		"0us": 0, "1us": time.Microsecond, "1500ms": 1500 * time.Millisecond, "60s": time.Minute, "1m": time.Minute, "24h": 24 * time.Hour, "1d": 24 * time.Hour,
		"53375d": 53375 * 24 * time.Hour,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "s", "1", "1ns", "1.5s", "-1s", "1h30m", "1 s", "53376d", "9223372036854775807s", "1S"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}

// FuzzLine: no text makes the reader of lines panic, and where it stands in the
// line is true.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		"rules a.yaml", "at 0s check e k=1 -> allow remaining=1 # c", `at 0s..5s/1s 3x check "e x" -> "used[1 per 1s]=1"`, "at +5s refund a ->", `"`, "-> ->", "at at at", "x x", "\xff -> \x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseLine(1, text)
		if err != nil || l == nil {
			return
		}
		if l.count < 1 || l.at.to < l.at.from || l.at.every < 0 {
			t.Errorf("%q: %+v", text, l)
		}
		if !l.arrow {
			return
		}
		if !strings.HasSuffix(text[:l.head], "->") || l.tail < l.head {
			t.Errorf("%q: head %q, tail %q", text, text[:l.head], text[l.tail:])
		}
		again, err := parseLine(1, text[:l.head]+" allow"+text[l.tail:])
		if err != nil || again == nil || !slices.Equal(again.want, []string{"allow"}) || !slices.Equal(again.args, l.args) {
			t.Errorf("%q rewritten reads as %+v, %v", text, again, err)
		}
	})
}
