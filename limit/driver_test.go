package limit

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/slidegate/slidegate/window"
)

// driver runs one state the way a store does: advance, judge, make room, charge;
// a cost of 0 only judges.
type driver interface {
	check(p Params, now, cost int64) Result
	record(p Params, now, cost int64) Result
}

func newDriver(a Algorithm, wide bool) driver {
	switch {
	case a == SlidingLog && wide:
		return &logDriver[uint64]{}
	case a == SlidingLog:
		return &logDriver[uint32]{}
	case a == SlidingBuckets:
		return &bucketDriver{}
	case a == GCRA:
		return &plainDriver{s: &Meter{TAT: EmptyMeter().TAT}}
	case a == Fixed || a == Calendar:
		return &plainDriver{s: &Counter{}}
	case a == SlidingCounter:
		return &plainDriver{s: &Weighted{}}
	case a == Inflight:
		return &holdersDriver{}
	default:
		return &marksDriver{}
	}
}

// settle is what a check answers after its charge.
func settle(r, now Result) Result {
	r.Used, r.Remaining, r.Reset = now.Used, now.Remaining, now.Reset
	return r
}

// settleRecord is the same for a charge that was made in any case.
func settleRecord(r, again, now Result) Result {
	r = settle(r, now)
	if !r.OK {
		r.Retry = again.Retry
	}
	return r
}

type logDriver[S window.Stamp] struct{ Log[S] }

func (d *logDriver[S]) room(cost int64) {
	if need := d.Need(uint32(cost)); need > len(d.Ring) {
		d.Move(make([]S, need+need/4))
	}
}

func (d *logDriver[S]) check(p Params, now, cost int64) Result {
	if cost == 0 {
		return d.Judge(p, now, 0)
	}
	d.Advance(p, now)
	r := d.Judge(p, now, cost)
	if r.OK {
		d.room(cost)
		d.Charge(p, now, cost)
		r = settle(r, d.Judge(p, now, 0))
	}
	return r
}

func (d *logDriver[S]) record(p Params, now, cost int64) Result {
	if cost == 0 {
		return d.Judge(p, now, 0)
	}
	d.Advance(p, now)
	r := d.Judge(p, now, cost)
	d.room(max(p.Max-int64(d.Len), 0))
	d.Record(p, now, cost)
	return settleRecord(r, d.Judge(p, now, cost), d.Judge(p, now, 0))
}

type bucketDriver struct{ Buckets }

func (d *bucketDriver) room(p Params, now int64) {
	if d.NeedSlot(p, now) {
		d.Move(make([]window.Bucket, len(d.Ring)+2))
	}
}

func (d *bucketDriver) check(p Params, now, cost int64) Result {
	if cost == 0 {
		return d.Judge(p, now, 0)
	}
	d.Advance(p, now)
	r := d.Judge(p, now, cost)
	if r.OK {
		d.room(p, now)
		d.Charge(p, now, cost)
		r = settle(r, d.Judge(p, now, 0))
	}
	return r
}

func (d *bucketDriver) record(p Params, now, cost int64) Result {
	if cost == 0 {
		return d.Judge(p, now, 0)
	}
	d.Advance(p, now)
	r := d.Judge(p, now, cost)
	d.room(p, now)
	d.Record(p, now, cost)
	return settleRecord(r, d.Judge(p, now, cost), d.Judge(p, now, 0))
}

// plain is a state that needs no room.
type plain interface {
	Advance(Params, int64)
	Judge(p Params, now, cost int64) Result
	Charge(p Params, now, cost int64) Charged
	Record(p Params, now, cost int64) Charged
	Refund(now int64, c Charged) bool
}

type plainDriver struct{ s plain }

func (d *plainDriver) check(p Params, now, cost int64) Result {
	if cost == 0 {
		return d.s.Judge(p, now, 0)
	}
	d.s.Advance(p, now)
	r := d.s.Judge(p, now, cost)
	if r.OK {
		d.s.Charge(p, now, cost)
		r = settle(r, d.s.Judge(p, now, 0))
	}
	return r
}

func (d *plainDriver) record(p Params, now, cost int64) Result {
	if cost == 0 {
		return d.s.Judge(p, now, 0)
	}
	d.s.Advance(p, now)
	r := d.s.Judge(p, now, cost)
	d.s.Record(p, now, cost)
	return settleRecord(r, d.s.Judge(p, now, cost), d.s.Judge(p, now, 0))
}

type holdersDriver struct{ Holders }

func (d *holdersDriver) check(p Params, now, cost int64) Result {
	if cost == 0 {
		return d.Judge(p, now, 0)
	}
	d.Advance(p, now)
	r := d.Judge(p, now, cost)
	if r.OK {
		if need := d.Need(uint32(cost)); need > len(d.Ring) {
			d.Move(make([]uint64, need+need/4))
		}
		d.Charge(p, now, cost)
		r = settle(r, d.Judge(p, now, 0))
	}
	return r
}

// record is check: nobody could release who was refused.
func (d *holdersDriver) record(p Params, now, cost int64) Result { return d.check(p, now, cost) }

// renew releases holders and charges as many now, and returns what they hold from
// now on, or false if they were gone.
func (d *holdersDriver) renew(p Params, now int64, c Charged) (Charged, bool) {
	d.Advance(p, now)
	before := d.Len
	if !d.Refund(now, c) {
		return c, false
	}
	return d.Charge(p, now, int64(before-d.Len)), true
}

// membersDriver is charged with members, and its charges have the numbers of its
// calls.
type membersDriver struct {
	Members

	batch   uint64
	charged Charged
}

// hashes names members as a store does, one hash for each text.
func hashes(members []string) (given []window.Hash) {
	for _, m := range members {
		h := fnv.New128a()
		h.Write([]byte(m))
		sum := h.Sum(nil)
		given = append(given, window.Hash{Hi: binary.BigEndian.Uint64(sum), Lo: binary.BigEndian.Uint64(sum[8:])})
	}
	return given
}

func (d *membersDriver) check(p Params, now int64, members []string) Result {
	given := hashes(members)
	if len(given) == 0 {
		return d.Judge(p, now, nil)
	}
	d.Advance(p, now)
	r := d.Judge(p, now, given)
	if r.OK {
		d.room(len(given))
		d.batch++
		d.charged = d.Charge(p, now, given, d.batch)
		r = settle(r, d.Judge(p, now, nil))
	}
	return r
}

func (d *membersDriver) record(p Params, now int64, members []string) Result {
	given := hashes(members)
	if len(given) == 0 {
		return d.Judge(p, now, nil)
	}
	d.Advance(p, now)
	r := d.Judge(p, now, given)
	d.room(len(given))
	d.batch++
	d.charged = d.Record(p, now, given, d.batch)
	return settleRecord(r, d.Judge(p, now, given), d.Judge(p, now, nil))
}

func (d *membersDriver) room(n int) {
	if need := int(d.Len) + n; need > len(d.Slots) {
		d.Move(make([]window.Member, need+need/4))
	}
}

type marksDriver struct{ Marks }

func (d *marksDriver) check(p Params, now, cost int64) Result {
	if cost == 0 {
		return d.Judge(p, now, 0)
	}
	d.Advance(p, now)
	r := d.Judge(p, now, cost)
	if !r.OK {
		d.Enter(p)
		return r
	}
	if need := d.Need(1); need > len(d.Ring) {
		d.Move(make([]uint32, need+need/4))
	}
	d.Charge(p, now, cost)
	return settle(r, d.Judge(p, now, 0))
}

func (d *marksDriver) record(p Params, now, cost int64) Result { return d.check(p, now, cost) }
