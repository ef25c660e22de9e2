package cond

import (
	"fmt"
	"slices"
	"strings"
)

var symbols = map[op]string{
	opAdd: " + ", opSub: " - ", opMul: " * ", opDiv: " / ",
	opEQ: " == ", opNE: " != ", opLT: " < ", opLE: " <= ", opGT: " > ", opGE: " >= ",
	opIn: " in ", opInList: " in ", opMatches: " matches ",
	opStarts: " startsWith ", opEnds: " endsWith ", opContains: " contains ",
	opAnd: " and ", opOr: " or ",
}

// print appends the canonical form of n to b.
func (n *node) print(b []byte) []byte {
	switch n.op {
	case opText:
		if n.hidden {
			return append(b, hidden...)
		}
		if n.addr.IsValid() {
			return appendQuoted(b, n.addr.String())
		}
		return appendQuoted(b, textOf(n))
	case opNumber:
		return formatNumber(b, n.number)
	case opAttr:
		return n.printName(b, "attr", isBare(n.name) && variables[n.name].where == "")
	case opEvent:
		return append(b, "event"...)
	case opCost:
		return append(b, "cost"...)
	case opHour:
		return append(b, "hour"...)
	case opWeekday:
		return append(b, "weekday"...)
	case opOutcome:
		return append(b, "outcome"...)
	case opFailed:
		return append(b, "failed"...)
	case opNeg:
		b = append(b, '-')
		return n.x.printWithin(b, n.x.op >= opNeg)
	case opNot:
		return n.printNot(b)
	case opAnd, opOr:
		for i, kid := range n.kids {
			if i > 0 {
				b = append(b, symbols[n.op]...)
			}
			b = kid.printWithin(b, kid.op == opOr)
		}
		return b
	default:
		return n.printPair(b, symbols[n.op])
	}
}

// hidden stands for what is not shown.
const hidden = "(secret)"

// printPair appends x, a word, and y.
func (n *node) printPair(b []byte, word string) []byte {
	left, right := false, false // whether parentheses are needed
	switch n.op {
	case opAdd, opSub:
		right = n.y.op == opAdd || n.y.op == opSub
	case opMul, opDiv:
		left = n.x.op == opAdd || n.x.op == opSub
		right = n.y.op >= opAdd
	}
	b = n.x.printWithin(b, left)
	b = append(b, word...)
	if n.hidden {
		return append(b, hidden...)
	}
	switch n.op {
	case opIn:
		return n.set.literal(b)
	case opInList:
		return n.printName(b, "lists", isBare(n.name))
	case opMatches:
		return appendQuoted(b, n.name)
	}
	return n.y.printWithin(b, right)
}

// printNot appends x not in y for not (x in y), and the like.
func (n *node) printNot(b []byte) []byte {
	if n.x.op >= opIn && n.x.op <= opContains {
		return n.x.printPair(b, " not"+symbols[n.x.op])
	}
	b = append(b, "not "...)
	return n.x.printWithin(b, n.x.op != opFailed)
}

func (n *node) printWithin(b []byte, parentheses bool) []byte {
	if !parentheses {
		return n.print(b)
	}
	return append(n.print(append(b, '(')), ')')
}

func (n *node) printName(b []byte, word string, bare bool) []byte {
	if bare {
		return append(b, n.name...)
	}
	b = append(append(b, word...), '[')
	return append(appendQuoted(b, n.name), ']')
}

// literal appends the items as a list in brackets.
func (s *set) literal(b []byte) []byte {
	b = append(b, '[')
	for _, f := range s.numbers {
		b = append(formatNumber(b, f), ", "...)
	}
	for _, t := range s.texts {
		b = append(appendQuoted(b, t), ", "...)
	}
	for _, a := range s.addrs {
		b = append(appendQuoted(b, a.String()), ", "...)
	}
	return append(b[:len(b)-len(", ")], ']')
}

// isBare reports whether a name is read as a name where it stands bare.
func isBare(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || part[0] >= '0' && part[0] <= '9' || slices.Contains(words, part) || strings.Contains(part, "-") {
			return false
		}
	}
	return true
}

func quote(s string) string { return string(appendQuoted(nil, s)) }

// appendQuoted writes a text in quotes. strconv.Quote would follow the tables of
// Unicode, and with them the identity of windows would change.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c == 0x7f:
			b = fmt.Appendf(b, `\x%02x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
