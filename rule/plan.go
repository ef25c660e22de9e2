package rule

// Plan is a compiled set of rules. It never changes and may be shared.
type Plan struct{}

// Compile checks a set and returns its plan and what is probably not meant
// (warnings). The error, if any, is an [Errors] with everything that is wrong.
func Compile(set *Set) (plan *Plan, warnings []*Error, err error) { return &Plan{}, nil, nil }
