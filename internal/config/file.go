package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/slidegate/slidegate/internal/spell"
)

// maxFile bounds the size of a file of settings.
const maxFile = 1 << 20

// Error is what is wrong at one place of a file.
type Error struct {
	File         string
	Line, Column int
	// Path is the setting, such as limits.body; empty where none is meant.
	Path string
	Msg  string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s:%d:%d: ", e.File, e.Line, e.Column)
	if e.Path != "" {
		text += e.Path + ": "
	}
	return text + e.Msg
}

// ReadFile reads a file of settings. Files that it names are looked up from its
// folder.
func (c *Config) ReadFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, errors.Unwrap(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return fmt.Errorf("%s: not a file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, errors.Unwrap(err))
	case len(data) > maxFile:
		return fmt.Errorf("%s: over %s; settings are a page", name, sizeText(maxFile))
	}
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return c.Parse(name, dir, data)
}

// Parse is ReadFile for bytes. All errors are joined, in the order of the file.
func (c *Config) Parse(name, dir string, data []byte) error {
	r := &reader{config: c, file: name, dir: dir}
	doc, err := compose(data)
	if err != nil {
		return r.broken(err)
	}
	if doc.Kind != 0 {
		r.mapping(doc, "")
	}
	slices.SortStableFunc(r.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var errs []error
	for _, e := range r.errs {
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// errMany is a file of several documents.
var errMany = errors.New("a second document begins in it: settings are one")

// compose returns the one document of a text, the zero node for an empty one.
func compose(data []byte) (root *yaml.Node, err error) {
	defer func() { // the library panics where it finds its own state wrong
		if v := recover(); v != nil {
			root, err = nil, fmt.Errorf("it cannot be read as YAML: %v", v)
		}
	}()
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var docs []yaml.Node
	for len(docs) < 2 {
		var doc yaml.Node
		if err := loader.Load(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	switch {
	case len(docs) > 1:
		return nil, errMany
	case len(docs) == 0 || len(docs[0].Content) == 0 || docs[0].Content[0].Tag == "!!null":
		return &yaml.Node{}, nil
	}
	return docs[0].Content[0], nil
}

// reader reads one file.
type reader struct {
	config    *Config
	file, dir string
	errs      []*Error
}

// broken places an error of the YAML library.
func (r *reader) broken(err error) error {
	e := &Error{File: r.file, Line: 1, Column: 1, Msg: err.Error()}
	if bad, ok := errors.AsType[*yaml.LoadError](err); ok {
		e.Line, e.Column, e.Msg = max(1, bad.Mark.Line), max(1, bad.Mark.Column), "not valid YAML: "+bad.Message
	}
	return e
}

func (r *reader) badf(n *yaml.Node, path, format string, args ...any) {
	r.errs = append(r.errs, &Error{File: r.file, Line: n.Line, Column: n.Column, Path: path, Msg: fmt.Sprintf(format, args...)})
}

// kind says in plain words what a node is.
func kind(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "an alias"
	case n.Tag == "!!null":
		return "nothing"
	}
	return "a value"
}

// pairs calls do for each name of a mapping and its value. A name that is unknown or
// given twice is an error.
func (r *reader) pairs(n *yaml.Node, path string, known []string, do func(name string, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.badf(n, path, "want names and values, got %s", kind(n))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		at := join(path, name.Value)
		switch {
		case name.Kind != yaml.ScalarNode || !slices.Contains(known, name.Value):
			r.badf(name, "", "%s", unknown(path, name.Value, known))
		case seen[name.Value]:
			r.badf(name, at, "it is given twice")
		case value.Anchor != "" || value.Kind == yaml.AliasNode:
			r.badf(value, at, "anchors and aliases are not taken: write the value out")
		case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
			r.badf(name, at, "it has no value; leave the line out, or write one")
		default:
			do(name.Value, value)
		}
		seen[name.Value] = true
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func unknown(path, name string, known []string) string {
	text := fmt.Sprintf("unknown setting %.60q", join(path, name))
	if near := spell.Nearest(name, known); near != "" {
		return text + "; did you mean " + near + "?"
	}
	where := "there are "
	if path != "" {
		where = path + " has "
	}
	return text + "; " + where + strings.Join(known, ", ")
}

// names are those under a path.
func names(under string) []string {
	all := []string{}
	for i := range settings {
		rest, ok := settings[i].path, true
		if under != "" {
			rest, ok = strings.CutPrefix(settings[i].path, under+".")
		}
		name, _, _ := strings.Cut(rest, ".")
		if ok && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if under == "" {
		all = append(all, "auth")
	}
	return all
}

// mapping reads the settings under a path.
func (r *reader) mapping(n *yaml.Node, path string) {
	r.pairs(n, path, names(path), func(name string, value *yaml.Node) {
		at := join(path, name)
		switch s := settingAt(at); {
		case at == "auth":
			r.auth(value)
		case s == nil:
			r.mapping(value, at)
		case s.list:
			r.list(value, s)
		default:
			r.value(value, s)
		}
	})
}

func (r *reader) value(n *yaml.Node, s *setting) {
	if n.Kind != yaml.ScalarNode {
		r.badf(n, s.path, "want one value, got %s", kind(n))
		return
	}
	text := n.Value
	if s.file && text != "" {
		text = r.lookUp(text)
	}
	if err := s.set(r.config, text); err != nil {
		r.badf(n, s.path, "%v", err)
	}
}

// lookUp returns the path of a file that is named in this one.
func (r *reader) lookUp(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.dir, name)
}

// list reads a list, or one value that stands for a list of it.
func (r *reader) list(n *yaml.Node, s *setting) {
	items := n.Content
	switch {
	case n.Kind == yaml.ScalarNode:
		items = []*yaml.Node{n}
	case n.Kind != yaml.SequenceNode:
		r.badf(n, s.path, "want a list, got %s", kind(n))
		return
	}
	r.config.Listen = nil // the only list
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", s.path, i)
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			r.badf(item, at, "want one value, got %s", kind(item))
			continue
		}
		if err := s.set(r.config, item.Value); err != nil {
			r.badf(item, at, "%v", err)
		}
	}
}

func (r *reader) auth(n *yaml.Node) {
	r.pairs(n, "auth", []string{"tokens"}, func(_ string, value *yaml.Node) {
		if value.Kind != yaml.SequenceNode {
			r.badf(value, "auth.tokens", "want a list, got %s", kind(value))
			return
		}
		r.config.Tokens = nil
		for i, item := range value.Content {
			r.token(item, fmt.Sprintf("auth.tokens[%d]", i))
		}
	})
}

func (r *reader) token(n *yaml.Node, path string) {
	t := Token{}
	r.pairs(n, path, []string{"name", "scopes", "file", "env"}, func(name string, value *yaml.Node) {
		if name == "scopes" {
			t.Scopes = r.scopes(value, path+".scopes")
			return
		}
		if value.Kind != yaml.ScalarNode || value.Value == "" {
			r.badf(value, join(path, name), "want one value, got %s", kind(value))
			return
		}
		switch name {
		case "name":
			t.Name = value.Value
		case "file":
			t.File = r.lookUp(value.Value)
		case "env":
			t.Env = value.Value
		}
	})
	r.config.Tokens = append(r.config.Tokens, t)
}

func (r *reader) scopes(n *yaml.Node, path string) []string {
	if n.Kind != yaml.SequenceNode {
		r.badf(n, path, "want a list of %s, got %s", strings.Join(Scopes, ", "), kind(n))
		return nil
	}
	var scopes []string
	for _, item := range n.Content {
		switch {
		case !slices.Contains(Scopes, item.Value):
			r.badf(item, path, "unknown scope %.40q; there are %s", item.Value, strings.Join(Scopes, ", "))
		case slices.Contains(scopes, item.Value):
			r.badf(item, path, "%s is given twice", item.Value)
		default:
			scopes = append(scopes, item.Value)
		}
	}
	return scopes
}
