package gate

import (
	"strings"
	"testing"

	"github.com/slidegate/slidegate/rule"
)

// TestMessageOfNoDelay: a challenge has no delay, and neither has an event that
// lacks a part of its key. A message does not promise that a second helps.
func TestMessageOfNoDelay(t *testing.T) {
	const text = "again in <retry_after>"
	for name, r := range map[string]rule.Rule{
		"missing key": {Name: "r", Key: []string{"user"}, MissingKey: "reject", Limits: limits("1 per 1h"), Message: text},
		"challenge":   {Name: "r", Limits: []rule.Limit{{Limit: "0 per 1h", Action: "challenge", With: "captcha"}}, Message: text},
		"degrade":     {Name: "r", Limits: []rule.Limit{{Limit: "0 per 1h", Action: "degrade", With: "text"}}, Message: text},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, compile(t, r), newClock().options())
			d := check(t, g, event("e"))
			if d.RetryAfter != 0 || strings.Contains(d.Message, "1s") {
				t.Fatalf("%v: retry_after %v, and the person is told %q", d.Action, d.RetryAfter, d.Message)
			}
		})
	}
}
