package store

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/slidegate/slidegate/limit"
)

// DefaultSketchBytes is the default of MemoryOptions.SketchBytes.
const DefaultSketchBytes = 64 << 20

const (
	sketchRows   = 4
	sketchSlices = 7 // the one of now, and six that make up the window
	sketchBytes  = 4 + 4*sketchSlices
	leastSketch  = 64 << 10
	mostUnits    = math.MaxUint32 / 2 // that a window holds, in units of a sketch
)

// sketch counts the hits of keys that the store has no room for, of one window: each
// key in a cell of each row, together with others. Time is cut into slices of a sixth
// of the window; the slice of now and the six before it count whole. So a cell never
// counts less than any of its keys has in the window, and the least of a key's cells is
// what it is taken to have.
//
// A key that has used c of the maximum N of its own is wrongly refused if the others in
// each of its cells have used N-c or more. With λ hits of all keys in a cell on average
// that happens with a probability of at most (λ/(N-c))^4, by Markov's inequality.
type sketch struct {
	size  int64  // of the window
	step  int64  // of a slice
	unit  int64  // costs are counted in units of so much, rounded up
	width uint64 // cells in a row
	cells []sliced[uint32]
	total sliced[int64] // of all keys

	epoch  int64  // tick 0
	last   int64  // when something was added
	newest uint32 // tick that was asked for
	max    int64  // the least maximum that it was judged by, in units
}

// sliced is a count of a window.
type sliced[T uint32 | int64] struct {
	tick   uint32 // the newest of the slices
	counts [sketchSlices]T
}

// sketches are those of a store. They take no more than budget: the first half of it,
// the second half of what is left, and so on.
type sketches struct {
	mu     sync.Mutex
	budget int64
	held   int64
	byName map[Name]*sketch // by the name of the window
	live   atomic.Int64     // how many there are
	hits   atomic.Int64     // how many charges were put into any
}

// sketchable reports whether a sketch can stand for the window of an item.
func (it *Item) sketchable() bool {
	return !it.tracked() && sketchable(it.Limit)
}

func sketchable(p *limit.Params) bool {
	switch p.Algorithm {
	case limit.SlidingLog, limit.SlidingBuckets, limit.SlidingCounter, limit.Fixed:
		return p.Max > 0
	case limit.GCRA:
		return p.Max > 0 && p.Wait == 0
	}
	return false
}

// sketchWindow returns how much a sketch lets through in which time: no more than the
// window does. What gcra lets through in the time of a burst is more than a burst; that
// time is the longest of all parameters of the window.
func sketchWindow(p *limit.Params) (most, size int64) {
	if p.Algorithm == limit.GCRA {
		return p.Burst, max(p.Reach, p.Burst*p.Step)
	}
	return p.Max, p.Size
}

// of returns the sketch of a window; nil if there is none, and none can be made.
func (m *sketches) of(w *Window, p *limit.Params, now int64, needed bool) *sketch {
	s := m.byName[w.hash]
	most, size := sketchWindow(p)
	if s != nil {
		s.fit(most, size, now)
		return s
	}
	if !needed {
		return nil
	}
	bytes := (m.budget - m.held) / 2
	if bytes < leastSketch {
		return nil
	}
	s = newSketch(most, size, bytes, now)
	if m.byName == nil {
		m.byName = map[Name]*sketch{}
	}
	m.byName[w.hash] = s
	m.held += s.bytes()
	m.live.Store(int64(len(m.byName)))
	return s
}

func newSketch(most, size, bytes, now int64) *sketch {
	width := uint64(bytes / sketchRows / sketchBytes)
	s := &sketch{width: width, last: now, max: math.MaxInt64, cells: make([]sliced[uint32], sketchRows*width)}
	s.cut(size, now)
	s.unit = sketchUnit(most)
	return s
}

func sketchUnit(most int64) int64 { return (most + mostUnits - 1) / mostUnits }

// cut sets the window, and begins the slices with the one of now.
func (s *sketch) cut(size, now int64) {
	s.size, s.step = size, (size+sketchSlices-2)/(sketchSlices-1)
	s.epoch = floorDiv(now, s.step)
}

