package store

import (
	"math/bits"
	"sync/atomic"

	"github.com/slidegate/slidegate/limit"
)

// refusalBits is the logarithm of how many refusals are remembered.
const refusalBits = 11

// refusals remembers of some windows and keys until when a cost does not fit, so
// that whoever is over his limit is told so without a lock. What it does not hold
// is looked up, so it may forget anything at any time. It is for the clock of the
// machine only, which does not step back.
type refusals [1 << refusalBits]refusal

// refusal says until when what check is made for is refused. Writers do not wait
// for each other, so a reader may meet the halves of two: check tells.
type refusal struct{ check, until atomic.Uint64 }

// refusalKey names a cost of a window and key under a maximum.
func refusalKey(h Name, p *limit.Params, cost int64) uint64 {
	return (h.Lo ^ bits.RotateLeft64(h.Hi, 29)) + uint64(p.Max)*0x9e3779b97f4a7c15 + uint64(p.Size)*0xc2b2ae3d27d4eb4f + uint64(cost)*0xd6e8feb86659fd93
}

// at returns the place of what is remembered of a key, if anything is.
func (r *refusals) at(key uint64) *refusal { return &r[key>>(64-refusalBits)] }

// checkOf binds a time to what it is about. voided is how often anything was given
// back: what was remembered before that does not hold.
func checkOf(key, voided, until uint64) uint64 {
	return key ^ voided*0xa0761d6478bd642f ^ bits.RotateLeft64(until*0x8ebc6af09c88c6e3, 31)
}

// refuses reports whether key is refused at now.
func (f *refusal) refuses(key uint64, voided, now int64) bool {
	until := f.until.Load()
	return now < int64(until) && f.check.Load() == checkOf(key, uint64(voided), until)
}

// set notes until when key is refused.
func (f *refusal) set(key uint64, voided, until int64) {
	f.until.Store(uint64(until))
	f.check.Store(checkOf(key, uint64(voided), uint64(until)))
}
