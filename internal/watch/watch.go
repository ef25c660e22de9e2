// Package watch tells when files change.
package watch

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Files calls changed when what is in one of the files is another, until ctx ends.
// files says which they are; it is asked again after each change. It returns once it
// watches, or with the reason why it cannot; wait ends when nothing more is called.
//
// Folders are watched, not files, so a file that is replaced is seen; so is one behind
// a link that is set to another place, as a Kubernetes config map does it. Changes
// that come together are told once, after quiet.
func Files(ctx context.Context, files func() []string, quiet time.Duration, changed func()) (wait func(), err error) {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	w := &watcher{fs: fs, files: files, quiet: quiet, changed: changed}
	w.follow()
	if len(fs.WatchList()) == 0 {
		_ = fs.Close()
		return nil, fmt.Errorf("watch: no folder of %s can be watched", strings.Join(files(), ", "))
	}
	w.seen = w.sum()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.run(ctx)
		_ = fs.Close()
	}()
	return func() { <-done }, nil
}

type watcher struct {
	fs      *fsnotify.Watcher
	files   func() []string
	quiet   time.Duration
	changed func()
	seen    [sha256.Size]byte
}

func (w *watcher) run(ctx context.Context) {
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-w.fs.Events:
			if !ok {
				return
			}
			if due == nil { // so that what never stops is told, too
				due = time.After(w.quiet)
			}
		case _, ok := <-w.fs.Errors: // events were lost: look
			if !ok {
				return
			}
			due = time.After(w.quiet)
		case <-due:
			due = nil
			w.look()
		}
	}
}

// look tells if anything is another than before.
func (w *watcher) look() {
	w.follow()
	if sum := w.sum(); sum != w.seen {
		w.seen = sum // as it was before: what changes meanwhile is told again
		w.changed()
		w.follow()
	}
}

// sum is of what all files hold. One that is not there counts as such.
func (w *watcher) sum() (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, f := range w.files() {
		data, err := os.ReadFile(f)
		fmt.Fprintf(h, "%q %t %d\n", f, err == nil, len(data))
		h.Write(data)
	}
	h.Sum(sum[:0])
	return sum
}

// follow watches the folders in which the files and the links to them lie, and no
// others.
func (w *watcher) follow() {
	var dirs []string
	for _, f := range w.files() {
		dirs = append(dirs, folders(f)...)
	}
	for _, d := range dirs {
		if !slices.Contains(w.fs.WatchList(), d) {
			_ = w.fs.Add(d) // a folder that is not there is watched when it is
		}
	}
	for _, d := range w.fs.WatchList() {
		if !slices.Contains(dirs, d) {
			_ = w.fs.Remove(d)
		}
	}
}

// maxLinks is how many links a path may go through.
const maxLinks = 40

// folders returns the folder in which each link on the way to a file lies, and that of
// the file.
func folders(path string) (dirs []string) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	for range maxLinks {
		link, rest := firstLink(path)
		if link == "" {
			break
		}
		dirs = append(dirs, filepath.Dir(link))
		to, err := os.Readlink(link)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(link), to)
		}
		path = filepath.Join(to, rest)
	}
	dirs = append(dirs, filepath.Dir(path))
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// firstLink returns the first part of a path that is a link, and what follows it.
func firstLink(path string) (link, rest string) {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != filepath.Separator {
			continue
		}
		if info, err := os.Lstat(path[:i]); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return path[:i], strings.TrimPrefix(path[i:], string(filepath.Separator))
		}
	}
	return "", ""
}
