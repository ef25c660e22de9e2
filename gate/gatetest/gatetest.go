// Package gatetest runs test scripts of rules: the same in go test, in
// "slidegate check --test", and in the documentation. A script names a rule
// file, then says what is checked when, and what must come back:
//
//	rules sms.yaml
//	at 0s    check sms.send phone=1 ip=192.0.2.9 -> allow remaining=0
//	at 10s   check sms.send phone=1 ip=192.0.2.9 -> reject sms-phone retry_after=50s
//
// The page docs/guide/testing-rules.md describes the whole language.
package gatetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/rule"
)

// Extension is what names of scripts end with.
const Extension = ".gate"

// Options say how to run scripts.
type Options struct {
	// Load reads a rule file; required. rulefile.Load does, but for its
	// result: see the example.
	Load func(path string) (*rule.Plan, error)
	// Rewrite writes what came back into the lines that fail, in place of what
	// they expect, keeping the names that each line asks for. Everything else
	// in a script stays as it is.
	Rewrite bool
}

// Failure is a line that did not get what it expects, or that is wrong itself.
type Failure struct {
	File string
	Line int
	// Text is the line.
	Text string
	// Expected and Got are what comes after the arrow, as scripts spell it.
	// Both are empty when the line itself is wrong.
	Expected, Got string
	// Note is what else there is to say; may be empty.
	Note string
	// Err says what is wrong.
	Err error
}

// Error returns the failure in a few lines.
func (f *Failure) Error() string {
	note := ""
	if f.Note != "" {
		note = "\n\t    note: " + f.Note
	}
	if f.Err != nil {
		return fmt.Sprintf("%s:%d: %v%s", f.File, f.Line, f.Err, note)
	}
	return fmt.Sprintf("%s:%d: %s\n\texpected: %s\n\t     got: %s%s", f.File, f.Line, strings.TrimSpace(f.Text), f.Expected, f.Got, note)
}

// Result counts what was run.
type Result struct {
	// Scripts and Lines count the scripts, and the lines with an expectation.
	Scripts, Lines int
	// Rewritten counts the lines that were rewritten.
	Rewritten int
	// Failures are in order. Lines that were rewritten are not among them.
	Failures []*Failure
}

// TB is the part of testing.TB that Run uses.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Run runs the scripts of a directory as part of a Go test.
func Run(t TB, dir string, o Options) {
	t.Helper()
	r, err := Dir(dir, o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, f := range r.Failures {
		t.Errorf("%v", f)
	}
}

// Dir runs every script of a directory, in the order of their names. It is an
// error if there is none.
func Dir(dir string, o Options) (*Result, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	total := &Result{}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != Extension {
			continue
		}
		if err := file(filepath.Join(dir, e.Name()), o, total); err != nil {
			return nil, err
		}
	}
	if total.Scripts == 0 {
		return nil, fmt.Errorf("%s: no scripts (*%s) in it", dir, Extension)
	}
	return total, nil
}

// File runs one script.
func File(path string, o Options) (*Result, error) {
	r := &Result{}
	return r, file(path, o, r)
}

