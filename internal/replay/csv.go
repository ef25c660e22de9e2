package replay

import (
	"fmt"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
)

const (
	errOpenQuote   = lineError("a field opens a quote that is not closed right within 1 MiB")
	errBehindQuote = lineError("text behind the closing quote of a field; write a quote inside a field twice")
)

// csvField is one field of a row.
type csvField struct {
	text   string
	quoted bool
}

// csvHeader is what the first line of a table tells.
type csvHeader struct {
	sep   byte
	names []string // "" for a column that is not read
	// time and event are columns; event is -1 where there is none.
	time, event int
}

// csvParser reads rows of a table.
type csvParser struct {
	event  string
	clock  *wallClock
	header csvHeader
	fields []csvField
}

// parse fills rec from the row in record, which may span lines.
func (p *csvParser) parse(record string, rec *Record) (TimeKind, error) {
	var err error
	p.fields, err = splitFields(p.fields[:0], record, p.header.sep)
	if err != nil {
		return KindNone, err
	}
	h := &p.header
	if len(p.fields) != len(h.names) {
		return KindNone, fmt.Errorf("%d fields where the header has %d", len(p.fields), len(h.names))
	}
	micros, kind, err := p.clock.parse(p.fields[h.time].text)
	if err != nil {
		return KindNone, fmt.Errorf("the column %s: %w", printable(h.names[h.time], 40), err)
	}
	e := slidegate.Event{Name: p.event, Attrs: rec.Event.Attrs[:0], Time: time.UnixMicro(micros).UTC()}
	for i, f := range p.fields {
		absent := f.text == "" && !f.quoted
		switch {
		case i == h.time || absent || h.names[i] == "":
		case i == h.event:
			if e.Name = f.text; e.Name == "" {
				return KindNone, errEmptyEvent
			}
		default:
			e.Attrs = append(e.Attrs, slidegate.Attr{Name: h.names[i], Value: numberOrText(f.text)})
		}
	}
	rec.Event = e
	return kind, nil
}

// parseHeader reads the first line of a table. The names are there even when
// there is an error about them.
func parseHeader(line, timeField string) (csvHeader, error) {
	h := csvHeader{sep: separator(line), time: -1, event: -1}
	fields, err := splitFields(nil, line, h.sep)
	if err != nil {
		return h, err
	}
	at := make(map[string]int, len(fields))
	for i, f := range fields {
		// The text is a part of the line; the names outlive it.
		name := strings.Clone(strings.TrimSpace(f.text))
		h.names = append(h.names, name)
		if _, twice := at[name]; twice && name != "" {
			return h, fmt.Errorf("the header has the column %s twice; give each its own name", printable(name, 40))
		}
		at[name] = i
	}
	if len(h.names) > maxAttrs {
		return h, errTooManyFields
	}
	for _, name := range timeNames(timeField) {
		if i, ok := at[name]; ok {
			h.time = i
			break
		}
	}
	if h.time < 0 {
		return h, noTimeColumn(line, timeField)
	}
	if i, ok := at["event"]; ok && i != h.time {
		h.event = i
	}
	return h, nil
}

func noTimeColumn(header, timeField string) error {
	if timeField != "" {
		return fmt.Errorf("the header %s has no column %s, which --time names", printable(header, 120), printable(timeField, 40))
	}
	return fmt.Errorf("the header %s has no column time, timestamp, ts or @timestamp; name the column of the time with --time", printable(header, 120))
}

// separator returns which of comma, semicolon and tab stands most often in
// header outside of quotes; a comma if none does.
func separator(header string) byte {
	var commas, semicolons, tabs int
	inQuotes := false
	for i := range len(header) {
		switch c := header[i]; {
		case c == '"':
			inQuotes = !inQuotes
		case inQuotes:
		case c == ',':
			commas++
		case c == ';':
			semicolons++
		case c == '\t':
			tabs++
		}
	}
	switch {
	case semicolons > commas && semicolons >= tabs:
		return ';'
	case tabs > commas:
		return '\t'
	default:
		return ','
	}
}

// splitFields appends the fields of one record to fields. A quote inside a
// field that does not begin with one is a character like any other.
func splitFields(fields []csvField, record string, sep byte) ([]csvField, error) {
	for {
		if record == "" || record[0] != '"' {
			text, rest, more := cutByte(record, sep)
			fields = append(fields, csvField{text: text})
			if !more {
				return fields, nil
			}
			record = rest
			continue
		}
		text, rest, err := quotedField(record)
		if err != nil {
			return fields, err
		}
		fields = append(fields, csvField{text: text, quoted: true})
		if rest == "" {
			return fields, nil
		}
		if rest[0] != sep {
			return fields, errBehindQuote
		}
		record = rest[1:]
	}
}

// cutByte is strings.Cut at a byte.
func cutByte(s string, sep byte) (before, after string, found bool) {
	if i := strings.IndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// quotedField reads the field in quotes that s begins with.
func quotedField(s string) (text, rest string, err error) {
	doubled := false
	for from := 1; ; {
		i := strings.IndexByte(s[from:], '"')
		if i < 0 {
			return "", "", errOpenQuote
		}
		end := from + i
		if end+1 < len(s) && s[end+1] == '"' {
			doubled = true
			from = end + 2
			continue
		}
		text = s[1:end]
		if doubled {
			text = strings.ReplaceAll(text, `""`, `"`)
		}
		return text, s[end+1:], nil
	}
}

// recordState is what is known of a record from its first lines.
type recordState uint8

const (
	// recordWhole: it ends with the last line.
	recordWhole recordState = iota
	// recordOpen: it goes on in the next line, inside a field in quotes.
	recordOpen
	// recordBroken: there is text behind a closing quote.
	recordBroken
)

// quoteScan finds the end of a record that may span lines, one line after
// another.
type quoteScan struct {
	sep      byte
	at       int
	inQuotes bool
}

// read reads b, the record so far, on from where it stopped. b ends with a
// line.
func (q *quoteScan) read(b []byte) recordState {
	for q.at < len(b) {
		if !q.inQuotes {
			if b[q.at] == '"' {
				q.inQuotes = true
				q.at++
				continue
			}
			next := indexFrom(b, q.at, q.sep)
			if next < 0 {
				return recordWhole
			}
			q.at = next + 1
			continue
		}
		end := indexFrom(b, q.at, '"')
		if end < 0 {
			q.at = len(b)
			return recordOpen
		}
		q.at = end + 1
		switch rest := b[end+1:]; {
		case len(rest) == 0 || rest[0] == '\n' || string(rest) == "\r\n" || string(rest) == "\r":
			return recordWhole
		case rest[0] == '"':
			q.at++
		case rest[0] == q.sep:
			q.at++
			q.inQuotes = false
		default:
			return recordBroken
		}
	}
	if q.inQuotes {
		return recordOpen
	}
	return recordWhole
}
