// Command genschema writes the JSON Schema of the rule file,
// rule/rulefile/schema/slidegate.schema.json. Names, their order and their
// descriptions are those of the types of package rule; how a file writes each of
// them, and what needs what, stands here. Run it from the root of the module:
//
//	go generate ./rule/rulefile/schema
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// output is where the schema is kept, from the root of the module.
const output = "rule/rulefile/schema/slidegate.schema.json"

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "genschema:", err)
		os.Exit(1)
	}
}

func write() error {
	data, err := generate()
	if err != nil {
		return err
	}
	return os.WriteFile(output, data, 0o644)
}

// generate returns the schema as it is written.
func generate() ([]byte, error) {
	s, err := reflectSet()
	if err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	for _, c := range []byte("<>&") { // for people, not for web pages
		data = bytes.ReplaceAll(data, fmt.Appendf(nil, `\u%04x`, c), []byte{c})
	}
	return append(data, '\n'), nil
}
