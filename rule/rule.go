// Package rule holds rules as Go data, checks them, and compiles them into an
// immutable [Plan]: which rules an event meets, which key it has in each, and
// which windows it is charged to.
//
// Most programs read rules from a file with package rulefile; this package is
// for those that write them in Go. The words are those of the rule file.
package rule

import "strings"

// Set is a whole set of rules, as one rule file holds them.
type Set struct {
	// Instances is among how many processes without a common store the limits are
	// divided: each gets its part of every maximum, burst and queue, rounded down. 0 and
	// 1 divide nothing. A limit of which nothing is left is an error. It is not part of a
	// rule file.
	Instances int
	// Attributes declares the attributes that rules may use: any other name in
	// a rule is an error. Left out (nil), every name is allowed and "ip" is an
	// address.
	Attributes map[string]Attribute
	// Lists are values that matchers name with [InList] and conditions with
	// "in". A value may be a "*glob*" or, for an address, a network such as
	// "10.0.0.0/8".
	Lists map[string][]string
	// Allow lets the events that any of the matchers selects through, and Deny
	// rejects them, before every rule and uncounted. Deny wins.
	Allow, Deny []Matcher
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
	// Secret hides a text or address wherever the engine keeps or shows it:
	// its HMAC takes its place (see [Secrets]).
	Secret bool
	// Fold takes upper and lower case of a text for the same.
	Fold bool
	// Scale is the number of decimals that sums of a number keep, 0 to 9. Left
	// out (nil), it is 3.
	Scale *int
}

// Defaults are what rules have when they do not say otherwise.
type Defaults struct {
	Zone         string // see Rule.Zone
	MissingKey   string // see Rule.MissingKey
	OnStoreError string // see Rule.OnStoreError
	Shadow       bool   // see Rule.Shadow
	Message      string // see Rule.Message
}

// Rule says whose events are limited, and how.
type Rule struct {
	// Name is required and unique: [a-z0-9][a-z0-9_.-]*. State hangs on it.
	Name string
	// Match selects events: any of the matchers. Left out (nil), it selects
	// all.
	Match []Matcher
	// Except leaves events out that Match selected: any of the matchers. They
	// are neither counted nor limited.
	Except []Matcher
	// Where is a condition that the event must meet, such as "links > 0". What
	// an event lacks has no value, and the rule does not apply.
	Where string
	// Key names the attributes that separate the rule's windows: "user",
	// "phone/7" (its first 7 characters), "ip/24/48" (network prefixes),
	// "user|ip" (the first present). Left out (nil), there is one window for
	// all.
	Key []string
	// MissingKey says what happens to an event that lacks a part of the key:
	// "skip" (the default: the rule does not apply), "reject", or "shared"
	// (all such events share one window).
	MissingKey string
	// Replaces names rules that do not apply where this one does.
	Replaces []string
	// Limits are all judged at once: if one refuses, none is charged. Required.
	Limits []Limit
	// Overrides replace the limits for some events; the first that matches
	// wins.
	Overrides []Override
	// Counts says which verb feeds the limits: "checks", or "reports". Left out, a
	// limit that reads the outcome (failures, streak, or failed or outcome in a
	// condition) is fed by reports, and any other by checks.
	Counts string
	// Hold is how long a place in flight is kept that is not renewed, such as "2m":
	// required where a limit counts what is in flight. Of other limits it is how long
	// what a check takes is not final: a report settles it. Left out, it is 30s where
	// a limit reads the outcome, and what checks take of the others is final.
	Hold string
	// Unsettled says what becomes of what no report settled within Hold: "keep" (the
	// default: it counts) or "release".
	Unsettled string
	// ForgetAfter is how long after its end a lock is remembered, so that the next
	// lasts longer, such as "24h". Left out, it is 24h where locks last longer and
	// longer, otherwise the longest window of the rule.
	ForgetAfter string
	// Zone is the time zone of the rule's calendar, of hour and weekday, and of
	// dates, such as "Asia/Shanghai". Calendar windows need one; elsewhere, left
	// out, it is UTC.
	Zone string
	// OnStoreError says what the rule answers while its store cannot be reached:
	// "local" (the default: it counts by itself), "open" or "closed".
	OnStoreError string
	// Message is what a person is told whom the rule does not simply let
	// through. It may hold the variables <retry_after>, <remaining>, <limit> and
	// <key.NAME> (see [Message]).
	Message string
	// Shadow makes all limits of the rule shadow limits: they judge and count,
	// but never refuse. Left out (nil), it is the default's.
	Shadow *bool
}

