package main

// Patterns of texts. They use what ECMA-262 and RE2 read alike.
//
// The loader trims blanks of any alphabet around the parts of a limit, for which
// the two have no common word: blank is whatever is no printable ASCII, and
// takes in a little more.
const (
	attrName  = `[A-Za-z_][A-Za-z0-9_.-]*`
	ruleName  = `^[a-z0-9][a-z0-9_.-]*$`
	duration  = `^` + period + `$`
	keySource = attrName + `(/[0-9]+(/[0-9]+)?)?`
	keyPart   = `^` + keySource + `(\|` + keySource + `)*$`
	untilText = `^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{1,2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2}))?$`

	blank    = `[^!-~]`
	period   = `0*[1-9][0-9]*(ms|s|m|h|d)`
	events   = `0*[1-9][0-9]* events`
	calendar = `calendar (hour|day|week|month|year)`
	whole    = `[0-9]+(_[0-9]+)*`
	unit     = `([kMGT]|[KMGT]i)?`
	integer  = whole + unit
	decimal  = whole + `(\.[0-9]+)?` + unit
	counted  = `( ` + blank + `*count)?`
	failed   = ` ` + blank + `*failures`
	streak   = ` ` + blank + `*streak` + blank + `+where[ (][\s\S]+`
	summed   = ` ` + blank + `*sum\(` + blank + `*` + attrName + blank + `*\)`
	distinct = ` ` + blank + `*distinct\(` + blank + `*` + attrName + blank + `*\)`
	held     = ` ` + blank + `*inflight`
	where    = `(` + blank + `+where[ (][\s\S]+)?`
	per      = blank + `* per ` + blank + `*`
	begin    = `^` + blank + `*`
	end      = blank + `*$`

	sumText      = begin + decimal + summed + where + per + `(` + period + `|` + calendar + `)` + end
	inflightText = begin + integer + held + where + end
	eventsText   = begin + integer + counted + per + events + end
	calendarText = per + calendar + end
	// pacedText are those that have an algorithm: counts and sums over a time.
	pacedText = begin + `(` + integer + `(` + counted + `|` + failed + `)|` + decimal + summed + `)` + where + per + period + end
	anyText   = begin + `(` +
		integer + counted + per + events + `|` +
		`(` + integer + `(` + counted + `|` + failed + `|` + distinct + `)|` + decimal + summed + `)` + where + per + `(` + period + `|` + calendar + `)|` +
		integer + streak + per + `(` + period + `|` + calendar + `)|` +
		integer + held + where +
		`)` + end

	// What a limit begins and ends with.
	maximum  = begin + decimal + `(` + blank + `|$)`
	windowed = `( per ` + blank + `*(` + period + `|` + events + `|` + calendar + `)| ` + blank + `*inflight(` + blank + `+where[\s\S]*)?)` + end
)

// limitText is the text of a limit. What is wrong with one is looked for from
// the outside inwards, so that there is one complaint.
func limitText() *schema {
	return &schema{
		Title: "Limit", Description: "A maximum, what is counted (the cost of events unless it says otherwise), and a window.",
		Type: "string",
		If:   &schema{Pattern: maximum},
		Then: &schema{
			If:   &schema{Pattern: windowed},
			Then: pattern(anyText, "a limit is a maximum, what is counted and a window: 100 per 1m, 10Mi sum(bytes) per 1h, 5 distinct(phone) per 1h, 3 count where links > 0 per 1h, 3 per 10 events, 100 per calendar day, 500 inflight, 5 failures per 10m, 5 streak where failed per 10m"),
			Else: pattern(windowed, "a limit ends with its window: per 60s, per 24h (ms, s, m, h, d), per 10 events, per calendar day; or it is on what is inflight"),
		},
		Else:     pattern(maximum, "a limit begins with its maximum: 100, 10_000, 200k, 10Gi or, for a sum, 199.99"),
		Examples: []any{"100 per 1m", "10 per 24h", "100 per calendar day", "10Mi sum(bytes) per 1h", "5 distinct(phone) per 1h", "3 count where links > 0 per 1h", "3 per 10 events", "500 inflight", "5 failures per 10m"},
	}
}
