package rule

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/spell"
	"github.com/slidegate/slidegate/limit"
)

// defaultQueue is how many may queue where a limit does not say.
const defaultQueue = 10_000

// algorithmNames are those that a limit may name.
var algorithmNames = []string{"sliding_log", "sliding_buckets", "sliding_counter", "gcra", "fixed"}

// limit compiles one limit of a rule and appends it.
func (c *compiler) limit(path string, src *Limit, r *Compiled, hold int64) {
	text, err := parseLimit(src.Limit)
	if err != nil {
		c.errorf(path+".limit", src.Limit, "%v", err)
		return
	}
	l := &CompiledLimit{
		ID: c.plan.limits, Rule: r.Name, text: text, hold: hold,
		Message:      r.message,
		Shadow:       r.Shadow,
		CountRefused: src.CountRefused,
	}
	if src.Message != "" {
		l.Message = c.message(path+".message", src.Message, r.key)
	}
	if src.Shadow != nil {
		l.Shadow = *src.Shadow
	}
	if !c.measured(path, src, r, l) {
		return
	}
	if err := c.fed(path, src, r, l); err != nil {
		c.errorf(path+".limit", src.Limit, "%v", err)
		return
	}
	c.settling(r, l, hold)
	algorithm, ok := c.algorithm(path, src, l)
	if !ok || !c.action(path, src, l, algorithm) {
		return
	}
	terms, err := c.terms(l, algorithm, text)
	if err != nil {
		c.errorf(path+".limit", src.Limit, "%v", err)
		return
	}
	l.terms = terms
	l.plain = l.where == nil && text.stat == statCount
	l.Identity = c.identity(r, l)
	c.gcraRounding(path, src.Limit, terms)
	if text.per.events && terms.Max > terms.Size {
		c.warnf(path+".limit", src.Limit, "%d of %d events never refuses", terms.Max, terms.Size)
	}
	c.plan.limits++
	r.limits = append(r.limits, l)
	r.active = append(r.active, Active{CompiledLimit: l, Text: src.Limit, Params: terms})
}

// measured checks what a limit measures, and compiles what that needs.
func (c *compiler) measured(path string, src *Limit, r *Compiled, l *CompiledLimit) bool {
	before := len(c.errs)
	at := path + ".limit"
	switch l.text.stat {
	case statSum:
		if err := c.summable(l.text.attr); err != nil {
			c.errorf(at, src.Limit, "%v", err)
		}
		l.Scale = uint8(c.scaleOf(l.text.attr))
	case statDistinct:
		if err := c.known(l.text.attr); err != nil {
			c.errorf(at, src.Limit, "%v", err)
		}
		l.member = c.source(l.text.attr)
	case statInflight:
		if l.hold == 0 {
			c.errorf(at, src.Limit, "what is in flight needs a hold in the rule, such as hold: 2m: how long a place is kept that is not renewed")
		}
	}
	if unit := l.text.per.unit; unit != 0 {
		if r.zone == nil {
			c.errorf(at, src.Limit, "a calendar %s needs a time zone: say zone: Asia/Shanghai, or zone: UTC, in the rule or in defaults", unit)
		}
		l.calendar = &calendar{unit: unit, zone: r.zoneOr()}
	}
	l.where = c.condition(at, l.text.condition(), r)
	if l.where.Shown() != l.where.String() {
		c.warnf(at, src.Limit, "a secret attribute is compared with a value that stands in the text of the limit, which every answer shows; put the value into a list under lists, as in where phone in watched")
	}
	return len(c.errs) == before
}

// hold reads how long places in flight are kept; 0 where the rule says nothing.
func (c *compiler) hold(path string, src *Rule) int64 {
	if src.Hold == "" {
		return 0
	}
	s, err := parseSpan(src.Hold)
	if err != nil || !s.sliding() {
		c.errorf(path, src.Hold, "hold is a duration such as 30s or 2m")
		return limit.MinSize
	}
	return s.size
}

