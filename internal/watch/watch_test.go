package watch_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/slidegate/slidegate/internal/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// watched watches files until the test ends.
func watched(t testing.TB, files ...string) <-chan struct{} {
	t.Helper()
	told := make(chan struct{}, 100)
	ctx, stop := context.WithCancel(context.Background())
	wait, err := watch.Files(ctx, func() []string { return files }, 20*time.Millisecond, func() { told <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); wait() })
	return told
}

func want(t testing.TB, told <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-told:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s was not told", what)
	}
}

// quiet waits until what might have been told was.
func quiet(t testing.TB, told <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-told:
		t.Errorf("%s was told", what)
	case <-time.After(150 * time.Millisecond):
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write(t, a, "1")
	told := watched(t, a, b)
	write(t, a, "2")
	want(t, told, "a file that is written")
	write(t, filepath.Join(dir, "other"), "1")
	quiet(t, told, "another file")
	write(t, a, "2")
	quiet(t, told, "the same text")
	write(t, b, "")
	want(t, told, "a file that is made, though it is empty")
	write(t, filepath.Join(dir, "new"), "3")
	if err := os.Rename(filepath.Join(dir, "new"), a); err != nil {
		t.Fatal(err)
	}
	want(t, told, "a file that is replaced")
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}
	want(t, told, "a file that is removed")
	write(t, a, "4")
	want(t, told, "a file that is made again")
}

// TestConfigMap: the way in which Kubernetes changes a config map.
func TestConfigMap(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "..1", "rules.yaml"), "1")
	link(t, "..1", filepath.Join(dir, "..data"))
	link(t, "..data/rules.yaml", filepath.Join(dir, "rules.yaml"))
	told := watched(t, filepath.Join(dir, "rules.yaml"))
	for _, version := range []string{"..2", "..3", "..4"} {
		write(t, filepath.Join(dir, version, "rules.yaml"), version)
		link(t, version, filepath.Join(dir, "..data"))
		want(t, told, version)
	}
	write(t, filepath.Join(dir, "..4", "rules.yaml"), "in place")
	want(t, told, "a file behind a link that is written")
	if err := os.RemoveAll(filepath.Join(dir, "..1")); err != nil {
		t.Fatal(err)
	}
	quiet(t, told, "the end of an old version")
}

// TestFolderLink: a link to a folder on the way, absolute, elsewhere.
func TestFolderLink(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	write(t, filepath.Join(elsewhere, "1", "sub", "rules.yaml"), "1")
	write(t, filepath.Join(elsewhere, "2", "sub", "rules.yaml"), "2")
	current := filepath.Join(dir, "current")
	link(t, filepath.Join(elsewhere, "1"), current)
	told := watched(t, filepath.Join(current, "sub", "rules.yaml"))
	link(t, filepath.Join(elsewhere, "2"), current)
	want(t, told, "a link to another folder")
	write(t, filepath.Join(elsewhere, "2", "sub", "rules.yaml"), "3")
	want(t, told, "a file in that folder")
	write(t, filepath.Join(elsewhere, "1", "sub", "rules.yaml"), "3")
	quiet(t, told, "a file in the old folder")
	link(t, "current", filepath.Join(dir, "loop"))
	link(t, "loop", current) // leads nowhere
	want(t, told, "a link that leads nowhere")
	link(t, filepath.Join(elsewhere, "1"), current)
	want(t, told, "a link that leads somewhere again")
}

func TestNothingToWatch(t *testing.T) {
	if _, err := watch.Files(t.Context(), func() []string { return []string{"/none/at/all"} }, time.Millisecond, func() {}); err == nil {
		t.Error("want an error")
	}
}