func file(path string, o Options, r *Result) error {
	if o.Load == nil {
		return errors.New("gatetest: Options.Load is required")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := strings.Split(string(data), "\n")
	rewritten := r.Rewritten
	runLines(path, lines, o, r)
	if r.Rewritten == rewritten {
		return nil
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644)
}

// runLines runs the lines of a script and rewrites them in place.
func runLines(path string, lines []string, o Options, r *Result) {
	r.Scripts++
	s := &script{path: path, options: o, result: r, labels: map[string]string{}, seen: map[string]bool{}, start: defaultStart()}
	defer s.close()
	wrong := func(i int, err error) {
		f := &Failure{File: path, Line: i + 1, Text: lines[i], Err: err}
		if slices.ContainsFunc(lines[i+1:], doesSomething) {
			f.Note = "the rest of the script was not run"
		}
		r.Failures = append(r.Failures, f)
	}
	for i := range lines {
		l, err := parseLine(i+1, lines[i])
		if err == nil && l != nil {
			err = s.run(l)
		}
		if err != nil {
			wrong(i, err)
			return // what follows would only fail because of it
		}
		if l != nil {
			lines[i] = l.text
		}
	}
	if s.gate == nil {
		wrong(0, errNoRules)
	}
}

// doesSomething reports whether a line is more than blanks and a comment.
func doesSomething(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && text[0] != '#'
}

// defaultStart is the instant 0s of a script that does not say.
func defaultStart() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// script is the state of a script that runs.
type script struct {
	path    string
	options Options
	result  *Result
	gate    *gate.Gate
	plan    *rule.Plan      // in force
	seen    map[string]bool // windows that came back, named with their rules
	start   time.Time
	now     time.Duration // since start
	time    atomic.Int64  // now, as the store reads it at any time
	begun   bool          // something happened at an instant
	labels  map[string]string
}

func (s *script) close() {
	if s.gate != nil {
		_ = s.gate.Close()
	}
}

// background is the context of all that a script does.
var background = context.Background()

func (s *script) clock() time.Time { return s.start.Add(time.Duration(s.time.Load())) }

// run does what a line says.
func (s *script) run(l *line) error {
	if l.verb == "start" {
		return s.startAt(l)
	}
	do := s.verb(l.verb)
	switch {
	case do == nil:
		return fmt.Errorf("unknown word %q; a line is rules, start, or at TIME check, report, query, refund, release, renew, reset or unlock", l.verb)
	case l.verb == "rules":
		if l.count > 1 || l.at.every > 0 {
			return errors.New("rules are loaded once")
		}
		if !l.at.given {
			l.at.from, l.at.to = s.now, s.now
		}
	case s.gate == nil:
		return errNoRules
	case !l.at.given:
		return fmt.Errorf("%s needs a time: at 0s %s …", l.verb, l.verb)
	}
	if l.at.relative {
		l.at.from += s.now
		l.at.to += s.now
	}
	if l.at.from < s.now {
		return fmt.Errorf("time only goes forward; it is %s now", formatDuration(s.now))
	}
	s.begun = s.begun || l.at.given
	return s.repeat(l, do)
}

func (s *script) verb(name string) func(*line) (answer, error) {
	return map[string]func(*line) (answer, error){
		"rules": s.rules, "check": s.check, "query": s.query, "refund": s.refund, "release": s.release, "renew": s.renew,
		"reset": s.reset, "report": s.report, "unlock": s.unlock,
	}[name]
}

// repeat does a line at each of its instants, as often as it says, and holds
// what came back against what it expects.
func (s *script) repeat(l *line, do func(*line) (answer, error)) error {
	all := newOutcome(l.want)
	args, n := l.args, 0
	defer func() { l.args = args }()
	for at := l.at.from; at <= l.at.to; at += l.at.every {
		s.now = at
		s.time.Store(int64(at))
		for i := range l.count {
			n++
			l.args = numbered(args, n, l.count > 1 || l.at.every > 0)
			a, err := do(l)
			if err == nil {
				err = cmp.Or(s.misnamed(l, &a), a.doubt(l.want))
			}
			if err != nil {
				return err
			}
			all.add(at, a, at == l.at.from && i == 0)
		}
		if l.at.every == 0 {
			break
		}
	}
	if l.arrow {
		s.compare(l, all)
	}
	return nil
}

// numbered returns the words of a line that is done several times, with {n} in
// them replaced by how often it was done, this time included.
func numbered(args []string, n int, repeated bool) []string {
	if !repeated || !slices.ContainsFunc(args, func(w string) bool { return strings.Contains(w, "{n}") }) {
		return args
	}
	out := make([]string, len(args))
	for i, w := range args {
		out[i] = strings.ReplaceAll(w, "{n}", strconv.Itoa(n))
	}
	return out
}

// compare notes what a line did not get, or rewrites it.
func (s *script) compare(l *line, all *outcome) {
	s.result.Lines++
	ok, at, got, rewritten := all.result()
	switch {
	case ok:
	case s.options.Rewrite && rewritten != "":
		s.result.Rewritten++
		l.text = l.text[:l.head] + " " + rewritten + l.text[l.tail:]
	default:
		want := make([]string, len(l.want))
		for i, w := range l.want {
			want[i] = quote(w)
		}
		s.result.Failures = append(s.result.Failures, &Failure{
			File: s.path, Line: l.number, Text: l.text, Expected: strings.Join(want, " "), Got: got, Note: note(l, all, at),
		})
	}
}

// note says what else there is to say of a line that failed: when, where it was
// done at several instants, and what may be the reason.
func note(l *line, all *outcome, at time.Duration) string {
	var parts []string
	if (l.at.every > 0 || l.at.relative) && !all.counting {
		parts = append(parts, "at "+formatDuration(at))
	}
	if all.wrong != nil {
		if reason := all.wrong.note(l.want); reason != "" {
			parts = append(parts, reason)
		}
	}
	return strings.Join(parts, "; ")
}

// rules loads a rule file; later in a script it is a reload.
func (s *script) rules(l *line) (answer, error) {
	if len(l.args) != 1 {
		return answer{}, errors.New("want: rules FILE")
	}
	path := l.args[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(s.path), path)
	}
	plan, err := s.options.Load(path)
	if err != nil {
		return answer{}, err
	}
	var lost []rule.Forgotten
	if s.gate == nil {
		s.gate, err = gate.New(plan, gate.Options{Now: s.clock})
	} else {
		lost, err = s.gate.Reload(plan)
	}
	if err == nil {
		s.plan = plan
	}
	var forgets []string
	for _, f := range lost {
		forgets = append(forgets, f.Rule+": "+f.Limit)
	}
	var a answer
	a.set("forgets", strings.Join(forgets, ","), true)
	return a, err
}

