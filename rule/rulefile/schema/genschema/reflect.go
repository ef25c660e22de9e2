package main

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/slidegate/slidegate/rule"
)

const (
	module = "github.com/slidegate/slidegate"
	id     = "https://raw.githubusercontent.com/slidegate/slidegate/main/" + output
)

// reflectSet returns the schema of a rule file: what reflection knows of
// [rule.Set], with the form in which a file writes each field.
func reflectSet() (*jsonschema.Schema, error) {
	comments, err := readComments()
	if err != nil {
		return nil, err
	}
	r := &jsonschema.Reflector{
		Anonymous: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
		KeyNamer: snake, Namer: func(t reflect.Type) string { return snake(t.Name()) },
		CommentMap: comments,
	}
	s := r.Reflect(&rule.Set{})
	s.ID = id
	forms := written()
	for name, def := range s.Definitions {
		if def.Properties == nil { // named has the form of what is no struct
			delete(s.Definitions, name)
			continue
		}
		if err := fill(name, def, forms[name]); err != nil {
			return nil, err
		}
	}
	if err := fill("set", s, forms["set"]); err != nil {
		return nil, err
	}
	for name, def := range named() {
		if s.Definitions[name] != nil {
			return nil, fmt.Errorf("%s is defined twice", name)
		}
		s.Definitions[name] = def
	}
	demands(s)
	return s, nil
}

// fill puts the forms of its fields into a level. The description stays.
func fill(level string, s *jsonschema.Schema, forms map[string]*jsonschema.Schema) error {
	s.Title = titles[level]
	if s.Title == "" || s.Description == "" {
		return fmt.Errorf("%s has no title or no description", level)
	}
	var errs []error
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		form := forms[p.Key]
		if form == nil {
			errs = append(errs, fmt.Errorf("%s.%s: say in written how a file writes it", level, p.Key))
			continue
		}
		if form.Description == "" {
			form.Description = p.Value.Description
		}
		if form.Description == "" {
			errs = append(errs, fmt.Errorf("%s.%s has no description", level, p.Key))
		}
		inMarkdown(form)
		p.Value = form
	}
	if level == "set" {
		s.Properties.Set("version", version())
		errs = append(errs, s.Properties.MoveToFront("version"))
		s.Properties.Delete("instances") // of the program that loads the file
	}
	if level == "override" {
		s.Properties.Delete("unlimited") // a word in the place of limits
	}
	return errors.Join(errs...)
}

// inMarkdown keeps variables of messages, which editors would take for HTML.
func inMarkdown(form *jsonschema.Schema) {
	text := reVariable.ReplaceAllString(form.Description, "`$0`")
	if text == form.Description {
		return
	}
	if form.Extras == nil {
		form.Extras = map[string]any{}
	}
	form.Extras["markdownDescription"] = text
}

// readComments returns the comments of package rule for people who write a file.
func readComments() (map[string]string, error) {
	r := &jsonschema.Reflector{}
	if err := r.AddGoComments(module, "rule", jsonschema.WithFullComment()); err != nil {
		return nil, err
	}
	const pkg = module + "/rule."
	all, names := map[string]string{}, map[string]bool{"Passed": true} // a field of events
	for key, text := range r.CommentMap {
		name, ours := strings.CutPrefix(key, pkg)
		level, field, _ := strings.Cut(name, ".")
		if ours && titles[strings.ToLower(level)] != "" {
			all[key], names[field] = text, true
		}
	}
	delete(names, "") // of the levels themselves
	for key, text := range all {
		_, field, _ := strings.Cut(strings.TrimPrefix(key, pkg), ".")
		if other, see := strings.CutPrefix(text, "see Rule."); see {
			all[key] = byDefault(forFile(r.CommentMap[pkg+"Rule."+other], field, slices.Sorted(maps.Keys(names))))
		} else {
			all[key] = forFile(text, field, slices.Sorted(maps.Keys(names)))
		}
	}
	return all, nil
}

// byDefault makes the description of a default of that of a field.
func byDefault(text string) string {
	before, _, _ := strings.Cut(text, " Left out,")
	return before + " For all rules that do not say otherwise."
}

var (
	reSee      = regexp.MustCompile(` \(see \[\w+\]\)`)
	reVariable = regexp.MustCompile(`<[a-zA-Z_.]+>`)
	reLink     = regexp.MustCompile(`\[([A-Z]\w+)\]`)
)

// forFile turns a Go comment of a field, or of a type if field is empty, into
// one for people who write a rule file. The names are those of all fields.
func forFile(text, field string, names []string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = strings.ReplaceAll(reSee.ReplaceAllString(text, ""), " (nil)", "")
	text = reLink.ReplaceAllStringFunc(text, func(link string) string {
		return map[string]string{"[InList]": "{list: NAME}", "[Rule]": "a rule", "[Set]": "the file", "[Message]": "messages"}[link]
	})
	for _, name := range names {
		inside := regexp.MustCompile(`([a-z,] )` + name + `\b`)
		text = inside.ReplaceAllString(text, "${1}"+snake(name))
	}
	if field == "" {
		return ofLevel(text)
	}
	if rest, ok := strings.CutPrefix(text, field+" "); ok {
		text = snake(field) + " " + rest
	}
	return text
}

// ofLevel gives the comment of a type the article that Go leaves out, and takes
// out what it says about the zero value.
func ofLevel(text string) string {
	text, _, _ = strings.Cut(text, " The zero ")
	first, _, _ := strings.Cut(text, " ")
	switch {
	case strings.HasSuffix(first, "s"):
		return text
	case strings.ContainsRune("AO", rune(first[0])):
		return "An " + strings.ToLower(text[:1]) + text[1:]
	}
	return "A " + strings.ToLower(text[:1]) + text[1:]
}

var reUpper = regexp.MustCompile(`([a-z])([A-Z])`)

// snake writes a Go name as a file does.
func snake(name string) string {
	return strings.ToLower(reUpper.ReplaceAllString(name, "${1}_${2}"))
}
