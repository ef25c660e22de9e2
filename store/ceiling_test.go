package store

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/slidegate/slidegate/limit"
)

// oneOff returns the i-th key of a flood.
func oneOff(i int) string {
	return string(binary.LittleEndian.AppendUint64([]byte("flood"), uint64(i)))
}

func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// TestFloodOfKeys: a million one-off keys against a ceiling of 100 000 do not
// make the store forget a live counter, nor grow over its bound.
func TestFloodOfKeys(t *testing.T) {
	flood, maxKeys := 1_000_000, int64(100_000)
	if raced {
		flood, maxKeys = flood/10, maxKeys/10
	}
	before := heap()
	m, now := newTestMemory(t, MemoryOptions{MaxKeys: maxKeys, SketchBytes: -1})
	w, p := NewWindow("w"), sliding(5, minute)
	for range 5 {
		take(t, m, w, p, "A", 1, true)
	}
	take(t, m, w, p, "A", 1, false)

	*now = start + second
	admitted := 0
	for i := range flood {
		r, full, err := m.Take(w, &p, oneOff(i), 1)
		if err != nil || full == r.OK {
			t.Fatalf("key %d: %+v, full %v, %v", i, r, full, err)
		}
		if r.OK {
			admitted++
		}
	}
	if admitted != int(maxKeys)-1 { // A is the other one
		t.Errorf("%d of the flood admitted, want %d", admitted, maxKeys-1)
	}
	s := m.Stats()
	if s.Keys != maxKeys || s.Full != int64(flood)-(maxKeys-1) {
		t.Errorf("%+v", s)
	}
	if bound := maxKeys*64 + shardCount*chunkLen*recordBytes; s.Bytes > bound {
		t.Errorf("%d bytes, want at most %d", s.Bytes, bound)
	}
	if grown := heap() - before; grown > s.Bytes+s.Bytes/4+1<<20 {
		t.Errorf("the heap grew by %d bytes, the store tells of %d", grown, s.Bytes)
	}

	*now = start + 30*second
	if r := take(t, m, w, p, "A", 1, false); r.Used != 5 || r.Retry != 30*second {
		t.Errorf("the live counter after the flood: %+v", r)
	}
	*now = start + 200*second
	m.Sweep()
	if s := m.Stats(); s.Keys != 0 || s.Swept != maxKeys {
		t.Errorf("after the windows passed: %+v", s)
	}
	take(t, m, w, p, "new", 5, true)
}

// TestCeilingOfKeys: at the ceiling keys that are there go on, new ones are
// refused, and there is room again when something has expired, without a sweep.
func TestCeilingOfKeys(t *testing.T) {
	for _, p := range every(5) {
		m, now := newTestMemory(t, MemoryOptions{MaxKeys: 3, SketchBytes: -1})
		w := NewWindow("w")
		keys := neighbours(m, 5)
		for _, key := range keys[:3] {
			take(t, m, w, p, key, 1, true)
		}
		for _, key := range keys[3:] {
			if r, full, err := m.Take(w, &p, key, 1); r.OK || !full || err != nil {
				t.Fatalf("%v: a new key: %+v, full %v, %v", p.Algorithm, r, full, err)
			}
			if req := decide(t, m, Item{Window: w, Key: []byte(key), Limit: &p, Cost: 1}); req.Admitted || !req.Full || req.Items[0].Charged {
				t.Fatalf("%v: a new key: %+v", p.Algorithm, req)
			}
			if r := take(t, m, w, p, key, 0, true); r.Used != 0 {
				t.Fatalf("%v: a look at a new key: %+v", p.Algorithm, r)
			}
		}
		for _, key := range keys[:3] {
			for range 4 {
				take(t, m, w, p, key, 1, true)
			}
			take(t, m, w, p, key, 1, false)
		}
		if s := m.Stats(); s.Keys != 3 || s.Full != 4 {
			t.Fatalf("%v: %+v", p.Algorithm, s)
		}
		*now += 25 * hour
		take(t, m, w, p, keys[4], 1, true)
	}
}

// TestCeilingIsAtomic: a request that needs more new keys than there is room for
// charges none of its windows.
func TestCeilingIsAtomic(t *testing.T) {
	m, _ := newTestMemory(t, MemoryOptions{MaxKeys: 3, SketchBytes: -1})
	w, p := NewWindow("w"), sliding(5, minute)
	at := func(key string) Item { return Item{Window: w, Key: []byte(key), Limit: &p, Cost: 1} }
	decide(t, m, at("a"))
	req := decide(t, m, at("a"), at("b"), at("c"), at("d"))
	if req.Admitted || !req.Full {
		t.Fatalf("%+v", req)
	}
	for i := range req.Items {
		if it := &req.Items[i]; it.Charged || !it.Result.OK {
			t.Errorf("%+v", it)
		}
	}
	if s := m.Stats(); s.Keys != 1 || s.Full != 1 {
		t.Errorf("%+v", s)
	}
	if req := decide(t, m, at("a"), at("b"), at("c")); !req.Admitted || req.Full || req.Items[0].Result.Used != 2 {
		t.Errorf("%+v", req)
	}
}

