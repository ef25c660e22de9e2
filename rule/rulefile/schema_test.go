package rulefile

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/slidegate/slidegate/rule/rulefile/schema"
)

// compiledSchema returns the schema of a rule file as a validator reads it.
func compiledSchema(t testing.TB) *jsonschema.Schema { return compiledText(t, schema.Text()) }

// asDraft7 returns the schema as language servers read it that know drafts up to
// 7: in these, a $ref hides what stands beside it.
func asDraft7(t testing.TB) *jsonschema.Schema {
	t.Helper()
	const newer, older = "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"
	if !strings.Contains(schema.Text(), newer) {
		t.Fatal("the schema is of another draft")
	}
	return compiledText(t, strings.Replace(schema.Text(), newer, older, 1))
}

func compiledText(t testing.TB, text string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// editor returns what an editor gives a validator: unquoted numbers and booleans
// are such, and dates are texts.
func editor(t testing.TB, n *yaml.Node) any {
	t.Helper()
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = editor(t, n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			list = append(list, editor(t, c))
		}
		return list
	}
	var v any
	if isQuoted(n) || n.Decode(&v) != nil {
		return n.Value
	}
	switch f := v.(type) {
	case time.Time:
		return n.Value
	case float64:
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return 0.5 // JSON has no word for it
		}
	}
	return v
}

// validate says what the schema says of a rule file; yes is false where the file
// is no YAML.
func validate(t testing.TB, s *jsonschema.Schema, data []byte) (err error, yes bool) {
	t.Helper()
	root, bad := parse(data)
	switch {
	case bad != nil || aliased(root):
		return nil, false
	case root == nil:
		return s.Validate(nil), true
	}
	return s.Validate(editor(t, root)), true
}

// aliased tells whether there is an alias, of which a rule file defines none.
func aliased(n *yaml.Node) bool {
	return n != nil && (n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, aliased))
}

// TestSchemaLevels: the schema has exactly the fields that the reader knows.
func TestSchemaLevels(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal([]byte(schema.Text()), &root); err != nil {
		t.Fatal(err)
	}
	places := map[level]string{
		inFile: "", inAttribute: "attribute", inDefaults: "defaults", inRule: "rule", inLimit: "limit", inOverride: "override",
		inOverrides: "overrides/then", inValue: "matcher_value/then", inList: "list/then",
	}
	for l := inFile; l <= inList; l++ {
		path, listed := places[l]
		at := root
		for step := range strings.SplitSeq("$defs/"+path, "/") {
			if path != "" {
				at, _ = at[step].(map[string]any)
			}
		}
		properties, _ := at["properties"].(map[string]any)
		got, want := slices.Sorted(maps.Keys(properties)), slices.Sorted(slices.Values(l.known()))
		if !listed || !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %q, the reader knows %q", l, got, want)
		}
		if at["additionalProperties"] != false || at["type"] != "object" {
			t.Errorf("%s: the schema takes anything", l)
		}
	}
}

// TestSchemaGood: what loads is valid, and what does not load yet has fields
// that the schema does not know either.
func TestSchemaGood(t *testing.T) {
	s, older := compiledSchema(t), asDraft7(t)
	loaded := 0
	for _, pattern := range []string{"testdata/good/*.yaml", "testdata/*.yaml", "../../examples/*.yaml", "../../cmd/slidegate/starter.yaml", "../../gate/testdata/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 && !strings.Contains(pattern, "gate/testdata") {
			t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, refused := Load(path)
			invalid, ok := validate(t, s, data)
			olderInvalid, _ := validate(t, older, data)
			switch {
			case !ok:
				t.Errorf("%s is no YAML", path)
			case (invalid == nil) != (olderInvalid == nil):
				t.Errorf("%s: %v\nas draft 7: %v", path, invalid, olderInvalid)
			case refused == nil && invalid != nil:
				t.Errorf("%s loads, but\n%v", path, invalid)
			case refused != nil && invalid == nil:
				t.Errorf("%s is valid, but\n%v", path, refused)
			case refused == nil:
				loaded++
			}
		}
	}
	if loaded < 12 {
		t.Errorf("only %d files were loaded", loaded)
	}
}

