// Package examples holds files to try Slidegate on. Its test writes the made-up
// access log.
package examples

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write access.log and auth.log")

// request is one line of the log.
type request struct {
	at         int // seconds from the start
	ip         string
	call, path string
	status     int
	bytes      int
}

// visitors look at a page now and then, and some of them log in.
func visitors(rnd *rand.Rand) []request {
	pages := []string{"/", "/products", "/products/7", "/cart", "/help", "/search?q=lamp"}
	var all []request
	for range 200 {
		ip := fmt.Sprintf("192.0.2.%d", 10+rnd.IntN(30))
		all = append(all, request{rnd.IntN(3600), ip, "GET", pages[rnd.IntN(len(pages))], 200, 800 + rnd.IntN(4000)})
	}
	for i := range 12 {
		all = append(all, request{rnd.IntN(3600), fmt.Sprintf("192.0.2.%d", 10+i), "POST", "/login", 302, 0})
	}
	return all
}

// guesser tries passwords: six in a burst, then one every half minute.
func guesser() []request {
	var all []request
	for i := range 78 {
		all = append(all, request{600 + min(i, 6)*2 + max(0, i-6)*30, "198.51.100.23", "POST", "/login?from=shop", 401, 312})
	}
	return all
}

// reader reads pages faster than people do, for a minute and a half.
func reader() []request {
	var all []request
	for i := range 110 {
		all = append(all, request{1800 + i*4/5, "198.51.100.7", "GET", fmt.Sprintf("/products/%d", i), 200, 2048})
	}
	return all
}

// copier fetches what fits into a minute right before it ends, and as much again
// right after: a hundred in half a minute.
func copier() []request {
	var all []request
	for i := range 100 {
		all = append(all, request{2685 + i*3/10, "198.51.100.40", "GET", fmt.Sprintf("/products/%d", i), 200, 2048})
	}
	return all
}

func accessLog() []byte {
	all := slices.Concat(visitors(rand.New(rand.NewPCG(1, 2))), guesser(), reader(), copier())
	slices.SortStableFunc(all, func(a, b request) int { return cmp.Compare(a.at, b.at) })
	start := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	var b bytes.Buffer
	for _, r := range all {
		fmt.Fprintf(&b, "%s - - [%s] \"%s %s HTTP/1.1\" %d %d \"-\" \"Mozilla/5.0\"\n",
			r.ip, start.Add(time.Duration(r.at)*time.Second).Format("02/Jan/2006:15:04:05 -0700"), r.call, r.path, r.status, r.bytes)
	}
	return b.Bytes()
}

// The log is what this file writes.
func TestAccessLog(t *testing.T) {
	want := accessLog()
	if *rewrite {
		if err := os.WriteFile("access.log", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("access.log")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("access.log is not what this test writes (go test ./examples -rewrite): %v", err)
	}
}
