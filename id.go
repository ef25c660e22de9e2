package slidegate

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
)

// inlineReceipts is how many receipts an ID carries without allocating.
const inlineReceipts = 4

// idVersion is the first byte of every id.
const idVersion = 3

// Receipt records what one window took for one decision, enough for its store
// to give exactly that back. It is for engines and stores; programs keep the
// text of the [ID] instead.
type Receipt struct {
	// Window is the store's name for the window and key.
	Window [2]uint64
	// Stamp and Amount are in the terms of the window's algorithm.
	Stamp, Amount int64
	// Seq orders decisions within the store. It is less than 2^62.
	Seq uint64
	// Kind says what was taken.
	Kind ReceiptKind
}

// ReceiptKind says what a window took for a decision.
type ReceiptKind uint8

// What there is.
const (
	// Charge: a hit, for good unless it is refunded.
	Charge ReceiptKind = iota
	// InFlight: a place in flight, which a release gives back.
	InFlight
	// Unsettled: a hit that a report settles: gives back, or changes. Until then, and
	// no longer, it can be refunded.
	Unsettled
	// Held: a place that is held until a report tells whether it is a hit.
	Held
)

const receiptKindBits = 2

// Sealer enciphers and signs what ids hold, so that nobody can read one or make
// one up. It is safe for concurrent use.
type Sealer interface {
	// Seal appends body, enciphered and signed, to dst.
	Seal(dst, body []byte) []byte
	// Open returns the body of what Seal made, or false if it did not make it.
	// It does not change sealed.
	Open(sealed []byte) (body []byte, ok bool)
}

// ID names a decision. It is made without allocating; its text, which is what
// is kept, sent and given to Refund, is made by String.
type ID struct {
	sealer Sealer
	nonce  uint64
	inline [inlineReceipts]Receipt
	spill  []Receipt
	n      int32
}

// Start makes id the id of a decision, in place and without receipts. A nonce
// should be random.
func (id *ID) Start(s Sealer, nonce uint64) {
	id.sealer, id.nonce, id.n, id.spill = s, nonce, 0, nil
}

// Add appends a receipt.
func (id *ID) Add(r Receipt) {
	switch {
	case id.n < inlineReceipts:
		id.inline[id.n] = r
	case id.n == inlineReceipts:
		id.spill = append(append(make([]Receipt, 0, 2*inlineReceipts), id.inline[:]...), r)
	default:
		id.spill = append(id.spill, r)
	}
	id.n++
}

// Receipts returns what was added.
func (id *ID) Receipts() []Receipt {
	if id.n > inlineReceipts {
		return id.spill
	}
	return id.inline[:id.n]
}

// String returns the id as text: letters, digits, '-' and '_'. It is empty
// for the zero ID.
func (id ID) String() string {
	if id.sealer == nil {
		return ""
	}
	body := binary.BigEndian.AppendUint64(nil, id.nonce)
	for _, r := range id.Receipts() {
		body = binary.BigEndian.AppendUint64(body, r.Window[0])
		body = binary.BigEndian.AppendUint64(body, r.Window[1])
		body = binary.AppendVarint(body, r.Stamp)
		body = binary.AppendVarint(body, r.Amount)
		body = binary.AppendUvarint(body, r.Seq<<receiptKindBits|uint64(r.Kind))
	}
	return base64.RawURLEncoding.EncodeToString(id.sealer.Seal([]byte{idVersion}, body))
}

// MarshalText returns the text of the id.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// ParseID reads the text of an id that s sealed. The error wraps [ErrID].
func ParseID(s Sealer, text string) (ID, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	switch {
	case err != nil || strings.ContainsAny(text, "\r\n"): // the decoder skips line ends
		return ID{}, fmt.Errorf("%w: %q is not in the alphabet of ids", ErrID, shorten(text))
	case len(raw) == 0 || raw[0] != idVersion:
		return ID{}, fmt.Errorf("%w: %q is empty or of another version", ErrID, shorten(text))
	}
	body, ok := s.Open(raw[1:])
	if !ok || len(body) < 8 {
		return ID{}, fmt.Errorf("%w: %q is cut short, changed, or not made by this engine", ErrID, shorten(text))
	}
	var id ID
	id.Start(s, binary.BigEndian.Uint64(body))
	for rest := body[8:]; len(rest) > 0; {
		r, n := readReceipt(rest)
		if n <= 0 {
			return ID{}, fmt.Errorf("%w: %q is damaged", ErrID, shorten(text))
		}
		id.Add(r)
		rest = rest[n:]
	}
	return id, nil
}

// readReceipt reads one receipt from the front of b and returns its length, or
// 0 when b does not hold one.
func readReceipt(b []byte) (Receipt, int) {
	if len(b) < 16 {
		return Receipt{}, 0
	}
	r := Receipt{Window: [2]uint64{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}}
	at := 16
	var n int
	if r.Stamp, n = binary.Varint(b[at:]); n <= 0 {
		return Receipt{}, 0
	}
	at += n
	if r.Amount, n = binary.Varint(b[at:]); n <= 0 {
		return Receipt{}, 0
	}
	at += n
	seq, n := binary.Uvarint(b[at:])
	if n <= 0 {
		return Receipt{}, 0
	}
	r.Seq, r.Kind = seq>>receiptKindBits, ReceiptKind(seq&(1<<receiptKindBits-1))
	return r, at + n
}
