package gate_test

import (
	"flag"
	"testing"

	"github.com/slidegate/slidegate/gate/gatetest"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/rule/rulefile"
)

var rewrite = flag.Bool("rewrite", false, "write what came back into the scripts of testdata")

// TestScripts runs every script in testdata.
func TestScripts(t *testing.T) {
	gatetest.Run(t, "testdata", gatetest.Options{Load: loadPlan, Rewrite: *rewrite})
}

// TestGoodFiles runs a script for each example of the grammar, which shows what
// it promises, and for the actions.
func TestGoodFiles(t *testing.T) {
	gatetest.Run(t, "testdata/good", gatetest.Options{Load: loadPlan, Rewrite: *rewrite})
}

func loadPlan(path string) (*rule.Plan, error) {
	f, err := rulefile.Load(path)
	if err != nil {
		return nil, err
	}
	return f.Plan, nil
}
