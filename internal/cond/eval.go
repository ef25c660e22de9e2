package cond

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/fold"
)

// truth evaluates a condition in Kleene's logic.
func (n *node) truth(ev *slidegate.Event, now int64) Truth {
	switch n.op {
	case opAnd:
		all := True
		for _, kid := range n.kids {
			if all = min(all, kid.truth(ev, now)); all == False {
				break
			}
		}
		return all
	case opOr:
		some := False
		for _, kid := range n.kids {
			if some = max(some, kid.truth(ev, now)); some == True {
				break
			}
		}
		return some
	case opNot:
		return -n.x.truth(ev, now)
	case opFailed:
		if ev.Outcome == slidegate.Unknown {
			return Unknown
		}
		return truthOf(ev.Outcome == slidegate.Failure)
	case opEQ:
		return n.equal(ev, now)
	case opNE:
		return -n.equal(ev, now)
	case opIn:
		return n.in(ev, now)
	case opInList:
		return n.inList(ev, now)
	case opMatches:
		return n.matches(ev)
	case opStarts, opEnds, opContains:
		return n.compareTexts(ev)
	default:
		return n.order(ev, now)
	}
}

func truthOf(b bool) Truth {
	if b {
		return True
	}
	return False
}

// order evaluates < <= > >=.
func (n *node) order(ev *slidegate.Event, now int64) Truth {
	x, ok := n.x.float(ev, now)
	if !ok {
		return Unknown
	}
	y, ok := n.y.float(ev, now)
	if !ok {
		return Unknown
	}
	switch n.op {
	case opLT:
		return truthOf(x < y)
	case opLE:
		return truthOf(x <= y)
	case opGT:
		return truthOf(x > y)
	default:
		return truthOf(x >= y)
	}
}

func (n *node) equal(ev *slidegate.Event, now int64) Truth {
	switch n.mode {
	case Number:
		x, ok := n.x.float(ev, now)
		if !ok {
			return Unknown
		}
		y, ok := n.y.float(ev, now)
		if !ok {
			return Unknown
		}
		return truthOf(x == y)
	case Address:
		x, ok := n.x.address(ev)
		if !ok {
			return Unknown
		}
		y, ok := n.y.address(ev)
		if !ok {
			return Unknown
		}
		return truthOf(x == y)
	case open:
		return n.same(ev)
	default:
		return n.compareTexts(ev)
	}
}

// same compares two attributes of which nothing tells the type.
func (n *node) same(ev *slidegate.Event) Truth {
	x, ok := ev.Attr(n.x.name)
	if !ok {
		return Unknown
	}
	y, ok := ev.Attr(n.y.name)
	if !ok || x.IsNumber() != y.IsNumber() {
		return Unknown
	}
	if !x.IsNumber() {
		return n.compareTexts(ev)
	}
	a, known := numberOf(x)
	b, both := numberOf(y)
	if !known || !both {
		return Unknown
	}
	return truthOf(a == b)
}

// compareTexts evaluates what has a text on both sides.
func (n *node) compareTexts(ev *slidegate.Event) Truth {
	x, ok := n.x.spelled(ev)
	if !ok {
		return Unknown
	}
	y, ok := n.y.spelled(ev)
	if !ok {
		return Unknown
	}
	s, ready := x.Literal()
	t, both := y.Literal()
	if ready && both {
		if n.fold {
			s, t = fold.Text(s), fold.Text(t)
		}
		return truthOf(n.holds(s, t))
	}
	var a, b [32]byte
	s, t = string(x.AppendText(a[:0])), string(y.AppendText(b[:0]))
	if n.fold {
		s, t = fold.Text(s), fold.Text(t)
	}
	return truthOf(n.holds(s, t))
}

func (n *node) holds(s, t string) bool {
	switch n.op {
	case opStarts:
		return strings.HasPrefix(s, t)
	case opEnds:
		return strings.HasSuffix(s, t)
	case opContains:
		return strings.Contains(s, t)
	default:
		return s == t
	}
}

// MaxMatched is how many bytes of text a regular expression is tried on; whether a
// longer one matches is unknown. It takes time for each of them.
const MaxMatched = 16 << 10

func (n *node) matches(ev *slidegate.Event) Truth {
	v, ok := n.x.kept(ev)
	if !ok {
		return Unknown
	}
	if n.x.typ() != Address {
		text := v.String()
		if len(text) > MaxMatched {
			return Unknown
		}
		return truthOf(n.pattern.MatchString(text))
	}
	addr, ok := addressOf(v)
	if !ok {
		return Unknown
	}
	return truthOf(n.pattern.MatchString(addr.String()))
}

