package replay

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func total(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// Each width is a multiple of the one before.
func TestSlotWidths(t *testing.T) {
	for i := 1; i < len(slotWidths); i++ {
		if slotWidths[i] <= slotWidths[i-1] || slotWidths[i]%slotWidths[i-1] != 0 {
			t.Errorf("%s after %s", slotWidths[i], slotWidths[i-1])
		}
	}
}

// The timeline is what is counted when all is known, for logs of an instant and
// of centuries.
func TestTimeline(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 5))
	for _, span := range []time.Duration{0, time.Microsecond, time.Millisecond, 200 * time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour, 300 * 24 * time.Hour, 280 * 365 * 24 * time.Hour} {
		var times []int64
		from := time.Date(1970, 1, 1, 0, 0, 0, 999_999_000, time.UTC).UnixMicro() + rnd.Int64N(1e12)
		for range 500 {
			times = append(times, from+rnd.Int64N(span.Microseconds()+1))
		}
		slices.Sort(times)
		var line Timeline
		for i, at := range times {
			line.add(at, i%3 != 0)
		}
		n := len(line.Admitted)
		if n == 0 || n > maxSlots || n != len(line.Refused) || total(line.Refused) != 167 || total(line.Admitted) != 333 {
			t.Fatalf("%s: %+v", span, line)
		}
		if line.From.UnixMicro()%line.Slot.Microseconds() != 0 || line.From.UnixMicro() > times[0] || times[0]-line.From.UnixMicro() >= line.Slot.Microseconds() {
			t.Errorf("%s: begins at %s, in slots of %s", span, line.From, line.Slot)
		}
		for i := range n {
			begin := line.From.UnixMicro() + int64(i)*line.Slot.Microseconds()
			var want int64
			for k, at := range times {
				if at >= begin && at < begin+line.Slot.Microseconds() && k%3 != 0 {
					want++
				}
			}
			if line.Admitted[i] != want {
				t.Fatalf("%s: slot %d has %d admitted, want %d", span, i, line.Admitted[i], want)
			}
		}
		for _, most := range []int{-1, 1, 2, 60, 1000} {
			w := line.Within(most)
			if len(w.Admitted) > max(most, 1) || total(w.Admitted) != 333 || total(w.Refused) != 167 || most >= n && len(w.Admitted) != n {
				t.Errorf("%s within %d: %+v", span, most, w)
			}
		}
	}
}

// Slots are not wider than they have to be.
func TestTimelineIsFine(t *testing.T) {
	for seconds, want := range map[int64]time.Duration{0: time.Second, 1: time.Second, 239: time.Second, 240: 5 * time.Second, 3600: 30 * time.Second, 86_400: 10 * time.Minute, 86_400 * 239: 24 * time.Hour, 86_400 * 365: 48 * time.Hour} {
		var line Timeline
		line.add(0, true)
		line.add(seconds*1e6, true)
		line.finish()
		if line.Slot != want {
			t.Errorf("%d seconds in slots of %s, want %s", seconds, line.Slot, want)
		}
	}
}

// Fractions of a second are shown where there are any.
func TestTimelineFractions(t *testing.T) {
	var line Timeline
	line.finish()
	if line.Slot != 0 {
		t.Errorf("nothing in slots of %s", line.Slot)
	}
	line.add(1_000_000, true)
	line.add(1_004_000, false)
	line.finish()
	if line.Slot != time.Millisecond || len(line.Refused) != 5 || line.Refused[4] != 1 {
		t.Errorf("%+v", line)
	}
}
