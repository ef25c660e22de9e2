package store

import (
	"maps"
	"math"
	"math/bits"
	"sync"
	"unsafe"

	"github.com/slidegate/slidegate/window"
)

const (
	shardCount = 256
	shardShift = 48
	// shardBits are the bits of the first half of a hash that choose the
	// shard. They come from the key alone, so that the windows of one key
	// share a shard and a lock.
	shardBits = uint64(shardCount-1) << shardShift

	chunkLen    = 64 // records in a chunk
	idBits      = 24 // of an index slot; the rest is a tag
	idMask      = 1<<idBits - 1
	maxRecords  = idMask - 1
	minIndex    = 8
	recordBytes = int64(unsafe.Sizeof(record{}))
)

// record is the state of one window of one key. It holds no pointer.
type record struct {
	hash Name   // of window and key
	exp  int64  // when the state is as good as empty
	t, x uint64 // the state, see state.go
	ref  uint32 // its block in the arena of its kind
	aux  uint32 // kind in the low 8 bits, 24 bits of state above
}

// shard is a part of the keys under one lock: a hash index into a slab of
// records, and the arenas of their rings.
type shard struct {
	mu sync.Mutex

	index  []uint32 // open addressing: tag and id+1 of a record; 0 is free
	chunks [][]record
	n      int              // records in use: ids 0 to n-1
	tiny   [tinyRing]uint32 // the ring of a tiny log while it is in use
	last   int64            // the latest time of a decision
	log    *shardLog        // what a call changes, to be written down; nil for nobody
	copy   *shardCopy       // what is being copied; nil for nothing

	short arena[uint32]        // rings of logs shorter than 2^32 µs, and of marks
	long  arena[uint64]        // rings of longer logs
	slots arena[window.Bucket] // rings of buckets
	sets  arena[window.Member] // members of distincts

	seq      uint64            // of the last charge or reset
	lost     []span            // of numbers whose charges were not kept
	refunded map[uint64]int64  // seq of charges given back, until when to remember
	resets   map[Name]tombmark // windows that were emptied by Reset
	held     map[Name]*held    // what reports are to settle
	locks    map[Name]*locked
	holds    int // in all of held
	lockKeys int // bytes of the keys in locks

	marks   int   // the most refunds and resets remembered at once, for which maps have room
	cursor  int   // next id to sweep
	sweepAt int64 // when the next round begins
	told    int64 // bytes, as last told to the store

	_ [64]byte // shards do not share a cache line
}

// tombmark remembers a reset: charges up to seq are gone.
type tombmark struct {
	seq uint64
	exp int64
}

func (s *shard) at(id int) *record { return &s.chunks[id/chunkLen][id%chunkLen] }

// slot returns where in the index h begins, and its tag.
func (s *shard) slot(h Name) (at, tag uint32) {
	return uint32(h.Lo) & uint32(len(s.index)-1), uint32(h.Lo>>56) << idBits
}

// find returns the record of h, or nil.
func (s *shard) find(h Name) *record {
	_, r := s.lookup(h)
	return r
}

// lookup returns the record of h and its id, or nil.
func (s *shard) lookup(h Name) (id int, r *record) {
	if len(s.index) == 0 {
		return 0, nil
	}
	mask := uint32(len(s.index) - 1)
	for at, tag := s.slot(h); ; at = (at + 1) & mask {
		e := s.index[at]
		if e == 0 {
			return 0, nil
		}
		if e&^idMask == tag {
			id := int(e&idMask) - 1
			if r := s.at(id); r.hash == h {
				if s.copy != nil {
					s.copy.touch(s, id, r)
				}
				return id, r
			}
		}
	}
}

// insertGrows returns how many bytes k more records would add.
func (s *shard) insertGrows(k int) (bytes int64) {
	if n := s.n + k; n > len(s.chunks)*chunkLen {
		bytes += int64((n-len(s.chunks)*chunkLen+chunkLen-1)/chunkLen) * chunkLen * recordBytes
	}
	if (s.n+k)*4 > len(s.index)*3 {
		bytes += int64(max(len(s.index)*4, minIndex*4))
	}
	return bytes
}

// insert adds an empty record for h, which must not be there, and returns it.
// Records do not move.
func (s *shard) insert(h Name) *record {
	if (s.n+1)*4 > len(s.index)*3 {
		s.reindex(max(len(s.index)*2, minIndex))
	}
	id := s.n
	if id == len(s.chunks)*chunkLen {
		s.chunks = append(s.chunks, make([]record, chunkLen))
	}
	s.n++
	r := s.at(id)
	*r = record{hash: h}
	s.point(h, id)
	return r
}

// point enters id into the index.
func (s *shard) point(h Name, id int) {
	mask := uint32(len(s.index) - 1)
	at, tag := s.slot(h)
	for s.index[at] != 0 {
		at = (at + 1) & mask
	}
	s.index[at] = tag | uint32(id+1)
}

func (s *shard) reindex(size int) {
	s.index = make([]uint32, size)
	for id := range s.n {
		s.point(s.at(id).hash, id)
	}
}

