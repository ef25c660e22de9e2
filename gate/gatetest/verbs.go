package gatetest

import (
	"errors"
	"fmt"

	"github.com/slidegate/slidegate"
)

// query says how the windows of a rule and key stand.
func (s *script) query(l *line) (answer, error) {
	name, attrs, err := ruleAndKey(l)
	if err != nil {
		return answer{}, err
	}
	ws, err := s.gate.Query(background, name, attrs...)
	return queryAnswer(ws), err
}

// reset empties the windows of a rule and key.
func (s *script) reset(l *line) (answer, error) {
	name, attrs, err := ruleAndKey(l)
	if err != nil {
		return answer{}, err
	}
	return answer{}, s.gate.Reset(background, name, attrs...)
}

// unlock ends the locks of a rule and key.
func (s *script) unlock(l *line) (answer, error) {
	name, attrs, err := ruleAndKey(l)
	if err != nil {
		return answer{}, err
	}
	if ok, err := s.gate.Unlock(background, name, attrs...); !ok || err != nil {
		return answer{words: []string{"nothing"}}, err
	}
	return answer{words: []string{"unlocked"}}, nil
}

func ruleAndKey(l *line) (name string, attrs []slidegate.Attr, err error) {
	ev, err := ParseEvent(l.args)
	if err != nil {
		return "", nil, fmt.Errorf("want: %s RULE name=value …: %w", l.verb, err)
	}
	return ev.Name, ev.Attrs, nil
}

// refund gives back a decision that was labelled: check … as LABEL.
func (s *script) refund(l *line) (answer, error) {
	return s.byID(l, "given", func(id string) (bool, error) { return s.gate.Refund(background, id) })
}

// release ends what a labelled decision has in flight.
func (s *script) release(l *line) (answer, error) {
	return s.byID(l, "released", func(id string) (bool, error) { return s.gate.Release(background, id) })
}

// renew lets what a labelled decision has in flight stay for longer. The label is
// that of the new id then.
func (s *script) renew(l *line) (answer, error) {
	return s.byID(l, "renewed", func(id string) (bool, error) {
		next, ok, err := s.gate.Renew(background, id)
		if err == nil {
			s.labels[l.args[0]] = next
		}
		return ok, err
	})
}

// byID does something with a labelled decision, and answers done, or nothing.
func (s *script) byID(l *line, done string, do func(id string) (bool, error)) (answer, error) {
	if len(l.args) != 1 {
		return answer{}, fmt.Errorf("want: %s LABEL", l.verb)
	}
	id, ok := s.labels[l.args[0]]
	if !ok {
		return answer{}, fmt.Errorf("no check was labelled: … as %s", l.args[0])
	}
	if ok, err := do(id); !ok || err != nil {
		return answer{words: []string{"nothing"}}, err
	}
	return answer{words: []string{done}}, nil
}

// report says what happened, and settles a labelled decision: report … of LABEL.
func (s *script) report(l *line) (answer, error) {
	label, args := "", l.args
	if n := len(args); n > 2 && args[n-2] == "of" {
		label, args = args[n-1], args[:n-2]
	}
	ev, err := ParseEvent(args)
	if err != nil {
		return answer{}, err
	}
	if label != "" {
		var ok bool
		if ev.Decision, ok = s.labels[label]; !ok {
			return answer{}, fmt.Errorf("no check was labelled: … as %s", label)
		}
	}
	r, err := s.gate.Report(background, ev)
	if errors.Is(err, slidegate.ErrEvent) {
		a := answer{words: []string{"error"}}
		a.set("error", err.Error(), true)
		return a, nil
	}
	return reportAnswer(&r, s.clock()), err
}
