package replay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
)

const benchLines = 20_000

// benchRead reads data again and again and reports lines per second.
func benchRead(b *testing.B, data []byte, format Format) {
	b.Helper()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := Open([]string{"-"}, bytes.NewReader(data), Options{Format: format})
		if err != nil {
			b.Fatal(err)
		}
		if n := drain(b, r); n != benchLines {
			b.Fatalf("read %d events, want %d", n, benchLines)
		}
	}
	b.ReportMetric(float64(b.N)*benchLines/b.Elapsed().Seconds(), "lines/s")
}

// drain reads a source to its end and returns the number of its records.
func drain(tb testing.TB, src Source) int {
	tb.Helper()
	for n := 0; ; n++ {
		if _, err := src.Next(); errors.Is(err, io.EOF) {
			return n
		} else if err != nil {
			tb.Fatal(err)
		}
	}
}

func BenchmarkCombined(b *testing.B) {
	benchRead(b, newGenerated(1).combined(benchLines), FormatCombined)
}

func BenchmarkCombinedGzip(b *testing.B) {
	benchRead(b, compressed(b, newGenerated(1).combined(benchLines)), FormatCombined)
}

func BenchmarkJSON(b *testing.B) { benchRead(b, newGenerated(1).json(benchLines), FormatJSON) }

func BenchmarkCSV(b *testing.B) { benchRead(b, newGenerated(1).csv(benchLines), FormatCSV) }

func BenchmarkSort(b *testing.B) {
	data := newGenerated(1).combined(benchLines)
	for _, c := range []struct {
		name string
		opt  SortOptions
	}{
		{"memory", SortOptions{Dir: b.TempDir()}},
		{"20 runs", SortOptions{MaxEvents: benchLines / 20, Dir: b.TempDir()}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := Open([]string{"-"}, bytes.NewReader(data), Options{})
				if err != nil {
					b.Fatal(err)
				}
				s, err := Sort(context.Background(), r, c.opt)
				if err != nil {
					b.Fatal(err)
				}
				if n := drain(b, s); n != benchLines {
					b.Fatalf("read %d events, want %d", n, benchLines)
				}
			}
			b.ReportMetric(float64(b.N)*benchLines/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
