package rulefile

import (
	"fmt"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/slidegate/slidegate/rule"
)

// read makes a set of a rule file. It returns what could be read, or nil if
// there is nothing to check further.
func (r *reader) read(data []byte) *rule.Set {
	root, bad := parse(data)
	switch {
	case bad != nil:
		r.fault(0, bad, "")
		return nil
	case root == nil:
		r.bad("", "", "no rules: the file is empty")
		return nil
	}
	r.walk(0, root, "", 0)
	return r.top(value{name: "a rule file", node: root})
}

// fault reports that a file is no YAML; path is what it was read for.
func (r *reader) fault(file int32, f *fault, path string) {
	r.badAt(place{file, int32(f.line), int32(f.col)}, path, "", f.msg)
}

func (r *reader) top(v value) *rule.Set {
	fields, ok := r.fields(v, inFile)
	if !ok {
		return nil
	}
	set := &rule.Set{}
	versioned, ruled := false, false
	for _, f := range fields {
		switch f.name {
		case "version":
			versioned = true
			if !r.version(f) {
				return nil
			}
		case "attributes":
			set.Attributes = r.attributes(f)
		case "lists":
			set.Lists = r.listsOf(f)
		case "allow":
			set.Allow = r.matchers(f)
		case "deny":
			set.Deny = r.matchers(f)
		case "defaults":
			r.defaults(f, &set.Defaults)
		case "rules":
			ruled = true
			set.Rules = r.rules(f)
		}
	}
	if !versioned {
		r.bad("version", "", "version is missing: write version: 1 at the top")
	}
	if !ruled {
		r.bad("rules", "", "no rules: write rules: with a list below it")
	}
	return set
}

// version tells whether the rest of the file can be understood.
func (r *reader) version(v value) bool {
	if isNull(v.node) {
		r.bad(v.path, v.node.Value, "version is empty: write version: 1")
		return true
	}
	n, ok := r.integer(v)
	if ok && n != 1 {
		r.bad(v.path, v.node.Value, "this version is not known: write version: 1")
		return false
	}
	return true
}

// attributes returns nil if the mapping could not be read, so that no name in
// a rule is taken for undeclared.
func (r *reader) attributes(v value) map[string]rule.Attribute {
	entries, ok := r.entries(v, "attributes: {phone: {}, ip: {type: address}}")
	if !ok {
		return nil
	}
	attributes := make(map[string]rule.Attribute, len(entries))
	for _, e := range entries {
		attributes[e.name] = r.attribute(e)
	}
	return attributes
}

func (r *reader) attribute(v value) (a rule.Attribute) {
	if isNull(v.node) && v.node.Value == "" {
		r.bad(v.path, "", fmt.Sprintf("%s is empty: write %s: {}", v.name, v.name))
		return a
	}
	fields, _ := r.fields(v, inAttribute)
	for _, f := range fields {
		switch f.name {
		case "type":
			a.Type, _ = r.text(f)
		case "secret":
			a.Secret, _ = r.boolean(f)
		case "fold":
			a.Fold, _ = r.boolean(f)
		case "scale":
			if n, ok := r.integer(f); ok && n == int64(int32(n)) {
				scale := int(n)
				a.Scale = &scale
			} else if ok {
				r.bad(f.path, f.node.Value, "scale is 0 to 9")
			}
		}
	}
	return a
}

func (r *reader) defaults(v value, d *rule.Defaults) {
	fields, _ := r.fields(v, inDefaults)
	for _, f := range fields {
		switch f.name {
		case "zone":
			d.Zone, _ = r.text(f)
		case "missing_key":
			d.MissingKey, _ = r.text(f)
		case "on_store_error":
			d.OnStoreError, _ = r.text(f)
		case "shadow":
			d.Shadow, _ = r.boolean(f)
		case "message":
			d.Message = r.message(f)
		}
	}
}

func (r *reader) rules(v value) []rule.Rule {
	if isNull(v.node) || v.node.Kind == yaml.SequenceNode && len(v.node.Content) == 0 {
		r.bad(v.path, "", "no rules: write a list of at least one rule")
		return nil
	}
	items, _ := r.list(v, `begin each rule with "- name: "`)
	rules := make([]rule.Rule, len(items))
	r.names = make([]string, len(items))
	for i, it := range items {
		it.name = "a rule"
		rules[i] = r.rule(it)
		r.names[i] = rules[i].Name
	}
	return rules
}

func (r *reader) rule(v value) (u rule.Rule) {
	fields, _ := r.fields(v, inRule)
	for _, f := range fields {
		switch f.name {
		case "name":
			u.Name, _ = r.text(f)
		case "match":
			u.Match = r.matchers(f)
		case "except":
			u.Except = r.matchers(f)
		case "where":
			u.Where, _ = r.text(f)
		case "key":
			u.Key = r.texts(f)
		case "replaces":
			u.Replaces = r.texts(f)
		case "counts":
			u.Counts, _ = r.text(f)
		case "hold":
			u.Hold, _ = r.text(f)
		case "unsettled":
			u.Unsettled, _ = r.text(f)
		case "forget_after":
			u.ForgetAfter, _ = r.text(f)
		case "on_store_error":
			u.OnStoreError, _ = r.text(f)
		case "missing_key":
			u.MissingKey, _ = r.text(f)
		case "limits":
			u.Limits = r.limits(f)
		case "overrides":
			u.Overrides = r.overrides(f)
		case "zone":
			u.Zone, _ = r.text(f)
		case "message":
			u.Message = r.message(f)
		case "shadow":
			if is, ok := r.boolean(f); ok {
				u.Shadow = &is
			}
		}
	}
	return u
}

