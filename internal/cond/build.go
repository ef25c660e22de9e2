package cond

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/spell"
)

// builder turns the tree of the parser into nodes, and tells the types.
type builder struct {
	scope  *Scope
	src    []rune // the text, in the characters that places count
	attrs  map[string]*attribute
	equals []*node // == and !=, in order
	timed  bool
	after  bool
	nodes  int
	errs   Errors
}

// attribute is what is known of one attribute within one condition.
type attribute struct {
	typ      Type // open until its use tells it
	declared bool
	told     int // the character at which its use told it
}

const maxErrors = 10

// fail reports an error at the character pos, counted from 0. It returns no
// node, which silences what would follow from the error.
func (b *builder) fail(pos int, format string, args ...any) *node {
	return b.report(errorAt(pos, format, args...))
}

func (b *builder) report(err *Error) *node {
	if len(b.errs) < maxErrors {
		b.errs = append(b.errs, err)
	}
	return nil
}

// build returns the node of n, or nil when it reported an error.
func (b *builder) build(n ast.Node) *node {
	if b.nodes++; b.nodes > maxNodes {
		if b.nodes == maxNodes+1 {
			b.fail(place(n), "the condition has more than %d names, literals and operators; many values belong into a list under lists", maxNodes)
		}
		return nil
	}
	switch n := n.(type) {
	case *ast.BinaryNode:
		return b.binary(n)
	case *ast.UnaryNode:
		return b.unary(n)
	case *ast.IdentifierNode, *ast.MemberNode:
		return b.name(n)
	case *ast.BoolNode:
		return b.fail(place(n), `%v is not a word of conditions: values are texts and numbers, so write a comparison, as in vip == "%v"`, n.Value, n.Value)
	case *ast.NilNode:
		return b.fail(place(n), "nil is not a word of conditions: what has no value is unknown and never acts")
	case *ast.ArrayNode:
		return b.fail(place(n), "a list in brackets stands after in only")
	}
	if lit := b.literal(n); lit != nil {
		return lit
	}
	return b.fail(place(n), "this construct is not part of conditions")
}

// literal returns the node of a text or a number, or nil when n is neither.
func (b *builder) literal(n ast.Node) *node {
	lit := node{pos: place(n)}
	switch n := n.(type) {
	case *ast.StringNode:
		lit.op, lit.value = opText, slidegate.TextValue(n.Value)
	case *ast.IntegerNode:
		lit.op, lit.number = opNumber, float64(n.Value)
	case *ast.FloatNode:
		lit.op, lit.number = opNumber, n.Value
	case *ast.UnaryNode:
		inner := b.literal(n.Node)
		if n.Operator != "-" || inner == nil || inner.op != opNumber {
			return nil
		}
		lit.op, lit.number = opNumber, 0-inner.number // 0-0 is no negative zero
	default:
		return nil
	}
	return &lit
}

func (b *builder) unary(n *ast.UnaryNode) *node {
	pos := place(n)
	switch n.Operator {
	case "not":
		return b.negation(n)
	case "-":
		if lit := b.literal(n); lit != nil {
			return lit
		}
		x := b.want(b.build(n.Node), Number)
		if x == nil {
			return nil
		}
		return &node{op: opNeg, pos: pos, x: x}
	}
	return b.fail(pos, "%s before a value does nothing: leave it out", n.Operator)
}

// negation reads not. It binds tighter than comparisons do, so that not a == b
// is (not a) == b, which nobody means.
func (b *builder) negation(n *ast.UnaryNode) *node {
	x := b.build(n.Node)
	if x == nil {
		return nil
	}
	if x.typ() != truth {
		return b.fail(place(n), "not stands before %s, which is no comparison: put what it turns round in parentheses, as in not (%s == …), or write x not in …",
			x.describe(), clip(string(x.print(nil))))
	}
	return &node{op: opNot, pos: place(n), x: x}
}

func (b *builder) binary(n *ast.BinaryNode) *node {
	switch n.Operator {
	case "and":
		return b.junction(opAnd, n)
	case "or":
		return b.junction(opOr, n)
	case "&&": // the parser's own: what is written so was refused
		return b.fail(place(n), "comparisons do not chain: write a < b and b < c")
	case "in":
		return b.membership(n)
	case "matches":
		return b.match(n)
	case "-":
		if name := hyphened(n); b.isHyphened(name) {
			return b.fail(place(n), `this is a subtraction; the attribute is written attr["%s"]`, clip(name))
		}
	}
	op, ok := binaries[n.Operator]
	if !ok {
		return b.fail(place(n), "%q is not a word of conditions", n.Operator)
	}
	x, y := b.build(n.Left), b.build(n.Right)
	if x == nil || y == nil {
		return nil
	}
	out := &node{op: op, pos: place(n), x: x, y: y}
	switch {
	case op == opEQ || op == opNE:
		b.equals = append(b.equals, out)
		return out
	case op >= opStarts:
		x, y = b.want(x, Text), b.want(y, Text)
	default:
		x, y = b.want(x, Number), b.want(y, Number)
	}
	if x == nil || y == nil {
		return nil
	}
	return out
}

