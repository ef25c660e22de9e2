package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/slidegate/slidegate/store"
)

// Open returns the store that the directory holds, an empty one if there is none. The
// directory is made if it is not there. No other process may use it meanwhile
// ([ErrLocked]).
//
// Of a journal that ends within a record, because the process or the machine was
// stopped while it was written, that record is cut off. Anything else that is not as it
// was written is an error that wraps [ErrDamaged] and names file and offset; the files
// stay as they are. See Options.StartEmpty.
func Open(dir string, o Options) (*Store, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, options: o, lock: lock, stop: make(chan struct{}), last: time.Now()}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, lock.unlock())
	}
	s.loops.Add(1)
	go s.keep()
	return s, nil
}

func (s *Store) open() error {
	l, err := list(s.dir)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	for _, name := range l.unfinished {
		s.options.Logf("journal: %s was not finished and is removed", filepath.Join(s.dir, name))
		if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	state, err := load(s.dir, &l, &s.options)
	switch {
	case errors.Is(err, ErrDamaged) && s.options.StartEmpty:
		to, aside := setAside(s.dir, &l)
		if aside != nil {
			return fmt.Errorf("journal: setting damaged files aside: %w", aside)
		}
		s.options.Logf("%v; the files are kept in %s, the store starts empty", err, to)
		if state, err = emptyState(&s.options); err != nil {
			return err
		}
	case errors.Is(err, ErrDamaged):
		return fmt.Errorf("%w; bring back a copy, or start empty, which keeps the files in a directory beside them", err)
	case err != nil:
		return err
	}
	return s.begin(state)
}

// state is what was loaded.
type state struct {
	loader *store.Loader
	id     uint64 // of the directory
	gen    uint64 // the latest of its files
	next   uint64 // the number of the next record
	fresh  bool   // there is no snapshot yet
	loss   bool   // it did not end with a last snapshot
	read   int64
	cut    int64
}

func emptyState(o *Options) (*state, error) {
	l, err := store.NewLoader(o.Memory)
	if err != nil {
		return nil, err
	}
	return &state{loader: l, id: rand.Uint64(), next: 1, fresh: true}, nil
}

// begin starts the store on what was loaded, with a new segment.
func (s *Store) begin(st *state) error {
	s.log = newWriter(&s.options, st.next)
	s.gen, s.id = st.gen+1, st.id
	s.stats.Replayed, s.stats.Cut = st.read, st.cut
	if err := s.log.start(s.dir, &head{magic: journalMagic, gen: s.gen, first: st.next, id: s.id}); err != nil {
		return err
	}
	var effects store.Effects = s.log
	if s.options.Durability == None {
		effects = nil
	}
	m, record := st.loader.Start(effects, st.loss)
	s.Memory = m
	var err error
	if len(record) > 0 {
		s.log.Append(record)
		err = s.log.flush(true)
	}
	go s.log.run()
	if err == nil && st.fresh {
		err = s.snapshot(context.Background(), false)
	}
	if err != nil {
		return errors.Join(err, s.log.close(), m.Close())
	}
	return nil
}

// load reads the newest snapshot and the journal since.
func load(dir string, l *listing, o *Options) (*state, error) {
	st, err := emptyState(o)
	if err != nil {
		return nil, err
	}
	if len(l.snapshots) == 0 {
		return st, st.loadNew(dir, l)
	}
	gen := l.snapshots[len(l.snapshots)-1]
	snap, err := st.loadSnapshot(snapshotPath(dir, gen), gen)
	if err != nil {
		return nil, err
	}
	st.id, st.gen, st.next, st.fresh = snap.id, gen, snap.first, false
	first := st.next
	var segments []uint64
	for _, g := range l.segments {
		if g >= gen {
			segments = append(segments, g)
		}
	}
	if len(segments) == 0 || segments[0] != gen {
		return nil, fmt.Errorf("%w: %s is missing", ErrDamaged, segmentPath(dir, gen))
	}
	if err := st.loadSegments(dir, gen, segments, o); err != nil {
		return nil, err
	}
	st.loss = snap.flags&flagFinal == 0 || st.next != first
	return st, nil
}

// loadNew accepts a directory without a snapshot only if nothing was ever decided in
// it.
func (st *state) loadNew(dir string, l *listing) error {
	for _, gen := range l.segments {
		path := segmentPath(dir, gen)
		src, err := openSource(path)
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		h, err := src.head(journalMagic, gen)
		src.close()
		switch {
		case err != nil:
			return err
		case src.more() || h.first != 1:
			return fmt.Errorf("%w: %s: there is no snapshot that it follows", ErrDamaged, path)
		}
		st.gen = gen
	}
	return nil
}

func (st *state) loadSnapshot(path string, gen uint64) (h head, err error) {
	src, err := openSource(path)
	if err != nil {
		return h, fmt.Errorf("journal: %w", err)
	}
	defer src.close()
	if h, err = src.head(snapshotMagic, gen); err != nil {
		return h, err
	}
	return h, st.readParts(src)
}

func (st *state) readParts(src *source) error {
	var cut *torn
	for n := uint64(0); src.more(); n++ {
		number, part, err := src.frame()
		switch {
		case errors.As(err, &cut):
			return src.damaged("%v", err) // a snapshot is whole when it gets its name
		case err != nil:
			return err
		case number != n:
			return src.damaged("frame %d in place of %d", number, n)
		}
		if err := st.loader.Part(part); err != nil {
			return src.damaged("%v", err)
		}
		src.passed(part)
	}
	if !st.loader.Whole() {
		return src.damaged("the end is missing")
	}
	return nil
}

func (st *state) loadSegments(dir string, snapshot uint64, gens []uint64, o *Options) error {
	for i, gen := range gens {
		path := segmentPath(dir, gen)
		src, err := openSource(path)
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		h, err := src.head(journalMagic, gen)
		last := i == len(gens)-1
		broken := err == nil && h.flags&flagBroken != 0 && gen != snapshot
		if err == nil && !last && !broken {
			last = st.brokenFrom(dir, gens[i+1])
		}
		if err == nil && !broken {
			err = st.loadSegment(src, &h, last)
		}
		src.close()
		var cut *torn
		switch {
		case errors.As(err, &cut):
			st.cut = src.size - src.at
			o.Logf("journal: %s: offset %d: %v; the %d bytes of a record that was not written whole are cut off", path, src.at, cut, st.cut)
			err = truncate(path, src.at)
		case broken:
			o.Logf("journal: %s: the snapshot that it follows was not written; what was decided since the disk failed is lost", path)
		}
		if err != nil {
			return err
		}
		st.gen = gen
		if broken {
			return st.skip(dir, gens[i:], o)
		}
	}
	return nil
}

// brokenFrom reports whether a segment follows a failure of the disk, so that the one
// before it may end anywhere.
func (st *state) brokenFrom(dir string, gen uint64) bool {
	src, err := openSource(segmentPath(dir, gen))
	if err != nil {
		return false
	}
	defer src.close()
	h, err := src.head(journalMagic, gen)
	return err == nil && h.flags&flagBroken != 0
}

// skip keeps the segments that follow nothing out of the way of the next start.
func (st *state) skip(dir string, gens []uint64, o *Options) error {
	to, err := setAside(dir, &listing{segments: gens})
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	o.Logf("journal: %d segments without a snapshot are kept in %s", len(gens), to)
	st.gen = gens[len(gens)-1]
	return nil
}

// loadSegment repeats the records of a segment. A *torn error leaves the offset where
// the last whole frame ends.
func (st *state) loadSegment(src *source, h *head, last bool) error {
	switch {
	case h.id != st.id:
		src.at = 0
		return src.damaged("the file is of another directory")
	case h.first != st.next:
		src.at = 0
		return src.damaged("it begins with record %d in place of %d: a file before it is missing or was cut", h.first, st.next)
	}
	for src.more() {
		number, payload, err := src.frame()
		var cut *torn
		if errors.As(err, &cut) && !last {
			return src.damaged("%v, and other files follow", err)
		}
		if err != nil {
			return err
		}
		if number != st.next {
			return src.damaged("record %d in place of %d", number, st.next)
		}
		if err := st.records(src, payload); err != nil {
			return err
		}
		src.passed(payload)
	}
	return nil
}

func (st *state) records(src *source, payload []byte) error {
	for len(payload) > 0 {
		n, size := binary.Uvarint(payload)
		if size <= 0 || n > uint64(len(payload)-size) {
			return src.damaged("a record is longer than its frame")
		}
		if err := st.loader.Record(st.next, payload[size:size+int(n)]); err != nil {
			return src.damaged("record %d: %v", st.next, err)
		}
		payload = payload[size+int(n):]
		st.next++
		st.read++
	}
	return nil
}

// truncate cuts a torn frame off, so that files may follow.
func truncate(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := errors.Join(f.Truncate(size), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("journal: %s: %w", path, err)
	}
	return nil
}
