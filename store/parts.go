package store

import (
	"encoding/binary"
	"math"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/window"
)

// What parts are made of. See docs/format/journal.md.
const (
	partHead    = 'S' // of a store
	partShard   = 'B'
	partWindow  = 'W'
	partHeld    = 'H'
	partRefund  = 'F'
	partReset   = 'R'
	partLock    = 'L'
	partShardOK = 'E' // the end of a shard, with what was in it
	partEnd     = 'Z'
)

// shardCounts is how many of each there are in a shard.
type shardCounts struct{ windows, held, refunds, resets, locks uint64 }

func (c *shardCounts) all() [5]*uint64 {
	return [...]*uint64{&c.windows, &c.held, &c.refunds, &c.resets, &c.locks}
}

func (d *dumper) number(n uint64) { d.part = binary.AppendUvarint(d.part, n) }
func (d *dumper) signed(n int64)  { d.part = binary.AppendVarint(d.part, n) }

func (d *dumper) text(b []byte) {
	d.number(uint64(len(b)))
	d.part = append(d.part, b...)
}

func (d *dumper) begin(kind byte, n Name) { d.part = appendName(append(d.part, kind), n) }

func (d *dumper) head() {
	d.part = append(d.part, partHead)
	d.part = binary.LittleEndian.AppendUint64(d.part, d.m.seed)
	d.number(shardCount)
}

func (d *dumper) beginShard(i int, s *shard) {
	d.part = append(d.part, partShard, byte(i))
	d.number(d.mark())
	d.signed(s.last)
	d.number(s.seq)
	d.number(uint64(len(s.lost)))
	for _, x := range s.lost {
		d.number(x.after)
		d.number(x.to)
	}
}

func (d *dumper) endShard() {
	d.part = append(d.part, partShardOK)
	for _, n := range d.counts.all() {
		d.number(*n)
	}
}

func (d *dumper) refunded(seq uint64, exp int64) {
	d.part = append(d.part, partRefund)
	d.number(seq)
	d.signed(exp)
	d.counts.refunds++
}

func (d *dumper) reset(n Name, t tombmark) {
	d.begin(partReset, n)
	d.number(t.seq)
	d.signed(t.exp)
	d.counts.resets++
}

func (d *dumper) lockOf(n Name, l *locked) {
	d.begin(partLock, n)
	d.text([]byte(l.window.id))
	d.text(l.key)
	d.signed(l.since)
	d.signed(l.until)
	d.signed(l.gone)
	d.number(uint64(l.times))
	d.counts.locks++
}

// write writes what was staged, and empties the stage.
func (d *dumper) write(st *stage) {
	var short, long, slots, sets uint32
	for i := range st.records {
		r := &st.records[i]
		d.begin(partWindow, r.hash)
		d.part = append(d.part, byte(r.kind()))
		d.signed(r.exp)
		switch k := r.kind(); k {
		case kindShortLog:
			if r.aux&auxRing == 0 {
				d.tiny(r)
				break
			}
			writeLog(d, r, st.short[short:short+r.ref])
			short += r.ref
		case kindMarks:
			d.number(uint64(r.aux >> 8))
			writeLog(d, r, st.short[short:short+r.ref])
			short += r.ref
		case kindLongLog, kindHolders:
			writeLog(d, r, st.long[long:long+r.ref])
			long += r.ref
		case kindWeighted:
			d.signed(int64(r.t))
			d.number(r.x)
			d.number(st.long[long])
			long += r.ref
		case kindBuckets:
			d.buckets(r, st.slots[slots:slots+r.ref])
			slots += r.ref
		case kindMembers, kindByCalendar:
			d.members(r, st.sets[sets:sets+r.ref])
			sets += r.ref
		case kindMeter:
			m := r.meter()
			d.signed(m.TAT)
			d.number(m.Shift)
			d.number(uint64(m.Held))
		default:
			d.signed(int64(r.t))
			d.number(r.x)
		}
		d.counts.windows++
	}
	d.holds(st)
	st.reset()
}

// tiny writes a log that lies in its record.
func (d *dumper) tiny(r *record) {
	var s shard
	var l window.Log[uint32]
	s.loadShort(&l, r)
	writeLogOf(d, &l)
}

func writeLog[S window.Stamp](d *dumper, r *record, ring []S) {
	var l window.Log[S]
	loadLog(&l, r, ring)
	writeLogOf(d, &l)
}

// writeLogOf writes the number of hits, the newest, and how long before its follower
// each of the others was.
func writeLogOf[S window.Stamp](d *dumper, l *window.Log[S]) {
	d.number(uint64(l.Len))
	d.signed(l.Newest)
	age := uint64(0)
	for i := int(l.Len) - 2; i >= 0; i-- {
		older := l.Age(uint32(i), l.Newest)
		d.number(older - age)
		age = older
	}
}

