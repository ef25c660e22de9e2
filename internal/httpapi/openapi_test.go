package httpapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/slidegate/slidegate/internal/httpapi"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/rule/rulefile"
)

// openAPI is the document as it is served.
func openAPI(t testing.TB) *openapi3.T {
	t.Helper()
	code, text := newAPI(t).call("GET", "/openapi.json", "")
	if code != http.StatusOK {
		t.Fatal(code, text)
	}
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestOpenAPI: the document is valid, with its examples, and names every route and the
// scope of each.
func TestOpenAPI(t *testing.T) {
	doc := openAPI(t)
	if err := doc.Validate(t.Context(), openapi3.IsOpenAPI31OrLater(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation()); err != nil {
		t.Error(err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Error(doc.OpenAPI)
	}
	described := map[[3]string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			scope := ""
			if op.Security != nil && len(*op.Security) > 0 {
				scope = (*op.Security)[0]["token"][0]
			}
			described[[3]string{method, path, scope}] = true
		}
	}
	for _, r := range append(httpapi.Routes(), [3]string{"HEAD", "/v1/auth", "check"}) {
		if !described[r] {
			t.Errorf("%v is not described", r)
		}
		delete(described, r)
	}
	if len(described) > 0 {
		t.Errorf("there are no %v", slices.Collect(maps.Keys(described)))
	}
}

// example is what is sent for one example, and what is answered.
type example struct {
	name, method, path string
	op                 *openapi3.Operation
	item               *openapi3.PathItem
	status             int
	contentType        string
	schema             *openapi3.Schema
	value              any
	more               map[string]any // x-before, x-after, x-headers
}

// examples are all of the document.
func examples(t testing.TB, doc *openapi3.T) (all []example) {
	t.Helper()
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status, resp := range op.Responses.Map() {
				code, err := strconv.Atoi(status)
				if err != nil {
					t.Fatal(err)
				}
				e := example{method: method, path: path, op: op, item: item, status: code}
				for kind, media := range resp.Value.Content {
					for name, x := range media.Examples {
						e.name, e.contentType, e.schema, e.value, e.more = name, kind, media.Schema.Value, x.Value.Value, x.Value.Extensions
						all = append(all, e)
					}
				}
				bare, _ := resp.Value.Extensions["x-examples"].(map[string]any) // an answer without a body
				for name, x := range bare {
					e.name, e.contentType, e.schema, e.value = name, "", nil, nil
					e.more = map[string]any{"x-headers": x.(map[string]any)["headers"]}
					all = append(all, e)
				}
			}
		}
	}
	return all
}

var reIDs = regexp.MustCompile(`"id":"[^"]*"`)

// TestOpenAPIExamples: each example is answered as the document says.
func TestOpenAPIExamples(t *testing.T) {
	doc := openAPI(t)
	all := examples(t, doc)
	if len(all) < 24 {
		t.Errorf("only %d examples", len(all))
	}
	for _, e := range all {
		t.Run(fmt.Sprint(e.method, e.path, " ", e.name), func(t *testing.T) { e.replay(t, doc) })
	}
	// What is sent is answered somewhere.
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody == nil {
				continue
			}
			for _, media := range op.RequestBody.Value.Content {
				for name := range media.Examples {
					if !slices.ContainsFunc(all, func(e example) bool { return e.name == name && e.path == path && e.method == method }) {
						t.Errorf("%s %s: the example %s has no answer", method, path, name)
					}
				}
			}
		}
	}
}

