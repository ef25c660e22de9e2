package httpapi_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/slidegate/slidegate/internal/httpapi"
)

// bad are requests that are refused whole. EV stands for an event that would
// be charged.
func bad() map[string]struct {
	status int
	detail string
} {
	type answer = struct {
		status int
		detail string
	}
	wrong := func(detail string) answer { return answer{http.StatusBadRequest, detail} }
	large := func(detail string) answer { return answer{http.StatusRequestEntityTooLarge, detail} }
	manyAttrs := strings.Builder{}
	for i := range httpapi.MaxAttrs {
		fmt.Fprintf(&manyAttrs, `,"a%d":1`, i)
	}
	return map[string]answer{
		``:               wrong("the body is empty; send an event such as {"),
		" \r\n\t ":       wrong("the body is empty"),
		`{`:              wrong("the JSON ends too early"),
		`hello`:          wrong("the JSON goes wrong at byte 1: looking for beginning of value"),
		`event=e&k=1`:    wrong("the JSON goes wrong at byte 1: "),
		"\x00":           wrong("the JSON goes wrong at byte 1: "),
		"\xef\xbb\xbfEV": wrong("the JSON goes wrong at byte 1: "),
		`null`:           wrong("want an object, got null"),
		`7`:              wrong("want an object, got a number"),
		`"e"`:            wrong("want an object, got a text"),
		`{}`:             wrong("the name is empty"),
		`EV EV`:          wrong("there is something after the event"),
		`EV,`:            wrong("there is something after the event"),
		`EV]`:            wrong("there is something after the event"),
		"EV\nEV":         wrong("there is something after the event"),
		"EV\x00":         wrong("there is something after the event"),
		`{"event":"","attrs":{"k":"1"},"cost":-1}`: wrong("event: the name is empty; bad event: cost: -1 is negative"),
		`[EV`:               wrong("the body is not an array of events: the JSON ends too early"),
		`[EV] EV`:           wrong("the body is not an array of events: something follows it"),
		`[EV,]`:             wrong("the body is not an array of events: the JSON goes wrong at byte 32: looking for beginning of value"),
		`[EV,null]`:         wrong("event 2 of 2: bad event: want an object, got null"),
		`[EV,[EV]]`:         wrong("event 2 of 2: bad event: want an object, got a list"),
		`[EV,{}]`:           wrong("event 2 of 2: bad event: event: the name is empty"),
		`[[[[EV]]]]`:        wrong("event 1 of 1: bad event: want an object, got a list"),
		`[{"event":""},EV]`: wrong("event 1 of 2: bad event: event: the name is empty"),

		`{"event":"e","attrs":{"k":"1"},"evnt":"x"}`:                     wrong(`unknown field "evnt"; an event has event, attrs, cost and passed (a report outcome, decision and time), and attributes go into attrs`),
		`{"event":"e","attrs":{"k":"1"},"Cost":1}`:                       wrong(`unknown field "Cost"`),
		`{"event":"e","attrs":{"k":"1"},"event":"e"}`:                    wrong(`field "event" is given twice`),
		`{"event":"e","attrs":{"k":"1"},"attrs":{"k":"1"}}`:              wrong(`field "attrs" is given twice`),
		`{"event":"e","attrs":{"k":"1","k":"2"}}`:                        wrong(`attrs: field "k" is given twice`),
		`{"event":"e","attrs":{"k":"1","\u006b":"2"}}`:                   wrong(`attrs: field "k" is given twice`),
		`{"event":"e","attrs":{"k":"1","":"2"}}`:                         wrong("attrs[1]: the name is empty"),
		`{"event":"e","attrs":{"k":"1","event":"2"}}`:                    wrong(`the name "event" is taken`),
		`{"event":"e","attrs":{"k":"1","x":null}}`:                       wrong("attrs: x: want a text or a number, got null"),
		`{"event":"e","attrs":{"k":"1","x":true}}`:                       wrong("attrs: x: want a text or a number, got true"),
		`{"event":"e","attrs":{"k":"1","x":["2"]}}`:                      wrong("attrs: x: want a text or a number, got a list"),
		`{"event":"e","attrs":{"k":"1","x":{"y":"2"}}}`:                  wrong("attrs: x: want a text or a number, got an object"),
		`{"event":"e","attrs":{"k":"1","x":1e999}}`:                      wrong("attrs: x: the number is too large; the largest is about 1.8e308"),
		`{"event":"e","attrs":{"k":"1","x":01}}`:                         wrong("the JSON goes wrong at byte 36: after object key:value pair"),
		`{"event":"e","attrs":{"k":"1","x":NaN}}`:                        wrong("the JSON goes wrong at byte 35: "),
		`{"event":"e","attrs":null}`:                                     wrong("attrs: want an object, got null"),
		`{"event":"e","attrs":[]}`:                                       wrong("attrs: want an object, got a list"),
		`{"event":null,"attrs":{"k":"1"}}`:                               wrong("event: want a text, got null"),
		`{"event":5,"attrs":{"k":"1"}}`:                                  wrong("event: want a text, got 5"),
		`{"event":"e","attrs":{"k":"1"},"cost":-1}`:                      wrong("cost: -1 is negative; a cost is 0 or more"),
		`{"event":"e","attrs":{"k":"1"},"cost":1.5}`:                     wrong("cost: want a whole number, 0 or more, got 1.5"),
		`{"event":"e","attrs":{"k":"1"},"cost":"1"}`:                     wrong(`cost: want a whole number, 0 or more, got "1"`),
		`{"event":"e","attrs":{"k":"1"},"cost":null}`:                    wrong("cost: want a whole number, 0 or more, got null"),
		`{"event":"e","attrs":{"k":"1"},"cost":9223372036854775808}`:     wrong("cost: want a whole number, 0 or more, got 9223372036854775808"),
		`{"event":"e","attrs":{"k":"1"},"time":"2026-03-01T00:00:00Z"}`:  wrong("time: a check has none"),
		`{"event":"e","attrs":{"k":"1"},"time":1}`:                       wrong("time: a check has none"),
		`{"event":"e","attrs":{"k":"1"},"time":"now"}`:                   wrong("time: want RFC 3339 or whole microseconds"),
		`[EV,{"event":"e","attrs":{"k":"1"},"time":5}]`:                  wrong("event 2 of 2: bad event: time: a check has none"),
		`{"event":"e","attrs":{"k":"1"},"outcome":"failure"}`:            wrong("outcome: a check has none; it is told by a report"),
		"{\"event\":\"e\",\"attrs\":{\"k\":\"1\",\"x\":\"\xff\"}}":       wrong("the text is not UTF-8"),
		"[EV,{\"event\":\"e\xc0\x80\"}]":                                 wrong("event 2 of 2: bad event: the text is not UTF-8"),
		`{"event":"e","attrs":{"k":"1","x":"\ud800"}}`:                   wrong("half of a surrogate pair at byte 36 of the event"),
		`{"event":"e","attrs":{"k":"1","x":"\udc00\ud800"}}`:             wrong("half of a surrogate pair at byte 36 of the event"),
		`{"event":"e","attrs":{"k":"1","\udead":"x"}}`:                   wrong("half of a surrogate pair at byte 32 of the event"),
		"{\"event\":\"e\",\"attrs\":{\"k\":\"1\n\"}}":                    wrong("the JSON goes wrong at byte 29: in string literal"),
		`{"event":"e","attrs":{"k":"1"` + manyAttrs.String() + `}}`:      wrong("attrs: 101 attributes; at most 100"),
		`[EV,{"event":"e","attrs":{"k":"1"` + manyAttrs.String() + `}}]`: wrong("event 2 of 2: bad event: attrs: 101 attributes; at most 100"),

		`{"event":"` + strings.Repeat("x", httpapi.MaxName+1) + `"}`:                                  wrong("event: the name has 257 bytes; at most 256"),
		`{"event":"e","attrs":{"k":"1","` + strings.Repeat("x", httpapi.MaxName+1) + `":1}}`:          wrong("attrs[1]: the name has 257 bytes; at most 256"),
		`{"event":"e","attrs":{"k":"1","x":"` + strings.Repeat("x", httpapi.MaxValue+1) + `"}}`:       wrong(`attrs: "x" has 65537 bytes; at most 65536`),
		`{"event":"e","attrs":{"k":"1","x":1` + strings.Repeat("0", httpapi.MaxValue) + `e-65536}}`:   wrong(`attrs: "x" has 65544 bytes; at most 65536`),
		`{"event":"e","attrs":{"k":"1"},"passed":["` + strings.Repeat("x", httpapi.MaxName+1) + `"]}`: wrong("passed[0]: the name has 257 bytes; at most 256"),

		`{"event":"pay","attrs":{"k":"1"}}`:                      wrong("attribute v is missing; rule sums sums it"),
		`[EV,{"event":"pay","attrs":{"k":"1"}}]`:                 wrong("event 2 of 2: rule sums: bad event: attribute v is missing"),
		`{"event":"pay","attrs":{"k":"1","v":-1}}`:               wrong("attribute v: "),
		`{"event":"pay","attrs":{"k":"1","v":"much"}}`:           wrong("attribute v: "),
		`{"event":"pay","attrs":{"k":"1","v":"NaN"}}`:            wrong("attribute v: "),
		`{"event":"pay","attrs":{"k":"1","v":""}}`:               wrong("attribute v: "),
		`{"event":"both","attrs":{"k":"1","ip":"host.example"}}`: wrong(`attribute ip: "host.example" is not an IP address`),
		`{"event":"both","attrs":{"k":"1","ip":""}}`:             wrong(`attribute ip: "" is not an IP address`),
		`{"event":"both","attrs":{"k":"1","ip":7}}`:              wrong("attribute ip: the number 7 is not an IP address"),

		`[` + strings.Repeat("EV,", httpapi.MaxBatch) + `EV]`:       large("the array has over 1000 events; at most 1000 go in one request"),
		`EV` + strings.Repeat(" ", 2<<20):                           large("the body is over 1048576 bytes"),
		strings.Repeat(" ", httpapi.MaxBody) + "EV":                 large("the body is over 1048576 bytes"),
		`{"event":"` + strings.Repeat("x", 2<<20) + `"}`:            large("the body is over 1048576 bytes"),
		`[` + strings.Repeat("1,", httpapi.MaxBody/2-2) + `1]`:      large("at most 1000 go in one request"),
		`[` + strings.Repeat("[", 100_000):                          wrong("the body is not an array of events"),
		`{"event":"e","attrs":{"k":` + strings.Repeat("[", 100_000): wrong("attrs: k: want a text or a number, got a list"),
	}
}

