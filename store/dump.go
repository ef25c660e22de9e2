package store

import (
	"time"

	"github.com/slidegate/slidegate/window"
)

// How much of a shard is copied under its lock at once.
const (
	sliceRecords = 128
	sliceBytes   = 1 << 16
	slicePiece   = 1 << 12 // elements of a block
)

// stage takes copies of records and their blocks, as they lie in memory: that is quick
// enough to be done under a lock. It is written out after the lock was given back.
type stage struct {
	records []record
	short   []uint32
	long    []uint64
	slots   []window.Bucket
	sets    []window.Member
	held    []heldCopy
	holds   []hold
}

type heldCopy struct {
	name Name
	held held
	n    int
}

func (st *stage) reset() {
	st.records, st.short, st.long = st.records[:0], st.short[:0], st.long[:0]
	st.slots, st.sets = st.slots[:0], st.sets[:0]
	st.held, st.holds = st.held[:0], st.holds[:0]
}

func (st *stage) bytes() int {
	return len(st.records)*48 + len(st.short)*4 + len(st.long)*8 + len(st.slots)*16 + len(st.sets)*48 + len(st.holds)*48
}

// put copies a record. Unless forced it does so only if there is room for the block.
func (st *stage) put(s *shard, r *record, force bool) bool {
	fits := true
	switch r.kind() {
	case kindShortLog:
		if r.aux&auxRing != 0 {
			st.short, fits = stagePut(st.short, s.short.block(r.ref), force)
		}
	case kindMarks:
		st.short, fits = stagePut(st.short, s.short.block(r.ref), force)
	case kindLongLog, kindHolders, kindWeighted:
		st.long, fits = stagePut(st.long, s.long.block(r.ref), force)
	case kindBuckets:
		st.slots, fits = stagePut(st.slots, s.slots.block(r.ref), force)
	case kindMembers, kindByCalendar:
		st.sets, fits = stagePut(st.sets, s.sets.block(r.ref), force)
	}
	if fits {
		c := *r
		if r.hasBlock() {
			c.ref = blockLen(s, r)
		}
		st.records = append(st.records, c)
	}
	return fits
}

func stagePut[T any](to, block []T, force bool) ([]T, bool) {
	if !force && len(block) > cap(to)-len(to) {
		return to, false
	}
	return append(to, block...), true
}

// hasBlock reports whether ref names a block; elsewhere it is a part of the state.
func (r *record) hasBlock() bool {
	return r.kind() != kindMeter && (r.kind() != kindShortLog || r.aux&auxRing != 0)
}

// blockLen returns the length of the block of a record.
func blockLen(s *shard, r *record) uint32 {
	if !r.hasBlock() {
		return 0
	}
	switch r.kind() {
	case kindShortLog, kindMarks:
		return uint32(len(s.short.block(r.ref)))
	case kindLongLog, kindHolders, kindWeighted:
		return uint32(len(s.long.block(r.ref)))
	case kindBuckets:
		return uint32(len(s.slots.block(r.ref)))
	case kindMembers, kindByCalendar:
		return uint32(len(s.sets.block(r.ref)))
	}
	return 0
}

// grow makes room for the block of a record, in memory that has been touched.
func (st *stage) grow(n int) {
	st.short, st.long = stageGrow(st.short, n), stageGrow(st.long, n)
	st.slots, st.sets = stageGrow(st.slots, n), stageGrow(st.sets, n)
}

func stageGrow[T any](have []T, n int) []T {
	if cap(have) >= n {
		return have
	}
	grown := make([]T, n)
	clear(grown)
	return grown[:0]
}

func (st *stage) putHeld(name Name, h *held) {
	st.held = append(st.held, heldCopy{name: name, held: held{base: h.base, charges: h.charges, release: h.release}, n: len(h.list)})
	st.holds = append(st.holds, h.list...)
}

// shardCopy is a copy of a shard in the making. It is of the instant at which it was
// begun: what is changed before it was copied is copied first. Records are copied from
// the last to the first, because the last takes the place of one that is deleted.
// It is guarded by the lock of the shard.
type shardCopy struct {
	cursor int // records from here on are copied, or newer
	saved  map[Name]struct{}
	heldOf map[Name]struct{}
	stage  *stage // what was saved
}

