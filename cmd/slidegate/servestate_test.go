package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// end stops a server and waits until it has.
func (s *served) end(t testing.TB) {
	t.Helper()
	s.stop()
	if code := <-s.code; code != exitOK {
		t.Fatalf("ended with %d: %s", code, s.err.String())
	}
}

// TestServeRestart: windows, locks, and the ids of decisions are as good after a restart
// as before, whatever the durability, and so is what secret attributes are known by.
func TestServeRestart(t *testing.T) {
	rules := file(t, "rules.yaml", `version: 1
attributes: {account: {secret: true}, job: {}}
rules:
  - {name: login, match: {event: login}, key: [account], limits: [{limit: 3 failures per 1h, action: lock, lasts: [10m, 1h]}]}
  - {name: jobs, match: {event: job}, key: [job], hold: 1h, limits: [1 inflight, 5 per 1h]}
`)
	for _, durability := range []string{"none", "interval", "every"} {
		t.Run(durability, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			start := func() *served {
				return startServe(t, "--rules", rules, "--set", "state.dir="+dir, "--set", "state.durability="+durability)
			}
			const job = `{"event":"job","attrs":{"job":"j"}}`
			s := start()
			for range 3 {
				send(t, s.url+"/v1/report", `{"event":"login","attrs":{"account":"ann"},"outcome":"failure"}`)
			}
			d := curl(t, s.url+"/v1/check", job)
			s.end(t)
			s = start()
			if d := s.try(t, "ann", "", ""); d.Action != "lock" {
				t.Errorf("after a restart: %s, want lock", d.Action)
			}
			if d := curl(t, s.url+"/v1/check", job); d.Action != "reject" {
				t.Errorf("in flight since before: %s, want reject", d.Action)
			}
			if got := ask(t, nil, http.MethodPost, s.url+"/v1/release", fmt.Sprintf(`{"id":%q}`, d.ID)); got.body != "{\"released\":true}\n" {
				t.Errorf("released: %s", got.body)
			}
			if d := curl(t, s.url+"/v1/check", job); d.Action != "allow" {
				t.Errorf("released: %s, want allow", d.Action)
			}
			if got := ask(t, nil, http.MethodGet, s.url+"/metrics", ""); !strings.Contains(got.body, "\nslidegate_journal_ok 1\n") || !strings.Contains(got.body, "\nslidegate_locks 1\n") {
				t.Errorf("metrics: %s", got.body)
			}
			s.end(t)
		})
	}
}

// TestServeDamagedState: a folder that is damaged, or another's, is told in words, and
// nothing of it is lost.
func TestServeDamagedState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	set := "state.dir=" + dir
	s := startServe(t, "--set", set)
	curl(t, s.url+"/v1/check", `{"event":"sms.send","attrs":{"phone":"1"}}`)
	second := command(t, "serve", "--listen", "127.0.0.1:0", "--set", set)
	if second.code != exitFailed || !strings.Contains(second.err, "the directory is in use") {
		t.Errorf("two servers in one folder: %+v", second)
	}
	s.end(t)
	files, err := filepath.Glob(filepath.Join(dir, "windows", "snapshot-*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := command(t, "serve", "--listen", "127.0.0.1:0", "--set", set)
	if damaged.code != exitFailed || !strings.Contains(damaged.err, files[0]) || !strings.Contains(damaged.err, "state.start_empty=true") {
		t.Errorf("a damaged snapshot: %+v", damaged)
	}
	s = startServe(t, "--set", set, "--set", "state.start_empty=true")
	if d := curl(t, s.url+"/v1/check", `{"event":"sms.send","attrs":{"phone":"1"}}`); d.Action != "allow" {
		t.Errorf("started empty: %s", d.Action)
	}
	s.end(t)
	if kept, err := filepath.Glob(filepath.Join(dir, "windows", "damaged-*", "snapshot-*")); err != nil || len(kept) != 1 {
		t.Errorf("kept aside: %v, %v", kept, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "id.key"), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := command(t, "serve", "--listen", "127.0.0.1:0", "--set", set); got.code != exitFailed || !strings.Contains(got.err, "id.key has 5 bytes") {
		t.Errorf("a key that is none: %+v", got)
	}
}

// binaryKilled: what was answered before kill -9 counts after it.
func binaryKilled(t *testing.T, program string) {
	dir := filepath.Join(t.TempDir(), "state")
	rules := file(t, "rules.yaml", "version: 1\nrules: [{name: all, limits: [100 per 1h]}]\n")
	passed := 0
	for round := range 5 {
		p := start(t, nil, program, "serve", "--listen", "127.0.0.1:0", "--rules", rules, "--set", "state.dir="+dir, "--set", "state.durability=every")
		url := first(t, p.lines, `^slidegate listens on (http://127\.0\.0\.1:\d+) `)[1]
		for range 30 {
			if curl(t, url+"/v1/check", `{"event":"e"}`).Admitted {
				passed++
			}
		}
		p.signal(t, syscall.SIGKILL)
		if _, by := p.exit(t); by != syscall.SIGKILL {
			t.Fatalf("ended by %v", by)
		}
		if want := min(30*(round+1), 100); passed != want {
			t.Fatalf("after %d kills %d were let in, want %d", round, passed, want)
		}
	}
}
