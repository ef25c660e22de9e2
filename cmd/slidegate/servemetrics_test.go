package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/parts"
)

const metricRules = `version: 1
defaults: {missing_key: skip}
rules:
  - {name: all, match: {event: e}, limits: [3 per 1h, {limit: 2 per 1h, shadow: true}]}
  - {name: paid, match: {event: pay}, limits: [10.5 sum(v) per 1h]}
  - {name: twice, match: {event: t}, limits: [1 per 1h, 1 per 1h]}
  - {name: keyed, match: {event: k}, key: [k], limits: [1 per 1h]}
`

// metric returns the value of a series, or -1 where there is none.
func metric(t testing.TB, text, series string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		return -1
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestServeMetrics: the numbers are those of the engine, promtool has nothing to
// complain of, and however many keys there are, the series stay as few.
func TestServeMetrics(t *testing.T) {
	s := startServe(t, "--rules", writeFile(t, t.TempDir(), "r.yaml", metricRules))
	client := &http.Client{}
	defer client.CloseIdleConnections()
	check := func(body string) { ask(t, client, "POST", s.url+"/v1/check", body) }
	for range 5 {
		check(`{"event":"e"}`)
	}
	check(`{"event":"pay","attrs":{"v":1.25}}`)
	check(`{"event":"t"}`)
	check(`[{"event":"k","attrs":{"k":"1"}},{"event":"k","attrs":{"k":"1"}},{"event":"other"}]`)
	get := func() string { return ask(t, client, "GET", s.url+"/metrics", "").body }
	text := get()
	for series, want := range map[string]float64{
		`slidegate_decisions_total{action="allow",rule=""}`:             7,
		`slidegate_decisions_total{action="reject",rule="all"}`:         2,
		`slidegate_decisions_total{action="reject",rule="keyed"}`:       1,
		`slidegate_refused_total{limit="3 per 1h",rule="all"}`:          2,
		`slidegate_refused_total{limit="1 per 1h",rule="keyed"}`:        1,
		`slidegate_shadow_refused_total{limit="2 per 1h",rule="all"}`:   3,
		`slidegate_window_used{limit="3 per 1h",rule="all"}`:            3,
		`slidegate_window_max{limit="3 per 1h",rule="all"}`:             3,
		`slidegate_window_used{limit="10.5 sum(v) per 1h",rule="paid"}`: 1.25,
		`slidegate_window_max{limit="10.5 sum(v) per 1h",rule="paid"}`:  10.5,
		`slidegate_window_used{limit="1 per 1h",rule="twice"}`:          1,
		`slidegate_window_used{limit="1 per 1h",rule="keyed"}`:          -1,
		`slidegate_store_keys`:                 6,
		`slidegate_store_max_keys`:             10_000_000,
		`slidegate_store_max_bytes`:            1 << 30,
		`slidegate_store_full_total`:           0,
		`slidegate_reload_last_ok{of="rules"}`: 1,
		`slidegate_http_requests_in_flight`:    1,
		`slidegate_http_request_duration_seconds_count{route="POST /v1/check",status="200"}`: 8,
		`slidegate_connections`: 1,
	} {
		if got := metric(t, text, series); got != want {
			t.Errorf("%s is %v, want %v", series, got, want)
		}
	}
	var asked struct{ Windows []struct{ Used, Max float64 } }
	if err := json.Unmarshal([]byte(ask(t, client, "GET", s.url+"/v1/windows/all", "").body), &asked); err != nil || asked.Windows[0].Used != 3 {
		t.Errorf("%v, %+v", err, asked)
	}
	lint(t, text)

	before := series(text)
	const each = 1000
	batches := 100
	if os.Getenv("SLIDEGATE_LONG") != "" {
		batches = 1000 // of a million keys
	}
	for from := range batches {
		var b strings.Builder
		for i := range each {
			name := "k"
			if i == 0 {
				name = fmt.Sprintf("k%d", from)
			}
			fmt.Fprintf(&b, `,{"event":%q,"attrs":{"k":"7351-%d"}}`, name, from*each+i)
		}
		check("[" + b.String()[1:] + "]")
	}
	for i := range 200 {
		ask(t, client, "GET", fmt.Sprintf("%s/v1/windows/keyed?key=k=7351-%d", s.url, i), "")
		ask(t, client, "GET", fmt.Sprintf("%s/7351-%d", s.url, i), "")
		ask(t, client, "GET", fmt.Sprintf("%s/v1/windows/7351-%d", s.url, i), "")
	}
	text = get()
	if after := series(text); after > before+80 || strings.Contains(text, "7351") {
		t.Errorf("%d series, %d before, of %d keys", after, before, batches*each)
	}
	if keys := metric(t, text, "slidegate_store_keys"); keys < float64(batches*(each-1)) {
		t.Errorf("%v keys", keys)
	}
	lint(t, text)
}

// series is how many there are.
func series(text string) (n int) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			n++
		}
	}
	return n
}

