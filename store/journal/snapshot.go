package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/slidegate/slidegate"
)

// snapshot begins a new segment, writes a snapshot that it follows, and removes the
// files that this makes superfluous. The last one is written when nothing is decided any
// more.
func (s *Store) snapshot(ctx context.Context, last bool) error {
	s.snapshots.Lock()
	defer s.snapshots.Unlock()
	if s.ended {
		return fmt.Errorf("journal: %w", slidegate.ErrClosed)
	}
	s.ended = last
	began := time.Now()
	size, hold, err := s.writeSnapshot(ctx, last)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.failed = time.Now(), err
	if err != nil {
		s.stats.Failures++
		s.options.Logf("%v", err)
		return err
	}
	s.stats.Snapshots++
	s.stats.SnapshotBytes, s.stats.SnapshotHold = size, hold
	s.stats.SnapshotTook, s.stats.SnapshotAt = time.Since(began), s.last
	return nil
}

func (s *Store) writeSnapshot(ctx context.Context, last bool) (size int64, hold time.Duration, err error) {
	h := head{magic: journalMagic, gen: s.gen + 1, id: s.id}
	if err := s.log.rotate(s.dir, &h); err != nil {
		return 0, 0, fmt.Errorf("journal: a segment for a snapshot: %w", err)
	}
	s.gen = h.gen
	h.magic, h.flags = snapshotMagic, 0
	if last {
		h.flags = flagFinal
	}
	path := snapshotPath(s.dir, h.gen)
	size, hold, err = s.dump(ctx, path, &h, !last)
	if err == nil {
		err = finish(path)
	}
	if err != nil {
		_ = os.Remove(path + unfinished) // room for the next; what stays is removed at the next start
		return 0, 0, fmt.Errorf("journal: snapshot %s: %w", path, err)
	}
	s.log.saved()
	s.log.tell()
	s.remove(h.gen)
	return size, hold, nil
}

// dump writes the state to a file that has not its name yet.
func (s *Store) dump(ctx context.Context, path string, h *head, gently bool) (size int64, hold time.Duration, err error) {
	f, err := s.options.create(path + unfinished)
	if err != nil {
		return 0, 0, err
	}
	buf := h.append(nil)
	number := uint64(0)
	hold, err = s.Dump(s.log.last, gently, func(part []byte) error {
		at := len(buf)
		buf = append(append(buf, make([]byte, frameBytes)...), part...)
		putFrameHead(buf[at:], number)
		number++
		if len(buf) < enough {
			return ctx.Err()
		}
		n, err := f.Write(buf)
		size += int64(n)
		buf = buf[:0]
		return errors.Join(err, ctx.Err())
	})
	if err == nil {
		var n int
		n, err = f.Write(buf)
		size += int64(n)
	}
	if err == nil {
		err = f.Sync()
	}
	return size, hold, errors.Join(err, f.Close())
}

// remove deletes the files of earlier generations. One that stays is deleted after the
// next snapshot.
func (s *Store) remove(gen uint64) {
	l, err := list(s.dir)
	for _, g := range l.snapshots {
		if g < gen {
			err = errors.Join(err, os.Remove(snapshotPath(s.dir, g)))
		}
	}
	for _, g := range l.segments {
		if g < gen {
			err = errors.Join(err, os.Remove(segmentPath(s.dir, g)))
		}
	}
	if err != nil {
		s.options.Logf("journal: removing what a snapshot replaces: %v", err)
	}
}
