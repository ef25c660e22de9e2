package storetest

import (
	"bytes"
	"context"
	"slices"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

// listHold is what one decision took of a window and a report has not settled.
type listHold struct {
	charge           *listCharge // of a window that checks feed
	seq              uint64
	at, until, gone  int64
	amount           int64
	release, settled bool
}

// listLock is the newest lock of a window.
type listLock struct {
	it           store.Item
	since, until int64
	times        int
}

// kindOf says what a charge is.
func kindOf(p limit.Params) slidegate.ReceiptKind {
	if p.Algorithm == limit.Inflight {
		return slidegate.InFlight
	}
	return slidegate.Charge
}

// lapse settles what was not settled in time.
func (l *listStore) lapse(w *listWindow, now int64) {
	var left []*listHold
	for _, h := range w.holds {
		if back := h.at - now; back > 0 {
			h.at, h.until, h.gone = now, h.until-back, h.gone-back
		}
		if h.gone > now {
			left = append(left, h)
		} else if h.charge != nil && h.release && !h.charge.given {
			h.charge.given = true
			w.refund(h.charge.p, now, h.charge.placed)
		}
	}
	w.holds = left
	if k := w.lock; k != nil && k.since > now {
		k.since, k.until = now, k.until-(k.since-now)
	}
}

// heldIn returns how much is held that counts beside a window at a time.
func (l *listStore) heldIn(w *listWindow, at int64) (n int64) {
	for _, h := range w.holds {
		if h.charge == nil && h.gone > at && l.fault != "what is held does not count" {
			n += h.amount
		}
	}
	return n
}

// judgeTracked judges an item beside what is held and locked.
func (l *listStore) judgeTracked(it *store.Item, p limit.Params, now int64) (r limit.Result) {
	w := l.window(it)
	l.lapse(w, now)
	whole := w.judgeItem(it, p, now)
	w.full = whole.Used >= capacity(p)
	if r = whole; it.Reported {
		r = l.judgeHeld(w, it, p, now)
	}
	if it.Lock != nil && w.lock != nil && w.lock.until > now {
		it.Locked, it.Times = w.lock.until-now, w.lock.times
		r.OK, r.Retry = l.fault == "a lock decides nothing", max(r.Retry, it.Locked)
	}
	return r
}

func (l *listStore) judgeHeld(w *listWindow, it *store.Item, p limit.Params, now int64) limit.Result {
	goes := []int64{now}
	for _, h := range w.holds {
		goes = append(goes, h.gone)
	}
	slices.Sort(goes)
	less := func(n int64) limit.Result {
		q, it := p, *it
		if p.Algorithm == limit.Distinct {
			it.Members, n = nil, n+min(it.Cost, 1)
		}
		if n > capacity(p) {
			r := w.judgeItem(&it, p, now)
			r.OK, r.Never, r.Retry = false, true, 0
			return r
		}
		if q.Algorithm == limit.GCRA {
			q.Burst = max(q.Burst-n, 0)
		} else {
			q.Max = max(q.Max-n, 0)
		}
		return w.judgeItem(&it, q, now)
	}
	r := less(l.heldIn(w, now))
	wants := it.Cost
	if p.Algorithm == limit.Distinct {
		wants = min(wants, 1)
	}
	if !r.OK {
		r.Never, r.Retry = wants > capacity(p), 0
		for i, at := range goes {
			s := less(l.heldIn(w, at))
			retry := max(s.Retry, at-now)
			if l.fault == "the retry overlooks what is held" {
				retry = s.Retry
			}
			if !r.Never && !s.Never && (s.OK || s.Retry > 0) && (i+1 == len(goes) || retry <= goes[i+1]-now) {
				r.Retry = retry
				break
			}
		}
	}
	r.Used += l.heldIn(w, now)
	r.Remaining = max(capacity(p)-r.Used, 0)
	for _, h := range w.holds {
		r.Reset = max(r.Reset, h.gone-now)
	}
	return r
}

func capacity(p limit.Params) int64 {
	if p.Algorithm == limit.GCRA && p.Max > 0 {
		return p.Burst
	}
	return p.Max
}

// hold notes what an item took until a report settles it.
func (l *listStore) hold(it *store.Item, c *listCharge, now, amount int64) {
	w := l.window(it)
	h := &listHold{charge: c, seq: uint64(len(l.charges) + 1), at: now, until: now + it.Hold.For, amount: amount, release: it.Hold.Release}
	h.gone = h.until
	if c == nil {
		l.charges[h.seq] = &listCharge{window: w, given: true} // to number it
		if !h.release {
			h.gone = leavesBy(*it.Limit, h.until)
		}
	} else {
		h.seq--
	}
	w.holds = append(w.holds, h)
	it.Charged = true
	kind := slidegate.Unsettled
	if c == nil {
		kind = slidegate.Held
		it.Receipt = slidegate.Receipt{Stamp: now, Amount: amount}
		it.Result.Used += amount
		it.Result.Remaining = max(it.Result.Remaining-amount, 0)
		it.Result.Reset = max(it.Result.Reset, h.gone-now)
	}
	it.Receipt.Window, it.Receipt.Seq, it.Receipt.Kind = [2]uint64{h.seq, ^h.seq}, h.seq, kind
}

func leavesBy(p limit.Params, at int64) int64 {
	switch {
	case p.Periods != nil:
		_, end := p.Periods.Period(at)
		return end
	case p.Algorithm == limit.Fixed:
		return at - at%p.Size + p.Size
	}
	return at + p.Size
}

// holdPlace holds a place of a window that reports feed.
func (l *listStore) holdPlace(it *store.Item, now int64) {
	amount := it.Cost
	if it.Limit.Algorithm == limit.Distinct {
		amount = 0
		for _, m := range given(it) {
			if !slices.ContainsFunc(l.window(it).set.live(*it.Limit, now), func(s sight) bool { return s.member == m }) {
				amount++
			}
		}
	}
	if amount > 0 {
		l.hold(it, nil, now, amount)
	}
}

// unhold takes out what is to be settled, and reports whether it was there.
func (l *listStore) unhold(r slidegate.Receipt, now int64) (*listHold, bool) {
	c := l.charges[r.Seq]
	if c == nil || r.Window != [2]uint64{r.Seq, ^r.Seq} || c.window.emptied && l.fault != "a lock empties no receipts" {
		return nil, false
	}
	l.lapse(c.window, now)
	for i, h := range c.window.holds {
		if h.seq != r.Seq {
			continue
		}
		if h.until <= now && l.fault != "settles late" || h.settled {
			return nil, false
		}
		if l.fault != "settles twice" {
			c.window.holds = slices.Delete(c.window.holds, i, i+1)
		}
		return h, true
	}
	return nil, false
}

func (l *listStore) Report(ctx context.Context, r *store.Report) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(ctx, r.Items); err != nil {
		return err
	}
	now := l.now()
	r.Settled, r.Full = false, false
	for _, x := range r.Settle {
		r.Settled = l.settleOne(r, x, now) || r.Settled
	}
	for i := range r.Items {
		if r.Items[i].Reported {
			l.report(&r.Items[i], now)
		}
	}
	return nil
}