// junction reads and, or; a and (b and c) is one of three.
func (b *builder) junction(op op, n *ast.BinaryNode) *node {
	out := &node{op: op, pos: place(n)}
	ok := true
	for _, side := range []ast.Node{n.Left, n.Right} {
		kid := b.condition(b.build(side))
		switch {
		case kid == nil:
			ok = false
		case kid.op == op:
			out.kids = append(out.kids, kid.kids...)
		default:
			out.kids = append(out.kids, kid)
		}
	}
	if !ok {
		return nil
	}
	return out
}

// condition returns n if it is true or false, not a value.
func (b *builder) condition(n *node) *node {
	if n == nil || n.typ() == truth {
		return n
	}
	text := clip(string(n.print(nil)))
	return b.fail(n.pos, "%s is %s, not a comparison: compare it, as in %s == …", text, n.describe(), text)
}

// name reads a variable, an attribute, or attr["…"].
func (b *builder) name(n ast.Node) *node {
	pos := place(n)
	if name, ok := b.quoted(n, "attr"); ok {
		if name == "event" {
			return b.fail(pos, "no attribute is called event; the name of the event is written event, without attr")
		}
		return b.attribute(pos, name)
	}
	name, ok := b.dotted(n)
	if !ok {
		return b.fail(pos, `conditions have no [ ] but after in, and in attr["…"] around a name`)
	}
	if v, ok := variables[name]; ok {
		return b.variable(pos, name, v)
	}
	return b.attribute(pos, name)
}

func (b *builder) variable(pos int, name string, v variable) *node {
	vars := b.scope.Vars
	if vars == 0 {
		vars = Admission
	}
	if vars&v.is == 0 {
		err := errorAt(pos, `%s %s; an attribute of this name is written attr["%s"]`, name, v.where, name)
		err.cause = ErrUnavailable
		return b.report(err)
	}
	if v.is == Hour || v.is == Weekday {
		b.timed = true
	}
	b.after = b.after || v.is == Outcome || v.is == Failed
	return &node{op: v.op, pos: pos, zone: b.scope.Zone}
}

func (b *builder) attribute(pos int, name string) *node {
	if !isName(name) {
		return b.fail(pos, "%s is not the name of an attribute: a letter or _, then letters of ASCII, digits, _ . -", quote(clip(name)))
	}
	a := b.attrs[name]
	if a == nil {
		a = &attribute{typ: open}
		if t, ok := b.scope.Attrs[name]; ok {
			a.typ, a.declared = t, true
		} else if b.scope.Strict {
			return b.undeclared(pos, name)
		}
		b.attrs[name] = a
	}
	return &node{op: opAttr, pos: pos, name: name, attr: a}
}

func (b *builder) undeclared(pos int, name string) *node {
	declared := slices.Sorted(maps.Keys(b.scope.Attrs))
	for _, d := range declared {
		if strings.HasPrefix(d, name+"-") {
			return b.fail(pos, `no attribute %s is declared; %s is written attr["%s"], since a hyphen means minus`, clip(name), clip(d), clip(d))
		}
	}
	near := spell.Nearest(name, append(declared, slices.Collect(maps.Keys(variables))...))
	return b.fail(pos, "no attribute %s is declared under attributes%s", clip(name), didYouMean(near))
}

func didYouMean(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", near)
}

// hyphened returns the text of a name with hyphens that was read as a
// subtraction, or "".
func hyphened(n ast.Node) string {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return n.Value
	case *ast.MemberNode:
		if p, ok := n.Property.(*ast.StringNode); ok {
			if left := hyphened(n.Node); left != "" {
				return left + "." + p.Value
			}
		}
	case *ast.BinaryNode:
		if n.Operator == "-" {
			if left, right := hyphened(n.Left), hyphened(n.Right); left != "" && right != "" {
				return left + "-" + right
			}
		}
	}
	return ""
}

// isHyphened reports whether a subtraction is a declared name with hyphens, of
// which not every part is an attribute or a variable of its own.
func (b *builder) isHyphened(name string) bool {
	if _, ok := b.scope.Attrs[name]; !ok || name == "" {
		return false
	}
	for part := range strings.SplitSeq(name, "-") {
		_, declared := b.scope.Attrs[part]
		if _, known := variables[part]; !declared && !known {
			return true
		}
	}
	return false
}

// quoted reads word["name"].
func (b *builder) quoted(n ast.Node, word string) (string, bool) {
	m, ok := n.(*ast.MemberNode)
	if !ok || !b.bracketed(m) {
		return "", false
	}
	id, ok := m.Node.(*ast.IdentifierNode)
	p, text := m.Property.(*ast.StringNode)
	if !ok || !text || id.Value != word {
		return "", false
	}
	return p.Value, true
}

// dotted reads a name, or names with dots between.
func (b *builder) dotted(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return n.Value, true
	case *ast.MemberNode:
		p, ok := n.Property.(*ast.StringNode)
		if !ok || b.bracketed(n) {
			return "", false
		}
		left, ok := b.dotted(n.Node)
		return left + "." + p.Value, ok
	}
	return "", false
}

// bracketed tells x["a"] from x.a, which are the same to the parser, but for
// their place.
func (b *builder) bracketed(m *ast.MemberNode) bool {
	at := place(m)
	return at < len(b.src) && b.src[at] == '['
}

// place is the character of a node, counted from 0.
func place(n ast.Node) int { return n.Location().From }

// isName reports whether s can be the name of an attribute or a list.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '.' && c != '-') {
			return false
		}
	}
	return s != ""
}
