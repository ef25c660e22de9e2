package metrics

import (
	"sync"
	"testing"
)

// TestPeak: what the most was is told for the span in which it was seen and the next
// one, also when many see at the turn of a span; other decimals begin anew.
func TestPeak(t *testing.T) {
	p := &peak{}
	for i, step := range []struct {
		span, used int64
		scale      uint8
		want       float64
	}{
		{10, 5, 0, 5}, {10, 3, 0, 5}, {11, 2, 0, 5}, {12, 1, 0, 2}, {14, 4, 0, 4},
		{13, 1, 0, 1},                                       // the clock stepped back
		{14, 150, 2, 1.5}, {14, 120, 2, 1.5}, {14, 1, 0, 1}, // a reload
	} {
		p.see(step.span, step.used, step.scale)
		if got := p.most(step.span); got != step.want {
			t.Errorf("step %d: %+v: told %v", i, step, got)
		}
	}
	const spans, each = 200, 4
	for span := int64(100); span < 100+spans; span++ {
		var all sync.WaitGroup
		for i := range int64(each) {
			all.Go(func() { p.see(span, span*each+i, 0) })
		}
		all.Wait()
		if got, want := p.most(span), float64(span*each+each-1); got != want {
			t.Fatalf("span %d: %v, want %v", span, got, want)
		}
	}
}
