package cond

import (
	"fmt"
	"strconv"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate"
)

// The attributes that generated conditions read, by type.
var (
	numberNames = []string{"n", "m", "x.y", `attr["a-b"]`}
	textNames   = []string{"s", "t", "u.v"}
	someNumbers = []float64{0, 1, 2, 2.5, -1, 10, 404, 1e6}
	someTexts   = []string{"", "a", "ab", "b", "GET", "日本", `q"\`, "\n"}
)

// drawNumber draws the text of a number.
func drawNumber(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 5).Draw(t, "number")
	if depth <= 0 {
		kind %= 3
	}
	switch kind {
	case 0, 1:
		return rapid.SampledFrom(numberNames).Draw(t, "name")
	case 2:
		return string(formatNumber(nil, rapid.SampledFrom(someNumbers).Draw(t, "literal")))
	case 3:
		return "-(" + drawNumber(t, depth-1) + ")"
	case 4: // never by zero, which is no value to us and infinite to others
		return parens(t, drawNumber(t, depth-1)+" / "+rapid.SampledFrom([]string{"2", "-1", "2.5"}).Draw(t, "divisor"))
	default:
		op := rapid.SampledFrom([]string{"+", "-", "*"}).Draw(t, "op")
		return parens(t, drawNumber(t, depth-1)+op+" "+drawNumber(t, depth-1))
	}
}

func drawText(t *rapid.T) string {
	if rapid.Bool().Draw(t, "name?") {
		return rapid.SampledFrom(textNames).Draw(t, "name")
	}
	return strconv.Quote(rapid.SampledFrom(someTexts).Draw(t, "text"))
}

func parens(t *rapid.T, s string) string {
	if rapid.Bool().Draw(t, "parentheses") {
		return "(" + s + ")"
	}
	return s
}

// drawCondition draws the text of a condition in which every type is told.
func drawCondition(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 9).Draw(t, "condition")
	if depth <= 0 {
		kind %= 6
	}
	maybeNot := func() string { return rapid.SampledFrom([]string{" ", " not "}).Draw(t, "not") }
	switch kind {
	case 0, 1:
		op := rapid.SampledFrom([]string{"==", "!=", "<", "<=", ">", ">="}).Draw(t, "op")
		return drawNumber(t, 2) + " " + op + " " + drawNumber(t, 2)
	case 2:
		op := rapid.SampledFrom([]string{"==", "!="}).Draw(t, "op")
		return drawText(t) + op + drawText(t)
	case 3:
		op := rapid.SampledFrom([]string{"startsWith", "endsWith", "contains"}).Draw(t, "op")
		return drawText(t) + maybeNot() + op + " " + drawText(t)
	case 4:
		items := ""
		for i, f := range rapid.SliceOfN(rapid.SampledFrom(someNumbers), 1, 12).Draw(t, "items") {
			if i > 0 {
				items += ", "
			}
			items += string(formatNumber(nil, f))
		}
		return drawNumber(t, 1) + maybeNot() + "in [" + items + "]"
	case 5:
		return drawText(t) + maybeNot() + "matches " + rapid.SampledFrom([]string{`"^a"`, `"b$"`, `'[A-Z]+'`, `""`}).Draw(t, "pattern")
	case 6:
		return "not (" + drawCondition(t, depth-1) + ")"
	default:
		op := rapid.SampledFrom([]string{"and", "or"}).Draw(t, "op")
		return parens(t, drawCondition(t, depth-1)+" "+op+" "+drawCondition(t, depth-1))
	}
}

// generatedScope declares the attributes of generated conditions.
func generatedScope() *Scope {
	return &Scope{Strict: true, Attrs: map[string]Type{"n": Number, "m": Number, "x.y": Number, "a-b": Number, "s": Text, "t": Text, "u.v": Text}}
}

// drawEvent draws an event that has each attribute, or, with gaps, some of them.
// The numbers and texts are those of the conditions, so that they often meet.
func drawEvent(t *rapid.T, gaps bool) (*slidegate.Event, map[string]any) {
	ev := &slidegate.Event{Name: "e"}
	env := map[string]any{}
	for name, typ := range generatedScope().Attrs {
		if gaps && rapid.IntRange(0, 2).Draw(t, "gap") == 0 {
			continue
		}
		if typ == Text {
			s := rapid.SampledFrom(someTexts).Draw(t, name)
			ev.Attrs = append(ev.Attrs, slidegate.String(name, s))
			env[name] = s
			continue
		}
		f := rapid.SampledFrom(someNumbers).Draw(t, name)
		switch rapid.IntRange(0, 2).Draw(t, "form") {
		case 0:
			ev.Attrs = append(ev.Attrs, slidegate.Float(name, f))
		case 1:
			ev.Attrs = append(ev.Attrs, literal(name, fmt.Sprintf("%.3f", f)))
		default:
			ev.Attrs = append(ev.Attrs, slidegate.String(name, strconv.FormatFloat(f, 'f', -1, 64)))
		}
		env[name] = f
	}
	return ev, env
}