func (d *dumper) buckets(r *record, ring []window.Bucket) {
	b := window.Buckets{Base: r.t, Len: uint32(r.x), Head: uint32(r.x >> 32), Ring: ring}
	d.number(uint64(r.aux >> 8))
	d.number(b.Base)
	d.number(uint64(b.Len))
	tick, cum := int64(0), b.Base
	for i := range b.Len {
		e := b.At(i)
		d.signed(e.Tick - tick)
		d.number(e.Cum - cum)
		tick, cum = e.Tick, e.Cum
	}
}

func (d *dumper) members(r *record, slots []window.Member) {
	m := window.Members{Len: uint32(r.x), Oldest: uint32(r.t >> 32), Newest: uint32(r.t), Slots: slots}
	d.number(uint64(m.Len))
	seen := int64(0)
	for place := m.Oldest; place != 0; place = m.Newer(place) {
		h := m.Hash(place)
		d.part = appendName(d.part, Name{h.Hi, h.Lo})
		d.signed(m.Seen(place) - seen)
		d.number(slots[place-1].Batch)
		seen = m.Seen(place)
	}
}

func (d *dumper) holds(st *stage) {
	at := 0
	for i := range st.held {
		c := &st.held[i]
		c.held.list = st.holds[at : at+c.n]
		at += c.n
		d.begin(partHeld, c.name)
		var f byte
		if c.held.charges {
			f |= holdCharges
		}
		if c.held.release {
			f |= holdRelease
		}
		d.part = append(d.part, f)
		d.number(uint64(c.n))
		for j := range c.held.list {
			x := &c.held.list[j]
			d.number(x.seq)
			d.signed(x.at)
			d.signed(x.until)
			d.signed(x.gone)
			d.signed(x.stamp)
			d.number(uint64(c.held.amount(j)))
		}
		d.counts.held++
	}
}

// Part loads one part of a dump. The error wraps ErrDamaged.
func (l *Loader) Part(part []byte) error {
	r := &reader{b: part}
	for r.more() {
		l.load(r)
	}
	return r.err
}

// Whole reports whether all parts of a dump were loaded.
func (l *Loader) Whole() bool { return l.shards > shardCount }

func (l *Loader) load(r *reader) {
	kind := r.byte()
	switch {
	case l.Whole():
		r.failf("more follows the end")
	case kind == partHead && !l.begun:
		l.m.seed = r.fixed()
		l.begun = r.number() == shardCount
		if !l.begun {
			r.failf("not %d shards", shardCount)
		}
	case kind == partShard && l.begun && !l.inShard && l.shards < shardCount:
		l.loadShard(r)
	case kind == partEnd && !l.inShard && l.shards == shardCount:
		l.shards++
	case l.inShard:
		l.loadIn(r, &l.m.shards[l.shards], kind)
	default:
		r.failf("part %q is out of place", kind)
	}
}

func (l *Loader) loadShard(r *reader) {
	if i := r.byte(); int(i) != l.shards {
		r.failf("shard %d in place of %d", i, l.shards)
	}
	s := &l.m.shards[l.shards]
	l.upTo[l.shards] = r.number()
	last := r.signed()
	s.seq = r.amountSeq()
	for range r.amount("losses", maxLost) {
		s.lost = append(s.lost, span{r.amountSeq(), r.amountSeq()})
	}
	l.latest = max(l.latest, last)
	l.inShard, l.counts = true, shardCounts{}
}

func (l *Loader) loadIn(r *reader, s *shard, kind byte) {
	switch kind {
	case partWindow:
		s.loadWindow(r)
		l.counts.windows++
	case partHeld:
		s.loadHeld(r)
		l.counts.held++
	case partRefund:
		if s.refunded == nil {
			s.refunded = map[uint64]int64{}
		}
		seq := r.number()
		s.refunded[seq] = r.signed()
		l.counts.refunds++
	case partReset:
		if s.resets == nil {
			s.resets = map[Name]tombmark{}
		}
		n := r.name()
		s.resets[n] = tombmark{seq: r.number(), exp: r.signed()}
		l.counts.resets++
	case partLock:
		n := r.name()
		if x := r.lock(); r.err == nil {
			s.setLock(n, x)
		}
		l.counts.locks++
	case partShardOK:
		for _, n := range l.counts.all() {
			if want := r.number(); want != *n {
				r.failf("shard %d holds %d of what there are %d", l.shards, *n, want)
			}
		}
		l.shards++
		l.inShard = false
	default:
		r.failf("part %q is out of place", kind)
	}
}

