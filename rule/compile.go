package rule

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones must work on machines without a zone database

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/cond"
	"github.com/slidegate/slidegate/internal/spell"
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
	c.conditionTypes()
	c.compileLists()
	c.defaults()
	c.plan.allow = c.compileMatchers("allow", set.Allow)
	c.plan.deny = c.compileMatchers("deny", set.Deny)
	if len(set.Rules) == 0 {
		c.errorf("rules", "", "no rules")
	}
	for i := range set.Rules {
		c.rule(i)
	}
	c.replaces()
	if len(c.errs) > 0 {
		return nil, c.warnings, c.errs
	}
	c.index()
	c.plan.Secret = sortedKeys(c.secrets)
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
	folds      map[string]bool
	secrets    map[string]bool
	values     map[valuesKey]*values                           // lists, as they are compared
	lists      map[string]func(cond.Member) (cond.List, error) // for conditions
	attrTypes  map[string]cond.Type                            // for conditions
	zone       *time.Location                                  // of defaults; nil where there is none
	missingKey missing                                         // of defaults
	storeError StoreError                                      // of defaults
	errs       Errors
	warnings   []*Error
	alike      map[string]int // limits so far, by their identity without its place
	current    string         // the rule being compiled
	release    bool           // of that rule: what is not settled is given back
}

func (c *compiler) errorf(path, value, format string, args ...any) {
	c.errs = append(c.errs, &Error{Rule: c.current, Path: path, Value: value, Msg: clipTo(fmt.Sprintf(format, args...), maxMessage)})
}

func (c *compiler) warnf(path, value, format string, args ...any) {
	c.warnings = append(c.warnings, &Error{Rule: c.current, Path: path, Value: value, Msg: clipTo(fmt.Sprintf(format, args...), maxMessage)})
}

