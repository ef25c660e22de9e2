package gate

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

// TestIDsHideHashes: the seed of the store can be computed from the hash of a
// known key (of the empty key by inverting a few multiplications), so ids must
// not show hashes.
func TestIDsHideHashes(t *testing.T) {
	g := newGate(t, compile(t,
		rule.Rule{Name: "all", Limits: limits("9 per 1m")},
		rule.Rule{Name: "phone", Key: []string{"phone"}, Limits: limits("9 per 1m")},
	), Options{})
	d := check(t, g, event("e", slidegate.String("phone", "13800000000")))
	text := d.ID.String()
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range d.ID.Receipts() {
		for _, half := range r.Window {
			if bytes.Contains(raw, binary.BigEndian.AppendUint64(nil, half)) {
				t.Errorf("the id shows the hash %x", half)
			}
		}
	}
	if again := d.ID.String(); again != text {
		t.Errorf("the text of an id changed from %s to %s", text, again)
	}
	if other := check(t, g, event("e", slidegate.String("phone", "13800000000"))); other.ID.String()[:20] == text[:20] {
		t.Error("two ids begin alike")
	}
}

// TestIDsHaveOneSpelling: base64 decoders skip line ends, ids must not.
func TestIDsHaveOneSpelling(t *testing.T) {
	g := newGate(t, compile(t, rule.Rule{Name: "r", Limits: limits("9 per 1m")}), Options{})
	d := check(t, g, event("e"))
	id := d.ID.String()
	for _, text := range []string{id + "\n", id[:9] + "\r\n" + id[9:], id + "="} {
		if _, err := g.Refund(bg, text); !errors.Is(err, slidegate.ErrID) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSealer(t *testing.T) {
	s, other := newSealer(nil), newSealer(nil)
	for n := range 100 {
		body := bytes.Repeat([]byte{byte(n)}, n)
		sealed := s.Seal([]byte("head"), body)
		if string(sealed[:4]) != "head" {
			t.Fatalf("Seal changed what was there: %q", sealed[:4])
		}
		sealed = sealed[4:]
		if got, ok := s.Open(sealed); !ok || !bytes.Equal(got, body) {
			t.Fatalf("%d bytes: opened %x, %v", n, got, ok)
		}
		if _, ok := other.Open(sealed); ok {
			t.Fatalf("%d bytes: another key opens it", n)
		}
		for i := range sealed {
			sealed[i] ^= 0x10
			if _, ok := s.Open(sealed); ok {
				t.Fatalf("%d bytes: byte %d was changed unseen", n, i)
			}
			sealed[i] ^= 0x10
		}
		if _, ok := s.Open(sealed[:len(sealed)-1]); ok {
			t.Fatalf("%d bytes: cut unseen", n)
		}
	}
}
