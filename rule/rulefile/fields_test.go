package rulefile

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := inRule.known()
	for name, want := range map[string]string{
		"limts": "limits", "limit": "limits", "Limits": "limits", "overide": "overrides", "missing-key": "missing_key",
		"missingKey": "missing_key", "nmae": "name", "keys": "key", "matches": "match", "mesage": "message", "shadows": "shadow",
		"stats": "", "window": "", "alerts": "", "count": "counts", "hodl": "hold", "replace": "replaces", "": "", "k": "", "ke": "key",
		"allowed_lateness": "", "操作": "", strings.Repeat("limits", 10): "",
	} {
		if got := nearest(name, known); got != want {
			t.Errorf("nearest(%q) is %q, want %q", name, got, want)
		}
	}
}

// TestUnbuiltWords checks that words of the grammar that are not built yet are
// plain unknown fields, with no suggestion that leads astray.
func TestUnbuiltWords(t *testing.T) {
	words := map[level]string{
		inDefaults: "every notify",
		inRule:     "stats window allowed_lateness alerts",
		inLimit:    "when adapt notify",
	}
	for l, list := range words {
		for w := range strings.FieldsSeq(list) {
			if hint, meant := suggest(w, l); hint != "" || meant != "" {
				t.Errorf("%s %s: suggests %q %q", w, l, hint, meant)
			}
		}
	}
}

// TestLevels checks that each level has its words.
func TestLevels(t *testing.T) {
	for l := inFile; l <= inOverrides; l++ {
		if len(l.known()) == 0 || l.String() == "" || l.form() == "" {
			t.Errorf("level %d has no words", l)
		}
	}
}

// TestKnownHere: who writes a word that is like none gets those that there are.
func TestKnownHere(t *testing.T) {
	for data, want := range map[string]string{
		"version: 1\nstats: {}\n":                         "stats: unknown field: known here are version, attributes, lists, allow, deny, defaults, rules",
		oneRule("limits: [{limit: 1 per 1s, adapt: 1m}]"): "limits[0].adapt: unknown field: known here are limit, action, ",
		oneRule("alerts: []"):                             "alerts: unknown field: known here are name, match, ",
		"version: 1\nattributes: {phone: {unit: ms}}\nrules: [{name: r, limits: [1 per 1s]}]\n": "attributes.phone.unit: unknown field: known here are type, secret, fold, scale",
	} {
		if _, err := Parse("r.yaml", "", []byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %q", err, want)
		}
	}
}
