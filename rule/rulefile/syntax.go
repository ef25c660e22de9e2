package rulefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
)

// deep is what is said of a file that is nested too deep.
const deep = "lists and mappings are nested more than 32 levels deep"

// parse turns a text into the node of its one document, nil if there is none.
func parse(data []byte) (*yaml.Node, *fault) {
	data, bad := check(data)
	if bad != nil {
		return nil, bad
	}
	docs, err := compose(data)
	switch {
	case err != nil:
		return nil, explain(data, err)
	case len(docs) > 1:
		line, col := clamp(data, docs[1].Line, docs[1].Column)
		return nil, &fault{line, col, "a second document begins here: a rule file is one"}
	case len(docs) == 0 || len(docs[0].Content) == 0 || isNull(docs[0].Content[0]):
		return nil, nil
	}
	return docs[0].Content[0], nil
}

// compose calls the YAML library for the first two documents of a text.
func compose(data []byte) (docs []yaml.Node, err error) {
	// The library panics where it finds its own state wrong ("internal error
	// … please report"). Only its calls are guarded here.
	defer func() {
		if v := recover(); v != nil {
			docs, err = nil, fmt.Errorf("the YAML library cannot read this file: %v", v)
		}
	}()
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(policy{}))
	if err != nil {
		return nil, err
	}
	for len(docs) < 2 {
		var doc yaml.Node
		switch err := loader.Load(&doc); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// policy is what the YAML library asks for while it reads. It bounds the
// depth, and lets every alias pass, known or not, so that the walk over the
// nodes can report all of them with all else that is wrong.
type policy struct{}

// CheckDepth implements [yaml.LoaderLimitsPlugin].
func (policy) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > maxDepth {
		return errors.New(deep)
	}
	return nil
}

// CheckAlias implements [yaml.LoaderLimitsPlugin]: aliases are never expanded.
func (policy) CheckAlias(int, int) error { return nil }

// NewAliasDataContext implements [yaml.AliasDataPlugin].
func (p policy) NewAliasDataContext(yaml.AliasDataServices) (yaml.AliasDataContext, error) {
	return p, nil
}

// BeginDocument, EndDocument, DefineAnchor and ResolveAlias implement
// [yaml.AliasDataContext].
func (policy) BeginDocument() error                  { return nil }
func (policy) EndDocument() error                    { return nil }
func (policy) DefineAnchor(string, *yaml.Node) error { return nil }
func (policy) ResolveAlias(string) (*yaml.Node, bool, error) {
	return &yaml.Node{Kind: yaml.ScalarNode}, true, nil
}

// explain turns an error of the YAML library into a place and a sentence.
func explain(data []byte, err error) *fault {
	var e *yaml.LoadError
	if !errors.As(err, &e) {
		return &fault{1, 1, err.Error()}
	}
	at := e.Mark
	if e.ContextMark.Line > 0 && atStart(e) {
		at = e.ContextMark
	}
	line, col := clamp(data, at.Line, at.Column)
	if text, start := bareStar(lineOf(data, line), col); text != "" {
		return &fault{line, start, quoteStar(text)}
	}
	if msg := scanning(e, rest(lineOf(data, line), col)); msg != "" {
		return &fault{line, col, msg}
	}
	if msg := parsing(e); msg != "" {
		return &fault{line, col, msg}
	}
	msg := e.Message
	if e.ContextMsg != "" {
		msg = e.ContextMsg + ": " + msg
	}
	return &fault{line, col, "not valid YAML: " + msg}
}

// atStart tells whether an error is better shown where the construct begins
// than where the library gave up.
func atStart(e *yaml.LoadError) bool {
	switch e.Message {
	case "found unexpected end of stream", "found unexpected document indicator",
		"could not find expected ':'", "did not find expected alphabetic or numeric character":
		return true
	}
	return false
}

// scanning explains errors about characters; text begins where the error is.
func scanning(e *yaml.LoadError, text string) string {
	switch e.Message {
	case deep:
		return deep
	case "found character that cannot start any token":
		if strings.HasPrefix(text, "\t") {
			return "a tab: indent with spaces"
		}
		return "a text that begins with @, % or ` must be in quotes"
	case "found a tab character that violates indentation",
		"found a tab character where an indentation space is expected",
		"found mixed spaces and tabs in indentation":
		return "a tab: indent with spaces"
	case "found unexpected end of stream", "found unexpected document indicator":
		return "the quote that begins here is never closed"
	case "found unknown escape character", "found invalid Unicode character escape code",
		"did not find expected hexadecimal number":
		return `not an escape that YAML knows: write \\ for a backslash, or put the text in single quotes`
	case "could not find expected ':'":
		return "this line is no name: value; a list item begins with \"- \", and a long text must be in quotes"
	case "did not find expected alphabetic or numeric character":
		return "a text that begins with * or & must be in quotes"
	case "found a comment without preceding whitespace":
		return "put a space before the comment, or the text in quotes"
	case "found undefined tag handle", "did not find the expected '>'", "did not find expected tag URI":
		return "a text that begins with ! must be in quotes"
	}
	return ""
}

// parsing explains errors about the structure.
func parsing(e *yaml.LoadError) string {
	from := fmt.Sprintf("that begins on line %d", e.ContextMark.Line)
	switch e.Message {
	case "mapping values are not allowed in this context":
		return `a ": " cannot stand here: put the text in quotes, or look at the indentation`
	case "did not find expected ',' or ']'":
		return `expected a comma or "]" here: the list ` + from + " is not closed, or a text in it needs quotes"
	case "did not find expected ',' or '}'":
		return `expected a comma or "}" here: the mapping ` + from + " is not closed, or a text in it needs quotes"
	case "did not find expected key":
		return "this does not fit into the mapping " + from + ": look at the indentation, and for a text behind a closed quote"
	case "did not find expected '-' indicator":
		return `this does not fit into the list ` + from + `: begin each item with "- " at the same indentation`
	case "did not find expected node content":
		return "expected a value: a text that begins with , [ ] { or } must be in quotes"
	case "block sequence entries are not allowed in this context":
		return `a list item cannot begin here: put "- " on a line of its own`
	case "did not find expected <document start>":
		return "the file should have ended here: look at the indentation"
	}
	return ""
}

// rest is a line from a column on, from 1.
func rest(line []byte, col int) string {
	for i := range string(line) {
		if col--; col == 0 {
			return string(line[i:])
		}
	}
	return ""
}

// bareStar finds the unquoted text that an error at a column of a line came
// from, if it begins with *, and the column where it begins.
func bareStar(line []byte, col int) (text string, start int) {
	runes := []rune(string(line))
	col = min(col, len(runes))
	for i := col - 1; i >= 0; i-- {
		if runes[i] == '*' && opens(runes[:i]) {
			text, _, _ := strings.Cut(string(runes[i:]), " #")
			if j := strings.IndexAny(text, ",[]{}"); j >= 0 {
				text = text[:j]
			}
			return strings.TrimSpace(text), i + 1
		}
		if strings.ContainsRune(`,[]{}"'#`, runes[i]) && i < col-1 {
			return "", 0
		}
	}
	return "", 0
}

// opens tells whether a value begins after these characters.
func opens(before []rune) bool {
	last := len(before) - 1
	for last >= 0 && before[last] == ' ' {
		last--
	}
	if last < 0 {
		return false
	}
	switch before[last] {
	case '[', '{', ',':
		return true
	case ':', '-':
		return last < len(before)-1
	}
	return false
}

// quoteStar says what to write for a text that begins with a bare *.
func quoteStar(text string) string {
	return "write " + quoted(text) + " in quotes: YAML takes a bare * for an alias"
}
