package rulefile

import (
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// walk goes over all nodes of a document before anything is made of them. It
// notes the place of every value, reports what a rule file does not use
// (anchors, aliases, tags, names that are no texts or are written twice), and
// takes names that cannot be used out of the tree.
//
// The place of a value at path is known to the caller; depth counts the lists
// and mappings around n.
func (r *reader) walk(file int32, n *yaml.Node, path string, depth int) {
	at := spot(file, n)
	switch {
	case n.Kind == yaml.AliasNode:
		r.badAt(at, path, "*"+n.Value, r.alias(n.Value))
		return
	case n.Anchor != "":
		r.anchors[n.Anchor] = true
		r.broken[path] = isNull(n)
		r.odd(at, path, "&"+n.Anchor, "a rule file has no anchors: write the value alone; "+
			"a text that begins with & must be in quotes")
	case n.Style&yaml.TaggedStyle != 0 || n.Tag == "!":
		r.broken[path] = isNull(n)
		r.odd(at, path, n.Tag, "a rule file has no tags: write the value alone; "+
			"a text that begins with ! must be in quotes")
	}
	if n.Kind == yaml.ScalarNode {
		return
	}
	msg := ""
	switch {
	case depth == maxDepth:
		msg = deep
	case len(path) > maxPath: // it is kept for every value below
		msg = fmt.Sprintf("the names that lead here have over %d bytes together", maxPath)
	}
	if msg != "" {
		r.badAt(at, path, "", msg)
		n.Content = nil
		return
	}
	if n.Kind == yaml.MappingNode {
		r.walkMapping(file, n, path, depth)
		return
	}
	for i, c := range n.Content {
		p := item(path, i)
		r.places[p] = spot(file, c)
		r.walk(file, c, p, depth+1)
	}
}

func (r *reader) walkMapping(file int32, n *yaml.Node, path string, depth int) {
	lines := make(map[string]int, len(n.Content)/2)
	kept := n.Content[:0]
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if msg := wrongName(k); msg != "" {
			r.odd(spot(file, k), path, k.Value, msg)
			continue
		}
		p := join(path, k.Value)
		if line, twice := lines[k.Value]; twice {
			r.badAt(spot(file, k), p, "", fmt.Sprintf("%s is written twice: here and on line %d", k.Value, line))
			continue
		}
		lines[k.Value] = k.Line
		kept = append(kept, k, v)
		r.places[p] = entryPlace(file, k, v)
		r.walk(file, v, p, depth+1)
	}
	n.Content = kept
}

// entryPlace is where an entry is shown: at its value, or at its name if the
// value is empty or begins on a line of its own.
func entryPlace(file int32, k, v *yaml.Node) place {
	block := (v.Kind == yaml.MappingNode || v.Kind == yaml.SequenceNode) && v.Style&yaml.FlowStyle == 0
	if block || isNull(v) && v.Value == "" {
		return spot(file, k)
	}
	return spot(file, v)
}

// wrongName says why a node is no name of an entry.
func wrongName(k *yaml.Node) string {
	switch {
	case k.Kind == yaml.AliasNode:
		return quoteStar("*" + k.Value)
	case k.Kind != yaml.ScalarNode:
		return "a name is a text, not " + kindOf(k) + ": a text that begins with [ or { must be in quotes"
	case k.Anchor != "" || k.Style&yaml.TaggedStyle != 0 || k.Tag == "!":
		return "a name has no anchor and no tag: write it alone"
	case k.Value == "":
		return "the name before the colon is empty"
	case len(k.Value) > maxName:
		return fmt.Sprintf("a name is at most %d bytes", maxName)
	case strings.IndexFunc(k.Value, unicode.IsControl) >= 0:
		return "a name is one line without control characters"
	}
	return ""
}

// alias says what to write instead of an alias.
func (r *reader) alias(name string) string {
	if r.anchors[name] {
		return "a rule file has no aliases: write the value out here"
	}
	return quoteStar("*" + name)
}
