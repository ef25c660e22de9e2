package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/bench/internal/peer"
)

// options are the flags.
type options struct {
	args     []string
	tables   []string
	limiters []peer.Limiter
	rounds   int
	seconds  float64
	keys     int
	window   time.Duration
	retries  int
	procs    int
	output   string
	list     bool
}

// allTables are the tables, in the order in which they are printed.
func allTables() []string { return []string{peer.Speed, peer.Memory, peer.Exact} }

// parseOptions reads the flags and checks all of them.
func parseOptions(args []string, stderr io.Writer) (*options, error) {
	o := &options{args: args}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	tables := fs.String("tables", strings.Join(allTables(), ","), "which tables, separated by commas")
	limiters := fs.String("limiters", "", "which limiters, separated by commas (see -list); none means all")
	fs.IntVar(&o.rounds, "rounds", 5, "how often everything is measured")
	fs.Float64Var(&o.seconds, "seconds", 1, "how long decisions are timed, in each case of the speed table")
	fs.IntVar(&o.keys, "keys", 1_000_000, "keys of the largest case; zipf has a tenth, full windows a hundredth")
	fs.DurationVar(&o.window, "window", 200*time.Millisecond, "window of the exactness table; it divides a second")
	fs.IntVar(&o.retries, "retries", 2, "how often a disturbed repetition is tried again at once")
	fs.IntVar(&o.procs, "procs", 2, "processors that each limiter may use (GOMAXPROCS)")
	fs.StringVar(&o.output, "o", "", "file to write the results to, beside the standard output")
	fs.BoolVar(&o.list, "list", false, "list the limiters and stop")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	errs := []error{o.checkNumbers(), o.selectTables(*tables), o.selectLimiters(*limiters)}
	if fs.NArg() > 0 {
		errs = append(errs, fmt.Errorf("bench: unexpected %q; there are only flags, see -h", fs.Arg(0)))
	}
	return o, errors.Join(errs...)
}

func (o *options) checkNumbers() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("bench: "+format, args...))
		}
	}
	want(o.rounds >= 1, "-rounds %d: want 1 or more", o.rounds)
	want(o.seconds > 0 && o.seconds <= 30, "-seconds %v: want more than 0, at most 30", o.seconds)
	want(o.keys >= 1000 && o.keys <= 5_000_000 && o.keys%1000 == 0, "-keys %d: want a multiple of 1000, at most 5000000", o.keys)
	want(o.window >= 10*time.Millisecond && time.Second%max(o.window, 1) == 0, "-window %v: want one that divides a second, 10ms or more", o.window)
	want(o.retries >= 0, "-retries %d: want 0 or more", o.retries)
	want(o.procs >= 1, "-procs %d: want 1 or more", o.procs)
	return errors.Join(errs...)
}

func (o *options) selectTables(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if !slices.Contains(allTables(), word) {
			return fmt.Errorf("bench: -tables: no table %q; there are %s", word, strings.Join(allTables(), ", "))
		}
		o.tables = append(o.tables, word)
	}
	return nil
}

func (o *options) selectLimiters(text string) error {
	o.limiters = peer.All()
	if text == "" {
		return nil
	}
	words := strings.Split(text, ",")
	for i, word := range words {
		words[i] = strings.TrimSpace(word)
		if _, err := peer.Find(words[i]); err != nil {
			return fmt.Errorf("bench: -limiters: %w", err)
		}
	}
	o.limiters = slices.DeleteFunc(o.limiters, func(l peer.Limiter) bool { return !slices.Contains(words, l.ID) })
	return nil
}

// in returns the limiters that stand in a table.
func (o *options) in(table string) []peer.Limiter {
	return slices.DeleteFunc(slices.Clone(o.limiters), func(l peer.Limiter) bool { return !l.In(table) })
}

// jobs returns what one round measures in a table: case by case, so that the
// limiters that are compared run close together. The round turns their order.
func (o *options) jobs(table string, round int) []job {
	limiters := o.in(table)
	var js []job
	for _, c := range o.cases(table) {
		for i := range limiters {
			l := &limiters[(i+round)%len(limiters)]
			js = append(js, o.job(table, c.id, l.ID))
		}
	}
	return js
}