// Matcher maps attributes to the values they may have; all must hold. "event" is
// the name of the event.
type Matcher map[string][]Value

// Value is a value that an attribute may have: a text as written, a "*glob*" (any
// * makes one, and * also stands for /), "*" alone, which holds when the
// attribute is present, for an address also a network such as "10.0.0.0/8", or
// any value of a list: see [InList].
type Value string

// listMark begins a Value that names a list. No text does.
const listMark = "\x00list:"

// InList returns the Value that stands for all values of a list of the [Set].
func InList(name string) Value { return listMark + Value(name) }

// String returns v for people.
func (v Value) String() string {
	if name, ok := v.list(); ok {
		return "in the list " + name
	}
	return string(v)
}

// list returns the name of the list that v stands for.
func (v Value) list() (name string, ok bool) { return strings.CutPrefix(string(v), listMark) }

// Limit is one limit of a rule.
type Limit struct {
	// Limit is a maximum, what is counted, and a window: "100 per 1m", "10Mi
	// sum(bytes) per 1h", "5 distinct(phone) per 1h", "3 count where links > 0
	// per 1h", "3 per 10 events", "100 per calendar day", "500 inflight", and of
	// what is reported "5 failures per 10m", "5 streak where failed per 10m".
	Limit string
	// Action is what to do with an event that does not fit: "reject" (the
	// default), "degrade", "challenge", "queue" or "lock".
	Action string
	// With says how to degrade or what challenge to put, such as "captcha":
	// required with these, and only there. An event that names it in Passed is
	// not challenged again.
	With string
	// Lasts is how long a lock lasts, such as "15m"; of several, the first one, the
	// second in a row, and so on, each longer than the one before. Required with the
	// action lock, and only there.
	Lasts []string
	// KeepHistory leaves the rule's windows of the key as they are when it is locked;
	// otherwise they begin anew. It is for the action lock only.
	KeepHistory bool
	// MaxWait is how long an event may queue, such as "2s": required with the
	// action queue, and only there. It needs gcra.
	MaxWait string
	// MaxQueue is how many may queue, 1 or more. Left out (nil), 10 000 may.
	MaxQueue *int64
	// Algorithm is "sliding_log" (the default for counts), "sliding_buckets"
	// (the default for sums), "sliding_counter", "gcra" or "fixed". Only counts
	// and sums over a window of time have one.
	Algorithm string
	// Buckets is the number of slices of sliding_buckets, 1 to 1000. Left out
	// (nil), it is 60.
	Buckets *int64
	// Burst is how many hits gcra lets through at one instant: required with
	// it, and only there.
	Burst *int64
	// CountRefused makes refused events count too: whoever keeps hammering
	// stays out.
	CountRefused bool
	// Shadow makes the limit judge and count, but never refuse. Left out (nil),
	// it is the rule's.
	Shadow *bool
	// Message is what a person is told whom this limit does not simply let
	// through, as in [Rule]. Left out, it is the rule's.
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
	// Unlimited lets the events through uncounted. It excludes Limits, in whose
	// place a file writes it.
	Unlimited bool
	// Until ends the override: "2026-12-31" (through that day in the rule's
	// zone) or a time in RFC 3339. Left out, it never ends.
	Until string
}
