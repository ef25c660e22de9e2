package storetest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

// listStore is a store of naive windows under one lock: the contract in its
// simplest form. fault names what it does wrong.
type listStore struct {
	mu      sync.Mutex
	now     func() int64
	windows map[string]*naive
	charges map[uint64]*listCharge // by Receipt.Seq
	closed  bool
	fault   string
}

type listCharge struct {
	window *naive
	p      limit.Params
	placed placed
	given  bool
}

func newListStore(now func() int64, fault string) *listStore {
	return &listStore{now: now, windows: map[string]*naive{}, charges: map[uint64]*listCharge{}, fault: fault}
}

func (l *listStore) name(it *store.Item) string {
	key := string(it.Key)
	if l.fault == "a key ends at NUL" {
		key, _, _ = strings.Cut(key, "\x00")
	}
	switch l.fault {
	case "windows share keys":
		return it.Limit.Algorithm.String() + "\x00" + key
	case "identity and key run together":
		return it.Window.Identity() + key
	}
	return fmt.Sprintf("%d:%s%s", len(it.Window.Identity()), it.Window.Identity(), key)
}

func (l *listStore) window(it *store.Item) *naive {
	name := l.name(it)
	if l.windows[name] == nil {
		l.windows[name] = &naive{}
	}
	return l.windows[name]
}

func (l *listStore) check(ctx context.Context, items []store.Item) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case l.closed:
		return slidegate.ErrClosed
	}
	seen := map[string]bool{}
	for i := range items {
		it := &items[i]
		switch {
		case it.Cost < 0:
			return store.ErrCost
		case it.Limit.Algorithm < limit.SlidingLog || it.Limit.Algorithm > limit.Events:
			return store.ErrParams
		case seen[l.name(it)] && l.fault != "takes duplicates":
			return store.ErrDuplicate
		}
		seen[l.name(it)] = true
	}
	return nil
}

func (l *listStore) params(it *store.Item) limit.Params {
	p := it.Limit
	switch {
	case l.fault == "a closed window" && p.Algorithm == limit.SlidingLog:
		p.Size++
	case l.fault == "an open window" && p.Algorithm == limit.SlidingLog:
		p.Size--
	}
	return p
}

func (l *listStore) Look(ctx context.Context, req *store.Request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(ctx, req.Items); err != nil {
		return err
	}
	l.judge(req, l.now())
	return nil
}

func (l *listStore) judge(req *store.Request, now int64) {
	req.Admitted, req.Full = !req.Deny, false
	for i := range req.Items {
		it := &req.Items[i]
		it.Charged = false
		it.Result = l.window(it).judge(l.params(it), now, it.Cost)
		req.Admitted = req.Admitted && (it.Shadow && l.fault != "shadows decide" || it.Result.OK)
	}
}

func (l *listStore) Decide(ctx context.Context, reqs []store.Request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range reqs {
		if err := l.check(ctx, reqs[i].Items); err != nil {
			return err
		}
		if l.fault == "checks and charges apart" {
			l.judge(&reqs[i], l.now())
			l.mu.Unlock()
			runtime.Gosched()
			l.mu.Lock()
		} else {
			l.judge(&reqs[i], l.now())
		}
		for j := range reqs[i].Items {
			l.settle(&reqs[i], &reqs[i].Items[j])
		}
	}
	return nil
}

func (l *listStore) settle(req *store.Request, it *store.Item) {
	now, p, w := l.now(), l.params(it), l.window(it)
	if it.Cost == 0 {
		return
	}
	if l.fault != "no pull" || len(w.hits) == 0 || w.hits[len(w.hits)-1].at <= now {
		w.advance(p, now)
	}
	record := it.CountRefused && p.Algorithm != limit.Events
	fits := it.Result.OK && (req.Admitted || l.fault == "a refusal charges the others")
	if !record && !fits {
		if l.fault != "refused checks do not enter" {
			w.enter()
		}
		return
	}
	seq := uint64(len(l.charges) + 1)
	c := &listCharge{window: w, p: p, placed: w.charge(p, now, it.Cost, record)}
	l.charges[seq] = c
	it.Charged, it.Receipt = true, slidegate.Receipt{}
	if fits && req.Admitted || l.fault == "refunds refusals" {
		it.Receipt = slidegate.Receipt{Window: [2]uint64{seq, ^seq}, Stamp: c.placed.at, Amount: c.placed.n, Seq: seq}
	}
	after := w.judge(p, now, 0)
	it.Result.Used, it.Result.Remaining, it.Result.Reset = after.Used, after.Remaining, after.Reset
	if record && !req.Admitted && l.fault != "retry before recording" {
		it.Result.Retry = w.judge(p, now, it.Cost).Retry
	}
}

func (l *listStore) Refund(ctx context.Context, rs []slidegate.Receipt) (given bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(ctx, nil); err != nil {
		return false, err
	}
	for _, r := range rs {
		c := l.charges[r.Seq]
		if c == nil || r.Window != [2]uint64{r.Seq, ^r.Seq} || c.given && l.fault != "refunds twice" {
			continue
		}
		c.given = true
		if l.fault == "refunds what is out" {
			c.window.refund(c.p, c.placed.at, c.placed)
			given = true
			continue
		}
		given = c.window.refund(c.p, l.now(), c.placed) || given
	}
	return given, nil
}

func (l *listStore) Reset(ctx context.Context, items []store.Item) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(ctx, items); err != nil {
		return err
	}
	for i := range items {
		w := l.window(&items[i])
		if l.fault == "a refund survives Reset" {
			w.hits, w.queue.jobs = nil, slices.Clip(w.queue.jobs[:0])
			continue
		}
		w.emptied = true
		delete(l.windows, l.name(&items[i]))
	}
	return nil
}

func (l *listStore) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return nil
}
