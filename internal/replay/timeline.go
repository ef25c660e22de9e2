package replay

import "time"

// maxSlots is how many slots a timeline has at most.
const maxSlots = 240

// slotWidths are the widths that slots may have; each is a multiple of the one
// before, so that slots can be put together. Above the last they double.
var slotWidths = [...]time.Duration{
	time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// Timeline counts verdicts over the time of a log, in slots of one width that
// begin at multiples of it since 1970. It has 240 slots at most, and as narrow
// ones as that allows, down to a millisecond, or to a second where no time has a
// fraction of one. The zero Timeline is empty.
type Timeline struct {
	// From is where the first slot begins, Slot how long each is.
	From time.Time
	Slot time.Duration
	// Admitted and Refused count the verdicts of each slot.
	Admitted, Refused []int64

	fractions bool // some time has one
}

// add counts a verdict at now, in microseconds, which never goes back.
func (t *Timeline) add(now int64, admitted bool) {
	if t.Slot == 0 {
		t.Slot = slotWidths[0]
		t.From = slotOf(now, t.Slot)
	}
	t.fractions = t.fractions || now%microsPerSecond != 0
	at := t.place(now)
	for at >= maxSlots {
		t.widen()
		at = t.place(now)
	}
	for int64(len(t.Admitted)) <= at {
		t.Admitted, t.Refused = append(t.Admitted, 0), append(t.Refused, 0)
	}
	if admitted {
		t.Admitted[at]++
	} else {
		t.Refused[at]++
	}
}

// place returns the slot of now.
func (t *Timeline) place(now int64) int64 {
	return (now - t.From.UnixMicro()) / t.Slot.Microseconds()
}

// slotOf returns where the slot of now begins.
func slotOf(now int64, width time.Duration) time.Time {
	w := width.Microseconds()
	return time.UnixMicro(now - (now%w+w)%w).UTC()
}

// widen puts slots together, up to those of the next width.
func (t *Timeline) widen() { *t = t.wider(wider(t.Slot)) }

// wider returns the width that comes after width.
func wider(width time.Duration) time.Duration {
	for _, w := range slotWidths {
		if w > width {
			return w
		}
	}
	return 2 * width
}

// wider returns t with slots of a width that is a multiple of its own.
func (t *Timeline) wider(width time.Duration) Timeline {
	to := Timeline{From: slotOf(t.From.UnixMicro(), width), Slot: width, fractions: t.fractions}
	for i := range t.Admitted {
		at := int(to.place(t.From.UnixMicro() + int64(i)*t.Slot.Microseconds()))
		for len(to.Admitted) <= at {
			to.Admitted, to.Refused = append(to.Admitted, 0), append(to.Refused, 0)
		}
		to.Admitted[at] += t.Admitted[i]
		to.Refused[at] += t.Refused[i]
	}
	return to
}

// finish widens slots that are narrower than what the times tell.
func (t *Timeline) finish() {
	if t.Slot > 0 && t.Slot < time.Second && !t.fractions {
		*t = t.wider(time.Second)
	}
}

// Within returns the same counts in at most n slots.
func (t *Timeline) Within(n int) Timeline {
	to := *t
	for len(to.Admitted) > max(n, 1) {
		to = to.wider(wider(to.Slot))
	}
	return to
}
