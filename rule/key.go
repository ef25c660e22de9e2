package rule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slidegate/slidegate"
)

// maxPart is how long a part of a key may be before its hash takes its place.
const maxPart = 1024

// keyPart is one part of a key: the first of its sources that is present.
type keyPart struct {
	text    string // as written
	sources []source
}

// source is one attribute of a key part, perhaps cut to a prefix.
type source struct {
	attr    string
	address bool
	chars   int // first characters of a text; 0 takes all
	v4, v6  int // prefix lengths of an address
}

// String returns the source in its canonical form.
func (s *source) String() string {
	switch {
	case s.address:
		return fmt.Sprintf("%s/%d/%d", s.attr, s.v4, s.v6)
	case s.chars > 0:
		return fmt.Sprintf("%s/%d", s.attr, s.chars)
	}
	return s.attr
}

// String returns the part in its canonical form.
func (p *keyPart) String() string {
	alternatives := make([]string, len(p.sources))
	for i := range p.sources {
		alternatives[i] = p.sources[i].String()
	}
	return strings.Join(alternatives, "|")
}

// parseKeyPart reads NAME, NAME/N, NAME/N/N or alternatives of these.
func (c *compiler) parseKeyPart(text string) (keyPart, error) {
	part := keyPart{text: text}
	for alt := range strings.SplitSeq(text, "|") {
		name, prefix, cut := strings.Cut(alt, "/")
		if !reName.MatchString(name) {
			return part, fmt.Errorf("%q is not the name of an attribute; a part of a key is user, phone/7, ip/24/48 or user|ip", name)
		}
		if err := c.known(name); err != nil {
			return part, err
		}
		s := source{attr: name, address: c.typeOf(name) == typeAddress, v4: 32, v6: 64}
		if cut {
			if err := s.parsePrefix(prefix); err != nil {
				return part, err
			}
		}
		part.sources = append(part.sources, s)
	}
	return part, nil
}

func (s *source) parsePrefix(text string) error {
	first, second, two := strings.Cut(text, "/")
	n, err := number(first)
	if !s.address {
		if two || err != nil || n < 1 || n > maxPart {
			return fmt.Errorf("%s/%s: a text is cut to its first 1 to %d characters, as in %s/7", s.attr, text, maxPart, s.attr)
		}
		s.chars = n
		return nil
	}
	if err != nil || n < 1 || n > 32 {
		return fmt.Errorf("%s/%s: the prefix of an IPv4 address is 1 to 32, as in %s/24", s.attr, text, s.attr)
	}
	s.v4 = n
	if two {
		if s.v6, err = number(second); err != nil || s.v6 < 1 || s.v6 > 128 {
			return fmt.Errorf("%s/%s: the prefix of an IPv6 address is 1 to 128, as in %s/24/48", s.attr, text, s.attr)
		}
	}
	return nil
}

// number reads digits, without a sign.
func number(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err
}

// missing says what happens to an event that lacks a part of the key.
type missing uint8

const (
	missingSkip missing = iota
	missingReject
	missingShared
)

// appendKey appends the canonical key of ev to b, and reports whether every
// part was there. The form, which every store shares:
//
//	part      = [alternative "|"] length ":" bytes
//	alternative: how many alternatives stand before it, left out for the first
//	a part over 1 KiB is "#64:" and its SHA-256 in hex
//	a missing part, where missing keys are shared, is "-"
//
// It allocates only to grow b.
func appendKey(b []byte, parts []keyPart, m missing, ev *slidegate.Event) (key []byte, complete bool, err error) {
	for i := range parts {
		var found bool
		if b, found, err = parts[i].append(b, ev); err != nil {
			return b, false, err
		}
		if !found {
			if m != missingShared {
				return b, false, nil
			}
			b = append(b, '-')
		}
	}
	return b, true, nil
}

func (p *keyPart) append(b []byte, ev *slidegate.Event) (key []byte, found bool, err error) {
	for i := range p.sources {
		s := &p.sources[i]
		if s.attr == "event" { // apart, so that the event need not live on the heap
			return appendPartString(appendPlace(b, i), firstChars(ev.Name, s.chars)), true, nil
		}
		v, ok := ev.Attr(s.attr)
		if !ok {
			continue
		}
		if text, literal := v.Literal(); literal && text == "" && len(p.sources) > 1 {
			continue // an empty text is present, except among alternatives
		}
		b, err = s.append(appendPlace(b, i), v)
		return b, err == nil, err
	}
	return b, false, nil
}

// appendPlace appends the place of an alternative; nothing for the first.
func appendPlace(b []byte, i int) []byte {
	if i == 0 {
		return b
	}
	b = strconv.AppendInt(b, int64(i), 10)
	return append(b, '|')
}

