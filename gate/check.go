package gate

import (
	"context"
	"fmt"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/store"
)

// Check judges ev against every rule it meets, in one atomic verdict, and
// charges their windows if it is admitted: at once, with less (Degrade), or in a
// queue, where its place is taken. An error says what is wrong with
// the event, that ctx ended, or that the store failed; then nothing was charged.
//
// It allocates nothing for up to four windows, unless a window grows.
func (g *Gate) Check(ctx context.Context, ev slidegate.Event) (d slidegate.Decision, err error) {
	sc := g.begin()
	defer g.end(sc)
	if err = g.add(sc, &ev, -1); err != nil {
		return d, err
	}
	if err = sc.decide(ctx, g.store); err != nil {
		return d, err
	}
	g.answer(&d, sc, 0)
	return d, nil
}

// CheckBatch judges events one after another: each is a decision of its own.
// If any of them is wrong none is judged, and a [slidegate.EventError] names its place. If ctx
// ends or the store fails on the way, the events before have been judged and
// charged, and their decisions are lost with the others.
func (g *Gate) CheckBatch(ctx context.Context, evs []slidegate.Event) ([]slidegate.Decision, error) {
	sc := g.begin()
	defer g.end(sc)
	for i := range evs {
		if err := g.add(sc, &evs[i], i); err != nil {
			return nil, err
		}
	}
	if err := sc.decide(ctx, g.store); err != nil {
		return nil, err
	}
	ds := make([]slidegate.Decision, len(evs))
	for i := range ds {
		g.answer(&ds[i], sc, i)
	}
	return ds, nil
}

// CheckAll judges several events in one verdict: all are admitted and charged,
// or none is. Where they meet the same window of the same key their costs are
// added up; a window of events counts them as one.
func (g *Gate) CheckAll(ctx context.Context, evs []slidegate.Event) (slidegate.Decision, error) {
	sc := g.begin()
	defer g.end(sc)
	sc.merge = map[mergeKey]int{}
	sc.ends = append(sc.ends, requestEnd{}) // one request, even for no event
	for i := range evs {
		if err := g.add(sc, &evs[i], i); err != nil {
			return slidegate.Decision{}, err
		}
	}
	if err := sc.decide(ctx, g.store); err != nil {
		return slidegate.Decision{}, err
	}
	var d slidegate.Decision
	g.answer(&d, sc, 0)
	return d, nil
}

func (sc *scratch) decide(ctx context.Context, s store.Store) error {
	if err := s.Decide(ctx, sc.requests()); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	return nil
}
