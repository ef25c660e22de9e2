package storetest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

func keyClauses() []clause {
	return []clause{
		{"any bytes are a key of their own", anyKey},
		{"keys that differ in one byte do not collide", oneByte},
		{"a key and its beginnings do not collide", prefixes},
		{"a key of 1 MB is read to its last byte", longKey},
		{"a key is read during the call only", keyIsBorrowed},
		{"windows of different identity never share a key", identities},
		{"windows of the same identity are the same", sameIdentity},
	}
}

// apart charges each key once, with a maximum of 1: all must pass, and none
// again.
func apart(s *tester, w *store.Window, keys []string) {
	s.Helper()
	p := sliding(1, minute)
	for _, want := range []bool{true, false} {
		for i, key := range keys {
			if got := s.decide(item(w, key, p, 1)).Admitted; got != want {
				s.Fatalf("key %d of %d, %.40q: admitted %v, want %v", i, len(keys), key, got, want)
			}
		}
	}
}

func anyKey(s *tester) {
	keys := []string{
		"", "\x00", "\x00\x00", "\n", "\r\n", " ", "a", "a ", " a", "A", "a\x00", "a\x00b", "a\nb", "a:b", "a::b",
		"{a}", "{a}b", "a{b}", "\xff", "\xff\xff", "\xfe\xff", "\xc3\x28", "号", "号码", "'", `"`, `\`, "*", "?", "[a]", "%s", "0", "-1", "nil",
		"\x02\x00\x00\x00ab", strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("\x00", 4096),
	}
	apart(s, s.window(), keys)
	// All of them in one request.
	w, p := s.window(), sliding(1, minute)
	var items []store.Item
	for _, key := range keys {
		items = append(items, item(w, key, p, 1))
	}
	s.admits(items...)
	s.refuses(items[0])
}

func oneByte(s *tester) {
	key := bytes.Repeat([]byte("k"), 64)
	keys := []string{string(key)}
	for i := range key {
		for bit := range 8 {
			key[i] ^= 1 << bit
			keys = append(keys, string(key))
			key[i] ^= 1 << bit
		}
	}
	apart(s, s.window(), keys)
}

func prefixes(s *tester) {
	var keys []string
	for n := range 300 {
		keys = append(keys, strings.Repeat("a", n))
	}
	for n := range 20 {
		keys = append(keys, strings.Repeat("\x00", n+1))
	}
	apart(s, s.window(), keys)
}

func longKey(s *tester) {
	long := strings.Repeat("0123456789abcdef", 1<<16)
	apart(s, s.window(), []string{long, long[:len(long)-1] + "g", "g" + long[1:], long[:len(long)-1]})
}

func keyIsBorrowed(s *tester) {
	w, p := s.window(), sliding(1, minute)
	key := []byte("first")
	it := store.Item{Window: w, Key: key, Limit: &p, Cost: 1}
	s.admits(it)
	copy(key, "other")
	s.admits(it)
	s.holds(w, "first", p, 1)
	s.holds(w, "other", p, 1)
}

// identities uses the same keys under identities whose text with the key's
// would read alike, and different algorithms.
func identities(s *tester) {
	all := append(timed(1, minute), events(1, 10))
	for _, p := range all {
		s.admits(item(s.window(), "k", p, 1))
	}
	p, base := sliding(1, minute), s.window().Identity()
	var items []store.Item
	for _, name := range []string{"", "a", "ab", "abc", "a:", "a:b", "a\x00", "\x00a", "{a}", "规则"} {
		w := store.NewWindow(base + name)
		for _, key := range []string{"", "b", "bc", ":b", "b:", "\x00", "c"} {
			items = append(items, item(w, key, p, 1))
		}
	}
	for i := range items {
		if !s.decide(items[i]).Admitted {
			s.Fatalf("%q of %q was charged by another", items[i].Key, items[i].Window.Identity())
		}
	}
	for i := range items {
		s.refuses(items[i])
	}
}

func sameIdentity(s *tester) {
	w := s.window()
	twin := store.NewWindow(w.Identity())
	s.each([]limit.Params{sliding(2, minute), gcra(2, minute, 2)}, func(s *tester, p limit.Params) {
		key := fmt.Sprint(p.Algorithm)
		s.admits(item(w, key, p, 1))
		s.admits(item(twin, key, p, 1))
		s.refuses(item(w, key, p, 1))
		s.refuses(item(twin, key, p, 1))
		s.reset(item(twin, key, p, 1))
		s.holds(w, key, p, 0)
	})
}
