package gatetest_test

import (
	"fmt"

	"github.com/slidegate/slidegate/gate/gatetest"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/rule/rulefile"
)

// The script of the example, and what it says of a line that expects too much:
//
//	rules example.yaml
//	at 0s    check sms.send phone=1 -> allow remaining=0
//	at 10s   check sms.send phone=1 -> reject sms-phone retry_after=50s
//	at 59s   check sms.send phone=1 -> allow
func ExampleFile() {
	load := func(path string) (*rule.Plan, error) {
		f, err := rulefile.Load(path)
		if err != nil {
			return nil, err
		}
		return f.Plan, nil
	}
	r, err := gatetest.File("testdata/example.gate", gatetest.Options{Load: load})
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
