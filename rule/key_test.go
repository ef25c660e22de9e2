package rule

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/slidegate/slidegate"
	"pgregory.net/rapid"
)

// compileKey returns a rule with the given key.
func compileKey(tb testing.TB, missing string, parts []string, addresses ...string) *Compiled {
	tb.Helper()
	attrs := map[string]Attribute{"user": {}, "route": {}, "phone": {}, "ip": {}}
	for _, a := range addresses {
		attrs[a] = Attribute{Type: "address"}
	}
	p, _, err := Compile(&Set{Attributes: attrs, Rules: []Rule{{Name: "r", Key: parts, MissingKey: missing, Limits: []Limit{{Limit: "1 per 1s"}}}}})
	if err != nil {
		tb.Fatal(err)
	}
	return p.Rule("r")
}

// TestKeyVectors holds the keys that every implementation shares.
func TestKeyVectors(t *testing.T) {
	f, err := os.Open("../testdata/vectors/keys.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, n := bufio.NewScanner(f), 0
	for ; lines.Scan(); n++ {
		var v struct {
			Parts, Address []string
			Shared         bool
			Attrs          map[string]string
			Key            *string
		}
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		missing := "skip"
		if v.Shared {
			missing = "shared"
		}
		ev := slidegate.Event{Name: "e"}
		for name, value := range v.Attrs {
			ev.Attrs = append(ev.Attrs, slidegate.String(name, value))
		}
		key, found, err := compileKey(t, missing, v.Parts, v.Address...).AppendKey(nil, &ev, nil)
		switch {
		case err != nil:
			t.Errorf("%s: %v", lines.Bytes(), err)
		case v.Key == nil && found != KeySkip:
			t.Errorf("%s: made the key %q", lines.Bytes(), key)
		case v.Key != nil && string(key) != *v.Key:
			t.Errorf("got  %q\nwant %q", key, *v.Key)
		}
	}
	if n < 40 {
		t.Errorf("only %d vectors", n)
	}
}

// TestKeysNeverCollide holds that different parts make different keys, any
// bytes, missing parts and alternatives among them.
func TestKeysNeverCollide(t *testing.T) {
	r := compileKey(t, "shared", []string{"user|phone", "route"})
	part := rapid.OneOf(
		rapid.SampledFrom([]string{"", "-", "a", "1:a", "1|", "#64:", ":", "2:", "\x00", "\n", "\xff\xfe", "{}", "sg1:", strings.Repeat("x", 1024), strings.Repeat("x", 1025)}),
		rapid.StringN(0, 6, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		var keys [2][]byte
		var says [2][]string
		for i := range keys {
			ev := slidegate.Event{Name: "e"}
			for _, name := range []string{"user", "phone", "route"} {
				if rapid.Bool().Draw(t, "has "+name) {
					ev.Attrs = append(ev.Attrs, slidegate.String(name, part.Draw(t, name)))
				}
			}
			key, _, err := r.AppendKey(nil, &ev, nil)
			if err != nil {
				t.Fatal(err)
			}
			keys[i], says[i] = key, meaning(&ev)
		}
		if same := slices.Equal(says[0], says[1]); same != bytes.Equal(keys[0], keys[1]) {
			t.Fatalf("%q and %q make %q and %q", says[0], says[1], keys[0], keys[1])
		}
	})
}

// meaning is what the key user|phone, route stands for.
func meaning(ev *slidegate.Event) []string {
	first := "none"
	for _, name := range []string{"phone", "user"} {
		if v, ok := ev.Attr(name); ok && v.String() != "" {
			first = name + "=" + v.String()
		}
	}
	second := "none"
	if v, ok := ev.Attr("route"); ok {
		second = "route=" + v.String()
	}
	return []string{first, second}
}

func TestKeyOfNumbers(t *testing.T) {
	r := compileKey(t, "skip", []string{"user"})
	literal := func(s string) slidegate.Value {
		v, err := slidegate.NumberValue(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		value slidegate.Value
		want  string
	}{
		{slidegate.IntValue(42), "2:42"},
		{slidegate.IntValue(-9223372036854775808), "20:-9223372036854775808"},
		{slidegate.FloatValue(1.5), "3:1.5"},
		{slidegate.FloatValue(1e21), "22:1000000000000000000000"},
		{literal("12345678901234567890123"), "23:12345678901234567890123"},
		{literal("1.0"), "3:1.0"},
		{slidegate.TextValue("42"), "2:42"},
	} {
		ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{{Name: "user", Value: c.value}}}
		if key, _, err := r.AppendKey(nil, &ev, nil); err != nil || string(key) != c.want {
			t.Errorf("%v: %q %v, want %q", c.value, key, err, c.want)
		}
	}
}

func TestMissingKey(t *testing.T) {
	ev := slidegate.Event{Name: "e"}
	for missing, want := range map[string]KeyResult{"": KeySkip, "skip": KeySkip, "reject": KeyReject, "shared": KeyFound} {
		if _, got, err := compileKey(t, missing, []string{"user"}).AppendKey(nil, &ev, nil); err != nil || got != want {
			t.Errorf("missing_key %q: %v, %v", missing, got, err)
		}
	}
}

func TestAddressErrors(t *testing.T) {
	r := compileKey(t, "skip", []string{"ip"}, "ip")
	for _, text := range []string{"", "nonsense", "192.0.2.256", "1.2.3", "2001:db8::1::2", "192.0.2.1/24", " 192.0.2.1", "localhost:80", "[]", "[::1", strings.Repeat("1", 5000)} {
		ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("ip", text)}}
		if _, _, err := r.AppendKey(nil, &ev, nil); !errors.Is(err, slidegate.ErrEvent) || !strings.Contains(err.Error(), "attribute ip") || len(err.Error()) > 200 {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.Int("ip", 12)}}
	if _, _, err := r.AppendKey(nil, &ev, nil); !errors.Is(err, slidegate.ErrEvent) {
		t.Errorf("a number: %v", err)
	}
}

func TestKeyErrors(t *testing.T) {
	for part, want := range map[string]string{
		"":             "not the name of an attribute",
		"user/0":       "first 1 to 1024",
		"user/x":       "first 1 to 1024",
		"user/+7":      "first 1 to 1024",
		"user/7/8":     "first 1 to 1024",
		"user/2000":    "first 1 to 1024",
		"ip/0":         "1 to 32",
		"ip/33":        "1 to 32",
		"ip/24/0":      "1 to 128",
		"ip/24/129":    "1 to 128",
		"ip/24/x":      "1 to 128",
		"user|":        "not the name",
		"a b":          "not the name",
		"user, ip":     "not the name",
		"phnoe":        "is phone meant",
		"user|phnoe":   "is phone meant",
		"nothing_like": "not declared",
	} {
		set := &Set{
			Attributes: map[string]Attribute{"user": {}, "phone": {}, "ip": {Type: "address"}},
			Rules:      []Rule{{Name: "r", Key: []string{part}, Limits: []Limit{{Limit: "1 per 1s"}}}},
		}
		_, _, err := Compile(set)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "rule r: key[0]") {
			t.Errorf("key %q: %v; want %q", part, err, want)
		}
	}
}

// TestPlainIPv4 holds the short way for addresses against the long one.
func TestPlainIPv4(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(`[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}`),
			rapid.StringMatching(`[0-9.]{0,16}`),
		).Draw(t, "text")
		addr, err := netip.ParseAddr(text)
		if want := err == nil && addr.String() == text; isPlainIPv4(text) != want {
			t.Fatalf("%q: %v, %v %v", text, !want, addr, err)
		}
	})
}
