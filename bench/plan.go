package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/slidegate/slidegate/bench/internal/exact"
	"github.com/slidegate/slidegate/bench/internal/measure"
	"github.com/slidegate/slidegate/bench/internal/peer"
)

// job is one measurement.
type job = measure.Job

// column is one case of a table.
type column struct{ id, title string }

// cases returns the cases of a table.
func (o *options) cases(table string) []column {
	var cs []column
	switch table {
	case peer.Speed:
		for _, c := range measure.SpeedCases(o.keys) {
			cs = append(cs, column{c.ID, c.Title})
		}
	case peer.Memory:
		for _, c := range measure.MemoryCases(o.keys) {
			cs = append(cs, column{c.ID, c.Title})
		}
	case peer.Exact:
		for _, p := range exact.Patterns() {
			cs = append(cs, column{p.ID, p.Title})
		}
	}
	return cs
}

func (o *options) job(table, id, limiter string) job {
	j := job{Table: table, Case: id, Limiter: limiter}
	switch table {
	case peer.Speed:
		j.Keys, j.Length = o.keys, time.Duration(o.seconds*float64(time.Second))
	case peer.Memory:
		j.Keys = o.keys
	case peer.Exact:
		j.Window = o.window
	}
	return j
}

// measureAll runs all rounds. A measurement that fails is noted, and the others
// go on; only the end of ctx stops them.
func measureAll(ctx context.Context, o *options, progress io.Writer) (*results, error) {
	r := newResults()
	for round := range o.rounds {
		for _, table := range o.tables {
			for _, j := range o.jobs(table, round) {
				fmt.Fprintf(progress, "round %d of %d: %s, %s, %s\n", round+1, o.rounds, table, j.Case, j.Limiter)
				repeat(ctx, o, j, r, progress)
				if err := ctx.Err(); err != nil {
					return nil, fmt.Errorf("stopped: %w", err)
				}
			}
		}
	}
	return r, nil
}

// repeat measures until one repetition is clean, a few times at most.
func repeat(ctx context.Context, o *options, j job, r *results, progress io.Writer) {
	for range o.retries + 1 {
		out, err := spawn(ctx, j, o.procs)
		if err != nil {
			r.fail(j, err)
			fmt.Fprintln(progress, "  failed:", err)
			return
		}
		r.add(&out)
		if out.Disturbed == "" {
			return
		}
		fmt.Fprintln(progress, "  thrown away:", out.Disturbed)
	}
}
