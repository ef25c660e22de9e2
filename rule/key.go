package rule

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/fold"
)

// maxPart is how long a part of a key may be before its hash takes its place.
const maxPart = 1024

// keyPart is one part of a key: the first of its sources that is present.
type keyPart struct {
	text    string // as written
	sources []source
	simple  bool // one text, as it is
}

// source is one attribute of a key part, perhaps cut to a prefix.
type source struct {
	attr    string
	address bool
	fold    bool // upper and lower case are the same
	secret  bool // hidden by its HMAC
	chars   int  // first characters of a text; 0 takes all
	v4, v6  int  // prefix lengths of an address
}

// String returns the source in its canonical form.
func (s *source) String() string {
	text := s.attr
	switch {
	case s.address:
		text = fmt.Sprintf("%s/%d/%d", s.attr, s.v4, s.v6)
	case s.chars > 0:
		text = fmt.Sprintf("%s/%d", s.attr, s.chars)
	}
	if s.fold {
		text = "fold(" + text + ")"
	}
	if s.secret {
		text = "secret(" + text + ")"
	}
	return text
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
		s := c.source(name)
		if cut {
			if err := s.parsePrefix(prefix); err != nil {
				return part, err
			}
		}
		part.sources = append(part.sources, s)
	}
	s := &part.sources[0]
	part.simple = len(part.sources) == 1 && !s.address && !s.fold && !s.secret && s.chars == 0 && s.attr != "event"
	return part, nil
}

