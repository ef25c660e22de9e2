package rulefile

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// fault is why a text is no YAML that can be read, and where.
type fault struct {
	line, col int
	msg       string
}

// check looks at the bytes of a file before anything is built from them. It
// returns the text without a byte order mark.
func check(data []byte) ([]byte, *fault) {
	if len(data) > maxFile {
		return nil, &fault{1, 1, fmt.Sprintf("the file is over %d MiB", maxFile>>20)}
	}
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return nil, &fault{1, 1, "the file is UTF-16: save it as UTF-8"}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	line, col := 1, 1
	for i := 0; i < len(data); {
		c, n := utf8.DecodeRune(data[i:])
		if msg := unreadable(c, n); msg != "" {
			return nil, &fault{line, col, msg}
		}
		i += n
		// As YAML counts lines: CR, LF and CRLF end one.
		if c == '\n' || c == '\r' && (i == len(data) || data[i] != '\n') {
			line, col = line+1, 1
		} else {
			col++
		}
	}
	return data, nil
}

// unreadable says why a character of n bytes cannot stand in a rule file.
func unreadable(c rune, n int) string {
	switch {
	case c == '\n' || c == '\r' || c == '\t':
		return ""
	case c == utf8.RuneError && n == 1:
		return "this is no UTF-8: save the file as UTF-8"
	case c == 0:
		return "a NUL byte: the file is no text, or no UTF-8"
	case c == 0x2028 || c == 0x2029 || c == 0x85:
		// YAML ends a line at these, and editors do not, so every place
		// after them would be wrong.
		return fmt.Sprintf("the line separator U+%04X: take it out, or write \"\\u%04x\" in double quotes", c, c)
	case c == 0xfeff:
		return "a byte order mark inside the file: take it out"
	case c < ' ' || c >= 0x7f && c < 0xa0 || c == 0xfffe || c == 0xffff:
		return fmt.Sprintf("the control character U+%04X: take it out, or write \"\\u%04x\" in double quotes", c, c)
	}
	return ""
}

// lineOf returns line n of a text, from 1, without its end; nil beyond the
// last.
func lineOf(data []byte, n int) []byte {
	for ; n > 1; n-- {
		i := bytes.IndexAny(data, "\r\n")
		if i < 0 {
			return nil
		}
		if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			i++
		}
		data = data[i+1:]
	}
	if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
		data = data[:i]
	}
	return data
}

// clamp moves a place that the YAML library put behind the end of the text
// into it.
func clamp(data []byte, line, col int) (int, int) {
	lines := 1 + bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r")) - bytes.Count(data, []byte("\r\n"))
	if line > lines {
		line, col = lines, maxFile
	}
	line = max(line, 1)
	return line, max(1, min(col, 1+utf8.RuneCount(lineOf(data, line))))
}
