package replay

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
)

const errNoMatch = lineError("the line does not match the expression of --format")

// Pattern is a format of one's own: a regular expression (RE2) whose named
// groups are the parts of a line. It may be used by several goroutines.
type Pattern struct {
	re *regexp.Regexp
	// groups are the named groups but those of the time and the event; time and
	// event are groups, event is 0 where there is none.
	groups      []group
	time, event int
}

// group is a named group, and its place among all.
type group struct {
	name string
	at   int
}

// reFormatName is what the name of a format may look like. A regular expression
// with a named group never does.
var reFormatName = regexp.MustCompile(`^[\w-]*$`)

// IsPattern reports whether text is meant as a regular expression, not as the
// name of a format.
func IsPattern(text string) bool { return !reFormatName.MatchString(text) }

// ParsePattern reads a regular expression. The time stands in the group that is
// called timeField, or, where that is "", in the first there is of time,
// timestamp and ts.
func ParsePattern(text, timeField string) (*Pattern, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("the regular expression %s: %s; put it in single quotes, so that the shell leaves it alone", printable(text, 60), regexpError(err))
	}
	p := &Pattern{re: re, time: -1}
	names := re.SubexpNames()
	for i, name := range names {
		switch {
		case name == "":
		case slices.Index(names, name) != i:
			return nil, fmt.Errorf("the regular expression names two groups %s; give each its own name", name)
		case name == "event":
			p.event = i
		default:
			p.groups = append(p.groups, group{name: name, at: i})
		}
	}
	if len(p.groups) == 0 && p.event == 0 {
		return nil, fmt.Errorf(`the regular expression %s has no named group; name the parts of a line, as in '^(?P<time>\S+) (?P<ip>\S+)', in single quotes for the shell`, printable(text, 60))
	}
	if len(p.groups) > maxAttrs {
		return nil, errors.New("the regular expression has more than 1000 named groups")
	}
	return p, p.takeTime(timeField)
}

// takeTime finds the group of the time and takes it from the others.
func (p *Pattern) takeTime(timeField string) error {
	wanted := timeNames(timeField)
	for _, name := range wanted {
		if i := slices.IndexFunc(p.groups, func(g group) bool { return g.name == name }); i >= 0 {
			p.time = p.groups[i].at
			p.groups = slices.Delete(p.groups, i, i+1)
			return nil
		}
	}
	if timeField != "" {
		return fmt.Errorf("the regular expression has no group %s, which --time names; write (?P<%s>…) around the time, or name another group", printable(timeField, 40), shorten(timeField, 40))
	}
	return errors.New("the regular expression has no group for the time; call it time, timestamp or ts, as in (?P<time>…), or name it with --time")
}

// regexpError returns what is wrong with an expression, without the words that
// package regexp puts in front, and with nothing a terminal would act on.
func regexpError(err error) string {
	return shorten(strings.TrimPrefix(err.Error(), "error parsing regexp: "), 200)
}

// patternParser reads lines by a regular expression.
type patternParser struct {
	event   string
	clock   *wallClock
	pattern *Pattern
	at      []int
}

// parse fills rec from line.
func (p *patternParser) parse(line string, rec *Record) (TimeKind, error) {
	p.at = p.pattern.re.FindStringSubmatchIndex(line)
	if p.at == nil {
		return KindNone, errNoMatch
	}
	text, _ := p.group(line, p.pattern.time)
	micros, kind, err := p.clock.parse(text)
	if err != nil {
		return KindNone, err
	}
	e := slidegate.Event{Name: p.event, Attrs: rec.Event.Attrs[:0], Time: time.UnixMicro(micros).UTC()}
	if name, ok := p.group(line, p.pattern.event); ok && p.pattern.event > 0 {
		if e.Name = name; name == "" {
			return KindNone, errEmptyEvent
		}
	}
	for _, g := range p.pattern.groups {
		if text, ok := p.group(line, g.at); ok {
			e.Attrs = append(e.Attrs, slidegate.Attr{Name: g.name, Value: numberOrText(text)})
		}
	}
	rec.Event = e
	return kind, nil
}

// group returns what a group matched, and false if it took no part.
func (p *patternParser) group(line string, i int) (string, bool) {
	from, to := p.at[2*i], p.at[2*i+1]
	if from < 0 {
		return "", false
	}
	return line[from:to], true
}
