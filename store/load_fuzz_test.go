package store_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/slidegate/slidegate/store"
)

// sample returns the parts of a dump, as one, and records, of a store that did a little
// of everything.
func sample(f *testing.F) (parts []byte, records [][]byte) {
	f.Helper()
	n := &notes{}
	l, err := store.NewLoader(store.MemoryOptions{SweepEvery: -1})
	if err != nil {
		f.Fatal(err)
	}
	m, _ := l.Start(n, true)
	busy(m, rand.New(rand.NewPCG(1, 1)), times(300))
	m.Sweep()
	if _, err := m.Dump(n.last, false, func(part []byte) error {
		parts = append(parts, part...)
		return nil
	}); err != nil {
		f.Fatal(err)
	}
	if err := m.Close(); err != nil {
		f.Fatal(err)
	}
	return parts, n.records[:min(len(n.records), 60)]
}

// times returns what is true so many times.
func times(n int) (more func() bool) {
	return func() bool {
		n--
		return n >= 0
	}
}

// use makes calls on a store that was loaded from anything.
func use(t *testing.T, l *store.Loader) {
	t.Helper()
	m, _ := l.Start(nil, true)
	busy(m, rand.New(rand.NewPCG(2, 2)), times(30))
	if _, err := m.Locks(context.Background()); err != nil {
		t.Error(err)
	}
	m.Sweep()
	if _, err := m.Dump(func() uint64 { return 0 }, false, func([]byte) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// FuzzPart loads what perhaps is a dump. Whatever it is, nothing panics, and what is
// loaded can be used.
func FuzzPart(f *testing.F) {
	parts, _ := sample(f)
	f.Add(parts)
	f.Add(parts[:len(parts)/2])
	f.Fuzz(func(t *testing.T, part []byte) {
		l, err := store.NewLoader(store.MemoryOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Part(part); err != nil && !errors.Is(err, store.ErrDamaged) {
			t.Fatal(err)
		} else if err == nil {
			use(t, l)
		}
	})
}

// FuzzRecord does the same for a record.
func FuzzRecord(f *testing.F) {
	_, records := sample(f)
	for _, r := range records {
		f.Add(r)
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		l, err := store.NewLoader(store.MemoryOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for n := range uint64(2) {
			if err = l.Record(n+1, record); err != nil && !errors.Is(err, store.ErrDamaged) {
				t.Fatal(err)
			}
		}
		if err == nil {
			use(t, l)
		}
	})
}
