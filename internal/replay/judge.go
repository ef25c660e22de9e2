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
	var clock atomic.Int64
	g, err := gate.New(plan, gate.Options{
		Now:    func() time.Time { return time.UnixMicro(clock.Load()) },
		Memory: store.MemoryOptions{SweepEvery: -1},
	})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	sum := newSummary(plan)
	for {
		rec, err := src.Next()
		if errors.Is(err, io.EOF) {
			return sum, nil
		}
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("stopped after %d events: %w", sum.Events, err)
		}
		at := rec.Event.Time.UnixMicro()
		late := sum.Events > 0 && at < clock.Load()
		if !late {
			clock.Store(at)
		}
		ev := rec.Event
		ev.Time = time.Time{} // the clock tells it
		d, err := g.Check(ctx, ev)
		switch {
		case errors.Is(err, slidegate.ErrEvent):
			sum.Skipped++
			if skip != nil {
				skip(rec, err)
			}
			continue
		case err != nil:
			return nil, err
		}
		if late {
			sum.Late++
		}
		sum.add(plan, &ev, &d, clock.Load())
	}
}