// touch saves a record that is perhaps about to be changed.
func (c *shardCopy) touch(s *shard, id int, r *record) {
	if id >= c.cursor {
		return
	}
	if _, done := c.saved[r.hash]; !done {
		c.saved[r.hash] = struct{}{}
		c.stage.put(s, r, true)
	}
}

// remove is called before a record is deleted and the last takes its place.
func (c *shardCopy) remove(s *shard, id int) {
	last := s.n - 1
	if last >= c.cursor && id < c.cursor {
		c.saved[s.at(last).hash] = struct{}{}
	}
	c.cursor = min(c.cursor, last)
}

// touchHeld does the same for what is held of a window; h is nil for nothing.
func (c *shardCopy) touchHeld(name Name, h *held) {
	if _, done := c.heldOf[name]; done {
		return
	}
	c.heldOf[name] = struct{}{}
	if h != nil {
		c.stage.putHeld(name, h)
	}
}

// dumper writes a store out, shard after shard.
type dumper struct {
	m       *Memory
	out     func(part []byte) error
	mark    func() uint64
	gently  bool
	part    []byte
	stage   stage
	spare   *stage
	clock   func() time.Duration
	locked  time.Duration // when the lock that is held was taken
	longest time.Duration
	worked  time.Duration // since the last rest
	counts  shardCounts
}

// Dump writes the whole state out in parts, for a [Loader]. Each shard is of one
// instant, and mark, which is called under its lock, says which: the number of the last
// record that Effects were given. Decisions go on: a lock is held for one slice of a
// shard at a time. The longest that one was held is returned. Gently leaves half the
// time of a processor to others.
func (m *Memory) Dump(mark func() uint64, gently bool, out func(part []byte) error) (longest time.Duration, err error) {
	began := time.Now()
	d := &dumper{m: m, out: out, mark: mark, gently: gently, clock: func() time.Duration { return time.Since(began) }}
	return d.dump()
}

func (d *dumper) dump() (longest time.Duration, err error) {
	d.spare = &stage{}
	d.stage.records = make([]record, 0, sliceRecords)
	d.stage.grow(sliceBytes / 8)
	d.head()
	if err := d.flush(0); err != nil {
		return 0, err
	}
	for i := range d.m.shards {
		if err := d.shard(i); err != nil {
			return d.longest, err
		}
	}
	d.part = append(d.part, partEnd)
	return d.longest, d.flush(0)
}

func (d *dumper) lock(s *shard) {
	s.mu.Lock()
	d.locked = d.clock()
}

func (d *dumper) unlock(s *shard) {
	held := d.clock() - d.locked
	s.mu.Unlock()
	d.longest = max(d.longest, held)
}

// flush gives a part out when it is at least so long.
func (d *dumper) flush(least int) error {
	if len(d.part) == 0 || len(d.part) < least {
		return nil
	}
	err := d.out(d.part)
	d.part = d.part[:0]
	return err
}

func (d *dumper) shard(i int) error {
	s := &d.m.shards[i]
	d.counts = shardCounts{}
	d.lock(s)
	c := &shardCopy{cursor: s.n, saved: map[Name]struct{}{}, heldOf: map[Name]struct{}{}, stage: &stage{}}
	s.copy = c
	d.beginShard(i, s)
	d.unlock(s)
	err := d.records(s, c)
	if err == nil {
		err = d.maps(s, c)
	}
	d.lock(s)
	s.copy = nil
	d.unlock(s)
	if err != nil {
		return err
	}
	d.write(&d.stage)
	d.write(c.stage)
	d.endShard()
	return d.flush(0)
}

// records copies the slab, from its end.
func (d *dumper) records(s *shard, c *shardCopy) error {
	for {
		began := d.clock()
		d.lock(s)
		wants := d.slice(s, c)
		done := c.cursor == 0
		c.stage, d.spare = d.spare, c.stage
		d.unlock(s)
		d.write(&d.stage)
		d.write(d.spare)
		if err := d.flush(1 << 16); err != nil {
			return err
		}
		d.rest(began)
		if done {
			return nil
		}
		d.stage.grow(wants)
	}
}

