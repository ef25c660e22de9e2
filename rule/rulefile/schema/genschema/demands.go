package main

import "github.com/invopop/jsonschema"

// demands adds to the levels what their fields need of each other.
func demands(s *schema) {
	d := s.Definitions
	s.Required = []string{"version", "rules"}
	d["rule"].Required = []string{"name", "limits"}
	d["limit"].Required = []string{"limit"}
	d["override"].Required = []string{"match", "limits"}
	d["attribute"].AllOf = attributeDemands()
	d["limit"].AllOf = limitDemands()
	d["rule"].AllOf = ruleDemands()

	zoned := has("defaults", has("zone", nil))
	s.If, s.Else = zoned, with("rules", &schema{Items: ref("rule_with_zone")})
	d["rule_with_zone"] = when(has("limits", &schema{Type: "array", Contains: limitWith(calendarText)}), needs("zone"))
	d["rule_with_zone"].Comments = "A calendar window needs the zone of its rule where defaults have none."
}

func attributeDemands() []*schema {
	return []*schema{
		when(has("scale", nil), has("type", is("number"))),
		when(has("type", is("number")), with("secret", is(false))),
		when(has("type", is("number", "address")), with("fold", is(false))),
	}
}

func limitDemands() []*schema {
	labelled := has("action", is("challenge", "degrade"))
	queued := has("action", is("queue"))
	locked := has("action", is("lock"))
	gcra := has("algorithm", is("gcra"))
	return []*schema{
		when(labelled, needs("with")),
		when(has("with", nil), labelled),
		when(queued, all(needs("max_wait"), gcra, with("count_refused", is(false)))),
		when(locked, all(needs("lasts"), with("count_refused", is(false)))),
		when(has("lasts", nil), locked),
		when(has("keep_history", is(true)), locked),
		when(has("max_wait", nil), queued),
		when(has("max_queue", nil), queued),
		when(gcra, needs("burst")),
		when(has("burst", nil), gcra),
		when(has("buckets", nil), &schema{
			If: has("algorithm", nil), Then: with("algorithm", is("sliding_buckets")),
			Else: with("limit", pattern(sumText, "only sliding_buckets has buckets, which a sum is kept in by default: add algorithm: sliding_buckets")),
		}),
		when(has("algorithm", nil), with("limit", pattern(pacedText, "only counts and sums over a time such as 1m have an algorithm: leave it out"))),
		when(has("limit", text(sumText)), with("algorithm", is("sliding_buckets", "sliding_counter", "gcra", "fixed"))),
		when(has("limit", text(eventsText)), with("count_refused", is(false))),
		when(has("limit", text(inflightText)), with("count_refused", is(false))),
	}
}

func ruleDemands() []*schema {
	inflight := has("limits", &schema{Type: "array", Contains: limitWith(inflightText)})
	return []*schema{when(inflight, needs("hold"))}
}

// limitWith is a limit, in either form, of this text.
func limitWith(pattern string) *schema {
	return &schema{If: &schema{Type: "object"}, Then: has("limit", text(pattern)), Else: text(pattern)}
}

func text(pattern string) *schema { return &schema{Type: "string", Pattern: pattern} }

func when(condition, then *schema) *schema { return &schema{If: condition, Then: then} }

func all(parts ...*schema) *schema { return &schema{AllOf: parts} }

func needs(field string) *schema { return &schema{Required: []string{field}} }

// with holds where a field is left out, or has this form.
func with(field string, form *schema) *schema {
	s := &schema{Properties: jsonschema.NewProperties()}
	s.Properties.Set(field, form)
	return s
}

// has holds where a field is there and, if a form is given, has it.
func has(field string, form *schema) *schema {
	if form == nil {
		return needs(field)
	}
	s := with(field, form)
	s.Required = []string{field}
	return s
}

// is holds for these values.
func is(values ...any) *schema {
	if len(values) == 1 {
		return &schema{Const: values[0]}
	}
	return &schema{Enum: values}
}
