// Package journal keeps a store of windows in memory over a restart: in snapshots, and
// in a journal of what changed since the last of them.
//
// [Open] returns a store that is as it was when it was closed, or, after a crash, as it
// was at most an interval before; see [Options.Durability]. The files are described in
// docs/format/journal.md, how to run it in docs/guide/durability.md.
package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slidegate/slidegate/store"
)

// Errors of this package.
var (
	// ErrNotDurable: a decision was made, but could not be written to disk, and the
	// durability is Every. What it took counts until the process ends, and may count
	// after a restart or not.
	ErrNotDurable = errors.New("journal: not durable")
	// ErrDamaged: a file of the directory is not what was written, or is missing. All
	// files stay as they are.
	ErrDamaged = errors.New("journal: damaged")
	// ErrLocked: another process uses the directory.
	ErrLocked = errors.New("journal: the directory is in use")
)

// Durability says what a crash may lose.
type Durability uint8

// What there is.
const (
	// Interval: what was decided in the last Options.Interval.
	Interval Durability = iota
	// Every: nothing that was answered. A call returns after what it changed has been
	// synced to disk; calls that wait at the same time share a sync.
	Every
	// None: what was decided since the last snapshot. There is no journal. Of a request
	// over several keys that was decided while the snapshot was written, it may hold a
	// part.
	None
)

// durabilities is indexed by Durability.
var durabilities = [...]string{Interval: "interval", Every: "every", None: "none"}

// String returns the name as configurations write it.
func (d Durability) String() string {
	if int(d) < len(durabilities) {
		return durabilities[d]
	}
	return fmt.Sprintf("durability(%d)", uint8(d))
}

// ParseDurability returns the durability called name.
func ParseDurability(name string) (Durability, error) {
	for d, n := range durabilities {
		if n == name {
			return Durability(d), nil
		}
	}
	return 0, fmt.Errorf("journal: durability %q: say none, interval or every", name)
}

// Defaults of [Options].
const (
	DefaultInterval      = time.Second
	DefaultSnapshotEvery = 5 * time.Minute
	DefaultSnapshotBytes = 256 << 20
	DefaultMaxBuffer     = 64 << 20
)

// Options tune a journal. The zero value is ready for use.
type Options struct {
	// Memory are the options of the store itself.
	Memory store.MemoryOptions
	// Durability is what a crash may lose; Interval by default.
	Durability Durability
	// Interval is how often the journal is synced; 0 means every second. It is at least
	// a millisecond. With Every it is only how often a failed disk is tried again, and so
	// it is with None.
	Interval time.Duration
	// SnapshotEvery is how long after a snapshot the next is written; 0 means five
	// minutes, negative never.
	SnapshotEvery time.Duration
	// SnapshotBytes is how long the journal may get before a snapshot is written; 0
	// means 256 MiB, negative any length.
	SnapshotBytes int64
	// MaxBuffer is how many bytes may wait to be written while the disk is slow; 0 means
	// 64 MiB. Over it the journal fails, as with a disk that is full.
	MaxBuffer int64
	// StartEmpty begins an empty store when the directory is damaged. The files are
	// moved to a directory beside them, whose name begins with damaged-.
	StartEmpty bool
	// Logf is told what happens to files: a record that was cut, a disk that fails and
	// works again; nil for nobody. It may be called from several goroutines at once.
	Logf func(format string, args ...any)

	create func(name string) (file, error) // for tests: a disk that fails
}

func (o *Options) validate() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("journal: "+format, args...))
		}
	}
	bad(int(o.Durability) < len(durabilities), "durability %d: want Interval, Every or None", o.Durability)
	bad(o.Interval == 0 || o.Interval >= time.Millisecond, "interval %v: want 1ms or more; for no loss say Every", o.Interval)
	bad(o.MaxBuffer == 0 || o.MaxBuffer >= 1<<16, "buffer of %d bytes: want 64 KiB or more", o.MaxBuffer)
	o.Interval = cmp.Or(o.Interval, DefaultInterval)
	o.SnapshotEvery = cmp.Or(o.SnapshotEvery, DefaultSnapshotEvery)
	o.SnapshotBytes = cmp.Or(o.SnapshotBytes, DefaultSnapshotBytes)
	o.MaxBuffer = cmp.Or(o.MaxBuffer, DefaultMaxBuffer)
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	if o.create == nil {
		o.create = createFile
	}
	return errors.Join(errs...)
}

