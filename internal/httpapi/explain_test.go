package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestExplain(t *testing.T) {
	a := newAPI(t)
	const ev = `{"event":"both","attrs":{"k":"1","ip":"192.0.2.1"}}`
	a.check(t, ev)
	for range 2 { // it records nothing
		code, body := a.call("POST", "/v1/explain", ev)
		var x struct {
			Decision struct {
				ID, Action, Rule string
			}
			Rules []struct {
				Rule, Why string
				Applies   bool
				Key       []struct{ Name, Value string }
				Limits    []struct {
					Action string
					Shadow bool
					Window struct {
						Limit   string
						Used    int
						Refused bool
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &x); err != nil || code != http.StatusOK {
			t.Fatalf("%d, %s, %v", code, body, err)
		}
		if x.Decision.ID != "" || x.Decision.Action != "reject" || x.Decision.Rule != "both-k" || len(x.Rules) != len(a.gate.Plan().Rules()) {
			t.Fatal(body)
		}
		two, k, ip := x.Rules[0], x.Rules[1], x.Rules[2]
		if two.Rule != "two" || two.Applies || two.Why == "" || two.Key != nil {
			t.Errorf("%+v", two)
		}
		if !k.Applies || fmt.Sprint(k.Key) != "[{k 1}]" || len(k.Limits) != 2 || !k.Limits[0].Window.Refused || k.Limits[0].Action != "reject" || k.Limits[1].Window.Refused || k.Limits[1].Window.Used != 1 {
			t.Errorf("%+v", k)
		}
		if !ip.Applies || fmt.Sprint(ip.Key) != "[{ip 192.0.2.1}]" {
			t.Errorf("%+v", ip)
		}
	}
	for body, want := range map[string]string{
		"": "the body is empty; send an event such as {", `[` + ev + `]`: "want an object, got a list", `{"event":"both","cost":-1}`: "bad event: cost: -1 is negative", ev + ev: "something after",
	} {
		if code, got := a.call("POST", "/v1/explain", body); code != http.StatusBadRequest || !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), want) {
			t.Errorf("%s: %d, %s, want a problem about %q", body, code, got, want)
		}
	}
}

// TestExplainTwoPartsOfOneAttribute: an explanation shows every part of the key,
// also where two are of the same attribute.
func TestExplainTwoPartsOfOneAttribute(t *testing.T) {
	a := serving(t, "rules: [{name: a, key: [ip/24, ip], missing_key: skip, limits: [5 per 1m]}]\n")
	code, body := a.call("POST", "/v1/explain", `{"event":"e","attrs":{"ip":"192.0.2.9"}}`)
	if code != http.StatusOK || !strings.Contains(body, "192.0.2.0/24") || !strings.Contains(body, "192.0.2.9") {
		t.Errorf("the key is ip/24, ip: %d, %s", code, body)
	}
	if want := `"key":[{"name":"ip","value":"192.0.2.0/24"},{"name":"ip","value":"192.0.2.9"}]`; !strings.Contains(body, want) {
		t.Errorf("%s is not in %s", want, body)
	}
}

// TestUnescaped: answers hold <, > and & as they are.
func TestUnescaped(t *testing.T) {
	const limit = `3 count where links > 0 and tag == "a&b<c" per 1h`
	a := serving(t, "rules: [{name: a, match: {event: e}, limits: ['"+limit+"']}]\n")
	quoted := `"limit":"` + strings.ReplaceAll(limit, `"`, `\"`) + `"`
	const ev = `{"event":"e","attrs":{"links":1,"tag":"a&b<c"}}`
	for _, c := range []struct{ method, target, body, want string }{
		{"POST", "/v1/check", ev, quoted},
		{"POST", "/v1/check", "[" + ev + "]", quoted},
		{"POST", "/v1/explain", ev, quoted},
		{"GET", "/v1/rules", "", quoted},
		{"GET", "/v1/windows/a", "", quoted},
		{"GET", "/v1/windows/<&>", "", `unknown rule \"<&>\"`},
	} {
		if _, got := a.call(c.method, c.target, c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s", c.method, c.target, got)
		}
	}
}

func TestRules(t *testing.T) {
	a := newAPI(t)
	code, body := a.call("GET", "/v1/rules", "")
	var got struct {
		Rules []struct {
			Rule   string
			Key    []string
			Shadow bool
			Limits []struct{ Limit, Algorithm, Action, With string }
		}
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || code != http.StatusOK || len(got.Rules) != len(a.gate.Plan().Rules()) {
		t.Fatalf("%d, %s, %v", code, body, err)
	}
	for _, r := range got.Rules {
		switch r.Rule {
		case "both-k":
			if len(r.Key) != 1 || len(r.Limits) != 2 || r.Limits[1].Limit != "3 per 24h" || r.Limits[1].Algorithm != "sliding_log" || r.Limits[1].Action != "reject" {
				t.Errorf("%+v", r)
			}
		case "shy":
			if r.Limits[0].Action != "challenge" || r.Limits[0].With != "captcha" {
				t.Errorf("%+v", r)
			}
		case "hidden":
			if !r.Shadow {
				t.Errorf("%+v", r)
			}
		}
	}
}
