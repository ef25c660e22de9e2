package storetest

import (
	"math"
	"slices"

	"github.com/slidegate/slidegate/limit"
)

// queue is a window of GCRA as what it stands for: a queue of jobs, each of
// which takes its time when those before it are done. A burst of work may wait.
type queue struct {
	jobs  []job // in order; the last one ends when the queue is empty
	names int64
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

// work returns how long the queue is at now, and no more than a burst.
func (q *queue) work(p limit.Params, now int64) int64 {
	if q.end() <= now {
		return 0
	}
	return min(q.end()-now, p.Burst*p.Step)
}

func (q *queue) judge(p limit.Params, now, cost int64) (r limit.Result) {
	if p.Max == 0 {
		return limit.Result{OK: cost == 0, Never: cost > 0}
	}
	work, burst := q.work(p, now), p.Burst*p.Step
	r.Used = (work + p.Step - 1) / p.Step
	r.Remaining = p.Burst - r.Used
	r.Reset = work
	r.Never = cost > p.Burst
	if !r.Never {
		r.Retry = max(work+cost*p.Step-burst, 0)
		r.OK = r.Retry == 0
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

// add queues a job of that cost, or as much of it as a burst holds.
func (q *queue) add(p limit.Params, now, cost int64) placed {
	if p.Max == 0 {
		return placed{}
	}
	work := q.work(p, now)
	takes := min(min(cost, p.Burst)*p.Step, p.Burst*p.Step-work)
	q.names++
	if takes > 0 {
		q.jobs = append(q.jobs, job{q.names, now + work + takes, takes})
	}
	return placed{q.names, takes}
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
// up. What of it was worked off stays and belongs to nobody.
func (q *queue) remove(now int64, c placed) bool {
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
