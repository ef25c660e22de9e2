package store

import (
	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limit"
)

// decide judges all items, then charges them, under the locks of all their
// shards. The clock is read under them: for each shard it never runs back
// because of a race.
func (m *Memory) decide(req *Request) (number uint64, err error) {
	if err := m.lock(req.locks); err != nil {
		return 0, err
	}
	now := m.timeOf(req.locks)
	sketching := m.sketches.live.Load() > 0
	if sketching {
		m.sketches.mu.Lock()
	}
	admitted, wait := m.judgeAll(req, now, sketching)
	req.Admitted, req.Full = admitted, false
	if admitted && !m.reserve(req, now) {
		if !sketching {
			m.sketches.mu.Lock()
			sketching = true
		}
		var room bool
		if admitted, room = m.spill(req, now); !room {
			m.full.Add(1)
		}
		req.Admitted, req.Full = admitted && room, !room
	}
	charged := false
	for i := range req.Items {
		it := &req.Items[i]
		m.settle(req, it, now, wait)
		it.record = nil
		charged = charged || it.Charged
	}
	if !admitted {
		m.lockFull(req, now)
	}
	if sketching {
		m.sketches.mu.Unlock()
	}
	for _, n := range req.locks {
		m.tend(&m.shards[n], now, charged)
	}
	return m.unlock(req.locks), nil
}

// judgeAll judges all items of a request that is to be decided, and returns whether it
// is admitted, and how long it waits in queues.
func (m *Memory) judgeAll(req *Request, now int64, sketching bool) (admitted bool, wait int64) {
	admitted = !req.Deny
	for i := range req.Items {
		it := &req.Items[i]
		s := m.shardOf(it.Name)
		it.Charged, it.sketch = false, nil
		if it.tracked() {
			s.judgeTracked(it, now, req.wait, it.looks())
		} else {
			it.record = s.find(it.Name)
			if s.log == nil {
				s.judgeItem(it, it.record, now, req.wait, it.looks(), &it.Result)
			} else {
				s.judgeNoted(it, now, req.wait, it.looks(), &it.Result)
			}
			if sketching {
				m.sketched(it, now, false)
			}
		}
		if it.decides() {
			admitted, wait = admitted && it.Result.OK, max(wait, it.Result.Wait)
		}
	}
	if admitted && wait > 0 {
		queueUp(req.Items, wait)
	}
	return admitted, wait
}

// queueUp lets what is admitted wait in all queues for the longest of those that
// decide. One on trial that lets nobody wait so long does not let it in.
func queueUp(items []Item, wait int64) {
	for i := range items {
		it := &items[i]
		if r := &it.Result; it.Limit.Wait > 0 && it.Limit.Wait < wait && it.Cost > 0 && r.OK {
			r.OK, r.Wait, r.Retry = false, 0, wait-it.Limit.Wait
		}
	}
}

// decides reports whether a request is refused when the item's cost does not fit.
func (it *Item) decides() bool { return !it.Shadow && !it.Yields }

// looks reports whether an item charges nothing, whatever the verdict.
func (it *Item) looks() bool {
	return it.Cost == 0 || it.Limit.Algorithm == limit.Distinct && len(it.given) == 0 && !it.Reported
}

// records reports whether an item is charged whatever the verdict. Every check
// enters a window of events anyhow, and nobody could release a place in flight
// that was refused.
func (it *Item) records() bool {
	return it.CountRefused && it.Limit.Algorithm != limit.Events && it.Limit.Algorithm != limit.Inflight
}

// charges reports whether an item is to be charged, given the verdict.
func charges(req *Request, it *Item) bool {
	switch {
	case it.looks():
		return false
	case it.records():
		return true
	default:
		return req.Admitted && it.Result.OK
	}
}

// settle charges an item according to the verdict; wait is how long the request waits
// in queues.
func (m *Memory) settle(req *Request, it *Item, now, wait int64) {
	if it.looks() {
		return
	}
	s := m.shardOf(it.Name)
	fits := req.Admitted && it.Result.OK
	reserved := fits && !it.Shadow
	switch {
	case it.sketch != nil:
		if fits || it.records() {
			m.chargeSketch(it, now)
		}
		return
	case it.Reported, !charges(req, it):
	case reserved, m.take(m.need(it, now)):
		m.chargeSettled(s, req, it, now, wait, fits)
		return
	default:
		m.full.Add(1) // no room to keep it, and it decides nothing
	}
	if it.moved {
		s.passed(it)
	}
	switch {
	case it.Reported && it.Hold != nil && fits:
		s.holdPlace(it, now)
	case it.Limit.Algorithm == limit.Events && !charges(req, it):
		s.enter(it.record, it.Name, it.Limit, now)
	}
}

// chargeSettled charges an item for which there is room, and says with what.
func (m *Memory) chargeSettled(s *shard, req *Request, it *Item, now, wait int64, fits bool) {
	c := s.chargeNew(it, now, wait, !fits)
	it.Charged = true
	if fits && c.Amount > 0 {
		it.Receipt = slidegate.Receipt{
			Window: [2]uint64{it.Name.Hi, it.Name.Lo}, Stamp: c.Stamp, Amount: c.Amount, Seq: s.seq,
			Kind: it.takes(),
		}
		if it.Hold != nil && it.Receipt.Kind == slidegate.Unsettled {
			s.hold(it, hold{seq: s.seq, at: now, stamp: c.Stamp}, c.Amount)
		}
	} else {
		it.Receipt = slidegate.Receipt{}
	}
	s.charged(it.record, it.Limit, now, &it.Result)
	if !req.Admitted {
		var again limit.Result
		s.judgeItem(it, it.record, now, req.wait, true, &again)
		it.Result.Retry = max(again.Retry, it.Locked)
	}
}