// slice copies some records. It returns how long a block is for which there was no
// room.
func (d *dumper) slice(s *shard, c *shardCopy) (wants int) {
	for range sliceRecords {
		if c.cursor == 0 || d.stage.bytes() > sliceBytes {
			return 0
		}
		r := s.at(c.cursor - 1)
		_, done := c.saved[r.hash]
		switch n := int(blockLen(s, r)); {
		case done:
		case n > slicePiece:
			if len(d.stage.records) > 0 {
				return 0
			}
			if cap(d.stage.short) < n || cap(d.stage.sets) < n {
				return n
			}
			d.pieces(s, c, n)
			return 0
		case !d.stage.put(s, r, false):
			if len(d.stage.records) > 0 {
				return 0
			}
			return n
		}
		c.cursor--
	}
	return 0
}

// pieces copies the next record, whose block is long, and gives the lock back in
// between. If the record was touched meanwhile it has been saved, or lies elsewhere.
func (d *dumper) pieces(s *shard, c *shardCopy, n int) {
	name := s.at(c.cursor - 1).hash
	for from := 0; from < n; from += slicePiece {
		if from > 0 {
			d.unlock(s)
			d.lock(s)
			if _, saved := c.saved[name]; saved || c.cursor == 0 || s.at(c.cursor-1).hash != name {
				d.stage.reset()
				return
			}
		}
		d.stage.piece(s, s.at(c.cursor-1), from, min(from+slicePiece, n))
	}
	r := *s.at(c.cursor - 1)
	r.ref = uint32(n)
	d.stage.records = append(d.stage.records, r)
	c.cursor--
}

// piece copies a part of the block of a record.
func (st *stage) piece(s *shard, r *record, from, to int) {
	switch r.kind() {
	case kindShortLog, kindMarks:
		st.short = append(st.short, s.short.block(r.ref)[from:to]...)
	case kindBuckets:
		st.slots = append(st.slots, s.slots.block(r.ref)[from:to]...)
	case kindMembers, kindByCalendar:
		st.sets = append(st.sets, s.sets.block(r.ref)[from:to]...)
	default:
		st.long = append(st.long, s.long.block(r.ref)[from:to]...)
	}
}

// rest lets others work for as long as the dumper has, from time to time.
func (d *dumper) rest(began time.Duration) {
	const work = time.Millisecond
	if d.worked += d.clock() - began; d.gently && d.worked >= work {
		time.Sleep(min(d.worked, 4*work)) // longer only if the machine took the time
		d.worked = 0
	}
}

// maps copies what lies in maps. A map may be changed between the steps of a walk over
// it: what was there at the beginning is met, unless it is deleted. What is held was
// saved then; of the rest, the record that deleted it, or that changed it since, says
// so again.
func (d *dumper) maps(s *shard, c *shardCopy) error {
	d.lock(s)
	defer func() { d.unlock(s) }()
	for name, h := range s.held {
		if _, done := c.heldOf[name]; !done {
			c.heldOf[name] = struct{}{}
			d.stage.putHeld(name, h)
		}
		if err := d.breathe(s); err != nil {
			return err
		}
	}
	for seq, exp := range s.refunded {
		d.refunded(seq, exp)
		if err := d.breathe(s); err != nil {
			return err
		}
	}
	for name, t := range s.resets {
		d.reset(name, t)
		if err := d.breathe(s); err != nil {
			return err
		}
	}
	for name, l := range s.locks {
		d.lockOf(name, l)
		if err := d.breathe(s); err != nil {
			return err
		}
	}
	return nil
}

// breathe gives the lock back for a moment once it was held for a while.
func (d *dumper) breathe(s *shard) error {
	const while = 50 * time.Microsecond
	if d.clock()-d.locked < while {
		return nil
	}
	began := d.locked
	d.unlock(s)
	defer d.lock(s)
	d.write(&d.stage)
	err := d.flush(1 << 16)
	d.rest(began)
	return err
}
