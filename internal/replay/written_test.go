package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
)

// These tests write lines as other programs do, from what they know, and must get
// it back.

// word returns a text of 1 to n bytes without spaces, colons and brackets.
func (g generated) word(n int) string {
	const plain = "abcxyzABC019_-./@%é\x1b\xff"
	b := make([]byte, 1+g.IntN(n))
	for i := range b {
		b[i] = plain[g.IntN(len(plain))]
	}
	if string(b) == "-" { // which stands for what is absent
		return "x"
	}
	return string(b)
}

// written is a line of syslog before it was written.
type written struct {
	at                             time.Time
	host, app, pid, id, message    string
	priority                       int
	facility, severity, data, line string
}

// write writes it in one of the forms that there are.
func (w *written) write(g generated) (kind TimeKind) {
	tag := w.app
	if w.pid != "" {
		tag += "[" + w.pid + "]"
	}
	prefix := ""
	if w.priority >= 0 {
		prefix = fmt.Sprintf("<%d>", w.priority)
	}
	switch g.IntN(3) {
	case 0:
		w.id = ""
		w.line = fmt.Sprintf("%s%s %s %s: %s", prefix, w.at.Format(time.StampMicro), w.host, tag, w.message)
		return KindStamp
	case 1:
		w.id = ""
		w.line = fmt.Sprintf("%s%s %s %s: %s", prefix, w.at.In(time.FixedZone("", 3600*(g.IntN(25)-12))).Format("2006-01-02T15:04:05.000000-0700"), w.host, tag, w.message)
		return KindRFC3339
	default:
		absent := func(s string) string {
			if s == "" {
				return "-"
			}
			return s
		}
		w.line = fmt.Sprintf("%s1 %s %s %s %s %s %s %s", prefix, w.at.Format(time.RFC3339Nano), w.host, w.app, absent(w.pid), absent(w.id), absent(w.data), w.message)
		return KindRFC3339
	}
}

func TestSyslogWritten(t *testing.T) {
	g := newGenerated(31)
	names := strings.Fields("kern user mail daemon auth syslog lpr news uucp cron authpriv ftp ntp audit alert clock local0 local1 local2 local3 local4 local5 local6 local7")
	for range rounds {
		w := written{
			at: time.Date(2026, 1, 1, 0, 0, 0, 1000*g.IntN(1e6), time.UTC).Add(time.Duration(g.IntN(365*86_400)) * time.Second), host: g.word(9), app: g.word(9), priority: -1,
			message: strings.TrimPrefix(strings.NewReplacer("\n", "", "\r", "").Replace(g.bytes(30)), "\ufeff"),
		}
		if g.IntN(2) == 0 {
			w.pid = g.word(5)
		}
		if g.IntN(2) == 0 {
			w.id = g.word(5)
		}
		if g.IntN(2) == 0 {
			w.data = `[a@1 b="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "]", `\]`, "\n", "", "\r", "").Replace(g.bytes(12)) + `"][c]`
		}
		if g.IntN(2) == 0 {
			w.priority = g.IntN(192)
			w.facility = names[w.priority/8]
			w.severity = strings.Fields("emerg alert crit err warning notice info debug")[w.priority%8]
		}
		want := w.write(g)
		rec := Record{Event: slidegate.Event{Attrs: make([]slidegate.Attr, 3)}}
		p := syslogParser{event: "e", clock: newWallClock(&Options{Year: 2026})}
		kind, err := p.parse(w.line, &rec)
		if err != nil || kind != want || !rec.Event.Time.Equal(w.at) {
			t.Fatalf("%q: %s, %v, %v; want %v", w.line, kind, err, rec.Event.Time, w.at)
		}
		for name, text := range map[string]string{"host": w.host, "app": w.app, "pid": w.pid, "msgid": w.id, "message": w.message, "facility": w.facility, "severity": w.severity} {
			v, ok := rec.Event.Attr(name)
			if v.String() != text || ok != (text != "" || name == "message") {
				t.Fatalf("%q: %s is %q, %v; want %q", w.line, name, v, ok, text)
			}
		}
	}
}

