package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"
)

// publicLog is read in place where it is.
const publicLog = "../../../shared/data/elastic_apache_access.log"

// visit is a line of an access log.
type visit struct {
	ip string
	at time.Time
}

// readVisits reads an access log in the plainest way.
func readVisits(t *testing.T, path string) []visit {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("the public log is not here: %v", err)
	}
	defer f.Close()
	line := regexp.MustCompile(`^(\S+) \S+ \S+ \[([^\]]+)\]`)
	var all []visit
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		parts := line.FindStringSubmatch(lines.Text())
		if parts == nil {
			t.Fatalf("line %d cannot be read", len(all)+1)
		}
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", parts[2])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, visit{parts[1], at})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// window is a limit on each address: at most so many admitted in any span. It
// looks at every visit that was admitted before.
type window struct {
	max  int
	size time.Duration

	refused  int
	admitted map[string][]time.Time
	keys     map[string]bool // those that were refused
}

func (w *window) text() string { return fmt.Sprintf("%d per %ds", w.max, int(w.size.Seconds())) }

func (w *window) fits(v visit) bool {
	live := 0
	for _, at := range w.admitted[v.ip] {
		if v.at.Sub(at) < w.size {
			live++
		}
	}
	return live < w.max
}

// bruteForce judges visits by all windows at once and returns how many pass.
func bruteForce(visits []visit, windows []*window) (admitted int) {
	for _, w := range windows {
		w.admitted, w.keys = map[string][]time.Time{}, map[string]bool{}
	}
	for _, v := range visits {
		pass := true
		for _, w := range windows {
			if !w.fits(v) {
				pass = false
				w.refused++
				w.keys[v.ip] = true
			}
		}
		if pass {
			admitted++
			for _, w := range windows {
				w.admitted[v.ip] = append(w.admitted[v.ip], v.at)
			}
		}
	}
	return admitted
}

// The replay of a public log says what brute force says, and what was computed
// once by another program.
func TestReplayReference(t *testing.T) {
	visits := readVisits(t, publicLog)
	slices.SortStableFunc(visits, func(a, b visit) int { return a.at.Compare(b.at) })
	for _, c := range []struct {
		windows           []*window
		admitted, refused int
		by, keys          []int
	}{
		{[]*window{{max: 5, size: 10 * time.Second}}, 9243, 757, []int{757}, []int{61}},
		{[]*window{{max: 5, size: 10 * time.Second}, {max: 100, size: 24 * time.Hour}}, 8966, 1034, []int{651, 387}, []int{61, 4}},
		{[]*window{{max: 20, size: time.Minute}}, 9069, 931, []int{931}, nil},
	} {
		var lines []string
		for i, w := range c.windows {
			lines = append(lines, fmt.Sprintf("{name: r%d, key: [ip], limits: [%s]}", i, w.text()))
		}
		s, stderr := summarise(t, "", "--rules", rules(t, lines...), "--sort", publicLog)
		admitted := bruteForce(visits, c.windows)
		if s.Events != 10_000 || s.Skipped+s.Late != 0 || stderr != "" {
			t.Errorf("%v: %+v, %s", lines, s, stderr)
		}
		if s.Admitted != int64(admitted) || admitted != c.admitted || s.Refused != int64(c.refused) {
			t.Errorf("%v: %d admitted and %d refused; by brute force %d, want %d and %d", lines, s.Admitted, s.Refused, admitted, c.admitted, c.refused)
		}
		for i, w := range c.windows {
			r := s.Rules[i]
			if r.Refused != int64(w.refused) || r.KeysRefused != int64(len(w.keys)) || w.refused != c.by[i] || c.keys != nil && len(w.keys) != c.keys[i] {
				t.Errorf("%s: %d refused of %d keys; by brute force %d of %d, want %d of %v", w.text(), r.Refused, r.KeysRefused, w.refused, len(w.keys), c.by[i], c.keys)
			}
		}
	}
}

// As it stands, the seconds of the log are shuffled: whatever is older than the
// newest before it is late.
func TestReplayReferenceLate(t *testing.T) {
	visits := readVisits(t, publicLog)
	late := int64(0)
	for i := 1; i < len(visits); i++ {
		if visits[i].at.Before(visits[i-1].at) {
			late++
			visits[i].at = visits[i-1].at
		}
	}
	w := &window{max: 5, size: 10 * time.Second}
	admitted := bruteForce(visits, []*window{w})
	s, _ := summarise(t, "", "--rules", rules(t, "{name: r, key: [ip], limits: [5 per 10s]}"), publicLog)
	if s.Events != int64(len(visits)) || s.Late != late || s.Admitted != int64(admitted) || s.Rules[0].Refused != int64(w.refused) || s.Rules[0].KeysRefused != int64(len(w.keys)) {
		t.Errorf("%d events, %d late, %d admitted, %d refused; want %d, %d, %d and %d", s.Events, s.Late, s.Admitted, s.Refused, len(visits), late, admitted, w.refused)
	}
}
