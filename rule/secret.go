package rule

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"sync"
)

// MinSecretKey is how many bytes the key of [NewSecrets] has at least.
const MinSecretKey = 16

// errSecretAddress stands for an error that would show a secret value.
var errSecretAddress = errors.New("a secret value is not an IP address")

// Secrets replaces the values of secret attributes by what tells nothing about
// them: the first 128 bits of their HMAC-SHA-256 under a key, in 32 hex digits.
// Whoever shares windows must have the same key. It is safe for concurrent use.
// Make it with [NewSecrets].
type Secrets struct{ macs sync.Pool }

// NewSecrets returns a Secrets with a key of [MinSecretKey] bytes or more.
func NewSecrets(key []byte) (*Secrets, error) {
	if len(key) < MinSecretKey {
		return nil, fmt.Errorf("rule: a key for secret attributes has %d bytes; want %d or more", len(key), MinSecretKey)
	}
	own := append([]byte(nil), key...)
	s := &Secrets{}
	s.macs.New = func() any { return &macState{mac: hmac.New(sha256.New, own)} }
	return s, nil
}

// macState is a hash and room for its result.
type macState struct {
	mac hash.Hash
	sum [sha256.Size]byte
	in  []byte
}

// secretHex is the length of a hidden value.
const secretHex = 32

// append appends what stands for text.
func (s *Secrets) append(b []byte, text string) []byte {
	m, _ := s.macs.Get().(*macState)
	m.mac.Reset()
	m.in = append(m.in[:0], text...)
	m.mac.Write(m.in)
	m.mac.Sum(m.sum[:0])
	b = hex.AppendEncode(b, m.sum[:secretHex/2])
	clear(m.in)
	if cap(m.in) <= maxPart {
		s.macs.Put(m)
	}
	return b
}