// texts returns a list of texts, with "" for what is none.
func (r *reader) texts(v value) []string {
	items, _ := r.list(v, "")
	out := make([]string, len(items))
	for i, it := range items {
		out[i], _ = r.text(it)
	}
	return out
}

// matchers returns the matchers of a list, or of a mapping that stands for
// one.
func (r *reader) matchers(v value) []rule.Matcher {
	switch {
	case !r.filled(v):
		return nil
	case v.node.Kind == yaml.ScalarNode:
		r.bad(v.path, v.node.Value, fmt.Sprintf("%s is a mapping: write %s: {event: %s}", v.name, v.name, inFlow(v.node.Value)))
		return nil
	case v.node.Kind == yaml.MappingNode:
		return []rule.Matcher{r.matcher(v)}
	case len(v.node.Content) == 0 && v.name == "match":
		r.bad(v.path, "", "match is empty: name an attribute, as in match: {event: login}, or leave match out to select all events")
		return nil
	}
	items, _ := r.list(v, "")
	out := make([]rule.Matcher, len(items))
	for i, it := range items {
		out[i] = r.matcher(it)
	}
	return out
}

func (r *reader) matcher(v value) rule.Matcher {
	entries, ok := r.entries(v, "{event: login}")
	if ok && len(entries) == 0 {
		r.bad(v.path, "", v.name+" is empty and would select all events: name an attribute, as in {event: login}")
	}
	m := make(rule.Matcher, len(entries))
	for _, e := range entries {
		m[e.name] = r.matcherValues(e)
	}
	return m
}

func (r *reader) matcherValues(v value) []rule.Value {
	if v.node.Kind == yaml.SequenceNode {
		if len(v.node.Content) == 0 {
			r.bad(v.path, "", v.name+" is an empty list and would never match: write a value, or leave it out")
		}
		items, _ := r.list(v, "")
		out := make([]rule.Value, len(items))
		for i, it := range items {
			out[i], _ = r.matcherValue(it)
		}
		return out
	}
	s, ok := r.matcherValue(v)
	if !ok {
		return nil
	}
	return []rule.Value{s}
}

// matcherValue returns a text, or the list that {list: NAME} stands for.
func (r *reader) matcherValue(v value) (rule.Value, bool) {
	if v.node.Kind == yaml.MappingNode {
		fields, ok := r.fields(v, inValue)
		if !ok || len(fields) == 0 {
			if ok && len(v.node.Content) == 0 {
				r.bad(v.path, "", "the value of an attribute is a text, or a list: write {list: NAME}")
			}
			return "", false
		}
		name, ok := r.text(fields[0])
		return rule.InList(name), ok
	}
	s, ok := r.scalar(v, "a text")
	if ok && strings.HasPrefix(s, "\x00") {
		r.bad(v.path, s, "a value does not begin with NUL")
		return "", false
	}
	return rule.Value(s), ok
}

// listsOf reads the lists at the top.
func (r *reader) listsOf(v value) map[string][]string {
	entries, _ := r.entries(v, "lists: {internal: [10.0.0.0/8]} or lists: {blocked: {file: PATH}}")
	lists := make(map[string][]string, len(entries))
	for _, e := range entries {
		lists[e.name] = r.listValues(e)
	}
	return lists
}

// listValues returns the values of a list, which may stand in a file.
func (r *reader) listValues(v value) []string {
	if v.node.Kind != yaml.MappingNode {
		items, _ := r.list(v, fmt.Sprintf("write %s: [a, b], or %s: {file: PATH}", v.name, v.name))
		out := make([]string, len(items))
		for i, it := range items {
			out[i], _ = r.text(it)
		}
		return out
	}
	fields, ok := r.fields(v, inList)
	if len(fields) == 0 {
		if ok && len(v.node.Content) == 0 {
			r.bad(v.path, "", "a list is its values, or a file: write {file: PATH}")
		}
		return nil
	}
	path, ok := r.text(fields[0])
	if !ok {
		return nil
	}
	return r.listFile(fields[0], path)
}

// listFile reads a list from a file: one value a line. Blank lines and comments
// are skipped.
func (r *reader) listFile(v value, path string) []string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, path)
	}
	data, err := readRegular(path)
	if err != nil {
		r.bad(v.path, v.node.Value, err.Error())
		return nil
	}
	r.size += len(data)
	if r.size > maxFiles || len(data) > maxFile {
		r.bad(v.path, v.node.Value, fmt.Sprintf("a list file has at most %d MiB, all files together %d", maxFile>>20, maxFiles>>20))
		return nil
	}
	text, bad := check(data)
	if bad != nil {
		r.bad(v.path, v.node.Value, fmt.Sprintf("%s:%d:%d: %s", path, bad.line, bad.col, bad.msg))
		return nil
	}
	var values []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			values = append(values, line)
		}
	}
	return values
}
