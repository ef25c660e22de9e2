package gate

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

// lines are the callers of Wait: in a line for the window that refused them, or with
// a place in a queue. The zero lines is ready for use.
type lines struct {
	mu      sync.Mutex
	tickets uint64
	byName  map[store.Name]*line // lines by the window that refused
	queues  map[store.Name]*placeQueue
	waiting atomic.Int64 // in lines

	given  atomic.Int64            // how often something was given back
	recent [recentGiven]store.Name // to which windows, the last times

	// taking is held, shared, by who takes a place in a queue until it is noted,
	// and alone by who gives one up.
	taking sync.RWMutex
}

// recentGiven is how many windows that something was given back to are remembered.
const recentGiven = 64

// line is those who wait for one window, in the order of their tickets. Only the
// first asks the store.
type line struct {
	name    store.Name
	waiters []*waiter
}

// waiter is one call of Wait.
type waiter struct {
	turn   chan struct{} // it came to be first, or something was given back
	ticket uint64        // 0: it has not stood in a line yet
	line   *line
	again  bool // the rules are others than when it was put into its line
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it has not looked since
	}
}

// none reports whether nobody stands in any line.
func (l *lines) none() bool { return l.waiting.Load() == 0 }

// join puts w into the line for the window that refused it, by its ticket.
func (l *lines) join(w *waiter, name store.Name) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.byName[name]
	if n == nil {
		n = &line{name: name}
		if l.byName == nil {
			l.byName = map[store.Name]*line{}
		}
		l.byName[name] = n
	}
	l.put(w, n)
}

// joinBehind puts w into the line for a window if somebody stands there who came
// before it.
func (l *lines) joinBehind(w *waiter, name store.Name) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.byName[name]
	if n == nil || !n.before(w) {
		return false
	}
	l.put(w, n)
	return true
}

// before reports whether the first of a line came before w.
func (n *line) before(w *waiter) bool {
	first := n.waiters[0]
	return first != w && (w.ticket == 0 || first.ticket < w.ticket)
}

// put moves w to a line.
func (l *lines) put(w *waiter, to *line) {
	if w.line == to {
		return
	}
	l.take(w)
	if w.ticket == 0 {
		l.tickets++
		w.ticket = l.tickets
	}
	at, _ := slices.BinarySearchFunc(to.waiters, w.ticket, func(o *waiter, t uint64) int {
		if o.ticket < t {
			return -1
		}
		return 1
	})
	to.waiters = slices.Insert(to.waiters, at, w)
	w.line = to
	l.waiting.Add(1)
}

// take takes w out of its line, if it stands in one, and calls the next.
func (l *lines) take(w *waiter) {
	n := w.line
	if n == nil {
		return
	}
	at := slices.Index(n.waiters, w)
	n.waiters = slices.Delete(n.waiters, at, at+1)
	w.line = nil
	l.waiting.Add(-1)
	switch {
	case len(n.waiters) == 0:
		delete(l.byName, n.name)
	case at == 0:
		signal(n.waiters[0].turn)
	}
}

// leave takes w out of its line for good.
func (l *lines) leave(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.take(w)
}

// mayTry reports whether w may ask to be let through: it is the first of its line, or
// stands in none, or must see whether it stands in the right one.
func (l *lines) mayTry(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	again := w.again
	w.again = false
	return again || w.line == nil || w.line.waiters[0] == w
}

// freed calls those who wait for windows that something was given back to: by all
// receipts, or by those of places in flight only.
func (l *lines) freed(receipts []slidegate.Receipt, flights bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range receipts {
		if r := &receipts[i]; r.Kind == slidegate.InFlight || !flights {
			l.call(store.NameOf(r))
		}
	}
}

// reset calls those who wait for windows that were emptied.
func (l *lines) reset(items []store.Item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range items {
		l.call(items[i].Name)
	}
}

