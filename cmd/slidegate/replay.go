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

func newReplay() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay --rules FILE [--format FORMAT] [--sort] [--compare ALGORITHMS] [--candidate NEW] [other flags] LOG…",
		Short: "Judge a recorded log by a rule file",
		Long: `Replay feeds recorded events, each at its own time, through the same engine that
serves, and says what the rules would have done. Logs may be gzipped; - is
standard input.

Formats: combined (access logs of Apache and nginx: ip, user, method, path,
query, status, bytes, referer, user_agent, vhost), json (an object a line), csv
(with a header line), syslog (host, app, pid, message, facility, severity), sshd
(syslog of sshd: user, ip, port, method, result; its events are called login), or
a regular expression whose named groups are the attributes, and one of them the
time. Times are RFC 3339, as in access logs and syslog, or epochs in s, ms, µs or
ns; a file that mixes them is an error. What they do not say, --zone and --year
do.

An event that is older than the newest before it is judged at the newest and
counted as late. --sort puts the events in the order of their times first, in
bounded memory.

--compare judges the log once more by each algorithm that is named, and says what
each let through at most in a window. --candidate says what another rule file
would change, for whom.`,
		Example: `  slidegate replay --rules rules.yaml access.log
  slidegate replay --rules rules.yaml --sort --summary json access.log.*.gz
  zcat events.json.gz | slidegate replay --rules rules.yaml --format json --time ts -
  slidegate replay --rules rules.yaml --format '^(?P<time>\S+ \S+) (?P<ip>\S+) (?P<path>\S+)' --zone Europe/Berlin app.log
  slidegate replay --rules rules.yaml --compare sliding_log,fixed,gcra access.log
  slidegate replay --rules rules.yaml --candidate new.yaml --format sshd auth.log`,
		RunE: func(cmd *cobra.Command, logs []string) error {
			if err := f.check(logs); err != nil {
				return err
			}
			rules, err := loadRules(f.rules, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			beside, err := f.beside(rules, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			r := replayer{flags: f, rules: rules, beside: beside, in: cmd.InOrStdin(), out: cmd.OutOrStdout(), err: cmd.ErrOrStderr()}
			return fail(r.run(cmd.Context(), logs))
		},
	}
	f.add(cmd)
	return cmd
}

type replayer struct {
	flags    replayFlags
	rules    *rulefile.File
	beside   []replay.Beside
	in       io.Reader
	out, err io.Writer
}

func (r *replayer) run(ctx context.Context, logs []string) error {
	opt, err := r.flags.options()
	if err != nil {
		return err
	}
	in, release := r.in, func() {}
	if slices.Contains(logs, "-") {
		in, release = interruptible(ctx, r.in)
	}
	defer release()
	reader, err := replay.Open(logs, in, opt)
	if err != nil {
		return err
	}
	defer reader.Close()
	defer context.AfterFunc(ctx, func() { reader.Interrupt(context.Cause(ctx)) })()
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
	files := reader.Files()
	if asJSON { // what was guessed is told in any case
		files = slices.DeleteFunc(slices.Clone(files), func(f replay.File) bool { return !f.Derived })
	}
	printFiles(notes, files)
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
	if sum.Comparison != nil {
		printComparison(r.out, sum.Comparison)
	}
	if sum.Candidate != nil {
		printCandidate(r.out, sum.Candidate, r.flags.candidate)
	}
	if width, terminal := terminalWidth(r.out); r.flags.timeline == "on" || r.flags.timeline == "auto" && terminal {
		printTimeline(r.out, &sum.Timeline, width)
	}
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
	}, r.beside...)
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
