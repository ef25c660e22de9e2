package rulefile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/slidegate/slidegate/internal/spell"
)

// level is a kind of mapping in the rule file.
type level int

const (
	inFile level = iota
	inAttribute
	inDefaults
	inRule
	inLimit
	inOverride
	inOverrides // the mapping that names a file of overrides
	inValue     // {list: NAME}
	inList      // {file: PATH}
)

// known returns the fields of a level.
func (l level) known() []string {
	switch l {
	case inFile:
		return []string{"version", "attributes", "lists", "allow", "deny", "defaults", "rules"}
	case inAttribute:
		return []string{"type", "secret", "fold", "scale"}
	case inDefaults:
		return []string{"zone", "missing_key", "on_store_error", "shadow", "message"}
	case inRule:
		return []string{
			"name", "match", "except", "where", "key", "missing_key", "counts", "replaces", "limits", "overrides", "hold", "unsettled",
			"forget_after", "zone", "on_store_error", "message", "shadow",
		}
	case inLimit:
		return []string{
			"limit", "action", "with", "lasts", "keep_history", "max_wait", "max_queue", "algorithm", "buckets", "burst", "count_refused", "shadow", "message",
		}
	case inOverride:
		return []string{"match", "limits", "until"}
	}
	if l == inValue {
		return []string{"list"}
	}
	return []string{"file"}
}

// String names a level as in "it belongs in a limit".
func (l level) String() string {
	return [...]string{"at the top of the file", "in an attribute", "in defaults", "in a rule", "in a limit",
		"in an override", "in overrides", "in a value", "in a list"}[l]
}

// form is how a mapping of the level is written.
func (l level) form() string {
	switch l {
	case inFile:
		return "version: 1 and rules: with a list below it"
	case inAttribute:
		return "{type: text}, {type: address} or {type: number}"
	case inDefaults:
		return "defaults: {zone: UTC}"
	case inRule:
		return "{name: order-query, match: {event: order.query}, key: [user], limits: [100 per 1m]}"
	case inLimit:
		return "{limit: 100 per 1m, shadow: true}"
	}
	if l == inValue {
		return "{list: NAME}"
	}
	if l == inList {
		return "{file: PATH}"
	}
	return "{match: {user: acme}, limits: [1000 per 1m]}"
}

// fields returns the entries of a mapping that are known at its level, and
// reports the others.
func (r *reader) fields(v value, l level) ([]value, bool) {
	all, ok := r.entries(v, l.form())
	if !ok {
		return nil, false
	}
	known := l.known()
	out := all[:0]
	for i, f := range all {
		if slices.Contains(known, f.name) {
			out = append(out, f)
			continue
		}
		r.unknown(v, v.node.Content[2*i], f, l)
	}
	return out, true
}

// unknown reports a field that is not known, at its name.
func (r *reader) unknown(around value, key *yaml.Node, f value, l level) {
	at := spot(r.at(f.path).file, key)
	if r.more { // it would not be shown
		return
	}
	hint, meant := suggest(f.name, l)
	if hint == "" {
		hint = ": known here are " + strings.Join(l.known(), ", ")
	}
	r.badAt(at, f.path, "", "unknown field"+hint)
	if meant == "" {
		return
	}
	meant = join(around.path, meant)
	if _, there := r.places[meant]; !there {
		r.broken[meant] = true // that it is missing only follows
	}
}

// suggest says what was probably meant by an unknown name, and which field of
// the level that is.
func suggest(name string, l level) (hint, meant string) {
	switch name {
	case "ladder":
		return ": a ladder is a list of limits, write limits: [5 per 10m, 20 per 1h]", ""
	case "<<":
		return ": a rule file has no merge keys, write the fields out", ""
	}
	if near := nearest(name, l.known()); near != "" {
		return fmt.Sprintf(": did you mean %s?", near), near
	}
	for other := inFile; other <= inOverride; other++ {
		if slices.Contains(other.known(), name) {
			return fmt.Sprintf(": %s belongs %s", name, other), ""
		}
	}
	if lift := nearest(name, []string{"unlimited"}); lift != "" && l == inOverride {
		return ": write limits: unlimited", "limits"
	} else if lift != "" {
		return ": to lift the limits of some events, write overrides: [{match: {user: acme}, limits: unlimited}]", ""
	}
	return "", ""
}

// nearest returns the word that a name is most likely a misspelling of, or ""
// if none is near. Capitals and hyphens are how other tools write such names.
func nearest(name string, words []string) string {
	return spell.Nearest(strings.ReplaceAll(strings.ToLower(name), "-", "_"), words)
}
