package rulefile

import "testing"

func TestLimits(t *testing.T) {
	checkWrong(t, []wrong{
		{"a text", oneRule("limits: 5 per 1m"), []string{
			`4:13: rule r: limits: "5 per 1m": limits is a list: write limits: [5 per 1m]`,
		}},
		{"several in a text", oneRule("limits: 1 per 1s, 5 per 1m"), []string{
			`4:13: rule r: limits: "1 per 1s, 5 per 1m": limits is a list: write limits: [1 per 1s, 5 per 1m]`,
		}},
		{"a mapping", oneRule("limits: {limit: 5 per 1m}"), []string{
			`4:13: rule r: limits: limits is a list: put "- " before each item, or brackets around them`,
		}},
		{"empty", oneRule("limits: []"), []string{
			"4:13: rule r: limits: limits is empty: a rule needs limits, as in limits: [100 per 1m]",
		}},
		{"without a value", oneRule("limits:"), []string{
			"4:5: rule r: limits: limits is empty: write a value, or leave it out",
		}},
		{"items", oneRule("limits: [1 per 1s, [2 per 1s], ~, '', {}]"), []string{
			"4:24: rule r: limits[1]: a limit is a text or a mapping, not a list: take the inner brackets away",
			`4:36: rule r: limits[2]: "~": limits[2] is empty, since YAML reads ~ as nothing: to mean the text, write "~"`,
			"4:39: rule r: limits[3]: limits[3] is empty: write a value, or leave it out",
		}},
		{"numbers", oneRule("limits: [{limit: 1 per 1s, burst: \"20\", buckets: 1_000}, {burst: 010, buckets: 0x10}, {burst: +5, buckets: many}, {burst: 99999999999999999999, buckets: [1]}, {burst: -1, buckets: 0}, {burst: '~', buckets: ~}]"), []string{
			`4:39: rule r: limits[0].burst: "20": burst is a whole number in plain digits without quotes: write burst: 20`,
			`4:54: rule r: limits[0].buckets: "1_000": buckets is a whole number in plain digits: write buckets: 1000`,
			`4:70: rule r: limits[1].burst: "010": burst is a whole number in plain digits: write burst: 10`,
			`4:84: rule r: limits[1].buckets: "0x10": buckets is a whole number in plain digits`,
			`4:99: rule r: limits[2].burst: "+5": burst is a whole number in plain digits: write burst: 5`,
			`4:112: rule r: limits[2].buckets: "many": buckets is a whole number in plain digits`,
			`4:127: rule r: limits[3].burst: "99999999999999999999": burst is too great a number`,
			"4:158: rule r: limits[3].buckets: buckets is a number, not a list: write buckets: 1",
			`4:197: rule r: limits[5].burst: "~": burst is a whole number in plain digits`,
			`4:211: rule r: limits[5].buckets: "~": buckets is empty, since YAML reads ~ as nothing: to mean the text, write "~"`,
		}},
		{"unknown fields", oneRule("limits: [{limits: 1 per 1s, algoritm: gcra, key: [user], adapt: captcha, countRefused: true, bucket: 5}]"), []string{
			"4:15: rule r: limits[0].limits: unknown field: did you mean limit?",
			"4:33: rule r: limits[0].algoritm: unknown field: did you mean algorithm?",
			"4:49: rule r: limits[0].key: unknown field: key belongs in a rule",
			"4:62: rule r: limits[0].adapt: unknown field",
			"4:78: rule r: limits[0].countRefused: unknown field: did you mean count_refused?",
			"4:98: rule r: limits[0].bucket: unknown field: did you mean buckets?",
		}},
		{"texts", oneRule("limits: [{limit: [1 per 1s], action: {}, algorithm: , message: [a, b], shadow: on, count_refused: 1}]"), []string{
			"4:22: rule r: limits[0].limit: limit is a text, not a list: write limit: 1 per 1s",
			"4:42: rule r: limits[0].action: action is a text, not a mapping: a text that begins with [ or {, or holds a colon and a space, must be in quotes",
			"4:46: rule r: limits[0].algorithm: algorithm is empty: write a value, or leave it out",
			"4:68: rule r: limits[0].message: message is a text, not a list: a text that begins with [ or {, or holds a colon and a space, must be in quotes",
			`4:84: rule r: limits[0].shadow: "on": shadow is true or false: write shadow: true`,
			`4:103: rule r: limits[0].count_refused: "1": count_refused is true or false: write count_refused: true`,
		}},
		{"colon", oneRule("limits: [1 per 1s: x]"), []string{
			"4:14: rule r: limits[0].1 per 1s: unknown field",
		}},
		{"overrides as a text", oneRule("overrides: unlimited"), []string{
			`4:16: rule r: overrides: "unlimited": overrides is a list: write overrides: [{match: {user: acme}, limits: [1000 per 1m]}], or overrides: {file: PATH}`,
		}},
		{"override as a mapping", oneRule("overrides: {match: {user: a}, limits: unlimited}"), []string{
			"4:16: rule r: overrides: overrides is a list: write overrides: [{match: {user: acme}, limits: [1000 per 1m]}], or overrides: {file: PATH}",
		}},
		{"overrides empty mapping", oneRule("overrides: {}"), []string{
			"4:16: rule r: overrides: overrides is a list: write overrides: [{match: {user: acme}, limits: [1000 per 1m]}], or overrides: {file: PATH}",
		}},
		{"overrides other mapping", oneRule("overrides: {files: x.yaml}"), []string{
			"4:17: rule r: overrides.files: unknown field: did you mean file?",
		}},
		{"overrides file and more", oneRule("overrides: {file: override/good.yaml, every: 1m}"), []string{
			`4:23: rule r: overrides.file: "override/good.yaml": cannot read testdata/override/good.yaml: no such file or directory`,
			"4:43: rule r: overrides.every: unknown field",
		}},
		{"override items", oneRule("overrides: [a, ~, {}, {matc: {user: a}, limits: unlimited}]"), []string{
			`4:17: rule r: overrides[0]: "a": an override is a mapping: write {match: {user: acme}, limits: [1000 per 1m]}`,
			`4:20: rule r: overrides[1]: "~": an override is empty, since YAML reads ~ as nothing: to mean the text, write "~"`,
			"4:28: rule r: overrides[3].matc: unknown field: did you mean match?",
		}},
		{"override limits", oneRule("overrides: [{limits: []}, {limits: 5 per 1m}, {limits: Unlimted}, {limits: [unlimited, {limit: 1 per 1s}, ~]}, {unlimited: true}, {limits: }]"), []string{
			"4:26: rule r: overrides[0].limits: limits is empty: write limits: unlimited to lift the limits",
			`4:40: rule r: overrides[1].limits: "5 per 1m": limits is a list: write limits: [5 per 1m]`,
			`4:60: rule r: overrides[2].limits: "Unlimted": write limits: unlimited`,
			`4:81: rule r: overrides[3].limits[0]: "unlimited": unlimited stands alone: write limits: unlimited`,
			"4:92: rule r: overrides[3].limits[1]: a limit of an override is a text, such as 1000 per 1m: its other fields stay those of the rule",
			`4:111: rule r: overrides[3].limits[2]: "~": limits[2] is empty, since YAML reads ~ as nothing: to mean the text, write "~"`,
			"4:117: rule r: overrides[4].unlimited: unknown field: write limits: unlimited",
			"4:136: rule r: overrides[5].limits: limits is empty: write a value, or leave it out",
		}},
		{"until", oneRule("overrides: [{until: 2026-12-31}, {until: 2026-12-31T00:00:00Z}, {until: }, {until: ''}, {until: \"2026-12-31\"}, {until: soon}]"), []string{
			`4:25: rule r: overrides[0].until: "2026-12-31": write it in quotes: until: "2026-12-31"`,
			`4:46: rule r: overrides[1].until: "2026-12-31T00:00:00Z": write it in quotes: until: "2026-12-31T00:00:00Z"`,
			"4:70: rule r: overrides[2].until: until is empty: write a value, or leave it out",
			"4:88: rule r: overrides[3].until: until is empty: write a value, or leave it out",
			`4:124: rule r: overrides[5].until: "soon": write it in quotes: until: "soon"`,
		}},
	})
}