// summable reports an attribute that is no number, as far as that is known.
func (c *compiler) summable(attr string) error {
	if attr == "event" {
		return errors.New("event is the name of the event and cannot be summed up")
	}
	if err := c.known(attr); err != nil {
		return err
	}
	switch kind := c.typeOf(attr); {
	case c.set.Attributes != nil && kind != typeNumber:
		return fmt.Errorf("the attribute %s is not a number; declare it with type: number", attr)
	case kind == typeAddress:
		return fmt.Errorf("%s is an address and cannot be summed up; to mean something else by it, declare it under attributes", attr)
	}
	return nil
}

func (c *compiler) shadow(rule *Rule) bool {
	if rule.Shadow != nil {
		return *rule.Shadow
	}
	return c.set.Defaults.Shadow
}

func (c *compiler) scaleOf(attr string) int {
	if n, ok := c.scales[attr]; ok {
		return n
	}
	return defaultScale
}

// algorithm chooses the algorithm of a limit and checks what goes with it.
func (c *compiler) algorithm(path string, src *Limit, l *CompiledLimit) (a limit.Algorithm, ok bool) {
	before := len(c.errs)
	var err error
	a = l.text.algorithm()
	if src.Algorithm != "" {
		a = c.namedAlgorithm(path, src, l.text, a)
	}
	if src.Burst != nil {
		written := strconv.FormatInt(*src.Burst, 10)
		if a != limit.GCRA {
			c.errorf(path+".burst", written, "only gcra has a burst; add algorithm: gcra, or leave burst out")
		} else if *src.Burst < 1 {
			c.errorf(path+".burst", written, "a burst is 1 or more")
		} else if l.burst, ok = l.units(*src.Burst); !ok {
			c.errorf(path+".burst", written, "the burst, counted in units of 10^-%d, is over 2^53", l.Scale)
		} else if l.burst, err = c.divided(l.text, l.burst); err != nil {
			c.errorf(path+".burst", written, "%v", err)
		}
	} else if a == limit.GCRA {
		c.errorf(path, "", "gcra needs a burst: how many may pass at one instant, such as burst: 10")
	}
	if a == limit.SlidingBuckets {
		l.buckets = defaultBuckets
	}
	if src.Buckets != nil {
		l.buckets = *src.Buckets
		if a != limit.SlidingBuckets {
			c.errorf(path+".buckets", strconv.FormatInt(l.buckets, 10), "only sliding_buckets has buckets; add algorithm: sliding_buckets, or leave buckets out")
		} else if l.buckets < 1 || l.buckets > limit.MaxBuckets {
			c.errorf(path+".buckets", strconv.FormatInt(l.buckets, 10), "buckets are 1 to %d", limit.MaxBuckets)
		}
	}
	switch {
	case !src.CountRefused:
	case a == limit.Events:
		c.errorf(path+".count_refused", "", "a window of events counts every check already; leave count_refused out")
	case a == limit.Inflight:
		c.errorf(path+".count_refused", "", "who is refused holds no place in flight; leave count_refused out")
	}
	return a, len(c.errs) == before
}

// algorithm returns what a measure is kept in where the limit does not say.
func (t *limitText) algorithm() limit.Algorithm {
	switch {
	case t.stat == statInflight:
		return limit.Inflight
	case t.stat == statDistinct:
		return limit.Distinct
	case t.per.unit != 0:
		return limit.Calendar
	case t.per.events:
		return limit.Events
	case t.stat == statSum:
		return limit.SlidingBuckets
	}
	return limit.SlidingLog
}

func (c *compiler) namedAlgorithm(path string, src *Limit, text limitText, otherwise limit.Algorithm) limit.Algorithm {
	at := path + ".algorithm"
	none := map[limit.Algorithm]string{
		limit.Events: "a window of events", limit.Calendar: "a calendar window", limit.Inflight: "what is in flight", limit.Distinct: "a distinct",
	}[otherwise]
	if text.stat == statStreak {
		none = "a streak"
	}
	a, ok := limit.ParseAlgorithm(src.Algorithm)
	switch {
	case !ok || !slices.Contains(algorithmNames, src.Algorithm):
		hint := ""
		if near := spell.Nearest(src.Algorithm, algorithmNames); near != "" {
			hint = fmt.Sprintf("; is %s meant?", near)
		}
		c.errorf(at, src.Algorithm, "unknown algorithm; it is %s%s", strings.Join(algorithmNames, ", "), hint)
		return otherwise
	case none != "":
		c.errorf(at, src.Algorithm, "%s has no algorithm; leave it out", none)
		return otherwise
	case text.stat == statSum && a == limit.SlidingLog:
		c.errorf(at, src.Algorithm, "a sum is kept in sliding_buckets, which is the default; leave algorithm out")
		return otherwise
	}
	return a
}

