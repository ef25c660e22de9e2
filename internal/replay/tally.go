package replay

import (
	"cmp"
	"maps"
	"slices"

	"github.com/slidegate/slidegate"
)

// topKeys is how many keys a summary names.
const topKeys = 10

// KeyCount is a key and a number of events.
type KeyCount struct {
	Key    []slidegate.Attr
	Events int64
}

// tally counts the keys that were met, and by key the events that matter. Above its
// bounds it takes no further keys, and goes on without names.
type tally struct {
	maxKeys, maxNames int
	counts            map[uint64]int64            // by hash of the key
	names             map[uint64][]slidegate.Attr // of keys that have a count
	counted           int64                       // keys that have a count
	capped            bool                        // there were more keys
}

func newTally(maxKeys, maxNames int) *tally {
	return &tally{maxKeys: maxKeys, maxNames: maxNames, counts: map[uint64]int64{}, names: map[uint64][]slidegate.Attr{}}
}

// add takes an event of a key, and counts it if it matters. name is asked once for
// each key.
func (t *tally) add(hash uint64, matters bool, name func() []slidegate.Attr) {
	n, known := t.counts[hash]
	if !known && len(t.counts) >= t.maxKeys {
		t.capped = true
		return
	}
	if !matters {
		t.counts[hash] = n
		return
	}
	t.counts[hash] = n + 1
	if n > 0 {
		return
	}
	t.counted++
	if len(t.names) < t.maxNames {
		t.names[hash] = name()
	}
}

// top returns the keys with the most.
func (t *tally) top() []KeyCount {
	hashes := slices.SortedFunc(maps.Keys(t.names), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(t.counts[b], t.counts[a]), cmp.Compare(keyText(t.names[a]), keyText(t.names[b])))
	})
	var top []KeyCount
	for _, h := range hashes[:min(topKeys, len(hashes))] {
		top = append(top, KeyCount{Key: t.names[h], Events: t.counts[h]})
	}
	return top
}

// keyText returns the parts of a key as one text, to sort by.
func keyText(key []slidegate.Attr) string {
	var b []byte
	for _, a := range key {
		b = append(a.Value.AppendText(b), 0)
	}
	return string(b)
}
