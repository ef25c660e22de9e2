package model

import (
	"crypto/sha256"
	"fmt"
	"net"
	"strings"
)

// KeyPart is one part of a key in the naive model: alternatives, of which the
// first that is there counts.
type KeyPart []KeySource

// KeySource is one attribute. Address says that it is an IP address, cut to V4
// or V6 bits; otherwise it is a text cut to Chars characters, 0 for all.
type KeySource struct {
	Attr    string
	Address bool
	V4, V6  int
	Chars   int
}

// Key builds the canonical key of attrs. Whole is false when a part is missing
// and shared is not set.
func Key(parts []KeyPart, shared bool, attrs map[string]string) (key string, whole bool) {
	var keySb26 strings.Builder
	for _, part := range parts {
		text := ""
		for place, s := range part {
			v, ok := attrs[s.Attr]
			if !ok || v == "" && len(part) > 1 {
				continue
			}
			text = s.encode(v)
			if place > 0 {
				text = fmt.Sprintf("%d|%s", place, text)
			}
			break
		}
		if text == "" {
			if !shared {
				return "", false
			}
			text = "-"
		}
		keySb26.WriteString(text)
	}
	key += keySb26.String()
	return key, true
}

func (s KeySource) encode(v string) string {
	if s.Address {
		v = s.network(v)
	} else if s.Chars > 0 {
		if chars := strings.SplitN(v, "", s.Chars+1); len(chars) > s.Chars {
			v = strings.Join(chars[:s.Chars], "")
		}
	}
	if len(v) > 1024 {
		return fmt.Sprintf("#64:%x", sha256.Sum256([]byte(v)))
	}
	return fmt.Sprintf("%d:%s", len(v), v)
}

func (s KeySource) network(v string) string {
	if host, _, err := net.SplitHostPort(v); err == nil {
		v = host
	}
	v = strings.Trim(v, "[]")
	v, _, _ = strings.Cut(v, "%")
	ip := net.ParseIP(v)
	bits, all := s.V6, 128
	if four := ip.To4(); four != nil {
		ip, bits, all = four, s.V4, 32
	}
	ip = ip.Mask(net.CIDRMask(bits, all))
	if bits == all {
		return ip.String()
	}
	return fmt.Sprintf("%s/%d", ip, bits)
}
