package rulefile_test

import (
	"errors"
	"fmt"

	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/rule/rulefile"
)

func ExampleLoad() {
	f, err := rulefile.Load("testdata/example.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range f.Set.Rules {
		fmt.Println(r.Name, r.Key, len(r.Limits))
	}
	// Output:
	// order-query [user api] 1
	// sms-phone [phone] 2
}

func ExampleParse() {
	const text = `
version: 1
rules:
  - name: sms-phone
    match: {event: sms.send}
    key: phone
    limts: [1 per 60s, 10 per 24h]
`
	_, err := rulefile.Parse("rules.yaml", "", []byte(text))
	fmt.Println(err)
	if errs, ok := errors.AsType[rule.Errors](err); ok {
		fmt.Println(len(errs), "errors, the first on line", errs[0].Line)
	}
	// Output:
	// rules.yaml:6:10: rule sms-phone: key: "phone": key is a list: write key: [phone]
	// rules.yaml:7:5: rule sms-phone: limts: unknown field: did you mean limits?
	// 2 errors, the first on line 6
}