// Whatever is wrong with a request, it is told in a sentence, and nothing is
// charged anywhere.
func TestCheckBadRequests(t *testing.T) {
	a := newAPI(t)
	for body, want := range bad() {
		name := body[:min(len(body), 60)]
		body = strings.ReplaceAll(body, "EV", `{"event":"e","attrs":{"k":"1"}}`)
		got := readProblem(t, a.post(strings.NewReader(body)).Result(), want.status)
		if !strings.Contains(got, want.detail) {
			t.Errorf("%q: %s; want %s", name, got, want.detail)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return r < ' ' }) || len(got) > 300 {
			t.Errorf("%q: %q is no sentence", name, got)
		}
		if n := a.used(t, "two", "k=1") + a.used(t, "both-k", "k=1") + a.used(t, "sums", "k=1"); n != 0 {
			t.Fatalf("%q: %d were charged", name, n)
		}
	}
	a.check(t, `{"event":"e","attrs":{"k":"1"},"cost":2}`)
}

// What happened before stays as it was, too.
func TestCheckBadBatchChangesNothing(t *testing.T) {
	a := newAPI(t)
	a.check(t, `{"event":"e","attrs":{"k":"1"}}`)
	a.now = a.now.Add(1)
	for _, last := range []string{`{"event":"both","attrs":{"k":"1","ip":"x"}}`, `{"event":"e","cost":-1}`, `{"event":"pay","attrs":{"k":"1"}}`, `{"event":""}`, `5`} {
		w := a.post(strings.NewReader(`[{"event":"e","attrs":{"k":"1"}},{"event":"try","attrs":{"k":"1"}},{"event":"load"},` + last + `]`))
		if got := readProblem(t, w.Result(), http.StatusBadRequest); !strings.Contains(got, "event 4 of 4: ") {
			t.Errorf("%s: %s does not name the event", last, got)
		}
	}
	if two, tries, load := a.used(t, "two", "k=1"), a.used(t, "tries", "k=1"), a.used(t, "hundred", ""); two != 1 || tries != 0 || load != 0 {
		t.Errorf("the windows hold %d, %d and %d; want 1, 0 and 0", two, tries, load)
	}
}