// A line that was put together from parts comes apart into the same.
func TestPatternWritten(t *testing.T) {
	g := newGenerated(32)
	p := pattern(t, `^\[(?P<ts>\d+\.\d+)\] <(?P<who>[^>]*)>(?: (?P<event>[a-z]+))?(?: n=(?P<n>\S+))? \| (?P<rest>.*)$`, "")
	for range rounds {
		at := time.UnixMicro(1_700_000_000_000_000 + g.Int64N(1e12)).UTC()
		who, rest := strings.NewReplacer(">", "", "\n", "").Replace(g.bytes(9)), strings.ReplaceAll(g.bytes(9), "\n", "")
		line := fmt.Sprintf("[%d.%06d] <%s>", at.Unix(), at.Nanosecond()/1000, who)
		name, number := DefaultEvent, ""
		if g.IntN(2) == 0 {
			name = "login"
			line += " login"
		}
		if g.IntN(2) == 0 {
			number = fmt.Sprint(g.IntN(100))
			line += " n=" + number
		}
		line += " | " + rest
		var rec Record
		parser := patternParser{event: DefaultEvent, pattern: p, clock: newWallClock(&Options{})}
		kind, err := parser.parse(line, &rec)
		if err != nil || kind != KindSeconds || rec.Event.Name != name || !rec.Event.Time.Equal(at) {
			t.Fatalf("%q: %s, %v, %+v", line, kind, err, rec.Event)
		}
		for group, text := range map[string]string{"who": who, "rest": rest, "n": number} {
			v, ok := rec.Event.Attr(group)
			if v.String() != text || ok != (group != "n" || number != "") {
				t.Fatalf("%q: %s is %q, %v; want %q", line, group, v, ok, text)
			}
		}
	}
}

// A log of several years without a year in it is read at its times, whether the
// first year is given or derived, in any zone, also where it is out of order.
func TestStampsWritten(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"}
	for seed := range uint64(40) {
		g := newGenerated(100 + seed)
		z := zone(t, zones[g.IntN(len(zones))])
		at := time.Date(2015+g.IntN(8), time.Month(1+g.IntN(12)), 1+g.IntN(28), 12, 0, 0, 0, time.UTC)
		first := at.In(z).Year()
		var times []time.Time
		for range 60 {
			at = at.Add(time.Duration(g.IntN(60*86_400)) * time.Second)
			if at.In(z).Hour() < 4 {
				at = at.Add(4 * time.Hour) // clocks are set at night: see TestZones
			}
			times = append(times, at)
			if g.IntN(4) == 0 {
				times = append(times, at.Add(-time.Duration(g.IntN(3600))*time.Second)) // late
			}
		}
		if late := times[0].In(z); late.Year() != first {
			first = late.Year()
		}
		var lines []string
		for _, at := range times {
			lines = append(lines, at.In(z).Format(time.Stamp))
		}
		path := logFile(t, "a.log", []byte(stamped(lines...)))
		for _, opt := range []Options{
			{Zone: z, Year: first},
			{Zone: z, Now: func() time.Time { return slices.MaxFunc(times, time.Time.Compare).Add(time.Minute) }},
		} {
			r, err := Open([]string{path}, nil, opt)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range times {
				rec, err := r.Next()
				if err != nil || !rec.Event.Time.Equal(want) {
					t.Fatalf("seed %d, line %d: %s is %v, %v; want %s (%s)", seed, i+1, lines[i], rec, err, want, z)
				}
			}
			_ = r.Close()
		}
	}
}

// FuzzStamp: what is read without a year is what package time reads with it.
func FuzzStamp(f *testing.F) {
	f.Add("Nov 30 21:00:01", uint16(2026))
	f.Add("Feb 29 00:00:00.5", uint16(2024))
	f.Add("Dec  1 23:59:60", uint16(1970))
	f.Fuzz(func(t *testing.T, s string, year uint16) {
		if year < MinYear || year > MaxYear {
			return
		}
		clock := newWallClock(&Options{Year: int(year)})
		us, kind, err := clock.parse(s)
		if len(s) < 4 || monthNumber(s[:3]) == 0 {
			return
		}
		want, stdErr := time.Parse("2006 Jan _2 15:04:05", fmt.Sprintf("%04d %s", year, s))
		switch {
		case err == nil && kind != KindStamp:
			t.Errorf("%q is %s", s, kind)
		case err == nil && !strings.Contains(s, ":60") && (stdErr != nil || want.UnixMicro() != us):
			t.Errorf("%q in %d is %d; package time says %s, %v", s, year, us, want, stdErr)
		case err == nil && (us < 0 || us > maxMicros):
			t.Errorf("%q in %d is %d", s, year, us)
		}
	})
}
