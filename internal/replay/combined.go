package replay

import (
	"strings"
	"time"

	"github.com/slidegate/slidegate"
)

const (
	errNoAddress  = lineError("no access log line: it does not begin with an address, two names and a time")
	errNoTime     = lineError("no access log line: no time such as [02/Jan/2006:15:04:05 +0000] behind the two names")
	errNoRequest  = lineError("no request in quotes behind the time")
	errCutRequest = lineError("the quote that opens the request is not closed")
	errNoStatus   = lineError("no status of three digits behind the request")
	errNoBytes    = lineError("no number of bytes, nor -, behind the status")
)

// maxBytesDigits is the length of the largest number of 64 bits.
const maxBytesDigits = 19

// combinedParser reads lines of the combined and the common log format:
//
//	ip ident user [time] "METHOD path PROTOCOL" status bytes "referer" "user agent"
//
// also with vhost:port in front of them, as Debian's vhost_combined has it.
//
// What follows the user agent is not read: many servers write more there. A
// line that was cut inside referer or user agent is read as far as it goes;
// one that was cut before that does not parse.
type combinedParser struct {
	event string
	// statuses are the values of the statuses that occurred, by their number.
	statuses [1000]slidegate.Value
}

// parse fills rec from line.
func (p *combinedParser) parse(line string, rec *Record) (TimeKind, error) {
	vhost, line := cutVhost(line)
	ip, rest, _ := cutByte(line, ' ')
	_, rest, ok := cutByte(rest, ' ')
	if ip == "" || !ok {
		return KindNone, errNoAddress
	}
	user, micros, rest, err := userAndTime(rest)
	if err != nil {
		return KindNone, err
	}
	attrs := append(rec.Event.Attrs[:0], slidegate.String("ip", ip))
	if user != "-" && user != "" {
		attrs = append(attrs, slidegate.String("user", decodeEscapes(user)))
	}
	if vhost != "" {
		attrs = append(attrs, slidegate.String("vhost", vhost))
	}
	if !strings.HasPrefix(rest, ` "`) {
		return KindNone, errNoRequest
	}
	request, rest, closed := quoted(rest[1:])
	if !closed {
		return KindNone, errCutRequest
	}
	attrs = appendRequest(attrs, request)
	attrs, rest, err = p.appendNumbers(attrs, rest)
	if err != nil {
		return KindNone, err
	}
	attrs, rest = appendQuoted(attrs, "referer", rest)
	attrs, _ = appendQuoted(attrs, "user_agent", rest)
	rec.Event = slidegate.Event{Name: p.event, Attrs: attrs, Time: time.UnixMicro(micros).UTC()}
	return KindCommonLog, nil
}

// cutVhost cuts off the name and the port of a host that stand in front of a
// line: host:port ip ident user [. Where three words and not four stand in front
// of the bracket, the first is the address, perhaps with a port.
func cutVhost(line string) (vhost, rest string) {
	word, rest, _ := cutByte(line, ' ')
	colon := strings.LastIndexByte(word, ':')
	if colon <= 0 || !allDigits(word[colon+1:]) || word[0] != '[' && strings.IndexByte(word, ':') != colon {
		return "", line // also where the word is an IPv6 address
	}
	ip, behind, _ := cutByte(rest, ' ')
	_, behind, _ = cutByte(behind, ' ')
	user, _, ok := cutByte(behind, ' ')
	if !ok || ip == "" || ip == "-" || strings.HasPrefix(user, "[") {
		return "", line
	}
	return word[:colon], rest
}

// userAndTime reads the user and the time in brackets. A user may hold spaces
// and brackets, so the first bracket that holds a time ends it.
func userAndTime(s string) (user string, micros int64, rest string, err error) {
	err = errNoTime
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '[')
		if i < 0 {
			return "", 0, "", err
		}
		open := from + i
		end := open + 1 + commonTimeLen
		if open > 0 && s[open-1] == ' ' && end < len(s) && s[end] == ']' {
			micros, timeErr := parseCommonTime(s[open+1 : end])
			if timeErr == nil {
				return s[:open-1], micros, s[end+1:], nil
			}
			err = timeErr
		}
		from = open + 1
	}
}

// quoted splits s, which begins with a quote, behind the quote that closes it,
// and returns what is between them as written. A quote behind an odd number of
// backslashes does not close.
func quoted(s string) (text, rest string, closed bool) {
	for from := 1; ; {
		i := strings.IndexByte(s[from:], '"')
		if i < 0 {
			return s[1:], "", false
		}
		at := from + i
		escapes := 0
		for at-1-escapes > 0 && s[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return s[1:at], s[at+1:], true
		}
		from = at + 1
	}
}

