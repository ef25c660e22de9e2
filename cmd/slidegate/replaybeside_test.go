package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/slidegate/slidegate/internal/replay"
)

// edgeLog is a burst before and one behind the edge of a window of ten seconds.
const edgeLog = "{\"ts\":19,\"user\":\"a\\u001b\"}\n{\"ts\":19,\"user\":\"a\\u001b\"}\n{\"ts\":19,\"user\":\"a\\u001b\"}\n{\"ts\":20.000001,\"user\":\"a\\u001b\"}\n{\"ts\":20.000001,\"user\":\"a\\u001b\"}\n{\"ts\":20.000001,\"user\":\"a\\u001b\"}\n{\"ts\":50,\"user\":\"b\"}\n"

// Side by side the algorithms show what a window really let through.
func TestReplayCompare(t *testing.T) {
	path := rules(t, "{name: edge, key: [user], limits: [2 per 10s]}", "{name: large, limits: [{limit: 1M per 1h, algorithm: sliding_buckets}, 9 per 10 events]}", "{name: logins, match: {event: login}, limits: [1 per 1m]}")
	args := []string{"replay", "--rules", path, "--compare", "sliding_log,fixed,gcra"}
	r := commandWith(t.Context(), edgeLog, append(args, "-")...)
	for _, want := range []string{
		"\nby algorithm; the worst window is that in which a key was let through the most, of all real ones:\n",
		"│ RULE  │ LIMIT     │ ALGORITHM   │     ADMITTED │ REFUSED │ WORST WINDOW │ OVER │ UNTIL                       │ KEY             │\n",
		"│ edge  │ 2 per 10s │ sliding_log │            3 │       4 │            2 │    - │ 1970-01-01T00:00:19Z        │ user=\"a\\x1b\"    │\n",
		"│ edge  │ 2 per 10s │ fixed       │            5 │       2 │            4 │    2 │ 1970-01-01T00:00:20.000001Z │ user=\"a\\x1b\"    │\n",
		"│ large │ 1M per 1h │ sliding_log │ not possible │         │              │      │                             │                 │\n",
		"│ large │ 1M per 1h │ fixed       │            7 │       0 │            5 │    - │ 1970-01-01T00:00:50Z        │ (without a key) │\n",
		"large: \"1M per 1h\" cannot be sliding_log, and was judged there as it is written: a sliding_log keeps every hit",
		"\ngcra has the maximum of each limit as its burst, unless the rule file gives one\n",
		"\nsliding_log: 3 admitted, 4 refused over all rules\nfixed: 5 admitted, 2 refused over all rules\ngcra: 3 admitted, 4 refused over all rules\n",
	} {
		if r.code != exitOK || r.err != "" || !strings.Contains(r.out, want) {
			t.Errorf("%s is missing in\n%s%s", want, r.out, r.err)
		}
	}
	if strings.Contains(r.out, "\x1b") || strings.Contains(r.out, "events │") || strings.Contains(r.out, "│ logins │ 1 per 1m") {
		t.Errorf("got %q", r.out)
	}
	var s struct {
		Compare []struct {
			Algorithm string
			Admitted  int64
			Limits    []struct {
				Rule  string
				Worst struct{ Through, Max, Over json.Number }
			}
		}
	}
	r = commandWith(t.Context(), edgeLog, append(args, "--summary", "json", "-")...)
	if err := json.Unmarshal([]byte(r.out), &s); err != nil || len(s.Compare) != 3 || s.Compare[1].Algorithm != "fixed" || s.Compare[1].Limits[0].Worst.Over != "2" || s.Compare[0].Admitted != 3 {
		t.Errorf("%v, %+v", err, s)
	}
	r = commandWith(t.Context(), edgeLog, "replay", "--rules", rules(t, "{name: r, limits: [9 per 10 events]}"), "--compare", "fixed", "-")
	if want := "\nno limit counts or sums over a sliding window of time: there are no algorithms to compare\n"; r.code != exitOK || !strings.Contains(r.out, want) {
		t.Errorf("%s is missing in %+v", want, r)
	}
}

