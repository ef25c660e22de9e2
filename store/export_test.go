package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Raced is set under the race detector.
const Raced = raced

// Diff says in what the states of two stores differ, "" for nothing. What has expired
// does not count.
func Diff(a, b *Memory) string {
	now := a.Now()
	if b.Now() > now {
		now = b.Now()
	}
	var out []string
	for i := range a.shards {
		x, y := &a.shards[i], &b.shards[i]
		if x.seq != y.seq {
			out = append(out, fmt.Sprintf("shard %d: seq %d, %d", i, x.seq, y.seq))
		}
		was, is := stateOf(x, now), stateOf(y, now)
		for _, k := range slices.Sorted(maps.Keys(was)) {
			if is[k] != was[k] {
				out = append(out, fmt.Sprintf("shard %d: %s: %s became %q", i, k, was[k], is[k]))
			}
		}
		for _, k := range slices.Sorted(maps.Keys(is)) {
			if was[k] == "" {
				out = append(out, fmt.Sprintf("shard %d: %s: %s came from nowhere", i, k, is[k]))
			}
		}
	}
	return strings.Join(out, "\n")
}

// Seed gives a loader the seed of a store, as a dump does.
func (l *Loader) Seed(m *Memory) { l.m.seed = m.seed }

func stateOf(s *shard, now int64) map[string]string {
	all := map[string]string{}
	var d dumper
	var st stage
	for id := range s.n {
		if r := s.at(id); r != nil {
			d.part = nil
			st.put(s, r, true)
			d.write(&st)
			all[fmt.Sprintf("window %x kind %d exp %d", r.hash, r.kind(), r.exp)] = fmt.Sprintf("%x", d.part[17:])
		}
	}
	for n, h := range s.held {
		all[fmt.Sprintf("held %x", n)] = fmt.Sprint(len(h.list), h.charges, h.release, h.total(), h.list[0].seq, h.list[0].at, h.list[0].until, h.list[0].gone)
	}
	for n, l := range s.locks {
		all[fmt.Sprintf("lock %x", n)] = fmt.Sprint(l.window.id, string(l.key), l.since, l.until, l.gone, l.times)
	}
	return all
}
