package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/cond"
)

// WhyMatch reports whether the rule applies to ev, and says why or why not. It
// is for people; Match is for machines.
func (r *Compiled) WhyMatch(ev *slidegate.Event) (applies bool, why string) {
	if len(r.match) > 0 {
		matched := false
		var misses []string
		for _, m := range r.match {
			ok, text := m.why(ev)
			if ok {
				matched, why = true, "matches "+text
				break
			}
			misses = append(misses, text)
		}
		if !matched {
			return false, "does not match: " + strings.Join(misses, "; ")
		}
	} else {
		why = "matches every event"
	}
	for _, m := range r.except {
		if ok, text := m.why(ev); ok {
			return false, "excepted: " + text
		}
	}
	return true, why
}

// why reports whether m holds, and names its tests, or the one that fails.
func (m matcher) why(ev *slidegate.Event) (bool, string) {
	var held []string
	unknown := ""
	for i := range m {
		t := &m[i]
		v, present := attribute(ev, t.attr)
		if !present {
			return false, t.attr + " is missing"
		}
		ok, err := t.match(ev)
		if err != nil {
			unknown = cmp.Or(unknown, err.Error())
			continue
		}
		if !ok {
			return false, fmt.Sprintf("%s is %s, not %s", t.attr, t.shown(v), t.wants())
		}
		held = append(held, t.attr+"="+t.shown(v))
	}
	if unknown != "" {
		return false, unknown
	}
	return true, strings.Join(held, " and ")
}

// wants says which values a test takes.
func (t *test) wants() string {
	if t.secret {
		return "one of those of the rule"
	}
	all := t.written
	if len(all) > 5 {
		all = append(slices.Clip(all[:5]), fmt.Sprintf("one of %d others", len(all)-5))
	}
	return strings.Join(all, " or ")
}

// shown quotes a value for people, unless it is secret.
func (t *test) shown(v slidegate.Value) string {
	if t.secret {
		return "(secret)"
	}
	return strconv.Quote(clip(v.String()))
}

// WhichOverride returns the place of the override that holds for ev at now
// (microseconds since the epoch), or -1, and in words until when.
func (r *Compiled) WhichOverride(ev *slidegate.Event, now int64) (place int, until string) {
	for i := range r.overrides {
		o := &r.overrides[i]
		if ok, err := anyMatch(o.match, ev); !ok || err != nil || now >= o.until {
			continue
		}
		if o.until != never {
			until = " until " + time.UnixMicro(o.until).UTC().Format(time.RFC3339)
		}
		return i, until
	}
	return -1, ""
}

// findTimed notes whether the rule needs the time of a check.
func (r *Compiled) findTimed() {
	r.timed = r.where.NeedsTime()
	for _, l := range r.limits {
		r.timed = r.timed || l.where.NeedsTime()
	}
	for i := range r.overrides {
		r.timed = r.timed || r.overrides[i].until != never
	}
}

// WhyWhere says of the rule's condition whether ev meets it at now; "" where there
// is none.
func (r *Compiled) WhyWhere(ev *slidegate.Event, now int64) string { return whyWhere(r.where, ev, now) }

// WhyWhere says the same of the limit's condition.
func (l *CompiledLimit) WhyWhere(ev *slidegate.Event, now int64) string {
	return whyWhere(l.where, ev, now)
}

func whyWhere(where *cond.Cond, ev *slidegate.Event, now int64) string {
	if where == nil {
		return ""
	}
	return fmt.Sprintf("where %s is %v", where.Shown(), where.Eval(ev, now))
}
