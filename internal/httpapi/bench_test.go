package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// benchBody is a body of so many events; a plain event if there is one.
func benchBody(n int) string {
	var events []string
	for i := range n {
		events = append(events, fmt.Sprintf(`{"event":"e","attrs":{"k":"u%d","api":"/v1/orders"}}`, i))
	}
	if n == 1 {
		return events[0]
	}
	return "[" + strings.Join(events, ",") + "]"
}

var benchSizes = []struct {
	name string
	n    int
}{{"one", 1}, {"hundred", 100}}

// BenchmarkCheck is what a check costs without the connection: one event, and each of
// a hundred in an array.
func BenchmarkCheck(b *testing.B) {
	for _, size := range benchSizes {
		body := benchBody(size.n)
		b.Run(size.name, func(b *testing.B) {
			a := newAPI(b)
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				a.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/check", strings.NewReader(body)))
				if w.Code != 200 {
					b.Fatal(w.Body)
				}
			}
		})
	}
}
