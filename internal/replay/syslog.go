package replay

import (
	"strings"
	"time"

	"github.com/slidegate/slidegate"
)

const (
	errNoSyslog = lineError("no syslog line: it does not begin with a time such as Nov 30 21:00:01, or one in RFC 3339, and a host")
	errPriority = lineError("no priority of 0 to 191 between < and >")
	errOpenData = lineError("the structured data between [ and ] are not closed")
	errNoHeader = lineError("a line of RFC 5424 that has not all of: time, host, app, process, message id, structured data")
)

// syslogLine is a line of syslog in its parts, those that are absent empty.
type syslogLine struct {
	stamp, host, app, pid, id, message string
	priority                           int // -1 where there is none
}

// splitSyslog reads a line of RFC 3164 or RFC 5424, with or without <PRI>, or one
// with a time in RFC 3339 in place of that of RFC 3164, as rsyslog and
// journalctl write it:
//
//	<34>Nov 30 21:00:01 host app[123]: text
//	<34>1 2026-11-30T21:00:01Z host app 123 id [data] text
//	2026-11-30T21:00:01+0000 host app[123]: text
func splitSyslog(line string) (l syslogLine, err error) {
	l.priority = -1
	if strings.HasPrefix(line, "<") {
		if l.priority, line = cutPriority(line); l.priority < 0 {
			return l, errPriority
		}
	}
	if rest, ok := strings.CutPrefix(line, "1 "); ok {
		return l, l.split5424(rest)
	}
	if len(line) > stampLen && monthNumber(line[:3]) > 0 {
		l.stamp, line, _ = cutByteFrom(line, stampLen, ' ')
	} else {
		l.stamp, line, _ = cutByte(line, ' ')
		if len(l.stamp) < len("2026-11-30T21:00:01") || l.stamp[4] != '-' {
			return l, errNoSyslog
		}
	}
	var ok bool
	if l.host, line, ok = cutByte(line, ' '); !ok || l.host == "" {
		return l, errNoSyslog
	}
	l.splitTag(line)
	return l, nil
}

// cutByteFrom is cutByte that looks from at on.
func cutByteFrom(s string, at int, sep byte) (before, after string, found bool) {
	before, after, found = cutByte(s[at:], sep)
	return s[:at+len(before)], after, found
}

// cutPriority cuts <PRI> off, a number of 0 to 191, or returns -1.
func cutPriority(line string) (priority int, rest string) {
	text, rest, ok := cutByte(line[1:], '>')
	n, isNumber := parseDigits(text)
	if !ok || !isNumber || len(text) > 3 || n > 191 {
		return -1, line
	}
	return int(n), rest
}

// splitTag splits app[pid]: from the message. Where no such word stands in front,
// all is the message.
func (l *syslogLine) splitTag(s string) {
	l.message = s
	tag, rest, _ := cutByte(s, ' ')
	tag, ok := strings.CutSuffix(tag, ":")
	if !ok || tag == "" {
		return
	}
	l.app, l.message = tag, rest
	if app, pid, ok := cutByte(tag, '['); ok && app != "" && strings.HasSuffix(pid, "]") {
		l.app, l.pid = app, pid[:len(pid)-1]
	}
}

// split5424 splits what follows the version. "-" stands for what is absent.
func (l *syslogLine) split5424(s string) error {
	for _, part := range []*string{&l.stamp, &l.host, &l.app, &l.pid, &l.id} {
		var ok bool
		if *part, s, ok = cutByte(s, ' '); !ok || *part == "" {
			return errNoHeader
		}
		if *part == "-" {
			*part = ""
		}
	}
	message, err := behindData(s)
	l.message = strings.TrimPrefix(message, "\ufeff")
	return err
}

// behindData returns what follows the structured data that s begins with: - or
// one [element] after another. Behind a backslash ] does not close.
func behindData(s string) (string, error) {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		return strings.TrimPrefix(rest, " "), nil
	}
	if !strings.HasPrefix(s, "[") {
		return "", errNoHeader
	}
	for strings.HasPrefix(s, "[") {
		end, inQuotes := 1, false
		for ; end < len(s) && (inQuotes || s[end] != ']'); end++ {
			switch s[end] {
			case '"':
				inQuotes = !inQuotes
			case '\\':
				end++
			}
		}
		if end >= len(s) {
			return "", errOpenData
		}
		s = s[end+1:]
	}
	return strings.TrimPrefix(s, " "), nil
}

// The names of facilities and severities, by their numbers.
var (
	facilities = [...]string{
		"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp", "ntp", "audit", "alert", "clock",
		"local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
	}
	severities = [...]string{"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"}
)

// syslogParser reads lines of syslog.
type syslogParser struct {
	event string
	clock *wallClock
}

// parse fills rec from line.
func (p *syslogParser) parse(line string, rec *Record) (TimeKind, error) {
	l, err := splitSyslog(line)
	if err != nil {
		return KindNone, err
	}
	micros, kind, err := p.clock.parse(l.stamp)
	if err != nil {
		return KindNone, err
	}
	attrs := l.appendSource(rec.Event.Attrs[:0])
	attrs = appendPresent(attrs, "msgid", l.id)
	attrs = append(attrs, slidegate.String("message", l.message))
	rec.Event = slidegate.Event{Name: p.event, Attrs: attrs, Time: time.UnixMicro(micros).UTC()}
	return kind, nil
}

// appendSource appends who wrote the line.
func (l *syslogLine) appendSource(attrs []slidegate.Attr) []slidegate.Attr {
	attrs = appendPresent(attrs, "host", l.host)
	attrs = appendPresent(attrs, "app", l.app)
	if l.pid != "" {
		attrs = append(attrs, slidegate.Attr{Name: "pid", Value: numberOrText(l.pid)})
	}
	if l.priority >= 0 {
		attrs = append(attrs, slidegate.String("facility", facilities[l.priority/8]), slidegate.String("severity", severities[l.priority%8]))
	}
	return attrs
}

// appendPresent appends an attribute unless it is empty.
func appendPresent(attrs []slidegate.Attr, name, text string) []slidegate.Attr {
	if text == "" {
		return attrs
	}
	return append(attrs, slidegate.String(name, text))
}

// looksLikeSyslog reports whether line is one of syslog and not merely one that
// begins with a time, and whether sshd wrote it.
func looksLikeSyslog(line string) (syslog, sshd bool) {
	l, err := splitSyslog(line)
	if err != nil {
		return false, false
	}
	if _, stamp := splitStamp(l.stamp); !stamp {
		if _, _, err := parseTime(l.stamp); err != nil || l.app == "" && l.priority < 0 {
			return false, false
		}
	}
	return true, isSSHD(l.app)
}
