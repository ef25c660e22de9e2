// Package busy knows what is going on: how often each rule decided on which action, and
// which keys are refused most. It is for people who look at a running engine.
package busy

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slidegate/slidegate"
)

// maxKeys is how many keys are counted at once. Where one more is refused, it takes the
// place of the one that was refused least, with its count: a key that is refused more
// often than one in maxKeys refusals is always there, and counted too much by no more
// than that.
const maxKeys = 1000

// Watch counts. The zero Watch is ready for use. All methods are safe for concurrent
// use; each decision takes one lock for a short time.
type Watch struct {
	mu    sync.Mutex
	began time.Time
	rules map[string]*Rule
	keys  map[keyName]*counted
	least least
}

type keyName struct{ rule, key string }

type counted struct {
	Key

	name keyName
	at   int // in least
}

// least is a heap of keys: the one that was refused least comes first.
type least []*counted

func (l *least) Len() int           { return len(*l) }
func (l *least) Less(i, j int) bool { return (*l)[i].Refused < (*l)[j].Refused }

func (l *least) Swap(i, j int) {
	a := *l
	a[i], a[j] = a[j], a[i]
	a[i].at, a[j].at = i, j
}

// Push is for package heap.
func (l *least) Push(x any) {
	k := x.(*counted)
	k.at = len(*l)
	*l = append(*l, k)
}

// Pop is for package heap.
func (l *least) Pop() any {
	a := *l
	k := a[len(a)-1]
	*l = a[:len(a)-1]
	return k
}

// Rule says what a rule decided.
type Rule struct {
	// Name is that of the rule; empty for what no rule decided, such as what was
	// allowed.
	Name string
	// Actions counts decisions by action.
	Actions map[string]int64
}

// Key is a key that was refused.
type Key struct {
	Rule string
	// Key holds the attributes that the key is built from; secret ones are hidden.
	Key []slidegate.Attr
	// Refused is how often it was, and Over by how much that may be too much.
	Refused, Over int64
	// Last is when it was refused last.
	Last time.Time
}

// Snapshot is what a Watch has counted.
type Snapshot struct {
	Since time.Time
	Rules []Rule // by name
	Keys  []Key  // refused most first
}

// Decided counts a decision. key gives the attributes of the key of the rule that
// refused; it is asked only then.
func (w *Watch) Decided(d *slidegate.Decision, now time.Time, key func() []slidegate.Attr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rules == nil {
		w.rules, w.keys, w.began = map[string]*Rule{}, map[keyName]*counted{}, now
	}
	r := w.rules[d.Rule]
	if r == nil {
		r = &Rule{Name: d.Rule, Actions: map[string]int64{}}
		w.rules[d.Rule] = r
	}
	r.Actions[d.Action.String()]++
	if d.Admitted() || d.Rule == "" {
		return
	}
	attrs := key()
	name := keyName{d.Rule, text(attrs)}
	k := w.keys[name]
	if k == nil {
		k = w.place(name)
		k.Rule, k.Key.Key = d.Rule, attrs
	}
	k.Refused++
	k.Last = now
	heap.Fix(&w.least, k.at)
}

// text names a key.
func text(attrs []slidegate.Attr) string {
	var b strings.Builder
	for i := range attrs {
		b.WriteString(attrs[i].Name + "\x00" + attrs[i].Value.String() + "\x00")
	}
	return b.String()
}

// place returns a place for one more key.
func (w *Watch) place(name keyName) *counted {
	if len(w.keys) < maxKeys {
		k := &counted{name: name}
		w.keys[name] = k
		heap.Push(&w.least, k)
		return k
	}
	k := w.least[0]
	delete(w.keys, k.name)
	k.name, k.Over = name, k.Refused
	w.keys[name] = k
	return k
}

// Keep forgets what was counted of rules that are not in force any more.
func (w *Watch) Keep(inForce func(rule string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.rules, func(name string, _ *Rule) bool { return name != "" && !inForce(name) })
	w.least = w.least[:0]
	for name, k := range w.keys {
		if !inForce(name.rule) {
			delete(w.keys, name)
			continue
		}
		heap.Push(&w.least, k)
	}
}

// Snapshot returns what was counted, and the most keys of those refused.
func (w *Watch) Snapshot(most int) Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Snapshot{Since: w.began}
	for _, r := range w.rules {
		s.Rules = append(s.Rules, Rule{Name: r.Name, Actions: maps.Clone(r.Actions)})
	}
	slices.SortFunc(s.Rules, func(a, b Rule) int { return cmp.Compare(a.Name, b.Name) })
	for _, k := range w.keys {
		s.Keys = append(s.Keys, k.Key)
	}
	slices.SortFunc(s.Keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), b.Last.Compare(a.Last), cmp.Compare(a.Rule, b.Rule), cmp.Compare(text(a.Key), text(b.Key)))
	})
	s.Keys = s.Keys[:min(len(s.Keys), most)]
	return s
}
