package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

// stdinPath is the path that stands for standard input, stdinName what it is
// called in reports.
const (
	stdinPath = "-"
	stdinName = "stdin"
)

// input is one log before it is opened.
type input struct {
	path, name string
	size       int64 // in bytes, -1 where it is not known
}

// checkInputs looks at every path before anything is read, so that a misspelled
// name is told at once and not after an hour.
func checkInputs(paths []string, stdin io.Reader) ([]input, error) {
	if len(paths) == 0 {
		return nil, errors.New("no log to read: name files, or - for standard input")
	}
	var errs []error
	inputs := make([]input, 0, len(paths))
	usesStdin := false
	for _, path := range paths {
		in := input{path: path, name: path, size: -1}
		var err error
		switch {
		case path != stdinPath:
			in.size, err = checkFile(path)
		case stdin == nil:
			err = errors.New("-: there is no standard input here; name a file")
		case usesStdin:
			err = errors.New("-: standard input is named twice; it can be read only once")
		default:
			usesStdin = true
			in.name = stdinName
			if f, ok := stdin.(*os.File); ok {
				in.size = sizeOf(f)
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
		inputs = append(inputs, in)
	}
	return inputs, errors.Join(errs...)
}

// checkFile reports whether path can be read, and its size, -1 if it is no
// plain file. It does not open what is no plain file: a pipe can be opened only
// once.
func checkFile(path string) (size int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return -1, err
	}
	if info.IsDir() {
		return -1, fmt.Errorf("%s is a directory; name the files in it", path)
	}
	if !info.Mode().IsRegular() {
		return -1, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return -1, err
	}
	return info.Size(), f.Close()
}

// sizeOf returns the size of a plain file, -1 of anything else.
func sizeOf(f *os.File) int64 {
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		return info.Size()
	}
	return -1
}

// countingReader adds what is read to a counter that others look at.
type countingReader struct {
	src io.Reader
	n   *atomic.Int64
}

// Read reads from the source.
func (c countingReader) Read(p []byte) (int, error) {
	n, err := c.src.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// opened is a log that is being read.
type opened struct {
	input

	file   *os.File // nil for standard input
	lines  *lineReader
	parser parser
	clock  *wallClock
	sep    byte // of a table
	// offset is what the counter of bytes said when the log was opened.
	offset int64
	// firstTime is the line of the first time, whose kind the others must have.
	firstTime int
}

func (o *opened) close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

// next returns the next line or row. It is valid until the next call.
func (o *opened) next() ([]byte, error) {
	if o.sep != 0 {
		return o.lines.nextRecord(o.sep)
	}
	return o.lines.next()
}

// decompress returns what src holds, through gzip if it begins like that. A
// file of several gzip members is read as one.
func decompress(src io.Reader) (_ io.Reader, isGzip bool, err error) {
	buffered := bufio.NewReaderSize(src, 64<<10)
	magic, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(buffered)
		return z, true, err
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return nil, false, otherCompression("zstd", "zstd -dc")
	case bytes.HasPrefix(magic, []byte("BZh")):
		return nil, false, otherCompression("bzip2", "bzip2 -dc")
	case bytes.HasPrefix(magic, []byte("\xfd7zX")):
		return nil, false, otherCompression("xz", "xz -dc")
	}
	return buffered, false, nil
}

func otherCompression(name, command string) error {
	return fmt.Errorf("it is compressed with %s; of compressed files only gzip is read: pipe it through %s and name - instead", name, command)
}

// byteOrderMark may stand at the front of a text file.
const byteOrderMark = "\xef\xbb\xbf"

// skipByteOrderMark drops the mark if there is one.
func (l *lineReader) skipByteOrderMark() {
	if bytes.HasPrefix(l.head(len(byteOrderMark)), []byte(byteOrderMark)) {
		l.start += len(byteOrderMark)
	}
}

// detectFormat finds the format out from what stands at the front, without
// taking it away. FormatAuto says that there is nothing but empty lines.
func (l *lineReader) detectFormat(timeField string) (Format, error) {
	for n := 1; ; {
		head := l.head(n)
		final := l.done != nil || len(head) > l.max
		f, err := detect(string(head), final, timeField)
		if f != FormatAuto || err != nil || final {
			return f, err
		}
		n = len(head) + 1
	}
}
