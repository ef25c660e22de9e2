package slidegate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
)

// TestEventJSONRoundTrip: what MarshalJSON writes, UnmarshalJSON reads.
func TestEventJSONRoundTrip(t *testing.T) {
	literal, err := slidegate.NumberValue("12345678901234567890")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []slidegate.Event{
		{Name: "e"},
		{Name: "e", Cost: slidegate.CostOf(0)},
		{Name: "e", Outcome: slidegate.Failure, Decision: "abc"}, {Name: "e", Outcome: slidegate.Success},
		{Name: "e", Cost: slidegate.CostOf(1), Time: time.UnixMicro(1_700_000_000_000_001).UTC()},
		{Name: "<a&b>\n", Attrs: []slidegate.Attr{slidegate.String("a b", "\x00\"é操"), {Name: "n", Value: literal}, slidegate.String("empty", "")}},
	} {
		out, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var back slidegate.Event
		if err := back.UnmarshalJSON(out); err != nil || !reflect.DeepEqual(back, e) {
			t.Errorf("%s: %+v, %v; want %+v", out, back, err, e)
		}
	}
	out, err := json.Marshal([]slidegate.Event{{Name: "e", Attrs: []slidegate.Attr{slidegate.Int("i", -3), slidegate.Float("f", 0.5)}}})
	if want := `[{"event":"e","attrs":{"i":-3,"f":0.5}}]`; err != nil || string(out) != want {
		t.Errorf("%s, %v; want %s", out, err, want)
	}
	for _, e := range []slidegate.Event{
		{}, {Name: "\xff"}, {Name: "e", Outcome: 7}, {Name: "e", Decision: "\xff"}, {Name: "e", Attrs: []slidegate.Attr{slidegate.String("a", "\xff")}},
		{Name: "e", Attrs: []slidegate.Attr{slidegate.Int("a", 1), slidegate.Int("a", 2)}},
	} {
		if out, err := json.Marshal(e); !errors.Is(err, slidegate.ErrEvent) {
			t.Errorf("%+v: %s, %v", e, out, err)
		}
	}
}

// TestManyAttributes: finding names that are given twice takes no time that
// grows with the square of their number.
func TestManyAttributes(t *testing.T) {
	e := slidegate.Event{Name: "e"}
	for i := range 200_000 {
		e.Attrs = append(e.Attrs, slidegate.Int(fmt.Sprint("a", i), 1))
	}
	if err := e.Validate(); err != nil {
		t.Error(err)
	}
	e.Attrs = append(e.Attrs, slidegate.Int("a7", 1))
	if err := e.Validate(); !errors.Is(err, slidegate.ErrEvent) || !strings.Contains(err.Error(), "attribute a7: given twice") {
		t.Errorf("twice among many: %v", err)
	}
	e.Attrs = []slidegate.Attr{slidegate.Int(strings.Repeat("é", 1000), 1), slidegate.Int(strings.Repeat("é", 1000), 1)}
	if err := e.Validate(); err == nil || len(err.Error()) > 200 || strings.ContainsRune(err.Error(), '\ufffd') {
		t.Errorf("a long name: %v", err)
	}
}

// TestWindowsCannotGrowIntoShadow: appending to what Windows returns does not
// write over what Shadow returns.
func TestWindowsCannotGrowIntoShadow(t *testing.T) {
	var d slidegate.Decision
	d.Reserve(1, 1)
	d.Shadow()[0].Rule = "shadow"
	_ = append(d.Windows(), slidegate.WindowState{Rule: "other"})
	if got := d.Shadow()[0].Rule; got != "shadow" {
		t.Errorf("the shadow window is now of rule %q", got)
	}
}
