package cond

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/parser/lexer"
)

// MaxText is the longest text of a condition, in bytes.
const MaxText = 4096

const (
	maxDepth = 50  // of parentheses, brackets and signs inside each other
	maxNodes = 500 // names, literals and operators; items of lists are bounded by MaxText
	maxWhole = 1<<53 - 1
)

// operators are the tokens of the language that are words of a condition.
var operators = []string{
	"==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", ".", ",",
	"and", "or", "not", "in", "startsWith", "endsWith", "contains", "matches",
}

// words cannot be the name of an attribute that stands bare.
var words = []string{
	"and", "or", "not", "in", "startsWith", "endsWith", "contains", "matches",
	"true", "false", "nil", "let", "if", "else",
}

// refused says what to write instead of tokens that the language has and
// conditions have not.
var refused = map[string]string{
	"&&":   "write and",
	"||":   "write or",
	"!":    "write not",
	"=":    "write == to compare",
	"|":    "conditions have no pipes",
	"?":    "conditions have no a ? b : c; write what is meant with and, or, not",
	"??":   "conditions have no ??; what has no value is unknown and never acts",
	"?.":   "conditions have no ?.; an attribute that is missing is unknown and never acts",
	"%":    "conditions have no remainder; the arithmetic is + - * /",
	"**":   "conditions have no powers; the arithmetic is + - * /",
	"^":    "conditions have no powers; the arithmetic is + - * /",
	"..":   "conditions have no ranges; write x >= 1 and x <= 5",
	"#":    "conditions have no closures",
	":":    "conditions have no slices and no a ? b : c",
	"::":   "conditions have no functions",
	";":    "a condition is one expression; join two with and, or",
	"{":    "conditions have no maps and no closures",
	"}":    "conditions have no maps and no closures",
	"let":  "conditions have no variables of their own",
	"if":   "conditions have no if; write what is meant with and, or, not",
	"else": "conditions have no else; write what is meant with and, or, not",
}

// read parses a text, after everything has been refused that is no word of
// conditions. It returns the tree and the characters that its places count.
func read(text string) (ast.Node, []rune, *Error) {
	if err := checkText(text); err != nil {
		return nil, nil, err
	}
	src := []rune(text)
	tokens, err := lexer.Lex(file.NewSource(text))
	if err != nil {
		return nil, nil, unreadable(err, src)
	}
	if err := checkTokens(tokens, src); err != nil {
		return nil, nil, err
	}
	tree, err := parser.ParseWithConfig(text, &conf.Config{MaxNodes: 2 * MaxText})
	if err != nil {
		return nil, nil, unexpected(err, tokens)
	}
	return tree.Node, src, nil
}

func checkText(text string) *Error {
	switch {
	case len(text) > MaxText:
		return &Error{Msg: fmt.Sprintf("the condition has %d bytes; at most %d; many values belong into a list under lists", len(text), MaxText)}
	case strings.TrimSpace(text) == "":
		return &Error{Msg: "the condition is empty; leave where out if all events are meant"}
	case !utf8.ValidString(text):
		return &Error{Msg: "the condition is not UTF-8"}
	}
	pos := 0
	for _, r := range text {
		if unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' {
			return errorAt(pos, `the control character %U; write \x%02x within quotes if it is meant`, r, r)
		}
		pos++
	}
	return nil
}

// checkTokens refuses what conditions have no use for, each with the way out.
func checkTokens(tokens []lexer.Token, src []rune) *Error {
	var brackets []lexer.Token
	signs, end := 0, 0
	for i, t := range tokens {
		from := t.From
		if t.Kind == lexer.EOF {
			from = len(src)
		}
		for ; end < from; end++ { // between tokens there is white space, or a comment
			if !unicode.IsSpace(src[end]) {
				return errorAt(end, "conditions have no comments; in the file, a comment begins with #")
			}
		}
		end = t.To
		if err := checkToken(tokens, i); err != nil {
			return err
		}
		if t.Kind == lexer.String && strings.ContainsRune(t.Value, utf8.RuneError) && !slices.Contains(src[t.From:t.To], utf8.RuneError) {
			return errorAt(t.From, `an escape in this text is half of a character; write the character itself, or \U and its eight digits`)
		}
		switch {
		case t.Is(lexer.Bracket, "(", "["):
			brackets = append(brackets, t)
		case t.Is(lexer.Bracket, ")", "]"):
			n := len(brackets) - 1
			if n < 0 || (brackets[n].Value == "(") != (t.Value == ")") {
				return errorAt(t.From, "this %s closes nothing", t.Value)
			}
			brackets = brackets[:n]
		case t.Is(lexer.Operator, "not", "-", "+"):
			signs++
		default:
			signs = 0
		}
		if len(brackets)+signs > maxDepth {
			return errorAt(t.From, "the condition nests more than %d deep", maxDepth)
		}
	}
	if n := len(brackets); n > 0 {
		return errorAt(brackets[n-1].From, "this %s is not closed", brackets[n-1].Value)
	}
	return nil
}

