package rulefile

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/slidegate/slidegate/rule"
)

// place is where a value stands. The file is an index into reader.files.
type place struct{ file, line, col int32 }

// found is an error and its place, by which errors are sorted.
type found struct {
	at  place
	err *rule.Error
}

// mark tells two reports of the same thing from two things at one place.
type mark struct {
	at  place
	msg string
}

// reader is the state of reading one rule file.
//
// Paths, such as rules[0].limits[1].burst, are those of [rule.Error]. A single
// matcher is the first of a list: its attributes stand at match[0].phone.
type reader struct {
	dir     string
	files   []string          // names of the files read, the rule file first
	places  map[string]place  // of every value, by its path
	names   []string          // of the rules, "" where there is none
	lists   map[string]*sheet // files of overrides, by their path
	anchors map[string]bool   // names of anchors met
	size    int               // bytes of the files of overrides

	found  []found
	more   bool            // errors were left out
	seen   map[mark]bool   // what was reported
	faulty map[place]bool  // where it was reported
	broken map[string]bool // paths of what could not be read
	around map[string]bool // paths of what holds something wrong
}

func newReader(name, dir string) *reader {
	return &reader{
		dir:     dir,
		files:   []string{name},
		places:  map[string]place{"": {line: 1, col: 1}},
		lists:   map[string]*sheet{},
		anchors: map[string]bool{},
		seen:    map[mark]bool{},
		faulty:  map[place]bool{},
		broken:  map[string]bool{},
		around:  map[string]bool{},
	}
}

// spot is the place of a node.
func spot(file int32, n *yaml.Node) place {
	return place{file: file, line: int32(n.Line), col: int32(n.Column)}
}

// at is the place of the value at path, or of the nearest value around it.
func (r *reader) at(path string) place {
	for p := r.canonical(path); ; p = parent(p) {
		if at, ok := r.places[p]; ok {
			return at
		}
	}
}

// bad reports what is wrong with the value at path.
func (r *reader) bad(path, value, msg string) { r.badAt(r.at(path), path, value, msg) }

// badAt is bad for what has a place of its own, such as a name.
func (r *reader) badAt(at place, path, value, msg string) {
	r.odd(at, path, value, msg)
	r.broken[path] = true
}

// odd reports something that does not keep the value at path from being read.
func (r *reader) odd(at place, path, value, msg string) {
	r.add(at, &rule.Error{Path: path, Value: value, Msg: msg})
	r.faulty[at] = true
	for ; !r.around[path]; path = parent(path) {
		r.around[path] = true
	}
}

// add keeps an error, once.
func (r *reader) add(at place, e *rule.Error) {
	m := mark{at: at, msg: e.Msg}
	switch {
	case r.seen[m]:
		return
	case len(r.found) == maxErrors:
		r.more = true
		return
	}
	r.seen[m] = true
	e.File, e.Line, e.Column = r.files[at.file], int(at.line), int(at.col)
	r.found = append(r.found, found{at: at, err: e})
}

// merge adds the errors of the compiler, except those that only follow from
// what could not be read.
func (r *reader) merge(err error) {
	if err == nil {
		return
	}
	var errs rule.Errors
	if !errors.As(err, &errs) {
		errs = rule.Errors{{Msg: err.Error()}}
	}
	for _, e := range errs {
		at := r.at(e.Path)
		if r.faulty[at] || r.follows(r.canonical(e.Path)) {
			continue
		}
		c := *e
		c.Path = r.written(e.Path)
		r.add(at, &c)
	}
}

// written is the path of a value as the file has it: a limit that is a plain
// text has no field called limit.
func (r *reader) written(path string) string {
	text, ok := strings.CutSuffix(path, ".limit")
	if _, long := r.places[path]; ok && !long {
		return text
	}
	return path
}

// follows tells whether the value at path could not be read, lies in one that
// could not, or holds one that could not.
func (r *reader) follows(path string) bool {
	if r.around[path] {
		return true
	}
	for p := path; p != ""; p = parent(p) {
		if r.broken[p] {
			return true
		}
	}
	return r.broken[""]
}

// errors returns all errors in the order of the files.
func (r *reader) errors() rule.Errors {
	slices.SortStableFunc(r.found, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.at.file, b.at.file),
			cmp.Compare(a.at.line, b.at.line), cmp.Compare(a.at.col, b.at.col))
	})
	errs := make(rule.Errors, 0, len(r.found)+1)
	for _, f := range r.found {
		if f.err.Rule == "" {
			f.err.Rule = r.ruleOf(f.err.Path)
		}
		errs = append(errs, f.err)
	}
	if r.more {
		last := errs[len(errs)-1]
		errs = append(errs, &rule.Error{File: last.File, Line: last.Line, Column: last.Column,
			Msg: "there are more errors: only " + strconv.Itoa(maxErrors) + " are shown"})
	}
	return errs
}

// locate returns warnings with their places, in the order of the files.
func (r *reader) locate(warnings []*rule.Error) []*rule.Error {
	slices.SortStableFunc(warnings, func(a, b *rule.Error) int {
		p, q := r.at(a.Path), r.at(b.Path)
		return cmp.Or(cmp.Compare(p.file, q.file), cmp.Compare(p.line, q.line), cmp.Compare(p.col, q.col))
	})
	out := make([]*rule.Error, len(warnings))
	for i, w := range warnings {
		at, c := r.at(w.Path), *w
		c.Path = r.written(w.Path)
		c.File, c.Line, c.Column = r.files[at.file], int(at.line), int(at.col)
		out[i] = &c
	}
	return out
}

// ruleOf names the rule that path leads into: by its name, or as rules[3] if
// it has none that can be shown; "" outside of rules.
func (r *reader) ruleOf(path string) string {
	rest, ok := strings.CutPrefix(path, "rules[")
	if !ok {
		return ""
	}
	digits, _, _ := strings.Cut(rest, "]")
	i, err := strconv.Atoi(digits)
	if err != nil {
		return ""
	}
	if i < len(r.names) && showable(r.names[i]) {
		return r.names[i]
	}
	return "rules[" + digits + "]"
}

// showable tells whether a name fits into a line of output.
func showable(name string) bool {
	return name != "" && len(name) <= 80 && strings.IndexFunc(name, unicode.IsControl) < 0
}

// parent is the path around a path, "" at the end.
func parent(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

// join is the path of an entry of the mapping at path.
func join(path, name string) string {
	switch {
	case path == "":
		return name
	case single(path):
		return path + "[0]." + name
	}
	return path + "." + name
}

// item is the path of an item of the list at path.
func item(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// single tells whether a mapping at path is a matcher that stands for a list.
func single(path string) bool {
	return strings.HasPrefix(path, "rules[") &&
		(strings.HasSuffix(path, ".match") || strings.HasSuffix(path, ".except"))
}

// canonical writes the path of a single matcher as that of a list.
func (r *reader) canonical(path string) string {
	if _, ok := r.places[path]; ok || !strings.HasPrefix(path, "rules[") {
		return path
	}
	for _, list := range []string{".match", ".except"} {
		if before, after, ok := strings.Cut(path, list+"."); ok {
			return before + list + "[0]." + after
		}
	}
	return path
}
