package cond

import (
	"maps"
	"net/netip"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/slidegate/slidegate/internal/spell"
)

// membership reads x in [..] and x in NAME.
func (b *builder) membership(n *ast.BinaryNode) *node {
	x := b.build(n.Left)
	if x != nil && x.typ() == truth {
		return b.fail(x.pos, "%s is a comparison; in asks where a value is", clip(string(x.print(nil))))
	}
	switch right := n.Right.(type) {
	case *ast.ArrayNode:
		return b.inLiteral(n, x, right)
	case *ast.StringNode:
		return b.fail(place(n.Right), "in is for lists: write x contains %s, or x in [%s]", clip(quote(right.Value)), clip(quote(right.Value)))
	}
	name, ok := b.quoted(n.Right, "lists")
	if !ok {
		name, ok = b.dotted(n.Right)
	}
	_, known := b.scope.Lists[name]
	switch {
	case ok && known:
		if x == nil {
			return nil
		}
		return &node{op: opInList, pos: place(n), x: x, name: name}
	case ok:
		near := spell.Nearest(name, slices.Collect(maps.Keys(b.scope.Lists)))
		return b.fail(place(n.Right), "there is no list %s under lists%s", clip(name), didYouMean(near))
	}
	if name := hyphened(n.Right); name != "" {
		if _, known := b.scope.Lists[name]; known {
			return b.fail(place(n.Right), `this is a subtraction; the list is written lists["%s"]`, clip(name))
		}
	}
	return b.fail(place(n.Right), `after in stands the name of a list of the file, or a list such as [404, 410]`)
}

// inLiteral reads x in [..]. The items are of one type, and tell that of x.
func (b *builder) inLiteral(n *ast.BinaryNode, x *node, list *ast.ArrayNode) *node {
	if len(list.Nodes) == 0 {
		return b.fail(place(list), "the list is empty, and nothing is in it")
	}
	items := make([]*node, len(list.Nodes))
	for i, item := range list.Nodes {
		if items[i] = b.literal(item); items[i] == nil {
			return b.fail(place(item), "a list in brackets holds texts in quotes and numbers only")
		}
		if items[i].op != items[0].op {
			return b.fail(place(item), "the list mixes texts and numbers; an attribute is one or the other")
		}
	}
	if x = b.want(x, items[0].typ()); x == nil {
		return nil
	}
	out := &node{op: opIn, pos: place(n), x: x, mode: x.typ()}
	for _, item := range items {
		switch out.mode {
		case Number:
			out.set.numbers = append(out.set.numbers, item.number)
		case Address:
			b.address(item)
			out.set.addrs = append(out.set.addrs, item.addr)
		default:
			out.set.texts = append(out.set.texts, textOf(item))
		}
	}
	out.set.tidy()
	return out
}

func (s *set) tidy() {
	slices.Sort(s.numbers)
	s.numbers = slices.Compact(s.numbers)
	slices.Sort(s.texts)
	s.texts = slices.Compact(s.texts)
	slices.SortFunc(s.addrs, netip.Addr.Compare)
	s.addrs = slices.Compact(s.addrs)
}

// maxPattern is how many characters and classes a pattern may come to after
// its repetitions are written out. Matching takes at most that many steps for
// each character of the text.
const maxPattern = 2000

// match reads x matches "pattern".
func (b *builder) match(n *ast.BinaryNode) *node {
	x := b.want(b.build(n.Left), Text)
	pos := place(n.Right)
	text, ok := n.Right.(*ast.StringNode)
	if !ok {
		return b.fail(pos, "after matches stands a pattern in quotes, so that it can be checked when the file is loaded")
	}
	parsed, err := syntax.Parse(text.Value, syntax.Perl)
	if err != nil {
		return b.fail(pos, "%s is not a pattern: %s; the syntax is that of RE2", clip(quote(text.Value)), reason(err))
	}
	if patternSize(parsed) > maxPattern {
		return b.fail(pos, "the pattern comes to more than %d characters with its repetitions written out; make it simpler", maxPattern)
	}
	re, err := regexp.Compile(text.Value)
	if err != nil {
		return b.fail(pos, "%s is not a pattern: %s; the syntax is that of RE2", clip(quote(text.Value)), reason(err))
	}
	if x == nil {
		return nil
	}
	return &node{op: opMatches, pos: place(n), x: x, name: text.Value, pattern: re}
}

// reason is what the parser of patterns found wrong.
func reason(err error) string {
	if e, ok := err.(*syntax.Error); ok { //nolint:errorlint // that is what Parse returns, unwrapped
		return e.Code.String() + " in " + clip(quote(e.Expr))
	}
	return clip(err.Error())
}

// patternSize counts the parts of a pattern, with repetitions written out. It
// stops counting beyond maxPattern.
func patternSize(re *syntax.Regexp) int {
	size := max(1, len(re.Rune))
	for _, sub := range re.Sub {
		size += patternSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(1, re.Min, re.Max)
	}
	return min(size, maxPattern+1)
}