// startAt says which instant 0s is.
func (s *script) startAt(l *line) error {
	if len(l.args) != 1 || l.arrow || l.at.given || l.count > 1 || s.begun {
		return errors.New("want, before any check: start 2026-01-01T00:00:00Z")
	}
	at, err := time.Parse(time.RFC3339, l.args[0])
	if err != nil {
		return fmt.Errorf("%q is no time: say one such as 2026-01-01T00:00:00Z", l.args[0])
	}
	s.start = at
	return nil
}

// check judges an event, or several in one verdict: A … + B ….
func (s *script) check(l *line) (answer, error) {
	label, args := "", l.args
	if n := len(args); n > 2 && args[n-2] == "as" {
		label, args = args[n-1], args[:n-2]
	}
	evs, err := parseEvents(args)
	if err != nil {
		return answer{}, err
	}
	if slices.ContainsFunc(evs, func(ev slidegate.Event) bool { return ev.Outcome != slidegate.Unknown }) {
		return answer{}, errors.New("a check has no outcome; it is told by a report: at TIME report …")
	}
	d, err := s.decide(evs)
	if errors.Is(err, slidegate.ErrEvent) {
		a := answer{words: []string{"error"}}
		a.set("error", err.Error(), true)
		return a, nil
	}
	if err != nil {
		return answer{}, err
	}
	if label != "" {
		s.labels[label] = d.ID.String()
	}
	a := decisionAnswer(&d)
	if d.Rule == "" && len(a.windows)+len(a.shadow) == 0 {
		a.why = func() string { return s.unmet(evs) }
	}
	return a, nil
}

// parseEvents reads one event, or several with + between them.
func parseEvents(words []string) ([]slidegate.Event, error) {
	var evs []slidegate.Event
	for {
		i := slices.Index(words, "+")
		head := words
		if i >= 0 {
			head = words[:i]
		}
		ev, err := ParseEvent(head)
		if err != nil {
			return nil, err
		}
		evs = append(evs, ev)
		if i < 0 {
			return evs, nil
		}
		words = words[i+1:]
	}
}

func (s *script) decide(evs []slidegate.Event) (slidegate.Decision, error) {
	if len(evs) == 1 {
		return s.gate.Check(background, evs[0])
	}
	return s.gate.CheckAll(background, evs)
}
