package rule

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/slidegate/slidegate"
)

// matcher holds when all of its tests hold.
type matcher []test

// test holds when an attribute is present and has one of the values.
type test struct {
	attr    string
	present bool     // "*": any value
	exact   []string // sorted
	globs   []glob
	addrs   []netip.Addr // an address is compared as one
	address bool
}

// compileMatchers reads a list of matchers: any of them.
func (c *compiler) compileMatchers(path string, ms []Matcher) []matcher {
	var out []matcher
	for i, m := range ms {
		at := fmt.Sprintf("%s[%d]", path, i)
		if len(m) == 0 {
			c.errorf(at, "", "an empty matcher; say which attribute must have which value")
			continue
		}
		var tests matcher
		for _, attr := range sortedKeys(m) {
			tests = append(tests, c.compileTest(at+"."+attr, attr, m[attr]))
		}
		out = append(out, tests)
	}
	return out
}

func (c *compiler) compileTest(path, attr string, values []string) test {
	t := test{attr: attr, address: c.typeOf(attr) == typeAddress}
	if !reName.MatchString(attr) {
		c.errorf(path, attr, "not the name of an attribute")
	} else if err := c.known(attr); err != nil {
		c.errorf(path, attr, "%v", err)
	}
	if len(values) == 0 {
		c.errorf(path, "", "no value; a matcher names at least one")
	}
	for i, v := range values {
		at := path
		if len(values) > 1 {
			at = fmt.Sprintf("%s[%d]", path, i)
		}
		switch {
		case v == "*":
			t.present = true
		case strings.Contains(v, "*"):
			t.globs = append(t.globs, newGlob(v))
		case t.address:
			addr, err := netip.ParseAddr(v)
			if err != nil {
				c.errorf(at, v, "%s is an address; say one such as 192.0.2.1 or 2001:db8::1", attr)
			}
			t.addrs = append(t.addrs, addr.Unmap().WithZone(""))
		default:
			t.exact = append(t.exact, v)
		}
	}
	slices.Sort(t.exact)
	return t
}

// anyMatch reports whether any of the matchers holds.
func anyMatch(ms []matcher, ev *slidegate.Event) (bool, error) {
	for _, m := range ms {
		if ok, err := m.match(ev); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func (m matcher) match(ev *slidegate.Event) (bool, error) {
	for i := range m {
		if ok, err := m[i].match(ev); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (t *test) match(ev *slidegate.Event) (bool, error) {
	if t.attr == "event" { // apart, so that the event need not live on the heap
		return t.present || t.matchText(ev.Name), nil
	}
	v, ok := ev.Attr(t.attr)
	if !ok {
		return false, nil
	}
	if t.present {
		return true, nil
	}
	if t.address {
		return t.matchAddress(v)
	}
	if text, ok := v.Literal(); ok {
		return t.matchText(text), nil
	}
	var buf [32]byte
	return t.matchText(string(v.AppendText(buf[:0]))), nil
}

// matchAddress compares an address in its canonical form, however it is spelled.
func (t *test) matchAddress(v slidegate.Value) (bool, error) {
	addr, err := parseAddress(v)
	if err != nil {
		return false, fmt.Errorf("%w: attribute %s: %w", slidegate.ErrEvent, t.attr, err)
	}
	if slices.Contains(t.addrs, addr) {
		return true, nil
	}
	return len(t.globs) > 0 && t.matchText(addr.String()), nil
}

func (t *test) matchText(text string) bool {
	if len(t.exact) <= 8 {
		if slices.Contains(t.exact, text) {
			return true
		}
	} else if _, found := slices.BinarySearch(t.exact, text); found {
		return true
	}
	for i := range t.globs {
		if t.globs[i].match(text) {
			return true
		}
	}
	return false
}

// eventNames returns the exact names of events that can match, and whether
// those are all that can.
func eventNames(ms []matcher) (names []string, only bool) {
	if len(ms) == 0 {
		return nil, false
	}
	for _, m := range ms {
		i := slices.IndexFunc(m, func(t test) bool { return t.attr == "event" })
		if i < 0 || m[i].present || len(m[i].globs) > 0 {
			return nil, false
		}
		names = append(names, m[i].exact...)
	}
	return names, true
}

// glob matches text against a pattern in which * stands for any bytes.
type glob struct {
	first, last string
	middle      []string
}

func newGlob(pattern string) glob {
	parts := strings.Split(pattern, "*")
	n := len(parts) - 1
	middle := slices.DeleteFunc(slices.Clone(parts[1:n]), func(s string) bool { return s == "" })
	return glob{first: parts[0], last: parts[n], middle: middle}
}

func (g *glob) match(s string) bool {
	if len(s) < len(g.first)+len(g.last) || !strings.HasPrefix(s, g.first) || !strings.HasSuffix(s, g.last) {
		return false
	}
	s = s[len(g.first) : len(s)-len(g.last)]
	for _, part := range g.middle {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return true
}
