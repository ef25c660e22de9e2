//go:generate sh -c "cd ../../.. && go run ./rule/rulefile/schema/genschema"

// Package schema holds the JSON Schema of the rule file, with which editors
// complete and check rules while they are written. It is of draft 2020-12, and
// means the same to validators that read it as draft 7. It is generated from the
// types of package rule and their comments.
//
// A schema sees less than the loader: it knows nothing of names that are
// declared elsewhere in the file, conditions, time zones or quotes. But it never
// refuses what the loader accepts, and `slidegate check` says the rest.
package schema

import _ "embed"

//go:embed slidegate.schema.json
var text string

// Text returns the schema as JSON. It costs nothing.
func Text() string { return text }
