package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

// hostile are texts that somebody might send to meet the window of another, to
// break what keeps them, or to forge a line of a log.
func hostile() []string {
	return []string{
		"", " ", "a", "A", "a ", "\x00", "\x00\x00", "a\x00", "\x00a", "-", "--", ":", "1:", "1:a", "|", "1|", "1|1:a", "2:a1", "#", "#64:",
		"a,b", "a;b", "a:b", "a|b", "a/b", "a_b", "{a}", "{", "}", "}{", "{a}b", "a{b}", "sg1:{0}:r", "\n", "\r\n", "a\nb", "\t",
		"\xff", "\xfe", "\xff\xfe", "a\xff", "\xc3\x28", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\ufffd", // no UTF-8, and what stands for it
		"а", "а ", "ａ", "á", "a\u0301", "K", "\u212a", "ﬁ", "fi", "\u200b", "\u200ba", "\u202e", "\ufeff", "a\u00ad", // look-alikes and what is not seen
		"007", "7", "7.0", "1e3", "1000", "0x7", "true", "null", "NaN",
		"\x1b[31m", "\x1b]0;x\x07", "\u0085", "\u2028", "%n%s", "<key.b>", "<retry_after>", "${x}", "';--",
		strings.Repeat("x", 1024), strings.Repeat("x", 1025), strings.Repeat("x", 1026), strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20) + "y",
		strings.Repeat("\x00", 1<<20), strings.Repeat("\xff", 1025),
	}
}

// TestHostileKeys: no two keys of two parts share a window, and none breaks
// anything.
func TestHostileKeys(t *testing.T) {
	g := newGate(t, compile(t,
		rule.Rule{Name: "pair", Key: []string{"a", "b"}, MissingKey: "shared", Limits: limits("1 per 1h")},
		rule.Rule{Name: "either", Key: []string{"a|b"}, MissingKey: "skip", Limits: limits("100k per 1h")},
		rule.Rule{Name: "spread", Limits: limits("10k distinct(a) per 1h")},
	), Options{})
	texts := hostile()
	for i, a := range texts {
		for j, b := range texts {
			if d := check(t, g, event("e", slidegate.String("a", a), slidegate.String("b", b))); !d.Admitted() {
				t.Fatalf("%q, %q (%d, %d) met the window of another", clip(a), clip(b), i, j)
			}
		}
		for _, attrs := range [][]slidegate.Attr{{slidegate.String("a", a)}} {
			if d := check(t, g, event("e", attrs...)); !d.Admitted() {
				t.Fatalf("%q alone met the window of another", clip(a))
			}
		}
	}
	for _, a := range texts {
		for _, b := range texts {
			if d := check(t, g, event("e", slidegate.String("a", a), slidegate.String("b", b))); d.Admitted() {
				t.Fatalf("%q, %q has a second window", clip(a), clip(b))
			}
		}
	}
	ws, err := g.Query(context.Background(), "spread")
	if err != nil || ws[0].Used != int64(len(texts)) {
		t.Errorf("%d different members of %d, %v", ws[0].Used, len(texts), err)
	}
}

func clip(s string) string { return s[:min(len(s), 40)] }

// TestHostileTexts: what comes from an event is never shown as it is: not in a
// message, an error, an explanation or JSON, so that nobody can write into a log.
func TestHostileTexts(t *testing.T) {
	set := &rule.Set{
		Attributes: map[string]rule.Attribute{"a": {}, "b": {}, "ip": {Type: "address"}, "v": {Type: "number"}, "phone": {Secret: true}},
		Rules: []rule.Rule{
			{Name: "r", Key: []string{"a"}, Limits: []rule.Limit{{Limit: "0 per 1h", Message: "not <key.a>, wait <retry_after>"}}},
			{Name: "m", Match: []rule.Matcher{{"b": {"x"}}}, Key: []string{"phone", "ip"}, MissingKey: "skip", Limits: limits("9 sum(v) per 1h")},
		},
	}
	plan, _, err := rule.Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, plan, Options{})
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	for _, text := range hostile() {
		if len(text) > 4096 {
			continue
		}
		d := check(t, g, event("e", slidegate.String("a", text), slidegate.String("phone", "555"+text)))
		harmless(t, "message", d.Message)
		body, err := json.Marshal(d)
		if err != nil || !utf8.Valid(body) || bytes.ContainsFunc(body, unicode.IsControl) {
			t.Errorf("%q: %s, %v", text, body, err)
		}
		logger.Info("refused", "message", d.Message, "rule", d.Rule)
		for _, ev := range []slidegate.Event{
			event("e", slidegate.String("b", "x"), slidegate.String("ip", "ip"+text), slidegate.String("phone", "555"+text)),
			event("e", slidegate.String("b", "x"), slidegate.String("ip", "192.0.2.1"), slidegate.String("phone", "555"), slidegate.String("v", "v"+text)),
			event("e", slidegate.String(text, "x"), slidegate.String(text, "x")),
		} {
			_, err := g.Check(context.Background(), ev)
			if err == nil {
				t.Fatalf("%q is no error", text)
			}
			harmless(t, "error", strings.ReplaceAll(err.Error(), "\n", " "))
			if strings.Contains(err.Error(), "555") {
				t.Errorf("an error shows a secret: %v", err)
			}
		}
		x, err := g.Explain(context.Background(), event("e", slidegate.String("a", text), slidegate.String("b", text), slidegate.String("phone", "555"+text)))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range x.Rules {
			harmless(t, "explanation", r.Why)
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines != strings.Count(log.String(), "level=INFO msg=refused ") {
		t.Errorf("%d lines of a log for %d messages", lines, strings.Count(log.String(), "msg=refused"))
	}
}

// harmless fails if a text holds what a terminal or a log takes for more than a
// letter.
func harmless(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) }) {
		t.Errorf("%s: %q", what, text)
	}
}
