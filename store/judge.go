package store

import (
	"math"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/window"
)

// empty says how a window stands that has no record.
func empty(p *limit.Params, cost int64, out *limit.Result) {
	held := p.Max
	switch p.Algorithm {
	case limit.GCRA:
		if held > 0 { // else a ban
			held = p.Burst
		}
	case limit.Events:
		cost = min(cost, 1)
	}
	out.Used, out.Remaining, out.Retry, out.Reset, out.Wait = 0, held, 0, 0, 0
	out.OK, out.Never = cost <= held, cost > held
	if out.Never && p.Wait > 0 { // a queue takes more, one after another
		m := limit.EmptyMeter()
		m.JudgeInto(p, 0, cost, out)
	}
}

// judgeItem is judge for an item, which may wait in queues for most microseconds.
func (s *shard) judgeItem(it *Item, r *record, now, most int64, look bool, out *limit.Result) {
	cost := it.Cost
	switch {
	case it.Limit.Wait > most && it.decides():
		p := *it.Limit
		p.Wait = most // it has to wait in another queue, too
		s.judge(r, &p, now, cost, look, out)
	case it.Limit.Algorithm == limit.SlidingLog && r != nil && s.judgeStill(r, it.Limit, now, cost, out):
	case it.Limit.Algorithm != limit.Distinct:
		s.judge(r, it.Limit, now, cost, look, out)
	case r == nil || !r.is(it.Limit):
		empty(it.Limit, int64(len(it.given)), out)
	default:
		var m limit.Members
		r.loadMembers(&m, s)
		if !look {
			m.Advance(*it.Limit, now)
			r.saveMembers(&m)
		}
		m.JudgeInto(it.Limit, now, it.given, out)
		if !look {
			r.keep(now, out.Reset)
		}
	}
}

// judgeStill is judge for a log in which nothing changes by now: no hit has left the
// window, and none lies later. Otherwise it reports false.
func (s *shard) judgeStill(r *record, p *limit.Params, now, cost int64, out *limit.Result) bool {
	switch r.kind() {
	case kindShortLog:
		var l limit.Log[uint32]
		s.loadShort(&l.Log, r)
		return p.Size <= math.MaxUint32 && judgeStill(&l, p, now, cost, out)
	case kindLongLog:
		var l limit.Log[uint64]
		loadLog(&l.Log, r, s.long.block(r.ref))
		return p.Size > math.MaxUint32 && judgeStill(&l, p, now, cost, out)
	}
	return false
}

func judgeStill[S window.Stamp](l *limit.Log[S], p *limit.Params, now, cost int64, out *limit.Result) bool {
	if l.Len == 0 || l.Newest > now || l.Age(0, now) >= uint64(p.Size) {
		return false
	}
	l.JudgeLive(p, now, cost, 0, out)
	return true
}

// judge says in out whether cost fits into r. Unless look is set, it first
// brings the state to now.
func (s *shard) judge(r *record, p *limit.Params, now, cost int64, look bool, out *limit.Result) {
	if r == nil || !r.is(p) {
		empty(p, cost, out)
		return
	}
	s.judgeState(r, p, now, cost, look, out)
	if !look {
		r.keep(now, out.Reset)
	}
}

// charged says in out how r stands after a charge; the verdict stays.
func (s *shard) charged(r *record, p *limit.Params, now int64, out *limit.Result) {
	var after limit.Result
	s.judgeState(r, p, now, 0, true, &after)
	r.keep(now, after.Reset)
	out.Used, out.Remaining, out.Reset = after.Used, after.Remaining, after.Reset
}

func (s *shard) judgeState(r *record, p *limit.Params, now, cost int64, look bool, out *limit.Result) {
	switch r.kind() {
	case kindShortLog:
		var l limit.Log[uint32]
		s.loadShort(&l.Log, r)
		if judgeLog(&l, p, now, cost, look, out) {
			s.saveShort(&l.Log, r)
		}
	case kindLongLog, kindHolders:
		var l limit.Log[uint64]
		loadLog(&l.Log, r, s.long.block(r.ref))
		if judgeLog(&l, p, now, cost, look, out) {
			r.saveLog(l.Newest, l.Head, l.Len)
		}
	case kindBuckets:
		var b limit.Buckets
		r.loadBuckets(&b, s)
		if !look {
			b.Advance(*p, now)
			r.saveBuckets(&b)
		}
		b.JudgeInto(p, now, cost, out)
	case kindMeter:
		m := r.meter()
		if !look {
			m.Advance(*p, now)
			r.saveMeter(&m)
		}
		m.JudgeInto(p, now, cost, out)
	case kindCounter, kindCalendar:
		c := limit.Counter{Period: int64(r.t), Count: int64(r.x)}
		if !look {
			c.Advance(*p, now)
			r.t, r.x = uint64(c.Period), uint64(c.Count)
		}
		c.JudgeInto(p, now, cost, out)
	case kindWeighted:
		var w limit.Weighted
		r.loadWeighted(&w, s)
		if !look {
			w.Advance(*p, now)
			r.saveWeighted(&w, s)
		}
		w.JudgeInto(p, now, cost, out)
	case kindMembers, kindByCalendar: // after a charge: how it stands
		var m limit.Members
		r.loadMembers(&m, s)
		m.JudgeInto(p, now, nil, out)
	default:
		var m limit.Marks
		r.loadMarks(&m, s)
		if !look {
			m.Advance(*p, now)
			r.saveMarks(&m)
		}
		m.JudgeInto(p, now, cost, out)
	}
}

// judgeLog judges a log and reports whether it was changed.
func judgeLog[S window.Stamp](l *limit.Log[S], p *limit.Params, now, cost int64, look bool, out *limit.Result) (changed bool) {
	dead := l.Expired(now, uint64(p.Size))
	if !look && (dead > 0 || l.Newest > now) { // as Advance does
		l.Pull(now)
		l.Drop(dead)
		dead, changed = 0, true
	}
	l.JudgeLive(p, now, cost, dead, out)
	return changed
}
