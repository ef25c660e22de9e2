package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate/gatetest"
	"github.com/slidegate/slidegate/internal/httpapi"
)

func parseEvent(t testing.TB, text string) slidegate.Event {
	t.Helper()
	words, err := gatetest.SplitWords(text)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := gatetest.ParseEvent(words)
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

// step is a request and its answer, after a while.
type step struct {
	after      time.Duration
	body, want string
}

func TestCheckShapes(t *testing.T) {
	for name, steps := range map[string][]step{
		"one event": {
			{0, `{"event":"e","attrs":{"k":"1"}}`,
				`{"id":"ID","action":"allow","admitted":true,"windows":[{"rule":"two","limit":"2 per 10s","used":1,"max":2,"remaining":1,"reset_after_us":10000000}]}`},
			{time.Second, " \t\r\n{\"event\" : \"e\", \"attrs\" : {\"k\" : 1}, \"cost\":1}\n ",
				`{"id":"ID","action":"allow","admitted":true,"windows":[{"rule":"two","limit":"2 per 10s","used":2,"max":2,"remaining":0,"reset_after_us":10000000}]}`},
			{1500 * time.Microsecond, `{"event":"e","attrs":{"k":"1"}}`,
				`{"id":"ID","action":"reject","admitted":false,"rule":"two","reason":"limit","message":"Slow down, <friend>.","retry_after_us":8998500,"windows":[{"rule":"two","limit":"2 per 10s","used":2,"max":2,"remaining":0,"retry_after_us":8998500,"reset_after_us":9998500,"refused":true}]}`},
		},
		"no rule": {
			{0, `{"event":"other","attrs":{"k":"1"}}`, `{"id":"ID","action":"allow","admitted":true}`},
			{0, `{"event":"e"}`, `{"id":"ID","action":"allow","admitted":true}`},
			{0, `{"event":"e","attrs":{}}`, `{"id":"ID","action":"allow","admitted":true}`},
		},
		"several rules, one verdict": {
			{0, `{"event":"both","attrs":{"k":"1","ip":"192.0.2.9"}}`,
				`{"id":"ID","action":"allow","admitted":true,"windows":[{"rule":"both-k","limit":"1 per 60s","used":1,"max":1,"remaining":0,"reset_after_us":60000000},{"rule":"both-k","limit":"3 per 24h","used":1,"max":3,"remaining":2,"reset_after_us":86400000000},{"rule":"both-ip","limit":"2 per 1m","used":1,"max":2,"remaining":1,"reset_after_us":60000000}]}`},
			{time.Second, `{"event":"both","attrs":{"k":"1","ip":"192.0.2.9"}}`,
				`{"id":"ID","action":"reject","admitted":false,"rule":"both-k","reason":"limit","retry_after_us":59000000,"windows":[{"rule":"both-k","limit":"1 per 60s","used":1,"max":1,"remaining":0,"retry_after_us":59000000,"reset_after_us":59000000,"refused":true},{"rule":"both-k","limit":"3 per 24h","used":1,"max":3,"remaining":2,"reset_after_us":86399000000},{"rule":"both-ip","limit":"2 per 1m","used":1,"max":2,"remaining":1,"reset_after_us":59000000}]}`},
		},
		"an array": {
			{0, `[]`, `[]`},
			{0, ` [ {"event":"e","attrs":{"k":"1"},"cost":2} , {"event":"e","attrs":{"k":"1"}},{"event":"other"},
				{"event":"e","attrs":{"k":"2"}}]`,
				`[{"id":"ID","action":"allow","admitted":true,"windows":[{"rule":"two","limit":"2 per 10s","used":2,"max":2,"remaining":0,"reset_after_us":10000000}]},` +
					`{"id":"ID","action":"reject","admitted":false,"rule":"two","reason":"limit","message":"Slow down, <friend>.","retry_after_us":10000000,"windows":[{"rule":"two","limit":"2 per 10s","used":2,"max":2,"remaining":0,"retry_after_us":10000000,"reset_after_us":10000000,"refused":true}]},` +
					`{"id":"ID","action":"allow","admitted":true},` +
					`{"id":"ID","action":"allow","admitted":true,"windows":[{"rule":"two","limit":"2 per 10s","used":1,"max":2,"remaining":1,"reset_after_us":10000000}]}]`},
		},
		"a cost of 0, and one that never fits": {
			{0, `{"event":"e","attrs":{"k":"1"},"cost":0}`,
				`{"id":"ID","action":"allow","admitted":true,"windows":[{"rule":"two","limit":"2 per 10s","used":0,"max":2,"remaining":2}]}`},
			{0, `{"event":"e","attrs":{"k":"1"},"cost":3}`,
				`{"id":"ID","action":"reject","admitted":false,"rule":"two","reason":"limit","message":"Slow down, <friend>.","never":true,"windows":[{"rule":"two","limit":"2 per 10s","used":0,"max":2,"remaining":2,"refused":true,"never":true}]}`},
			{0, `{"event":"e","attrs":{"k":"1"},"cost":9223372036854775807}`,
				`{"id":"ID","action":"reject","admitted":false,"rule":"two","reason":"limit","message":"Slow down, <friend>.","never":true,"windows":[{"rule":"two","limit":"2 per 10s","used":0,"max":2,"remaining":2,"refused":true,"never":true}]}`},
			{0, `{"event":"ban"}`,
				`{"id":"ID","action":"reject","admitted":false,"rule":"ban","reason":"limit","never":true,"windows":[{"rule":"ban","limit":"0 per 1m","used":0,"max":0,"remaining":0,"refused":true,"never":true}]}`},
			{0, `{"event":"e","attrs":{"k":"1"},"cost":2}`,
				`{"id":"ID","action":"allow","admitted":true,"windows":[{"rule":"two","limit":"2 per 10s","used":2,"max":2,"remaining":0,"reset_after_us":10000000}]}`},
		},
		"a sum with decimals": {
			{0, `{"event":"pay","attrs":{"k":"1","v":10.25}}`,
				`{"id":"ID","action":"allow","admitted":true,"windows":[{"rule":"sums","limit":"10.5 sum(v) per 1h","used":10.25,"max":10.5,"remaining":0.25,"reset_after_us":3660000000}]}`},
			{0, `{"event":"pay","attrs":{"k":"1","v":"0.251"}}`,
				`{"id":"ID","action":"reject","admitted":false,"rule":"sums","reason":"limit","retry_after_us":3660000000,"windows":[{"rule":"sums","limit":"10.5 sum(v) per 1h","used":10.25,"max":10.5,"remaining":0.25,"retry_after_us":3660000000,"reset_after_us":3660000000,"refused":true}]}`},
			{0, `{"event":"pay","attrs":{"k":"1","v":2.5e-1}}`,
				`{"id":"ID","action":"allow","admitted":true,"windows":[{"rule":"sums","limit":"10.5 sum(v) per 1h","used":10.5,"max":10.5,"remaining":0,"reset_after_us":3660000000}]}`},
		},
		"a window of events": {
			{0, `{"event":"try","attrs":{"k":"1"}}`,
				`{"id":"ID","action":"allow","admitted":true,"windows":[{"rule":"tries","limit":"1 per 3 events","used":1,"max":1,"remaining":0}]}`},
			{0, `{"event":"try","attrs":{"k":"1"}}`,
				`{"id":"ID","action":"reject","admitted":false,"rule":"tries","reason":"limit","retry_after_events":2,"windows":[{"rule":"tries","limit":"1 per 3 events","used":1,"max":1,"remaining":0,"retry_after_events":2,"refused":true}]}`},
		},
		"shadow limits": {
			{0, `{"event":"s","attrs":{"k":"1"}}`,
				`{"id":"ID","action":"allow","admitted":true,"windows":[{"rule":"tried","limit":"1 per 1m","used":1,"max":1,"remaining":0,"reset_after_us":60000000}],"shadow":[{"rule":"tried","limit":"3 per 1m","used":1,"max":3,"remaining":2,"reset_after_us":60000000},{"rule":"hidden","limit":"2 per 1m","used":1,"max":2,"remaining":1,"reset_after_us":60000000}]}`},
			{0, `{"event":"s","attrs":{"k":"1"},"cost":3}`,
				`{"id":"ID","action":"reject","admitted":false,"rule":"tried","reason":"limit","never":true,"windows":[{"rule":"tried","limit":"1 per 1m","used":1,"max":1,"remaining":0,"reset_after_us":60000000,"refused":true,"never":true}],"shadow":[{"rule":"tried","limit":"3 per 1m","used":1,"max":3,"remaining":2,"retry_after_us":60000000,"reset_after_us":60000000,"refused":true},{"rule":"hidden","limit":"2 per 1m","used":1,"max":2,"remaining":1,"reset_after_us":60000000,"refused":true,"never":true}]}`},
		},
		"milder actions": {
			{0, `[{"event":"ask"},{"event":"ask"},{"event":"ask","passed":["x","captcha"]}]`,
				`[{"id":"ID","action":"allow","admitted":true,"windows":[{"rule":"shy","limit":"1 per 1m","used":1,"max":1,"remaining":0,"reset_after_us":60000000}]},` +
					`{"id":"ID","action":"challenge","admitted":false,"rule":"shy","reason":"limit","message":"Prove it.","with":"captcha","windows":[{"rule":"shy","limit":"1 per 1m","used":1,"max":1,"remaining":0,"retry_after_us":60000000,"reset_after_us":60000000,"refused":true}]},` +
					`{"id":"ID","action":"allow","admitted":true,"windows":[{"rule":"shy","limit":"1 per 1m","used":1,"max":1,"remaining":0,"retry_after_us":60000000,"reset_after_us":60000000,"refused":true,"yielded":true}]}]`},
			{0, `[{"event":"talk","cost":2},{"event":"call"},{"event":"call"}]`,
				`[{"id":"ID","action":"degrade","admitted":true,"rule":"brief","reason":"limit","with":"short","windows":[{"rule":"brief","limit":"1 per 1m","used":0,"max":1,"remaining":1,"refused":true,"yielded":true,"never":true}]},` +
					`{"id":"ID","action":"allow","admitted":true,"windows":[{"rule":"line","limit":"10 per 1s","used":1,"max":1,"remaining":0,"reset_after_us":100000}]},` +
					`{"id":"ID","action":"queue","admitted":true,"rule":"line","reason":"limit","message":"Your turn in 1s.","retry_after_us":100000,"windows":[{"rule":"line","limit":"10 per 1s","used":2,"max":1,"remaining":0,"retry_after_us":100000,"reset_after_us":200000}]}]`},
		},
		"a part of the key is missing": {
			{0, `{"event":"strict","attrs":{"k":"1"}}`, `{"id":"ID","action":"reject","admitted":false,"rule":"strict","reason":"missing_key"}`},
			{0, `{"event":"strict","attrs":{"k":"1","user":""}}`,
				`{"id":"ID","action":"allow","admitted":true,"windows":[{"rule":"strict","limit":"5 per 1m","used":1,"max":5,"remaining":4,"reset_after_us":60000000}]}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			for _, s := range steps {
				a.now = a.now.Add(s.after)
				if got := a.check(t, s.body); got != s.want {
					t.Errorf("%s\n got %s\nwant %s", s.body, got, s.want)
				}
			}
		})
	}
}

// Keys that other programs would run together are kept apart, and addresses of
// one network together.
func TestCheckKeys(t *testing.T) {
	a := newAPI(t)
	for _, pair := range []string{
		`"user":"aa","k":"b"`, `"user":"a","k":"ab"`, `"user":"a:b","k":"c"`, `"user":"a","k":"b:c"`, `"user":"a%3Ab","k":"c"`, `"user":"a|b","k":"c"`,
		`"user":"","k":"ab"`, `"user":"a\u0000b","k":"c"`, `"user":"a\nb","k":"c"`, `"user":"\ud83d\ude00","k":"c"`, `"user":"sg1:","k":"c"`,
	} {
		var got string
		for range 6 {
			var d struct{ Action string }
			if err := json.Unmarshal([]byte(a.check(t, `{"event":"strict","attrs":{`+pair+`}}`)), &d); err != nil {
				t.Fatal(err)
			}
			got += " " + d.Action
		}
		if want := " allow allow allow allow allow reject"; got != want {
			t.Errorf("%s: got%s", pair, got)
		}
	}
	for _, ip := range []string{"2001:db8:1:2::1", "2001:0DB8:1:2:0:0:0:5", "[2001:db8:1:2::7]:443"} {
		a.check(t, fmt.Sprintf(`{"event":"both","attrs":{"k":%q,"ip":%q}}`, ip, ip))
	}
	if n := a.used(t, "both-ip", "ip=2001:db8:1:2::"); n != 2 {
		t.Errorf("one network has %d of 2", n)
	}
}

// The id of an answer gives back exactly that decision, once.
func TestCheckID(t *testing.T) {
	a := newAPI(t)
	var ds []struct{ ID string }
	w := a.post(strings.NewReader(`[{"event":"e","attrs":{"k":"1"}},{"event":"e","attrs":{"k":"1"}},{"event":"e","attrs":{"k":"1"}}]`))
	if err := json.Unmarshal(w.Body.Bytes(), &ds); err != nil || len(ds) != 3 {
		t.Fatalf("%v: %s", err, w.Body)
	}
	for i, want := range []bool{true, true, false} {
		given, err := a.gate.Refund(t.Context(), ds[i].ID)
		if err != nil || given != want {
			t.Errorf("decision %d: %v, %v; want %v", i, given, err, want)
		}
		if again, err := a.gate.Refund(t.Context(), ds[i].ID); again || err != nil {
			t.Errorf("decision %d, again: %v, %v", i, again, err)
		}
	}
	if n := a.used(t, "two", "k=1"); n != 0 {
		t.Errorf("%d are left", n)
	}
}

func TestCheckConcurrent(t *testing.T) {
	a := newAPI(t)
	s := httptest.NewServer(a)
	defer s.Close()
	defer s.Client().CloseIdleConnections()
	const clients, each = 8, 30
	var admitted, refused atomic.Int64
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range each {
				resp, err := s.Client().Post(s.URL+"/v1/check", "application/json", strings.NewReader(`{"event":"load"}`))
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				switch {
				case err != nil || resp.StatusCode != http.StatusOK:
					t.Errorf("%d, %v: %s", resp.StatusCode, err, body)
				case bytes.Contains(body, []byte(`"action":"allow","admitted":true`)):
					admitted.Add(1)
				case bytes.Contains(body, []byte(`"action":"reject","admitted":false,"rule":"hundred"`)):
					refused.Add(1)
				default:
					t.Errorf("%s", body)
				}
			}
		})
	}
	wg.Wait()
	if admitted.Load() != 100 || refused.Load() != clients*each-100 {
		t.Errorf("%d admitted, %d refused; want 100 and %d", admitted.Load(), refused.Load(), clients*each-100)
	}
}

func TestCheckAtTheBounds(t *testing.T) {
	a := newAPI(t)
	var attrs []string
	for i := range httpapi.MaxAttrs - 1 {
		attrs = append(attrs, fmt.Sprintf(`"a%d":%d`, i, i))
	}
	a.check(t, `{"event":"e","attrs":{"k":"1",`+strings.Join(attrs, ",")+`}}`)
	event := `{"event":"e","attrs":{"k":"2"}}`
	got := a.check(t, "["+strings.Repeat(event+",", httpapi.MaxBatch-1)+event+"]")
	if n := strings.Count(got, `"action":"allow"`); n != 2 || strings.Count(got, `"action"`) != httpapi.MaxBatch {
		t.Errorf("%d of %d allowed", n, strings.Count(got, `"action"`))
	}
	body := `{"event":"e","attrs":{"k":"3","pad":"` + strings.Repeat("x", httpapi.MaxValue) + `"}}`
	a.check(t, body+strings.Repeat(" ", httpapi.MaxBody-len(body)))
	if n := a.used(t, "two", "k=1") + a.used(t, "two", "k=2") + a.used(t, "two", "k=3"); n != 4 {
		t.Errorf("%d were charged, want 4", n)
	}
}

// TestAnswersToConcurrentChecks: answers share no memory with those to others, and long
// ones tell their length.
func TestAnswersToConcurrentChecks(t *testing.T) {
	a := newAPI(t)
	s := httptest.NewServer(a)
	defer s.Close()
	defer s.Client().CloseIdleConnections()
	var wg sync.WaitGroup
	for n := 1; n <= 64; n *= 2 {
		wg.Go(func() {
			event := fmt.Sprintf(`{"event":"both","attrs":{"k":"%d","ip":"192.0.2.%d"},"cost":4}`, n, n)
			for range 20 {
				resp, err := s.Client().Post(s.URL+"/v1/check", "application/json", strings.NewReader("["+strings.Repeat(event+",", n-1)+event+"]"))
				if err != nil {
					t.Error(err)
					return
				}
				var ds []struct {
					ID, Action string
					Windows    []struct{ Rule string }
				}
				err = json.NewDecoder(resp.Body).Decode(&ds)
				resp.Body.Close()
				if err != nil || len(ds) != n || resp.ContentLength < int64(n)*400 {
					t.Errorf("%d events: %d, %v, %d bytes", n, len(ds), err, resp.ContentLength)
				}
				for _, d := range ds {
					if d.Action != "reject" || len(d.ID) < 20 || len(d.Windows) != 3 || d.Windows[2].Rule != "both-ip" {
						t.Errorf("%d events: %+v", n, d)
					}
				}
			}
		})
	}
	wg.Wait()
}

// A client that has closed its side of the connection after the request still
// waits for the answer.
func TestHalfClosedClientIsAnswered(t *testing.T) {
	a := newAPI(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // what net/http does when it reads the end of the connection
	for _, body := range []string{`{"event":"e","attrs":{"k":"1"}}`, `[{"event":"e","attrs":{"k":"1"}}]`} {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/check", strings.NewReader(body)))
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	if n := a.used(t, "two", "k=1"); n != 2 {
		t.Errorf("%d were charged", n)
	}
}

// An engine that is closed: a problem, and no panic.
func TestCheckEngineFails(t *testing.T) {
	a := newAPI(t)
	if err := a.gate.Close(); err != nil {
		t.Fatal(err)
	}
	if got := readProblem(t, a.post(strings.NewReader(`{"event":"e"}`)).Result(), http.StatusServiceUnavailable); got != "the server is closing" {
		t.Errorf("got %s", got)
	}
}
