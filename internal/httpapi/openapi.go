package httpapi

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"sync"

	"go.yaml.in/yaml/v4"
)

//go:embed openapi.yaml
var openapi []byte

// openapiJSON is the document as it is served.
var openapiJSON = sync.OnceValues(func() ([]byte, error) {
	var doc map[string]any
	if err := yaml.Unmarshal(openapi, &doc); err != nil {
		return nil, err
	}
	return json.Marshal(doc)
})

// document answers with the OpenAPI document.
func document(w http.ResponseWriter, _ *http.Request) {
	text, err := openapiJSON()
	if err != nil {
		problem(w, http.StatusInternalServerError, "the document cannot be read: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(text)
}
