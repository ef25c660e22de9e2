package gate

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"hash"
	"sync"
)

// sealer enciphers and signs ids. The signature, a truncated HMAC of the body,
// is also what the cipher starts from (as in RFC 5297), so it needs no nonce of
// its own.
//
// Ids hold hashes of keys under the seed of the store. Whoever could read one
// could compute the seed from it, and then try keys, or make keys that collide.
type sealer struct {
	macs  sync.Pool // of hash.Hash: the key of one is prepared once
	block cipher.Block
}

const sealSize = 12

func newSealer(key []byte) *sealer {
	if len(key) == 0 {
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails
	}
	block, err := aes.NewCipher(derive(key, "encipher"))
	if err != nil {
		panic(err) // unreachable: the key has 32 bytes
	}
	s := &sealer{block: block}
	signing := derive(key, "sign")
	s.macs.New = func() any { return hmac.New(sha256.New, signing) }
	return s
}

// derive returns a key for one use.
func derive(key []byte, use string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(use))
	return mac.Sum(nil)
}

func (s *sealer) sign(body []byte) []byte {
	mac := s.macs.Get().(hash.Hash)
	mac.Reset()
	mac.Write(body)
	signature := mac.Sum(nil)[:sealSize]
	s.macs.Put(mac)
	return signature
}

// crypt enciphers or deciphers body into dst.
func (s *sealer) crypt(dst, body, signature []byte) {
	var start [aes.BlockSize]byte
	copy(start[:], signature)
	cipher.NewCTR(s.block, start[:]).XORKeyStream(dst, body)
}

// Seal implements [slidegate.Sealer].
func (s *sealer) Seal(dst, body []byte) []byte {
	signature := s.sign(body)
	dst = append(dst, signature...)
	from := len(dst)
	dst = append(dst, body...)
	s.crypt(dst[from:], body, signature)
	return dst
}

// Open implements [slidegate.Sealer].
func (s *sealer) Open(sealed []byte) (body []byte, ok bool) {
	if len(sealed) < sealSize {
		return nil, false
	}
	signature, enciphered := sealed[:sealSize], sealed[sealSize:]
	body = make([]byte, len(enciphered))
	s.crypt(body, enciphered, signature)
	return body, hmac.Equal(s.sign(body), signature)
}
