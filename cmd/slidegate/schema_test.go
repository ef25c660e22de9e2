package main

import (
	"testing"

	"github.com/slidegate/slidegate/rule/rulefile/schema"
)

func TestSchema(t *testing.T) {
	command(t, "schema").want(t, exitOK, schema.Text(), "")
	if r := command(t, "schema", "rules.yaml"); r.code != exitUsage || r.out != "" || r.err == "" {
		t.Errorf("%+v", r)
	}
}