// lint: promtool has nothing to complain of.
func lint(t testing.TB, text string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), parts.Debian(t, "promtool", "prometheus"), "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// TestServeMetricsForget: what was counted of rules that are gone goes with them.
func TestServeMetricsForget(t *testing.T) {
	dir := t.TempDir()
	path := writeFile(t, dir, "r.yaml", metricRules)
	s := startServe(t, "--rules", path, "--set", "watch=false")
	for range 4 {
		curl(t, s.url+"/v1/check", `{"event":"e"}`)
	}
	writeFile(t, dir, "r.yaml", strings.ReplaceAll(metricRules, "name: all", "name: every"))
	ask(t, nil, "POST", s.url+"/v1/reload", "")
	for range 4 {
		curl(t, s.url+"/v1/check", `{"event":"e"}`)
	}
	text := ask(t, nil, "GET", s.url+"/metrics", "").body
	if strings.Contains(text, `rule="all"`) || metric(t, text, `slidegate_refused_total{limit="3 per 1h",rule="every"}`) != 1 || metric(t, text, `slidegate_decisions_total{action="allow",rule=""}`) != 6 {
		t.Error(text)
	}
}

// TestPrometheusScrapes: a real Prometheus, with a token, finds the same numbers.
func TestPrometheusScrapes(t *testing.T) {
	program := parts.Debian(t, "prometheus", "prometheus")
	dir := t.TempDir()
	writeFile(t, dir, "token", "prometheus-0123456789")
	writeFile(t, dir, "r.yaml", metricRules)
	s := startServe(t, "--config", writeFile(t, dir, "daemon.yaml",
		"rules: r.yaml\nauth: {tokens: [{name: prometheus, scopes: [read, check], file: token}]}\n"))
	for range 5 {
		ask(t, nil, "POST", s.url+"/v1/check", `{"event":"e"}`, "Authorization: Bearer prometheus-0123456789")
	}
	writeFile(t, dir, "prometheus.yml", fmt.Sprintf(`
global: {scrape_interval: 200ms, scrape_timeout: 200ms}
scrape_configs:
  - job_name: slidegate
    authorization: {credentials_file: %s/token}
    static_configs: [{targets: [%q]}]
`, dir, strings.TrimPrefix(s.url, "http://")))
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, "--config.file="+dir+"/prometheus.yml", "--storage.tsdb.path="+dir+"/data", "--web.listen-address=127.0.0.1:0", "--log.level=info")
	cmd.Stdout = &log
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	base := "http://" + prometheusAddress(t, stderr)
	for query, want := range map[string]string{
		`slidegate_window_used{rule="all",limit="3 per 1h"}`: "3", `slidegate_refused_total{rule="all"}`: "2", `slidegate_decisions_total{rule="",action="allow"}`: "3", "up": "1",
	} {
		var got string
		eventually(t, query, func() bool {
			resp, err := http.Get(base + "/api/v1/query?query=" + url.QueryEscape(query))
			if err != nil {
				return false // it is still starting
			}
			defer resp.Body.Close()
			var answer struct {
				Data struct{ Result []struct{ Value []any } }
			}
			if json.NewDecoder(resp.Body).Decode(&answer) != nil || len(answer.Data.Result) != 1 {
				return false
			}
			got = fmt.Sprint(answer.Data.Result[0].Value[1])
			return got == want
		})
		if got != want {
			t.Errorf("%s is %s, want %s", query, got, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// prometheusAddress reads where it listens, and then the rest of its log.
func prometheusAddress(t testing.TB, stderr io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(stderr)
	addr := first(t, lines, `Listening on.*address=(127\.0\.0\.1:[1-9]\d*)`)[1]
	go func() {
		for lines.Scan() {
		}
	}()
	return addr
}

// TestMetricsEqualQuery: after traffic of all kinds every gauge of a window without a
// key is what a query of it says, and of each limit as many were refused as the answers
// said.
func TestMetricsEqualQuery(t *testing.T) {
	const rules = `version: 1
defaults: {missing_key: skip}
rules:
  - {name: all, match: {event: [a, b]}, limits: [40 per 1h, {limit: 25 per 1h, algorithm: sliding_buckets}, {limit: 10 per 1h, shadow: true}]}
  - {name: paid, match: {event: b}, limits: [60.5 sum(v) per 1h, {limit: 30 per 1h, count_refused: true}]}
  - {name: wide, match: {event: c}, limits: [4 distinct(k) per 1h]}
  - {name: keyed, match: {event: [a, c]}, key: [k], limits: [6 per 1h]}
`
	s := startServe(t, "--rules", writeFile(t, t.TempDir(), "r.yaml", rules))
	client := &http.Client{}
	defer client.CloseIdleConnections()
	text := func() string { return ask(t, client, "GET", s.url+"/metrics", "").body }
	type window struct {
		Rule, Limit string
		Used, Max   float64
		Refused     bool
	}
	type windows struct{ Windows, Shadow []window }
	count := func(ws []window, of map[string]float64) {
		for _, w := range ws {
			if w.Refused {
				of[w.Rule+"/"+w.Limit]++
			}
		}
	}
	refused, shadowed, r := map[string]float64{}, map[string]float64{}, rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		var d windows
		body := fmt.Sprintf(`{"event":"%c","attrs":{"k":"k%d","v":%d.25}}`, 'a'+r.IntN(3), r.IntN(8), r.IntN(3))
		if err := json.Unmarshal([]byte(ask(t, client, "POST", s.url+"/v1/check", body).body), &d); err != nil {
			t.Fatal(err)
		}
		count(d.Windows, refused)
		count(d.Shadow, shadowed)
		if n%100 != 99 {
			continue
		}
		metrics := text()
		for _, rule := range []string{"all", "paid", "wide"} {
			var asked windows
			if err := json.Unmarshal([]byte(ask(t, client, "GET", s.url+"/v1/windows/"+rule, "").body), &asked); err != nil || len(asked.Windows) == 0 {
				t.Fatal(err, asked)
			}
			for _, w := range asked.Windows {
				labels := fmt.Sprintf("{limit=%q,rule=%q}", w.Limit, rule)
				if used, most := metric(t, metrics, "slidegate_window_used"+labels), metric(t, metrics, "slidegate_window_max"+labels); used != w.Used || most != w.Max || used == 0 {
					t.Errorf("after %d: %s has %v of %v, and by a query %v of %v", n+1, labels, used, most, w.Used, w.Max)
				}
			}
		}
		for name, want := range map[string]map[string]float64{"slidegate_refused_total": refused, "slidegate_shadow_refused_total": shadowed} {
			for of, n := range want {
				rule, limit, _ := strings.Cut(of, "/")
				if got := metric(t, metrics, fmt.Sprintf("%s{limit=%q,rule=%q}", name, limit, rule)); got != n {
					t.Errorf("%s of %s is %v, and the answers said it %v times", name, of, got, n)
				}
			}
		}
	}
	if len(refused) < 4 || len(shadowed) != 1 {
		t.Errorf("too little was refused: %v, %v", refused, shadowed)
	}
}
