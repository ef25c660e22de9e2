package replay

import (
	"errors"
	"strings"
	"testing"
)

// base is the time of the lines of the tests.
const (
	stamp  = `[01/Mar/2026:10:00:00 +0000]`
	atTime = ` @1772359200000000`
)

func TestCombined(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"combined", `192.0.2.1 - alice ` + stamp + ` "GET /a/b HTTP/1.1" 200 512 "https://ref.example/" "curl/8.5"`,
			`http ip=192.0.2.1 user=alice method=GET path=/a/b status=#200 bytes=#512 referer=https://ref.example/ user_agent=curl/8.5`},
		{"common", `192.0.2.1 - - ` + stamp + ` "GET / HTTP/1.0" 304 -`, `http ip=192.0.2.1 method=GET path=/ status=#304`},
		{"all absent", `2001:db8::1 - - ` + stamp + ` "GET / HTTP/2.0" 200 0 "-" "-"`, `http ip=2001:db8::1 method=GET path=/ status=#200 bytes=#0`},
		{"empty texts are present", `h - - ` + stamp + ` "GET / HTTP/3" 200 0 "" ""`, `http ip=h method=GET path=/ status=#200 bytes=#0 referer= user_agent=`},
		{"query", `h - - ` + stamp + ` "GET /find?q=a?b HTTP/1.1" 200 1`, `http ip=h method=GET path=/find query=q=a?b status=#200 bytes=#1`},
		{"empty query", `h - - ` + stamp + ` "GET /? HTTP/1.1" 200 1`, `http ip=h method=GET path=/ query= status=#200 bytes=#1`},
		{"absolute", `h - - ` + stamp + ` "CONNECT a.example:443 HTTP/1.1" 405 1`, `http ip=h method=CONNECT path=a.example:443 status=#405 bytes=#1`},
		{"space in the path", `h - - ` + stamp + ` "GET /a b HTTP/1.1" 400 1`, `http ip=h method=GET path=/a b status=#400 bytes=#1`},
		{"escapes", `h - a\"b ` + stamp + ` "GET /\"\\\xe4\t\q\x4 HTTP/1.1" 200 1 "\xD0\xAF" "say \"hi\""`,
			"http ip=h user=a\"b method=GET path=/\"\\\xe4\t\\q\\x4 status=#200 bytes=#1 referer=Я user_agent=say \"hi\""},
		{"backslash before the closing quote", `h - - ` + stamp + ` "GET / HTTP/1.1" 200 1 "C:\\" "b"`, `http ip=h method=GET path=/ status=#200 bytes=#1 referer=C:\ user_agent=b`},
		{"escapes of control characters", `h - - ` + stamp + ` "GET / HTTP/1.1" 200 1 "\n\r\t\b\v\f\X41\xzz" "\"`,
			"http ip=h method=GET path=/ status=#200 bytes=#1 referer=\n\r\t\b\v\f\\X41\\xzz user_agent=\""},
		{"no request", `h - - ` + stamp + ` "-" 408 0 "-" "-"`, `http ip=h request=- status=#408 bytes=#0`},
		{"empty request", `h - - ` + stamp + ` "" 400 0`, `http ip=h request= status=#400 bytes=#0`},
		{"handshake", `h - - ` + stamp + ` "\x16\x03\x01\x00\xee" 400 226`, `http ip=h request=\x16\x03\x01\x00\xee status=#400 bytes=#226`},
		{"request of two words", `h - - ` + stamp + ` "GET /" 200 1`, `http ip=h request=GET / status=#200 bytes=#1`},
		{"no path", `h - - ` + stamp + ` "GET HTTP/1.1" 400 1`, `http ip=h request=GET HTTP/1.1 status=#400 bytes=#1`},
		{"two spaces and no path", `h - - ` + stamp + ` "GET  HTTP/1.1" 400 1`, `http ip=h request=GET  HTTP/1.1 status=#400 bytes=#1`},
		{"no method", `h - - ` + stamp + ` "\x03 / HTTP/1.1" 400 1`, `http ip=h request=\x03 / HTTP/1.1 status=#400 bytes=#1`},
		{"other protocol", `h - - ` + stamp + ` "GET / SIP/2.0" 400 1`, `http ip=h request=GET / SIP/2.0 status=#400 bytes=#1`},
		{"protocol without a version", `h - - ` + stamp + ` "GET / HTTP/" 400 1`, `http ip=h request=GET / HTTP/ status=#400 bytes=#1`},
		{"status was never sent", `h - - ` + stamp + ` "GET / HTTP/1.1" 000 0`, `http ip=h method=GET path=/ status=#0 bytes=#0`},
		{"no status", `h - - ` + stamp + ` "GET / HTTP/1.1" - -`, `http ip=h method=GET path=/`},
		{"user with spaces and brackets", `h - a [b] c ` + stamp + ` "GET / HTTP/1.1" 200 1`, `http ip=h user=a [b] c method=GET path=/ status=#200 bytes=#1`},
		{"empty user", `h -  ` + stamp + ` "GET / HTTP/1.1" 200 1`, `http ip=h method=GET path=/ status=#200 bytes=#1`},
		{"more fields", `h - - ` + stamp + ` "GET / HTTP/1.1" 200 1 "-" "b" 0.004 "203.0.113.9"`, `http ip=h method=GET path=/ status=#200 bytes=#1 user_agent=b`},
		{"more behind the common format", `h - - ` + stamp + ` "GET / HTTP/1.1" 200 1 0.004`, `http ip=h method=GET path=/ status=#200 bytes=#1`},
		{"cut in the user agent", `h - - ` + stamp + ` "GET / HTTP/1.1" 200 1 "-" "Mozilla/5.0 (X`, `http ip=h method=GET path=/ status=#200 bytes=#1 user_agent=Mozilla/5.0 (X`},
		{"cut in the referer", `h - - ` + stamp + ` "GET / HTTP/1.1" 200 1 "http://`, `http ip=h method=GET path=/ status=#200 bytes=#1 referer=http://`},
		{"virtual host", `www.example:443 192.0.2.1 - - ` + stamp + ` "GET / HTTP/1.1" 200 1 "-" "b"`, `http ip=192.0.2.1 vhost=www.example method=GET path=/ status=#200 bytes=#1 user_agent=b`},
		{"virtual host and user", `www.example:80 2001:db8::1 - a b ` + stamp + ` "GET / HTTP/1.1" 200 1`, `http ip=2001:db8::1 user=a b vhost=www.example method=GET path=/ status=#200 bytes=#1`},
		{"virtual host that is an address", `[2001:db8::2]:80 192.0.2.1 - - ` + stamp + ` "GET / HTTP/1.1" 200 1`, `http ip=192.0.2.1 vhost=[2001:db8::2] method=GET path=/ status=#200 bytes=#1`},
		{"address and port", `192.0.2.1:4711 - a b ` + stamp + ` "GET / HTTP/1.1" 200 1`, `http ip=192.0.2.1:4711 user=a b method=GET path=/ status=#200 bytes=#1`},
		{"address and port, and an ident", `192.0.2.1:4711 me a ` + stamp + ` "GET / HTTP/1.1" 200 1`, `http ip=192.0.2.1:4711 user=a method=GET path=/ status=#200 bytes=#1`},
		{"address that ends in digits", `2001:db8::1 me a b ` + stamp + ` "GET / HTTP/1.1" 200 1`, `http ip=2001:db8::1 user=a b method=GET path=/ status=#200 bytes=#1`},
		{"bytes as they are", "h - \x00\xff " + stamp + ` "GET /` + "\xc3" + ` HTTP/1.1" 200 1`, "http ip=h user=\x00\xff method=GET path=/\xc3 status=#200 bytes=#1"},
	} {
		var rec Record
		p := combinedParser{event: DefaultEvent}
		kind, err := p.parse(c.line, &rec)
		if err != nil || kind != KindCommonLog {
			t.Errorf("%s: %s, %v", c.name, kind, err)
			continue
		}
		if got := show(&rec); got != c.want+atTime {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want+atTime)
		}
	}
}

