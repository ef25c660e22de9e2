package rule

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/gaissmai/bart"
	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/fold"
	"github.com/slidegate/slidegate/internal/spell"
)

// matcher holds when all of its tests hold.
type matcher []test

// test holds when an attribute is present and has one of the values.
type test struct {
	attr    string
	kind    attrType
	fold    bool
	secret  bool
	any     bool      // any value will do
	values  []*values // any of them: those written in the rule, and lists
	written []string  // the values as written
}

// values is a set of values to compare with. A list is one, for all rules that name
// it.
type values struct {
	present bool // "*": any value
	exact   []string
	many    map[string]struct{} // exact, where there are many
	globs   []glob
	nets    *bart.Lite // an address is compared as one
}

// valuesKey names a list as it is compared: as addresses, or with its case folded.
type valuesKey struct {
	list      string
	addresses bool
	fold      bool
}

// fewValues is up to how many exact values are compared one after another.
const fewValues = 8

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

func (c *compiler) compileTest(path, attr string, written []Value) test {
	t := test{attr: attr, kind: c.typeOf(attr), fold: c.folds[attr], secret: c.secrets[attr]}
	if !reName.MatchString(attr) {
		c.errorf(path, attr, "not the name of an attribute")
	} else if err := c.known(attr); err != nil {
		c.errorf(path, attr, "%v", err)
	}
	if len(written) == 0 {
		c.errorf(path, "", "no value; a matcher names at least one")
	}
	own := newValues(t.kind == typeAddress, t.fold)
	for i, v := range written {
		at := path
		if len(written) > 1 {
			at = fmt.Sprintf("%s[%d]", path, i)
		}
		name, isList := v.list()
		if !isList {
			t.written = append(t.written, strconv.Quote(string(v)))
			if err := own.add(string(v)); err != nil {
				c.errorf(at, string(v), "%v", t.wrong(err))
			}
			c.asText(at, string(v), &t)
			continue
		}
		t.written = append(t.written, v.String())
		if err := c.addList(&t, name); err != nil {
			c.errorf(at, name, "%v", err)
		}
	}
	if v := own.finish(); !v.empty() {
		t.values = append(t.values, v)
	}
	t.any = slices.ContainsFunc(t.values, func(v *values) bool { return v.present })
	return t
}

// addList adds the values of a list.
func (c *compiler) addList(t *test, name string) error {
	if _, ok := c.set.Lists[name]; !ok {
		if near := spell.Nearest(name, slices.Collect(maps.Keys(c.set.Lists))); near != "" {
			return fmt.Errorf("there is no list %s; is %s meant?", name, near)
		}
		return fmt.Errorf("there is no list %s; declare it at the top, as in lists: {%s: [a, b]}", name, name)
	}
	set, err := c.listValues(valuesKey{list: name, addresses: t.kind == typeAddress, fold: t.fold}, t)
	if err != nil {
		return err
	}
	t.values = append(t.values, set)
	return nil
}

// listValues returns a list as it is compared, made once. An error says what is wrong
// with it for t.
func (c *compiler) listValues(key valuesKey, t *test) (*values, error) {
	if set := c.values[key]; set != nil {
		return set, nil
	}
	set := newValues(key.addresses, key.fold)
	for i, v := range c.set.Lists[key.list] {
		if err := set.add(v); err != nil {
			return nil, fmt.Errorf("lists.%s[%d] is %q: %w", key.list, i, clip(v), t.wrong(err))
		}
	}
	for i, v := range c.set.Lists[key.list] {
		if !key.addresses && c.asText(fmt.Sprintf("lists.%s[%d]", key.list, i), v, t) {
			break
		}
	}
	if c.values == nil {
		c.values = map[valuesKey]*values{}
	}
	c.values[key] = set.finish()
	return set.values, nil
}

// asText warns of a network that is compared with a text.
func (c *compiler) asText(path, v string, t *test) bool {
	if t.kind == typeAddress || t.attr == "" || !strings.Contains(v, "/") {
		return false
	}
	if _, err := netip.ParsePrefix(v); err != nil {
		return false
	}
	c.warnf(path, v, "%s is a text, so this network is compared with it letter by letter; declare %s with type: address under attributes", t.attr, t.attr)
	return true
}

// errAddress: a value is no address.
var errAddress = errors.New("an address")

// wrong says what is wrong with a value.
func (t *test) wrong(err error) error {
	if errors.Is(err, errAddress) {
		return fmt.Errorf("%s is an address; say one such as 192.0.2.1 or 2001:db8::1, or a network such as 10.0.0.0/8", t.attr)
	}
	return err
}

// building is a set of values that is being made.
type building struct {
	*values

	addresses, fold bool
}

func newValues(addresses, fold bool) building { return building{&values{}, addresses, fold} }

