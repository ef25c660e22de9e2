package main

import (
	"maps"

	"github.com/invopop/jsonschema"
)

type schema = jsonschema.Schema

const one uint64 = 1

var titles = map[string]string{
	"set": "Slidegate rule file", "attribute": "Attribute", "defaults": "Defaults", "rule": "Rule", "limit": "Limit", "override": "Override",
}

// Types that a schema has for a scalar, which the loader takes as it is written:
// 404 and true are texts where one is wanted.
var scalars = []string{"string", "number", "boolean"}

// written says how a file writes the fields of each level.
func written() map[string]map[string]*schema {
	return map[string]map[string]*schema{
		"set": {
			"attributes": {
				Type: "object", AdditionalProperties: ref("attribute"), PropertyNames: attributeNames(),
				Examples: []any{map[string]any{"user": map[string]any{}, "ip": map[string]any{"type": "address"}}},
			},
			"lists": {
				Type: "object", AdditionalProperties: ref("list"),
				PropertyNames: pattern(`^`+attrName+`$`, "a list has a name of letters, digits, _ . - that begins with a letter or _"),
				Examples:      []any{map[string]any{"internal": []string{"10.0.0.0/8"}}},
			},
			"allow":    ref("matchers"),
			"deny":     ref("matchers"),
			"defaults": ref("defaults"),
			"rules":    {Type: "array", MinItems: new(one), Items: ref("rule")},

			"instances": {Description: "-"},
		},
		"attribute": {
			"type":   choice("text", "text", "address", "number"),
			"secret": boolean(),
			"fold":   boolean(),
			"scale":  {Type: "integer", Minimum: "0", Maximum: "9", Default: 3},
		},
		"defaults": {
			"zone": zone(), "missing_key": choice("skip", "skip", "reject", "shared"), "on_store_error": choice("local", "local", "open", "closed"),
			"shadow": boolean(), "message": message(),
		},
		"rule":  ruleForms(),
		"limit": limitForms(),
		"override": {
			"match":     {Ref: "#/$defs/selectors"},
			"limits":    ref("override_limits"),
			"until":     until(),
			"unlimited": {Description: "-"},
		},
	}
}

func ruleForms() map[string]*schema {
	return map[string]*schema{
		"name":           name("order-query"),
		"match":          ref("selectors"),
		"except":         ref("matchers"),
		"where":          {Extras: types("string", "boolean"), MinLength: new(one), Examples: []any{"links > 0", `method == "POST" and status >= 500`}},
		"key":            {Type: "array", Items: ref("key_part"), Examples: []any{[]string{"user"}, []string{"user|ip", "api"}}},
		"missing_key":    choice("skip", "skip", "reject", "shared"),
		"replaces":       {Type: "array", Items: name()},
		"limits":         {Type: "array", MinItems: new(one), MaxItems: new(uint64(1000)), Items: ref("limit_or_text")},
		"overrides":      ref("overrides"),
		"counts":         {Type: "string", Enum: []any{"checks", "reports"}},
		"hold":           ref("duration"),
		"unsettled":      choice("keep", "keep", "release"),
		"forget_after":   ref("duration"),
		"zone":           zone(),
		"on_store_error": choice("local", "local", "open", "closed"),
		"message":        message(),
		"shadow":         {Type: "boolean"},
	}
}

func limitForms() map[string]*schema {
	return map[string]*schema{
		"limit":         ref("limit_text"),
		"action":        choice("reject", "reject", "degrade", "challenge", "queue", "lock"),
		"with":          {Extras: types(scalars...), MinLength: new(one), Examples: []any{"captcha", "cached"}},
		"lasts":         ref("durations"),
		"keep_history":  boolean(),
		"max_wait":      ref("duration"),
		"max_queue":     {Type: "integer", Minimum: "1", Default: 10_000},
		"algorithm":     {Type: "string", Enum: []any{"sliding_log", "sliding_buckets", "sliding_counter", "gcra", "fixed"}},
		"buckets":       {Type: "integer", Minimum: "1", Maximum: "1000", Default: 60},
		"burst":         {Type: "integer", Minimum: "1", Examples: []any{10}},
		"count_refused": boolean(),
		"shadow":        {Type: "boolean"},
		"message":       message(),
	}
}

