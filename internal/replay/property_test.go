package replay

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/slidegate/slidegate"
)

// These tests write what they know in the way other programs write it, and
// must get it back.

const rounds = 2000

// bytes returns a text of up to n bytes out of those that are hard to carry in
// a line.
func (g generated) bytes(n int) string {
	const hard = "a b\"\\\x00\n\r\t\x1b,;{}[]:'\x7f\xff\xc3\xa9-?%="
	b := make([]byte, g.IntN(n+1))
	for i := range b {
		b[i] = hard[g.IntN(len(hard))]
	}
	return string(b)
}

// apacheEscape writes s as ap_escape_logitem of Apache does.
func apacheEscape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\b', '\n', '\r', '\t', '\v':
			b.WriteByte('\\')
			b.WriteByte("btnv--r"[strings.IndexByte("\b\t\n\v\f-\r", c)])
		default:
			if c < ' ' || c > '~' {
				fmt.Fprintf(&b, `\x%02x`, c)
			} else {
				b.WriteByte(c)
			}
		}
	}
	return b.String()
}

// nginxEscape writes s as nginx does by default.
func nginxEscape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\x%02X`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func TestCombinedRoundTrip(t *testing.T) {
	g := newGenerated(11)
	p := combinedParser{event: DefaultEvent}
	var rec Record
	for range rounds {
		escape := pick(g, apacheEscape, nginxEscape)
		query, referer, agent := g.bytes(12), g.bytes(20), g.bytes(20)
		at := time.Unix(g.Int64N(maxMicros/microsPerSecond), 0)
		zone := time.FixedZone("", 900*(g.IntN(105)-48))
		line := fmt.Sprintf(`2001:db8::%x - u%d [%s] "PUT /a%%20b?%s HTTP/1.1" %d %d "%s" "%s"`,
			g.IntN(1<<16), g.IntN(100), at.In(zone).Format("02/Jan/2006:15:04:05 -0700"), escape(query), 100+g.IntN(500), g.Int64(), escape(referer), escape(agent))
		if _, err := p.parse(line, &rec); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want := map[string]string{"path": "/a%20b", "query": query, "referer": referer, "user_agent": agent}
		for name, text := range want {
			v, ok := rec.Event.Attr(name)
			if text == "-" && name != "query" {
				ok, text = !ok, ""
			}
			if !ok || v.String() != text {
				t.Fatalf("%q: %s is %q, want %q", line, name, v, text)
			}
		}
		if !rec.Event.Time.Equal(at) {
			t.Fatalf("%q: the time is %s, want %s", line, rec.Event.Time, at.UTC())
		}
	}
}

func TestCSVRoundTrip(t *testing.T) {
	g := newGenerated(12)
	for range rounds / 10 {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.Comma = pick(g, ',', ';', '\t')
		rows := [][]string{{"timestamp", "a", "b", "c"}}
		for i := range g.IntN(20) {
			rows = append(rows, []string{strconv.Itoa(i), g.bytes(9), g.bytes(9), pick(g, "1.50", "-3e2", "x")})
		}
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		r, err := Open([]string{"-"}, iotest.HalfReader(bytes.NewReader(b.Bytes())), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			rec, err := r.Next()
			if err != nil {
				t.Fatalf("%q: %v, %+v", b.String(), err, r.Skips().First)
			}
			checkRow(t, rows[0], row, rec)
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) || r.Skipped() != 0 {
			t.Fatalf("%q: behind the last row %v, %+v", b.String(), err, r.Skips().First)
		}
	}
}

// checkRow fails unless rec has the columns of row, the first being its time.
func checkRow(t *testing.T, names, row []string, rec *Record) {
	t.Helper()
	if got := strconv.FormatInt(rec.Event.Time.Unix(), 10); got != row[0] {
		t.Fatalf("%q: time %s", row, got)
	}
	for i := 1; i < len(row); i++ {
		v, ok := rec.Event.Attr(names[i])
		if ok != (row[i] != "") || v.String() != row[i] {
			t.Fatalf("%q: column %s is %q", row, names[i], v)
		}
		var n float64
		if isNumber := json.Unmarshal([]byte(row[i]), &n) == nil; ok && v.IsNumber() != isNumber {
			t.Fatalf("%q: column %s is a number: %v", row, names[i], v.IsNumber())
		}
	}
}

// object returns a random object and puts into flat what its attributes are.
func (g generated) object(prefix string, depth int, flat map[string]string) map[string]any {
	members := map[string]any{}
	for i := range g.IntN(5) {
		name := "n" + strconv.Itoa(i) + strings.ToValidUTF8(g.bytes(4), "?")
		full := prefix + name
		switch g.IntN(6) {
		case 0:
			text := strings.ToValidUTF8(g.bytes(12), "?")
			members[name], flat[full] = text, text
		case 1:
			n := json.Number(strconv.FormatFloat(g.NormFloat64()*1e9, pick(g, byte('e'), byte('f')), -1, 64))
			members[name], flat[full] = n, n.String()
		case 2:
			yes := g.IntN(2) == 0
			members[name], flat[full] = yes, strconv.FormatBool(yes)
		case 3:
			members[name] = nil
		case 4:
			members[name] = []any{1, "]", g.object("", 3, map[string]string{})}
		default:
			if depth < 3 {
				members[name] = g.object(full+".", depth+1, flat)
			}
		}
	}
	return members
}

func TestJSONRoundTrip(t *testing.T) {
	g := newGenerated(13)
	p := jsonParser{event: DefaultEvent}
	var rec Record
	for range rounds {
		flat := map[string]string{}
		members := g.object("", 0, flat)
		own := g.IntN(2) == 0
		if own {
			members = map[string]any{"attrs": members, "event": "x", "cost": 7}
		}
		members["time"] = "2026-03-01T10:00:00Z"
		line, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.parse(string(line), &rec); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got := map[string]string{}
		for _, a := range rec.Event.Attrs {
			got[a.Name] = a.Value.String()
		}
		if !maps.Equal(got, flat) {
			t.Fatalf("%s:\n got %q\nwant %q", line, got, flat)
		}
		if own != (rec.Event.Name == "x") || own != (rec.Event.Cost == slidegate.CostOf(7)) {
			t.Fatalf("%s: %s", line, show(&rec))
		}
	}
}

// Times written by package time, in any zone and with any fraction.
func TestTimeRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(14, 1))
	for range 10 * rounds {
		at := time.UnixMicro(rnd.Int64N(maxMicros + 1)).Add(time.Duration(rnd.Int64N(1000)))
		zone := time.FixedZone("", 60*(rnd.IntN(2*18*60)-18*60))
		for layout, kind := range map[string]TimeKind{
			time.RFC3339Nano:                KindRFC3339,
			"2006-01-02 15:04:05.000000000": KindDateTime,
			"2006-01-02T15:04:05,999999":    KindDateTime,
		} {
			written := at.In(zone)
			if kind == KindDateTime {
				written = at.UTC()
			}
			text := written.Format(layout)
			if us, got, err := parseTime(text); us != at.UnixMicro() || got != kind || err != nil {
				t.Fatalf("parseTime(%q) = %d, %s, %v; want %d", text, us, got, err, at.UnixMicro())
			}
		}
	}
}

// Lines are those of bufio.Scanner, whatever pieces they come in.
func TestLinesRoundTrip(t *testing.T) {
	g := newGenerated(15)
	for range rounds / 10 {
		data := make([]byte, g.IntN(3000))
		for i := range data {
			data[i] = pick(g, byte('x'), 'y', '\n', '\r', 0)
		}
		var want []string
		for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
			want = append(want, s.Text())
		}
		src := &pieces{data: data, g: g}
		var got []string
		l := newLineReader(src, 4000)
		l.buf = l.buf[:1+g.IntN(50)]
		for {
			line, err := l.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q:\n got %q\nwant %q", data, got, want)
		}
	}
}

// pieces gives its data in random pieces, some of them empty.
type pieces struct {
	data []byte
	g    generated
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:p.g.IntN(len(b)+1)], p.data)
	p.data = p.data[n:]
	return n, nil
}

// The events are the same whether the log is plain, compressed, cut into
// members, or comes byte by byte.
func TestSameEventsEveryWay(t *testing.T) {
	for name, data := range map[string][]byte{
		"combined": newGenerated(16).combined(300),
		"json":     newGenerated(16).json(300),
		"csv":      newGenerated(16).csv(300),
	} {
		want, _, err := readAll(t, string(data), Options{})
		if n := strings.Count(want, "\n") + 1; err != nil || n != 300 {
			t.Fatalf("%s: %d events, %v", name, n, err)
		}
		half := len(data) / 2
		members := append(compressed(t, data[:half]), compressed(t, data[half:])...)
		crlf := bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
		for way, other := range map[string][]byte{
			"gzip": compressed(t, data), "members": members, "crlf": crlf, "mark": append([]byte(byteOrderMark), data...), "no end": data[:len(data)-1],
		} {
			if got, _, err := readAll(t, string(other), Options{}); got != want || err != nil {
				t.Errorf("%s, %s: other events, %v", name, way, err)
			}
		}
		r, err := Open([]string{"-"}, iotest.OneByteReader(bytes.NewReader(compressed(t, data))), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := drain(t, r); n != 300 {
			t.Errorf("%s, byte by byte: %d events", name, n)
		}
	}
}
