//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package journal

// dirLock does nothing where there is no flock: keep other processes out yourself.
type dirLock struct{}

func lockDir(string) (*dirLock, error) { return &dirLock{}, nil }

func (*dirLock) unlock() error { return nil }