func checkToken(tokens []lexer.Token, i int) *Error {
	t := tokens[i]
	switch t.Kind {
	case lexer.Number:
		return checkNumber(t)
	case lexer.Bytes:
		return errorAt(t.From, `conditions have no bytes; write the text without the b before its quotes`)
	case lexer.Identifier:
		if strings.ContainsFunc(t.Value, func(r rune) bool { return r == '$' || r > unicode.MaxASCII }) {
			return errorAt(t.From, "%s is not the name of an attribute: letters of ASCII, digits, _ . -", clip(t.Value))
		}
		if tokens[i+1].Is(lexer.Bracket, "(") {
			return errorAt(t.From, "%s( calls a function, and conditions on events have none", clip(t.Value))
		}
	case lexer.Operator, lexer.Bracket:
		if t.Kind == lexer.Bracket && t.Value != "{" && t.Value != "}" || slices.Contains(operators, t.Value) {
			return nil
		}
		if i > 0 && tokens[i-1].Is(lexer.Operator, ".") && slices.Contains(words, t.Value) {
			return nil // a part of a name
		}
		way, ok := refused[t.Value]
		if !ok {
			way = "the operators are == != < <= > >= + - * / and or not in startsWith endsWith contains matches"
		}
		return errorAt(t.From, "%q is not a word of conditions: %s", t.Value, way)
	}
	return nil
}

// checkNumber takes numbers in decimal that a float64 holds. Whole numbers that
// it would round are refused, so that no comparison with a literal is wrong.
func checkNumber(t lexer.Token) *Error {
	s := strings.ReplaceAll(t.Value, "_", "")
	if len(s) > 1 && s[0] == '0' && strings.ContainsAny(s[1:2], "xXoObB") {
		return errorAt(t.From, "%s: write numbers in decimal", clip(t.Value))
	}
	if len(s) > 1 && s[0] == '0' && s[1] >= '0' && s[1] <= '9' {
		return errorAt(t.From, "%s begins with 0: write it without, or in quotes if the text is meant", clip(t.Value))
	}
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return errorAt(t.From, "the number %s is too large", clip(t.Value))
	case err != nil:
		return errorAt(t.From, "%s is not a number", clip(t.Value))
	case !strings.ContainsAny(s, ".eE") && math.Abs(f) > maxWhole:
		return errorAt(t.From, "%s is too large to be compared exactly (at most %d): write it in quotes, and it is compared as a text", clip(t.Value), int64(maxWhole))
	}
	return nil
}

// unreadable says in our words what the lexer stumbled over.
func unreadable(err error, src []rune) *Error {
	var e *file.Error
	if !errors.As(err, &e) {
		return &Error{Msg: err.Error()}
	}
	pos := min(max(e.From, 0), len(src)-1)
	switch {
	case strings.HasPrefix(e.Message, "literal not terminated"):
		return errorAt(pos, "the text is not closed: its quote is missing, or a line ends within it")
	case strings.HasPrefix(e.Message, "invalid char escape"), strings.HasPrefix(e.Message, "unable to unescape"):
		return errorAt(pos, `not an escape within quotes; write \\ for a backslash, or put the text between backquotes`)
	case strings.HasPrefix(e.Message, "unclosed comment"):
		return errorAt(pos, "conditions have no comments; in the file, a comment begins with #")
	case strings.HasPrefix(e.Message, "bad number"):
		return errorAt(pos, "a number and a name run together; a text stands in quotes")
	case strings.HasPrefix(e.Message, "unrecognized character"):
		return errorAt(pos, "%q is not a word of conditions; a text stands in quotes", src[pos])
	}
	return errorAt(pos, "%s", e.Message)
}

// unexpected says in our words where the parser gave up.
func unexpected(err error, tokens []lexer.Token) *Error {
	var e *file.Error
	if !errors.As(err, &e) {
		return &Error{Msg: err.Error()}
	}
	i := slices.IndexFunc(tokens, func(t lexer.Token) bool { return t.Location == e.Location })
	if i < 0 {
		return errorAt(max(e.From, 0), "%s", e.Message)
	}
	t := tokens[i]
	switch {
	case e.Message == "expected name": // the parser has read on
		return errorAt(t.From, `a name ends in a dot; such a name is written attr["…"]`)
	case t.Kind == lexer.EOF:
		return errorAt(t.From, "the condition ends where a name, a text or a number is wanted")
	case i > 0 && t.Value == ">" && tokens[i-1].Value == "<":
		return errorAt(t.From, "<> is not a word of conditions: write !=")
	case t.Kind == lexer.Number && strings.HasPrefix(t.Value, "."):
		return errorAt(t.From, `%s is a number; a name whose parts begin with digits is written attr["…"]`, clip(t.Value))
	case t.Kind == lexer.Identifier:
		for _, w := range operators {
			if strings.EqualFold(w, t.Value) {
				return errorAt(t.From, "%s is not a word of conditions: write %s", t.Value, w)
			}
		}
		return errorAt(t.From, "%s stands where an operator is wanted, such as == or and; a text stands in quotes", clip(t.Value))
	case t.Kind == lexer.String:
		return errorAt(t.From, "%s stands where it means nothing; an operator is missing before it", clip(quote(t.Value)))
	}
	return errorAt(t.From, "%s stands where it means nothing; a name, a text, a number or an operator is missing before it", clip(t.Value))
}
