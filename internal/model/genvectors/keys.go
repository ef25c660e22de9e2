package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/slidegate/slidegate/internal/model"
)

// keyVector is one line of keys.jsonl: the parts of a key as a rule writes
// them, which attributes are addresses, the attributes of an event, and the
// key that they make. Without "key" a part is missing.
type keyVector struct {
	Parts   []string          `json:"parts"`
	Address []string          `json:"address,omitempty"`
	Shared  bool              `json:"shared,omitempty"`
	Attrs   map[string]string `json:"attrs"`
	Key     *string           `json:"key,omitempty"`
}

func writeKeys() error {
	user, phone7 := model.KeySource{Attr: "user"}, model.KeySource{Attr: "phone", Chars: 7}
	route := model.KeySource{Attr: "route"}
	ip := model.KeySource{Attr: "ip", Address: true, V4: 32, V6: 64}
	wide := model.KeySource{Attr: "ip", Address: true, V4: 24, V6: 48}
	var lines []keyVector
	add := func(parts []string, shared bool, sources []model.KeyPart, attrs ...map[string]string) {
		for _, a := range attrs {
			v := keyVector{Parts: parts, Shared: shared, Attrs: a}
			for _, p := range parts {
				if strings.HasPrefix(p, "ip") || strings.Contains(p, "|ip") {
					v.Address = []string{"ip"}
				}
			}
			if key, whole := model.Key(sources, shared, a); whole {
				v.Key = &key
			}
			lines = append(lines, v)
		}
	}
	one := func(name, value string) map[string]string { return map[string]string{name: value} }
	two := func(a, b string) map[string]string { return map[string]string{"user": a, "route": b} }
	add([]string{"user", "route"}, false, []model.KeyPart{{user}, {route}},
		two("aa", "b"), two("a", "ab"), two("a:b", "c"), two("a", "b:c"), two("a%3Ab", "c"), two("a|b", "c"), two("", "ab"),
		two("1:a", "-"), two("{", "}"), two("sg1:", "a\x00b\n"), one("user", "a"))
	add([]string{"user", "route"}, true, []model.KeyPart{{user}, {route}}, one("user", "a"), one("route", "a"), map[string]string{}, two("-", "-"))
	add([]string{"user"}, false, []model.KeyPart{{user}},
		one("user", "张三"), one("user", strings.Repeat("x", 1024)), one("user", strings.Repeat("x", 1025)), one("user", "007"))
	add([]string{"phone/7"}, false, []model.KeyPart{{phone7}},
		one("phone", "13800000000"), one("phone", "138"), one("phone", "电话号码是一二三四五"), one("phone", ""))
	add([]string{"ip"}, false, []model.KeyPart{{ip}},
		one("ip", "192.0.2.1"), one("ip", "::ffff:192.0.2.1"), one("ip", "192.0.2.1:8080"), one("ip", "2001:db8:1:2::1"),
		one("ip", "2001:0DB8:1:2:0:0:0:5"), one("ip", "[2001:db8:1:3::7]:443"), one("ip", "[2001:db8:1:3::7]"), one("ip", "fe80::1%eth0"), one("ip", "::1"))
	add([]string{"ip/24/48"}, false, []model.KeyPart{{wide}}, one("ip", "192.0.2.77"), one("ip", "2001:db8:1:2::1"))
	add([]string{"user|ip"}, false, []model.KeyPart{{user, ip}},
		one("user", "192.0.2.1"), one("ip", "192.0.2.1"), map[string]string{"user": "", "ip": "192.0.2.1"}, map[string]string{"user": "u", "ip": "192.0.2.1"}, one("user", ""))
	add([]string{}, false, nil, map[string]string{})
	w := &writer{}
	for _, l := range lines {
		w.line(l)
	}
	return os.WriteFile(filepath.Join("testdata", "vectors", "keys.jsonl"), w.out.Bytes(), 0o644)
}
