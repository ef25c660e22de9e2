package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/store"
	"github.com/slidegate/slidegate/store/storetest"
)

func TestStore(t *testing.T) {
	for _, d := range []Durability{None, Interval, Every} {
		t.Run(d.String(), func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
				o := Options{Memory: store.MemoryOptions{Now: clock.Now}, Durability: d, Interval: 5 * time.Millisecond}
				o.create = unsynced // the suite makes 60 000 calls
				return open(t, t.TempDir(), o)
			})
		})
	}
}

// quick is a file that is not synced.
type quick struct{ *os.File }

func (quick) Sync() error { return nil }

func unsynced(path string) (file, error) {
	f, err := os.Create(path)
	return quick{f}, err
}

// TestCleanStop: a store that was closed comes back as it was, with receipts, locks and
// refunds.
func TestCleanStop(t *testing.T) {
	for _, d := range []Durability{None, Interval, Every} {
		t.Run(d.String(), func(t *testing.T) {
			dir, now := t.TempDir(), start
			o := slow(d, func() int64 { return now })
			s := open(t, dir, o)
			w, p := store.NewWindow("w"), sliding(5, minute)
			a, b := hit(t, s, w, p, "k"), hit(t, s, w, p, "k")
			now += second
			c := hit(t, s, w, p, "k")
			refund(t, s, a, true)
			lock := store.Item{Window: w, Key: []byte("locked"), Limit: sliding(0, minute), Cost: 1, Lock: &store.Lock{Lasts: []int64{minute}, Forget: minute}}
			if err := s.Decide(context.Background(), []store.Request{{Items: []store.Item{lock}}}); err != nil {
				t.Fatal(err)
			}
			closeStore(t, s)
			now += 10 * second // what passes while it is closed counts
			s = open(t, dir, o)
			if got := used(t, s, w, p, "k"); got != 2 {
				t.Errorf("%d used, want 2", got)
			}
			refund(t, s, a, false)
			refund(t, s, b, true)
			refund(t, s, c, true)
			refund(t, s, c, false)
			locks, err := s.Locks(context.Background())
			if err != nil || len(locks) != 1 || locks[0].Until != start+second+minute || string(locks[0].Key) != "locked" {
				t.Errorf("locks: %+v, %v", locks, err)
			}
			closeStore(t, s)
		})
	}
}

func refund(t *testing.T, s store.Store, req *store.Request, want bool) {
	t.Helper()
	given, err := s.Refund(context.Background(), []slidegate.Receipt{req.Items[0].Receipt})
	if err != nil || given != want {
		t.Errorf("refund: %v, %v; want %v", given, err, want)
	}
}

// TestLostReceipt: a receipt of a charge that a crash lost gives nothing back, and its
// number is not given again.
func TestLostReceipt(t *testing.T) {
	dir, now := t.TempDir(), start
	o := slow(Interval, func() int64 { return now })
	s := open(t, dir, o)
	defer s.Close()
	w := store.NewWindow("w")
	p := sliding(10, minute)
	hit(t, s, w, p, "k")
	if err := s.log.flush(true); err != nil {
		t.Fatal(err)
	}
	lost := hit(t, s, w, p, "k")
	for range 20 { // more crashes than are kept apart
		after := copyDir(t, dir)
		r := open(t, after, o)
		again := hit(t, r, w, p, "k")
		if again.Items[0].Receipt.Seq <= lost.Items[0].Receipt.Seq {
			t.Fatalf("number %d is given again", again.Items[0].Receipt.Seq)
		}
		refund(t, r, lost, false)
		refund(t, r, again, true)
		if err := r.log.flush(true); err != nil {
			t.Fatal(err)
		}
		lost = hit(t, r, w, p, "k")
		defer r.Close()
		dir = after
	}
}

// TestLocked: a second process is kept out.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second Open: %v", err)
	}
	closeStore(t, s)
	closeStore(t, open(t, dir, Options{}))
}

// TestSnapshotsReplaceFiles: of the files before a snapshot none stays.
func TestSnapshotsReplaceFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	w, p := store.NewWindow("w"), sliding(100, minute)
	for range 5 {
		hit(t, s, w, p, "k")
		if err := s.Snapshot(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	l, err := list(dir)
	if err != nil || len(l.snapshots) != 1 || len(l.segments) != 1 || l.snapshots[0] != l.segments[0] {
		t.Errorf("%+v, %v", l, err)
	}
	closeStore(t, s)
	if err := s.Snapshot(context.Background()); !errors.Is(err, slidegate.ErrClosed) {
		t.Errorf("a snapshot after Close: %v", err)
	}
	s = open(t, dir, Options{})
	if got := used(t, s, w, p, "k"); got != 5 {
		t.Errorf("%d used, want 5", got)
	}
	closeStore(t, s)
}

// TestOptions: all that is wrong is said at once.
func TestOptions(t *testing.T) {
	_, err := Open(t.TempDir(), Options{Durability: 7, Interval: 1, MaxBuffer: 5})
	for _, want := range []string{"durability 7", "interval 1ns", "buffer of 5"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	for _, d := range []Durability{None, Interval, Every} {
		if got, err := ParseDurability(d.String()); got != d || err != nil {
			t.Errorf("%v: %v, %v", d, got, err)
		}
	}
	if _, err := ParseDurability("often"); err == nil || fmt.Sprint(Durability(9)) != "durability(9)" {
		t.Error("a durability that there is not")
	}
}