func (c *compiler) attributes() {
	c.types, c.scales = map[string]attrType{}, map[string]int{}
	c.folds, c.secrets = map[string]bool{}, map[string]bool{}
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
		c.marks(path, name, a)
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

// marks notes whether an attribute is secret, and whether its case matters.
func (c *compiler) marks(path, name string, a Attribute) {
	if a.Secret && a.Type == "number" {
		c.errorf(path+".secret", "", "a number is counted with and cannot be secret; declare it as a text if it is only part of a key")
	} else if a.Secret {
		c.secrets[name] = true
	}
	if a.Fold && a.Type != "" && a.Type != "text" {
		c.errorf(path+".fold", "", "only a text has upper and lower case; leave fold out")
	} else if a.Fold {
		c.folds[name] = true
	}
}

// conditionTypes tells conditions the types of attributes.
func (c *compiler) conditionTypes() {
	types := map[attrType]cond.Type{typeText: cond.Text, typeNumber: cond.Number, typeAddress: cond.Address}
	c.attrTypes = map[string]cond.Type{}
	for name, t := range c.types {
		c.attrTypes[name] = types[t]
	}
	for name := range c.set.Attributes {
		c.attrTypes[name] = types[c.types[name]]
	}
}

// compileLists checks the lists and makes them ready for conditions.
func (c *compiler) compileLists() {
	c.lists = map[string]func(cond.Member) (cond.List, error){}
	for _, name := range sortedKeys(c.set.Lists) {
		if !reName.MatchString(name) {
			c.errorf("lists."+name, name, "not a name for a list: letters, digits, _ . -")
		}
		c.lists[name] = func(of cond.Member) (cond.List, error) { return c.conditionList(name, of) }
	}
}

// conditionList is a list as conditions see it: a test of a matcher.
func (c *compiler) conditionList(name string, of cond.Member) (cond.List, error) {
	t := test{attr: of.Attr, fold: of.Folded}
	if of.Address {
		t.kind = typeAddress
	}
	if err := c.addList(&t, name); err != nil {
		return nil, err
	}
	t.any = t.values[0].present
	return func(v slidegate.Value) cond.Truth {
		ok, err := t.matchValue(v)
		switch {
		case err != nil:
			return cond.Unknown
		case ok:
			return cond.True
		}
		return cond.False
	}, nil
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
	c.zone = c.location("defaults.zone", c.set.Defaults.Zone, nil)
	c.missingKey = c.missing("defaults.missing_key", c.set.Defaults.MissingKey)
	c.storeError = c.onStoreError("defaults.on_store_error", c.set.Defaults.OnStoreError, StoreLocal)
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

func (c *compiler) onStoreError(path, text string, otherwise StoreError) StoreError {
	switch text {
	case "":
		return otherwise
	case "local":
		return StoreLocal
	case "open":
		return StoreOpen
	case "closed":
		return StoreClosed
	}
	c.errorf(path, text, "on_store_error is local, open or closed")
	return otherwise
}

func (c *compiler) rule(i int) {
	src, path := &c.set.Rules[i], fmt.Sprintf("rules[%d]", i)
	c.current = src.Name
	if src.Name == "" {
		c.current = path
	}
	defer func() { c.current = "" }()
	c.name(path, src.Name)
	r := &Compiled{
		Name: src.Name, Shadow: c.shadow(src), missing: c.missing(path+".missing_key", src.MissingKey),
		OnStoreError: c.onStoreError(path+".on_store_error", src.OnStoreError, c.storeError),
	}
	if src.MissingKey == "" {
		r.missing = c.missingKey
	}
	r.match = c.compileMatchers(path+".match", src.Match)
	r.except = c.compileMatchers(path+".except", src.Except)
	c.key(path, src, r)
	r.message = c.message(path+".message", firstNonEmpty(src.Message, c.set.Defaults.Message), r.key)
	r.zone = c.location(path+".zone", src.Zone, c.zone)
	r.where = c.condition(path+".where", src.Where, r)
	r.counts = c.counts(path+".counts", src.Counts)
	c.limits(path, src, r)
	c.locks(path, src, r)
	if len(r.limits) == len(src.Limits) {
		for j := range src.Overrides {
			c.override(fmt.Sprintf("%s.overrides[%d]", path, j), &src.Overrides[j], r)
		}
	}
	r.reach()
	r.findTimed()
	c.plan.timed = c.plan.timed || r.timed
	c.plan.rules = append(c.plan.rules, r)
	if src.Name != "" && c.plan.byName[src.Name] == nil {
		c.plan.byName[src.Name] = r
	}
}

// zoneOr returns the zone of the rule, UTC where it has none.
func (r *Compiled) zoneOr() *time.Location {
	if r.zone == nil {
		return time.UTC
	}
	return r.zone
}

// condition compiles a condition on one event; nil where there is none.
func (c *compiler) condition(path, text string, r *Compiled) *cond.Cond {
	if text == "" {
		return nil
	}
	scope := &cond.Scope{Vars: cond.Report, Attrs: c.attrTypes, Strict: c.set.Attributes != nil, Lists: c.lists, Zone: r.zoneOr(), Folds: c.folds, Secrets: c.secrets}
	w, err := cond.Compile(text, scope)
	if err != nil {
		c.errorf(path, text, "%v", err)
		return nil
	}
	return w
}

func (c *compiler) limits(path string, src *Rule, r *Compiled) {
	hold := c.hold(path+".hold", src)
	c.unsettled(path+".unsettled", src, r)
	path += ".limits"
	switch n := len(src.Limits); {
	case n == 0:
		c.errorf(path, "", "a rule needs limits, such as limits: [100 per 1m]")
	case n > maxLimits:
		c.errorf(path, "", "a rule has at most %d limits, this one has %d; make rules of them", maxLimits, n)
		return
	}
	for i := range src.Limits {
		c.limit(fmt.Sprintf("%s[%d]", path, i), &src.Limits[i], r, hold)
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

// replaces looks up the rules that others replace, and puts all into an order in
// which each comes after those that replace it.
func (c *compiler) replaces() {
	for i := range c.set.Rules {
		src, path := &c.set.Rules[i], fmt.Sprintf("rules[%d].replaces", i)
		c.current = src.Name
		for j, name := range src.Replaces {
			other := c.plan.byName[name]
			switch at := fmt.Sprintf("%s[%d]", path, j); {
			case other == nil:
				c.errorf(at, name, "there is no rule of this name%s", c.meantRule(name))
			case other == c.plan.rules[i]:
				c.errorf(at, name, "a rule does not replace itself")
			case slices.Contains(other.replacedBy, c.plan.rules[i]):
				c.errorf(at, name, "named twice")
			default:
				other.replacedBy = append(other.replacedBy, c.plan.rules[i])
				c.plan.replacing = true
			}
		}
	}
	c.current = ""
	if c.plan.replacing {
		c.replaceOrder()
	}
}

func (c *compiler) meantRule(name string) string {
	if near := spell.Nearest(name, slices.Collect(maps.Keys(c.plan.byName))); near != "" && len(c.errs) < maxHints {
		return fmt.Sprintf("; is %s meant?", near)
	}
	return ""
}

// replaceOrder numbers the rules so that each comes after those that replace it.
func (c *compiler) replaceOrder() {
	const open, done = 1, 2
	state := map[*Compiled]int{}
	var order int
	var visit func(*Compiled) bool
	visit = func(r *Compiled) bool {
		switch state[r] {
		case open:
			return false
		case done:
			return true
		}
		state[r] = open
		for _, by := range r.replacedBy {
			if !visit(by) {
				return false
			}
		}
		state[r] = done
		r.turn = order
		order++
		return true
	}
	for i, r := range c.plan.rules {
		if !visit(r) {
			c.current = r.Name
			c.errorf(fmt.Sprintf("rules[%d].replaces", i), "", "the rules replace each other in a circle, so none of them would apply")
			c.current = ""
			return
		}
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

// index sorts the rules by the names of the events they can meet.
func (c *compiler) index() {
	p := c.plan
	for i, r := range p.rules {
		r.place = i
		names, only := eventNames(r.match)
		if only && len(names) <= fewValues && !slices.ContainsFunc(r.match, func(m matcher) bool { return len(m) > 1 }) {
			r.names = names
		}
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
