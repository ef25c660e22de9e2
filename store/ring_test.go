package store

import (
	"testing"

	"github.com/slidegate/slidegate/limit"
)

// TestRingGrowsWithUse: a window of 100 000 costs no more than a window of 1
// until it is used, and gives back what it took when it is quiet again.
func TestRingGrowsWithUse(t *testing.T) {
	const maximum = 100_000
	for _, p := range []limit.Params{sliding(maximum, minute), sliding(maximum, 2*hour), params(limit.SlidingBuckets, maximum, minute, 0, 1000)} {
		m, now := newTestMemory(t, MemoryOptions{})
		w := NewWindow("w")
		take(t, m, w, p, "k", 1, true)
		one := m.Stats().Bytes
		if limit := chunkLen*recordBytes + 1<<14; one > limit {
			t.Errorf("%v of %d µs: %d bytes after one hit, want at most %d", p.Algorithm, p.Size, one, limit)
		}
		for range 1000 {
			*now += p.Size / 2000
			take(t, m, w, p, "k", 10, true)
		}
		full := m.Stats().Bytes
		if full < one+500*16 {
			t.Errorf("%v of %d µs: %d bytes in use, %d after one hit", p.Algorithm, p.Size, full, one)
		}
		*now += 2 * p.Size
		take(t, m, w, p, "k", 1, true)
		*now += p.Size / 2
		take(t, m, w, p, "k", 1, true)
		if quiet := m.Stats().Bytes; quiet > one+1<<12 {
			t.Errorf("%v of %d µs: %d bytes when quiet again, %d at first", p.Algorithm, p.Size, quiet, one)
		}
	}
}

// TestRingBytes: what a full window takes per hit, at most.
func TestRingBytes(t *testing.T) {
	for _, c := range []struct {
		p    limit.Params
		most int64 // bytes of one key with 100 hits, without its record
	}{
		{sliding(100, minute), 4*99 + 4*99/4},
		{sliding(100, 2*hour), 8*99 + 8*99/4},
	} {
		m, _ := newTestMemory(t, MemoryOptions{})
		w := NewWindow("w")
		keys := neighbours(m, 4*chunkLen)
		for _, key := range keys {
			take(t, m, w, c.p, key, 1, true)
		}
		before := m.Stats().Bytes
		for _, key := range keys {
			for range 99 {
				take(t, m, w, c.p, key, 1, true)
			}
			take(t, m, w, c.p, key, 1, false)
		}
		if got := (m.Stats().Bytes - before) / int64(len(keys)); got > c.most {
			t.Errorf("%d µs: %d bytes for 100 hits, want at most %d", c.p.Size, got, c.most)
		}
	}
}

// TestRingMovesAreAmortised counts the hits that are copied from ring to ring
// while a window fills and while it is used on: a constant number for each hit.
func TestRingMovesAreAmortised(t *testing.T) {
	const maximum = 100_000
	for _, p := range []limit.Params{sliding(maximum, minute), params(limit.SlidingBuckets, limit.MaxUnits, minute, 0, 1000)} {
		var s shard
		r := s.insert(Name{1, 2})
		s.begin(r, &p)
		for _, phase := range []struct {
			name string
			most int // moves for a hit
			at   func(i int64) int64
		}{
			{"filling", 3, func(i int64) int64 { return i * minute / maximum }},
			{"each in the place of another", 1, func(i int64) int64 { return minute + i*minute/maximum }},
			{"much and little in turn", 3, func(i int64) int64 { return 3*minute + i/5000*2*minute + i%5000*1000 }},
		} {
			moves := 0
			for i := range int64(maximum) {
				moves += charge(&s, r, &p, start+phase.at(i))
			}
			if moves > phase.most*maximum {
				t.Errorf("%v, %s: %d moves for %d hits", p.Algorithm, phase.name, moves, maximum)
			}
		}
	}
}

// charge makes one hit and returns how many were copied to another ring for it.
func charge(s *shard, r *record, p *limit.Params, now int64) (moved int) {
	var out limit.Result
	s.judge(r, p, now, 1, false, &out)
	ref, n := r.ref, int(uint32(r.x))
	s.charge(r, p, now, 1, false)
	s.charged(r, p, now, &out)
	if r.ref == ref {
		return 0
	}
	return n
}

// TestRecordSize: a key with one hit takes its record and its place in the index,
// and no ring.
func TestRecordSize(t *testing.T) {
	if recordBytes != 48 {
		t.Errorf("a record takes %d bytes, want 48", recordBytes)
	}
	const n = 200_000
	m, _ := newTestMemory(t, MemoryOptions{})
	w, p := NewWindow("w"), sliding(100, minute)
	var key [3]byte
	for i := range n {
		key = [3]byte{byte(i), byte(i >> 8), byte(i >> 16)}
		take(t, m, w, p, string(key[:]), 1, true)
	}
	if got := m.Stats().Bytes / n; got > 64 {
		t.Errorf("%d bytes for a key with one hit, want at most 64", got)
	}
}
