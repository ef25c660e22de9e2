package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

// plan compiles rules.
func plan(t testing.TB, rules ...rule.Rule) *rule.Plan {
	t.Helper()
	p, _, err := rule.Compile(&rule.Set{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// perIP limits each address.
func perIP(name, text string) rule.Rule {
	return rule.Rule{Name: name, Key: []string{"ip"}, MissingKey: "skip", Limits: []rule.Limit{{Limit: text}}}
}

// listed gives records of a list, then an error.
type listed struct {
	recs []Record
	end  error
	next int
}

// Next returns the next record. As those of a reader they are good until the
// next call.
func (l *listed) Next() (*Record, error) {
	if l.next > 0 {
		l.recs[l.next-1] = Record{}
	}
	if l.next == len(l.recs) {
		return nil, l.end
	}
	l.next++
	return &l.recs[l.next-1], nil
}

// visits lists a visit of an address at each of the times, in seconds.
func visits(ip string, seconds ...int) *listed {
	l := &listed{end: io.EOF}
	for i, s := range seconds {
		l.recs = append(l.recs, Record{
			Event: slidegate.Event{Name: "http", Attrs: []slidegate.Attr{slidegate.String("ip", ip)}, Time: time.Unix(int64(s), 0).UTC()},
			File:  "log", Line: i + 1,
		})
	}
	return l
}

func judged(t *testing.T, p *rule.Plan, src Source) *Summary {
	t.Helper()
	sum, err := Judge(t.Context(), p, src, nil)
	if err != nil {
		t.Fatal(err)
	}
	sum.Finish()
	return sum
}

// The numbers of the public log, in one verdict over several rules. Who is
// refused by brute force is in TestReferenceLimits.
func TestJudgeReference(t *testing.T) {
	for _, c := range []struct {
		limits            []string
		admitted, refused int64
		by, keys          []int64
	}{
		{[]string{"5 per 10s"}, 9243, 757, []int64{757}, []int64{61}},
		{[]string{"5 per 10s", "100 per 24h"}, 8966, 1034, []int64{651, 387}, []int64{61, 4}},
		{[]string{"100 per 1d", "5 per 10000ms"}, 8966, 1034, []int64{387, 651}, []int64{4, 61}},
		{[]string{"20 per 60s"}, 9069, 931, []int64{931}, nil},
	} {
		var rules []rule.Rule
		for i, text := range c.limits {
			rules = append(rules, perIP(fmt.Sprintf("r%d", i), text))
		}
		sum := judged(t, plan(t, rules...), sortedLog(t, "elastic_apache_access.log", SortOptions{}))
		if sum.Events != 10_000 || sum.Admitted != c.admitted || sum.Refused != c.refused || sum.Late+sum.Skipped != 0 {
			t.Errorf("%v: %+v", c.limits, sum)
		}
		var by, keys []int64
		for _, r := range sum.Rules {
			by, keys = append(by, r.Refused), append(keys, r.KeysRefused)
			if r.Admitted+r.Refused != 10_000 || r.Keys != 1753 {
				t.Errorf("%v: %s met %d events of %d keys", c.limits, r.Name, r.Admitted+r.Refused, r.Keys)
			}
		}
		if !slices.Equal(by, c.by) || c.keys != nil && !slices.Equal(keys, c.keys) {
			t.Errorf("%v: refused by each %v, of keys %v; want %v, %v", c.limits, by, keys, c.by, c.keys)
		}
	}
}

// An event that is exactly one window old is out. One that is older than the
// newest is judged at the newest, and counted.
func TestJudgeAtItsTime(t *testing.T) {
	for _, c := range []struct {
		name                    string
		seconds                 []int
		admitted, refused, late int64
		last                    int64
	}{
		{"nothing", nil, 0, 0, 0, 0},
		{"one, at the beginning of time", []int{0}, 1, 0, 0, 0},
		{"exactly at the edge", []int{100, 109, 110}, 2, 1, 0, 110},
		{"a gap longer than the window", []int{100, 100, 1000}, 2, 1, 0, 1000},
		{"back, and judged at the newest", []int{100, 109, 50, 110, 99}, 2, 3, 2, 110},
		{"far back", []int{1000, 0, 1010, 1, 1019, 1020}, 3, 3, 2, 1020},
		{"back to the first", []int{0, 0, 0}, 1, 2, 0, 0},
	} {
		sum := judged(t, plan(t, perIP("r", "1 per 10s")), visits("192.0.2.1", c.seconds...))
		if sum.Events != int64(len(c.seconds)) || sum.Admitted != c.admitted || sum.Refused != c.refused || sum.Late != c.late || sum.Skipped != 0 {
			t.Errorf("%s: %+v", c.name, sum)
		}
		if len(c.seconds) == 0 {
			if !sum.First.IsZero() || !sum.Last.IsZero() {
				t.Errorf("%s: from %s to %s", c.name, sum.First, sum.Last)
			}
		} else if sum.First.Unix() != int64(c.seconds[0]) || sum.Last.Unix() != c.last {
			t.Errorf("%s: from %d to %d", c.name, sum.First.Unix(), sum.Last.Unix())
		}
	}
}

// An event that the rules cannot read is handed back and counts for nothing:
// its time does not make the next one late.
func TestJudgeSkips(t *testing.T) {
	src := visits("192.0.2.1", 5, 10, 9_000, 11, 10, 12)
	for i, ip := range map[int]string{0: "first.example", 2: "far.example"} {
		src.recs[i].Event.Attrs = []slidegate.Attr{slidegate.String("ip", ip)}
	}
	var got []string
	sum, err := Judge(t.Context(), plan(t, perIP("r", "1 per 1s")), src, func(rec *Record, err error) {
		if !errors.Is(err, slidegate.ErrEvent) {
			t.Errorf("skipped for %v", err)
		}
		got = append(got, fmt.Sprintf("%s:%d %s: %v", rec.File, rec.Line, rec.Event.Name, err))
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`log:1 http: gate: rule r: bad event: attribute ip: "first.example" is not an IP address`,
		`log:3 http: gate: rule r: bad event: attribute ip: "far.example" is not an IP address`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if sum.Events != 4 || sum.Skipped != 2 || sum.Late != 1 || sum.Admitted != 3 || sum.First.Unix() != 10 || sum.Last.Unix() != 12 {
		t.Errorf("%+v", sum)
	}
	src = visits("x", 1, 2)
	if sum := judged(t, plan(t, perIP("r", "1 per 1s")), src); sum.Events != 0 || sum.Skipped != 2 {
		t.Errorf("nobody listens: %+v", sum)
	}
}

func TestJudgeStops(t *testing.T) {
	p := plan(t, perIP("r", "1 per 1s"))
	ctx, cancel := context.WithCancel(t.Context())
	src := visits("192.0.2.1", 1, 2, 3, 4, 5)
	sum, err := Judge(ctx, p, stopAfter{src, 3, cancel}, nil)
	if sum != nil || !errors.Is(err, context.Canceled) || err.Error() != "stopped after 2 events: context canceled" {
		t.Errorf("got %v, %v", sum, err)
	}
	if src.next != 3 {
		t.Errorf("%d were read", src.next)
	}
	why := errors.New("the day is over")
	causing, stop := context.WithCancelCause(t.Context())
	stop(why)
	src = visits("192.0.2.1", 1)
	src.recs = nil
	src.end = context.Canceled // as a source says it
	if _, err := Judge(causing, p, src, nil); !errors.Is(err, why) || err.Error() != "stopped after 0 events: the day is over" {
		t.Errorf("got %v", err)
	}
	src = visits("192.0.2.1", 1, 2)
	src.end = errors.New("log:3: damaged")
	if sum, err := Judge(t.Context(), p, src, nil); sum != nil || err == nil || err.Error() != "log:3: damaged" {
		t.Errorf("got %v, %v", sum, err)
	}
}

// stopAfter cancels with the n-th record.
type stopAfter struct {
	*listed

	n      int
	cancel func()
}

// Next cancels and returns the next record.
func (s stopAfter) Next() (*Record, error) {
	rec, err := s.listed.Next()
	if s.next == s.n {
		s.cancel()
	}
	return rec, err
}

// Keys are counted once however long the log is, and names are kept only of those
// that were refused.
func TestJudgeManyEvents(t *testing.T) {
	p := plan(t, perIP("r", "3 per 1s"))
	sum := judged(t, p, &counted{n: 200_000})
	if sum.Events != 200_000 || sum.Rules[0].Keys != 2000 || len(sum.Rules[0].tally.names) != 0 {
		t.Errorf("%+v", sum.Rules[0])
	}
}

// counted gives n events of 2000 addresses, 1000 in a second.
type counted struct{ n, at int }

// Next returns the next record.
func (c *counted) Next() (*Record, error) {
	if c.at == c.n {
		return nil, io.EOF
	}
	c.at++
	ip := fmt.Sprintf("192.0.%d.%d", c.at%2000/250, c.at%250)
	return &Record{Event: slidegate.Event{Name: "http", Attrs: []slidegate.Attr{slidegate.String("ip", ip)}, Time: time.UnixMilli(int64(c.at))}}, nil
}

// Without rules that compile there is nothing to judge by.
func TestJudgeNeedsPlan(t *testing.T) {
	if _, err := Judge(t.Context(), nil, visits("192.0.2.1"), nil); err == nil || !strings.Contains(err.Error(), "no plan") {
		t.Errorf("got %v", err)
	}
}

// TestJudgeReports: what is let through is reported, too, so that limits on what fails
// are judged as they would be: nobody could try while the key was locked.
func TestJudgeReports(t *testing.T) {
	locks := rule.Rule{Name: "login", Key: []string{"ip"}, MissingKey: "skip", Limits: []rule.Limit{
		{Limit: "3 failures per 1h", Action: "lock", Lasts: []string{"10s"}},
	}}
	log := visits("192.0.2.1", 0, 1, 2, 3, 4, 12, 13, 14, 15)
	for i := range log.recs {
		log.recs[i].Event.Outcome = slidegate.Failure
	}
	log.recs[1].Event.Outcome = slidegate.Success
	// Failures at 0, 2 and 3 lock until 13; those at 13, 14, 15 once more.
	s, err := Judge(t.Context(), plan(t, locks), log, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := s.Rules[0]; s.Events != 9 || r.Refused != 2 {
		t.Errorf("%d events, %d refused; want 9, 2", s.Events, r.Refused)
	}
	status := perIP("scan", "2 count where status == 404 per 1h")
	status.Counts = "reports"
	log = visits("192.0.2.1", 0, 1, 2, 3)
	for i := range log.recs {
		log.recs[i].Event.Attrs = append(log.recs[i].Event.Attrs, slidegate.Int("status", 404))
	}
	if s, err = Judge(t.Context(), plan(t, status), log, nil); err != nil || s.Rules[0].Refused != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}
