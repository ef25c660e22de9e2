package storetest

import (
	"math"
	"slices"

	"github.com/slidegate/slidegate/limit"
)

// queue is a window of GCRA as what it stands for: a queue of jobs, each of
// which takes its time when those before it are done. A burst of work may wait.
type queue struct {
	jobs   []job // in order; the last one ends when the queue is empty
	names  int64
	places bool  // some who are in it have been told when to go on
	held   int64 // how far ahead they may have been told
}

// job ends at a time, and takes that long.
type job struct{ name, end, takes int64 }

// end returns when the queue is empty.
func (q *queue) end() int64 {
	if n := len(q.jobs); n > 0 {
		return q.jobs[n-1].end
	}
	return math.MinInt64
}

// work returns how long the queue is at now, and no more than a burst and those who
// may wait.
func (q *queue) work(p limit.Params, now int64) int64 {
	if q.end() <= now {
		return 0
	}
	return min(q.end()-now, max(p.Burst*p.Step+p.Wait, q.held))
}

func (q *queue) judge(p limit.Params, now, cost int64) (r limit.Result) {
	if p.Max == 0 {
		return limit.Result{OK: cost == 0, Never: cost > 0}
	}
	work, burst := q.work(p, now), p.Burst*p.Step
	r.Used = (work + p.Step - 1) / p.Step
	r.Remaining = max(p.Burst-r.Used, 0)
	r.Reset = work
	r.Never = cost > p.Burst+p.Wait/p.Step
	if !r.Never {
		wait := max(work+cost*p.Step-burst, 0)
		r.Retry = max(wait-p.Wait, 0)
		if r.OK = r.Retry == 0; r.OK {
			r.Wait = wait
		}
	}
	return r
}

// cut gives up what a burst does not hold, as after a clock that stepped back.
// What is left then belongs to nobody.
func (q *queue) cut(p limit.Params, now int64) {
	if work := q.work(p, now); work > 0 && p.Max > 0 && now+work < q.end() {
		q.jobs = []job{{end: now + work, takes: work}}
	}
}

// add queues a job of that cost; recorded, as much of it as a burst holds.
func (q *queue) add(p limit.Params, now, cost int64, record bool) placed {
	if p.Max == 0 {
		return placed{}
	}
	work := q.work(p, now)
	q.places = q.places && work > 0 || p.Wait > 0
	if work == 0 {
		q.held = 0
	}
	if p.Wait > 0 {
		q.held = max(q.held, p.Burst*p.Step+p.Wait)
	}
	takes := cost * p.Step
	if record {
		takes = min(min(cost, p.Burst)*p.Step, p.Burst*p.Step-work)
	}
	q.names++
	if takes > 0 {
		q.jobs = append(q.jobs, job{q.names, now + work + takes, takes})
	}
	return placed{q.names, max(takes, 0)}
}

// addAt queues a job that has to wait elsewhere, too: before it the queue stands idle
// until the job could go on after wait, a burst of it at once. The idle time is the
// job's own.
func (q *queue) addAt(p limit.Params, now, cost, wait int64) placed {
	idle := now + wait + min(cost, p.Burst)*p.Step - (now + q.work(p, now) + cost*p.Step)
	c := q.add(p, now, cost, false)
	if idle > 0 && len(q.jobs) > 0 {
		j := &q.jobs[len(q.jobs)-1]
		j.end, j.takes, c.n = j.end+idle, j.takes+idle, c.n+idle
	}
	return c
}

// newest reports whether a charge is the last job of the queue.
func (q *queue) newest(c placed) bool {
	for i := len(q.jobs) - 1; i >= 0; i-- {
		if j := q.jobs[i]; j.takes > 0 || j.name != 0 {
			return j.name == c.at && j.name != 0
		}
	}
	return false
}

// done reports whether a charge is worked off or was taken out.
func (q *queue) done(now int64, c placed) bool {
	return !slices.ContainsFunc(q.jobs, func(j job) bool { return j.name == c.at && c.at != 0 && j.end > now })
}

// remove takes what is left of a job out of the queue; the jobs after it move
// up. What of it was worked off stays and belongs to nobody. Where some have been
// told when to go on, only the last job is taken out.
func (q *queue) remove(now int64, c placed) bool {
	if q.places && !q.newest(c) {
		return false
	}
	for i := range q.jobs {
		j := &q.jobs[i]
		if c.n == 0 || j.name != c.at || j.end <= now {
			continue
		}
		left := min(j.takes, j.end-now)
		j.takes -= left
		j.name = 0
		for k := i; k < len(q.jobs); k++ {
			q.jobs[k].end -= left
		}
		return true
	}
	return false
}