func (l *listStore) settleOne(r *store.Report, x slidegate.Receipt, now int64) bool {
	if x.Kind == slidegate.InFlight {
		c := l.charges[x.Seq]
		if c == nil || c.given || !c.window.refund(c.p, now, c.placed) {
			return false
		}
		c.given = true
		return true
	}
	h, ok := l.unhold(x, now)
	if !ok || h.charge == nil {
		return ok
	}
	c, amount := h.charge, h.amount
	for i := range r.Items {
		if it := &r.Items[i]; l.windows[l.name(it)] == c.window && !it.Reported && it.Limit.Algorithm != limit.Distinct {
			amount = it.Cost
		}
	}
	switch {
	case r.Failed:
		c.given = true
		c.window.refund(c.p, now, c.placed)
	case amount > h.amount && c.p.Algorithm == limit.GCRA:
		c.window.queue.add(c.p, now, amount-h.amount, false)
	case amount > h.amount:
		c.window.hits = append(c.window.hits, placed{c.placed.at, amount - h.amount})
	case amount < h.amount && c.p.Algorithm == limit.GCRA:
		c.window.queue.remove(now, c.placed)
		c.window.queue.add(c.p, now, amount, false)
	case amount < h.amount:
		c.window.refund(c.p, now, placed{c.placed.at, h.amount - amount})
	}
	return true
}

