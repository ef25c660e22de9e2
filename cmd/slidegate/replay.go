package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

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
		Use:   "replay --rules FILE [--format FORMAT] LOG…",
		Short: "Judge a recorded log by a rule file",
		Long: `Replay feeds recorded events, each at its own time, through the same engine that
serves, and says what the rules would have done. Logs may be gzipped; - is
standard input.

Formats: combined (access logs of Apache and nginx: ip, user, method, path,
query, status, bytes, referer, user_agent), json (an object a line), csv (with a
header line). Times are RFC 3339 or epochs in s, ms, µs or ns; a file that mixes
them is an error.

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
	sum, skipped, err := r.judge(ctx, reader)
	stop()
	if err != nil {
		return err
	}
	sum.Skipped += reader.Skipped()
	sum.Finish()
	skipped = append(reader.FirstSkipped(), skipped...)
	if r.flags.summary == "json" {
		printSkipped(r.err, sum.Skipped, skipped)
		return json.NewEncoder(r.out).Encode(sum)
	}
	printFiles(r.out, reader.Files())
	printSkipped(r.out, sum.Skipped, skipped)
	printSummary(r.out, sum)
	return nil
}

// judge judges the events of reader and returns the first of those that the
// rules could not read.
func (r *replayer) judge(ctx context.Context, reader *replay.Reader) (*replay.Summary, []replay.Skip, error) {
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
	var skipped []replay.Skip
	sum, err := replay.Judge(ctx, r.rules.Plan, src, func(rec *replay.Record, err error) {
		if len(skipped) < replay.DefaultKeepSkipped {
			skipped = append(skipped, replay.Skip{File: rec.File, Line: rec.Line, Text: printable(rec.Event.Name), Reason: err.Error()})
		}
	})
	return sum, skipped, err
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
