package examples_test

import (
	"testing"

	"github.com/slidegate/slidegate/gate/gatetest"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/rule/rulefile"
)

// TestRules runs tests/*.gate, beside this file.
func TestRules(t *testing.T) {
	gatetest.Run(t, "tests", gatetest.Options{Load: loadPlan})
}

func loadPlan(path string) (*rule.Plan, error) {
	f, err := rulefile.Load(path)
	if err != nil {
		return nil, err
	}
	return f.Plan, nil
}