// show returns the name and text of the part that ev has.
func (p *keyPart) show(ev *slidegate.Event) (name, text string, ok bool) {
	for i := range p.sources {
		s := &p.sources[i]
		v, found := attribute(ev, s.attr)
		if !found || v == slidegate.TextValue("") && len(p.sources) > 1 {
			continue
		}
		if !s.address {
			return s.attr, strings.Clone(firstChars(v.String(), s.chars)), true
		}
		addr, err := parseAddress(v)
		return s.attr, string(s.appendAddress(nil, addr)), err == nil
	}
	return "", "", false
}

// append appends the length-prefixed text of v.
func (s *source) append(b []byte, v slidegate.Value) ([]byte, error) {
	var buf [64]byte
	text := buf[:0]
	if s.address {
		if text, ok := v.Literal(); ok && s.v4 == 32 && isPlainIPv4(text) && !v.IsNumber() {
			return appendPartString(b, text), nil
		}
		addr, err := parseAddress(v)
		if err != nil {
			return b, fmt.Errorf("%w: attribute %s: %w", slidegate.ErrEvent, s.attr, err)
		}
		text = s.appendAddress(text, addr)
		return appendPart(b, text), nil
	}
	if lit, ok := v.Literal(); ok {
		return appendPartString(b, firstChars(lit, s.chars)), nil
	}
	text = v.AppendText(text)
	if s.chars > 0 && len(text) > s.chars {
		text = text[:s.chars] // numbers are ASCII
	}
	return appendPart(b, text), nil
}

// isPlainIPv4 reports whether text is an IPv4 address in its canonical form,
// which needs no parsing and printing.
func isPlainIPv4(text string) bool {
	if len(text) > 15 {
		return false
	}
	dots, number, digits := 0, 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '.' && digits > 0 && dots < 3:
			dots, number, digits = dots+1, 0, 0
		case c >= '0' && c <= '9' && (digits == 0 || number > 0):
			number, digits = number*10+int(c-'0'), digits+1
		default:
			return false
		}
		if number > 255 {
			return false
		}
	}
	return dots == 3 && digits > 0
}

// appendAddress appends addr cut to the prefix: 192.0.2.1 as it is,
// 2001:db8:1:2::/64 with the prefix.
func (s *source) appendAddress(b []byte, addr netip.Addr) []byte {
	n := s.v6
	if addr.Is4() {
		n = s.v4
	}
	prefix, err := addr.Prefix(n)
	if err != nil || n == addr.BitLen() {
		return addr.AppendTo(b)
	}
	return prefix.AppendTo(b)
}

func appendPart(b, text []byte) []byte {
	if len(text) > maxPart {
		return appendHashed(b, sha256.Sum256(text))
	}
	b = strconv.AppendInt(b, int64(len(text)), 10)
	b = append(b, ':')
	return append(b, text...)
}

func appendPartString(b []byte, text string) []byte {
	if len(text) > maxPart {
		return appendHashed(b, sha256.Sum256([]byte(text)))
	}
	b = strconv.AppendInt(b, int64(len(text)), 10)
	b = append(b, ':')
	return append(b, text...)
}

func appendHashed(b []byte, sum [sha256.Size]byte) []byte {
	b = append(b, "#64:"...)
	return hex.AppendEncode(b, sum[:])
}

// firstChars returns the first n characters of s; all of it for n = 0. A byte
// that is no UTF-8 is one character.
func firstChars(s string, n int) string {
	if n == 0 || len(s) <= n {
		return s
	}
	at := 0
	for ; n > 0 && at < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return s[:at]
}

// parseAddress reads an address as it appears in the wild: IPv4 and IPv6, with
// or without a zone, a port, or brackets. An IPv4 address mapped into IPv6 is
// the IPv4 address.
func parseAddress(v slidegate.Value) (netip.Addr, error) {
	text, ok := v.Literal()
	if !ok || v.IsNumber() {
		return netip.Addr{}, fmt.Errorf("the number %s is not an IP address", v)
	}
	var addr netip.Addr
	var err error
	switch n := len(text); {
	case n > 2 && text[0] == '[' && text[n-1] == ']':
		addr, err = netip.ParseAddr(text[1 : n-1])
	case n > 0 && text[0] == '[' || strings.Count(text, ":") == 1:
		var port netip.AddrPort
		port, err = netip.ParseAddrPort(text)
		addr = port.Addr()
	default:
		addr, err = netip.ParseAddr(text)
	}
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%q is not an IP address", clip(text))
	}
	return addr.Unmap().WithZone(""), nil
}

// clip shortens a value for a message.
func clip(s string) string { return clipTo(s, 80) }

// clipTo cuts a text after n bytes, between characters.
func clipTo(s string, n int) string {
	if len(s) <= n {
		return strings.Clone(s) // messages outlive what they quote
	}
	for cut := n; cut > n-4; cut-- {
		if utf8.RuneStart(s[cut]) {
			return s[:cut] + "…"
		}
	}
	return s[:n] + "…" // no UTF-8
}

// attribute returns an attribute of ev; "event" is the name of the event.
func attribute(ev *slidegate.Event, name string) (slidegate.Value, bool) {
	if name == "event" {
		return slidegate.TextValue(ev.Name), true
	}
	return ev.Attr(name)
}
