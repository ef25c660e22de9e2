package replay

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate"
)

const (
	// DefaultEvent is the name of events whose line gives none, but those of
	// sshd, which are called login.
	DefaultEvent = "http"
	// DefaultKeepSkipped is how many reasons why lines do not parse are kept.
	DefaultKeepSkipped = 5

	// skipTextLength is how many bytes of such a line are kept.
	skipTextLength = 120
)

// Options says how logs are read. The zero Options finds the format out by
// itself.
type Options struct {
	// Format is the format of all files. The zero Format finds it out for
	// each file.
	Format Format
	// Event is the name of the events whose line gives none; "" means
	// [DefaultEvent], or login for those of sshd.
	Event string
	// TimeField is the field or column that holds the time, with dots for one
	// inside nested objects. "" means the first there is of time, timestamp,
	// ts and @timestamp. Access logs have their time in one place and do not
	// need it.
	TimeField string
	// Pattern reads the lines where Format is FormatPattern; else it is nil.
	Pattern *Pattern
	// Zone is the zone of times that name none; nil means UTC. Of an hour that
	// its clocks show twice the first is meant, or the second where the first
	// lies more than half an hour behind the newest time of the log. A time that
	// they skip is read as if they had not been set forward.
	Zone *time.Location
	// Year is the year of the first time of each log, where times name none. 0
	// means the last year in which the log can begin and not end in the future;
	// where a log can be read only once, in which its first time does not lie
	// there. From then on, where times step back by half a year or more, the
	// next year begins.
	Year int
	// Now is the clock that says what the future is; nil means that of the
	// machine.
	Now func() time.Time
	// KeepSkipped is how many reasons why lines do not parse are kept to be
	// shown, each with its first line; all are counted. 0 means
	// [DefaultKeepSkipped], a negative number none.
	KeepSkipped int

	looking bool // see wallClock
}

// Record is one event and where it stood. It is good until the next record is
// asked for: the list Event.Attrs is used again, while its texts stay as they
// are and may be kept.
type Record struct {
	// Event is what was recorded, fit to be judged, with its Time in UTC and
	// in whole microseconds.
	Event slidegate.Event
	// File is the path as it was given, or "stdin".
	File string
	// Line is the number of the line, from 1; of a row of a table that spans
	// lines, the first.
	Line int

	repeat int // how many more events like this the line stands for
}

// File is what is known of one log. All of it is known once the log was read
// to its end.
type File struct {
	// Name is the path as it was given, or "stdin".
	Name string
	// Format is how its lines are read. FormatAuto: it was not opened yet, or
	// has nothing in it.
	Format Format
	// Times is how its times are written.
	Times TimeKind
	// Zone names the zone of its times, where they name none; Year is the year
	// in which it begins, where they name none, and Derived says that nobody
	// gave it.
	Zone    string
	Year    int
	Derived bool
	// Gzip: it is compressed.
	Gzip bool
	// Lines counts the lines read so far, Events those that became events and
	// Skipped those that did not parse. The rest are empty, a header, or part
	// of a row that spans lines.
	Lines, Events, Skipped int64
}

// Source gives records one after another: [Reader] in the order of the files,
// [Sorted] in the order of time.
type Source interface {
	// Next returns the next record, which is good until the next call, or
	// [io.EOF] behind the last one. After an error it returns that error
	// again.
	Next() (*Record, error)
}

// parser reads the lines of one format. It sets rec.Event only when the line
// parses, and takes the memory of its list of attributes.
type parser interface {
	parse(line string, rec *Record) (TimeKind, error)
}

// Reader reads logs, one after the other, and gives their events. It holds one
// line at a time. Except for Progress it is for one goroutine; make it with
// [Open].
type Reader struct {
	opt    Options
	stdin  io.Reader
	inputs []input
	files  []File
	cur    *opened // nil between two files
	rec    Record
	err    error

	skipped Skips

	read  atomic.Int64
	total int64

	waiting waiting
}

