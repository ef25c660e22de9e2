package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/slidegate/slidegate"
)

const jsonType = "application/json"

// Values of headers, made once. Nobody may change them.
var (
	jsonHeader = []string{jsonType}
	noSniff    = []string{"nosniff"}
)

// maxBuffer is how many bytes a buffer may have that is kept: those of an array of
// a thousand decisions.
const maxBuffer = 512 << 10

// buffers are for bodies while they are read, and for answers while they are written.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func takeBuffer() *bytes.Buffer { return buffers.Get().(*bytes.Buffer) }

func giveBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxBuffer {
		b.Reset()
		buffers.Put(b)
	}
}

// answerDecision is answer for a decision.
func answerDecision(w http.ResponseWriter, d *slidegate.Decision) {
	buf := takeBuffer()
	defer giveBuffer(buf)
	buf.Write(append(d.AppendJSON(buf.AvailableBuffer()), '\n'))
	sendJSON(w, buf)
}

// answerDecisions is answer for decisions, in an array.
func answerDecisions(w http.ResponseWriter, ds []slidegate.Decision) {
	buf := takeBuffer()
	defer giveBuffer(buf)
	buf.WriteByte('[')
	for i := range ds {
		if i > 0 {
			buf.WriteByte(',')
		}
		buf.Write(ds[i].AppendJSON(buf.AvailableBuffer()))
	}
	buf.WriteString("]\n")
	sendJSON(w, buf)
}

// maxUnsized is from when on an answer is told its length: net/http finds out that of
// shorter ones, and cuts longer ones into chunks.
const maxUnsized = 2 << 10

// sendJSON sends JSON with status 200.
func sendJSON(w http.ResponseWriter, body *bytes.Buffer) {
	h := w.Header()
	h["Content-Type"], h["X-Content-Type-Options"] = jsonHeader, noSniff
	if body.Len() > maxUnsized {
		h.Set("Content-Length", strconv.Itoa(body.Len()))
	}
	_, _ = w.Write(body.Bytes())
}

// answer writes v as JSON, with status 200.
func answer(w http.ResponseWriter, v any) { send(w, http.StatusOK, jsonType, v) }

// send writes v as JSON, and ends the line.
func send(w http.ResponseWriter, status int, contentType string, v any) {
	var out bytes.Buffer
	if err := line(&out, v); err != nil {
		w.WriteHeader(http.StatusInternalServerError) // cannot happen: answers hold numbers and texts
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes())
}

// line writes v as a line of JSON.
func line(to io.Writer, v any) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false) // the limit "1 count where n > 5 per 1m" is as it was written; this is no page
	return e.Encode(v)
}
