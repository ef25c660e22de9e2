package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sync"
	"time"
)

// writer takes records from the store, and writes them to a file from a goroutine of
// its own. Records that wait together become one frame: they are written, and after a
// crash cut, as one.
//
// It has a file and all is well; or it failed and has none, and records are lost; or it
// has one again, and failed is set until the snapshot is written that holds what was
// lost.
type writer struct {
	options *Options

	disk sync.Mutex // of all writing; taken before mu

	mu      sync.Mutex
	changed sync.Cond // durable or failed has changed
	file    file
	path    string
	dead    file   // to be closed by whoever holds disk
	buf     []byte // room for the head of a frame, and the records that wait
	spare   []byte
	first   uint64 // the number of the first in buf
	next    uint64 // of the next record
	synced  uint64 // up to here all is on disk
	durable uint64 // up to here all outlives a crash
	failed  error
	news    []string // to be logged without a lock
	count   Stats

	wake chan struct{}
	stop chan struct{}
	done chan struct{}
}

const (
	// enough is how many bytes wait before they are written without being synced.
	enough = 1 << 18
	// lostRecord is the number of a record that is not kept.
	lostRecord = math.MaxUint64
)

func newWriter(o *Options, next uint64) *writer {
	w := &writer{
		options: o, first: next, next: next, durable: next - 1, synced: next - 1,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	w.changed.L = &w.mu
	return w
}

// Append implements [store.Effects].
func (w *writer) Append(record []byte) uint64 {
	w.mu.Lock()
	if w.file == nil {
		w.count.Lost++
		w.mu.Unlock()
		return lostRecord
	}
	if len(w.buf) == 0 {
		w.buf = append(w.buf, make([]byte, frameBytes)...)
	}
	w.buf = binary.AppendUvarint(w.buf, uint64(len(record)))
	w.buf = append(w.buf, record...)
	number, waits := w.next, len(w.buf)
	w.next++
	w.count.Records++
	if int64(waits) > w.options.MaxBuffer {
		w.fail(fmt.Errorf("journal: %s: %d bytes wait for a slow disk, more than MaxBuffer", w.path, waits))
	}
	w.mu.Unlock()
	if w.options.Durability == Every || waits > enough {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return number
}

// Wait implements [store.Effects].
func (w *writer) Wait(number uint64) error {
	if w.options.Durability != Every {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for number != lostRecord && w.durable < number && w.failed == nil {
		w.changed.Wait()
	}
	switch {
	case w.durable >= number:
		return nil
	case w.failed == nil:
		return fmt.Errorf("%w: the disk failed", ErrNotDurable)
	}
	return fmt.Errorf("%w: %w", ErrNotDurable, w.failed)
}

// last returns the number of the last record.
func (w *writer) last() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next - 1
}

func (w *writer) health() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// length returns how long the file is.
func (w *writer) length() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count.SegmentBytes
}

// stats fills in what the writer counts.
func (w *writer) stats(st *Stats) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &w.count
	st.Records, st.Bytes, st.Syncs, st.SegmentBytes = c.Records, c.Bytes, c.Syncs, c.SegmentBytes
	st.Lost, st.Failures = c.Lost, st.Failures+c.Failures
}

// fail gives the file up: after a failed sync nobody knows what is in it. What waits is
// lost. mu is held.
func (w *writer) fail(err error) {
	w.count.Failures++
	w.count.Lost += int64(w.next - w.first)
	w.buf, w.first = w.buf[:0], w.next
	w.dead, w.file = w.file, nil
	if w.failed == nil {
		w.news = append(w.news, err.Error()+"; nothing is kept until a snapshot is written")
	}
	w.failed = err
	w.changed.Broadcast()
}

// bury closes the file that was given up. disk and mu are held.
func (w *writer) bury() {
	if w.dead != nil {
		_ = w.dead.Close() // it has failed before
		w.dead = nil
	}
}