// action reads what a limit does, and checks what goes with it.
func (c *compiler) action(path string, src *Limit, l *CompiledLimit, a limit.Algorithm) bool {
	before := len(c.errs)
	l.Action = slidegate.Reject
	if src.Action != "" {
		action, ok := slidegate.ParseAction(src.Action)
		if !ok || action == slidegate.Allow {
			c.errorf(path+".action", src.Action, "unknown action; it is reject (which need not be written), degrade, challenge, queue or lock%s", c.meantAction(src.Action))
			return false
		}
		l.Action = action
	}
	labelled := l.Action == slidegate.Challenge || l.Action == slidegate.Degrade
	switch l.With = src.With; {
	case labelled && l.With == "":
		c.errorf(path, "", "%v needs with: a word for your program, such as with: %s", l.Action,
			map[slidegate.Action]string{slidegate.Challenge: "captcha", slidegate.Degrade: "cached"}[l.Action])
	case !labelled && l.With != "":
		c.errorf(path+".with", l.With, "with is for challenge and degrade; this limit has action %v", l.Action)
	}
	c.queue(path, src, l, a)
	c.locking(path, src, l)
	return len(c.errs) == before
}

func (c *compiler) meantAction(text string) string {
	if near := spell.Nearest(text, []string{"reject", "degrade", "challenge", "queue", "lock"}); near != "" {
		return "; is " + near + " meant?"
	}
	return ""
}

// queue reads what only a limit with action queue has.
func (c *compiler) queue(path string, src *Limit, l *CompiledLimit, a limit.Algorithm) {
	if l.Action != slidegate.Queue {
		if src.MaxWait != "" {
			c.errorf(path+".max_wait", src.MaxWait, "max_wait is for the action queue; this limit has action %v", l.Action)
		}
		if src.MaxQueue != nil {
			c.errorf(path+".max_queue", strconv.FormatInt(*src.MaxQueue, 10), "max_queue is for the action queue; this limit has action %v", l.Action)
		}
		return
	}
	if a != limit.GCRA {
		c.errorf(path+".action", src.Action, "only gcra knows when a place is free; add algorithm: gcra and a burst")
	}
	if src.CountRefused {
		c.errorf(path+".count_refused", "", "who is refused takes no place in a queue; leave count_refused out")
	}
	switch s, err := parseSpan(src.MaxWait); {
	case src.MaxWait == "":
		c.errorf(path, "", "queue needs max_wait: the longest that an event may wait, such as max_wait: 2s")
	case err != nil || !s.sliding():
		c.errorf(path+".max_wait", src.MaxWait, "max_wait is a duration such as 500ms or 2s")
	default:
		l.maxWait = s.size
	}
	l.maxQueue, _ = l.units(defaultQueue)
	if src.MaxQueue != nil {
		c.maxQueue(path+".max_queue", *src.MaxQueue, l)
	}
}

func (c *compiler) maxQueue(path string, n int64, l *CompiledLimit) {
	written := strconv.FormatInt(n, 10)
	units, ok := l.units(n)
	switch {
	case n < 1:
		c.errorf(path, written, "max_queue is 1 or more")
	case !ok:
		c.errorf(path, written, "max_queue, counted in units of 10^-%d, is over 2^53", l.Scale)
	}
	l.maxQueue = max(units/max(int64(c.set.Instances), 1), 1)
}

// units returns n of what a limit measures in the units that it counts in, if they
// are no more than any window holds.
func (l *CompiledLimit) units(n int64) (units int64, ok bool) {
	for range l.Scale {
		if n > limit.MaxUnits/10 {
			return 0, false
		}
		n *= 10
	}
	return n, n <= limit.MaxUnits
}