func TestCombinedErrors(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       error
	}{
		{"empty", ``, errNoAddress},
		{"one word", `hello`, errNoAddress},
		{"no address", ` - - ` + stamp, errNoAddress},
		{"no time", `h - - "GET / HTTP/1.1" 200 1`, errNoTime},
		{"one name only", `h - ` + stamp + ` "GET / HTTP/1.1" 200 1`, errNoTime},
		{"time cut", `h - - [01/Mar/2026:10:00:00`, errNoTime},
		{"ends behind the time", `h - - ` + stamp, errNoRequest},
		{"request without quotes", `h - - ` + stamp + ` GET / 200 1`, errNoRequest},
		{"cut in the request", `h - - ` + stamp + ` "GET /`, errCutRequest},
		{"the closing quote is escaped", `h - - ` + stamp + ` "GET / HTTP/1.1\" 200 1`, errCutRequest},
		{"ends behind the request", `h - - ` + stamp + ` "GET / HTTP/1.1"`, errNoStatus},
		{"status of two digits", `h - - ` + stamp + ` "GET / HTTP/1.1" 20 1`, errNoStatus},
		{"status of letters", `h - - ` + stamp + ` "GET / HTTP/1.1" abc 1`, errNoStatus},
		{"ends behind the status", `h - - ` + stamp + ` "GET / HTTP/1.1" 200`, errNoBytes},
		{"negative bytes", `h - - ` + stamp + ` "GET / HTTP/1.1" 200 -5`, errNoBytes},
		{"bytes without end", `h - - ` + stamp + ` "GET / HTTP/1.1" 200 ` + strings.Repeat("9", 400), errNoBytes},
	} {
		var rec Record
		p := combinedParser{event: DefaultEvent}
		if _, err := p.parse(c.line, &rec); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	var rec Record
	p := combinedParser{event: DefaultEvent}
	_, err := p.parse(`h - - [31/Feb/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1`, &rec)
	checkError(t, "a day that is not", err, `"31/Feb/2026:10:00:00 +0000" is not a time`)
}

