package rulefile

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestListForEachRule: a list is one thing, however many rules name it, also where it
// names events. A file of 300 KB takes no gigabyte.
func TestListForEachRule(t *testing.T) {
	for kind, of := range map[string]struct{ attr, pattern string }{
		"texts": {"path", "v%d"}, "patterns": {"path", "'*v%d*'"}, "events": {"event", "v%d"},
	} {
		t.Run(kind, func(t *testing.T) {
			var b strings.Builder
			b.WriteString("version: 1\nlists: {x: [")
			for i := range 20_000 {
				fmt.Fprintf(&b, of.pattern+", ", i)
			}
			b.WriteString("last]}\nrules:\n")
			for i := range 200 {
				fmt.Fprintf(&b, "  - {name: r%d, match: {%s: {list: x}}, limits: [1 per 1m]}\n", i, of.attr)
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			f, err := Parse("bomb.yaml", "", []byte(b.String()))
			if err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 64<<20 {
				t.Fatalf("a file of %d KB holds %d MB", b.Len()>>10, held>>20)
			}
			runtime.KeepAlive(f)
		})
	}
}
