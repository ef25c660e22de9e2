//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// dirLock keeps other processes out of a directory. It ends with the process, however
// that ends.
type dirLock struct{ f *os.File }

func lockDir(dir string) (*dirLock, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		err = fmt.Errorf("%w: %s is locked by another process (%w); give each its own", ErrLocked, dir, err)
		return nil, errors.Join(err, f.Close())
	}
	return &dirLock{f}, nil
}

func (l *dirLock) unlock() error { return l.f.Close() }
