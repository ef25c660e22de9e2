package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/slidegate/slidegate/store"
	"github.com/slidegate/slidegate/store/journal"
)

// openStore opens the store: in memory, or kept in the folder of the settings.
func (d *daemon) openStore(o store.MemoryOptions) (err error) {
	s := &d.c.State
	if s.Dir == "" {
		d.memory, err = store.NewMemory(o)
		d.store = d.memory
		return err
	}
	durability, err := journal.ParseDurability(s.Durability)
	if err != nil {
		return err
	}
	d.journal, err = journal.Open(filepath.Join(s.Dir, "windows"), journal.Options{
		Memory: o, Durability: durability, Interval: s.Interval, SnapshotEvery: s.SnapshotEvery, StartEmpty: s.StartEmpty,
		Logf: func(format string, args ...any) {
			d.log.Warn(strings.TrimPrefix(fmt.Sprintf(format, args...), "journal: "), "state", s.Dir)
		},
	})
	switch {
	case errors.Is(err, journal.ErrDamaged):
		return fmt.Errorf("slidegate: state.dir %s: %w\nTo start with empty windows, say --set state.start_empty=true", s.Dir, err)
	case err != nil:
		return fmt.Errorf("slidegate: state.dir %s: %w", s.Dir, err)
	}
	d.memory, d.store = d.journal.Memory, d.journal
	if err := d.keptKeys(s.Dir); err != nil {
		return errors.Join(err, d.journal.Close())
	}
	st := d.journal.JournalStats()
	d.log.Info("windows read", "state", s.Dir, "keys", d.memory.Stats().Keys, "records", st.Replayed, "cut", st.Cut)
	return nil
}

// keptKeys reads the keys that the settings do not name from the folder of the state,
// where it makes them the first time: ids and secret attributes are as good after a
// restart as the windows.
func (d *daemon) keptKeys(dir string) (err error) {
	for name, key := range map[string]*[]byte{"id.key": &d.c.idKey, "secret.key": &d.c.secretKey} {
		if len(*key) > 0 {
			continue
		}
		if *key, err = keptKey(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("slidegate: state.dir: %w", err)
		}
	}
	return nil
}

// keyBytes is how long a key is that the daemon makes.
const keyBytes = 32

func keptKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	switch {
	case err == nil && len(key) == keyBytes:
		return key, nil
	case err == nil:
		return nil, fmt.Errorf("%s has %d bytes and is no key of this daemon; name one in the settings, or remove it: what it hid and signed is then lost", path, len(key))
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	key = make([]byte, keyBytes)
	_, _ = rand.Read(key) // never fails
	return key, writeKey(path, key)
}

// writeKey writes a file that is whole or not there.
func writeKey(path string, key []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it has another name by then
	_, err = f.Write(key)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
