package rulefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/slidegate/slidegate/rule"
)

// limits returns one limit for each item, empty for what could not be read.
func (r *reader) limits(v value) []rule.Limit {
	items, ok := r.list(v, "")
	if ok && len(items) == 0 {
		r.bad(v.path, "", "limits is empty: a rule needs limits, as in limits: [100 per 1m]")
	}
	limits := make([]rule.Limit, len(items))
	for i, it := range items {
		limits[i] = r.limit(it)
	}
	return limits
}

func (r *reader) limit(v value) (l rule.Limit) {
	if v.node.Kind != yaml.MappingNode {
		if v.node.Kind == yaml.SequenceNode {
			r.bad(v.path, "", "a limit is a text or a mapping, not a list: take the inner brackets away")
			return l
		}
		l.Limit, _ = r.text(v)
		return l
	}
	fields, _ := r.fields(v, inLimit)
	for _, f := range fields {
		switch f.name {
		case "limit":
			l.Limit, _ = r.text(f)
		case "action":
			l.Action, _ = r.text(f)
		case "with":
			l.With, _ = r.text(f)
		case "lasts":
			l.Lasts = r.durations(f)
		case "keep_history":
			l.KeepHistory, _ = r.boolean(f)
		case "max_wait":
			l.MaxWait, _ = r.text(f)
		case "max_queue":
			l.MaxQueue = r.number(f)
		case "algorithm":
			l.Algorithm, _ = r.text(f)
		case "buckets":
			l.Buckets = r.number(f)
		case "burst":
			l.Burst = r.number(f)
		case "count_refused":
			l.CountRefused, _ = r.boolean(f)
		case "shadow":
			if is, ok := r.boolean(f); ok {
				l.Shadow = &is
			}
		case "message":
			l.Message = r.message(f)
		}
	}
	return l
}

// durations returns the texts of a list, or the one that stands for one.
func (r *reader) durations(v value) []string {
	if v.node.Kind != yaml.SequenceNode {
		text, ok := r.text(v)
		if !ok {
			return nil
		}
		return []string{text}
	}
	if len(v.node.Content) == 0 {
		r.bad(v.path, "", v.name+" is an empty list: say how long, such as lasts: 15m, or lasts: [1m, 5m, 1h]")
	}
	return r.texts(v)
}

// number returns an integer, nil if it could not be read.
func (r *reader) number(v value) *int64 {
	n, ok := r.integer(v)
	if !ok {
		return nil
	}
	return &n
}

// overrides returns the overrides of a list, or of the file that is named.
func (r *reader) overrides(v value) []rule.Override {
	const form = "write overrides: [{match: {user: acme}, limits: [1000 per 1m]}], or overrides: {file: PATH}"
	if v.node.Kind != yaml.MappingNode {
		items, _ := r.list(v, form)
		return r.overrideList(items)
	}
	entries, _ := r.entries(v, form)
	if len(entries) == 0 || slices.ContainsFunc(entries, func(e value) bool { return slices.Contains(inOverride.known(), e.name) }) {
		r.bad(v.path, "", "overrides is a list: "+form)
		return nil
	}
	if fields, _ := r.fields(v, inOverrides); len(fields) > 0 {
		return r.overrideFile(v, fields[0])
	}
	return nil
}

func (r *reader) overrideList(items []value) []rule.Override {
	out := make([]rule.Override, len(items))
	for i, it := range items {
		it.name = "an override"
		out[i] = r.override(it)
	}
	return out
}

func (r *reader) override(v value) (o rule.Override) {
	fields, _ := r.fields(v, inOverride)
	for _, f := range fields {
		switch f.name {
		case "match":
			o.Match = r.matchers(f)
		case "limits":
			o.Limits, o.Unlimited = r.overrideLimits(f)
		case "until":
			o.Until = r.until(f)
		}
	}
	return o
}

func (r *reader) overrideLimits(v value) (texts []string, unlimited bool) {
	if v.node.Kind == yaml.ScalarNode {
		if v.node.Value == "unlimited" {
			return nil, true
		}
		if nearest(v.node.Value, []string{"unlimited"}) != "" {
			r.bad(v.path, v.node.Value, "write limits: unlimited")
			return nil, false
		}
	}
	items, ok := r.list(v, "")
	if ok && len(items) == 0 {
		r.bad(v.path, "", "limits is empty: write limits: unlimited to lift the limits")
	}
	texts = make([]string, len(items))
	for i, it := range items {
		switch {
		case it.node.Kind == yaml.MappingNode:
			r.bad(it.path, "", "a limit of an override is a text, such as 1000 per 1m: its other fields stay those of the rule")
		case it.node.Value == "unlimited":
			r.bad(it.path, it.node.Value, "unlimited stands alone: write limits: unlimited")
		default:
			texts[i], _ = r.text(it)
		}
	}
	return texts, false
}

// until returns a date or time. It must be in quotes, since YAML has its own
// idea of what a bare date means.
func (r *reader) until(v value) string {
	s, ok := r.text(v)
	if ok && !isQuoted(v.node) {
		r.bad(v.path, s, "write it in quotes: until: "+quoted(s))
		return ""
	}
	return s
}

// sheet is a file of overrides that was read.
type sheet struct {
	file  int32
	root  *yaml.Node
	size  int
	fault *fault // it is no YAML
	err   error  // it could not be read
}

// overrideFile reads the overrides of v from the file that f names. Their
// paths are those of a list in the rule.
func (r *reader) overrideFile(v, f value) []rule.Override {
	path, ok := r.text(f)
	if !ok {
		return nil
	}
	s := r.open(path)
	r.size += s.size
	switch {
	case s.err != nil:
		r.bad(f.path, path, s.err.Error())
	case r.size > maxFiles:
		r.bad(f.path, path, fmt.Sprintf("the files of overrides are over %d MiB together", maxFiles>>20))
	case s.fault != nil:
		r.fault(s.file, s.fault, v.path)
	case s.root == nil:
		r.badAt(place{s.file, 1, 1}, v.path, "", "no overrides: the file is empty, write [] if that is meant")
	case s.root.Kind != yaml.SequenceNode:
		r.badAt(spot(s.file, s.root), v.path, "", `a file of overrides is a list: begin each override with "- match: "`)
	default:
		r.walk(s.file, s.root, v.path, 0)
		items, _ := r.list(value{name: v.name, path: v.path, node: s.root}, "")
		return r.overrideList(items)
	}
	return nil
}

// open reads a file of overrides, once.
func (r *reader) open(path string) *sheet {
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, path)
	}
	if s := r.lists[path]; s != nil {
		return s
	}
	s := &sheet{file: int32(len(r.files))}
	r.files = append(r.files, path)
	r.lists[path] = s
	data, err := readRegular(path)
	if err != nil {
		s.err = err
		return s
	}
	s.size = len(data)
	s.root, s.fault = parse(data)
	return s
}

// readRegular reads a file, but no pipe or device, which could block.
func readRegular(path string) ([]byte, error) {
	data, err := func() ([]byte, error) {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, errors.New("not a regular file")
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, maxFile+1))
	}()
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return data, nil
}
