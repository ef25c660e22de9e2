package peer

import (
	"sync"
	"time"
)

// IDs of the naive limiters that goals name, and of the floor.
const (
	ClockID      = "clock"
	NaiveFixedID = "naive-fixed"
	NaiveLogID   = "naive-log"
)

// naive returns what one writes in ten minutes: a map under one mutex. They
// forget no idle key, so they are a little faster than a finished limiter.
func naive() []Limiter {
	all := []string{Speed, Memory, Exact}
	return []Limiter{
		{ID: ClockID, Name: "the clock alone (time.Since)", Kind: Floor, Tables: []string{Speed}, Open: openClock},
		{ID: NaiveFixedID, Name: "naive fixed, map+Mutex (own)", Kind: FixedWindow, Tables: all, Open: openNaiveFixed},
		{ID: NaiveLogID, Name: "naive log, map+Mutex (own)", Kind: ExactLog, Tables: all, Open: openNaiveLog},
	}
}

func openClock(Quota) (Allow, func(), error) {
	base := time.Now()
	return func(string) bool { return time.Since(base) > 0 }, nil, nil
}

// fixed is a window that starts with its first hit.
type fixed struct {
	start time.Duration
	n     int64
}

func openNaiveFixed(q Quota) (Allow, func(), error) {
	base := time.Now()
	var mu sync.Mutex
	windows := map[string]fixed{}
	allow := func(key string) bool {
		now := time.Since(base)
		mu.Lock()
		defer mu.Unlock()
		w, ok := windows[key]
		if !ok || now-w.start >= q.Per {
			w = fixed{start: now}
		}
		if w.n >= q.Max {
			return false
		}
		w.n++
		windows[key] = w
		return true
	}
	return allow, nil, nil
}

// log holds the stamps of the hits in the window, oldest first, from head on.
type log struct {
	stamps []time.Duration
	head   int
}

func openNaiveLog(q Quota) (Allow, func(), error) {
	base := time.Now()
	var mu sync.Mutex
	logs := map[string]*log{}
	allow := func(key string) bool {
		mu.Lock()
		defer mu.Unlock()
		now := time.Since(base)
		l := logs[key]
		if l == nil {
			l = &log{}
			logs[key] = l
		}
		for l.head < len(l.stamps) && now-l.stamps[l.head] >= q.Per {
			l.head++
		}
		if int64(len(l.stamps)-l.head) >= q.Max {
			return false
		}
		l.add(now)
		return true
	}
	return allow, nil, nil
}

// add appends a stamp. A full slice that is half expired is moved down instead
// of grown.
func (l *log) add(now time.Duration) {
	if len(l.stamps) == cap(l.stamps) && 2*l.head >= len(l.stamps) {
		n := copy(l.stamps, l.stamps[l.head:])
		l.stamps, l.head = l.stamps[:n], 0
	}
	l.stamps = append(l.stamps, now)
}