// TestSchemaBad: what the loader refuses is refused by the schema, except for
// what no schema can see.
func TestSchemaBad(t *testing.T) {
	const noYAML = "it is no YAML, which the parser says"
	unseen := map[string]string{
		"22-replaces-unknown.yaml":     "names of other rules",
		"27-where-in-flow.yaml":        noYAML,
		"29-unquoted-glob.yaml":        noYAML,
		"32-until-without-quotes.yaml": "quotes: YAML 1.2 reads a date as a text",
		"33-undeclared.yaml":           "names that are declared elsewhere",
		"37-duplicate-key.yaml":        "names written twice, which editors mark by themselves",
		"f4.yaml":                      "names written twice, which editors mark by themselves",
	}
	s, older := compiledSchema(t), asDraft7(t)
	paths, err := filepath.Glob("testdata/bad/*.yaml")
	more, _ := filepath.Glob("testdata/f16/*.yaml")
	if paths = append(paths, more...); err != nil || len(paths) != 44 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		why, listed := unseen[filepath.Base(path)]
		invalid, ok := validate(t, s, data)
		if _, refused := Load(path); refused == nil {
			t.Errorf("%s loads", path)
		}
		if olderInvalid, _ := validate(t, older, data); (invalid == nil) != (olderInvalid == nil) {
			t.Errorf("%s: %v\nas draft 7: %v", path, invalid, olderInvalid)
		}
		switch {
		case ok == (why == noYAML):
			t.Errorf("%s: YAML: %v", path, ok)
		case ok && listed && invalid != nil:
			t.Errorf("%s is refused after all: take it out of the table\n%v", path, invalid)
		case ok && !listed && invalid == nil:
			t.Errorf("%s is valid", path)
		}
	}
}