// TestSecretNumberInError: the value of a secret attribute never lies in an
// error.
func TestSecretNumberInError(t *testing.T) {
	a := serving(t, "attributes: {token: {secret: true}}\nrules: [{name: a, key: [token], missing_key: skip, limits: [5 per 1m]}]\n")
	for _, target := range []string{"/v1/check", "/v1/explain"} {
		if _, body := a.call("POST", target, `{"event":"e","attrs":{"token":7351e88042}}`); strings.Contains(body, "7351e88042") {
			t.Errorf("%s: %s", target, body)
		}
	}
}

// TestSecretInNoError: nor does it where the event is no event.
func TestSecretInNoError(t *testing.T) {
	a := serving(t, "attributes: {token: {secret: true, type: address}}\nrules: [{name: a, key: [token], missing_key: skip, limits: [5 per 1m, 5 distinct(token) per 1m]}]\n")
	for _, event := range []string{
		`{"event":"e","attrs":{"token":7351e88042}}`, `{"event":"e","attrs":{"token":"7351\ud800"}}`, "{\"event\":\"e\",\"attrs\":{\"token\":\"7351\xff\"}}",
		`{"event":"e","attrs":{"token":"7351"}}`, `{"event":"e","attrs":{"token":7351}}`, `{"event":"e","attrs":{"token":["7351"]}}`,
		`{"event":"e","attrs":"token=7351"}`, `"token=7351"`, `7351`, `{"event":"e","attrs":{"token":07351}}`, `{"event":"e","attrs":{"token":"7351\x"}}`, `{"event":"e","attrs":{"token":"7351`,
		`{"event":"e","attrs":{"token":"1.1.1.1","token":"7351"}}`, `{"event":"e","token":"7351"}`,
	} {
		for _, c := range []struct{ target, body string }{{"/v1/check", event}, {"/v1/explain", event}, {"/v1/check", "[" + event + "]"}, {"/v1/check", `[{"event":"e"},` + event}} {
			if code, body := a.call("POST", c.target, c.body); code != http.StatusBadRequest || strings.Contains(body, "7351") {
				t.Errorf("%s %s: %d, %s", c.target, c.body, code, body)
			}
		}
	}
	if code, body := a.call("GET", "/v1/windows/a?key=token=7351", ""); code != http.StatusBadRequest || strings.Contains(body, "7351") {
		t.Errorf("windows: %d, %s", code, body)
	}
}

