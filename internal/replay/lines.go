package replay

import (
	"bytes"
	"errors"
	"io"
)

const (
	// maxLine is the length of the longest line, or row of a table, in bytes.
	maxLine = 1 << 20
	// firstBuffer is the size that the buffer of a file begins with.
	firstBuffer = 256 << 10
	// longHead is how much of a line that is too long is kept to be shown.
	longHead = 256
)

// errLongLine: the line is longer than the bound; only its head is known.
var errLongLine = errors.New("the line is longer than 1 MiB")

// lineReader cuts what a reader gives into lines. It holds one line at most,
// or the bound where that is less.
type lineReader struct {
	src io.Reader
	max int
	// buf[start:end] is read and not yet given out.
	buf        []byte
	start, end int
	// done is why src ended, or nil.
	done error
	// lines is how many lines were given out or skipped, line the number of
	// the first line of what was given out last.
	lines, line int
}

func newLineReader(src io.Reader, maxLen int) *lineReader {
	return &lineReader{src: src, max: maxLen, buf: make([]byte, min(firstBuffer, 2*maxLen+2))}
}

// next returns the next line without its end. It is valid until the next call.
// For a line longer than the bound it returns the head and errLongLine, and
// the line behind it next time.
func (l *lineReader) next() ([]byte, error) {
	return l.take(l.lineEnd(0))
}

// nextRecord returns the next row of a table: a line, or several where a field
// in quotes holds line breaks. A quote that is not closed within the bound, or
// not closed right, does not swallow the lines behind it: then the first line
// is returned alone.
func (l *lineReader) nextRecord(sep byte) ([]byte, error) {
	first, err := l.lineEnd(0)
	if err != nil || bytes.IndexByte(l.buf[l.start:l.start+first], '"') < 0 {
		return l.take(first, err)
	}
	scan := quoteScan{sep: sep}
	for n, more := first, 0; ; more++ {
		switch scan.read(l.buf[l.start : l.start+n]) {
		case recordWhole:
			record, err := l.take(n, nil)
			l.lines += more
			return record, err
		case recordBroken:
			return l.take(first, nil)
		}
		if n, err = l.lineEnd(n); err != nil {
			return l.take(first, nil)
		}
	}
}

// take gives out the next n bytes, unless err says why not.
func (l *lineReader) take(n int, err error) ([]byte, error) {
	l.line = l.lines + 1
	if errors.Is(err, errLongLine) {
		return l.skipLong()
	}
	if err != nil {
		return nil, err
	}
	text := l.buf[l.start : l.start+n]
	l.start += n
	l.lines++
	text = bytes.TrimSuffix(text, []byte{'\n'})
	return bytes.TrimSuffix(text, []byte{'\r'}), nil
}

// lineEnd returns the length, from l.start, up to and with the end of the line
// that begins from bytes behind it.
func (l *lineReader) lineEnd(from int) (int, error) {
	for at := from; ; {
		i := bytes.IndexByte(l.buf[l.start+at:l.end], '\n')
		if i >= 0 {
			at += i
		} else {
			at = l.end - l.start
		}
		switch {
		case at > l.max:
			return 0, errLongLine
		case i >= 0:
			return at + 1, nil
		case l.fill():
		case !errors.Is(l.done, io.EOF) || at == from:
			return 0, l.done
		default:
			return at, nil // the last line has no end
		}
	}
}

// skipLong skips the line at l.start and returns its head.
func (l *lineReader) skipLong() ([]byte, error) {
	head, _, _ := bytes.Cut(l.buf[l.start:min(l.end, l.start+longHead)], []byte{'\n'})
	head = bytes.Clone(head)
	for {
		if i := bytes.IndexByte(l.buf[l.start:l.end], '\n'); i >= 0 {
			l.start += i + 1
			break
		}
		l.start = l.end
		if !l.fill() {
			break
		}
	}
	l.lines++
	return head, errLongLine
}

// fill reads once more from src, behind what is there, and reports whether
// there is more now.
func (l *lineReader) fill() bool {
	if l.start == l.end {
		l.start, l.end = 0, 0
	}
	if l.end == len(l.buf) {
		if l.start == 0 {
			l.buf = append(l.buf, make([]byte, len(l.buf))...)
		} else {
			l.end = copy(l.buf, l.buf[l.start:l.end])
			l.start = 0
		}
	}
	for tries := 0; l.done == nil; tries++ {
		n, err := l.src.Read(l.buf[l.end:])
		l.end += n
		l.done = err
		if err == nil && n == 0 && tries > 100 {
			l.done = io.ErrNoProgress
		}
		if n > 0 {
			return true
		}
	}
	return false
}

// head makes sure that n bytes are there, or all if there are fewer, and
// returns what is there.
func (l *lineReader) head(n int) []byte {
	for l.end-l.start < n && l.fill() {
	}
	return l.buf[l.start:l.end]
}

// indexFrom is bytes.IndexByte from at on.
func indexFrom(b []byte, at int, c byte) int {
	if i := bytes.IndexByte(b[at:], c); i >= 0 {
		return at + i
	}
	return -1
}
