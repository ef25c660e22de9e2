package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/rule"
)

// Judge feeds the records of src through an engine with the given plan, each at
// its own time, and returns what became of them. A record that is older than
// the newest before it is judged at the newest, and counted as late. An event
// that the rules cannot read (a text where an address is declared) is skipped
// and handed to skip, if that is not nil. All others are judged by each of beside
// as well, at the same time; what they say is in the summary.
func Judge(ctx context.Context, plan *rule.Plan, src Source, skip func(*Record, error), beside ...Beside) (*Summary, error) {
	j := judging{plan: plan, beside: beside}
	g, err := newEngine(plan, &j.clock)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	j.gate, j.sum = g, newSummary(plan)
	for _, b := range beside {
		defer b.end(j.sum)
		if err := b.begin(&j.clock); err != nil {
			return nil, err
		}
	}
	for {
		rec, err := src.Next()
		switch {
		case errors.Is(err, io.EOF):
			return j.sum, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("stopped after %d events: %w", j.sum.Events, context.Cause(ctx))
		case err != nil:
			return nil, err
		}
		// One event is decided whole, or not at all.
		err = j.one(context.WithoutCancel(ctx), rec)
		if err != nil && !errors.Is(err, slidegate.ErrEvent) {
			return nil, err
		}
		if err != nil && skip != nil {
			skip(rec, err)
		}
	}
}

// Beside judges the events of a log once more, by other rules than those that
// the log is judged by: a [Comparison] or a [Candidate]. Each is for one log.
type Beside interface {
	// begin makes ready to judge at the times of clock, in microseconds.
	begin(clock *atomic.Int64) error
	// judge judges an event that carries no time, of which d is the verdict.
	judge(ctx context.Context, rec *Record, ev *slidegate.Event, now int64, d *slidegate.Decision) error
	// end frees what was taken and puts what came out into s.
	end(s *Summary)
}

// clockOf returns a clock for an engine.
func clockOf(clock *atomic.Int64) func() time.Time {
	return func() time.Time { return time.UnixMicro(clock.Load()) }
}

// judging is the state of a Judge.
type judging struct {
	beside []Beside

	plan  *rule.Plan
	gate  *gate.Gate
	clock atomic.Int64 // the newest time, in microseconds
	sum   *Summary
}

// attempt asks whether an event may happen and, if it may, reports at once how it went,
// where that means anything to the rules.
func attempt(ctx context.Context, g *gate.Gate, ev *slidegate.Event) (slidegate.Decision, error) {
	check := *ev
	check.Outcome = slidegate.Unknown
	d, err := g.Check(ctx, check)
	if err != nil || !d.Admitted() || !g.Plan().Reports() {
		return d, err
	}
	report := *ev
	report.Decision = d.ID.String()
	_, err = g.Report(ctx, report)
	return d, err
}

// one judges one record. An event that the rules cannot read does not move the
// clock.
func (j *judging) one(ctx context.Context, rec *Record) error {
	before, at := j.clock.Load(), rec.Event.Time.UnixMicro()
	late := j.sum.Events > 0 && at < before
	if !late {
		j.clock.Store(at)
	}
	ev := rec.Event
	ev.Time = time.Time{} // the clock tells it
	d, err := attempt(ctx, j.gate, &ev)
	if err != nil {
		j.sum.Skipped++
		j.sum.Unjudged++
		j.clock.Store(before)
		return err
	}
	if late {
		j.sum.Late++
		j.sum.LateMax = max(j.sum.LateMax, time.Duration(before-at)*time.Microsecond)
	}
	j.sum.add(j.plan, &ev, &d, j.clock.Load())
	for _, b := range j.beside {
		if err := b.judge(ctx, rec, &ev, j.clock.Load(), &d); err != nil {
			return fmt.Errorf("%s:%d: %w", rec.File, rec.Line, err)
		}
	}
	return nil
}
