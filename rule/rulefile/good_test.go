package rulefile

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/rule"
)

// TestGood loads the examples of the whole grammar. What is not built yet is
// refused, and the table names the first word of it. A file that is built
// further moves to the next word, and in the end to "".
func TestGood(t *testing.T) {
	unbuilt := map[string]string{
		"00-design.yaml":           "window: unknown field",
		"01-api-plans.yaml":        "",
		"02-user-api-exempt.yaml":  "",
		"03-sms.yaml":              "",
		"04-login.yaml":            "",
		"05-spam.yaml":             "",
		"06-coupon.yaml":           "",
		"07-checkout-degrade.yaml": "window: unknown field",
		"08-error-rate.yaml":       "window: unknown field",
		"09-p99.yaml":              "window: unknown field",
		"10-slo.yaml":              "buckets: unknown field",
		"11-sales.yaml":            "stats: unknown field",
		"12-active-users.yaml":     "stats: unknown field",
		"13-mq-pacing.yaml":        "adapt: unknown field",
		"14-device.yaml":           "window: unknown field",
		"15-llm.yaml":              "",
		"16-upload.yaml":           "",
		"17-websocket.yaml":        "",
		"18-crawler.yaml":          "",
		"19-tenants.yaml":          "",
		"20-gateway.yaml":          "",
		"21-shadow.yaml":           "",
		"22-spray.yaml":            "stats: unknown field",
		"23-card.yaml":             "",
		"24-3-of-10.yaml":          "",
		"25-sms-pumping.yaml":      "window: unknown field",
		"99-examples.yaml":         "window: unknown field",
	}
	paths, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(paths) != len(unbuilt) {
		t.Fatalf("%d files, want %d (%v)", len(paths), len(unbuilt), err)
	}
	for _, path := range paths {
		base := filepath.Base(path)
		word, listed := unbuilt[base]
		f, err := Load(path)
		switch {
		case !listed:
			t.Errorf("%s is not in the table", base)
		case word == "" && err != nil:
			t.Errorf("%s must load:\n%v", base, err)
		case word == "" && (f.Plan == nil || f.Set == nil):
			t.Errorf("%s: no plan", base)
		case word != "" && err == nil:
			t.Errorf("%s loads: take %q out of the table", base, word)
		case word != "" && !strings.Contains(err.Error(), word):
			t.Errorf("%s: want %q in\n%v", base, word, err)
		}
	}
}

// TestSet compares everything that a file can say with the set made of it.
func TestSet(t *testing.T) {
	f, err := Load("testdata/all.yaml")
	if err != nil {
		t.Fatal(err)
	}
	scale, yes, no, burst, buckets := 2, true, false, int64(20), int64(100)
	want := &rule.Set{
		Attributes: map[string]rule.Attribute{
			"user": {}, "plan": {Type: "text"}, "ip": {Type: "address"}, "amount": {Type: "number", Scale: &scale},
		},
		Defaults: rule.Defaults{Zone: "Asia/Shanghai", MissingKey: "skip", Shadow: true, Message: "later"},
		Rules: []rule.Rule{{
			Name:       "pay",
			Match:      []rule.Matcher{{"event": {"pay"}, "plan": {"007", "true", "1.0", "2026-12-31", "", "*free*"}}},
			Except:     []rule.Matcher{{"user": {"root"}}, {"user": {"ops"}, "ip": {"10.0.0.1"}}},
			Key:        []string{"user", "ip/24"},
			MissingKey: "shared",
			Limits: []rule.Limit{
				{Limit: "100 per 1m"},
				{Limit: "10 per 1s", Action: "reject", Algorithm: "gcra", Burst: &burst, Message: "slow down"},
				{Limit: "5000 sum(amount) per 1h", Algorithm: "sliding_buckets", Buckets: &buckets, Shadow: new(true)},
				{Limit: "20 per 1h", CountRefused: true},
			},
			Overrides: []rule.Override{
				{Match: []rule.Matcher{{"plan": {"pro"}}, {"plan": {"team"}}}, Limits: []string{"1000 per 1m", "40 per 1h"}, Until: "2026-12-31"},
				{Match: []rule.Matcher{{"user": {"acme"}}}, Unlimited: true},
			},
			Zone:    "Europe/Berlin",
			Message: "two\nlines\n",
			Shadow:  &no,
		}, {
			Name:   "login",
			Limits: []rule.Limit{{Limit: "1 per 1s"}},
			Shadow: &yes,
		}},
	}
	if !reflect.DeepEqual(f.Set, want) {
		t.Errorf("got  %+v\nwant %+v", f.Set, want)
	}
}

// TestEncodings reads the same rules with other bytes around them.
func TestEncodings(t *testing.T) {
	const plain = "version: 1\nrules:\n  - name: r\n    match: {event: e}\n    limits: [1 per 1s]\n"
	for name, data := range map[string]string{
		"plain":             plain,
		"byte order mark":   "\ufeff" + plain,
		"CRLF":              strings.ReplaceAll(plain, "\n", "\r\n"),
		"CR":                strings.ReplaceAll(plain, "\n", "\r"),
		"no last line end":  strings.TrimSuffix(plain, "\n"),
		"document markers":  "---\n" + plain + "...\n",
		"tabs after values": strings.ReplaceAll(plain, "\n", "\t\n"),
		"JSON":              `{"version": 1, "rules": [{"name": "r", "match": {"event": "e"}, "limits": ["1 per 1s"]}]}`,
	} {
		f, err := Parse("r.yaml", "", []byte(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r := f.Set.Rules[0]; r.Name != "r" || r.Limits[0].Limit != "1 per 1s" || r.Match[0]["event"][0] != "e" {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

// TestPlaces checks that lines and columns are those of an editor.
func TestPlaces(t *testing.T) {
	const text = "version: 1\nrules:\n  - {name: r, message: 操作频繁, x: 1}\n"
	for name, data := range map[string]string{
		"plain": text, "byte order mark": "\ufeff" + text, "CRLF": strings.ReplaceAll(text, "\n", "\r\n"),
	} {
		got := structural(data)
		if want := "3:30: rule r: x: unknown field"; len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestLoadUnreadable(t *testing.T) {
	var errs rule.Errors
	for _, path := range []string{"testdata/nowhere.yaml", "testdata"} {
		_, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), path) || errors.As(err, &errs) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
