package cond

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/slidegate/slidegate"
)

var seeds = []string{
	`links > 0`, `status in [404, 410] and not (country in trusted)`, `a.b == 'x' or attr["a-b"] not in ["y"]`, `-(a + b) * 2 / c - 1 >= .5`, `ip == "::1"`, `ip in ["192.0.2.1"]`,
	`event matches "^sms\\." and hour < 8`, "s == `raw`", `a ?? b`, `not a == b`, `a < b < c`, `count(a, {# > 1})`, `a[1:2]`, `"\ud800" == a`, `a == 1e999`, `let x = 1; x`, `if a {b} else {c}`,
	`a?.b[0].c()`, `a | map(#)`, `b"\xff" == a`, `((((((((`, `a == "`, `/* `, `a not`, `not not not`, `a.`, `attr["`, `attr[""] == 1`, `x in lists["trusted"]`, `weekday == 7`, `1_0 == 10`, `a in [-1, - -2]`,
}

func fuzzScope() *Scope {
	return &Scope{Attrs: map[string]Type{"ip": Address, "s": Text, "n": Number, "a-b": Text}, Lists: lists(listsOf{"trusted": inOffice, "x-y": inOffice})}
}

// FuzzCompile: a text is refused with a sentence about a place in it, or has a
// canonical form that reads as itself.
func FuzzCompile(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		scope := fuzzScope()
		c, err := Compile(text, scope)
		if err != nil {
			var es Errors
			if !errors.As(err, &es) || len(es) == 0 || len(es) > maxErrors {
				t.Fatalf("%d errors", len(es))
			}
			for _, e := range es {
				if e.Pos < 0 || e.Pos > utf8.RuneCountInString(text)+1 || e.Msg == "" || !utf8.ValidString(e.Msg) || len(e.Msg) > 600 {
					t.Fatalf("%q: %+v", text, e)
				}
			}
			return
		}
		again, err := Compile(c.String(), scope)
		if err != nil {
			if len(c.String()) > MaxText {
				return // quotes and spaces may need more than the text did
			}
			t.Fatalf("%q: the canonical form %q: %v", text, c, err)
		}
		if again.String() != c.String() {
			t.Fatalf("%q: the canonical form %q reads as %q", text, c, again)
		}
	})
}

// FuzzEval: whatever the event holds, a condition and its canonical form come
// to the same, and not to change.
func FuzzEval(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "192.0.2.1", "12", 1.5, int64(7), int64(1_700_000_000_000_000))
	}
	f.Fuzz(func(t *testing.T, text, s, spelled string, x float64, n, now int64) {
		c, err := Compile(text, fuzzScope())
		if err != nil {
			return
		}
		ev := &slidegate.Event{Name: s, Cost: slidegate.CostOf(n)}
		values := []slidegate.Attr{slidegate.String("", s), slidegate.Float("", x), slidegate.Int("", n), slidegate.String("", spelled)}
		if v, err := slidegate.NumberValue(spelled); err == nil {
			values = append(values, slidegate.Attr{Value: v})
		}
		for i, name := range c.Attrs() {
			if k := (i + int(now&7)) % (len(values) + 1); k < len(values) {
				ev.Attrs = append(ev.Attrs, slidegate.Attr{Name: name, Value: values[k].Value})
			}
		}
		got := c.Eval(ev, now)
		if got != True && got != False && got != Unknown || got != c.Eval(ev, now) {
			t.Fatalf("%q: %v", text, got)
		}
		again, err := Compile(c.String(), fuzzScope())
		if err == nil && again.Eval(ev, now) != got {
			t.Fatalf("%q: %v, and the canonical form %q: %v", text, got, c, again.Eval(ev, now))
		}
	})
}