// fit makes a sketch serve other parameters: gcra has another window after a reload, and
// the maximum of an override may need greater units. What counts goes on counting. O(cells)
// where something changes.
func (s *sketch) fit(most, size, now int64) {
	if s.size != size {
		s.at(now)
		s.pull()
		s.cut(size, now)
	}
	if unit := sketchUnit(most); unit > s.unit {
		for i := range s.cells {
			for j, c := range s.cells[i].counts {
				s.cells[i].counts[j] = uint32(min(inUnits(int64(c)*s.unit, unit), math.MaxUint32))
			}
		}
		for i, n := range s.total.counts {
			s.total.counts[i] = n * s.unit / unit
		}
		s.max, s.unit = math.MaxInt64, unit
	}
}

func (s *sketch) bytes() int64 { return int64(len(s.cells)) * sketchBytes }

// drop forgets the sketches in which nothing counts any more.
func (m *sketches) drop(now int64) {
	if m.live.Load() == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, s := range m.byName {
		if now-s.last > sketchSlices*s.step {
			m.held -= s.bytes()
			delete(m.byName, name)
		}
	}
	m.live.Store(int64(len(m.byName)))
}

// at returns the slice of a time. Where the clock stepped back, what lies later is now;
// of a step of less than a slice, such as between two locks, the newest slice is.
func (s *sketch) at(now int64) uint32 {
	place := floorDiv(now, s.step) - s.epoch
	if place < int64(s.newest)-1 || place > math.MaxUint32 {
		if place-int64(s.newest) >= sketchSlices { // nothing counts any more
			clear(s.cells)
			s.total = sliced[int64]{}
		}
		s.pull()
		s.cut(s.size, now)
		s.last = min(s.last, now)
		return s.newest
	}
	if place > int64(s.newest) {
		s.newest = uint32(place)
	}
	return s.newest
}

