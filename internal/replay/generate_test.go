package replay

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
)

// generated makes logs: the same bytes for the same seed.
type generated struct{ *rand.Rand }

func newGenerated(seed uint64) generated { return generated{rand.New(rand.NewPCG(seed, 1))} }

func pick[T any](g generated, choices ...T) T { return choices[g.IntN(len(choices))] }

// combined returns n lines of an access log whose times go forward by a second
// now and then and step back as those of a server with many workers do.
func (g generated) combined(n int) []byte {
	var b bytes.Buffer
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for range n {
		if g.IntN(8) == 0 {
			now = now.Add(time.Second)
		}
		at := now.Add(-time.Duration(g.IntN(3)) * time.Second)
		fmt.Fprintf(&b, "192.0.2.%d - %s [%s] \"%s /articles/%d/%s HTTP/1.1\" %d %s \"%s\" \"%s\"\n",
			g.IntN(256), pick(g, "-", "-", "-", "alice"), at.Format("02/Jan/2006:15:04:05 -0700"),
			pick(g, "GET", "GET", "GET", "POST"), g.IntN(10_000), pick(g, "", "comments", "index.html?page=2&sort=newest"),
			pick(g, 200, 200, 200, 304, 404, 500), pick(g, "-", "512", "20481", "1048576"),
			pick(g, "-", "https://shop.example/", "https://search.example/find?q=sliding+window&lang=en"),
			pick(g, "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
				"ExampleBot/2.1 (+https://bot.example/about)", "curl/8.5.0"))
	}
	return b.Bytes()
}

// json returns n lines of objects.
func (g generated) json(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `{"time":"2026-03-01T00:%02d:%02d.%03dZ","event":"login","account":"a%d","ip":"192.0.2.%d","latency_ms":%d.5,"ok":true,"geo":{"country":"DE","city":"K\u00f6ln"}}`+"\n",
			i/60%60, i%60, g.IntN(1000), g.IntN(5000), g.IntN(256), g.IntN(900))
	}
	return b.Bytes()
}

// csv returns a table of n rows.
func (g generated) csv(n int) []byte {
	var b bytes.Buffer
	b.WriteString("timestamp,device,value,note\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,pump-%d,%d.%02d,%s\n", 1_770_000_000_000+i*250, g.IntN(40), g.IntN(100), g.IntN(100), pick(g, "", "ok", `"high, hot"`))
	}
	return b.Bytes()
}

// compressed returns data as one gzip member.
func compressed(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// logFile writes a log into a directory of the test and returns its path.
func logFile(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// show writes an event on one line: name, attributes (# marks a number), cost
// and microseconds.
func show(rec *Record) string {
	var b strings.Builder
	b.WriteString(rec.Event.Name)
	for _, a := range rec.Event.Attrs {
		mark := ""
		if a.Value.IsNumber() {
			mark = "#"
		}
		fmt.Fprintf(&b, " %s=%s%s", a.Name, mark, a.Value)
	}
	if n := rec.Event.Cost.Units(); n != 1 {
		fmt.Fprintf(&b, " cost=%d", n)
	}
	if passed := rec.Event.Passed; passed != nil {
		fmt.Fprintf(&b, " passed=%q", passed)
	}
	fmt.Fprintf(&b, " @%d", rec.Event.Time.UnixMicro())
	if o := rec.Event.Outcome; o != slidegate.Unknown {
		fmt.Fprintf(&b, " outcome=%s", o)
	}
	return b.String()
}