// run writes what waits.
func (w *writer) run() {
	defer close(w.done)
	tick := time.NewTicker(w.options.Interval)
	defer tick.Stop()
	for {
		sync := w.options.Durability == Every
		select {
		case <-w.stop:
			return
		case <-w.wake:
		case <-tick.C:
			sync = true
		}
		_ = w.flush(sync) // health and log say so
	}
}

// flush writes what waits, and syncs the file if told so.
func (w *writer) flush(sync bool) error {
	w.disk.Lock()
	err := w.write(sync)
	w.disk.Unlock()
	w.tell()
	return err
}

// tell logs what happened.
func (w *writer) tell() {
	w.mu.Lock()
	news := w.news
	w.news = nil
	w.mu.Unlock()
	for _, text := range news {
		w.options.Logf("%s", text)
	}
}

// write is flush with disk held.
func (w *writer) write(sync bool) error {
	w.mu.Lock()
	w.bury()
	f, frame, first, last := w.file, w.buf, w.first, w.next-1
	if f == nil || len(frame) == 0 && (!sync || w.synced == last) {
		err := w.failed
		w.mu.Unlock()
		return err
	}
	w.buf, w.spare, w.first = w.spare[:0], nil, w.next
	w.mu.Unlock()

	err := writeFrame(f, first, frame)
	if err == nil && sync {
		err = f.Sync()
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	if cap(frame) <= 4*enough {
		w.spare = frame[:0]
	}
	w.count.Bytes += int64(len(frame))
	w.count.SegmentBytes += int64(len(frame))
	switch {
	case w.file != f: // too much came while the disk was slow
		w.count.Lost += int64(last + 1 - first)
	case err != nil:
		w.first = first
		w.fail(fmt.Errorf("journal: %s: %w", w.path, err))
	case sync:
		w.count.Syncs++
		w.synced = last
		if w.failed == nil {
			w.durable = last
			w.changed.Broadcast()
		}
	}
	w.bury()
	return w.failed
}

// writeFrame fills in the head of a frame and writes it in one call.
func writeFrame(f file, first uint64, frame []byte) error {
	if len(frame) == 0 {
		return nil
	}
	putFrameHead(frame, first)
	_, err := f.Write(frame)
	return err
}

// start begins the first file.
func (w *writer) start(dir string, h *head) (err error) {
	w.path = segmentPath(dir, h.gen)
	w.file, err = w.options.begin(w.path, h)
	w.count.SegmentBytes = headBytes
	return err
}

// rotate ends the file and begins one with the head, which it completes.
func (w *writer) rotate(dir string, h *head) error {
	w.disk.Lock()
	defer w.disk.Unlock()
	_ = w.write(true) // if that fails, the new file is a broken one
	w.mu.Lock()
	broken := w.file == nil
	h.first = w.first
	if broken {
		h.flags |= flagBroken
	}
	w.mu.Unlock()
	path := segmentPath(dir, h.gen)
	f, err := w.options.begin(path, h)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.bury()
	if (w.file == nil) != broken {
		_ = f.Close()
		return errors.Join(w.failed, fs.ErrClosed)
	}
	w.dead, w.file, w.path = w.file, f, path
	w.synced = w.first - 1
	w.count.SegmentBytes = headBytes
	return nil
}

// saved is called when a snapshot was written that holds all that was lost before the
// file was begun.
func (w *writer) saved() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil || w.file == nil {
		return
	}
	w.news = append(w.news, "journal: a snapshot was written after the failure; all is kept again")
	w.failed, w.durable = nil, w.synced
	w.changed.Broadcast()
}

// close ends the goroutine and closes the file.
func (w *writer) close() error {
	close(w.stop)
	<-w.done
	w.disk.Lock()
	defer w.disk.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bury()
	f := w.file
	w.file, w.failed = nil, fs.ErrClosed
	w.changed.Broadcast()
	if f == nil {
		return nil
	}
	return f.Close()
}
