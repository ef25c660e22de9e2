package rule

import (
	"fmt"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
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
	for i := range m {
		t := &m[i]
		v, present := attribute(ev, t.attr)
		if !present {
			return false, t.attr + " is missing"
		}
		ok, err := t.match(ev)
		if err != nil {
			return false, err.Error()
		}
		if !ok {
			return false, fmt.Sprintf("%s is %q, not %s", t.attr, clip(v.String()), t.wants())
		}
		held = append(held, fmt.Sprintf("%s=%q", t.attr, clip(v.String())))
	}
	return true, strings.Join(held, " and ")
}

// wants says which values a test takes.
func (t *test) wants() string {
	var all []string
	for _, s := range t.exact {
		all = append(all, fmt.Sprintf("%q", s))
	}
	for _, a := range t.addrs {
		all = append(all, a.String())
	}
	for _, g := range t.globs {
		parts := append(append([]string{g.first}, g.middle...), g.last)
		all = append(all, fmt.Sprintf("%q", strings.Join(parts, "*")))
	}
	if len(all) > 5 {
		all = append(all[:5], fmt.Sprintf("one of %d others", len(all)-5))
	}
	return strings.Join(all, " or ")
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

// Expires reports whether any override of the rule ends at some time.
func (r *Compiled) Expires() bool {
	for i := range r.overrides {
		if r.overrides[i].until != never {
			return true
		}
	}
	return false
}
