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
	windows map[string]*listWindow
	charges map[uint64]*listCharge // by Receipt.Seq
	closed  bool
	fault   string
}

// listWindow is a window of a key, and what is held and locked of it.
type listWindow struct {
	naive

	full  bool // as last judged, without what is held
	holds []*listHold
	lock  *listLock
}

type listCharge struct {
	window *listWindow
	p      limit.Params
	placed placed
	given  bool
}

func newListStore(now func() int64, fault string) *listStore {
	return &listStore{now: now, windows: map[string]*listWindow{}, charges: map[uint64]*listCharge{}, fault: fault}
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

func (l *listStore) window(it *store.Item) *listWindow {
	name := l.name(it)
	if l.windows[name] == nil {
		l.windows[name] = &listWindow{}
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
		case it.Limit == nil || !it.Limit.Algorithm.Valid() || len(it.Members) > 0 && it.Limit.Algorithm != limit.Distinct && l.fault != "takes stray members",
			it.Reported && (it.Limit.Algorithm == limit.Inflight || it.Limit.Algorithm == limit.Events):
			return store.ErrParams
		case seen[l.name(it)] && l.fault != "takes duplicates":
			return store.ErrDuplicate
		}
		seen[l.name(it)] = true
	}
	return nil
}

func (l *listStore) params(it *store.Item) limit.Params {
	p := *it.Limit
	switch {
	case l.fault == "a closed window" && p.Algorithm == limit.SlidingLog:
		p.Size++
	case l.fault == "an open window" && p.Algorithm == limit.SlidingLog:
		p.Size--
	case l.fault == "a place stays too long" && p.Algorithm == limit.Inflight:
		p.Size++
	case l.fault == "members stay too long" && p.Algorithm == limit.Distinct && p.Periods == nil:
		p.Size++
	case l.fault == "periods end late" && p.Periods != nil:
		p.Periods = late{p.Periods}
	case l.fault == "the window before weighs nothing" && p.Algorithm == limit.SlidingCounter:
		p.Algorithm = limit.Fixed
	}
	return p
}

// late are periods that end one microsecond later.
type late struct{ limit.Periods }

func (l late) Period(now int64) (from, end int64) {
	from, end = l.Periods.Period(now - 1)
	return from + 1, end + 1
}

// spoil changes what was asked, by a fault that reads members wrongly.
func (l *listStore) spoil(it *store.Item) {
	spoilt := slices.Clone(it.Members)
	switch l.fault {
	case "a member named twice counts twice":
		for i := range spoilt {
			spoilt[i] = fmt.Append(slices.Clone(spoilt[i]), i)
		}
		it.Members = spoilt
	case "members are kept by reference":
		for i := range spoilt {
			spoilt[i] = fmt.Appendf(nil, "%p", it.Members[i])
		}
		it.Members = spoilt
	}
}