// complaints are what a validator says, each with its place.
func complaints(err error) []string {
	var all []string
	for line := range strings.Lines(err.Error()) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if ok && !strings.HasSuffix(text, " failed") { // they only hold others
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestSchemaComplaints: a validator says what is wrong, at its place and in few
// words, not that none of several forms was met.
func TestSchemaComplaints(t *testing.T) {
	s := compiledSchema(t)
	inRule := func(text string) string { return "version: 1\nrules: [{name: r, limits: [1 per 1s], " + text + "}]\n" }
	for text, want := range map[string]string{
		"{version: 2, rules: [{name: r, limits: [1 per 1s]}]}": "at '/version': value must be 1",
		"{version: 1}":                                           "at '': missing property 'rules'",
		"{version: 1, rules: []}":                                "at '/rules': minItems: got 0, want 1",
		inRule("limit: 3"):                                       "at '/rules/0': additional properties 'limit' not allowed",
		inRule("key: user"):                                      "at '/rules/0/key': got string, want array",
		inRule("key: [user name]"):                               "at '/rules/0/key/0': 'user name' does not match pattern",
		inRule("match: login"):                                   "at '/rules/0/match': got string, want object",
		inRule("match: {event: }"):                               "at '/rules/0/match/event': got null, want boolean or number or string",
		inRule("match: {event: []}"):                             "at '/rules/0/match/event': minItems: got 0, want 1",
		inRule("match: {event: {lists: a}}"):                     "at '/rules/0/match/event': additional properties 'lists' not allowed",
		inRule("match: [{event: a}, {}]"):                        "at '/rules/0/match/1': minProperties: got 0, want 1",
		inRule("shadow: yes please"):                             "at '/rules/0/shadow': got string, want boolean",
		inRule("missing_key: drop"):                              "at '/rules/0/missing_key': value must be one of 'skip', 'reject', 'shared'",
		inRule("hold: 2 m"):                                      "at '/rules/0/hold': '2 m' does not match pattern",
		inRule("overrides: unlimited"):                           "at '/rules/0/overrides': got string, want array",
		inRule("overrides: {files: a}"):                          "at '/rules/0/overrides': additional properties 'files' not allowed",
		inRule("overrides: [{match: {a: b}, limits: unlimitd}]"): "at '/rules/0/overrides/0/limits': value must be 'unlimited'",
		inRule("overrides: [{match: {a: b}, limits: [{limit: 1 per 1s}]}]"):          "at '/rules/0/overrides/0/limits/0': got object, want string",
		inRule("overrides: [{match: {a: b}, limits: [1 per 1s], until: 2026-12-3}]"): "at '/rules/0/overrides/0/until': '2026-12-3' does not match pattern",
		inLimits("[[1 per 1s]]"):                                       "at '/rules/0/limits/0': got array, want string",
		inLimits("[100 per minute]"):                                   "at '/rules/0/limits/0': '100 per minute' does not match pattern",
		inLimits("[{limit: 5 per 1m, action: challenge}]"):             "at '/rules/0/limits/0': missing property 'with'",
		inLimits("[{limit: 5 per 1m, with: captcha}]"):                 "at '/rules/0/limits/0': missing property 'action'",
		inLimits("[{limit: 5 per 1m, action: reject, with: captcha}]"): "at '/rules/0/limits/0/action': value must be one of 'challenge', 'degrade'",
		inLimits("[{limit: 5 per 1m, burst: 3}]"):                      "at '/rules/0/limits/0': missing property 'algorithm'",
		inLimits("[{limit: 5 per 1m, algorithm: gcra}]"):               "at '/rules/0/limits/0': missing property 'burst'",
		inLimits("[{limit: 5 per 1m, algorithm: leaky}]"):              "at '/rules/0/limits/0/algorithm': value must be one of",
		inLimits("[{limit: 5 sum(a) per 1m, algorithm: sliding_log}]"): "at '/rules/0/limits/0/algorithm': value must be one of",
		inLimits("[{limit: 5 per 3 events, count_refused: true}]"):     "at '/rules/0/limits/0/count_refused': value must be false",
		inLimits("[5 inflight]"):                                       "at '/rules/0': missing property 'hold'",
		inLimits("[{limit: 5 per calendar day}]"):                      "at '/rules/0': missing property 'zone'",
		inLimits("[1 per 1s], counts: check"):                          "at '/rules/0/counts': value must be one of 'checks', 'reports'",
		inLimits("[1 per 1s], unsettled: drop, hold: 2m"):              "at '/rules/0/unsettled': value must be one of 'keep', 'release'",
		inLimits("[{limit: 5 per 1m, action: lock}]"):                  "at '/rules/0/limits/0': missing property 'lasts'",
		inLimits("[{limit: 5 per 1m, lasts: 1m}]"):                     "at '/rules/0/limits/0': missing property 'action'",
		inLimits("[{limit: 5 per 1m, action: lock, lasts: []}]"):       "at '/rules/0/limits/0/lasts': minItems: got 0, want 1",
		inLimits("[5 failures per 10 events]"):                         "at '/rules/0/limits/0': '5 failures per 10 events' does not match pattern",
		inLimits("[5 streak per 10m]"):                                 "at '/rules/0/limits/0': '5 streak per 10m' does not match pattern",
	} {
		err, ok := validate(t, s, []byte(text))
		if !ok || err == nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := complaints(err)
		if len(got) > 3 || !slices.ContainsFunc(got, func(c string) bool { return strings.HasPrefix(c, want) }) {
			t.Errorf("%s:\ngot  %q\nwant %q", text, got, want)
		}
		if _, refused := Parse("r.yaml", "", []byte(text)); refused == nil {
			t.Errorf("%s loads", text)
		}
	}
}

// inLimits is a file with one rule of these limits.
func inLimits(text string) string { return "version: 1\nrules: [{name: r, limits: " + text + "}]\n" }