// Open prepares the logs at paths to be read; "-" is stdin. It looks at every
// path and reports all that cannot be read, joined. Close the reader when done.
func Open(paths []string, stdin io.Reader, opt Options) (*Reader, error) {
	if opt.Format > FormatPattern {
		return nil, fmt.Errorf("replay: unknown format %s: choose %s", opt.Format, formatChoices)
	}
	if (opt.Format == FormatPattern) != (opt.Pattern != nil) {
		return nil, errors.New("replay: Options.Pattern goes with FormatPattern, and only with it")
	}
	if opt.Year != 0 && (opt.Year < MinYear || opt.Year > MaxYear) {
		return nil, fmt.Errorf("replay: the year %d lies outside %d to %d", opt.Year, MinYear, MaxYear)
	}
	inputs, err := checkInputs(paths, stdin)
	if err != nil {
		return nil, err
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.KeepSkipped == 0 {
		opt.KeepSkipped = DefaultKeepSkipped
	}
	r := &Reader{opt: opt, stdin: stdin, inputs: inputs, skipped: Skips{Keep: opt.KeepSkipped}}
	for _, in := range inputs {
		if in.size < 0 || r.total < 0 {
			r.total = -1
		} else {
			r.total += in.size
		}
	}
	return r, nil
}

// Next returns the next event; see [Source]. An error names file and line: a
// file that cannot be read or is damaged, a format that cannot be told, a table
// without a column for the time, a second kind of time in one file. A line that
// does not parse is no error.
func (r *Reader) Next() (*Record, error) {
	for r.err == nil {
		if r.rec.repeat > 0 {
			r.rec.repeat--
			r.files[len(r.files)-1].Events++
			return &r.rec, nil
		}
		if r.cur == nil {
			r.err = r.openNext()
			continue
		}
		line, err := r.cur.next()
		r.files[len(r.files)-1].Lines = int64(r.cur.lines.lines)
		switch {
		case err == nil:
			if r.parse(line) {
				return &r.rec, nil
			}
		case errors.Is(err, errLongLine):
			r.skip(line, err)
		case errors.Is(err, io.EOF):
			r.err = r.closeCurrent()
		default:
			r.err = r.damaged(err)
		}
	}
	if errors.Is(r.err, os.ErrDeadlineExceeded) { // set by Interrupt
		r.err = r.interrupted()
	}
	return nil, r.err
}

// parse makes rec from line and reports whether it is an event.
func (r *Reader) parse(line []byte) bool {
	cur, file := r.cur, &r.files[len(r.files)-1]
	if len(line) == 0 || (cur.sep == 0 && line[0] <= ' ' && len(bytes.TrimSpace(line)) == 0) {
		return false
	}
	text := string(line) // the one copy that all attributes share
	kind, err := cur.parser.parse(text, &r.rec)
	if err != nil {
		if fatal := (*fatalError)(nil); errors.As(err, &fatal) {
			r.err = fmt.Errorf("%s:%d: %w", cur.name, cur.lines.line, fatal.error)
			return false
		}
		r.skip(line, err)
		return false
	}
	r.rec.File, r.rec.Line = cur.name, cur.lines.line
	if file.Times == KindNone {
		file.Times, cur.firstTime = kind, r.rec.Line
		file.assume(cur.clock)
	}
	if kind != file.Times {
		r.err = fmt.Errorf("%s:%d: two kinds of time in one file: %s here, %s in line %d; split the file, or name another field with --time",
			cur.name, r.rec.Line, kind, file.Times, cur.firstTime)
		return false
	}
	file.Events++
	return true
}

// skip counts a line that does not parse.
func (r *Reader) skip(line []byte, reason error) {
	r.files[len(r.files)-1].Skipped++
	r.skipped.Add(r.cur.name, r.cur.lines.line, reason.Error(), func() string {
		return shorten(string(line[:min(len(line), skipTextLength+1)]), skipTextLength)
	})
}

// openNext opens the next log, or returns io.EOF when there is none.
func (r *Reader) openNext() error {
	if len(r.files) == len(r.inputs) {
		return io.EOF
	}
	in := r.inputs[len(r.files)]
	r.files = append(r.files, File{Name: in.name})
	r.cur = &opened{input: in, offset: r.read.Load()}
	src := r.stdin
	if in.path != stdinPath {
		f, err := r.open(in)
		if err != nil {
			return err
		}
		src, r.cur.file = f, f
	}
	file := &r.files[len(r.files)-1]
	text, isGzip, err := decompress(countingReader{src: src, n: &r.read})
	file.Gzip = isGzip
	if err != nil && isGzip {
		return r.damaged(err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", in.name, err)
	}
	r.cur.lines = newLineReader(text, maxLine)
	r.cur.lines.skipByteOrderMark()
	file.Format = r.opt.Format
	if file.Format == FormatAuto {
		if file.Format, err = r.cur.lines.detectFormat(r.opt.TimeField); err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
	}
	return r.choose(file.Format)
}

// choose sets the parser of the current log. A table's header is read here.
func (r *Reader) choose(f Format) error {
	cur := r.cur
	cur.clock = newWallClock(&r.opt)
	if cur.path != stdinPath && cur.size >= 0 { // it can be read twice
		path := cur.path
		cur.clock.ahead = func() yearSpan { return r.lookAhead(path, f) }
	}
	event := cmp.Or(r.opt.Event, DefaultEvent)
	switch f {
	case FormatJSON:
		cur.parser = &jsonParser{event: event, clock: cur.clock, timeField: r.opt.TimeField}
	case FormatCSV:
		header, err := r.readHeader()
		if err != nil || header.sep == 0 {
			return err
		}
		cur.sep = header.sep
		cur.parser = &csvParser{event: event, clock: cur.clock, header: header}
	case FormatSyslog:
		cur.parser = &syslogParser{event: event, clock: cur.clock}
	case FormatSSHD:
		cur.parser = &sshdParser{event: cmp.Or(r.opt.Event, loginEvent), clock: cur.clock}
	case FormatPattern:
		cur.parser = &patternParser{event: event, clock: cur.clock, pattern: r.opt.Pattern}
	default:
		cur.parser = &combinedParser{event: event}
	}
	return nil
}

// lookAhead reads the log at path once more, for its times without a year. What
// is wrong with it shows when it is read itself.
func (r *Reader) lookAhead(path string, f Format) yearSpan {
	opt := r.opt
	opt.Format, opt.KeepSkipped, opt.looking = f, -1, true
	ahead, err := Open([]string{path}, nil, opt)
	if err != nil {
		return yearSpan{leap: -1}
	}
	defer ahead.Close()
	span := yearSpan{leap: -1}
	for r.interrupted() == nil {
		_, err := ahead.Next()
		if ahead.cur != nil && ahead.cur.clock != nil {
			span = ahead.cur.clock.span
		}
		if err != nil {
			break
		}
	}
	return span
}

// readHeader reads the first line that is not empty. Where there is none the
// separator of the header is 0, and the log ends.
func (r *Reader) readHeader() (csvHeader, error) {
	for {
		line, err := r.cur.lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return csvHeader{}, r.closeCurrent()
		case errors.Is(err, errLongLine):
			return csvHeader{}, fmt.Errorf("%s:%d: the header is longer than 1 MiB", r.cur.name, r.cur.lines.line)
		case err != nil:
			return csvHeader{}, r.damaged(err)
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		h, err := parseHeader(string(line), r.opt.TimeField)
		if err != nil {
			return h, fmt.Errorf("%s:%d: %w", r.cur.name, r.cur.lines.line, err)
		}
		return h, nil
	}
}

// damaged is the error for a log that cannot be read on.
func (r *Reader) damaged(err error) error {
	lines := 0
	if r.cur.lines != nil {
		lines = r.cur.lines.lines
	}
	how := "reading stopped"
	if r.files[len(r.files)-1].Gzip {
		how = "the gzip data is damaged or cut short"
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // io.EOF would say that all is well
	}
	size := ""
	if r.cur.size >= 0 {
		size = fmt.Sprintf(" of %d", r.cur.size)
	}
	return fmt.Errorf("%s: %s after line %d (%d%s bytes read): %w",
		r.cur.name, how, lines, r.read.Load()-r.cur.offset, size, err)
}

func (r *Reader) closeCurrent() error {
	err := r.cur.close()
	r.cur = nil
	return err
}

// Close closes what is open. Next returns [slidegate.ErrClosed] from then on.
// What was counted stays.
func (r *Reader) Close() error {
	r.err = slidegate.ErrClosed
	r.rec.repeat = 0
	if r.cur == nil {
		return nil
	}
	return r.closeCurrent()
}

// Progress returns how many bytes were read from the files and how many they
// hold in all, or total -1 where that is not known (a pipe). A compressed file
// counts compressed. It may be called at any time from any goroutine.
func (r *Reader) Progress() (read, total int64) { return r.read.Load(), r.total }

// Skipped returns how many lines did not parse.
func (r *Reader) Skipped() int64 { return r.skipped.Total }

// Skips returns why lines did not parse. It is good until Next is called.
func (r *Reader) Skips() *Skips { return &r.skipped }

// Files returns what is known of each log that was opened, in their order.
func (r *Reader) Files() []File { return r.files }
