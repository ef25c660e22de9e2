package cond

import (
	"net/netip"
	"strconv"
)

// want returns n if it can be of the type Text or Number; an attribute that is
// open is of that type from now on.
func (b *builder) want(n *node, t Type) *node {
	if n == nil {
		return nil
	}
	switch has := n.typ(); {
	case has == t, has == Address && t == Text:
		return n
	case has == open:
		n.attr.typ, n.attr.told = t, n.pos
		return n
	}
	return b.mismatch(n, t)
}

// mismatch reports that n cannot be of the type t.
func (b *builder) mismatch(n *node, t Type) *node {
	text, has := clip(string(n.print(nil))), n.typ()
	switch {
	case n.op == opAttr && n.attr.declared && t == Number:
		return b.fail(n.pos, "%s is declared as %s, and a number is wanted here: declare %s with type: number under attributes, or compare it by == != in with texts in quotes", text, has.describe(), text)
	case n.op == opAttr && n.attr.declared:
		return b.fail(n.pos, "%s is declared as a number, and a text is wanted here: compare it with numbers without quotes, or declare %s with type: text under attributes", text, text)
	case n.op == opAttr:
		return b.fail(n.pos, "%s is used as %s at character %d and as %s here: decide for one; texts stand in quotes, numbers do not, and order and arithmetic want numbers",
			text, has.describe(), n.attr.told+1, t.describe())
	case n.op == opText && t == Number:
		if _, ok := parseNumber(textOf(n)); ok {
			return b.fail(n.pos, "%s is a text where a number is wanted: take the quotes away", text)
		}
		return b.fail(n.pos, "%s is a text where a number is wanted: order and arithmetic are for numbers; texts know == != in startsWith endsWith contains matches", text)
	case n.op == opNumber && t == Text:
		return b.fail(n.pos, "%s is a number where a text is wanted: put it in quotes", text)
	case has == truth:
		return b.fail(n.pos, "%s is a comparison, where %s is wanted; comparisons are joined with and, or, not", text, t.describe())
	}
	return b.fail(n.pos, "%s is %s where %s is wanted", text, has.describe(), t.describe())
}

// resolve tells the types of attributes that are compared with something whose
// type is known, and decides how each == compares.
func (b *builder) resolve() {
	for again := true; again; {
		again = false
		for _, e := range b.equals {
			x, y := e.x, e.y
			if x.typ() != open {
				x, y = y, x
			}
			if x.typ() == open && y.typ() <= Address {
				x.attr.typ, x.attr.told = plain(y.typ()), x.pos
				again = true
			}
		}
	}
	for _, e := range b.equals {
		b.pair(e)
	}
}

// plain is the type that the other side of a comparison needs: what is compared
// with an address is a text.
func plain(t Type) Type {
	if t == Address {
		return Text
	}
	return t
}

// pair decides how both sides of == are compared.
func (b *builder) pair(e *node) {
	tx, ty := e.x.typ(), e.y.typ()
	switch {
	case tx == truth:
		b.mismatch(e.x, plain(ty))
	case ty == truth:
		b.mismatch(e.y, plain(tx))
	case tx == Address || ty == Address:
		if tx == Number || ty == Number {
			b.clash(e)
			return
		}
		e.mode = Address
		b.address(e.x)
		b.address(e.y)
	case tx != ty:
		b.clash(e)
	default:
		e.mode = tx
	}
}

// clash reports a comparison of a number with a text, at the side that is
// easier to change: a literal is written as the attribute wants it.
func (b *builder) clash(e *node) {
	n, other := e.x, e.y
	if n.op != opAttr && other.op == opAttr {
		n, other = other, n
	}
	b.mismatch(n, plain(other.typ()))
}

// address reads a literal that is compared with an address.
func (b *builder) address(n *node) {
	if n.op != opText {
		return
	}
	addr, err := netip.ParseAddr(textOf(n))
	if err != nil {
		b.fail(n.pos, "%s is compared with an address and is none; write one such as 192.0.2.1 or 2001:db8::1, and put networks into a list under lists", clip(quote(textOf(n))))
		return
	}
	n.addr = addr.Unmap().WithZone("")
}

// textOf is the text of a literal.
func textOf(n *node) string {
	s, _ := n.value.Literal()
	return s
}

// formatNumber writes a number as conditions do, in the shortest form that reads
// back the same.
func formatNumber(b []byte, f float64) []byte {
	if f >= -maxWhole && f <= maxWhole && f == float64(int64(f)) {
		return strconv.AppendInt(b, int64(f), 10)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}
