package store

import (
	"math/rand/v2"
	"testing"
)

// clash returns hashes that share few tags and few places in the index, so that
// searches run long and wrap around its end.
func clash(r *rand.Rand) Name {
	tag := uint64(r.IntN(3)) << 56
	place := []uint64{0, 1, 2, 0xffffff, 0xfffffe, 0x7}[r.IntN(6)]
	return Name{uint64(r.IntN(40)), tag | place | uint64(r.IntN(3))<<30}
}

// TestIndex holds the index of a shard against a map.
func TestIndex(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var s shard
		want := map[Name]uint64{}
		var keys []Name
		target := 1 + r.IntN(600)
		for step := range 4000 {
			if r.IntN(200) == 0 {
				target = 1 + r.IntN(600) // grow and shrink
			}
			h := clash(r)
			if r.IntN(4) == 0 && len(keys) > 0 {
				h = keys[r.IntN(len(keys))]
			}
			id, rec := s.lookup(h)
			if v, ok := want[h]; ok != (rec != nil) || ok && rec.t != v {
				t.Fatalf("seed %d, step %d: %v is %v, want %d, %v", seed, step, h, rec, v, ok)
			}
			switch {
			case rec == nil && s.n < target:
				indexInsert(t, &s, h, uint64(step))
				want[h] = uint64(step)
				keys = append(keys, h)
			case rec != nil && s.n > target/2:
				s.remove(id)
				delete(want, h)
			}
			if s.n != len(want) {
				t.Fatalf("seed %d, step %d: %d records, want %d", seed, step, s.n, len(want))
			}
		}
		for h, v := range want {
			if rec := s.find(h); rec == nil || rec.t != v {
				t.Fatalf("seed %d: %v is %v, want %d", seed, h, rec, v)
			}
		}
		for s.n > 0 {
			s.remove(r.IntN(s.n))
		}
		if len(s.index) > minIndex*2 || len(s.chunks) > 2 {
			t.Errorf("seed %d: an empty shard holds an index of %d and %d chunks", seed, len(s.index), len(s.chunks))
		}
	}
}

// indexInsert inserts h, which must take what insertGrows says.
func indexInsert(t *testing.T, s *shard, h Name, v uint64) {
	t.Helper()
	before, grows := s.bytes(), s.insertGrows(1)
	s.insert(h).t = v
	if got := s.bytes() - before; got != grows {
		t.Fatalf("a record took %d bytes, insertGrows said %d", got, grows)
	}
}

// TestIndexFindsEveryRecord removes from the middle of one long run.
func TestIndexFindsEveryRecord(t *testing.T) {
	var s shard
	for i := range uint64(500) { // all want the same place and tag
		s.insert(Name{i, 0})
	}
	for i := uint64(0); i < 500; i += 3 {
		id, rec := s.lookup(Name{i, 0})
		if rec == nil {
			t.Fatalf("record %d is lost", i)
		}
		s.remove(id)
	}
	for i := range uint64(500) {
		if found := s.find(Name{i, 0}) != nil; found != (i%3 != 0) {
			t.Fatalf("record %d: found %v", i, found)
		}
	}
}

// TestMixKeepsTheShard: the windows of a key share its shard, whatever their
// identity, and do not share its record.
func TestMixKeepsTheShard(t *testing.T) {
	m, _ := newTestMemory(t, MemoryOptions{})
	seen := map[Name]bool{}
	for _, key := range []string{"", "a", "b", "\x00"} {
		h := m.hash([]byte(key))
		for _, identity := range []string{"", "w", "v", "w:v"} {
			x := mix(h, NewWindow(identity))
			if shardNumber(x) != shardNumber(h) {
				t.Errorf("%q of %q is in shard %d, the key in %d", key, identity, shardNumber(x), shardNumber(h))
			}
			if seen[x] {
				t.Errorf("%q of %q is the record of another", key, identity)
			}
			seen[x] = true
		}
	}
}

// TestKeysSpread: keys that differ little are spread over all shards.
func TestKeysSpread(t *testing.T) {
	m, _ := newTestMemory(t, MemoryOptions{})
	var in [shardCount]int
	const n = 100_000
	for i := range n {
		in[shardNumber(m.hash([]byte(oneOff(i))))]++
	}
	for i, got := range in {
		if got < n/shardCount/2 || got > n/shardCount*2 {
			t.Errorf("%d of %d keys in shard %d", got, n, i)
		}
	}
}