// Store is a store in memory that outlives its process. All methods are safe for
// concurrent use. Make it with [Open].
//
// When the disk fails, the store goes on deciding in memory: with Every each call that
// changes something fails with [ErrNotDurable], otherwise calls succeed and what they
// change is not written. Health says so, and Stats counts it. Every interval it tries to
// write a snapshot; when that succeeds, everything is as safe as before.
type Store struct {
	*store.Memory

	dir     string
	options Options
	lock    *dirLock
	log     *writer

	snapshots sync.Mutex // one at a time
	closing   sync.Once
	closed    error
	stop      chan struct{}
	loops     sync.WaitGroup

	id, gen uint64 // of the directory, and of the latest segment
	ended   bool   // the last one was written, or tried

	mu     sync.Mutex // of what follows
	stats  Stats
	last   time.Time // of the last snapshot, or the last that failed
	failed error     // the last snapshot
}

// Stats says what a journal has done.
type Stats struct {
	// Records and Bytes is what was written to the journal since the start, and Syncs
	// how often it was synced.
	Records, Bytes, Syncs int64
	// SegmentBytes is how long the journal since the last snapshot is.
	SegmentBytes int64
	// Lost counts records that could not be written. A snapshot that came later holds
	// what they changed.
	Lost int64
	// Failures counts how often writing failed, of journal and snapshots.
	Failures int64
	// Snapshots counts those that were written. Of the last one: its length in bytes,
	// how long it took, how long it held the lock of a shard at most, and when it was
	// done.
	Snapshots     int64
	SnapshotBytes int64
	SnapshotTook  time.Duration
	SnapshotHold  time.Duration
	SnapshotAt    time.Time
	// Replayed is how many records were read at the start, and Cut how many bytes of a
	// torn record were cut off then.
	Replayed, Cut int64
}

// JournalStats returns the current numbers of the journal. Those of the memory are
// Memory.Stats.
func (s *Store) JournalStats() Stats {
	s.mu.Lock()
	st := s.stats
	s.mu.Unlock()
	s.log.stats(&st)
	return st
}

// Health returns nil while everything is as durable as the options say, or else why it
// is not.
func (s *Store) Health() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.log.health(), s.failed)
}

// Snapshot writes a snapshot now, and then removes what it makes superfluous.
func (s *Store) Snapshot(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.snapshot(ctx, false)
}

// Close ends all deciding, writes a last snapshot and frees the memory. If that snapshot
// fails, the journal holds everything up to the end, unless the error says that it
// failed, too. A second call returns what the first did.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Store) close() error {
	close(s.stop)
	s.loops.Wait()
	s.Stop()
	err := s.log.flush(true)
	if snap := s.snapshot(context.Background(), true); snap != nil {
		err = errors.Join(err, snap)
	} else {
		err = nil // it holds what could not be written before
	}
	return errors.Join(err, s.log.close(), s.Memory.Close(), s.lock.unlock())
}

// keep writes snapshots when they are due, and tries again what failed.
func (s *Store) keep() {
	defer s.loops.Done()
	tick := time.NewTicker(s.options.Interval)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			if s.due() {
				_ = s.snapshot(context.Background(), false) // health and log say so
			}
		}
	}
}

// tryAgain is how many intervals after a snapshot failed another is tried while the
// journal works.
const tryAgain = 10

// due reports whether it is time for a snapshot.
func (s *Store) due() bool {
	if s.log.health() != nil {
		return true
	}
	o := &s.options
	s.mu.Lock()
	since, failed := time.Since(s.last), s.failed
	s.mu.Unlock()
	if failed != nil {
		return since >= tryAgain*o.Interval
	}
	return o.SnapshotEvery > 0 && since >= o.SnapshotEvery || o.SnapshotBytes > 0 && s.log.length() >= o.SnapshotBytes
}

var _ store.Store = (*Store)(nil)