// pull moves everything that counts into the newest slice, and makes that slice 0. O(cells).
func (s *sketch) pull() {
	for i := range s.cells {
		c := &s.cells[i]
		sum := c.sum(s.newest)
		*c = sliced[uint32]{}
		put(c, sum)
	}
	s.total = sliced[int64]{counts: [sketchSlices]int64{s.total.sum(s.newest)}}
	s.newest = 0
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// cell returns the place of a key in a row.
func (s *sketch) cell(n Name, row uint64) *sliced[uint32] {
	x := (n.Lo ^ bits.RotateLeft64(n.Hi, int(row)*16+7)) + row*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	place, _ := bits.Mul64(x^x>>31, s.width)
	return &s.cells[row*s.width+place]
}

// advance empties the slices that are out at a tick.
func (c *sliced[T]) advance(tick uint32) {
	if gone := tick - c.tick; gone >= sketchSlices {
		c.counts = [sketchSlices]T{}
	} else {
		for i := uint32(1); i <= gone; i++ {
			c.counts[(c.tick+i)%sketchSlices] = 0
		}
	}
	c.tick = tick
}

// sum returns how many units count at a tick.
func (c *sliced[T]) sum(tick uint32) int64 {
	c.advance(tick)
	sum := int64(0)
	for _, n := range c.counts {
		sum += int64(n)
	}
	return sum
}

// put adds to the newest slice of a cell.
func put(c *sliced[uint32], units int64) {
	n := &c.counts[c.tick%sketchSlices]
	*n += uint32(min(units, int64(math.MaxUint32-*n)))
}

// judge says whether cost fits for a key.
func (s *sketch) judge(n Name, p *limit.Params, now, cost int64, out *limit.Result) {
	tick := s.at(now)
	least, best := int64(math.MaxInt64), (*sliced[uint32])(nil)
	for row := range uint64(sketchRows) {
		cell := s.cell(n, row)
		if sum := cell.sum(tick); sum < least {
			least, best = sum, cell
		}
	}
	most, _ := sketchWindow(p)
	room := most / s.unit
	s.max = min(s.max, room)
	units := inUnits(cost, s.unit)
	*out = limit.Result{Used: min(least*s.unit, most), OK: units <= room-least, Never: cost > most}
	out.Remaining = max((room-least)*s.unit, 0)
	if least > 0 {
		out.Reset = s.free(best, tick, now, least)
	}
	if !out.OK && !out.Never {
		out.Retry = s.free(best, tick, now, least+units-room)
	}
}

// inUnits returns how many units a cost takes, rounded up.
func inUnits(cost, unit int64) int64 {
	n := cost / unit
	if cost%unit != 0 {
		n++
	}
	return n
}

// free returns the delay until so much of a cell is out.
func (s *sketch) free(c *sliced[uint32], tick uint32, now, over int64) int64 {
	for age := uint32(sketchSlices - 1); ; age-- {
		if over -= int64(c.counts[(tick%sketchSlices+sketchSlices-age)%sketchSlices]); over <= 0 || age == 0 {
			return (s.epoch+int64(tick)+int64(sketchSlices-age))*s.step - now
		}
	}
}

// add charges a key.
func (s *sketch) add(n Name, now, cost int64) {
	tick, units := s.at(now), inUnits(cost, s.unit)
	s.last = max(s.last, now)
	s.total.advance(tick)
	s.total.counts[tick%sketchSlices] += units
	for row := range uint64(sketchRows) {
		c := s.cell(n, row)
		c.advance(tick)
		put(c, units)
	}
}

// wrong returns a bound on the probability that a key which has used half of its
// maximum is refused for what others have.
func (s *sketch) wrong() float64 {
	all := s.total.sum(s.newest)
	if s.max == 0 || all == 0 {
		return 0
	}
	return math.Min(1, math.Pow(2*float64(all)/float64(s.width)/float64(s.max), sketchRows))
}

// SketchStats says what the sketches of a store hold.
type SketchStats struct {
	// Windows is how many windows have keys in a sketch, and Bytes what they take,
	// beside Stats.Bytes.
	Windows int
	Bytes   int64
	// Hits counts the charges of keys that there was no room for.
	Hits int64
	// Wrong is a bound on the probability that a key in a sketch which has used half
	// of its maximum is refused for what others have used: the greatest of all windows.
	Wrong float64
}

// Sketch returns the current numbers of the sketches.
func (m *Memory) Sketch() SketchStats {
	m.sketches.mu.Lock()
	defer m.sketches.mu.Unlock()
	out := SketchStats{Windows: len(m.sketches.byName), Bytes: m.sketches.held, Hits: m.sketches.hits.Load()}
	for _, s := range m.sketches.byName {
		out.Wrong = max(out.Wrong, s.wrong())
	}
	return out
}

// sketched judges an item, which has no record, by the sketch of its window, if the
// store had no room for its key before, or has none now. It reports whether it did. The
// lock of the sketches is held.
func (m *Memory) sketched(it *Item, now int64, full bool) bool {
	if it.record != nil || !it.sketchable() {
		return false
	}
	s := m.sketches.of(it.Window, it.Limit, now, full && !it.looks())
	if s == nil {
		return false
	}
	var r limit.Result
	if s.judge(it.Name, it.Limit, now, it.Cost, &r); !full && r.Used == 0 {
		return false // it is a key like others
	}
	it.sketch, it.Result = s, r
	return true
}

// chargeSketch charges an item that was let in, of which there is no record.
func (m *Memory) chargeSketch(it *Item, now int64) {
	it.sketch.add(it.Name, now, it.Cost)
	m.sketches.hits.Add(1)
	it.Charged = true
	var after limit.Result
	it.sketch.judge(it.Name, it.Limit, now, 0, &after)
	it.Result.Used, it.Result.Remaining, it.Result.Reset = after.Used, after.Remaining, after.Reset
}

// spill puts what a request would charge to keys that there is no room for into
// sketches, and reports whether that makes room. It judges them again.
func (m *Memory) spill(req *Request, now int64) (admitted, room bool) {
	admitted = true
	for i := range req.Items {
		it := &req.Items[i]
		if it.sketch == nil && !it.Shadow && !it.looks() && it.Result.OK {
			m.sketched(it, now, true)
		}
		if it.decides() {
			admitted = admitted && it.Result.OK
		}
	}
	return admitted, !admitted || m.reserve(req, now)
}