// appendRequest appends method, path and query, or the request as it was
// written where it is not METHOD path HTTP/n.
func appendRequest(attrs []slidegate.Attr, request string) []slidegate.Attr {
	first := strings.IndexByte(request, ' ')
	last := strings.LastIndexByte(request, ' ')
	if first < 0 || last <= first+1 || !isMethod(request[:first]) || !isProtocol(request[last+1:]) {
		return append(attrs, slidegate.String("request", request))
	}
	path, query, hasQuery := strings.Cut(decodeEscapes(request[first+1:last]), "?")
	attrs = append(attrs, slidegate.String("method", request[:first]), slidegate.String("path", path))
	if hasQuery {
		attrs = append(attrs, slidegate.String("query", query))
	}
	return attrs
}

// isMethod reports whether s has the shape of a method, such as GET.
func isMethod(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := (c|0x20 >= 'a' && c|0x20 <= 'z') || c == '-' || c == '_'
		if !letter {
			return false
		}
	}
	return s != ""
}

// isProtocol reports whether s is HTTP/ and a version.
func isProtocol(s string) bool {
	version, ok := strings.CutPrefix(s, "HTTP/")
	if !ok || version == "" {
		return false
	}
	for i := range len(version) {
		if c := version[i]; c != '.' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// appendNumbers appends status and bytes.
func (p *combinedParser) appendNumbers(attrs []slidegate.Attr, s string) (_ []slidegate.Attr, rest string, err error) {
	if s == "" || s[0] != ' ' {
		return attrs, s, errNoStatus
	}
	status, rest, _ := cutByte(s[1:], ' ')
	bytes, _, _ := cutByte(rest, ' ')
	rest = rest[len(bytes):]
	if status != "-" {
		if len(status) != 3 || !allDigits(status) {
			return attrs, s, errNoStatus
		}
		attrs = append(attrs, slidegate.Attr{Name: "status", Value: p.status(status)})
	}
	if bytes != "-" {
		if !allDigits(bytes) || len(bytes) > maxBytesDigits {
			return attrs, s, errNoBytes
		}
		attrs = append(attrs, slidegate.Attr{Name: "bytes", Value: digitsValue(bytes)})
	}
	return attrs, rest, nil
}

// status returns the value of a status of three digits.
func (p *combinedParser) status(text string) slidegate.Value {
	n, _ := digits(text, 0, 3)
	v := &p.statuses[n]
	if !v.IsNumber() {
		*v = digitsValue(strings.Clone(text)) // it outlives the line
	}
	return *v
}

// digitsValue returns a number from digits. Leading zeros, which some servers
// write for a status that was never sent, are no part of a number.
func digitsValue(text string) slidegate.Value {
	for len(text) > 1 && text[0] == '0' {
		text = text[1:]
	}
	return numberOrText(text)
}

// appendQuoted appends the quoted text that s begins with, behind a space. A
// text - stands for none.
func appendQuoted(attrs []slidegate.Attr, name, s string) (_ []slidegate.Attr, rest string) {
	if !strings.HasPrefix(s, ` "`) {
		return attrs, ""
	}
	text, rest, _ := quoted(s[1:])
	if text != "-" {
		attrs = append(attrs, slidegate.String(name, decodeEscapes(text)))
	}
	return attrs, rest
}

// decodeEscapes replaces what Apache and nginx write for bytes that would break
// a line: \" \\ \xHH and the short forms of control characters. A backslash
// before anything else stays.
func decodeEscapes(s string) string {
	at := strings.IndexByte(s, '\\')
	if at < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:at]...)
	for at < len(s) {
		if s[at] == '\\' {
			if c, n := escaped(s[at:]); n > 0 {
				b, at = append(b, c), at+n
				continue
			}
		}
		b, at = append(b, s[at]), at+1
	}
	return string(b)
}

// escaped returns the byte that the escape at the front of s stands for and
// the length of the escape, 0 if it is none.
func escaped(s string) (c byte, n int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\':
		return s[1], 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'b':
		return '\b', 2
	case 'v':
		return '\v', 2
	case 'f':
		return '\f', 2
	case 'x':
		if len(s) >= 4 {
			high, ok1 := hexDigit(s[2])
			low, ok2 := hexDigit(s[3])
			if ok1 && ok2 {
				return high<<4 | low, 4
			}
		}
	}
	return 0, 0
}

// hexDigit returns the value of a hexadecimal digit.
func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	default:
		return 0, false
	}
}