// add adds a value.
func (t building) add(v string) error {
	switch {
	case strings.HasPrefix(v, listMark):
		return errors.New("a value does not begin with NUL")
	case v == "*":
		t.present = true
	case strings.Contains(v, "*"):
		t.globs = append(t.globs, newGlob(canonical(v, t.fold)))
	case t.addresses:
		net, err := parseNet(v)
		if err != nil {
			return errAddress
		}
		if t.nets == nil {
			t.nets = &bart.Lite{}
		}
		t.nets.Insert(net)
	default:
		t.exact = append(t.exact, canonical(v, t.fold))
	}
	return nil
}

// finish prepares the values for use.
func (t building) finish() *values {
	slices.Sort(t.exact)
	t.exact = slices.Compact(t.exact)
	if len(t.exact) > fewValues {
		t.many = make(map[string]struct{}, len(t.exact))
		for _, v := range t.exact {
			t.many[v] = struct{}{}
		}
	}
	return t.values
}

func (t *values) empty() bool {
	return !t.present && len(t.exact) == 0 && len(t.globs) == 0 && t.nets == nil
}

// canonical returns the text that is compared.
func canonical(text string, folded bool) string {
	if folded {
		return fold.Text(text)
	}
	return text
}

// parseNet reads an address or a network. A host in a network is cut off. IPv4
// mapped into IPv6 is IPv4.
func parseNet(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, err
		}
		addr = addr.Unmap().WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	net, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	if addr, bits := net.Addr(), net.Bits(); addr.Is4In6() && bits >= 96 {
		net = netip.PrefixFrom(addr.Unmap(), bits-96)
	}
	return net.Masked(), nil
}

// anyMatch reports whether any of the matchers holds. An error says that none does,
// and that one cannot be told.
func anyMatch(ms []matcher, ev *slidegate.Event) (bool, error) {
	var failed error
	for _, m := range ms {
		ok, err := m.match(ev)
		if ok {
			return true, nil
		}
		failed = cmp.Or(failed, err)
	}
	return false, failed
}

// match reports whether all tests hold. An error says that none fails, and that one
// cannot be told.
func (m matcher) match(ev *slidegate.Event) (bool, error) {
	var failed error
	for i := range m {
		ok, err := m[i].match(ev)
		if !ok && err == nil {
			return false, nil
		}
		failed = cmp.Or(failed, err)
	}
	return failed == nil, failed
}

func (t *test) match(ev *slidegate.Event) (bool, error) {
	if t.attr == "event" { // apart, so that the event need not live on the heap
		return t.any || t.matchText(ev.Name), nil
	}
	v, ok := ev.Attr(t.attr)
	if !ok {
		return false, nil
	}
	return t.matchValue(v)
}

func (t *test) matchValue(v slidegate.Value) (bool, error) {
	if t.any {
		return true, nil
	}
	if t.kind == typeAddress {
		return t.matchAddress(v)
	}
	if text, ok := v.Literal(); ok {
		return t.matchText(canonical(text, t.fold)), nil
	}
	var buf [32]byte
	return t.matchText(string(v.AppendText(buf[:0]))), nil
}

// matchAddress compares an address in its canonical form, however it is spelled.
func (t *test) matchAddress(v slidegate.Value) (bool, error) {
	addr, err := parseAddress(v)
	if err != nil {
		if t.secret {
			err = errSecretAddress
		}
		return false, fmt.Errorf("%w: attribute %s: %w", slidegate.ErrEvent, t.attr, err)
	}
	globs := false
	for _, v := range t.values {
		if v.nets != nil && v.nets.Contains(addr) {
			return true, nil
		}
		globs = globs || len(v.globs) > 0
	}
	return globs && t.matchText(addr.String()), nil
}

func (t *test) matchText(text string) bool {
	for _, v := range t.values {
		if v.matchText(text) {
			return true
		}
	}
	return false
}

func (t *values) matchText(text string) bool {
	if t.many == nil {
		if slices.Contains(t.exact, text) {
			return true
		}
	} else if _, found := t.many[text]; found {
		return true
	}
	for i := range t.globs {
		if t.globs[i].match(text) {
			return true
		}
	}
	return false
}

// maxNames is how many names of events a rule is filed under. One of more, from a
// list, is looked at for events of any name.
const maxNames = 64

// eventNames returns the exact names of events that can match, and whether
// those are all that can. Over maxNames they are not told.
func eventNames(ms []matcher) (names []string, only bool) {
	if len(ms) == 0 {
		return nil, false
	}
	for _, m := range ms {
		i := slices.IndexFunc(m, func(t test) bool { return t.attr == "event" })
		if i < 0 {
			return nil, false
		}
		for _, v := range m[i].values {
			if v.present || len(v.globs) > 0 || len(names)+len(v.exact) > maxNames {
				return nil, false
			}
			names = append(names, v.exact...)
		}
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
