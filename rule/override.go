package rule

import (
	"fmt"
	"strconv"
	"strings"
)

func (c *compiler) override(path string, src *Override, r *Compiled) {
	o := override{until: never, match: c.compileMatchers(path+".match", src.Match)}
	if len(src.Match) == 0 {
		c.errorf(path+".match", "", "an override needs a match: whom it is for")
	}
	if src.Until != "" {
		until, err := parseUntil(src.Until, r.zoneOr())
		if err != nil {
			c.errorf(path+".until", src.Until, "%v", err)
		}
		o.until = until
	}
	switch {
	case src.Unlimited && len(src.Limits) > 0:
		c.errorf(path+".limits", "", "limits are a list or the word unlimited, not both")
	case !src.Unlimited && len(src.Limits) == 0:
		c.errorf(path+".limits", "", "an override needs limits: a list, or the word unlimited")
	}
	named := make([]*Active, len(r.limits))
	for i, text := range src.Limits {
		c.overrideLimit(fmt.Sprintf("%s.limits[%d]", path, i), text, r, named)
	}
	for _, a := range named {
		if a != nil {
			o.active = append(o.active, *a)
		}
	}
	r.overrides = append(r.overrides, o)
}

// overrideLimit finds the limit of the rule that text gives another maximum.
func (c *compiler) overrideLimit(path, text string, r *Compiled, named []*Active) {
	parsed, err := parseLimit(text)
	if err != nil {
		c.errorf(path, text, "%v", err)
		return
	}
	where := c.condition(path, parsed.condition(), r).String()
	for i, l := range r.limits {
		if named[i] != nil || l.text.stat != parsed.stat || l.text.attr != parsed.attr || l.text.per != parsed.per || l.where.String() != where {
			continue
		}
		terms, err := c.terms(l, l.terms.Algorithm, parsed)
		if err != nil {
			c.errorf(path, text, "%v", err)
		}
		c.gcraRounding(path, text, terms)
		named[i] = &Active{CompiledLimit: l, Text: text, Params: terms}
		return
	}
	var have []string
	for i, a := range r.active {
		if i == 5 {
			have = append(have, "…")
			break
		}
		have = append(have, strconv.Quote(a.Text))
	}
	c.errorf(path, text, "the rule has no limit of this measure and window to override; it has %s", strings.Join(have, ", "))
}

// reach lets the backlog of each gcra limit lie as far ahead as the longest burst
// that the rule or an override gives it.
func (r *Compiled) reach() {
	longest := map[int]int64{}
	each := func(do func(*Active)) {
		for i := range r.active {
			do(&r.active[i])
		}
		for i := range r.overrides {
			for j := range r.overrides[i].active {
				do(&r.overrides[i].active[j])
			}
		}
	}
	each(func(a *Active) { longest[a.ID] = max(longest[a.ID], a.Params.Reach) })
	each(func(a *Active) { a.Params.Reach = longest[a.ID] })
}
