// Package listen opens the sockets of the daemon: TCP and unix, with a bound on the
// connections of all of them, and TLS whose certificates can be read again.
package listen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Unix listens on a socket at path, with these permissions. A socket that nobody
// listens on any more is replaced; one that somebody does, or any other file, is left
// alone and is an error. The socket is removed when the listener is closed.
func Unix(ctx context.Context, path string, mode fs.FileMode) (net.Listener, error) {
	if err := vacant(ctx, path); err != nil {
		return nil, err
	}
	// Made in a folder that is ours alone, so that nobody connects before it has its
	// permissions, and moved to its place at once.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".slidegate-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	made := filepath.Join(dir, "s")
	ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", made)
	if err != nil {
		return nil, err
	}
	u, ok := ln.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(errors.New("no unix socket"), ln.Close())
	}
	u.SetUnlinkOnClose(false)
	err = errors.Join(os.Chmod(made, mode), os.Rename(made, path))
	var info fs.FileInfo
	if err == nil {
		info, err = os.Lstat(path)
	}
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return &socket{UnixListener: u, path: path, info: info}, nil
}

// vacant reports why a socket cannot be made at path.
func vacant(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there and is no socket; remove it, or name another path", path)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil // nobody listens: it is stale
	}
	return errors.Join(fmt.Errorf("%s: another process listens on it", path), conn.Close())
}

// socket removes its file when it is closed, unless another has taken the place.
type socket struct {
	*net.UnixListener

	path string
	info fs.FileInfo
}

// Addr returns the address that clients know.
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

// Close stops listening and removes the socket.
func (s *socket) Close() error {
	if info, err := os.Lstat(s.path); err == nil && os.SameFile(info, s.info) {
		_ = os.Remove(s.path)
	}
	return s.UnixListener.Close()
}

// Limit bounds how many connections are open at once. Who comes when there are as
// many waits until one is closed.
type Limit struct {
	slots chan struct{}
	open  atomic.Int64
}

// NewLimit returns a bound of n connections.
func NewLimit(n int) *Limit { return &Limit{slots: make(chan struct{}, n)} }

// Open returns how many connections are open.
func (l *Limit) Open() int64 { return l.open.Load() }

// Listener returns ln with the bound, which it shares with the others.
func (l *Limit) Listener(ln net.Listener) net.Listener {
	return &limited{Listener: ln, limit: l, closed: make(chan struct{})}
}

type limited struct {
	net.Listener

	limit  *Limit
	closed chan struct{}
	once   sync.Once
}

// Accept waits for a connection, then for a free place: a listener to which nobody
// comes holds none.
func (l *limited) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case l.limit.slots <- struct{}{}:
	case <-l.closed:
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	l.limit.open.Add(1)
	return &counted{Conn: conn, limit: l.limit}, nil
}

// Close stops listening.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// counted is a connection that holds a place.
type counted struct {
	net.Conn

	limit *Limit
	once  sync.Once
}

// Close closes the connection and gives its place back, once.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.limit.open.Add(-1)
		<-c.limit.slots
	})
	return err
}
