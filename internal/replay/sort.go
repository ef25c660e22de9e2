package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/slidegate/slidegate"
)

const (
	// DefaultSortEvents is how many events Sort holds in memory.
	DefaultSortEvents = 200_000
	// DefaultSortBytes is how much memory Sort takes for them, in bytes.
	DefaultSortBytes = 8 << 20

	// maxFanIn is how many sorted runs are merged at a time. With more, some
	// are merged into longer ones first, so that memory stays bounded.
	maxFanIn = 256
	// minRunBuffer is the least that is read of a run at a time.
	minRunBuffer = 4 << 10
	// checkEvery is how many records pass between two looks at the context.
	checkEvery = 256
)

// SortOptions bounds the memory that Sort takes. The zero SortOptions works.
type SortOptions struct {
	// MaxEvents is how many events are held in memory; 0 means
	// [DefaultSortEvents].
	MaxEvents int
	// MaxBytes is how many bytes they may take, written compactly; 0 means
	// [DefaultSortBytes]. One event is always held, however large.
	MaxBytes int
	// Dir is where temporary files are made; "" means that of the system
	// (TMPDIR). They take about as much room as the logs, uncompressed, and
	// twice that above 256 times MaxBytes.
	Dir string

	fanIn int // for tests; 0 means maxFanIn
}

// Sorted gives the records of another source in the order of their times. It
// is for one goroutine; made by [Sort].
type Sorted struct {
	ctx   context.Context // of Sort; Next is one of its two halves
	codec codec
	rec   Record
	err   error
	given int

	// Without runs the records are in memory, in the order of index.
	batch batch
	next  int

	runs  *runFile // nil without runs
	merge *merger
}

// Sort reads src to its end and gives its records in the order of their times;
// those of equal time stay in the order they came. What does not fit in memory
// goes to a temporary file, which is gone once the source is closed, has ended
// or failed, or ctx was cancelled: then Next returns the cause. Close it when
// done. src is not closed.
//
// The memory depends on opt and not on the number of events: besides MaxBytes
// it is that of one event of each of up to 256 runs.
func Sort(ctx context.Context, src Source, opt SortOptions) (*Sorted, error) {
	if opt.MaxEvents < 0 || opt.MaxBytes < 0 {
		return nil, fmt.Errorf("replay: sort: MaxEvents %d, MaxBytes %d: neither may be negative", opt.MaxEvents, opt.MaxBytes)
	}
	opt.MaxEvents = cmp.Or(opt.MaxEvents, DefaultSortEvents)
	opt.MaxBytes = cmp.Or(opt.MaxBytes, DefaultSortBytes)
	opt.fanIn = cmp.Or(opt.fanIn, maxFanIn)
	s := &Sorted{ctx: ctx}
	if err := s.collect(src, opt); err != nil {
		return nil, s.fail(err)
	}
	return s, nil
}

// collect reads src into runs and prepares their merging.
func (s *Sorted) collect(src Source, opt SortOptions) error {
	for n := 0; ; n++ {
		if n%checkEvery == 0 && s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		rec, err := src.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if s.batch.full(opt) {
			if err := s.spill(opt.Dir); err != nil {
				return err
			}
		}
		s.batch.add(&s.codec, rec)
	}
	s.batch.sort()
	if s.runs == nil {
		return nil
	}
	if err := s.spill(opt.Dir); err != nil {
		return err
	}
	memory := s.batch.release()
	if err := s.shrink(memory, opt); err != nil {
		return err
	}
	var err error
	s.merge, err = newMerger(s.runs, s.runs.runs, memory)
	return err
}

// spill writes the batch as a run.
func (s *Sorted) spill(dir string) error {
	s.batch.sort()
	if s.runs == nil {
		runs, err := newRunFile(dir)
		if err != nil {
			return err
		}
		s.runs = runs
	}
	for _, e := range s.batch.index {
		if err := s.runs.write(s.batch.record(e)); err != nil {
			return err
		}
	}
	s.batch.reset()
	return s.runs.endRun()
}

