package replay

import (
	"fmt"
	"strings"
)

// Format is how the lines of a log are written. The zero Format is
// [FormatAuto].
type Format uint8

const (
	// FormatAuto finds the format of each file out from its first lines.
	FormatAuto Format = iota
	// FormatCombined is the combined or common format of web servers.
	FormatCombined
	// FormatJSON is one JSON object a line.
	FormatJSON
	// FormatCSV is a table with a header line.
	FormatCSV
	// FormatSyslog is lines of syslog, of RFC 3164 or RFC 5424.
	FormatSyslog
	// FormatSSHD is lines of syslog in which sshd tells of logins.
	FormatSSHD
	// FormatPattern is lines that match the expression in [Options].
	FormatPattern
)

// formatChoices are the names of formats as a sentence has them.
const formatChoices = "auto, combined, json, csv, syslog or sshd"

// FormatNames returns the formats that have a name.
func FormatNames() []string {
	var names []string
	for f := range FormatPattern {
		names = append(names, f.String())
	}
	return names
}

// String returns the format as it is written on the command line.
func (f Format) String() string {
	switch f {
	case FormatAuto:
		return "auto"
	case FormatCombined:
		return "combined"
	case FormatJSON:
		return "json"
	case FormatCSV:
		return "csv"
	case FormatSyslog:
		return "syslog"
	case FormatSSHD:
		return "sshd"
	case FormatPattern:
		return "lines by a regular expression"
	default:
		return fmt.Sprintf("format(%d)", uint8(f))
	}
}

// ParseFormat reads the name of a format: auto, combined, json, csv, syslog or
// sshd. What is no name may be a regular expression: see [IsPattern].
func ParseFormat(text string) (Format, error) {
	for f := range FormatPattern {
		if text == f.String() {
			return f, nil
		}
	}
	return FormatAuto, fmt.Errorf("unknown format %s: choose %s, or a regular expression with named groups, such as '^(?P<time>\\S+) (?P<ip>\\S+)'", printable(text, 40), formatChoices)
}

// detectLines is how many lines that are not empty are looked at before the
// format of a file is given up on.
const detectLines = 10

// detect finds the format of a file out from head, which begins with its first
// line. The answer is FormatAuto when head does not tell it and more might:
// never when final is set, then it is an error.
//
// A header line is tried first, on the first line alone, because a quoted
// field further down may hold anything. A file may begin with a few lines of
// something else (a comment, a line cut by log rotation).
func detect(head string, final bool, timeField string) (Format, error) {
	var first string
	for seen := 0; seen < detectLines; {
		line, rest, whole := strings.Cut(head, "\n")
		if !whole && !final {
			return FormatAuto, nil
		}
		line = strings.TrimSpace(line)
		if line != "" {
			if f := formatOfLine(line); f == FormatSSHD {
				return detectSSHD(rest, final), nil
			} else if f != FormatAuto {
				return f, nil
			}
			if seen == 0 {
				first = line
				if looksLikeHeader(line, timeField) {
					return FormatCSV, nil
				}
			}
			seen++
		}
		if !whole {
			break
		}
		head = rest
	}
	if first == "" {
		return FormatAuto, nil // nothing but empty lines: there is nothing to read
	}
	return FormatAuto, unknownFormat(first, timeField)
}

// detectSSHD says whether the lines behind one of sshd are of sshd too. Of a log
// in which others write as well, those must not be lost.
func detectSSHD(head string, final bool) Format {
	for range detectLines - 1 {
		line, rest, whole := strings.Cut(head, "\n")
		if !whole && !final {
			return FormatAuto
		}
		if line = strings.TrimSpace(line); line != "" && formatOfLine(line) != FormatSSHD {
			return FormatSyslog
		}
		if !whole {
			break
		}
		head = rest
	}
	return FormatSSHD
}

// formatOfLine returns the format that one line gives away by itself.
func formatOfLine(line string) Format {
	if line[0] == '{' {
		return FormatJSON
	}
	// Before access logs, of which syslog may carry the lines.
	if syslog, sshd := looksLikeSyslog(line); sshd {
		return FormatSSHD
	} else if syslog {
		return FormatSyslog
	}
	var p combinedParser
	var rec Record
	if _, err := p.parse(line, &rec); err == nil {
		return FormatCombined
	}
	return FormatAuto
}

// looksLikeHeader reports whether line is the header of a table that has a
// column for the time.
func looksLikeHeader(line, timeField string) bool {
	h, err := parseHeader(line, timeField)
	return err == nil && len(h.names) > 1
}

// unknownFormat is the error for a file that begins with the line first.
func unknownFormat(first, timeField string) error {
	text := printable(first, 60)
	if first[0] == '[' {
		return fmt.Errorf("cannot tell the format: the file begins with %s; of JSON only one object a line is read (jq -c '.[]' makes that of an array)", text)
	}
	if h, err := parseHeader(first, timeField); err != nil && len(h.names) > 1 {
		return fmt.Errorf("cannot tell the format: the file begins with %s; as a table: %w", text, err)
	}
	return fmt.Errorf("cannot tell the format: the file begins with %s; name it with --format combined, json, csv, syslog or sshd, or give --format a regular expression with named groups", text)
}
