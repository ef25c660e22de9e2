package cond_test

import (
	"fmt"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/cond"
)

// A condition is compiled once, with the file it stands in, and asked about
// every event.
func Example() {
	c, err := cond.Compile(`links>0 and country not in ['DE','AT']`, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c)
	for _, ev := range []slidegate.Event{
		{Name: "post", Attrs: []slidegate.Attr{slidegate.Int("links", 2), slidegate.String("country", "FR")}},
		{Name: "post", Attrs: []slidegate.Attr{slidegate.Int("links", 0)}},
		{Name: "post", Attrs: []slidegate.Attr{slidegate.Int("links", 2)}},
	} {
		fmt.Println(c.Eval(&ev, 0))
	}
	// Output:
	// links > 0 and country not in ["AT", "DE"]
	// true
	// false
	// unknown
}

// Errors say where, what, and the way out.
func ExampleCompile() {
	_, err := cond.Compile(`not status == 404 && links > "3"`, nil)
	fmt.Println(err)
	_, err = cond.Compile(`not status == 404 and links > "3"`, nil)
	fmt.Println(err)
	// Output:
	// character 19: "&&" is not a word of conditions: write and
	// character 1: not stands before an attribute, which is no comparison: put what it turns round in parentheses, as in not (status == …), or write x not in …
	// character 31: "3" is a text where a number is wanted: take the quotes away
}
