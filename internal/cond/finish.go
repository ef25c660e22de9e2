package cond

import (
	"regexp"
	"slices"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/fold"
)

// finish makes the lists that a condition names, once all types are known. Every
// comparison of texts that has an attribute of scope.Folds in it becomes one in which
// upper and lower case are the same.
func (b *builder) finish(n *node) {
	n.walk(func(n *node) {
		n.fold = n.op >= opEQ && n.op < opNot && n.either(b.scope.Folds)
		switch {
		case n.op == opInList:
			b.makeList(n)
		case n.fold:
			n.foldLiteral()
		}
	})
}

// walk calls do for every comparison in n, and not.
func (n *node) walk(do func(*node)) {
	for _, kid := range n.kids {
		kid.walk(do)
	}
	if n.op == opNot {
		n.x.walk(do)
	}
	do(n)
}

// either reports whether one side of a comparison is one of these attributes.
func (n *node) either(attrs map[string]bool) bool {
	return n.x.among(attrs) || n.y != nil && n.y.among(attrs)
}

func (n *node) among(attrs map[string]bool) bool { return n.op == opAttr && attrs[n.name] }

func (b *builder) makeList(n *node) {
	of := Member{Address: n.x.typ() == Address, Folded: n.fold}
	if n.x.op == opAttr {
		of.Attr = n.x.name
	}
	var err error
	if n.list, err = b.scope.Lists[n.name](of); err != nil {
		b.fail(n.pos, "%v", err)
	}
}

// foldLiteral folds what is on the right of a comparison.
func (n *node) foldLiteral() {
	switch n.op {
	case opIn:
		n.set.folded = make([]string, len(n.set.texts))
		for i, text := range n.set.texts {
			n.set.folded[i] = fold.Text(text)
		}
		slices.Sort(n.set.folded)
	case opMatches:
		n.pattern = regexp.MustCompile("(?i:" + n.pattern.String() + ")") // it compiles without
	}
}

// folded returns a value as n compares it.
func (n *node) folded(v slidegate.Value) slidegate.Value {
	if !n.fold || v.IsNumber() {
		return v
	}
	return slidegate.TextValue(fold.Text(v.String()))
}

// hide marks the literals that a secret attribute is compared with, and reports
// whether there are any.
func (n *node) hide(s *Scope) (some bool) {
	n.walk(func(n *node) {
		if n.op < opEQ || n.op >= opNot || !n.either(s.Secrets) {
			return
		}
		switch {
		case n.op == opIn || n.op == opMatches:
			n.hidden, some = true, true
		case n.y != nil:
			for _, side := range []*node{n.x, n.y} {
				side.hidden = side.op == opText
				some = some || side.hidden
			}
		}
	})
	return some
}
