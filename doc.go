// Package slidegate holds the nouns of Slidegate: the events that are judged,
// the decisions that come back, and the errors. It does nothing itself.
//
// Most programs want one of two packages:
//
//   - [github.com/slidegate/slidegate/gate] judges events against a plan of
//     rules (gate.New), or is a keyed limiter in two lines (gate.NewLimiter);
//   - [github.com/slidegate/slidegate/rule/rulefile] reads a plan from a file.
//
// Times in this API are [time.Time] and [time.Duration]. Decisions are made in
// whole microseconds.
package slidegate
