package rule

import (
	"errors"
	"fmt"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/spell"
	"github.com/slidegate/slidegate/limit"
)

// Defaults of what is held and locked, in microseconds.
const (
	defaultHold   = 30 * 1_000_000
	defaultForget = 24 * 3600 * 1_000_000
)

// counts says which verb feeds the limits of a rule.
type counts uint8

const (
	countsEither counts = iota // as each limit needs
	countsChecks
	countsReports
)

func (c *compiler) counts(path, text string) counts {
	switch text {
	case "":
		return countsEither
	case "checks":
		return countsChecks
	case "reports":
		return countsReports
	}
	meant := ""
	if near := spell.Nearest(text, []string{"checks", "reports"}); near != "" {
		meant = "; is " + near + " meant?"
	}
	c.errorf(path, text, "counts is checks or reports%s", meant)
	return countsEither
}

// reads reports whether a limit reads the outcome of events.
func (l *CompiledLimit) reads(r *Compiled) bool {
	return l.text.stat == statFailures || l.where.NeedsOutcome() || r.where.NeedsOutcome()
}

// fed decides which verb feeds a limit, and checks what goes with reports.
func (c *compiler) fed(path string, src *Limit, r *Compiled, l *CompiledLimit) error {
	outcome := l.reads(r)
	l.Reported = outcome || r.counts == countsReports || l.text.stat == statStreak && r.counts != countsChecks
	switch {
	case r.counts == countsChecks && outcome:
		return errors.New("the outcome is known from reports, and the rule says counts: checks; leave counts out")
	case r.counts == countsChecks && l.text.stat == statStreak:
		return errors.New("a streak is counted from reports, and the rule says counts: checks; leave counts out")
	case !l.Reported:
		return nil
	case l.text.stat == statInflight:
		return errors.New("what is in flight is counted from checks; put it into a rule that says neither counts: reports nor where failed")
	case l.text.per.events:
		return errors.New("the events of a limit are checks, and this one is fed by reports; say a window of time, such as 10m")
	case src.CountRefused:
		c.errorf(path+".count_refused", "", "who is refused is not reported; leave count_refused out")
	case src.Action == slidegate.Queue.String():
		c.errorf(path+".action", src.Action, "a queue is for limits that are fed by checks; this one is fed by reports")
	}
	return nil
}

// settling says how long what a check takes of a limit waits for a report.
func (c *compiler) settling(r *Compiled, l *CompiledLimit, hold int64) {
	switch {
	case l.text.stat == statInflight:
		return // it is kept for as long, and released
	case hold == 0 && l.Reported && (l.reads(r) || l.text.stat == statStreak):
		hold = defaultHold
	}
	l.HoldFor, l.Release = hold, hold > 0 && c.release
}

// unsettled reads what becomes of what nobody settles.
func (c *compiler) unsettled(path string, src *Rule, r *Compiled) {
	c.release = false
	switch src.Unsettled {
	case "":
		return
	case "keep":
	case "release":
		c.release = true
	default:
		c.errorf(path, src.Unsettled, "unsettled is keep or release")
		return
	}
	if src.Hold == "" && !c.reported(src, r) {
		c.errorf(path, src.Unsettled, "unsettled needs hold: how long a report is waited for, such as hold: 2m")
	}
}

// reported reports whether some limit of a rule reads the outcome, and so holds
// without being told.
func (c *compiler) reported(src *Rule, r *Compiled) bool {
	if r.where.NeedsOutcome() {
		return true
	}
	for i := range src.Limits {
		text, err := parseLimit(src.Limits[i].Limit)
		if err != nil || text.stat == statFailures || text.stat == statStreak || readsOutcome(text.where) {
			return true
		}
	}
	return false
}

// locking reads what only a limit with action lock has.
func (c *compiler) locking(path string, src *Limit, l *CompiledLimit) {
	if l.Action != slidegate.Lock {
		if src.Lasts != nil {
			c.errorf(path+".lasts", "", "lasts is for the action lock; this limit has action %v", l.Action)
		}
		if src.KeepHistory {
			c.errorf(path+".keep_history", "", "keep_history is for the action lock; this limit has action %v", l.Action)
		}
		return
	}
	if len(src.Lasts) == 0 {
		c.errorf(path, "", "lock needs lasts: how long, such as lasts: 15m, or longer each time, as in lasts: [1m, 5m, 1h]")
		return
	}
	if src.CountRefused {
		c.errorf(path+".count_refused", "", "a locked key is refused anyhow; leave count_refused out")
	}
	for i, text := range src.Lasts {
		at := path + ".lasts"
		if len(src.Lasts) > 1 {
			at = fmt.Sprintf("%s[%d]", at, i)
		}
		s, err := parseSpan(text)
		switch {
		case err != nil || !s.sliding():
			c.errorf(at, text, "a lock lasts a duration such as 15m")
		case len(l.Lasts) > 0 && s.size <= l.Lasts[len(l.Lasts)-1]:
			c.errorf(at, text, "a lock lasts longer each time; this is no longer than the one before")
		}
		l.Lasts = append(l.Lasts, s.size)
	}
	l.KeepHistory = src.KeepHistory
}

// locks says how long the locks of a rule are remembered.
func (c *compiler) locks(path string, src *Rule, r *Compiled) {
	forget := int64(0)
	for _, l := range r.limits {
		if len(l.Lasts) > 1 {
			forget = defaultForget
		}
	}
	for _, l := range r.limits {
		if forget != defaultForget {
			forget = max(forget, longest(l))
		}
	}
	if src.ForgetAfter != "" {
		s, err := parseSpan(src.ForgetAfter)
		switch {
		case err != nil || !s.sliding():
			c.errorf(path+".forget_after", src.ForgetAfter, "forget_after is a duration such as 24h")
		case !r.Locks() && len(r.limits) == len(src.Limits):
			c.errorf(path+".forget_after", src.ForgetAfter, "forget_after is for rules that lock: how long a lock is remembered after its end; leave it out")
		}
		forget = s.size
	}
	for _, l := range r.limits {
		l.Forget = forget
	}
}

// longest returns how long a hit may count, in microseconds.
func longest(l *CompiledLimit) int64 {
	switch {
	case l.terms.Periods != nil:
		return limit.MaxSize
	case l.terms.Algorithm == limit.Events:
		return defaultForget
	}
	return l.terms.Size
}