// Another rule file is compared before it is put in force.
func TestReplayCandidate(t *testing.T) {
	old := rules(t, "{name: edge, key: [user], limits: [2 per 10s]}", "{name: gone, limits: [100 per 1h]}")
	next := rules(t, "{name: edge, key: [user], limits: [{limit: 2 per 10s, algorithm: fixed}]}", "{name: new, limits: [6 per 1h]}")
	args := []string{"replay", "--rules", old, "--candidate", next}
	r := commandWith(t.Context(), edgeLog, append(args, "-")...)
	want := "\nwith " + next + ", 2 of 7 events would get another verdict: 0 newly refused, 2 freed\n" + `┌────────────────┬────────────────┬───────────────┬───────────────┬───────┐
│ RULE           │ REFUSED BEFORE │ REFUSED AFTER │ NEWLY REFUSED │ FREED │
├────────────────┼────────────────┼───────────────┼───────────────┼───────┤
│ edge           │              4 │             2 │             0 │     2 │
│ gone (removed) │              0 │               │               │     0 │
│ new (new)      │                │             0 │             0 │       │
└────────────────┴────────────────┴───────────────┴───────────────┴───────┘
a reload forgets rule edge: "2 per 10s": no limit has the same measure, window and algorithm
a reload forgets rule gone: "100 per 1h": the rule is gone
freed from edge (such as stdin:4, stdin:5):
         2  user="a\x1b"
`
	if r.code != exitOK || r.err != "" || !strings.HasSuffix(r.out, want) {
		t.Errorf("got %s%s\nwant %s", r.out, r.err, want)
	}
	var s struct {
		Candidate struct {
			Freed int64
			Rules []struct {
				Name           string
				Added, Removed bool
				Freed          struct{ Examples []string }
			}
		}
	}
	r = commandWith(t.Context(), edgeLog, append(args, "--summary", "json", "-")...)
	if err := json.Unmarshal([]byte(r.out), &s); err != nil || s.Candidate.Freed != 2 || len(s.Candidate.Rules) != 3 || !s.Candidate.Rules[1].Removed || !s.Candidate.Rules[2].Added || s.Candidate.Rules[0].Freed.Examples[0] != "stdin:4" {
		t.Errorf("%v, %+v", err, s)
	}
	strict := rules(t, "{name: edge, key: [user], limits: [1 per 10s]}", "{name: ips, key: [ip], limits: [1 per 1h]}")
	r = commandWith(t.Context(), edgeLog+"{\"ts\":51,\"ip\":\"x\\u001b\"}\n", "replay", "--rules", old, "--candidate", strict, "-")
	for _, want := range []string{
		", 1 of 7 events would get another verdict: 1 newly refused, 0 freed\n",
		"\n1 event was not compared, because " + strict + " cannot read them; the first: stdin:8: rule ips: bad event: attribute ip: \"x\\x1b\" is not an IP address\n",
		"\nnewly refused by edge (such as stdin:2):\n         1  user=\"a\\x1b\"\n",
	} {
		if r.code != exitOK || !strings.Contains(r.out, want) {
			t.Errorf("%s is missing in\n%s", want, r.out)
		}
	}
}

// The timeline is plotted where it is asked for; on no terminal it is not unless
// it is.
func TestReplayTimeline(t *testing.T) {
	path := rules(t, "{name: r, limits: [2 per 10s]}")
	plot := "\nevents admitted (─) and refused (•) per slot of "
	for _, c := range []struct {
		name, log string
		args      []string
		want      string
	}{
		{"in a pipe", edgeLog, nil, ""},
		{"off", edgeLog, []string{"--timeline", "off"}, ""},
		{"seconds", edgeLog, []string{"--timeline", "on"}, plot + "500 milliseconds:\n"},
		{"an instant", "{\"ts\":19}\n{\"ts\":19}\n{\"ts\":19}\n", []string{"--timeline", "on"}, "\nall events lie within 1 second of 1970-01-01T00:00:19Z: there is nothing to plot over time\n"},
		{"an instant with a fraction", "{\"ts\":19.5}\n", []string{"--timeline", "on"}, "\nall events lie within 1 millisecond of 1970-01-01T00:00:19.5Z: "},
		{"years", "{\"ts\":19}\n{\"ts\":200000000}\n{\"ts\":1900000000}\n", []string{"--timeline", "on"}, plot + "512 days:\n"},
		{"nothing refused", "{\"ts\":19}\n{\"ts\":40}\n", []string{"--timeline", "on"}, plot + "1 second:\n"},
	} {
		r := commandWith(t.Context(), c.log, append([]string{"replay", "--rules", path, "-"}, c.args...)...)
		_, drawn, plotted := strings.Cut(r.out, plot)
		if r.code != exitOK || r.err != "" || !strings.Contains(r.out, c.want) || plotted != strings.HasPrefix(c.want, plot) || c.want == "" && strings.Contains(r.out, "all events lie") {
			t.Errorf("%s: %s is missing in\n%s%s", c.name, c.want, r.out, r.err)
		}
		for line := range strings.Lines(drawn) {
			if n := utf8.RuneCountInString(line); n > pipeWidth {
				t.Errorf("%s: %d columns: %s", c.name, n, line)
			}
		}
		if plotted && strings.Contains(drawn, "•") != (c.name == "seconds") {
			t.Errorf("%s: refused events in\n%s", c.name, drawn)
		}
	}
	r := commandWith(t.Context(), edgeLog, "replay", "--rules", path, "--summary", "json", "--timeline", "on", "-")
	if !regexp.MustCompile(`"timeline":\{"from":"1970-01-01T00:00:19Z","slot_us":500000,"admitted":\[2,0,0,`).MatchString(r.out) || strings.Contains(r.out, "┤") {
		t.Errorf("got %s", r.out)
	}
}

// What a plot shows, drawn.
func TestPlot(t *testing.T) {
	line := replay.Timeline{From: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC), Slot: time.Minute}
	for i := range 30 {
		line.Admitted = append(line.Admitted, int64(i%3))
		line.Refused = append(line.Refused, int64(i/20*4))
	}
	var b strings.Builder
	printTimeline(&b, &line, 20+plotMargin)
	const want = `
events admitted (─) and refused (•) per slot of 5 minutes:
 20 ┤           ••••••
`
	if got := b.String(); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 15 || !strings.HasSuffix(got, "\n03-01 10:00      03-01 10:25\n") {
		t.Errorf("got %s", got)
	}
	for _, c := range []struct {
		slot         time.Duration
		name, format string
	}{
		{time.Millisecond, "1 millisecond", "15:04:05.000"}, {500 * time.Millisecond, "500 milliseconds", "15:04:05.000"}, {30 * time.Second, "30 seconds", "15:04:05"},
		{time.Hour, "1 hour", "01-02 15:04"}, {48 * time.Hour, "2 days", "2006-01-02"},
	} {
		if span(c.slot) != c.name || slotFormat(c.slot) != c.format {
			t.Errorf("%s: %s, %s", c.slot, span(c.slot), slotFormat(c.slot))
		}
	}
}
