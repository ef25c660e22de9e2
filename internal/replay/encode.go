package replay

import (
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
)

// A record in a sorted run, all numbers little-endian or varints:
//
//	4 bytes  length of what follows
//	8 bytes  time in microseconds since 1970
//	varint   cost plus 1, 0 for the zero Cost
//	1 byte   outcome
//	name     of the file
//	varint   line
//	name     of the event
//	varint   number of attributes, and for each
//	    name     of the attribute
//	    varint   length of the text, times 2, plus 1 for a number
//	    bytes    the text, or the number as it was spelled
//	varint   number of challenges that were met, and for each
//	    name     of the challenge
//
// A name is its number in the table of names plus 1, or 0, its length and its
// bytes where the table is full or the name long.
const (
	lengthSize = 4
	timeSize   = 8
)

// errDamaged: what was read back is not what was written.
var errDamaged = errors.New("what was read back is damaged")

// codec writes and reads records. Its table of names makes the many names that
// repeat on every line short. The zero codec is ready to use.
type codec struct {
	number map[string]uint64
	names  []string
}

// append appends rec to b.
func (c *codec) append(b []byte, rec *Record) []byte {
	start := len(b)
	b = append(b, make([]byte, lengthSize)...)
	b = binary.LittleEndian.AppendUint64(b, uint64(rec.Event.Time.UnixMicro()))
	if cost := rec.Event.Cost; cost == (slidegate.Cost{}) {
		b = append(b, 0)
	} else {
		b = binary.AppendUvarint(b, uint64(cost.Units())+1)
	}
	b = append(b, byte(rec.Event.Outcome))
	b = c.appendName(b, rec.File)
	b = binary.AppendUvarint(b, uint64(rec.Line))
	b = c.appendName(b, rec.Event.Name)
	b = binary.AppendUvarint(b, uint64(len(rec.Event.Attrs)))
	for i := range rec.Event.Attrs {
		a := &rec.Event.Attrs[i]
		b = c.appendName(b, a.Name)
		text := a.Value.String()
		tag := uint64(len(text)) << 1
		if a.Value.IsNumber() {
			tag |= 1
		}
		b = binary.AppendUvarint(b, tag)
		b = append(b, text...)
	}
	b = binary.AppendUvarint(b, uint64(len(rec.Event.Passed)))
	for _, name := range rec.Event.Passed {
		b = c.appendName(b, name)
	}
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-lengthSize))
	return b
}

// appendName appends the number of name, or name itself.
func (c *codec) appendName(b []byte, name string) []byte {
	n, ok := c.number[name]
	if !ok {
		if len(name) > internLength || len(c.names) >= internTexts {
			b = append(b, 0)
			b = binary.AppendUvarint(b, uint64(len(name)))
			return append(b, name...)
		}
		if c.number == nil {
			c.number = make(map[string]uint64)
		}
		name = strings.Clone(name) // it may be a part of a whole line
		c.names = append(c.names, name)
		n = uint64(len(c.names))
		c.number[name] = n
	}
	return binary.AppendUvarint(b, n)
}

// recordLength returns the length of the record at the front of b, its own
// length included, or 0 if b is too short to tell.
func recordLength(b []byte) int {
	if len(b) < lengthSize {
		return 0
	}
	return lengthSize + int(binary.LittleEndian.Uint32(b))
}

// recordTime returns the time of the record at the front of b.
func recordTime(b []byte) int64 {
	return int64(binary.LittleEndian.Uint64(b[lengthSize:]))
}

// read fills rec from b, one whole record. It copies b once, for all texts.
func (c *codec) read(b []byte, rec *Record) error {
	if len(b) < lengthSize+timeSize {
		return errDamaged
	}
	d := decoder{codec: c, b: b[lengthSize+timeSize:], text: string(b[lengthSize+timeSize:])}
	cost, outcome := d.number(), slidegate.Outcome(d.number())
	rec.File = d.name()
	rec.Line = int(d.number())
	e := slidegate.Event{Attrs: rec.Event.Attrs[:0], Outcome: outcome, Time: time.UnixMicro(recordTime(b)).UTC()}
	if cost > 0 {
		e.Cost = slidegate.CostOf(int64(cost - 1))
	}
	e.Name = d.name()
	for n := d.number(); n > 0 && !d.bad; n-- {
		name := d.name()
		tag := d.number()
		value := slidegate.TextValue(d.bytes(tag >> 1))
		if tag&1 != 0 {
			var err error
			if value, err = slidegate.NumberValue(value.String()); err != nil {
				return errors.Join(errDamaged, err)
			}
		}
		e.Attrs = append(e.Attrs, slidegate.Attr{Name: name, Value: value})
	}
	for n := d.number(); n > 0 && !d.bad; n-- {
		e.Passed = append(e.Passed, d.name())
	}
	rec.Event = e
	if d.bad {
		return errDamaged
	}
	return nil
}

// decoder reads the parts of a record. bad says that it ran out of them.
type decoder struct {
	codec *codec
	b     []byte
	text  string // of b
	at    int
	bad   bool
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.b[d.at:])
	if size <= 0 {
		d.bad = true
		return 0
	}
	d.at += size
	return n
}

func (d *decoder) bytes(n uint64) string {
	if n > uint64(len(d.b)-d.at) {
		d.bad = true
		return ""
	}
	from := d.at
	d.at += int(n)
	return d.text[from:d.at]
}

func (d *decoder) name() string {
	n := d.number()
	if n == 0 {
		return d.bytes(d.number())
	}
	if n > uint64(len(d.codec.names)) {
		d.bad = true
		return ""
	}
	return d.codec.names[n-1]
}
