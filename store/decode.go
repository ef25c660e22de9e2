package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/window"
)

// ErrDamaged says that what is to be loaded does not come from a store, or was changed
// since.
var ErrDamaged = errors.New("store: damaged state")

// reader reads what shardLog and parts are made of. After the first thing that is wrong
// it reads zeros, and err says what that was.
type reader struct {
	b   []byte
	at  int
	err error
}

func (r *reader) failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: byte %d: %s", ErrDamaged, r.at, fmt.Sprintf(format, args...))
	}
	r.at = len(r.b)
}

func (r *reader) more() bool { return r.err == nil && r.at < len(r.b) }

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b)-r.at {
		r.failf("%d bytes are wanted, %d are left", n, len(r.b)-r.at)
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at]
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) fixed32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) fixed() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) name() (n Name) {
	n.Hi = r.fixed()
	n.Lo = r.fixed()
	return n
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.b[r.at:])
	if n <= 0 {
		r.failf("a number is cut short or too long")
		return 0
	}
	r.at += n
	return v
}

func (r *reader) signed() int64 {
	v, n := binary.Varint(r.b[r.at:])
	if n <= 0 {
		r.failf("a number is cut short or too long")
		return 0
	}
	r.at += n
	return v
}

// amount reads a number of 0 to most.
func (r *reader) amount(what string, most uint64) int64 {
	v := r.number()
	if v > most {
		r.failf("%s %d: at most %d", what, v, most)
		return 0
	}
	return int64(v)
}

// items reads how many things follow that take at least so many bytes each.
func (r *reader) items(what string, size int) int {
	return int(r.amount(what, uint64(len(r.b)-r.at)/uint64(size)))
}

func (r *reader) text() []byte { return r.take(r.items("length", 1)) }

// period is the one of a calendar that a charge was made in.
type period struct{ start, end int64 }

func (p *period) Period(int64) (start, end int64) { return p.start, p.end }

// params reads parameters, and holds them to what the algorithms need in order to
// compute with them.
func (r *reader) params() *limit.Params {
	p := &limit.Params{Algorithm: limit.Algorithm(r.byte())}
	given := r.byte()
	for i, v := range paramFields(p) {
		if given&(1<<i) != 0 {
			*v = r.signed()
		}
		if *v < 0 || *v > limit.MaxUnits {
			r.failf("parameter %d: %d", i, *v)
		}
	}
	if given&paramPeriods != 0 {
		p.Periods = &period{r.signed(), r.signed()}
	}
	if r.err == nil && !sane(p) {
		r.failf("parameters of %v", p.Algorithm)
	}
	return p
}

func sane(p *limit.Params) bool {
	switch a := p.Algorithm; {
	case !a.Valid(), (a == limit.Calendar) && p.Periods == nil, p.Periods != nil && a != limit.Calendar && a != limit.Distinct:
		return false
	case p.Wait > 0 && a != limit.GCRA, p.Periods == nil && (p.Size < 1 || p.Size > limit.MaxSize):
		return false
	case a == limit.SlidingLog || a == limit.Inflight:
		return p.Max <= limit.MaxLog
	case a == limit.Distinct:
		return p.Max <= limit.MaxMembers
	case a == limit.Events:
		return p.Size <= limit.MaxEvents
	case a == limit.SlidingBuckets:
		return p.Step >= 1 && p.Buckets >= 1 && p.Buckets <= limit.MaxBuckets
	case a == limit.GCRA:
		return p.Max == 0 || p.Step >= 1
	}
	return true
}

// charge reads what a charge is.
func (r *reader) charge(n Name) (it Item, flags byte, wait int64, seq uint64) {
	flags = r.byte()
	it = Item{Name: n, Limit: r.params()}
	it.Cost = r.amount("cost", math.MaxInt64)
	wait = r.amount("wait", limit.MaxUnits)
	seq = r.amountSeq()
	if it.Limit.Algorithm == limit.Distinct {
		for range r.items("members", 16) {
			h := r.name()
			it.given = append(it.given, window.Hash{Hi: h.Hi, Lo: h.Lo})
		}
	}
	return it, flags, wait, seq
}

// maxSeq is over every number of a charge.
const maxSeq = 1 << 62

func (r *reader) amountSeq() uint64 { return uint64(r.amount("number of a charge", maxSeq-1)) }

// receipt reads a receipt of a window.
func (r *reader) receipt(n Name) (c slidegate.Receipt, flags byte) {
	flags = r.byte()
	c = slidegate.Receipt{Window: [2]uint64{n.Hi, n.Lo}, Kind: slidegate.ReceiptKind(r.byte())}
	c.Stamp = r.signed()
	c.Amount = r.amount("amount", math.MaxInt64)
	c.Seq = r.amountSeq()
	return c, flags
}

// hold reads a hold.
func (r *reader) hold() (x hold, amount int64) {
	x.seq = r.amountSeq()
	x.at, x.until, x.gone, x.stamp = r.signed(), r.signed(), r.signed(), r.signed()
	return x, r.amount("amount", math.MaxInt64)
}

// lock reads how a lock stands.
func (r *reader) lock() *locked {
	l := &locked{window: NewWindow(string(r.text()))}
	l.key = append(l.key, r.text()...)
	l.since, l.until, l.gone = r.signed(), r.signed(), r.signed()
	l.times = int(r.amount("times", math.MaxInt32))
	return l
}
