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
	"github.com/slidegate/slidegate/store"
)

// Judge feeds the records of src through an engine with the given plan, each at
// its own time, and returns what became of them. A record that is older than
// the newest before it is judged at the newest, and counted as late. An event
// that the rules cannot read (a text where an address is declared) is skipped
// and handed to skip, if that is not nil.
func Judge(ctx context.Context, plan *rule.Plan, src Source, skip func(*Record, error)) (*Summary, error) {
	j := judging{plan: plan}
	g, err := gate.New(plan, gate.Options{
		Now:    func() time.Time { return time.UnixMicro(j.clock.Load()) },
		Memory: store.MemoryOptions{SweepEvery: -1},
	})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	j.gate, j.sum = g, newSummary(plan)
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

// judging is the state of a Judge.
type judging struct {
	plan  *rule.Plan
	gate  *gate.Gate
	clock atomic.Int64 // the newest time, in microseconds
	sum   *Summary
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
	d, err := j.gate.Check(ctx, ev)
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
	return nil
}