// loadWindow loads the state of one window.
func (s *shard) loadWindow(r *reader) {
	n, k, exp := r.name(), kind(r.byte()), r.signed()
	if r.err == nil && s.find(n) != nil {
		r.failf("a window comes twice")
	}
	if r.err != nil {
		return
	}
	rec := s.insert(n)
	rec.aux, rec.exp = uint32(k), exp
	switch k {
	case kindShortLog:
		s.readShort(r, rec)
	case kindMarks:
		rec.aux |= uint32(r.amount("checks", 1<<24-1)) << 8
		readLog(r, rec, &s.short, limit.MaxEvents)
	case kindLongLog, kindHolders:
		readLog(r, rec, &s.long, limit.MaxLog)
	case kindWeighted:
		rec.t = uint64(r.signed())
		rec.x = uint64(r.amount("count", limit.MaxUnits))
		ref, block := s.long.alloc(1)
		rec.ref, block[0] = ref, uint64(r.amount("count", limit.MaxUnits))
	case kindBuckets:
		s.readBuckets(r, rec)
	case kindMembers, kindByCalendar:
		s.readMembers(r, rec)
	case kindMeter:
		m := limit.Meter{TAT: r.signed(), Shift: r.number(), Held: r.amount("backlog", 1<<56-1)}
		rec.saveMeter(&m)
	case kindCounter, kindCalendar:
		rec.t = uint64(r.signed())
		rec.x = uint64(r.amount("count", math.MaxInt64))
	default:
		rec.aux = uint32(kindCounter) // it holds nothing
		r.failf("a window of unknown kind %d", k)
	}
}

// logHead reads how many hits a log has, and the newest.
func (r *reader) logHead(most int) (n uint32, newest int64) {
	n = uint32(r.amount("hits", uint64(min(most, len(r.b)))))
	return n, r.signed()
}

// readShort reads a log, which lies in its record if it is short.
func (s *shard) readShort(r *reader, rec *record) {
	n, newest := r.logHead(limit.MaxLog)
	l := window.Log[uint32]{Newest: newest, Len: n, Ring: s.tiny[:]}
	s.tiny = [tinyRing]uint32{}
	if n > tinyHits {
		rec.ref, l.Ring = s.short.alloc(int(n) - 1)
		rec.aux |= auxRing
	}
	readHits(r, &l)
	s.saveShort(&l, rec)
}

func readLog[S window.Stamp](r *reader, rec *record, a *arena[S], most int) {
	n, newest := r.logHead(most)
	l := window.Log[S]{Newest: newest, Len: n}
	if n > 1 {
		rec.ref, l.Ring = a.alloc(int(n) - 1)
	}
	readHits(r, &l)
	rec.saveLog(l.Newest, 0, l.Len)
}

func readHits[S window.Stamp](r *reader, l *window.Log[S]) {
	age := uint64(0)
	for i := int(l.Len) - 2; i >= 0; i-- {
		age += r.number()
		l.Ring[i] = S(uint64(l.Newest) - age)
	}
}

func (s *shard) readBuckets(r *reader, rec *record) {
	span := r.amount("slices", limit.MaxBuckets)
	b := limit.Buckets{Buckets: window.Buckets{Base: r.number()}}
	b.Len = uint32(r.amount("slices", uint64(span)+1))
	if b.Len > 0 {
		rec.ref, b.Ring = s.slots.alloc(int(b.Len))
	}
	tick, cum := int64(0), b.Base
	for i := range b.Len {
		tick += r.signed()
		cum += r.number()
		b.Ring[i] = window.Bucket{Tick: tick, Cum: cum}
	}
	rec.aux |= uint32(span) << 8
	rec.saveBuckets(&b)
}

func (s *shard) readMembers(r *reader, rec *record) {
	n := r.amount("members", uint64(min(limit.MaxMembers, len(r.b)/16)))
	var m limit.Members
	if n > 0 {
		rec.ref, m.Slots = s.sets.alloc(int(n))
		clear(m.Slots)
	}
	seen := int64(0)
	for range n {
		h := r.name()
		seen += r.signed()
		batch := r.number()
		if m.Find(window.Hash{Hi: h.Hi, Lo: h.Lo}) != 0 {
			r.failf("a member comes twice")
		}
		if r.err != nil {
			break
		}
		m.Add(window.Hash{Hi: h.Hi, Lo: h.Lo}, seen, batch)
	}
	rec.saveMembers(&m)
}

func (s *shard) loadHeld(r *reader) {
	n, flags := r.name(), r.byte()
	if s.held[n] != nil {
		r.failf("what is held of a window comes twice")
	}
	for range r.items("holds", 6) {
		x, amount := r.hold()
		if h := s.held[n]; h != nil && x.seq <= h.list[len(h.list)-1].seq {
			r.failf("hold %d comes after a later one", x.seq)
		}
		if r.err != nil {
			return
		}
		s.addHold(n, x, amount, flags&holdCharges != 0, flags&holdRelease != 0)
	}
}
