package rulefile

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A schema must never refuse what the loader accepts. The tests of this file
// hold it to that with texts and files that are mostly, but not always, right.

// gen makes a text.
type gen func(*rand.Rand) string

func oneOf(words ...string) gen {
	return func(r *rand.Rand) string { return words[r.IntN(len(words))] }
}

// quoted makes a text in quotes.
func (g gen) quoted() gen { return func(r *rand.Rand) string { return inJSON(g(r)) } }

// some is one of the words, but for one time in n, when it is what other says.
func some(r *rand.Rand, n int, other gen, words ...string) string {
	if r.IntN(n) == 0 {
		return other(r)
	}
	return oneOf(words...)(r)
}

// blanks are what the loader trims, and some that it does not.
func blanks(r *rand.Rand) string {
	return some(r, 4, oneOf(" ", " ", "  ", "\t", "\u00a0", "\u3000", "\u0085", "\v", "\ufeff", " \t ", "\n"), "")
}

var limits = gen(func(r *rand.Rand) string {
	b := func() string { return blanks(r) }
	maximum := some(r, 12, oneOf("1.5", "-1", "1e3", "", "0x1", "1_", "９", "1Kb"), "0", "1", "007", "10_000", "5", "2k", "1k", "100", "2Ki")
	measure := some(r, 12, oneOf("failures", "sum", "sum()", "sum(1)", "p99(a)", "where", "distinct a", "Count"),
		"", "", " count", " sum("+b()+"bytes"+b()+")", " distinct("+b()+"phone"+b()+")", " inflight")
	if strings.HasPrefix(measure, " sum") {
		maximum = some(r, 4, oneOf(maximum), "199.99", "1.5k", "0.001")
	}
	where := some(r, 12, oneOf("where", " where ", " where\tx > 1", " where 1"),
		"", "", "", "", "", " where links > 0", b()+" where links > 0", " where(a == 1)", ` where a == " per 1h"`, ` where a == 'x "'`, " where a == \"sum(\"",
		` where a in ["where", "inflight"]`, " where a contains \"per calendar day\"")
	window := some(r, 12, oneOf("minute", "1M", "60", "0s", "1.5h", "1h30m", "10 event", "Calendar day", "-1s", " ", "1 m"),
		"1m", "60s", "1000ms", "24h", "30d", "007s", "10 events", "010 events", "calendar hour", "calendar week", "calendar year")
	if r.IntN(10) == 0 || measure == " inflight" {
		return b() + maximum + b() + measure + where + b()
	}
	return b() + maximum + b() + measure + where + b() + " per " + b() + window + b()
})

// mutated is a text with a few characters taken out, doubled or put in.
func mutated(texts gen) gen {
	return func(r *rand.Rand) string {
		runes := []rune(texts(r))
		for range max(0, r.IntN(5)-2) {
			if len(runes) == 0 {
				break
			}
			at := r.IntN(len(runes))
			switch r.IntN(3) {
			case 0:
				runes = append(runes[:at], runes[at+1:]...)
			case 1:
				runes = append(runes[:at+1], runes[at:]...)
			default:
				alphabet := []rune("015. _-()\"'kMGTismhdprew\t\u00a0\u3000A")
				c := alphabet[r.IntN(len(alphabet))]
				runes = append(runes[:at], append([]rune{c}, runes[at:]...)...)
			}
		}
		return string(runes)
	}
}

// holdsTo checks that what loads is valid. It returns whether it loads, and
// whether it is valid.
func holdsTo(t *testing.T, validator func([]byte) (error, bool), text string) (loads, valid bool) {
	_, refused := Parse("r.yaml", "", []byte(text))
	invalid, ok := validator([]byte(text))
	if refused == nil && (!ok || invalid != nil) {
		t.Fatalf("it loads, but the schema refuses\n%s\n%v", text, invalid)
	}
	return refused == nil, ok && invalid == nil
}

