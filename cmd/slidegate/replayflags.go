package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/replay"
	"github.com/slidegate/slidegate/rule/rulefile"
	"github.com/spf13/cobra"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	rules, format, event, time, zone, summary, timeline, candidate string

	year    int
	sort    bool
	compare []string
}

// add defines the flags on cmd.
func (f *replayFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.rules, "rules", "", "rule file (required)")
	flags.StringVar(&f.format, "format", "auto", "auto, combined, json, csv, syslog, sshd, or a regular expression with named groups")
	flags.StringVar(&f.event, "event", "", "name of events whose line gives none (default: http; of sshd: login)")
	flags.StringVar(&f.time, "time", "", "field that holds the time (default: the first of time, timestamp, ts, @timestamp)")
	flags.StringVar(&f.zone, "zone", "UTC", "zone of times that name none, such as Asia/Shanghai")
	flags.IntVar(&f.year, "year", 0, "year in which each log begins, where times name none (default: the last that does not end in the future)")
	flags.BoolVar(&f.sort, "sort", false, "put the events in the order of their times first")
	flags.StringVar(&f.summary, "summary", "table", "table or json")
	flags.StringVar(&f.timeline, "timeline", "auto", "plot what was admitted and refused over time: auto (on a terminal), on or off")
	flags.StringSliceVar(&f.compare, "compare", nil, "algorithms to judge the same log by, side by side, such as sliding_log,fixed,gcra")
	flags.StringVar(&f.candidate, "candidate", "", "rule file that is to replace the other: say whose verdict changes")
}

// check says what is wrong with the flags before anything is read.
func (f *replayFlags) check(logs []string) error {
	switch {
	case f.rules == "":
		return errors.New("replay needs --rules FILE")
	case len(logs) == 0:
		return errors.New("replay needs a log: a file, or - for standard input")
	case f.summary != "table" && f.summary != "json":
		return fmt.Errorf("--summary %q: it is table or json", f.summary)
	case f.timeline != "auto" && f.timeline != "on" && f.timeline != "off":
		return fmt.Errorf("--timeline %q: it is auto, on or off", f.timeline)
	}
	_, err := f.options()
	return err
}

// options returns how the logs are to be read.
func (f *replayFlags) options() (replay.Options, error) {
	opt := replay.Options{Event: f.event, TimeField: f.time, Year: f.year}
	var err error
	if replay.IsPattern(f.format) {
		opt.Format = replay.FormatPattern
		opt.Pattern, err = replay.ParsePattern(f.format, f.time)
	} else if opt.Format, err = replay.ParseFormat(f.format); err != nil {
		err = fmt.Errorf("%w%s", err, meant("", f.format, replay.FormatNames()))
	}
	if err != nil {
		return opt, fmt.Errorf("--format: %w", err)
	}
	if f.year != 0 && (f.year < replay.MinYear || f.year > replay.MaxYear) {
		return opt, fmt.Errorf("--year %d: it is %d to %d", f.year, replay.MinYear, replay.MaxYear)
	}
	opt.Zone, err = zone(f.zone)
	return opt, err
}

// zone returns the zone of a name. That of this machine has none, so that the same
// command says the same everywhere.
func zone(name string) (*time.Location, error) {
	z, err := time.LoadLocation(name)
	if name == "" || strings.EqualFold(name, "local") || err != nil {
		return nil, fmt.Errorf("--zone %q is no time zone; name one as in --zone Asia/Shanghai or --zone UTC", name)
	}
	return z, nil
}

// beside returns what is to be judged beside the rules.
func (f *replayFlags) beside(rules *rulefile.File, stderr io.Writer) ([]replay.Beside, error) {
	var beside []replay.Beside
	if f.compare != nil {
		c, err := replay.NewComparison(rules.Set, f.compare)
		if err != nil {
			return nil, fmt.Errorf("--compare: %w", err)
		}
		beside = append(beside, c)
	}
	if f.candidate != "" {
		next, err := loadRules(f.candidate, stderr)
		if err != nil {
			return nil, err
		}
		beside = append(beside, replay.NewCandidate(rules.Plan, next.Plan))
	}
	return beside, nil
}
