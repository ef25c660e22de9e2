package cond

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate"
)

var inOffice = func(v slidegate.Value) bool { return v == slidegate.TextValue("192.0.2.1") }

// costs are conditions as rule files have them, from cheap to dear.
var costs = []struct{ name, text string }{
	{"number", `links > 0`},
	{"two", `status >= 500 and latency_ms > 800`},
	{"text", `country != "DE" or event == "login"`},
	{"list", `status in [401, 403, 404, 405, 410, 429, 451, 500, 502, 503]`},
	{"named list", `ip in office`},
	{"address", `ip == "192.0.2.1"`},
	{"arithmetic", `latency_ms * 2 - links / 3 > 1000`},
	{"spelled number", `bytes > 4096`},
	{"text of a number", `status == 500 and status_text == "500"`},
	{"missing", `nothing > 1 or nobody == "x"`},
	{"clock", `hour >= 9 and hour < 18 and weekday <= 5`},
	{"pattern", `path matches "^/api/v[0-9]+/orders"`},
	{"texts", `path startsWith "/api/" and path contains "orders" and not (path endsWith ".css")`},
}

func costScope() *Scope {
	return &Scope{
		Attrs: map[string]Type{"ip": Address, "status_text": Text},
		Lists: lists(listsOf{"office": inOffice}),
		Zone:  time.FixedZone("CET", 3600),
	}
}

// ask makes an event where a caller makes one, on its stack.
func ask(c *Cond, n int64) Truth {
	ev := slidegate.Event{Name: "order.query", Attrs: []slidegate.Attr{
		slidegate.Int("links", n), slidegate.Int("status", 500), slidegate.Float("latency_ms", 812.5), slidegate.String("country", "DE"),
		slidegate.String("ip", "192.0.2.1"), slidegate.String("bytes", "18230"), slidegate.Int("status_text", 500),
		slidegate.String("path", "/api/v1/orders/17"),
	}}
	return c.Eval(&ev, 1_700_000_000_000_000)
}

// TestNoAllocations: neither a condition nor the event it is asked about
// allocates.
func TestNoAllocations(t *testing.T) {
	if raced {
		t.Skip("the race detector allocates")
	}
	for _, cost := range costs {
		c := mustCompile(t, cost.text, costScope())
		if n := testing.AllocsPerRun(200, func() { ask(c, 3) }); n != 0 {
			t.Errorf("%s: %v allocations", cost.text, n)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	for _, cost := range costs {
		c := mustCompile(b, cost.text, costScope())
		ev := slidegate.Event{Name: "order.query", Attrs: []slidegate.Attr{
			slidegate.Int("links", 3), slidegate.Int("status", 500), slidegate.Float("latency_ms", 812.5), slidegate.String("country", "DE"),
			slidegate.String("ip", "192.0.2.1"), slidegate.String("bytes", "18230"), slidegate.Int("status_text", 500),
			slidegate.String("path", "/api/v1/orders/17"),
		}}
		b.Run(cost.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Eval(&ev, 1_700_000_000_000_000)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile(`status in [401, 403] and not (country in trusted) and links > 0`, &Scope{Lists: lists(listsOf{"trusted": inOffice})}); err != nil {
			b.Fatal(err)
		}
	}
}

func mustCompile(tb testing.TB, text string, s *Scope) *Cond {
	tb.Helper()
	c, err := Compile(text, s)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return c
}
