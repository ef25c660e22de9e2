// Package rule holds rules as Go data, checks them, and compiles them into an
// immutable [Plan]: which rules an event meets, which key it has in each, and
// which windows it is charged to.
//
// Most programs read rules from a file with package rulefile; this package is
// for those that write them in Go. The words are those of the rule file.
package rule

// Set is a whole set of rules, as one rule file holds them.
type Set struct {
	// Attributes declares the attributes that rules may use. When it is not
	// nil, any other name in a rule is an error. When it is nil every name is
	// allowed and "ip" is an address.
	Attributes map[string]Attribute
	// Defaults hold for rules that do not say otherwise.
	Defaults Defaults
	// Rules are judged together; their order decides only which is named
	// first.
	Rules []Rule
}

// Attribute declares one attribute. The zero Attribute is a text.
type Attribute struct {
	// Type is "text" (the default), "address" or "number".
	Type string
	// Scale is the number of decimals that sums of a number keep, 0 to 9; nil
	// means 3.
	Scale *int
}

// Defaults are what rules have when they do not say otherwise.
type Defaults struct {
	Zone       string // time zone of dates, such as "Asia/Shanghai"; "" is UTC
	MissingKey string // see Rule.MissingKey
	Shadow     bool   // see Rule.Shadow
	Message    string // see Rule.Message
}

// Rule says whose events are limited, and how.
type Rule struct {
	// Name is required and unique: [a-z0-9][a-z0-9_.-]*. State hangs on it.
	Name string
	// Match selects events: any of the matchers. Empty selects all.
	Match []Matcher
	// Except leaves events out that Match selected: any of the matchers. They
	// are neither counted nor limited.
	Except []Matcher
	// Key names the attributes that separate the rule's windows: "user",
	// "phone/7" (its first 7 characters), "ip/24/48" (network prefixes),
	// "user|ip" (the first present). Empty means one window for all.
	Key []string
	// MissingKey says what happens to an event that lacks a part of the key:
	// "skip" (the default: the rule does not apply), "reject", or "shared"
	// (all such events share one window).
	MissingKey string
	// Limits are all judged at once. Required.
	Limits []Limit
	// Overrides replace the limits for some events; the first that matches
	// wins.
	Overrides []Override
	// Zone is the time zone of the dates in this rule.
	Zone string
	// Message is what a person who is refused is told.
	Message string
	// Shadow makes all limits of the rule shadow limits. nil takes the default.
	Shadow *bool
}

// Matcher maps attributes to the values they may have; all must hold. A value
// is a text as written, a "*glob*" (any * makes one, and * also stands for /),
// or "*" alone, which holds when the attribute is present. "event" is the name
// of the event.
type Matcher map[string][]string

// Limit is one limit of a rule.
type Limit struct {
	// Limit is the text: "100 per 1m", "10Mi sum(bytes) per 1h",
	// "3 per 10 events".
	Limit string
	// Action is "reject" (the default).
	Action string
	// Algorithm is "sliding_log" (the default for counts), "sliding_buckets"
	// (the default for sums), "gcra" or "fixed".
	Algorithm string
	// Buckets is the number of slices of sliding_buckets, 1 to 1000; nil
	// means 60.
	Buckets *int64
	// Burst is how many hits gcra lets through at one instant: required with
	// it, and only there.
	Burst *int64
	// CountRefused makes refused events count too: whoever keeps hammering
	// stays out.
	CountRefused bool
	// Shadow makes the limit judge and count, but never refuse. nil takes the
	// rule's.
	Shadow *bool
	// Message is what a person who is refused is told; "" takes the rule's.
	Message string
}

// Override replaces the limits of a rule for the events it matches. The
// windows and what is in them stay.
type Override struct {
	// Match selects events: any of the matchers. Required.
	Match []Matcher
	// Limits are limit texts. Each names, by measure and window, one limit of
	// the rule, and gives it another maximum. Limits of the rule that are not
	// named do not apply.
	Limits []string
	// Unlimited lets the events through uncounted. It excludes Limits.
	Unlimited bool
	// Until ends the override: "2026-12-31" (through that day in the rule's
	// zone) or a time in RFC 3339. Empty means never.
	Until string
}
