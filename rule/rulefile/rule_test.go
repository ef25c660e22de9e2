package rulefile

import (
	"fmt"
	"strings"
	"testing"
)

func TestRule(t *testing.T) {
	checkWrong(t, []wrong{
		{"name", `version: 1
rules:
  - {name: [r]}
  - {name: {r: 1}}
  - {name: ''}
  - {name: ~}
  - {name: }
`, []string{
			"3:12: rule rules[0]: name: name is a text, not a list: write name: r",
			"4:12: rule rules[1]: name: name is a text, not a mapping: a text that begins with [ or {, or holds a colon and a space, must be in quotes",
			"5:12: rule rules[2]: name: name is empty: write a value, or leave it out",
			`6:12: rule rules[3]: name: "~": name is empty, since YAML reads ~ as nothing: to mean the text, write "~"`,
			"7:6: rule rules[4]: name: name is empty: write a value, or leave it out",
		}},
		{"name with a line end", `version: 1
rules:
  - {name: "a\nb", burst: 1}
`, []string{
			"3:20: rule rules[0]: burst: unknown field: burst belongs in a limit",
		}},
		{"match", oneRule("match: login"), []string{
			`4:12: rule r: match: "login": match is a mapping: write match: {event: login}`,
		}},
		{"match as a list of texts", oneRule("match: [login]"), []string{
			`4:13: rule r: match[0]: "login": match[0] is a mapping: write {event: login}`,
		}},
		{"empty match", oneRule("match: {}"), []string{
			"4:12: rule r: match: match is empty and would select all events: name an attribute, as in {event: login}",
		}},
		{"empty list of matchers", oneRule("match: []"), []string{
			"4:12: rule r: match: match is empty: name an attribute, as in match: {event: login}, or leave match out to select all events",
		}},
		{"empty matcher in a list", oneRule("except: [{user: a}, {}]"), []string{
			"4:25: rule r: except[1]: except[1] is empty and would select all events: name an attribute, as in {event: login}",
		}},
		{"match without a value", oneRule("match:"), []string{
			"4:5: rule r: match: match is empty: write a value, or leave it out",
		}},
		{"matcher values", oneRule("match: {user: , ip: [], plan: [a, ~, [b]], phone: {list: blocked}, x: {}}"), []string{
			"4:13: rule r: match[0].user: user is empty: write a value, or leave it out",
			"4:25: rule r: match[0].ip: ip is an empty list and would never match: write a value, or leave it out",
			`4:39: rule r: match[0].plan[1]: "~": plan[1] is empty, since YAML reads ~ as nothing: to mean the text, write "~"`,
			"4:42: rule r: match[0].plan[2]: plan[2] is a text, not a list: take the inner brackets away",
			"4:75: rule r: match[0].x: the value of an attribute is a text, or a list: write {list: NAME}",
		}},
		{"matcher in a list", oneRule(`except:
  - user: [a, null]
  - ip: {list: x}`), []string{
			`5:19: rule r: except[0].user[1]: "null": user[1] is empty, since YAML reads null as nothing: to mean the text, write "null"`,
		}},
		{"key", oneRule("key: user"), []string{
			`4:10: rule r: key: "user": key is a list: write key: [user]`,
		}},
		{"several keys", oneRule("key: user, api"), []string{
			`4:10: rule r: key: "user, api": key is a list: write key: [user, api]`,
		}},
		{"key to be quoted", oneRule("key: 'a: b'"), []string{
			`4:10: rule r: key: "a: b": key is a list: write key: ["a: b"]`,
		}},
		{"key as a mapping", oneRule("key: {user: 1}"), []string{
			`4:10: rule r: key: key is a list: put "- " before each item, or brackets around them`,
		}},
		{"key items", oneRule("key: [user, '', {a: b}, ~]"), []string{
			"4:17: rule r: key[1]: key[1] is empty: write a value, or leave it out",
			"4:21: rule r: key[2]: key[2] is a text, not a mapping: a text that begins with [ or {, or holds a colon and a space, must be in quotes",
			`4:29: rule r: key[3]: "~": key[3] is empty, since YAML reads ~ as nothing: to mean the text, write "~"`,
		}},
		{"missing_key", oneRule("missing_key: [skip]"), []string{
			"4:18: rule r: missing_key: missing_key is a text, not a list: write missing_key: skip",
		}},
		{"shadow", oneRule("shadow: yes"), []string{
			`4:13: rule r: shadow: "yes": shadow is true or false: write shadow: true`,
		}},
		{"shadow in quotes", oneRule("shadow: 'true'"), []string{
			`4:13: rule r: shadow: "true": shadow is true or false without quotes: write shadow: true`,
		}},
		{"shadow False", oneRule("shadow: False"), []string{
			`4:13: rule r: shadow: "False": shadow is true or false: write shadow: false`,
		}},
		{"shadow 2", oneRule("shadow: 2"), []string{
			`4:13: rule r: shadow: "2": shadow is true or false`,
		}},
		{"shadow list", oneRule("shadow: [true]"), []string{
			"4:13: rule r: shadow: shadow is true or false, not a list: write shadow: true",
		}},
		{"message", oneRule("message: {retry_after}"), []string{
			"4:14: rule r: message: message is a text, not a mapping: a text that begins with [ or {, or holds a colon and a space, must be in quotes",
		}},
		{"message without a value", oneRule("message:"), []string{
			"4:5: rule r: message: message is empty: write a value, or leave it out",
		}},
		{"written twice", oneRule(`key: [user]
limits: [1 per 1s]
key: [ip]
key: [api]`), []string{
			"6:5: rule r: key: key is written twice: here and on line 4",
			"7:5: rule r: key: key is written twice: here and on line 4",
		}},
		{"written twice in a matcher", oneRule("match: {user: a, user: b}"), []string{
			"4:22: rule r: match[0].user: user is written twice: here and on line 4",
		}},
		{"written twice, but not alike", oneRule("match: {'user': a, user: b}"), []string{
			"4:24: rule r: match[0].user: user is written twice: here and on line 4",
		}},
		{"unknown fields", oneRule(`limts: [1 per 1s]
limit: 1 per 1s
missingKey: skip
execpt: {user: a}
where: x
burst: 3
file: x
frobnicate: 1`), []string{
			"4:5: rule r: limts: unknown field: did you mean limits?",
			"5:5: rule r: limit: unknown field: did you mean limits?",
			"6:5: rule r: missingKey: unknown field: did you mean missing_key?",
			"7:5: rule r: execpt: unknown field: did you mean except?",
			"9:5: rule r: burst: unknown field: burst belongs in a limit",
			"10:5: rule r: file: unknown field",
			"11:5: rule r: frobnicate: unknown field",
		}},
		{"unlimited", oneRule("unlimied: true"), []string{
			"4:5: rule r: unlimied: unknown field: to lift the limits of some events, write overrides: [{match: {user: acme}, limits: unlimited}]",
		}},
		{"ladder", oneRule("ladder: [{at: 5}]"), []string{
			"4:5: rule r: ladder: unknown field: a ladder is a list of limits, write limits: [5 per 10m, 20 per 1h]",
		}},
		{"names", oneRule(`[a]: b
{c: d}: e
? f
'': g
&h i: j
!!str k: l
*m : n
"o\tp": q`), []string{
			"4:5: rule r: a name is a text, not a list: a text that begins with [ or { must be in quotes",
			"5:5: rule r: a name is a text, not a mapping: a text that begins with [ or { must be in quotes",
			"6:7: rule r: f: unknown field",
			"7:5: rule r: the name before the colon is empty",
			`8:5: rule r: "i": a name has no anchor and no tag: write it alone`,
			`9:5: rule r: "k": a name has no anchor and no tag: write it alone`,
			`10:5: rule r: "m": write "*m" in quotes: YAML takes a bare * for an alias`,
			`11:5: rule r: "o\tp": a name is one line without control characters`,
		}},
		{"long name", oneRule("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: 1"), []string{
			`4:5: rule r: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…": a name is at most 256 bytes`,
		}},
		{"anchors", oneRule(`key: &k [user]
except: &e {user: b}
match: *e
limits: *k`), []string{
			`4:10: rule r: key: "&k": a rule file has no anchors: write the value alone; a text that begins with & must be in quotes`,
			`5:13: rule r: except: "&e": a rule file has no anchors: write the value alone; a text that begins with & must be in quotes`,
			`6:12: rule r: match: "*e": a rule file has no aliases: write the value out here`,
			`7:13: rule r: limits: "*k": a rule file has no aliases: write the value out here`,
		}},
		{"merge", `version: 1
base: &b {key: [user]}
rules:
  - {name: r, <<: *b}
`, []string{
			"2:1: base: unknown field",
			`2:7: base: "&b": a rule file has no anchors: write the value alone; a text that begins with & must be in quotes`,
			"4:15: rule r: <<: unknown field: a rule file has no merge keys, write the fields out",
			`4:19: rule r: <<: "*b": a rule file has no aliases: write the value out here`,
		}},
		{"ampersand", oneRule("message: &co"), []string{
			`4:14: rule r: message: "&co": a rule file has no anchors: write the value alone; a text that begins with & must be in quotes`,
		}},
		{"tags", oneRule(`key: !!seq [user]
message: !important
zone: ! UTC
name: !!str s`), []string{
			`4:10: rule r: key: "!!seq": a rule file has no tags: write the value alone; a text that begins with ! must be in quotes`,
			`5:14: rule r: message: "!important": a rule file has no tags: write the value alone; a text that begins with ! must be in quotes`,
			`6:11: rule r: zone: "!": a rule file has no tags: write the value alone; a text that begins with ! must be in quotes`,
			"7:5: rule r: name: name is written twice: here and on line 3",
		}},
		{"globs", oneRule("match: {user: *a, path: [*b*, c*]}\nexcept: {user_agent: *bot*}"), []string{
			`4:19: rule r: match[0].user: "*a": write "*a" in quotes: YAML takes a bare * for an alias`,
			`4:30: rule r: match[0].path[0]: "*b*": write "*b*" in quotes: YAML takes a bare * for an alias`,
			`5:26: rule r: except[0].user_agent: "*bot*": write "*bot*" in quotes: YAML takes a bare * for an alias`,
		}},
	})
}

func TestMessageLength(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int // bytes, 0 if accepted
	}{
		{strings.Repeat("a", maxMessage), 0},
		{strings.Repeat("a", maxMessage+1), 1025},
		{strings.Repeat("操", maxMessage/3), 0},
		{strings.Repeat("操", maxMessage/3+1), 1026},
	} {
		for place, data := range map[string]string{
			"4:14: rule r: message":           oneRule("message: " + tt.text),
			"4:41: rule r: limits[0].message": oneRule("limits: [{limit: 1 per 1s, message: " + tt.text + "}]"),
			"2:21: defaults.message":          "version: 1\ndefaults: {message: " + tt.text + "}\nrules: [{name: r}]",
		} {
			want := ""
			if tt.want > 0 {
				want = fmt.Sprintf("%s: a message is at most 1024 bytes: this one has %d", place, tt.want)
			}
			if got := strings.Join(structural(data), "\n"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
}
