package gatetest_test

import (
	"fmt"
	"os"

	"github.com/slidegate/slidegate/gate/gatetest"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/rule/rulefile"
)

// loadPlan is what Options.Load is in most programs.
func loadPlan(path string) (*rule.Plan, error) {
	f, err := rulefile.Load(path)
	if err != nil {
		return nil, err
	}
	return f.Plan, nil
}

// A test of a program: in place of ts stands the t of func TestRules(t *testing.T).
func ExampleRun() {
	gatetest.Run(ts, "testdata", gatetest.Options{Load: loadPlan})
	// Output:
	// testdata/example.gate:4: at 59s   check sms.send phone=1 -> allow
	// 	expected: allow
	// 	     got: reject sms-phone retry_after=1s
}

// ts prints what a test would.
var ts gatetest.TB = printing{}

type printing struct{}

func (printing) Helper()                           {}
func (printing) Errorf(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }
func (printing) Fatalf(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }

// The script of the example, and what it says of a line that expects too much:
//
//	rules example.yaml
//	at 0s    check sms.send phone=1 -> allow remaining=0
//	at 10s   check sms.send phone=1 -> reject sms-phone retry_after=50s
//	at 59s   check sms.send phone=1 -> allow
func ExampleFile() {
	r, err := gatetest.File("testdata/example.gate", gatetest.Options{Load: loadPlan})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Lines, "expectations")
	for _, f := range r.Failures {
		fmt.Println(f)
	}
	// Output:
	// 3 expectations
	// testdata/example.gate:4: at 59s   check sms.send phone=1 -> allow
	// 	expected: allow
	// 	     got: reject sms-phone retry_after=1s
}