// charge charges an item on the naive window, by a fault wrongly.
func (l *listStore) charge(w *listWindow, it *store.Item, p limit.Params, wait int64, record bool) placed {
	before := map[string]sight{}
	for _, s := range w.set.seen {
		before[s.member] = s
	}
	if l.fault == "queues take places apart" {
		wait = it.Result.Wait
	}
	c := w.chargeItem(it, p, l.now(), wait, record && (l.fault != "recorded members get in" || p.Algorithm != limit.Distinct) ||
		l.fault == "a recorded request takes no place in a queue" && it.CountRefused)
	for i := range w.set.seen {
		s := &w.set.seen[i]
		was, known := before[s.member]
		switch {
		case !known:
		case l.fault == "known members are not renewed":
			s.at = was.at
		case l.fault == "a refund takes out who was seen since":
			s.from = was.from
		}
	}
	return c
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

func (l *listStore) judge(req *store.Request, now int64) (wait int64) {
	req.Admitted, req.Full = !req.Deny, false
	for i := range req.Items {
		it := &req.Items[i]
		it.Charged, it.Locked, it.LockedNow, it.Times = false, 0, false, 0
		l.spoil(it)
		it.Result = l.judgeTracked(it, patient(it, l.params(it), l.patience(req)), now)
		decides := !it.Shadow && !it.Yields
		switch l.fault {
		case "shadows decide":
			decides = !it.Yields
		case "what yields decides":
			decides = !it.Shadow
		}
		req.Admitted = req.Admitted && (!decides || it.Result.OK)
		if l.fault == "all members must leave" && it.Result.Retry > 0 && it.Limit.Algorithm == limit.Distinct {
			it.Result.Retry = it.Result.Reset
		}
	}
	if req.Admitted {
		wait = l.queueUp(req)
	}
	for i := range req.Items {
		if l.fault == "a queue does not say how long to wait" {
			req.Items[i].Result.Wait = 0
		}
	}
	return wait
}

func (l *listStore) patience(req *store.Request) int64 {
	if l.fault == "a queue waits as long as it lets, not the others" {
		return limit.MaxSize
	}
	return patience(req.Items)
}

func (l *listStore) queueUp(req *store.Request) int64 {
	var rs []limit.Result
	for i := range req.Items {
		rs = append(rs, req.Items[i].Result)
	}
	wait := queueUp(req.Items, rs)
	for i := range req.Items {
		req.Items[i].Result = rs[i]
	}
	return wait
}

func (l *listStore) Decide(ctx context.Context, reqs []store.Request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range reqs {
		if err := l.check(ctx, reqs[i].Items); err != nil {
			return err
		}
		var wait int64
		if l.fault == "checks and charges apart" {
			wait = l.judge(&reqs[i], l.now())
			l.mu.Unlock()
			runtime.Gosched()
			l.mu.Lock()
		} else {
			wait = l.judge(&reqs[i], l.now())
		}
		for j := range reqs[i].Items {
			l.settle(&reqs[i], &reqs[i].Items[j], wait)
		}
		if !reqs[i].Admitted {
			l.lockFull(&reqs[i], l.now())
		}
	}
	return nil
}

func (l *listStore) settle(req *store.Request, it *store.Item, wait int64) {
	now, p, w := l.now(), l.params(it), l.window(it)
	if looks(it) && (l.fault != "a look charges" || it.Limit.Algorithm != limit.Distinct) {
		return
	}
	if it.Reported {
		if it.Hold != nil && req.Admitted && it.Result.OK {
			l.holdPlace(it, now)
		}
		return
	}
	if l.fault != "no pull" || len(w.hits) == 0 || w.hits[len(w.hits)-1].at <= now {
		w.advance(p, now)
	}
	fits := it.Result.OK && (req.Admitted || l.fault == "a refusal charges the others")
	switch {
	case l.fault == "what yields is charged when full" && it.Yields && req.Admitted,
		l.fault == "a refused request takes a place in a queue" && it.Result.OK && p.Wait > 0,
		l.fault == "a refused request holds a place" && it.CountRefused && p.Algorithm == limit.Inflight:
		fits = true
	}
	if !records(it) && !fits {
		if l.fault != "refused checks do not enter" {
			w.enter()
		}
		return
	}
	seq := uint64(len(l.charges) + 1)
	c := &listCharge{window: w, p: p, placed: l.charge(w, it, p, wait, !fits || !req.Admitted && l.fault != "a refused request takes a place in a queue")}
	l.charges[seq] = c
	it.Charged, it.Receipt = true, slidegate.Receipt{}
	if (fits && req.Admitted || l.fault == "refunds refusals") && (c.placed.n > 0 || p.Algorithm != limit.Distinct) {
		it.Receipt = slidegate.Receipt{Window: [2]uint64{seq, ^seq}, Stamp: c.placed.at, Amount: c.placed.n, Seq: seq, Kind: kindOf(p)}
		if it.Hold != nil && p.Algorithm != limit.Inflight {
			amount := it.Cost
			if p.Algorithm == limit.Distinct {
				amount = c.placed.n
			}
			l.hold(it, c, now, amount)
		}
	}
	after := w.stands(p, now)
	it.Result.Used, it.Result.Remaining, it.Result.Reset = after.Used, after.Remaining, after.Reset
	if records(it) && !req.Admitted && l.fault != "retry before recording" {
		it.Result.Retry = w.judgeItem(it, patient(it, p, l.patience(req)), now).Retry
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
		if r.Kind == slidegate.Held || r.Kind == slidegate.Unsettled {
			_, ok := l.unhold(r, l.now())
			if !ok || r.Kind == slidegate.Held {
				given = given || ok
				continue
			}
		}
		if c == nil || r.Window != [2]uint64{r.Seq, ^r.Seq} || c.given && l.fault != "refunds twice" && l.fault != "a second time is as good as the first" {
			continue
		}
		now := l.now()
		given = given || c.given // by a fault: it was given back before
		if l.fault == "a queue gives back places in the middle" {
			c.window.queue.places = false
		}
		if l.fault == "refunds what is out" {
			c.given, given, now = true, true, c.placed.at
		}
		if c.window.refund(c.p, now, c.placed) {
			c.given, given = true, true
		}
	}
	return given, nil
}

func (l *listStore) Release(ctx context.Context, rs []slidegate.Receipt) (bool, error) {
	return l.Refund(ctx, slices.DeleteFunc(slices.Clone(rs), func(r slidegate.Receipt) bool { return !l.holds(r) }))
}

// holds reports whether a receipt is for a place in flight.
func (l *listStore) holds(r slidegate.Receipt) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.charges[r.Seq]
	return l.fault == "releases what is not in flight" || r.Kind == slidegate.InFlight && (l.fault == "believes receipts" || c != nil && c.p.Algorithm == limit.Inflight)
}

func (l *listStore) Renew(ctx context.Context, rs []slidegate.Receipt) (renewed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(ctx, nil); err != nil {
		return false, err
	}
	gone := false
	for i := range rs {
		if rs[i].Kind != slidegate.InFlight {
			continue
		}
		c := l.charges[rs[i].Seq]
		if c == nil || c.p.Algorithm != limit.Inflight || c.given || !c.window.refund(c.p, l.now(), c.placed) {
			gone = l.fault != "renews in part and says all"
			continue
		}
		renewed = true
		c.given = l.fault != "a renewed receipt stays good"
		c.window.advance(c.p, l.now())
		seq := uint64(len(l.charges) + 1)
		l.charges[seq] = &listCharge{window: c.window, p: c.p, placed: c.window.charge(c.p, l.now(), c.placed.n, false)}
		rs[i].Seq, rs[i].Stamp, rs[i].Window = seq, l.now(), [2]uint64{seq, ^seq}
	}
	return renewed && !gone, nil
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
			w.hits, w.queue.jobs, w.set.seen = nil, slices.Clip(w.queue.jobs[:0]), nil
			continue
		}
		w.emptied = true
		l.windows[l.name(&items[i])] = &listWindow{lock: w.lock}
	}
	return nil
}

func (l *listStore) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return nil
}
