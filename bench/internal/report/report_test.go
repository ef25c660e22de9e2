package report

import (
	"math"
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := Median(c.xs); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.xs, got, c.want)
		}
	}
	xs := []float64{3, 1, 2}
	if Median(xs); xs[0] != 3 {
		t.Error("Median changed its argument")
	}
	for name, f := range map[string]func([]float64) float64{"Median": Median, "Max": Max, "Min": Min, "Spread": Spread} {
		if got := f(nil); !math.IsNaN(got) {
			t.Errorf("%s of nothing is %v", name, got)
		}
	}
}

func TestSpread(t *testing.T) {
	if got := Spread([]float64{90, 100, 110}); got != 0.1 {
		t.Errorf("Spread = %v, want 0.1", got)
	}
	if got := Spread([]float64{1}); !math.IsNaN(got) {
		t.Errorf("one figure has a spread: %v", got)
	}
}

func TestRatio(t *testing.T) {
	if got := Ratio(30, 60); got != 0.5 {
		t.Errorf("Ratio = %v", got)
	}
	for _, got := range []float64{Ratio(1, 0), Ratio(math.NaN(), 1), Ratio(1, math.NaN())} {
		if !math.IsNaN(got) {
			t.Errorf("no ratio is %v", got)
		}
	}
	for want, x := range map[string]float64{"0.50x": 0.5, "17.25x": 17.25, "-": math.NaN()} {
		if got := Times(x); got != want {
			t.Errorf("Times(%v) = %q, want %q", x, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		x    float64
		want string
	}{
		{0, "0"}, {0.004, "0.00"}, {0.894, "0.89"}, {1.684, "1.68"}, {41.66, "41.7"}, {99.96, "100.0"},
		{100, "100"}, {587.4, "587"}, {2762.1, "2762"}, {-3.456, "-3.46"}, {math.NaN(), "-"}, {math.Inf(1), "-"},
	} {
		if got := Number(c.x); got != c.want {
			t.Errorf("Number(%v) = %q, want %q", c.x, got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	table := NewTable(1, "limiter", "ns", "a | b")
	table.Add("gate.Limiter", "41.7", "≤ 1x")
	table.Add("short")
	var b strings.Builder
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	const want = `| limiter      |   ns | a \| b |
|--------------|-----:|-------:|
| gate.Limiter | 41.7 |   ≤ 1x |
| short        |      |        |

`
	if got := b.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