// named are the forms that have no Go type of their own. A union asks for the
// type of what is there first, so that an error speaks of the form that was
// meant.
func named() map[string]*schema {
	scalar := &schema{Extras: types(scalars...)}
	return map[string]*schema{
		"selectors": union("Matchers", "A matcher, or a list of matchers of which any must hold.",
			"array", &schema{MinItems: new(one), Items: ref("matcher")}, ref("matcher")),
		"matchers": union("Matchers", "A matcher, or a list of matchers of which any must hold.", "array", &schema{Items: ref("matcher")}, ref("matcher")),
		"matcher": {
			Title: "Matcher", Description: "Attributes and the values they may have; all must hold. event is the name of the event.",
			Type: "object", MinProperties: new(one), AdditionalProperties: ref("matcher_values"),
			PropertyNames: pattern(`^`+attrName+`$`, "this is not the name of an attribute"), Examples: []any{map[string]any{"event": "login"}},
		},
		"matcher_values": union("Values", "A value, or a list of values of which the attribute must have one: a text as written, a \"*glob*\" in quotes, "+
			"\"*\" for any, an address or a network such as 10.0.0.0/8, or {list: NAME}.",
			"array", &schema{MinItems: new(one), Items: ref("matcher_value")}, ref("matcher_value")),
		"matcher_value": union("Value", "", "object", level("list", &schema{
			Description: "The name of a list declared at the top.", Extras: types("string", "boolean"), Pattern: `^` + attrName + `$`}), scalar),
		"list": union("List", "Values, or {file: PATH} of a file with one value a line.", "object",
			level("file", path()), &schema{Type: "array", Items: &schema{Extras: types(scalars...), MinLength: new(one)}}),
		"overrides": union("Overrides", "A list of overrides, or {file: PATH} of a file that holds one.", "object",
			level("file", path()), &schema{Type: "array", Items: ref("override")}),
		"override_limits": union("Limits", "Limit texts, or the word unlimited: it lets the events through uncounted.", "string",
			&schema{Const: "unlimited"}, &schema{Type: "array", MinItems: new(one), Items: ref("limit_text")}),
		"limit_or_text": union("Limit", "A text such as 100 per 1m, or a mapping with limit and more.", "object", ref("limit"), ref("limit_text")),
		"limit_text":    limitText(),
		"duration": {
			Type: "string", Pattern: duration, Examples: []any{"500ms", "30s", "2m"},
			Extras: complaint("a duration is one whole number and one of ms, s, m, h, d: 1000ms, 60s, 5m, 24h, 30d"),
		},
		"durations": union("Durations", "A duration, or a list of durations each longer than the one before.", "array",
			&schema{MinItems: new(one), Items: ref("duration")}, ref("duration")),
		"key_part": {
			Pattern: keyPart, MinLength: new(one),
			Extras: also(types("string", "boolean"), complaint("a part of a key is the name of an attribute, its beginning, a network, or alternatives: user, phone/7, ip/24/48, user|ip")),
		},
	}
}

func ref(name string) *schema { return &schema{Ref: "#/$defs/" + name} }

// union is then where a value is of the type, and otherwise elsewhere.
func union(title, description, kind string, then, otherwise *schema) *schema {
	return &schema{Title: title, Description: description, If: &schema{Type: kind}, Then: then, Else: otherwise}
}

// level is a mapping with one field.
func level(field string, value *schema) *schema {
	s := &schema{Type: "object", Properties: jsonschema.NewProperties(), Required: []string{field}, AdditionalProperties: jsonschema.FalseSchema}
	s.Properties.Set(field, value)
	return s
}

// attributeNames are the names that may be declared.
func attributeNames() *schema {
	s := pattern(`^`+attrName+`$`, "an attribute has letters, digits, _ . - and begins with a letter or _")
	s.Not = &schema{Const: "event"}
	return s
}

func choice(otherwise string, words ...string) *schema {
	s := &schema{Type: "string", Default: otherwise}
	for _, w := range words {
		s.Enum = append(s.Enum, w)
	}
	return s
}

func boolean() *schema { return &schema{Type: "boolean", Default: false} }

// message is a text for people. The loader counts bytes, of which there are no
// fewer.
func message() *schema {
	return &schema{Extras: types(scalars...), MinLength: new(one), MaxLength: new(uint64(1024)), Examples: []any{"Please try again in <retry_after>."}}
}

func zone() *schema {
	return &schema{Type: "string", MinLength: new(one), Examples: []any{"UTC", "Asia/Shanghai", "Europe/Berlin"}}
}

func path() *schema {
	return &schema{Description: "A path relative to the rule file.", Extras: types(scalars...), MinLength: new(one)}
}

func name(examples ...any) *schema {
	return &schema{
		Pattern: ruleName, Examples: examples, MinLength: new(one),
		Extras: also(types(scalars...), complaint("the name of a rule is lower case letters, digits, _ . - and begins with a letter or digit")),
	}
}

func until() *schema {
	return &schema{
		Type: "string", Pattern: untilText, Examples: []any{"2026-12-31", "2026-12-31T18:00:00Z"},
		Extras: complaint(`until is a day or a time in quotes: "2026-12-31" or "2026-12-31T18:00:00Z"`),
	}
}

func version() *schema {
	return &schema{Type: "integer", Const: 1, Description: "The version of the language of the file: 1. Required."}
}

func pattern(text, says string) *schema { return &schema{Pattern: text, Extras: complaint(says)} }

// types is the keyword type for more than one.
func types(names ...string) map[string]any { return map[string]any{"type": names} }

// complaint is what the language servers of editors say instead of showing a
// pattern. Others leave the keyword out of account.
func complaint(text string) map[string]any { return map[string]any{"patternErrorMessage": text} }

func also(a, b map[string]any) map[string]any {
	maps.Copy(a, b)
	return a
}
