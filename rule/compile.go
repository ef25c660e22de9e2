package rule

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones must work on machines without a zone database

	"github.com/slidegate/slidegate/internal/spell"
	"github.com/slidegate/slidegate/limit"
)

type attrType uint8

const (
	typeText attrType = iota
	typeAddress
	typeNumber
)

// defaultBuckets is the number of slices of sliding_buckets.
const defaultBuckets = 60

// Decimals of sums.
const (
	defaultScale = 3
	maxScale     = 9
)

// maxHints is among how many errors the nearest of all declared names is looked
// for, which takes a while where there are many.
const maxHints = 20

// maxLimits is how many limits a rule may have. Every check of the rule judges
// all of them at once.
const maxLimits = 1000

var reRule = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]*$`)

// Compile checks a set and returns its plan, and what is probably not meant
// (warnings). The error, if any, is an [Errors] with everything that is wrong.
func Compile(set *Set) (plan *Plan, warnings []*Error, err error) {
	c := &compiler{
		set:   set,
		plan:  &Plan{byName: map[string]*Compiled{}, events: map[string][]*Compiled{}},
		alike: map[string]int{},
	}
	c.attributes()
	c.defaults()
	if len(set.Rules) == 0 {
		c.errorf("rules", "", "no rules")
	}
	for i := range set.Rules {
		c.rule(i)
	}
	if len(c.errs) > 0 {
		return nil, c.warnings, c.errs
	}
	c.index()
	return c.plan, c.warnings, nil
}

// maxMessage is how long the text of an error may be: it may quote values that are
// as long as the file.
const maxMessage = 600

type compiler struct {
	set        *Set
	plan       *Plan
	types      map[string]attrType
	scales     map[string]int
	zone       *time.Location // of defaults
	missingKey missing        // of defaults
	errs       Errors
	warnings   []*Error
	alike      map[string]int // limits so far, by their identity without its place
	current    string         // the rule being compiled
}

func (c *compiler) errorf(path, value, format string, args ...any) {
	c.errs = append(c.errs, &Error{Rule: c.current, Path: path, Value: value, Msg: clipTo(fmt.Sprintf(format, args...), maxMessage)})
}

func (c *compiler) warnf(path, value, format string, args ...any) {
	c.warnings = append(c.warnings, &Error{Rule: c.current, Path: path, Value: value, Msg: clipTo(fmt.Sprintf(format, args...), maxMessage)})
}

func (c *compiler) attributes() {
	c.types, c.scales = map[string]attrType{}, map[string]int{}
	if c.set.Attributes == nil {
		c.types["ip"] = typeAddress
	}
	for _, name := range sortedKeys(c.set.Attributes) {
		a, path := c.set.Attributes[name], "attributes."+name
		if name == "event" || !reName.MatchString(name) {
			c.errorf(path, name, "not a name for an attribute: letters, digits, _ . - and not event")
		}
		switch a.Type {
		case "", "text":
		case "address":
			c.types[name] = typeAddress
		case "number":
			c.types[name] = typeNumber
		default:
			c.errorf(path+".type", a.Type, "a type is text, address or number")
		}
		if a.Scale == nil {
			continue
		}
		if *a.Scale < 0 || *a.Scale > maxScale {
			c.errorf(path+".scale", strconv.Itoa(*a.Scale), "a scale is 0 to %d decimals", maxScale)
		} else if a.Type != "number" {
			c.errorf(path+".scale", "", "only an attribute of type number has a scale")
		}
		c.scales[name] = *a.Scale
	}
}

func (c *compiler) typeOf(attr string) attrType { return c.types[attr] }

// known reports an attribute that was not declared, where any was.
func (c *compiler) known(attr string) error {
	if c.set.Attributes == nil || attr == "event" {
		return nil
	}
	if _, ok := c.set.Attributes[attr]; ok {
		return nil
	}
	if len(c.errs) < maxHints {
		if near := spell.Nearest(attr, slices.Collect(maps.Keys(c.set.Attributes))); near != "" {
			return fmt.Errorf("the attribute %s is not declared; is %s meant?", attr, near)
		}
	}
	return fmt.Errorf("the attribute %s is not declared under attributes", attr)
}

func (c *compiler) defaults() {
	c.zone = c.location("defaults.zone", c.set.Defaults.Zone, time.UTC)
	c.missingKey = c.missing("defaults.missing_key", c.set.Defaults.MissingKey)
}

func (c *compiler) location(path, name string, otherwise *time.Location) *time.Location {
	if name == "" {
		return otherwise
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		c.errorf(path, name, `not a time zone; say one such as "UTC" or "Asia/Shanghai"`)
		return otherwise
	}
	return zone
}

func (c *compiler) missing(path, text string) missing {
	switch text {
	case "", "skip":
		return missingSkip
	case "reject":
		return missingReject
	case "shared":
		return missingShared
	}
	c.errorf(path, text, "missing_key is skip, reject or shared")
	return missingSkip
}

func (c *compiler) rule(i int) {
	src, path := &c.set.Rules[i], fmt.Sprintf("rules[%d]", i)
	c.current = src.Name
	if src.Name == "" {
		c.current = path
	}
	defer func() { c.current = "" }()
	c.name(path, src.Name)
	r := &Compiled{Name: src.Name, Message: firstNonEmpty(src.Message, c.set.Defaults.Message), Shadow: c.shadow(src), missing: c.missing(path+".missing_key", src.MissingKey)}
	if src.MissingKey == "" {
		r.missing = c.missingKey
	}
	r.match = c.compileMatchers(path+".match", src.Match)
	r.except = c.compileMatchers(path+".except", src.Except)
	c.key(path, src, r)
	zone := c.location(path+".zone", src.Zone, c.zone)
	c.limits(path+".limits", src, r)
	if len(r.limits) == len(src.Limits) {
		for j := range src.Overrides {
			c.override(fmt.Sprintf("%s.overrides[%d]", path, j), &src.Overrides[j], r, zone)
		}
	}
	r.reach()
	c.plan.rules = append(c.plan.rules, r)
	if src.Name != "" && c.plan.byName[src.Name] == nil {
		c.plan.byName[src.Name] = r
	}
}

func (c *compiler) limits(path string, src *Rule, r *Compiled) {
	switch n := len(src.Limits); {
	case n == 0:
		c.errorf(path, "", "a rule needs limits, such as limits: [100 per 1m]")
	case n > maxLimits:
		c.errorf(path, "", "a rule has at most %d limits, this one has %d; make rules of them", maxLimits, n)
		return
	}
	for i := range src.Limits {
		c.limit(fmt.Sprintf("%s[%d]", path, i), src, &src.Limits[i], r)
	}
	r.Shadow = len(r.limits) > 0
	for _, l := range r.limits {
		r.Shadow = r.Shadow && l.Shadow
	}
}

func (c *compiler) name(path, name string) {
	switch {
	case name == "":
		c.errorf(path+".name", "", "a rule needs a name")
	case !reRule.MatchString(name):
		c.errorf(path+".name", name, "a name is lower case letters, digits, _ . - and begins with a letter or digit")
	case c.plan.byName[name] != nil:
		c.errorf(path+".name", name, "a rule before has this name")
	}
}

func (c *compiler) key(path string, src *Rule, r *Compiled) {
	seen := map[string]bool{}
	alternatives := false
	for i, text := range src.Key {
		at := fmt.Sprintf("%s.key[%d]", path, i)
		part, err := c.parseKeyPart(text)
		if err != nil {
			c.errorf(at, text, "%v", err)
			continue
		}
		if name := part.String(); seen[name] {
			c.errorf(at, text, "this part of the key is named twice")
		} else {
			seen[name] = true
		}
		alternatives = alternatives || len(part.sources) > 1
		r.key = append(r.key, part)
	}
	if len(src.Key) > 0 && !alternatives && src.MissingKey == "" && c.set.Defaults.MissingKey == "" {
		c.warnf(path+".key", "", "an event without %s is not limited by this rule; say missing_key: skip if that is meant, otherwise reject or shared, or name an alternative, as in user|ip",
			strings.Join(src.Key, " or "))
	}
}

func keyIdentity(parts []keyPart) string {
	var b strings.Builder
	for i := range parts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(parts[i].String())
	}
	return b.String()
}

// limit compiles one limit of a rule and appends it.
func (c *compiler) limit(path string, rule *Rule, src *Limit, r *Compiled) {
	if src.Action != "" && src.Action != "reject" {
		c.errorf(path+".action", src.Action, "unknown action; the only one is reject, which need not be written")
	}
	text, err := parseLimit(src.Limit)
	if err != nil {
		c.errorf(path+".limit", src.Limit, "%v", err)
		return
	}
	l := &CompiledLimit{
		ID: c.plan.limits, Rule: rule.Name, text: text,
		Message:      firstNonEmpty(src.Message, r.Message),
		Shadow:       r.Shadow,
		CountRefused: src.CountRefused,
	}
	if src.Shadow != nil {
		l.Shadow = *src.Shadow
	}
	if text.stat == statSum {
		if err := c.summable(text.attr); err != nil {
			c.errorf(path+".limit", src.Limit, "%v", err)
		}
		l.Scale = uint8(c.scaleOf(text.attr))
	}
	algorithm, buckets, burst, ok := c.algorithm(path, src, text)
	if !ok {
		return
	}
	terms, err := c.terms(l, algorithm, text, burst, buckets)
	if err != nil {
		c.errorf(path+".limit", src.Limit, "%v", err)
		return
	}
	l.terms = terms
	l.Identity = c.identity(rule, r, l)
	c.gcraRounding(path, src.Limit, terms)
	if text.per.events && terms.Max > terms.Size {
		c.warnf(path+".limit", src.Limit, "%d of %d events never refuses", terms.Max, terms.Size)
	}
	c.plan.limits++
	r.limits = append(r.limits, l)
	r.active = append(r.active, Active{CompiledLimit: l, Text: src.Limit, Params: terms})
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
func (c *compiler) algorithm(path string, src *Limit, text limitText) (a limit.Algorithm, buckets, burst int64, ok bool) {
	before := len(c.errs)
	a = limit.SlidingLog
	switch {
	case text.per.events:
		a = limit.Events
	case text.stat == statSum:
		a = limit.SlidingBuckets
	}
	if src.Algorithm != "" {
		a = c.namedAlgorithm(path, src, text, a)
	}
	if src.Burst != nil {
		burst = *src.Burst
		if a != limit.GCRA {
			c.errorf(path+".burst", strconv.FormatInt(burst, 10), "only gcra has a burst; add algorithm: gcra, or leave burst out")
		} else if burst < 1 {
			c.errorf(path+".burst", strconv.FormatInt(burst, 10), "a burst is 1 or more")
		}
	} else if a == limit.GCRA {
		c.errorf(path, "", "gcra needs a burst: how many may pass at one instant, such as burst: 10")
	}
	if a == limit.SlidingBuckets {
		buckets = defaultBuckets
	}
	if src.Buckets != nil {
		buckets = *src.Buckets
		if a != limit.SlidingBuckets {
			c.errorf(path+".buckets", strconv.FormatInt(buckets, 10), "only sliding_buckets has buckets; add algorithm: sliding_buckets, or leave buckets out")
		} else if buckets < 1 || buckets > limit.MaxBuckets {
			c.errorf(path+".buckets", strconv.FormatInt(buckets, 10), "buckets are 1 to %d", limit.MaxBuckets)
		}
	}
	if a == limit.Events && src.CountRefused {
		c.errorf(path+".count_refused", "", "a window of events counts every check already; leave count_refused out")
	}
	return a, buckets, burst, len(c.errs) == before
}

func (c *compiler) namedAlgorithm(path string, src *Limit, text limitText, otherwise limit.Algorithm) limit.Algorithm {
	at := path + ".algorithm"
	a, ok := limit.ParseAlgorithm(src.Algorithm)
	switch {
	case !ok || a == limit.Events:
		known := []string{"sliding_log", "sliding_buckets", "gcra", "fixed"}
		hint := ""
		if near := spell.Nearest(src.Algorithm, known); near != "" {
			hint = fmt.Sprintf("; is %s meant?", near)
		}
		c.errorf(at, src.Algorithm, "unknown algorithm; it is %s%s", strings.Join(known, ", "), hint)
		return otherwise
	case text.per.events:
		c.errorf(at, src.Algorithm, "a window of events has no algorithm; leave it out")
		return otherwise
	case text.stat == statSum && a == limit.SlidingLog:
		c.errorf(at, src.Algorithm, "a sum is kept in sliding_buckets, which is the default; leave algorithm out")
		return otherwise
	}
	return a
}

// terms computes what a limit with this text enforces.
func (c *compiler) terms(l *CompiledLimit, a limit.Algorithm, text limitText, burst, buckets int64) (limit.Params, error) {
	n, err := text.max.scaled(int(l.Scale))
	if err != nil {
		return limit.Params{}, err
	}
	if a == limit.SlidingLog && n > limit.MaxLog {
		return limit.Params{}, fmt.Errorf("a sliding_log keeps every hit and holds at most %d; say algorithm: sliding_buckets, which takes the same memory for any maximum", limit.MaxLog)
	}
	if a == limit.GCRA && n > text.per.size {
		return limit.Params{}, errors.New("gcra paces in whole microseconds and cannot let more than one through in each; say algorithm: sliding_buckets")
	}
	return limit.New(a, n, text.per.size, burst, buckets)
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
func (c *compiler) identity(rule *Rule, r *Compiled, l *CompiledLimit) string {
	measure := "count"
	if l.text.stat == statSum {
		measure = fmt.Sprintf("sum(%s)e%d", l.text.attr, l.Scale)
	}
	algorithm := l.terms.Algorithm.String()
	if l.terms.Algorithm == limit.SlidingBuckets {
		algorithm += fmt.Sprintf("/%dus", l.terms.Step)
	}
	base := fmt.Sprintf("%s;%s;%s;%s;%s", rule.Name, keyIdentity(r.key), measure, l.text.per, algorithm)
	c.alike[base]++
	return fmt.Sprintf("%s;%d", base, c.alike[base])
}

// index sorts the rules by the names of the events they can meet.
func (c *compiler) index() {
	p := c.plan
	for i, r := range p.rules {
		r.place = i
		names, only := eventNames(r.match)
		if !only {
			p.others = append(p.others, r)
			continue
		}
		for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
			p.events[name] = append(p.events[name], r)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func firstNonEmpty(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