func TestCheckBodyCutOff(t *testing.T) {
	a := newAPI(t)
	body := io.MultiReader(strings.NewReader(`{"event":"e","attrs":{"k":"1"}}`), iotest.ErrReader(errors.New("the line went dead")))
	if got := readProblem(t, a.post(body).Result(), http.StatusBadRequest); got != "the body could not be read: the line went dead" {
		t.Errorf("got %s", got)
	}
	if n := a.used(t, "two", "k=1"); n != 0 {
		t.Errorf("%d were charged", n)
	}
}

func TestMethods(t *testing.T) {
	a := newAPI(t)
	for path, allow := range map[string]string{"/v1/check": "POST", "/v1/windows/hundred": "GET, HEAD, DELETE", "/healthz": "GET, HEAD", "/readyz": "GET, HEAD", "/version": "GET, HEAD"} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} {
			w := httptest.NewRecorder()
			a.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(`{"event":"e","attrs":{"k":"1"}}`)))
			if strings.Contains(allow, method) {
				if w.Code != http.StatusOK {
					t.Errorf("%s %s: %d", method, path, w.Code)
				}
				continue
			}
			want := method + " " + path + ": use " + allow
			if got := readProblem(t, w.Result(), http.StatusMethodNotAllowed); got != want || w.Header().Get("Allow") != allow {
				t.Errorf("%s %s: %s, Allow: %s", method, path, got, w.Header().Get("Allow"))
			}
		}
	}
	if n := a.used(t, "two", "k=1"); n != 1 {
		t.Errorf("%d were charged, want the POST", n)
	}
}

func TestUnknownPaths(t *testing.T) {
	a := newAPI(t)
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/check/", "/v1/checks", "/V1/check", "/v2/check", "/healthz/", "/metrics/", "/%00", "/v1%2Fcheck"} {
		for _, method := range []string{"GET", "POST"} {
			w := httptest.NewRecorder()
			a.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(`{"event":"e","attrs":{"k":"1"}}`)))
			if got := readProblem(t, w.Result(), http.StatusNotFound); !strings.Contains(got, "there are POST /v1/check, ") {
				t.Errorf("%s %s: %s", method, path, got)
			}
		}
	}
	if n := a.used(t, "two", "k=1"); n != 0 {
		t.Errorf("%d were charged", n)
	}
}

func TestHealth(t *testing.T) {
	s := httptest.NewServer(newAPI(t))
	defer s.Close()
	defer s.Client().CloseIdleConnections()
	for method, want := range map[string]string{http.MethodGet: "ok\n", http.MethodHead: ""} {
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || string(body) != want || resp.Header.Get("Content-Type") != "text/plain; charset=utf-8" || resp.ContentLength != 3 {
			t.Errorf("%s: %d, %v, %q, %v", method, resp.StatusCode, resp.Header, body, err)
		}
	}
}

// FuzzCheck: whatever is sent, the answer is 200 or says what is wrong with it.
func FuzzCheck(f *testing.F) {
	for body := range bad() {
		if len(body) < 200 {
			f.Add([]byte(strings.ReplaceAll(body, "EV", `{"event":"e","attrs":{"k":"1"}}`)))
		}
	}
	f.Add([]byte(`[{"event":"both","attrs":{"k":"1","ip":"::1"}},{"event":"pay","attrs":{"k":"1","v":9.999},"cost":0}]`))
	f.Add([]byte(`{"event":"strict","attrs":{"k":1e-7,"user":"\ud83d\ude00"},"cost":9223372036854775807}`))
	a := newAPI(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		w := a.post(strings.NewReader(string(body)))
		switch w.Code {
		case http.StatusOK:
			if w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("%q: %v", body, w.Header())
			}
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
			readProblem(t, w.Result(), w.Code)
		default:
			t.Errorf("%q: %d: %s", body, w.Code, w.Body)
		}
	})
}