func inJSON(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// holdTexts holds many texts to it, each in a file of this form. Enough of them
// must load, and enough must not and be refused by the schema too.
func holdTexts(t *testing.T, texts gen, form string, least int) {
	s := compiledSchema(t)
	validator := func(data []byte) (error, bool) { return validate(t, s, data) }
	const n = 800
	loaded, seen := 0, 0
	for seed := range uint64(n) {
		loads, valid := holdsTo(t, validator, fmt.Sprintf(form, texts(rand.New(rand.NewPCG(seed, 1)))))
		if loads {
			loaded++
		} else if !valid {
			seen++
		}
	}
	if loaded < least || seen < (n-loaded)/2 {
		t.Errorf("of %d texts %d were loaded, and %d of the others refused by the schema: they tell too little", n, loaded, seen)
	}
}

func TestSchemaLimitTexts(t *testing.T) {
	for _, form := range []string{"limits: [%s]", "limits: [%s], hold: 1m", "limits: [{limit: %s}]", "limits: [{limit: %s, algorithm: fixed}]",
		"limits: [{limit: %s, buckets: 30}]", "limits: [{limit: %s, algorithm: gcra, burst: 3}]", "limits: [{limit: %s, count_refused: true}]"} {
		t.Run(form, func(t *testing.T) {
			holdTexts(t, mutated(limits).quoted(), "version: 1\nrules: [{name: r, zone: UTC, "+form+"}]\n", 8)
		})
	}
}

func TestSchemaTexts(t *testing.T) {
	for name, c := range map[string]struct {
		texts gen
		form  string
	}{
		"durations": {oneOf("1ms", "30s", "2m", "24h", "30d", "0s", "007m", "1h30m", "1.5h", "10 events", "calendar day"), "limits: [5 inflight], hold: %s"},
		"waits":     {oneOf("1ms", "30s", "2m", "24h", "30d", "2 s", "-1s"), "limits: [{limit: 5 per 1m, algorithm: gcra, burst: 1, action: queue, max_wait: %s}]"},
		"names":     {oneOf("r", "order-query", "a.b_c-9", "0", "-a", "A", "a b", "é", "_a"), "limits: [1 per 1s], name: %s"},
		"keys":      {oneOf("user", "phone/7", "ip/24", "ip/24/48", "user|ip", "a|b/3|ip/8/9", "_a.b-c", "event", "ip/33", "a/", "|a", "a/-1", "a/+1"), "limits: [1 per 1s], key: [%s]"},
		"until": {oneOf("2026-12-31", "2026-12-31T18:00:00Z", "2026-12-31T8:00:00Z", "2026-12-31T18:00:00.5+08:00", "2026-12-31T18:00:00,25-00:30", "2026-13-01", "26-12-31",
			"2026-12-31 18:00:00Z", "2026-12-31t18:00:00z"), "limits: [1 per 1s], overrides: [{match: {a: b}, limits: unlimited, until: %s}]"},
		"overrides": {oneOf("5 per 1m", "0 per 60s", "10k per 1m", "1 per 1h", "unlimited", "5"), "limits: [1 per 1m], overrides: [{match: {a: b}, limits: [%s]}]"},
		"matchers":  {oneOf("event", "user", "a.b-c", "1a", "a b", "é"), "limits: [1 per 1s], match: {%s: x}"},
		"lists":     {oneOf("a", "b", "a.b", "1"), "limits: [1 per 1s], match: {a: {list: %s}}"},
	} {
		t.Run(name, func(t *testing.T) {
			rule := "rules: [{name: r, " + c.form + "}]"
			if name == "names" {
				rule = "rules: [{" + c.form + "}]"
			}
			if name == "lists" {
				rule = "lists: {a: [1], b: [x], a.b: []}, " + rule
			}
			holdTexts(t, mutated(c.texts).quoted(), "{version: 1, "+rule+"}", 120)
		})
	}
}

// plain are scalars without quotes, of which YAML makes numbers, booleans, dates
// or nothing.
var plain = oneOf("a", "b", "user", "r1", "007", "1.0", "1e3", "0x1F", "0o7", "1_000", ".5", "true", "True", "false", "yes", "off", "2026-12-31", "2026-12-31T18:00:00Z",
	"null", "~", "NULL", `""`, `"1"`, `"true"`, "'*a*'", `"*"`, "10.0.0.0/8", "192.0.2.1", "-1", "0", "1", "60", ".nan", "-.inf", "unlimited", "操作", "1:30", "[]", "{}", "[a]", "{list: l}", "{file: none}")

// file is a rule file in flow style.
var files = gen(func(r *rand.Rand) string {
	maybe := func(odds int, text func() string) string {
		if r.IntN(odds) == 0 {
			return text()
		}
		return ""
	}
	word := func(words ...string) func() string { return func() string { return some(r, 15, plain, words...) } }
	field := func(odds int, name string, value func() string) string {
		return maybe(odds, func() string { return ", " + name + ": " + value() })
	}
	values := func() string {
		return some(r, 8, func(r *rand.Rand) string { return "[" + plain(r) + ", " + plain(r) + "]" },
			"a", "007", "1.0", "true", "2026-12-31", `"*"`, "{list: l}", "[a, {list: l}]", `""`)
	}
	matchers := func() string {
		m := "{event: " + values() + field(3, "user", values) + field(3, "ip", word("10.0.0.1", `"10.*"`, "[10.0.0.0/8]")) + "}"
		return some(r, 15, plain, m, m, m, m, "["+m+", {user: "+values()+"}]", oneOf("[]", "{}", "[{}]", m)(r))
	}
	text := func(list ...string) func() string {
		return func() string { return some(r, 15, limits.quoted(), list...) }
	}
	limit := func() string {
		right := oneOf("action: challenge, with: captcha", "action: degrade, with: 1", "algorithm: gcra, burst: 3, action: queue, max_wait: 2s", "algorithm: gcra, burst: 1",
			"algorithm: sliding_buckets, buckets: 30", "count_refused: true, action: reject", "shadow: true, message: 404")(r)
		of := text("5 per 1m", "5 per 1m", "5 sum(a) per 1h", "3 per 10 events", "5 distinct(a) per 1h", "5 inflight", "5 per calendar day")
		if r.IntN(3) > 0 {
			return "{limit: " + of() + ", " + right + "}"
		}
		return "{limit: " + of() +
			field(6, "action", word("reject", "degrade", "challenge", "queue", "lock", "allow")) + field(9, "with", word("captcha", "cached")) +
			field(9, "max_wait", word("2s")) + field(15, "max_queue", word("10")) +
			field(6, "algorithm", word("sliding_log", "sliding_buckets", "sliding_counter", "gcra", "gcra", "fixed", "inflight", "events")) +
			field(9, "buckets", word("30", "1000")) + field(9, "burst", word("1", "10")) + field(6, "count_refused", word("true", "false")) +
			field(5, "shadow", word("true")) + field(5, "message", word("later", "<retry_after>", "404")) + field(40, "when", word("x > 1")) + "}"
	}
	list := func() string {
		out := []string{}
		for range 1 + r.IntN(3) {
			if r.IntN(2) == 0 {
				out = append(out, text("5 per 1m", "5 per 1m", "3 per 10 events", "500 inflight", "100 per calendar day", "1Mi sum(a) per 1h")())
			} else {
				out = append(out, limit())
			}
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	override := func() string {
		return "[{match: " + matchers() + ", limits: " + word("unlimited", "unlimited", "unlimited", "[9 per 1m]", "[]")() + field(3, "until", word(`"2026-12-31"`, `"2026-12-31T18:00:00Z"`)) + "}]"
	}
	rule := func(i int) string {
		return "{name: " + some(r, 15, plain, fmt.Sprintf("r%d", i), fmt.Sprint(i), fmt.Sprintf("%d.0", i)) + field(2, "match", matchers) + field(4, "except", matchers) +
			field(5, "where", word("links > 0", "true", "a")) + field(2, "key", word("[user]", "[user, ip/24]", "[true]", "[a|b]", "[]")) + field(5, "missing_key", word("skip", "reject", "shared")) +
			field(25, "replaces", word("[r0]", "[0]", "[]")) + ", limits: " + list() + field(8, "overrides", override) + field(3, "hold", word("1m")) +
			field(3, "zone", word("UTC", "Asia/Shanghai")) + field(5, "on_store_error", word("local", "open", "closed")) + field(4, "message", word("later", "404", "true")) + field(4, "shadow", word("true", "false")) + "}"
	}
	rules := []string{}
	for i := range 1 + r.IntN(2) {
		rules = append(rules, rule(i))
	}
	return "{version: " + some(r, 20, plain, "1") +
		field(20, "attributes", word("{user: {}, ip: {type: address}, a: {type: number, scale: 2}, links: {type: number}, b: {fold: true, secret: true}}", "{a: {type: text, scale: 2}}", "{a: {type: number, fold: true}}")) +
		field(1, "lists", word("{l: [a, 007, true]}", "{l: []}", "{l: [10.0.0.1, \"*x*\"]}")) +
		field(6, "allow", matchers) + field(6, "deny", matchers) +
		field(2, "defaults", word("{zone: UTC}", "{zone: UTC}", "{zone: UTC, missing_key: skip, shadow: true}", "{on_store_error: open, message: 5}", "{}")) +
		", rules: [" + strings.Join(rules, ", ") + "]}"
})

// TestSchemaFiles holds whole files to it.
func TestSchemaFiles(t *testing.T) { holdTexts(t, files, "%s", 40) }
