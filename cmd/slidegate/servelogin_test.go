package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// shortLogin is the login of the starter rules, with shorter times.
const shortLogin = `version: 1
rules:
  - name: login
    match: {event: login}
    key: [account]
    hold: 5s
    limits:
      - {limit: 5 failures per 1m, action: challenge, with: captcha}
      - {limit: 10 failures per 1m, action: lock, lasts: [1s, 2s, 3s]}
`

// try checks a login and, if it may happen, reports that it failed or not. It returns
// the action.
func (s *served) try(t testing.TB, account, passed, outcome string) decision {
	t.Helper()
	body := fmt.Sprintf(`{"event":"login","attrs":{"account":%q}%s}`, account, passed)
	var d decision
	if err := json.Unmarshal([]byte(ask(t, nil, http.MethodPost, s.url+"/v1/check", body).body), &d); err != nil {
		t.Fatal(err)
	}
	if d.Admitted && outcome != "" {
		send(t, s.url+"/v1/report", fmt.Sprintf(`{"event":"login","attrs":{"account":%q},"outcome":%q,"decision":%q}`, account, outcome, d.ID))
	}
	return d
}

// TestServeLogin: failures ask for a captcha and then lock, longer each time; a success
// in between counts for nothing, and a lock can be lifted.
func TestServeLogin(t *testing.T) {
	s := startServe(t, "--rules", file(t, "login.yaml", shortLogin))
	const captcha = `,"passed":["captcha"]`
	want := func(passed, outcome, action string, n int) {
		t.Helper()
		for range n {
			if d := s.try(t, "ann", passed, outcome); d.Action != action {
				t.Fatalf("%s, want %s", d.Action, action)
			}
		}
	}
	lock := func() {
		t.Helper()
		want("", "failure", "allow", 5)
		want("", "failure", "challenge", 1)
		want(captcha, "failure", "allow", 5)
		want(captcha, "", "lock", 3)
	}
	want("", "success", "allow", 20)
	for n := 1; n <= 3; n++ {
		lock()
		if left := time.Duration(s.try(t, "ann", "", "").RetryAfterUS) * time.Microsecond; left > time.Duration(n)*time.Second || left < time.Duration(n)*time.Second-500*time.Millisecond {
			t.Fatalf("lock %d ends in %v", n, left)
		}
		if d := s.try(t, "bob", "", ""); d.Action != "allow" {
			t.Fatalf("another account: %s", d.Action)
		}
		if n < 3 {
			time.Sleep(time.Duration(n) * time.Second)
		}
	}
	command(t, "key", "unlock", "login", "account=ann", "--reason", "test", "--server", s.url).want(t, exitOK, "The lock is lifted, and the windows are empty.\n", "")
	lock() // it is the first again
	if left := s.try(t, "ann", "", "").RetryAfterUS; left > 1_000_000 {
		t.Errorf("the first lock after all were forgotten ends in %d µs", left)
	}
}

// TestServeGuesses: 100 guesses at once never get more than the limits allow, whether
// they are reported or not.
func TestServeGuesses(t *testing.T) {
	s := startServe(t, "--rules", file(t, "login.yaml", shortLogin))
	for _, outcome := range []string{"failure", ""} {
		var admitted atomic.Int64
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if d := s.try(t, "guess"+outcome, "", outcome); d.Admitted {
					admitted.Add(1)
				}
			})
		}
		wg.Wait()
		if n := admitted.Load(); n != 5 {
			t.Errorf("outcome %q: %d of 100 guesses at once were let in, want 5", outcome, n)
		}
	}
}

// TestServeInstances: three servers that share nothing pass three times the limit,
// and with instances: 3 what the limit says; one of which nothing is left is an error.
func TestServeInstances(t *testing.T) {
	rules := file(t, "rules.yaml", "version: 1\nrules: [{name: r, limits: [6 per 60s]}]\n")
	for n, want := range map[int]int{1: 18, 3: 6} {
		var servers []*served
		for range 3 {
			servers = append(servers, startServe(t, "--rules", rules, "--set", fmt.Sprint("instances=", n)))
		}
		passed := 0
		for i := range 24 {
			if curl(t, servers[i%3].url+"/v1/check", `{"event":"e"}`).Admitted {
				passed++
			}
		}
		if passed != want {
			t.Errorf("instances: %d: %d of 24 passed, want %d", n, passed, want)
		}
	}
	small := file(t, "small.yaml", "version: 1\nrules: [{name: small, limits: [2 per 60s]}]\n")
	got := command(t, "serve", "--listen", "127.0.0.1:0", "--rules", small, "--set", "instances=3")
	if got.code != exitFailed || !strings.Contains(got.err, `rule small: limits[0]: "2 per 60s": divided among 3 instances, nothing is left of this limit`) {
		t.Errorf("%+v", got)
	}
}
