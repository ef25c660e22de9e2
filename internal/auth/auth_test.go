package auth_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/auth"
)

const (
	checker = "checker-0123456789"
	keeper  = "keeper/0123456789+=="
)

func known(t testing.TB) *auth.Keeper {
	t.Helper()
	k := &auth.Keeper{}
	for text, scopes := range map[string][]string{checker: {"check"}, keeper: {"read", "admin"}} {
		if err := k.Add(text[:7], text, scopes); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

func TestJudge(t *testing.T) {
	k := known(t)
	for _, c := range []struct {
		header, scope, name string
		err                 error
		challenge           string
	}{
		{"Bearer " + checker, "check", "checker", nil, ""},
		{"bearer " + checker, "check", "checker", nil, ""},
		{"BEARER   " + checker + " ", "check", "checker", nil, ""},
		{"Bearer " + checker, "admin", "checker", auth.ErrScope, `Bearer realm="slidegate", error="insufficient_scope", scope="admin"`},
		{"Bearer " + keeper, "admin", "keeper/", nil, ""},
		{"Bearer " + keeper, "read", "keeper/", nil, ""},
		{"Bearer " + keeper, "check", "keeper/", auth.ErrScope, `Bearer realm="slidegate", error="insufficient_scope", scope="check"`},
		{"", "check", "", auth.ErrMissing, `Bearer realm="slidegate"`},
		{"Bearer", "check", "", auth.ErrMissing, `Bearer realm="slidegate"`},
		{"Bearer ", "check", "", auth.ErrMissing, `Bearer realm="slidegate"`},
		{"Basic " + checker, "check", "", auth.ErrMissing, `Bearer realm="slidegate"`},
		{checker, "check", "", auth.ErrMissing, `Bearer realm="slidegate"`},
		{"Bearer " + checker + "x", "check", "", auth.ErrUnknown, `Bearer realm="slidegate", error="invalid_token"`},
		{"Bearer " + checker[1:], "check", "", auth.ErrUnknown, `Bearer realm="slidegate", error="invalid_token"`},
		{"Bearer " + strings.ToUpper(checker), "check", "", auth.ErrUnknown, `Bearer realm="slidegate", error="invalid_token"`},
		{"Bearer " + strings.Repeat("x", 1<<16), "check", "", auth.ErrUnknown, `Bearer realm="slidegate", error="invalid_token"`},
	} {
		name, err := k.Judge(c.header, c.scope)
		if name != c.name || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%.40q for %s: %q, %v", c.header, c.scope, name, err)
		}
		if c.err != nil {
			if got := auth.Challenge(err, c.scope); got != c.challenge {
				t.Errorf("%.40q: %s", c.header, got)
			}
		}
	}
	if _, err := (&auth.Keeper{}).Judge("Bearer "+checker, "check"); !errors.Is(err, auth.ErrUnknown) {
		t.Errorf("who knows no token lets in: %v", err)
	}
}

// TestAdd: a token that is none is refused, and is neither shown nor kept.
func TestAdd(t *testing.T) {
	k := known(t)
	for text, want := range map[string]string{
		"":                       "the token has 0 bytes; want 16 or more",
		"fifteen-bytes..":        "the token has 15 bytes",
		"sixteen bytes and":      "byte 8 of the token cannot stand in a header",
		"sixteen-bytes-and\n":    "byte 18 of the token cannot stand in a header",
		"sechzehn-bytes-für-uns": "byte 17 of the token",
		checker:                  "it is the same as the token of checker",
	} {
		err := k.Add("new", text, []string{"check"})
		if err == nil || !strings.Contains(err.Error(), want) || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if text := fmt.Sprintf("%+v", k); strings.Contains(text, checker) || strings.Contains(text, keeper) {
		t.Errorf("the tokens are kept: %s", text)
	}
}