// in evaluates membership in a literal list.
func (n *node) in(ev *slidegate.Event, now int64) Truth {
	switch n.mode {
	case Number:
		x, ok := n.x.float(ev, now)
		if !ok {
			return Unknown
		}
		return truthOf(contains(n.set.numbers, x))
	case Address:
		x, ok := n.x.address(ev)
		if !ok {
			return Unknown
		}
		_, found := slices.BinarySearchFunc(n.set.addrs, x, netip.Addr.Compare)
		return truthOf(found)
	}
	v, ok := n.x.spelled(ev)
	if !ok {
		return Unknown
	}
	if s, ok := v.Literal(); ok {
		if n.fold {
			return truthOf(contains(n.set.folded, fold.Text(s)))
		}
		return truthOf(contains(n.set.texts, s))
	}
	var buf [32]byte
	return truthOf(contains(n.set.texts, string(v.AppendText(buf[:0]))))
}

func contains[T float64 | string](sorted []T, x T) bool {
	if len(sorted) <= 8 {
		return slices.Contains(sorted, x)
	}
	_, found := slices.BinarySearch(sorted, x)
	return found
}

// inList evaluates membership in a list of the rule file, which gets the value
// as the event has it.
func (n *node) inList(ev *slidegate.Event, now int64) Truth {
	var v slidegate.Value
	ok := true
	switch n.x.op {
	case opAttr, opText, opEvent, opOutcome:
		v, ok = n.x.kept(ev)
	case opCost:
		v = slidegate.IntValue(ev.Cost.Units())
	default:
		var f float64
		f, ok = n.x.float(ev, now)
		v = slidegate.FloatValue(f)
	}
	if !ok {
		return Unknown
	}
	return n.list(n.folded(v))
}

// spelled is the value of a text, the event, or an attribute; addresses are in
// their canonical form.
func (n *node) spelled(ev *slidegate.Event) (slidegate.Value, bool) {
	switch {
	case n.op == opText:
		return n.value, true
	case n.op == opEvent:
		return slidegate.TextValue(ev.Name), true
	case n.op == opOutcome:
		return slidegate.TextValue(ev.Outcome.String()), ev.Outcome != slidegate.Unknown
	case n.attr.typ != Address:
		return ev.Attr(n.name)
	}
	addr, ok := n.address(ev)
	if !ok {
		return slidegate.Value{}, false
	}
	return slidegate.TextValue(addr.String()), true
}

// kept is the value of a text, the event, or an attribute, as it is, for
// functions that might keep it as far as the compiler can see. The name of the
// event is copied, or every event would have to live on the heap with its list
// of attributes.
func (n *node) kept(ev *slidegate.Event) (slidegate.Value, bool) {
	switch n.op {
	case opText:
		return n.value, true
	case opEvent:
		return slidegate.TextValue(strings.Clone(ev.Name)), true
	case opOutcome:
		return slidegate.TextValue(ev.Outcome.String()), ev.Outcome != slidegate.Unknown
	default:
		return ev.Attr(n.name)
	}
}

// address is the address that n spells.
func (n *node) address(ev *slidegate.Event) (netip.Addr, bool) {
	if n.op == opText {
		return n.addr, true
	}
	v, ok := n.kept(ev)
	if !ok {
		return netip.Addr{}, false
	}
	return addressOf(v)
}

// float is the number that n comes to, if it has a value and is finite.
func (n *node) float(ev *slidegate.Event, now int64) (float64, bool) {
	switch n.op {
	case opNumber:
		return n.number, true
	case opAttr:
		v, ok := ev.Attr(n.name)
		if !ok {
			return 0, false
		}
		return numberOf(v)
	case opCost:
		return float64(ev.Cost.Units()), true
	case opHour:
		return float64(n.clock(now).Hour()), true
	case opWeekday:
		return float64((n.clock(now).Weekday()+6)%7 + 1), true
	case opNeg:
		x, ok := n.x.float(ev, now)
		return -x, ok
	default:
		return n.compute(ev, now)
	}
}

// clock is the time of day in the zone of a variable.
func (n *node) clock(now int64) time.Time {
	t := time.UnixMicro(now)
	if n.zone == nil {
		return t.UTC()
	}
	return t.In(n.zone)
}

// compute evaluates + - * /. What is divided by zero, or too large, has no value.
func (n *node) compute(ev *slidegate.Event, now int64) (float64, bool) {
	x, ok := n.x.float(ev, now)
	if !ok {
		return 0, false
	}
	y, ok := n.y.float(ev, now)
	if !ok {
		return 0, false
	}
	switch n.op {
	case opAdd:
		x += y
	case opSub:
		x -= y
	case opMul:
		x *= y
	default:
		x /= y
	}
	return x, math.Abs(x) <= math.MaxFloat64
}
