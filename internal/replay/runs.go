package replay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// run is a part of a file: records in the order of their times.
type run struct {
	from, to int64
}

// runFile is a temporary file of runs, one behind the other.
type runFile struct {
	file    *os.File
	w       *bufio.Writer
	size    int64
	started int64 // where the run that is being written begins
	runs    []run
	removed bool
}

// newRunFile makes a temporary file. Where the system allows it, its name is
// taken away at once: then it is gone even if the process is killed.
func newRunFile(dir string) (*runFile, error) {
	f, err := os.CreateTemp(dir, "slidegate-sort-*")
	if err != nil {
		return nil, fmt.Errorf("replay: sort: no temporary file (set TMPDIR to a directory that can be written): %w", err)
	}
	removed := os.Remove(f.Name()) == nil
	return &runFile{file: f, w: bufio.NewWriterSize(f, 64<<10), removed: removed}, nil
}

// write appends a record to the run.
func (r *runFile) write(b []byte) error {
	n, err := r.w.Write(b)
	r.size += int64(n)
	return r.full(err)
}

// endRun ends the run, if there is anything in it.
func (r *runFile) endRun() error {
	if r.size > r.started {
		r.runs = append(r.runs, run{from: r.started, to: r.size})
		r.started = r.size
	}
	return r.full(r.w.Flush())
}

func (r *runFile) full(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("replay: sort: writing %d bytes to a temporary file (set TMPDIR to a directory with room): %w", r.size, err)
}

// close closes the file and removes it.
func (r *runFile) close() error {
	err := r.file.Close()
	if r.removed {
		return err
	}
	removeErr := os.Remove(r.file.Name())
	if errors.Is(removeErr, fs.ErrNotExist) {
		removeErr = nil
	}
	return errors.Join(err, removeErr)
}

// runReader reads the records of one run.
type runReader struct {
	file *os.File
	rest run // not yet read
	buf  []byte
	// buf[at:end] is read; the record that is next begins at at.
	at, end int
	length  int // of the record that is next, 0 behind the last one
	time    int64
}

// advance goes to the next record.
func (r *runReader) advance() error {
	r.at += r.length
	if err := r.fill(lengthSize + timeSize); err != nil {
		return err
	}
	if r.length = recordLength(r.buf[r.at:r.end]); r.length == 0 {
		return nil
	}
	if err := r.fill(r.length); err != nil {
		return err
	}
	if r.length < lengthSize+timeSize || r.length > r.end-r.at {
		return fmt.Errorf("replay: sort: temporary file: %w", errDamaged)
	}
	r.time = recordTime(r.buf[r.at:r.end])
	return nil
}

// fill reads until n bytes are there, or the run ends. A record larger than
// the buffer gets a larger buffer.
func (r *runReader) fill(n int) error {
	if r.end-r.at >= n || r.rest.from == r.rest.to {
		return nil
	}
	if int64(n) > int64(r.end-r.at)+r.rest.to-r.rest.from {
		return fmt.Errorf("replay: sort: temporary file: %w", errDamaged)
	}
	old := r.buf[r.at:r.end]
	if n > len(r.buf) {
		r.buf = make([]byte, n)
	}
	r.at, r.end = 0, copy(r.buf, old)
	want := min(int64(len(r.buf)-r.end), r.rest.to-r.rest.from)
	got, err := r.file.ReadAt(r.buf[r.end:r.end+int(want)], r.rest.from)
	if int64(got) < want {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // io.EOF would say that all is well
		}
		return fmt.Errorf("replay: sort: reading a temporary file back: %w", err)
	}
	r.end += got
	r.rest.from += want
	return nil
}

// merger gives the records of several runs in the order of their times; of
// equal times the earlier run goes first. It is a binary heap of readers.
type merger struct {
	heap []int // numbers of readers, the one with the earliest record in front
	all  []runReader
	// given: the record in front was given out.
	given bool
}

// newMerger merges runs of file, with memory as their buffers.
func newMerger(file *runFile, runs []run, memory []byte) (*merger, error) {
	m := &merger{}
	size := max(len(memory)/max(1, len(runs)), minRunBuffer)
	for _, part := range runs {
		r := runReader{file: file.file, rest: part}
		if len(memory) >= size {
			r.buf, memory = memory[:size:size], memory[size:]
		} else {
			r.buf = make([]byte, size)
		}
		if err := r.advance(); err != nil {
			return nil, err
		}
		m.all = append(m.all, r)
		m.heap = append(m.heap, len(m.heap))
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return m, nil
}

// next returns the next record, good until the next call, or io.EOF.
func (m *merger) next() ([]byte, error) {
	if m.given {
		m.given = false
		front := &m.all[m.heap[0]]
		if err := front.advance(); err != nil {
			return nil, err
		}
		if front.length == 0 {
			last := len(m.heap) - 1
			m.heap[0] = m.heap[last]
			m.heap = m.heap[:last]
		}
		m.down(0)
	}
	if len(m.heap) == 0 {
		return nil, io.EOF
	}
	m.given = true
	front := &m.all[m.heap[0]]
	return front.buf[front.at : front.at+front.length], nil
}

// less reports whether the reader at i of the heap goes before that at k.
func (m *merger) less(i, k int) bool {
	a, b := m.heap[i], m.heap[k]
	if m.all[a].time != m.all[b].time {
		return m.all[a].time < m.all[b].time
	}
	return a < b
}

// down moves the reader at i of the heap to its place.
func (m *merger) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(m.heap) {
			return
		}
		if child+1 < len(m.heap) && m.less(child+1, child) {
			child++
		}
		if !m.less(child, i) {
			return
		}
		m.heap[i], m.heap[child] = m.heap[child], m.heap[i]
		i = child
	}
}
