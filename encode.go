package slidegate

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"sync"
	"unicode/utf8"
)

// AppendJSON appends to b what MarshalJSON returns. It is for servers that write many
// decisions: it allocates nothing but room in b and what the id's Sealer does, and what
// it does beside the sealing takes about a microsecond. <, > and & stay as they are:
// who writes into a page escapes them.
func (d *Decision) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = d.ID.appendField(b)
	b = appendTextField(b, `"action":`, d.Action.String())
	b = append(strconv.AppendBool(append(b, `"admitted":`...), d.Admitted()), ',')
	b = appendTextField(b, `"rule":`, d.Rule)
	b = appendTextField(b, `"reason":`, d.Reason)
	b = appendTextField(b, `"message":`, d.Message)
	b = appendTextField(b, `"with":`, d.With)
	b = appendIntField(b, `"retry_after_us":`, d.RetryAfter.Microseconds())
	b = appendIntField(b, `"retry_after_events":`, d.RetryAfterEvents)
	b = appendTrueField(b, `"never":true,`, d.Never)
	b = appendWindows(b, `"windows":[`, d.Windows())
	b = appendWindows(b, `"shadow":[`, d.Shadow())
	return closed(b, '}')
}

func appendWindows(b []byte, name string, ws []WindowState) []byte {
	if len(ws) == 0 {
		return b
	}
	b = append(b, name...)
	for i := range ws {
		b = append(ws[i].appendJSON(b), ',')
	}
	return append(closed(b, ']'), ',')
}

func (w *WindowState) appendJSON(b []byte) []byte {
	b = append(b, '{')
	b = appendTextField(b, `"rule":`, w.Rule)
	b = appendTextField(b, `"limit":`, w.Limit)
	b = append(appendUnits(append(b, `"used":`...), w.Used, w.Scale), ',')
	b = append(appendUnits(append(b, `"max":`...), w.Max, w.Scale), ',')
	b = append(appendUnits(append(b, `"remaining":`...), w.Remaining, w.Scale), ',')
	b = appendIntField(b, `"retry_after_us":`, w.RetryAfter.Microseconds())
	b = appendIntField(b, `"retry_after_events":`, w.RetryAfterEvents)
	b = appendIntField(b, `"reset_after_us":`, w.ResetAfter.Microseconds())
	b = appendTrueField(b, `"refused":true,`, w.Refused)
	b = appendTrueField(b, `"yielded":true,`, w.Yielded)
	b = appendTrueField(b, `"never":true,`, w.Never)
	b = appendTrueField(b, `"locked":true,`, w.Locked)
	return closed(b, '}')
}

// closed puts a bracket in place of the comma behind the last field.
func closed(b []byte, bracket byte) []byte {
	b[len(b)-1] = bracket
	return b
}

// Fields have a comma behind them. What there is nothing to say about has none.

func appendTextField(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return append(appendQuoted(append(b, name...), text), ',')
}

func appendIntField(b []byte, name string, n int64) []byte {
	if n == 0 {
		return b
	}
	return append(strconv.AppendInt(append(b, name...), n, 10), ',')
}

func appendTrueField(b []byte, field string, is bool) []byte {
	if !is {
		return b
	}
	return append(b, field...)
}

// appendUnits appends what FormatUnits returns.
func appendUnits(b []byte, n int64, scale uint8) []byte {
	if scale == 0 {
		return strconv.AppendInt(b, n, 10)
	}
	size := uint64(n)
	if n < 0 {
		b, size = append(b, '-'), -size
	}
	var room [20]byte
	digits := strconv.AppendUint(room[:0], size, 10)
	point := len(digits) - int(scale)
	whole, frac := digits[:max(point, 0)], bytes.TrimRight(digits[max(point, 0):], "0")
	if len(whole) == 0 {
		b = append(b, '0')
	}
	b = append(b, whole...)
	if len(frac) == 0 {
		return b
	}
	b = append(b, '.')
	for ; point < 0; point++ {
		b = append(b, '0')
	}
	return append(b, frac...)
}

const hexDigits = "0123456789abcdef"

// appendQuoted appends s in quotes, as encoding/json writes a text when it leaves <, >
// and & as they are: what is not UTF-8 becomes U+FFFD, and the two line ends of
// Unicode are escaped.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0 // what is not yet appended
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if size > 1 && r != '\u2028' && r != '\u2029' {
			i += size
			continue
		}
		b = appendEscaped(append(b, s[from:i]...), r)
		i += size
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

func appendEscaped(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// sealing is the room in which the text of an id is made.
type sealing struct{ body, sealed []byte }

var sealings = sync.Pool{New: func() any { return new(sealing) }}

// appendField appends the id as a field, and nothing for the zero ID. The text is that
// of String, made without allocating it.
func (id *ID) appendField(b []byte) []byte {
	if id.sealer == nil {
		return b
	}
	s := sealings.Get().(*sealing)
	defer sealings.Put(s)
	s.body = binary.BigEndian.AppendUint64(s.body[:0], id.nonce)
	for _, r := range id.Receipts() {
		s.body = binary.BigEndian.AppendUint64(s.body, r.Window[0])
		s.body = binary.BigEndian.AppendUint64(s.body, r.Window[1])
		s.body = binary.AppendVarint(s.body, r.Stamp)
		s.body = binary.AppendVarint(s.body, r.Amount)
		s.body = binary.AppendUvarint(s.body, r.Seq<<receiptKindBits|uint64(r.Kind))
	}
	s.sealed = id.sealer.Seal(append(s.sealed[:0], idVersion), s.body)
	b = base64.RawURLEncoding.AppendEncode(append(b, `"id":"`...), s.sealed)
	return append(b, `",`...)
}
