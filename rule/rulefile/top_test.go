package rulefile

import "testing"

func TestTop(t *testing.T) {
	checkWrong(t, []wrong{
		{"empty", "", []string{
			"1:1: no rules: the file is empty",
		}},
		{"blank", `

`, []string{
			"1:1: no rules: the file is empty",
		}},
		{"comment only", "# nothing yet\n", []string{
			"1:1: no rules: the file is empty",
		}},
		{"null", "~\n", []string{
			"1:1: no rules: the file is empty",
		}},
		{"document start only", "---\n", []string{
			"1:1: no rules: the file is empty",
		}},
		{"a text", "hello\n", []string{
			`1:1: "hello": a rule file is a mapping: write version: 1 and rules: with a list below it`,
		}},
		{"a list", "- name: r\n", []string{
			"1:1: a rule file is a mapping: write version: 1 and rules: with a list below it",
		}},
		{"empty mapping", "{}\n", []string{
			"1:1: version: version is missing: write version: 1 at the top",
			"1:1: rules: no rules: write rules: with a list below it",
		}},
		{"no version", "rules: [{name: r}]\n", []string{
			"1:1: version: version is missing: write version: 1 at the top",
		}},
		{"no rules", "version: 1\n", []string{
			"1:1: rules: no rules: write rules: with a list below it",
		}},
		{"empty rules", `version: 1
rules: []
`, []string{
			"2:8: rules: no rules: write a list of at least one rule",
		}},
		{"rules without a value", `version: 1
rules:
`, []string{
			"2:1: rules: no rules: write a list of at least one rule",
		}},
		{"rules as a text", `version: 1
rules: none
`, []string{
			`2:8: rules: "none": rules is a list: begin each rule with "- name: "`,
		}},
		{"one rule as a mapping", `version: 1
rules:
  name: r
`, []string{
			`2:1: rules: rules is a list: begin each rule with "- name: "`,
		}},
		{"another version", `version: 2
rule: what
`, []string{
			`1:10: version: "2": this version is not known: write version: 1`,
			"2:1: rule: unknown field: did you mean rules?",
		}},
		{"version in quotes", `version: "1"
rules: [{name: r}]
`, []string{
			`1:10: version: "1": version is a whole number in plain digits without quotes: write version: 1`,
		}},
		{"version with a point", `version: 1.0
rules: [{name: r}]
`, []string{
			`1:10: version: "1.0": version is a whole number in plain digits`,
		}},
		{"version without a value", `version:
rules: [{name: r}]
`, []string{
			"1:1: version: version is empty: write version: 1",
		}},
		{"a rule that is a text", `version: 1
rules:
  - r
`, []string{
			`3:5: rule rules[0]: "r": a rule is a mapping: write {name: order-query, match: {event: order.query}, key: [user], limits: [100 per 1m]}`,
		}},
		{"a rule that is empty", `version: 1
rules:
  -
  - name: s
`, []string{
			"3:4: rule rules[0]: a rule is empty: write a value, or leave it out",
		}},
		{"a rule that is a list", `version: 1
rules:
  - [r]
`, []string{
			"3:5: rule rules[0]: a rule is a mapping: write {name: order-query, match: {event: order.query}, key: [user], limits: [100 per 1m]}",
		}},
		{"attributes as a list", `version: 1
attributes: [phone]
rules: [{name: r}]
`, []string{
			"2:13: attributes: attributes is a mapping: write attributes: {phone: {}, ip: {type: address}}",
		}},
		{"attribute as a text", `version: 1
attributes: {phone: text, ip: address, n: long}
rules: [{name: r}]
`, []string{
			`2:21: attributes.phone: "text": phone is a mapping: write {type: text}, {type: address} or {type: number}`,
			`2:31: attributes.ip: "address": ip is a mapping: write {type: text}, {type: address} or {type: number}`,
			`2:43: attributes.n: "long": n is a mapping: write {type: text}, {type: address} or {type: number}`,
		}},
		{"attribute without a value", `version: 1
attributes:
  phone:
rules: [{name: r}]
`, []string{
			"3:3: attributes.phone: phone is empty: write phone: {}",
		}},
		{"attribute fields", `version: 1
attributes: {n: {typ: number, scale: "2"}, m: {scale: 5000000000}, k: {scale: 2.5}}
rules: [{name: r}]
`, []string{
			"2:18: attributes.n.typ: unknown field: did you mean type?",
			`2:38: attributes.n.scale: "2": scale is a whole number in plain digits without quotes: write scale: 2`,
			`2:55: attributes.m.scale: "5000000000": scale is 0 to 9`,
			`2:79: attributes.k.scale: "2.5": scale is a whole number in plain digits`,
		}},
		{"defaults as a text", `version: 1
defaults: UTC
rules: [{name: r}]
`, []string{
			`2:11: defaults: "UTC": defaults is a mapping: write defaults: {zone: UTC}`,
		}},
		{"defaults", `version: 1
defaults: {zone: [UTC], missing-key: skip, shadow: yes, message: ''}
rules: [{name: r}]
`, []string{
			"2:18: defaults.zone: zone is a text, not a list: write zone: UTC",
			"2:25: defaults.missing-key: unknown field: did you mean missing_key?",
			`2:52: defaults.shadow: "yes": shadow is true or false: write shadow: true`,
			"2:66: defaults.message: message is empty: write a value, or leave it out",
		}},
	})
}