// shrink merges runs into longer ones until they can be merged at one go.
func (s *Sorted) shrink(memory []byte, opt SortOptions) error {
	for len(s.runs.runs) > opt.fanIn {
		longer, err := newRunFile(opt.Dir)
		if err != nil {
			return err
		}
		if err := s.mergeInto(longer, memory, opt.fanIn); err != nil {
			return errors.Join(err, longer.close())
		}
		old := s.runs
		s.runs = longer
		if err := old.close(); err != nil {
			return err
		}
	}
	return nil
}

// mergeInto merges each fanIn runs that follow each other into one of longer.
func (s *Sorted) mergeInto(longer *runFile, memory []byte, fanIn int) error {
	for group := range slices.Chunk(s.runs.runs, fanIn) {
		m, err := newMerger(s.runs, group, memory)
		if err != nil {
			return err
		}
		for n := 0; ; n++ {
			if n%checkEvery == 0 && s.ctx.Err() != nil {
				return context.Cause(s.ctx)
			}
			b, err := m.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if err := longer.write(b); err != nil {
				return err
			}
		}
		if err := longer.endRun(); err != nil {
			return err
		}
	}
	return nil
}

// Next returns the next record; see [Source].
func (s *Sorted) Next() (*Record, error) {
	if s.err != nil {
		return nil, s.err
	}
	if s.given%checkEvery == 0 && s.ctx.Err() != nil {
		return nil, s.fail(context.Cause(s.ctx))
	}
	s.given++
	var b []byte
	if s.merge != nil {
		var err error
		if b, err = s.merge.next(); err != nil {
			return nil, s.fail(err)
		}
	} else {
		if s.next == len(s.batch.index) {
			return nil, s.fail(io.EOF)
		}
		b = s.batch.record(s.batch.index[s.next])
		s.next++
	}
	if err := s.codec.read(b, &s.rec); err != nil {
		return nil, s.fail(fmt.Errorf("replay: sort: %w", err))
	}
	return &s.rec, nil
}

// fail ends the source with err and gives everything back.
func (s *Sorted) fail(err error) error {
	if closeErr := s.Close(); closeErr != nil {
		err = errors.Join(err, closeErr)
	}
	s.err = err
	return err
}

// Close removes the temporary file. Next returns [slidegate.ErrClosed] from
// then on, or what it returned before.
func (s *Sorted) Close() error {
	if s.err == nil {
		s.err = slidegate.ErrClosed
	}
	runs := s.runs
	s.runs, s.merge, s.batch = nil, nil, batch{}
	if runs == nil {
		return nil
	}
	return runs.close()
}

// batch holds the records of one run in memory: their bytes one after another,
// and where each begins. It has no pointers that the garbage collector would
// have to follow.
type batch struct {
	bytes []byte
	index []entry
}

// entry is one record of a batch.
type entry struct {
	time int64
	at   int
}

// full reports whether the batch must be written before more is added.
func (b *batch) full(opt SortOptions) bool {
	return len(b.index) >= opt.MaxEvents || len(b.bytes)+len(b.index)*entrySize >= opt.MaxBytes
}

// entrySize is the memory of an entry.
const entrySize = 16

func (b *batch) add(c *codec, rec *Record) {
	b.index = append(b.index, entry{time: rec.Event.Time.UnixMicro(), at: len(b.bytes)})
	b.bytes = c.append(b.bytes, rec)
}

// sort orders the batch. No two entries begin at one place, so that the order
// is that of a stable sort.
func (b *batch) sort() {
	slices.SortFunc(b.index, func(x, y entry) int {
		return cmp.Or(cmp.Compare(x.time, y.time), cmp.Compare(x.at, y.at))
	})
}

func (b *batch) record(e entry) []byte {
	rest := b.bytes[e.at:]
	return rest[:recordLength(rest)]
}

func (b *batch) reset() { b.bytes, b.index = b.bytes[:0], b.index[:0] }

// release returns the memory of the batch for another use.
func (b *batch) release() []byte {
	memory := b.bytes[:cap(b.bytes)]
	*b = batch{}
	return memory
}
