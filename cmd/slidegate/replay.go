package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/replay"
	"github.com/slidegate/slidegate/rule/rulefile"
	"github.com/spf13/cobra"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	rules, format, event, time, summary string
	sort                                bool
}

func newReplay() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay --rules FILE [--sort] [--format FORMAT] [--event NAME] [--time FIELD] [--summary FORM] LOG…",
		Short: "Judge a recorded log by a rule file",
		Long: `Replay feeds recorded events, each at its own time, through the same engine that
serves, and says what the rules would have done. Logs may be gzipped; - is
standard input.

Formats: combined (access logs of Apache and nginx: ip, user, method, path,
query, status, bytes, referer, user_agent, vhost), json (an object a line), csv
(with a header line). Times are RFC 3339, as in access logs, or epochs in s, ms,
µs or ns; a file that mixes them is an error.

An event that is older than the newest before it is judged at the newest and
counted as late. --sort puts the events in the order of their times first, in
bounded memory.`,
		Example: `  slidegate replay --rules rules.yaml access.log
  slidegate replay --rules rules.yaml --sort --summary json access.log.*.gz
  zcat events.json.gz | slidegate replay --rules rules.yaml --format json --time ts -`,
		RunE: func(cmd *cobra.Command, logs []string) error {
			if err := f.check(logs); err != nil {
				return err
			}
			rules, err := loadRules(f.rules, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			r := replayer{flags: f, rules: rules, in: cmd.InOrStdin(), out: cmd.OutOrStdout(), err: cmd.ErrOrStderr()}
			return fail(r.run(cmd.Context(), logs))
		},
	}
	cmd.Flags().StringVar(&f.rules, "rules", "", "rule file (required)")
	cmd.Flags().StringVar(&f.format, "format", "auto", "auto, combined, json or csv")
	cmd.Flags().StringVar(&f.event, "event", replay.DefaultEvent, "name of events whose line gives none")
	cmd.Flags().StringVar(&f.time, "time", "", "field that holds the time (default: the first of time, timestamp, ts, @timestamp)")
	cmd.Flags().BoolVar(&f.sort, "sort", false, "put the events in the order of their times first")
	cmd.Flags().StringVar(&f.summary, "summary", "table", "table or json")
	return cmd
}

func (f *replayFlags) check(logs []string) error {
	switch {
	case f.rules == "":
		return errors.New("replay needs --rules FILE")
	case len(logs) == 0:
		return errors.New("replay needs a log: a file, or - for standard input")
	case f.summary != "table" && f.summary != "json":
		return fmt.Errorf("--summary %q: it is table or json", f.summary)
	}
	_, err := replay.ParseFormat(f.format)
	return err
}

type replayer struct {
	flags    replayFlags
	rules    *rulefile.File
	in       io.Reader
	out, err io.Writer
}

func (r *replayer) run(ctx context.Context, logs []string) error {
	format, err := replay.ParseFormat(r.flags.format)
	if err != nil {
		return err
	}
	in, release := r.in, func() {}
	if slices.Contains(logs, "-") {
		in, release = interruptible(ctx, r.in)
	}
	defer release()
	reader, err := replay.Open(logs, in, replay.Options{Format: format, Event: r.flags.event, TimeField: r.flags.time})
	if err != nil {
		return err
	}
	defer reader.Close()
	stop := showProgress(r.err, reader)
	sum, unjudged, err := r.judge(ctx, reader)
	stop()
	if err != nil {
		return err
	}
	sum.Skipped += reader.Skipped()
	sum.Finish()
	return r.report(reader, sum, unjudged)
}

// report prints a summary. Where nothing was judged it is a failure that says
// why.
func (r *replayer) report(reader *replay.Reader, sum *replay.Summary, unjudged *replay.Skips) error {
	asJSON := r.flags.summary == "json"
	notes := r.out
	if asJSON || sum.Events == 0 {
		notes = r.err
	}
	if !asJSON {
		printFiles(notes, reader.Files())
	}
	printSkips(notes, were(reader.Skipped(), "line")+" not understood", reader.Skips())
	printSkips(notes, plural(unjudged.Total, "event")+" could not be judged", unjudged)
	if asJSON {
		if err := json.NewEncoder(r.out).Encode(sum); err != nil {
			return err
		}
	}
	if sum.Events == 0 {
		return nothingJudged(reader, unjudged)
	}
	if asJSON {
		return nil
	}
	printSummary(r.out, sum, r.rules.Set)
	return nil
}

// nothingJudged says why no event was judged.
func nothingJudged(reader *replay.Reader, unjudged *replay.Skips) error {
	why := "there is no event in the log"
	switch {
	case unjudged.Total > 0:
		why = "the rules could not read any of the events; the first: " + unjudged.First[0].Reason
	case reader.Skipped() > 0:
		why = "no line was understood; the first: " + reader.Skips().First[0].Reason
	}
	return errors.New("slidegate: no event was judged: " + why)
}

// judge judges the events of reader and returns why there are those that the
// rules could not read.
func (r *replayer) judge(ctx context.Context, reader *replay.Reader) (*replay.Summary, *replay.Skips, error) {
	var src replay.Source = reader
	if r.flags.sort {
		sorted, err := replay.Sort(ctx, reader, replay.SortOptions{})
		if err != nil {
			if ctx.Err() != nil {
				err = fmt.Errorf("stopped while sorting: %w", context.Cause(ctx))
			}
			return nil, nil, err
		}
		defer sorted.Close()
		src = sorted
	}
	unjudged := &replay.Skips{Keep: replay.DefaultKeepSkipped}
	sum, err := replay.Judge(ctx, r.rules.Plan, src, func(rec *replay.Record, err error) {
		unjudged.Add(rec.File, rec.Line, strings.TrimPrefix(err.Error(), "gate: "), func() string { return "" })
	})
	return sum, unjudged, err
}

// interruptible returns a reader of in that ends when ctx does, even while it
// waits for input. A plain file never waits, and is returned as it is.
func interruptible(ctx context.Context, in io.Reader) (_ io.Reader, release func()) {
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return in, func() {}
		}
	}
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	return r, func() {
		stop()
		_ = r.Close()
	}
}