// exampleAPI is a server with the starter rules.
func exampleAPI(t testing.TB, name string) *api {
	t.Helper()
	f, err := rulefile.Load("../../cmd/slidegate/starter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a := newAPI(t)
	if _, err := a.gate.Reload(f.Plan); err != nil {
		t.Fatal(err)
	}
	o := httpapi.Options{Version: "v1.0.0", State: func() httpapi.State {
		s := httpapi.State{Draining: name == "draining", Loaded: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
		if name == "stale" {
			s.Failed = s.Loaded.Add(time.Minute)
		}
		return s
	}, Reload: func() ([]rule.Forgotten, error) {
		if name == "wrong" {
			return nil, errors.New("rules.yaml:4:3: unlimied: unknown field")
		}
		return []rule.Forgotten{{Rule: "sms-ip", Limit: "30 per 1m", Why: "the key is another"}}, nil
	}}
	a.Handler = httpapi.New(a.gate, o)
	return a
}

func (e *example) replay(t *testing.T, doc *openapi3.T) {
	a := exampleAPI(t, e.name)
	id := ""
	before, _ := e.more["x-before"].([]any)
	for _, ev := range before {
		text, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		id = a.idOf(t, string(text))
	}
	told, _ := e.more["x-reported"].([]any)
	for _, ev := range told {
		text, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		if code, body := a.call("POST", "/v1/report", string(text)); code != http.StatusOK {
			t.Fatal(code, body)
		}
	}
	if after, ok := e.more["x-after"].(string); ok {
		d, err := time.ParseDuration(after)
		if err != nil {
			t.Fatal(err)
		}
		a.now = a.now.Add(d)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, e.request(t, id))
	if w.Code != e.status || e.contentType != "" && !strings.HasPrefix(w.Header().Get("Content-Type"), e.contentType) {
		t.Fatalf("%d, %v: %s", w.Code, w.Header(), w.Body)
	}
	headers, _ := e.more["x-headers"].(map[string]any)
	for name, want := range headers {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if e.schema != nil {
		e.compare(t, doc, w.Body.Bytes())
	}
}

// request is what the example asks.
func (e *example) request(t *testing.T, id string) *http.Request {
	t.Helper()
	path, query := e.path, url.Values{}
	for _, p := range append(slices.Clone(e.item.Parameters), e.op.Parameters...) {
		x := p.Value.Examples[e.name]
		if x == nil {
			continue
		}
		values, many := x.Value.Value.([]any)
		if !many {
			values = []any{x.Value.Value}
		}
		for _, v := range values {
			if p.Value.In == "path" {
				path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", v.(string))
			} else {
				query.Add(p.Value.Name, v.(string))
			}
		}
	}
	body, kind := []byte(nil), ""
	if e.op.RequestBody != nil {
		for contentType, media := range e.op.RequestBody.Value.Content {
			x := media.Examples[e.name]
			if x == nil {
				continue
			}
			kind = contentType
			if text, ok := x.Value.Value.(string); ok {
				body = []byte(text)
			} else {
				var err error
				if body, err = json.Marshal(x.Value.Value); err != nil {
					t.Fatal(err)
				}
			}
		}
		if kind == "" {
			t.Fatal("the document does not say what is sent")
		}
	}
	body = bytes.ReplaceAll(body, []byte("…"), []byte(id))
	r := httptest.NewRequest(e.method, path+"?"+query.Encode(), bytes.NewReader(body))
	r.Header.Set("Content-Type", kind)
	return r
}

// compare holds an answer against the example, and against the schema.
func (e *example) compare(t *testing.T, doc *openapi3.T, body []byte) {
	t.Helper()
	masked := reIDs.ReplaceAll(body, []byte(`"id":"…"`))
	masked = bytes.ReplaceAll(masked, []byte(runtime.Version()), []byte("go1.26"))
	if want, ok := e.value.(string); ok {
		if string(masked) != want {
			t.Errorf("got %s\nwant %s", masked, want)
		}
		return
	}
	var got, actual any
	if err := errors.Join(json.Unmarshal(masked, &got), json.Unmarshal(body, &actual)); err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(e.value)
	if err != nil {
		t.Fatal(err)
	}
	var wanted any
	if err := json.Unmarshal(want, &wanted); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf(" got %s\nwant %s", masked, want)
	}
	if err := doc.ValidateSchemaJSON(e.schema, actual); err != nil {
		t.Error(err)
	}
}

// TestOpenAPIProblems: every kind of problem is one of the document.
func TestOpenAPIProblems(t *testing.T) {
	doc, a := openAPI(t), newAPI(t)
	schema := doc.Components.Schemas["Problem"].Value
	for _, target := range []string{"GET /v1/check", "GET /nothing", "POST /v1/reload", "GET /v1/auth", "GET /v1/windows/x"} {
		method, path, _ := strings.Cut(target, " ")
		_, body := a.call(method, path, "")
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		if err := doc.ValidateSchemaJSON(schema, v); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}