// source returns an attribute as keys hold it.
func (c *compiler) source(attr string) source {
	return source{
		attr: attr, address: c.typeOf(attr) == typeAddress, fold: c.folds[attr], secret: c.secrets[attr], v4: 32, v6: 64,
	}
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
//	a secret part is its HMAC in hex
//	a missing part, where missing keys are shared, is "-"
//
// It allocates only to grow b.
func appendKey(b []byte, parts []keyPart, m missing, ev *slidegate.Event, x *Secrets) (key []byte, complete bool, err error) {
	for i := range parts {
		p := &parts[i]
		if p.simple {
			if v, ok := ev.Attr(p.sources[0].attr); ok {
				if text, literal := v.Literal(); literal && len(text) < 100 {
					b = appendShort(b, text)
					continue
				}
			}
		}
		var found bool
		if b, found, err = p.append(b, ev, x); err != nil {
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

// appendShort is appendPartString for less than 100 bytes.
func appendShort(b []byte, text string) []byte {
	n := len(text)
	if n >= 10 {
		b = append(b, byte('0'+n/10), byte('0'+n%10), ':')
	} else {
		b = append(b, byte('0'+n), ':')
	}
	return append(b, text...)
}

func (p *keyPart) append(b []byte, ev *slidegate.Event, x *Secrets) (key []byte, found bool, err error) {
	for i := range p.sources {
		s := &p.sources[i]
		if s.attr == "event" { // apart, so that the event need not live on the heap
			b, err = s.appendText(appendPlace(b, i), ev.Name, x)
			return b, err == nil, err
		}
		v, ok := ev.Attr(s.attr)
		if !ok {
			continue
		}
		if text, literal := v.Literal(); literal && text == "" && len(p.sources) > 1 {
			continue // an empty text is present, except among alternatives
		}
		b, err = s.append(appendPlace(b, i), v, x)
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
func (p *keyPart) show(ev *slidegate.Event, x *Secrets) (name, text string, ok bool) {
	for i := range p.sources {
		s := &p.sources[i]
		v, found := attribute(ev, s.attr)
		if !found || v == slidegate.TextValue("") && len(p.sources) > 1 {
			continue
		}
		text, err := s.show(v, x)
		return s.attr, text, err == nil
	}
	return "", "", false
}

func (s *source) show(v slidegate.Value, x *Secrets) (string, error) {
	text := s.cut(v.String())
	if s.address {
		addr, err := parseAddress(v)
		if err != nil {
			return "", err
		}
		text = string(s.appendAddress(nil, addr))
	}
	switch {
	case !s.secret:
		return strings.Clone(text), nil
	case x == nil:
		return "(secret)", nil
	}
	return string(x.append(nil, text)), nil
}

// KeyOf returns, for people, what a key that AppendKey made was built from: as KeyAttrs
// does, with what is hidden and hashed as it lies in the key. A part that was missing is
// left out. What no such key is gives nothing.
func (r *Compiled) KeyOf(key []byte) []slidegate.Attr {
	var attrs []slidegate.Attr
	for i := range r.key {
		p := &r.key[i]
		if len(key) > 0 && key[0] == '-' {
			key = key[1:]
			continue
		}
		place, rest, ok := cutPlace(key)
		text, rest, whole := cutText(rest)
		if !ok || !whole || place >= len(p.sources) {
			return nil
		}
		attrs = append(attrs, slidegate.String(p.sources[place].attr, text))
		key = rest
	}
	if len(key) > 0 {
		return nil
	}
	return attrs
}

// cutPlace cuts the place of an alternative off a part; 0 where none is written.
func cutPlace(key []byte) (place int, rest []byte, ok bool) {
	digits := 0
	for digits < len(key) && key[digits] >= '0' && key[digits] <= '9' {
		digits++
	}
	if digits == len(key) || key[digits] != '|' {
		return 0, key, true
	}
	place, err := number(string(key[:digits]))
	return place, key[digits+1:], err == nil
}

// cutText cuts a text with its length, or the hash of one, off a part.
func cutText(key []byte) (text string, rest []byte, ok bool) {
	hashed := len(key) > 0 && key[0] == '#'
	if hashed {
		key = key[1:]
	}
	head, rest, ok := bytes.Cut(key, []byte(":"))
	if !ok {
		return "", nil, false
	}
	n, err := number(string(head))
	if err != nil || n > len(rest) {
		return "", nil, false
	}
	if text = string(rest[:n]); hashed {
		text = "sha256:" + text
	}
	return text, rest[n:], true
}

// append appends the length-prefixed text of v.
func (s *source) append(b []byte, v slidegate.Value, x *Secrets) ([]byte, error) {
	if s.address {
		return s.appendParsed(b, v, x)
	}
	if lit, ok := v.Literal(); ok {
		return s.appendText(b, lit, x)
	}
	var buf [64]byte
	return s.appendText(b, string(v.AppendText(buf[:0])), x)
}

// appendText appends the length-prefixed text of a part that is no address.
func (s *source) appendText(b []byte, text string, x *Secrets) ([]byte, error) {
	text = s.cut(text)
	if s.secret {
		return s.appendSecret(b, text, x)
	}
	return appendPartString(b, text), nil
}

// cut folds a text and takes its first characters.
func (s *source) cut(text string) string {
	if s.fold {
		text = fold.Text(text)
	}
	return firstChars(text, s.chars)
}

// appendParsed appends the length-prefixed form of an address.
func (s *source) appendParsed(b []byte, v slidegate.Value, x *Secrets) ([]byte, error) {
	if text, ok := v.Literal(); ok && s.v4 == 32 && !s.secret && isPlainIPv4(text) && !v.IsNumber() {
		return appendShort(b, text), nil
	}
	addr, err := parseAddress(v)
	if err != nil && s.secret {
		err = errSecretAddress
	}
	if err != nil {
		return b, fmt.Errorf("%w: attribute %s: %w", slidegate.ErrEvent, s.attr, err)
	}
	var buf [64]byte
	text := s.appendAddress(buf[:0], addr)
	if s.secret {
		return s.appendSecret(b, string(text), x)
	}
	return appendPart(b, text), nil
}

// appendSecret appends what stands for a secret text.
func (s *source) appendSecret(b []byte, text string, x *Secrets) ([]byte, error) {
	if x == nil {
		return b, fmt.Errorf("rule: attribute %s is secret, and there is no key to hide it with", s.attr)
	}
	b = strconv.AppendInt(b, secretHex, 10)
	return x.append(append(b, ':'), text), nil
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

// parseAddress returns the address that a value spells.
func parseAddress(v slidegate.Value) (netip.Addr, error) {
	text, ok := v.Literal()
	if !ok || v.IsNumber() {
		return netip.Addr{}, fmt.Errorf("the number %s is not an IP address", v)
	}
	addr, ok := slidegate.ParseAddress(text)
	if !ok {
		return addr, fmt.Errorf("%q is not an IP address", clip(text))
	}
	return addr, nil
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