// A status is kept from line to line; it must not be that of another line.
func TestCombinedStatusStays(t *testing.T) {
	p := combinedParser{event: DefaultEvent}
	var rec Record
	for _, status := range []string{"200", "404", "200", "999", "000", "404"} {
		if _, err := p.parse(`h - - `+stamp+` "GET / HTTP/1.1" `+status+` 1`, &rec); err != nil {
			t.Fatal(err)
		}
		v, _ := rec.Event.Attr("status")
		if want := strings.TrimPrefix(status, "00"); v.String() != want || !v.IsNumber() {
			t.Errorf("status %s is %s", status, v)
		}
	}
}

// FuzzCombined: no line panics, and each that parses is an event fit to be
// judged.
func FuzzCombined(f *testing.F) {
	for line := range strings.Lines(string(newGenerated(2).combined(8))) {
		f.Add(strings.TrimSpace(line))
	}
	f.Add(`h - a [b] ` + stamp + ` "\x16\"" 400 - "\\" "cut`)
	f.Fuzz(func(t *testing.T, line string) {
		var rec Record
		p := combinedParser{event: DefaultEvent}
		kind, err := p.parse(line, &rec)
		if err != nil {
			return
		}
		checkSane(t, line, kind, &rec)
		for _, name := range []string{"status", "bytes"} {
			if v, ok := rec.Event.Attr(name); ok && !v.IsNumber() {
				t.Errorf("%q: %s is no number: %q", line, name, v)
			}
		}
		_, hasPath := rec.Event.Attr("path")
		_, hasRequest := rec.Event.Attr("request")
		if hasPath == hasRequest {
			t.Errorf("%q: path %v, request %v; want one of them", line, hasPath, hasRequest)
		}
	})
}

// checkSane fails unless rec is fit to be judged, has a time in range and
// survives being written to a run and read back.
func checkSane(t *testing.T, line string, kind TimeKind, rec *Record) {
	t.Helper()
	if err := rec.Event.Validate(); err != nil {
		t.Errorf("%q: %v", line, err)
	}
	if us := rec.Event.Time.UnixMicro(); us < 0 || us > maxMicros || kind == KindNone {
		t.Errorf("%q: time %d, %s", line, us, kind)
	}
	var c codec
	var back Record
	if err := c.read(c.append(nil, rec), &back); err != nil || show(&back) != show(rec) {
		t.Errorf("%q: written and read back: %v\n got %q\nwant %q", line, err, show(&back), show(rec))
	}
}
