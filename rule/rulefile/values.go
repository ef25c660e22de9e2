package rulefile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// value is a node with the name that messages call it by, and its path.
type value struct {
	name string
	path string
	node *yaml.Node
}

// isNull tells whether YAML takes a node for nothing.
func isNull(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || isQuoted(n) {
		return false
	}
	switch n.Value {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

func isQuoted(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// kindOf is what a person would call a node that is no scalar.
func kindOf(n *yaml.Node) string {
	if n.Kind == yaml.SequenceNode {
		return "a list"
	}
	return "a mapping"
}

// filled tells whether there is a value, and reports if not.
func (r *reader) filled(v value) bool {
	switch {
	case v.node.Kind == yaml.AliasNode:
		return false // reported by walk
	case !isNull(v.node):
		return true
	case r.broken[v.path]:
		return false // reported by walk
	case v.node.Value == "":
		r.bad(v.path, "", v.name+" is empty: write a value, or leave it out")
	default:
		r.bad(v.path, v.node.Value, fmt.Sprintf("%s is empty, since YAML reads %s as nothing: to mean the text, write %q",
			v.name, v.node.Value, v.node.Value))
	}
	return false
}

// scalar returns a scalar as it is written, which may be an empty text. What
// is wanted is a text, a number, or true or false.
func (r *reader) scalar(v value, wanted string) (string, bool) {
	if !r.filled(v) {
		return "", false
	}
	n := v.node
	if n.Kind == yaml.ScalarNode {
		return n.Value, true
	}
	msg := fmt.Sprintf("%s is %s, not %s", v.name, wanted, kindOf(n))
	switch {
	case n.Kind == yaml.SequenceNode && strings.HasSuffix(v.name, "]"):
		msg += ": take the inner brackets away"
	case n.Kind == yaml.SequenceNode && len(n.Content) == 1 && n.Content[0].Kind == yaml.ScalarNode:
		msg += ": write " + v.name + ": " + inFlow(n.Content[0].Value)
	case wanted == "a text":
		msg += ": a text that begins with [ or {, or holds a colon and a space, must be in quotes"
	}
	r.bad(v.path, "", msg)
	return "", false
}

// text returns a text that is not empty.
func (r *reader) text(v value) (string, bool) {
	s, ok := r.scalar(v, "a text")
	if ok && s == "" {
		r.bad(v.path, "", v.name+" is empty: write a value, or leave it out")
		return "", false
	}
	return s, ok
}

// message returns a text that is shown to people.
func (r *reader) message(v value) string {
	s, ok := r.text(v)
	if ok && len(s) > maxMessage {
		r.bad(v.path, "", fmt.Sprintf("a message is at most %d bytes: this one has %d", maxMessage, len(s)))
		return ""
	}
	return s
}

// boolean returns true or false.
func (r *reader) boolean(v value) (is, ok bool) {
	s, ok := r.scalar(v, "true or false")
	if !ok {
		return false, false
	}
	plain := s == "true" || s == "false"
	if plain && !isQuoted(v.node) {
		return s == "true", true
	}
	msg := v.name + " is true or false"
	if plain {
		msg += " without quotes"
	}
	switch strings.ToLower(s) {
	case "true", "yes", "y", "on", "1":
		msg += ": write " + v.name + ": true"
	case "false", "no", "n", "off", "0":
		msg += ": write " + v.name + ": false"
	}
	r.bad(v.path, s, msg)
	return false, false
}

// integer returns a whole number.
func (r *reader) integer(v value) (int64, bool) {
	s, ok := r.scalar(v, "a number")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	plain := err == nil && strconv.FormatInt(n, 10) == s
	if plain && !isQuoted(v.node) {
		return n, true
	}
	msg := v.name + " is a whole number in plain digits"
	if plain {
		msg += " without quotes"
	}
	if err == nil {
		msg += fmt.Sprintf(": write %s: %d", v.name, n)
	} else if errors.Is(err, strconv.ErrRange) {
		msg = v.name + " is too great a number"
	}
	r.bad(v.path, s, msg)
	return 0, false
}

// list returns the items of a list. The form says how to write one; if it is
// empty, a scalar is put into brackets as an example.
func (r *reader) list(v value, form string) ([]value, bool) {
	if !r.filled(v) {
		return nil, false
	}
	n := v.node
	if n.Kind != yaml.SequenceNode {
		shown := ""
		if n.Kind == yaml.ScalarNode {
			shown = n.Value
		}
		if form == "" && n.Kind == yaml.ScalarNode {
			form = "write " + v.name + ": [" + inFlow(n.Value) + "]"
		} else if form == "" {
			form = `put "- " before each item, or brackets around them`
		}
		r.bad(v.path, shown, v.name+" is a list: "+form)
		return nil, false
	}
	items := make([]value, len(n.Content))
	for i, c := range n.Content {
		items[i] = value{name: item(v.name, i), path: item(v.path, i), node: c}
	}
	return items, true
}

// entries returns the entries of a mapping. The form says how to write one.
func (r *reader) entries(v value, form string) ([]value, bool) {
	if !r.filled(v) {
		return nil, false
	}
	n := v.node
	if n.Kind != yaml.MappingNode {
		r.bad(v.path, n.Value, v.name+" is a mapping: write "+form)
		return nil, false
	}
	entries := make([]value, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		entries = append(entries, value{name: name, path: join(v.path, name), node: n.Content[i+1]})
	}
	return entries, true
}

// inFlow writes a text so that it can stand in brackets. Commas are left bare,
// since whoever forgets the brackets means several items.
func inFlow(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/|()<>= ,"
	if s != "" && len(s) <= 60 && strings.Trim(s, plain) == "" && !strings.ContainsRune("-|>=, ", rune(s[0])) {
		return s
	}
	return quoted(s)
}

// quoted puts a text into quotes, cut if it is long.
func quoted(s string) string {
	if runes := []rune(s); len(runes) > 60 {
		s = string(runes[:60]) + "…"
	}
	return strconv.Quote(s)
}
