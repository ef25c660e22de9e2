package gatetest_test

import (
	"strings"
	"testing"

	"github.com/slidegate/slidegate/gate/gatetest"
)

// A line that is wrong itself stops its script: what follows would only fail
// because of it.
func TestLineErrors(t *testing.T) {
	const (
		noRules = "a script begins with its rules: rules FILE"
		start   = "want, before any check: start 2026-01-01T00:00:00Z"
		number  = "how often is a number and an x, such as 3x, at most 1000000x"
		unit    = "is no time: say a whole number and us, ms, s, m, h or d"
		often   = "a line is done at most 1000000 times"
		event   = "an event begins with its name, as in: sms.send phone=13800000000"
	)
	for script, want := range map[string]string{
		"":                                                            "FILE:1: " + noRules,
		"\n# nothing\n":                                               "FILE:1: " + noRules,
		"at 0s check e -> allow":                                      "FILE:1: " + noRules,
		"start 2026-01-01T00:00:00Z":                                  "FILE:1: " + noRules,
		"rule words.yaml":                                             `FILE:1: unknown word "rule"; a line is rules, start, or at TIME check, report, query, refund, release, renew, reset or unlock`,
		"RULES at 0s report e outcome=failed":                         `FILE:2: "outcome=failed": an outcome is success or failure`,
		"RULES at 0s report e of one":                                 "FILE:2: no check was labelled: … as one",
		"RULES at 0s report e -> recorded of one":                     "FILE:2: of one stands in front of the arrow: report … of one -> …",
		"RULES at 0s unlock tow k=1":                                  `FILE:2: gate: unknown rule "tow"`,
		"RULES chek e k=1":                                            `FILE:2: unknown word "chek"; a line is rules, start, or at TIME check, report, query, refund, release, renew, reset or unlock`,
		"RULES check e k=1":                                           "FILE:2: check needs a time: at 0s check …",
		"RULES 2x refund one":                                         "FILE:2: refund needs a time: at 0s refund …",
		"RULES at 5s":                                                 "FILE:2: want: at TIME VERB …",
		"RULES at 5 check e":                                          `FILE:2: "5" ` + unit,
		"RULES at 1.5s check e":                                       `FILE:2: "1.5s" ` + unit,
		"RULES at -1s check e":                                        `FILE:2: "-1s" ` + unit,
		"RULES at +s check e":                                         `FILE:2: "s" ` + unit,
		"RULES at 1w check e":                                         `FILE:2: "1w" ` + unit,
		"RULES at 99999999d check e":                                  `FILE:2: "99999999d" ` + unit,
		"RULES at 0s..5s check e":                                     `FILE:2: "0s..5s": say from..to/step, such as 0s..60s/400ms`,
		"RULES at 0s..5/1s check e":                                   `FILE:2: "5" ` + unit,
		"RULES at 0s..5s/1 check e":                                   `FILE:2: "1" ` + unit,
		"RULES at 0s..5s/0s check e":                                  `FILE:2: "0s..5s/0s": time goes forward, by a step over 0`,
		"RULES at 5s..0s/1s check e":                                  `FILE:2: "5s..0s/1s": time goes forward, by a step over 0`,
		"RULES at +0s..5s/1s check e":                                 `FILE:2: "0s..5s/1s": time goes forward, by a step over 0`,
		"RULES at 0s..1h/1ms check e":                                 "FILE:2: " + often,
		"RULES at 0s..10s/1s 99999x check e":                          "FILE:2: " + often,
		"RULES at 0s 0x check e":                                      `FILE:2: "0x": ` + number,
		"RULES at 0s 1000001x check e":                                `FILE:2: "1000001x": ` + number,
		"RULES at 0s twox check e":                                    `FILE:2: "twox": ` + number,
		"RULES at 5s check e\nat 4999999us check e":                   "FILE:3: time only goes forward; it is 5s now",
		"RULES at 0s..5s/2s check e\nat 3s check e":                   "FILE:3: time only goes forward; it is 4s now",
		"RULES at 1500us check e\nat 1ms check e":                     "FILE:3: time only goes forward; it is 1500us now",
		"RULES at 5s check e\nat 1s rules words.yaml":                 "FILE:3: time only goes forward; it is 5s now",
		"RULES at 0s check e \"k=1 -> allow":                          "FILE:2: a quote is not closed",
		"RULES at 0s check e k=1 -> \"a\\\"":                          "FILE:2: a quote is not closed",
		"RULES at 0s check":                                           "FILE:2: " + event,
		"RULES at 0s check -> allow":                                  "FILE:2: " + event,
		"RULES at 0s check k=1 -> allow":                              `FILE:2: "k=1": ` + event,
		"RULES at 0s check e k":                                       `FILE:2: "k": an attribute is name=value`,
		"RULES at 0s check e =1":                                      `FILE:2: "=1": an attribute is name=value`,
		"RULES at 0s check e ->allow":                                 `FILE:2: "->allow": a blank stands behind the arrow: -> allow`,
		"RULES at 0s check e k=1 k=2":                                 "FILE:2: bad event: attribute k: given twice",
		"RULES at 0s check e event=1":                                 `FILE:2: bad event: attrs[0]: the name "event" is taken by the name of the event`,
		"RULES at 0s check e cost=-1":                                 "FILE:2: bad event: cost: -1 is negative; a cost is 0 or more",
		"RULES at 0s check e cost=1.5":                                `FILE:2: "cost=1.5": a cost is a whole number`,
		"RULES at 0s check e time=5":                                  `FILE:2: "time=5": time cannot be given here`,
		"RULES at 0s check e outcome=failure":                         `FILE:2: a check has no outcome; it is told by a report: at TIME report …`,
		"RULES at 0s check e + -> allow":                              "FILE:2: " + event,
		"RULES at 0s check + e -> allow":                              "FILE:2: " + event,
		"RULES at 0s refund":                                          "FILE:2: want: refund LABEL",
		"RULES at 0s refund one":                                      "FILE:2: no check was labelled: … as one",
		"RULES at 0s query":                                           "FILE:2: want: query RULE name=value …: " + event,
		"RULES at 0s query tow k=1":                                   `FILE:2: gate: unknown rule "tow"`,
		"RULES at 0s query two":                                       "FILE:2: gate: rule two: bad event: the key is [k], and a part of it is missing",
		"RULES at 0s reset tow k=1":                                   `FILE:2: gate: unknown rule "tow"`,
		"RULES at 0s reset k=1":                                       `FILE:2: want: reset RULE name=value …: "k=1": ` + event,
		"RULES start yesterday":                                       `FILE:2: "yesterday" is no time: say one such as 2026-01-01T00:00:00Z`,
		"RULES start":                                                 "FILE:2: " + start,
		"RULES at 0s start 2026-01-01T00:00:00Z":                      "FILE:2: " + start,
		"RULES start 2026-01-01T00:00:00Z -> allow":                   "FILE:2: " + start,
		"RULES at 0s check e\nstart 2026-01-01T00:00:00Z":             "FILE:3: " + start,
		"RULES rules":                                                 "FILE:2: want: rules FILE",
		"RULES at 0s 2x rules words.yaml":                             "FILE:2: rules are loaded once",
		"RULES at 0s..1s/1s rules words.yaml":                         "FILE:2: rules are loaded once",
		"RULES rules none.yaml":                                       "FILE:2: rulefile: open testdata/none.yaml: no such file or directory",
		"rules /elsewhere/bad.yaml":                                   "FILE:1: testdata/bad.yaml:3:43: rule r: limits[0]: \"1 per 1M\": window \"1M\": M is no unit: say 1m for a minute or 30d for a month\ntestdata/bad.yaml:4:5: rule s: limits: a rule needs limits, such as limits: [100 per 1m]",
		"RULES at 0s check e k=1 -> allow remainin=":                  `FILE:2: "remainin=": nothing that comes back has the name remainin`,
		"RULES at 0s check e k=1 -> allow used=1":                     `FILE:2: "used=1": say of which window, in quotes, as in "used[10 per 24h]=1"`,
		"RULES at 0s query two k=1 -> \"usd[2 per 10s]=\"":            `FILE:2: "usd[2 per 10s]=": nothing that comes back has the name usd[2 per 10s]`,
		"RULES at 0s check e k=1 -> \"by[2 per 10s]=\"":               `FILE:2: "by[2 per 10s]=": nothing that comes back has the name by[2 per 10s]`,
		"RULES at 0s query two k=1 -> \"remaining[2 per 10s=1\"":      `FILE:2: "remaining[2 per 10s=1": nothing that comes back has the name remaining[2 per 10s`,
		"RULES at 0s query two k=1 k=1":                               "FILE:2: want: query RULE name=value …: bad event: attribute k: given twice",
		"RULES at 0s nonsense\nat 0s more nonsense\nat 0s and \"more": "FILE:2: unknown word \"nonsense\"; a line is rules, start, or at TIME check, report, query, refund, release, renew, reset or unlock\n\t    note: the rest of the script was not run",
		"RULES at 0s nonsense\n\n # a comment":                        `FILE:2: unknown word "nonsense"; a line is rules, start, or at TIME check, report, query, refund, release, renew, reset or unlock`,
		"RULES at 0s check e k=1 allow":                               `FILE:2: "allow": what must come back stands behind an arrow: -> allow`,
		"RULES at 0s check e k=1 \"used[2 per 10s]=1\"":               `FILE:2: "used[2 per 10s]=1": what must come back stands behind an arrow: -> "used[2 per 10s]=1"`,
		"RULES at 0s check e k=1 -> allow as one":                     "FILE:2: as one stands in front of the arrow: check … as one -> …",
		"RULES at 0s check e k=1 -> used[2 per 10s]=1 max=":           `FILE:2: used[2: quote a word with blanks in it: "used[2 per 10s]=1"`,
		"RULES at 0s check e k=1 -> reject by=2 per 10s remaining=0":  `FILE:2: by=2: quote a word with blanks in it: "by=2 per 10s"`,
		"RULES at 0s check e k=1 -> retry_after=3m18s":                `FILE:2: retry_after=3m18s: "3m18s" is no time: say 198s`,
		"RULES at 0s check e k=1 -> retry_after=60":                   `FILE:2: retry_after=60: "60" is no time: say a whole number and us, ms, s, m, h or d`,
		"RULES at 1h30m check e k=1 -> allow":                         `FILE:2: "1h30m" is no time: say 90m`,
		"RULES at 0s check both k=1 -> \"used[2 per 1m]=1\"":          `FILE:2: "used[2 per 1m]=1": the rules both-a and both-b have a window of this name: name the rule too, as in "used[both-a: 2 per 1m]=1"`,
		"RULES at 0s check e k=1 -> allow \"used[3 per 10s]=\"":       `FILE:2: "used[3 per 10s]=": there is no window "3 per 10s"; there are "two: 2 per 10s"`,
		"RULES at 0s query two k=1 -> \"used[3 per 10s]=1\"":          `FILE:2: "used[3 per 10s]=1": there is no window "3 per 10s"; there are "two: 2 per 10s"`,
		"RULES at 0s query two k=1 -> \"used[9 per 1h]=\"":            `FILE:2: "used[9 per 1h]=": there is no window "9 per 1h"; there are "two: 2 per 10s"`,
		"RULES at 0s check both k=1 -> \"max[both-c: 2 per 1m]=\"":    `FILE:2: "max[both-c: 2 per 1m]=": there is no window "both-c: 2 per 1m"; there are "both-a: 2 per 1m", "both-a: 1 per 10s", "both-b: 2 per 1m"`,
		"rules words-v2.yaml\nat 0s check no -> \"used[2 per 10s]=\"": `FILE:2: "used[2 per 10s]=": there is no window "2 per 10s"; there are "two: 3 per 10s", "sums: 2.5 sum(v) per 2h", "sums: 9 per 1h", "count: 1 per 3 events"`,
		"RULES at 0s check no -> max[x]=":                             `FILE:2: max[x]=: there is no window "x"; there are "two: 2 per 10s", "sums: 2.5 sum(v) per 1h", "sums: 9 per 1h", "count: 1 per 3 events", "strict: 5 per 1m", "ban: 0 per 1m", "allow: 0 per 1m", "hidden: 1 per 1m", "both-a: 2 per 1m", "both-a: 1 per 10s", …`,
		"RULES at 0s 3x check both k=1 -> \"by=2 per 1m\"":            `FILE:2: "by=2 per 1m": the rules both-a and both-b have a window of this name: name the rule too, as in "by=both-a: 2 per 1m"`,
	} {
		script = strings.Replace(script, "RULES ", "rules words.yaml\n", 1)
		if got, _ := runScript(t, script); got != want {
			t.Errorf("%q:\n got %s\nwant %s", script, got, want)
		}
	}
}