// TestCeilingAndWhatDoesNotDecide: shadow items, and items of a refused request
// that would be recorded, are left out when there is no room for them. They do
// not change the verdict.
func TestCeilingAndWhatDoesNotDecide(t *testing.T) {
	m, _ := newTestMemory(t, MemoryOptions{MaxKeys: 2, SketchBytes: -1})
	w, p := NewWindow("w"), sliding(2, minute)
	at := func(key string) Item { return Item{Window: w, Key: []byte(key), Limit: &p, Cost: 1} }
	shadow := func(it Item) Item { it.Shadow = true; return it }
	recorded := func(it Item) Item { it.CountRefused = true; return it }
	decide(t, m, at("a"), at("b"))

	for i, req := range []*Request{
		decide(t, m, shadow(at("c")), at("a")),
		decide(t, m, at("b"), shadow(recorded(at("c")))),
	} {
		if !req.Admitted || req.Full || req.Items[0].Charged == req.Items[1].Charged {
			t.Errorf("request %d with a shadow that has no room: %+v", i, req)
		}
	}
	req := decide(t, m, at("a"), recorded(at("c")))
	if c := &req.Items[1]; req.Admitted || req.Full || c.Charged || !c.Result.OK || c.Result.Retry != 0 {
		t.Errorf("a refusal that has no room to be recorded: %+v", req)
	}
	req = decide(t, m, at("a"), recorded(at("b"))) // this one has its key
	if b := &req.Items[1]; req.Admitted || !b.Charged || b.Result.Used != 2 {
		t.Errorf("a refusal that is recorded: %+v", req)
	}
	// An enforced window that counts refusals decides like any other.
	if req := decide(t, m, recorded(at("d"))); req.Admitted || !req.Full {
		t.Errorf("a new key that would have to be admitted uncounted: %+v", req)
	}
}

// TestCeilingOfBytes: the same for memory.
func TestCeilingOfBytes(t *testing.T) {
	const maxBytes = 3 << 19
	for _, p := range every(50) {
		m, now := newTestMemory(t, MemoryOptions{MaxBytes: maxBytes, SketchBytes: -1})
		w := NewWindow("w")
		take(t, m, w, p, "A", 50, true)
		full := 0
		for i := range 80_000 {
			r, f, err := m.Take(w, &p, oneOff(i%50_000), 1+int64(i%7))
			if err != nil || f && r.OK {
				t.Fatalf("%+v, %v", r, err)
			}
			if f {
				full++
			}
		}
		s := m.Stats()
		if s.Bytes > maxBytes+1<<16 || full == 0 || s.Full != int64(full) {
			t.Errorf("%v: %+v, refused %d", p.Algorithm, s, full)
		}
		if p.Algorithm != limit.Events {
			take(t, m, w, p, "A", 1, false)
		}
		*now += 25 * hour
		m.Sweep()
		if s := m.Stats(); s.Keys != 0 || s.Bytes > shardCount*2*chunkLen*recordBytes {
			t.Errorf("%v: after the windows passed: %+v", p.Algorithm, s)
		}
	}
}

// TestFullWindowRecordsAtTheCeiling: a full window that counts refused checks
// needs no memory for one more, so at the ceiling it goes on counting.
func TestFullWindowRecordsAtTheCeiling(t *testing.T) {
	m, now := newTestMemory(t, MemoryOptions{})
	it := Item{Window: NewWindow("w"), Key: []byte("k"), Limit: new(sliding(9, minute)), Cost: 1, CountRefused: true}
	for range 9 {
		decide(t, m, it)
	}
	full := m.Stats()
	m.maxBytes = full.Bytes
	*now += second
	req := decide(t, m, it)
	if got := req.Items[0]; req.Admitted || !got.Charged || m.Stats() != full {
		t.Errorf("%+v, %+v", got, m.Stats())
	}
}

// TestKeyThatMakesRoomForItself: an expired key that is swept to make room for
// its own next charge is still counted as a key.
func TestKeyThatMakesRoomForItself(t *testing.T) {
	m, now := newTestMemory(t, MemoryOptions{})
	w, p := NewWindow("w"), sliding(50, minute)
	keys := neighbours(m, 2)
	take(t, m, w, p, keys[0], 1, true)
	take(t, m, w, p, keys[1], 30, true) // with a ring, whose memory will do
	m.shardOf(m.hash([]byte(keys[0]))).sweepAt = start + hour
	m.maxBytes = m.bytes.Load()
	*now += minute
	take(t, m, w, p, keys[0], 4, true)
	if s := m.Stats(); s.Keys != 1 || s.Swept != 2 {
		t.Errorf("%+v", s)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []MemoryOptions{{MaxKeys: -1}, {MaxBytes: -1}, {MaxKeys: 1 << 40}} {
		if m, err := NewMemory(o); err == nil {
			m.Close()
			t.Errorf("%+v was taken", o)
		}
	}
}
