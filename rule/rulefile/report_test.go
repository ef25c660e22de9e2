package rulefile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/rule"
)

const placed = `version: 1
attributes: {phone: {}, ip: {type: address}}
defaults: {zone: UTC}
rules:
  - name: sms
    match: {event: sms.send, phone: ["1", "2"]}
    except:
      - ip: 192.0.2.9
    key: [phone]
    limits:
      - 1 per 60s
      - {limit: 10 per 24h, burst: 3}
    overrides:
      - match: {user.agent: x}
        limits: [2 per 60s]
  - name: other
    limits: [1 per 1s]
`

// located returns the errors that come out when the compiler finds these.
func located(data string, errs ...*rule.Error) string {
	r := newReader("r.yaml", "testdata")
	r.read([]byte(data))
	r.merge(rule.Errors(errs))
	var lines []string
	for _, e := range r.errors() {
		lines = append(lines, fmt.Sprintf("%d:%d %s", e.Line, e.Column, e.Msg))
	}
	return strings.Join(lines, "\n")
}

func TestMergePlaces(t *testing.T) {
	for path, want := range map[string]string{
		"":                                       "1:1",
		"version":                                "1:10",
		"nowhere":                                "1:1",
		"attributes":                             "2:13",
		"attributes.ip":                          "2:29",
		"attributes.ip.type":                     "2:36",
		"attributes.ip.scale":                    "2:29",
		"defaults.zone":                          "3:18",
		"defaults.message":                       "3:11",
		"rules":                                  "4:1",
		"rules[0]":                               "5:5",
		"rules[0].name":                          "5:11",
		"rules[0].zone":                          "5:5",
		"rules[0].match":                         "6:12",
		"rules[0].match[0]":                      "6:12",
		"rules[0].match[0].event":                "6:20",
		"rules[0].match.event":                   "6:20",
		"rules[0].match[0].event[0]":             "6:20",
		"rules[0].match[0].phone[1]":             "6:43",
		"rules[0].match.phone[1]":                "6:43",
		"rules[0].match[1].phone":                "6:12",
		"rules[0].except":                        "7:5",
		"rules[0].except[0]":                     "8:9",
		"rules[0].except[0].ip":                  "8:13",
		"rules[0].key":                           "9:10",
		"rules[0].key[0]":                        "9:11",
		"rules[0].limits":                        "10:5",
		"rules[0].limits[0]":                     "11:9",
		"rules[0].limits[0].limit":               "11:9",
		"rules[0].limits[1]":                     "12:9",
		"rules[0].limits[1].burst":               "12:36",
		"rules[0].limits[1].algorithm":           "12:9",
		"rules[0].overrides[0]":                  "14:9",
		"rules[0].overrides[0].limits[0]":        "15:18",
		"rules[0].overrides[0].until":            "14:9",
		"rules[0].overrides[0].match.user.agent": "14:29",
		"rules[0].overrides[0].match[0].user.agent[0]": "14:29",
		"rules[1].name":     "16:11",
		"rules[9].name":     "4:1",
		"rules[1].shadow.x": "16:5",
	} {
		if got := located(placed, &rule.Error{Path: path, Msg: "m"}); got != want+" m" {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestMergeSorts(t *testing.T) {
	got := located(placed,
		&rule.Error{Path: "rules[1].name", Msg: "d"}, &rule.Error{Path: "rules[0].limits[1].burst", Msg: "c"},
		&rule.Error{Path: "rules[0].limits[1]", Msg: "b1"}, &rule.Error{Path: "rules[0].limits[1]", Msg: "b2"},
		&rule.Error{Path: "rules[0].limits[1]", Msg: "b2"}, &rule.Error{Path: "attributes", Msg: "a"})
	if want := "2:13 a\n12:9 b1\n12:9 b2\n12:36 c\n16:11 d"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestMergeFollows checks that an error of the compiler is left out where
// this package has said what is wrong, and only there.
func TestMergeFollows(t *testing.T) {
	const data = `version: 1
rules:
  - name: a
    limts: [1 per 1s]
    key: [user, [ip]]
  - name: b
    limits: 5 per 1m
    match: {user: }
    zone: UTC
  - name: c
    key: &k [user]
    limits: [1 per 1s, {limit: 5 per 1m, burst: x}]
    limit: 1 per 1s
`
	own := located(data)
	for path, kept := range map[string]bool{
		"":                         false, // something in it
		"rules":                    false,
		"rules[0]":                 false,
		"rules[0].limits":          false, // meant by limts
		"rules[0].name":            true,
		"rules[0].key":             false,
		"rules[0].key[0]":          true,
		"rules[0].key[1]":          false,
		"rules[1].limits":          false,
		"rules[1].limits[0]":       false,
		"rules[1].match[0].user":   false,
		"rules[1].match.user":      false,
		"rules[1].zone":            true,
		"rules[2].key[0]":          true, // the anchor is wrong, not the key
		"rules[2].limits":          false,
		"rules[2].limits[0]":       true,
		"rules[2].limits[1]":       false,
		"rules[2].limits[1].limit": true,
		"rules[2].limits[1].burst": false,
	} {
		got := located(data, &rule.Error{Path: path, Msg: "m"})
		if (got != own) != kept {
			t.Errorf("%s: kept is %v, want %v:\n%s", path, got != own, kept, got)
		}
	}
}

func TestMergeOther(t *testing.T) {
	r := newReader("r.yaml", "")
	r.merge(nil)
	if errs := r.errors(); len(errs) != 0 {
		t.Errorf("got %v of nil", errs)
	}
	r.merge(errors.New("out of memory"))
	if got := r.errors().Error(); got != "r.yaml:1:1: out of memory" {
		t.Errorf("got %s", got)
	}
}

func TestLocateWarnings(t *testing.T) {
	r := newReader("r.yaml", "")
	r.read([]byte(placed))
	in := []*rule.Error{
		{Rule: "sms", Path: "rules[0].limits[1]", Msg: "b"}, {Rule: "sms", Path: "rules[0].match[0].phone", Msg: "a"},
	}
	var got []string
	for _, w := range r.locate(in) {
		got = append(got, w.Error())
	}
	want := "r.yaml:6:37: rule sms: match[0].phone: a\nr.yaml:12:9: rule sms: limits[1]: b"
	if strings.Join(got, "\n") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestManyErrors(t *testing.T) {
	data := "version: 1\nrules:\n" + strings.Repeat("  - r\n", 3*maxErrors)
	got := structural(data)
	if len(got) != maxErrors+1 || got[maxErrors] != "1002:5: there are more errors: only 1000 are shown" {
		t.Errorf("%d errors, the last is %s", len(got), got[len(got)-1])
	}
}

func TestParent(t *testing.T) {
	for path, want := range map[string]string{
		"": "", "rules": "", "rules[0]": "rules", "rules[0].key": "rules[0]", "rules[0].match[0].a.b": "rules[0].match[0].a",
	} {
		if got := parent(path); got != want {
			t.Errorf("parent(%q) is %q, want %q", path, got, want)
		}
	}
}