// terms computes what a limit with this text enforces.
func (c *compiler) terms(l *CompiledLimit, a limit.Algorithm, text limitText) (limit.Params, error) {
	n, err := text.max.scaled(int(l.Scale))
	if err == nil {
		n, err = c.divided(text, n)
	}
	switch {
	case err != nil:
		return limit.Params{}, err
	case a == limit.SlidingLog && n > limit.MaxLog:
		return limit.Params{}, fmt.Errorf("a sliding_log keeps every hit and holds at most %d; say algorithm: sliding_buckets, which takes the same memory for any maximum", limit.MaxLog)
	case a == limit.Inflight && n > limit.MaxLog:
		return limit.Params{}, fmt.Errorf("at most %d places are held in flight", limit.MaxLog)
	case a == limit.Distinct && n > limit.MaxMembers:
		return limit.Params{}, fmt.Errorf("a distinct keeps every member and holds at most %d", limit.MaxMembers)
	case a == limit.GCRA && n > text.per.size:
		return limit.Params{}, errors.New("gcra paces in whole microseconds and cannot let more than one through in each; say algorithm: sliding_buckets")
	case l.calendar != nil:
		return limit.NewCalendar(a, n, l.calendar)
	case a == limit.Inflight:
		return limit.New(a, n, l.hold, 0, 0)
	}
	p, err := limit.New(a, n, text.per.size, l.burst, l.buckets)
	if err == nil && l.Action == slidegate.Queue {
		return p.Queued(l.maxWait, l.maxQueue)
	}
	return p, err
}

// divided returns the part of a maximum that one of several instances has.
func (c *compiler) divided(text limitText, n int64) (int64, error) {
	of := int64(c.set.Instances)
	if of <= 1 || n == 0 {
		return n, nil
	}
	if text.per.events {
		return 0, fmt.Errorf("a window of events cannot be divided among %d instances, each of which sees some of the events; share a store", of)
	}
	if n < of {
		return 0, fmt.Errorf("divided among %d instances, nothing is left of this limit; raise it to %d or more, run fewer, or share a store", of, of)
	}
	return n / of, nil
}

// gcraRounding warns where rounding the time per unit up costs over 1 %.
func (c *compiler) gcraRounding(path, text string, p limit.Params) {
	if p.Algorithm != limit.GCRA || p.Max == 0 {
		return
	}
	if lost := float64(p.Step*p.Max-p.Size) / float64(p.Size); lost > 0.01 {
		c.warnf(path+".limit", text, "gcra rounds the time of each up to %d µs, which lets %.1f %% less through", p.Step, 100*lost/(1+lost))
	}
}

// identity returns the identity of a limit's windows: rule, key, measure,
// window, algorithm, width of a bucket, and its place among the limits of the
// rule that are alike in all of these.
func (c *compiler) identity(r *Compiled, l *CompiledLimit) string {
	measure, window := "count", l.text.per.String()
	switch l.text.stat {
	case statSum:
		measure = fmt.Sprintf("sum(%s)e%d", l.text.attr, l.Scale)
	case statDistinct:
		measure = fmt.Sprintf("distinct(%s)", l.member.String())
	case statInflight:
		measure, window = "inflight", fmt.Sprintf("hold %dus", l.hold)
	case statStreak:
		measure = "streak"
	}
	if l.Reported {
		measure = "reported " + measure
	}
	if l.where != nil {
		measure += " where " + l.where.String()
	}
	zoned := l.where.NeedsTime() || l.calendar != nil
	if zoned {
		window += " " + r.zoneOr().String()
	}
	algorithm := l.terms.Algorithm.String()
	if l.terms.Algorithm == limit.SlidingBuckets {
		algorithm += fmt.Sprintf("/%dus", l.terms.Step)
	}
	base := fmt.Sprintf("%s;%s;%s;%s;%s", r.Name, keyIdentity(r.key), measure, window, algorithm)
	c.alike[base]++
	return fmt.Sprintf("%s;%d", base, c.alike[base])
}
