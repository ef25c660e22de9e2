package measure

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// key returns the text of the i-th key. It is made anew each time, as keys of
// requests are: a limiter that keeps the text pays for it.
func key(i int) string { return fmt.Sprintf("user-%07d", i) }

func keys(n int) []string {
	ks := make([]string, n)
	for i := range ks {
		ks[i] = key(i)
	}
	return ks
}

// orderLen is how many draws an order holds before it starts again: a power of
// two, so that it is walked with a mask; a million where there are many keys.
func orderLen(keys int) int { return min(1<<20, 1<<bits.Len(uint(16*keys))) }

// order returns the keys that one goroutine asks for, by number. It is drawn
// before the clock starts, from a fixed seed: all limiters meet the same keys.
func order(c *Case, goroutine int) []uint32 {
	if c.Keys == 1 {
		return []uint32{0}
	}
	r := rand.New(rand.NewPCG(1, uint64(goroutine)))
	draw := func() uint64 { return r.Uint64N(uint64(c.Keys)) }
	if c.Zipf > 0 {
		z := rand.NewZipf(r, c.Zipf, 1, uint64(c.Keys-1))
		draw = z.Uint64
	}
	ns := make([]uint32, orderLen(c.Keys))
	for i := range ns {
		ns[i] = uint32(draw())
	}
	return ns
}