// missed reports whether something may have been given back to a window since given
// had that value.
func (l *lines) missed(given int64, name store.Name) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.given.Load()
	if now-given > recentGiven {
		return true
	}
	for ; given < now; given++ {
		if l.recent[given%recentGiven] == name {
			return true
		}
	}
	return false
}

// call calls the first of those who wait for a window that something was given back
// to.
func (l *lines) call(name store.Name) {
	l.recent[l.given.Load()%recentGiven] = name
	l.given.Add(1)
	if n := l.byName[name]; n != nil {
		signal(n.waiters[0].turn)
	}
}

// wakeAll calls everybody in lines and queues.
func (l *lines) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.given.Add(recentGiven + 1)
	for _, n := range l.byName {
		for _, w := range n.waiters {
			w.again = true
			signal(w.turn)
		}
	}
	for _, q := range l.queues {
		for _, p := range q.places {
			signal(p.moved)
		}
	}
}

// place is a call of Wait that was admitted for later.
type place struct {
	decision slidegate.Decision
	at       time.Time
	moved    chan struct{} // at is another, or the gate was closed
	queue    *placeQueue
	single   bool          // it is in no other queue
	holds    time.Duration // how often to say that places in flight stay on; or never
}

// newPlace returns the place of an event that was queued.
func newPlace(d *slidegate.Decision, items []store.Item) *place {
	queues, holds := 0, never
	for i := range items {
		switch it := &items[i]; {
		case !it.Charged:
		case it.Limit.Algorithm == limit.Inflight && !it.Shadow:
			holds = min(holds, micros(it.Limit.Size)/2)
		case it.Limit.Wait > 0 && !it.Shadow:
			queues++
		}
	}
	return &place{decision: *d, at: time.Now().Add(d.RetryAfter), moved: make(chan struct{}, 1), single: queues == 1, holds: holds}
}

// placeQueue is the places of one window, in the order of their instants.
type placeQueue struct {
	name   store.Name
	places []*place
}

// receipt returns the receipt of the place.
func (p *place) receipt() *slidegate.Receipt {
	rs := p.decision.ID.Receipts()
	for i := range rs {
		if store.NameOf(&rs[i]) == p.queue.name {
			return &rs[i]
		}
	}
	return nil
}

// enqueue notes the place that a decision took in the queue of a window.
func (l *lines) enqueue(p *place, name store.Name) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[name]
	if q == nil {
		q = &placeQueue{name: name}
		if l.queues == nil {
			l.queues = map[store.Name]*placeQueue{}
		}
		l.queues[name] = q
	}
	p.queue = q
	at := len(q.places)
	for at > 0 && q.places[at-1].at.After(p.at) {
		at--
	}
	q.places = slices.Insert(q.places, at, p)
}

// due reports whether the instant of a place has come, and otherwise in what time
// it will. A place that is due leaves its queue.
func (l *lines) due(p *place) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delay := time.Until(p.at); delay > 0 {
		return delay, false
	}
	l.dequeue(p)
	return 0, true
}

// dequeue takes a place out of its queue.
func (l *lines) dequeue(p *place) {
	q := p.queue
	at := slices.Index(q.places, p)
	if q.places = slices.Delete(q.places, at, at+1); len(q.places) == 0 {
		delete(l.queues, q.name)
	}
}

// handOn gives the place of a call that ended to the one behind it, its place to
// the next, and so on, so that what is left to be given back is the last. Places
// of another cost are not exchanged, and none of who waits in two queues: an instant
// of one says nothing of the other. Who only looks has no place.
func (l *lines) handOn(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(p.queue.places, p)
	for _, behind := range p.queue.places[at+1:] {
		mine, theirs := p.receipt(), behind.receipt()
		if theirs == nil {
			continue
		}
		if mine == nil || mine.Amount != theirs.Amount || !p.single || !behind.single {
			break
		}
		*mine, *theirs = *theirs, *mine
		p.at, behind.at = behind.at, p.at
		signal(behind.moved)
	}
	l.dequeue(p)
}