func (l *listStore) report(it *store.Item, now int64) {
	w, p := l.window(it), l.params(it)
	l.lapse(w, now)
	it.Charged, it.Receipt, it.Locked, it.LockedNow = false, slidegate.Receipt{}, 0, false
	if i := slices.IndexFunc(w.holds, func(h *listHold) bool { return h.charge == nil && h.until > now }); it.Free && i >= 0 && l.fault != "who is not named frees nothing" {
		w.holds = slices.Delete(w.holds, i, i+1)
	}
	if it.Clear {
		w.hits, w.queue.jobs, w.set.seen = nil, nil, nil
		w.holds = slices.DeleteFunc(w.holds, func(h *listHold) bool { return h.until <= now })
	}
	if !looks(it) && l.fault != "a report charges nothing" {
		w.advance(p, now)
		w.chargeItem(it, p, now, 0, true)
		it.Charged = true
	}
	look := *it
	look.Cost, look.Members = 0, nil
	it.Result = l.judgeTracked(&look, p, now)
	it.Locked, it.Times = look.Locked, look.Times
	full := w.full || l.fault == "what is held locks" && it.Result.Used >= capacity(p)
	if it.Charged && full && it.Lock != nil && it.Locked == 0 && !it.Shadow && !it.Yields {
		l.lock(it, now)
	}
}

// lockFull locks the keys of a refused request whose windows are full.
func (l *listStore) lockFull(req *store.Request, now int64) {
	for i := range req.Items {
		it := &req.Items[i]
		w := l.window(it)
		if it.Lock == nil || it.Locked > 0 || it.Yields || looks(it) || it.Shadow && l.fault != "shadows lock" {
			continue
		}
		if it.Reported && (w.full || l.fault == "what is held locks") || !it.Reported && !it.Result.OK {
			l.lock(it, now)
		}
	}
}

func (l *listStore) lock(it *store.Item, now int64) {
	w := l.window(it)
	times := 0
	if w.lock != nil && w.lock.until+w.lock.it.Lock.Forget > now && l.fault != "locks do not rise" {
		times = w.lock.times
	}
	lasts := it.Lock.Lasts[min(times, len(it.Lock.Lasts)-1)]
	l.empty(it)
	w = l.window(it) // empty made another
	w.lock = &listLock{it: *it, since: now, until: now + lasts, times: times + 1}
	w.lock.it.Key = bytes.Clone(it.Key)
	it.Locked, it.Result.OK, it.Result.Retry = lasts, false, max(it.Result.Retry, lasts)
	it.LockedNow, it.Times = true, times+1
}

// empty empties what the lock of an item does.
func (l *listStore) empty(it *store.Item) {
	if l.fault == "a lock empties nothing" {
		return
	}
	for _, w := range it.Lock.Empties {
		name := l.name(&store.Item{Window: w, Key: it.Key, Limit: it.Limit})
		if old := l.windows[name]; old != nil {
			old.emptied = true
			l.windows[name] = &listWindow{lock: old.lock}
		}
	}
}

func (l *listStore) Locks(ctx context.Context) (all []store.Locked, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(ctx, nil); err != nil {
		return nil, err
	}
	for _, w := range l.windows {
		if k := w.lock; k != nil && k.until+k.it.Lock.Forget > l.now() {
			all = append(all, store.Locked{Window: k.it.Window.Identity(), Key: k.it.Key, Since: k.since, Until: k.until, Times: k.times})
		}
	}
	return all, nil
}

func (l *listStore) Unlock(ctx context.Context, items []store.Item) (ended int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(ctx, items); err != nil {
		return 0, err
	}
	for i := range items {
		w := l.window(&items[i])
		if w.lock == nil {
			continue
		}
		l.lapse(w, l.now())
		if w.lock.until > l.now() {
			ended++
		}
		w.lock = nil
		l.empty(&items[i])
	}
	return ended, nil
}
