package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A file is a head and frames. Every head and every frame has its checksum:
//
//	head  = magic(8) generation(8) first(8) id(8) flags(4) checksum(4)
//	frame = length(4) number(8) checksum of the payload(4) checksum of these 16 bytes(4) payload
//
// See docs/format/journal.md.
const (
	snapshotMagic = "SGsnap01"
	journalMagic  = "SGjrnl01"

	headBytes  = 40
	frameBytes = 20
)

// Flags of a head.
const (
	// flagBroken, of a journal: what was changed before it was not all written, so it
	// follows the snapshot of its generation and nothing else.
	flagBroken = 1 << iota
	// flagFinal, of a snapshot: nothing was changed after it.
	flagFinal
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// head is how a file begins.
type head struct {
	magic string
	gen   uint64 // its place in the order of files
	first uint64 // the number of the first record after it, or in it
	id    uint64 // of the directory
	flags uint32
}

func (h *head) append(b []byte) []byte {
	at := len(b)
	b = append(b, h.magic...)
	b = binary.LittleEndian.AppendUint64(b, h.gen)
	b = binary.LittleEndian.AppendUint64(b, h.first)
	b = binary.LittleEndian.AppendUint64(b, h.id)
	b = binary.LittleEndian.AppendUint32(b, h.flags)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[at:], castagnoli))
}

// parseHead reads a head; want is the magic.
func parseHead(b []byte, want string) (h head, err error) {
	if len(b) < headBytes {
		return h, fmt.Errorf("the file is cut short: %d bytes, a head takes %d", len(b), headBytes)
	}
	h.magic = string(b[:8])
	switch {
	case h.magic[:6] != want[:6]:
		return h, fmt.Errorf("%q is not how such a file begins", h.magic)
	case h.magic != want:
		return h, fmt.Errorf("version %q; this program reads %q", h.magic[6:], want[6:])
	case binary.LittleEndian.Uint32(b[36:]) != crc32.Checksum(b[:36], castagnoli):
		return h, errors.New("the head does not match its checksum")
	}
	h.gen = binary.LittleEndian.Uint64(b[8:])
	h.first = binary.LittleEndian.Uint64(b[16:])
	h.id = binary.LittleEndian.Uint64(b[24:])
	h.flags = binary.LittleEndian.Uint32(b[32:])
	return h, nil
}

// putFrameHead fills in the front of a frame.
func putFrameHead(frame []byte, number uint64) {
	payload := frame[frameBytes:]
	binary.LittleEndian.PutUint32(frame, uint32(len(payload)))
	binary.LittleEndian.PutUint64(frame[4:], number)
	binary.LittleEndian.PutUint32(frame[12:], crc32.Checksum(payload, castagnoli))
	binary.LittleEndian.PutUint32(frame[16:], crc32.Checksum(frame[:16], castagnoli))
}

type frameHead struct {
	length   uint32
	number   uint64
	checksum uint32
}

// parseFrameHead reads the head of a frame, and reports whether it is as it was written.
func parseFrameHead(b []byte) (h frameHead, ok bool) {
	h.length = binary.LittleEndian.Uint32(b)
	h.number = binary.LittleEndian.Uint64(b[4:])
	h.checksum = binary.LittleEndian.Uint32(b[12:])
	return h, binary.LittleEndian.Uint32(b[16:]) == crc32.Checksum(b[:16], castagnoli)
}

func (h *frameHead) matches(payload []byte) bool {
	return crc32.Checksum(payload, castagnoli) == h.checksum
}