// A failing line does not stop its script, and neither does a failing
// repetition: the rest happens as it is written.
func TestFailuresGoOn(t *testing.T) {
	got, lines := runScript(t, "rules words.yaml\nat 0s..3s/1s check e k=1 -> allow\nat 3s query two k=1 -> \"used[2 per 10s]=2\"\nat 11s check e k=1 -> reject\n")
	want := wrong(2, "at 0s..3s/1s check e k=1 -> allow", "allow", "reject two retry_after=8s\n\t    note: at 2s") + "\n" +
		wrong(4, "at 11s check e k=1 -> reject", "reject", "allow remaining=1")
	if got != want || lines != 3 {
		t.Errorf("%d lines\n got %s\nwant %s", lines, got, want)
	}
}

func TestParseEvent(t *testing.T) {
	words, err := gatetest.SplitWords(`sms.send phone=13800000000 "name=a b" ip=2001:db8::1 n=1e3 x=007 empty= eq=a=b cost=0 # not this`)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := gatetest.ParseEvent(words)
	if err != nil {
		t.Fatal(err)
	}
	if ev.Name != "sms.send" || ev.Cost.Units() != 0 || len(ev.Attrs) != 7 {
		t.Errorf("got %+v", ev)
	}
	for name, want := range map[string]struct {
		text   string
		number bool
	}{
		"phone": {"13800000000", true}, "name": {"a b", false}, "ip": {"2001:db8::1", false}, "n": {"1e3", true},
		"x": {"007", false}, "empty": {"", false}, "eq": {"a=b", false},
	} {
		v, ok := ev.Attr(name)
		if !ok || v.String() != want.text || v.IsNumber() != want.number {
			t.Errorf("%s is %q, a number: %v; want %q, %v", name, v, v.IsNumber(), want.text, want.number)
		}
	}
	if _, err := gatetest.SplitWords(`a "b`); err == nil || err.Error() != "a quote is not closed" {
		t.Errorf("got %v", err)
	}
	if v := gatetest.ParseAttr("n", "1e999").Value; v.IsNumber() {
		t.Error("a number over all bounds must stay a text")
	}
}