// remove deletes the record with the given id and its block. The last record
// takes its place.
func (s *shard) remove(id int) {
	r := s.at(id)
	if s.copy != nil {
		s.copy.touch(s, id, r)
		s.copy.remove(s, id)
	}
	s.freeBlock(r)
	s.unindex(s.indexOf(r.hash, id))
	last := s.n - 1
	if id != last {
		moved := s.at(last)
		s.index[s.indexOf(moved.hash, last)] = uint32(moved.hash.Lo>>56)<<idBits | uint32(id+1)
		*r = *moved
	}
	s.n = last
	s.shrink()
}

// indexOf returns where the index holds id.
func (s *shard) indexOf(h Name, id int) uint32 {
	mask := uint32(len(s.index) - 1)
	at, _ := s.slot(h)
	for s.index[at]&idMask != uint32(id+1) {
		at = (at + 1) & mask
	}
	return at
}

// unindex clears a slot and closes the gap, so that no search ends early.
func (s *shard) unindex(gap uint32) {
	mask := uint32(len(s.index) - 1)
	for at := (gap + 1) & mask; s.index[at] != 0; at = (at + 1) & mask {
		home, _ := s.slot(s.at(int(s.index[at]&idMask) - 1).hash)
		if (at-home)&mask >= (at-gap)&mask {
			s.index[gap] = s.index[at]
			gap = at
		}
	}
	s.index[gap] = 0
}

// shrink gives memory back when most of it is unused.
func (s *shard) shrink() {
	if spare := len(s.chunks) - 2; spare >= 0 && s.n <= spare*chunkLen {
		s.chunks[len(s.chunks)-1] = nil
		s.chunks = s.chunks[:len(s.chunks)-1]
	}
	if len(s.index) > minIndex && s.n*8 < len(s.index) {
		s.reindex(1 << bits.Len(uint(max(s.n*2, minIndex)-1)))
	}
}

// bytes returns what the shard holds.
func (s *shard) bytes() int64 {
	return int64(len(s.index))*4 + int64(len(s.chunks))*chunkLen*recordBytes +
		s.short.bytes + s.long.bytes + s.slots.bytes + s.sets.bytes +
		int64(max(len(s.refunded)+len(s.resets), s.marks))*64 +
		int64(len(s.held)*heldBytes+s.holds*holdBytes+len(s.locks)*lockBytes+s.lockKeys)
}

// sweep looks at up to k records and deletes those that expired by now. It
// reports whether it came to the end of a round.
func (s *shard) sweep(now int64, k int) (removed int, done bool) {
	for range k {
		if s.cursor >= s.n {
			s.cursor = 0
			return removed, true
		}
		if exp := s.at(s.cursor).exp; exp <= now && exp != math.MaxInt64 { // the end of time does not pass
			if s.log != nil {
				s.log.add(effectSwept, s.at(s.cursor).hash)
			}
			s.remove(s.cursor) // and look at the one that took its place
			removed++
		} else {
			s.cursor++
		}
	}
	return removed, false
}

// How many refunds, and how many resets, forget looks at in one call: in a round of
// sweeping, and for each that is added. Of four looked at, one is to go, or fewer are
// held than are added: what is long over is at most a third of what is not.
const (
	forgetInRound = 2048
	forgetForEach = 4
)

// forget drops marks of refunds and resets that no charge can meet any more. It
// looks at some of them: a map is walked from another place each time.
func (s *shard) forget(now int64, most int) {
	held := len(s.refunded) + len(s.resets)
	s.marks = max(s.marks, held)
	looked := 0
	for seq, exp := range s.refunded {
		if exp <= now {
			delete(s.refunded, seq)
		}
		if looked++; looked >= most {
			break
		}
	}
	looked = 0
	for h, t := range s.resets {
		if t.exp <= now {
			delete(s.resets, h)
		}
		if looked++; looked >= most {
			break
		}
	}
	if held = len(s.refunded) + len(s.resets); s.marks > 64 && held < s.marks/4 {
		// A map does not shrink by itself.
		s.refunded, s.resets, s.marks = compact(s.refunded), compact(s.resets), held
	}
}

// lapse settles what was not settled in time, and forgets locks that are long over. It
// looks at some of them, as forget does.
func (s *shard) lapse(now int64, most int) {
	looked := 0
	for name := range s.held {
		s.holdsOf(name, now)
		if looked++; looked >= most {
			break
		}
	}
	looked = 0
	for name, l := range s.locks {
		if s.pullLock(name, l, now); l.gone <= now {
			s.dropLock(name)
		}
		if looked++; looked >= most {
			break
		}
	}
}

// compact returns m in a map of its size; nil if it is empty.
func compact[K comparable, V any](m map[K]V) map[K]V {
	if len(m) == 0 {
		return nil
	}
	smaller := make(map[K]V, len(m))
	maps.Copy(smaller, m)
	return smaller
}

// drop frees everything.
func (s *shard) drop() {
	s.index, s.chunks, s.n, s.cursor = nil, nil, 0, 0
	s.short, s.long = arena[uint32]{}, arena[uint64]{}
	s.slots, s.sets = arena[window.Bucket]{}, arena[window.Member]{}
	s.refunded, s.resets, s.marks, s.lost = nil, nil, 0, nil
	s.held, s.locks, s.holds, s.lockKeys = nil, nil, 0, 0
}
