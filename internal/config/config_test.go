package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/config"
)

const whole = `# all of it
instances: 3
rules: rules.yaml
watch: false
listen: ["127.0.0.1:9000", "unix:/run/slidegate.sock", "[::1]:0"]
socket_mode: 0600
insecure: listen without auth
secret_key_file: /keys/secret
id_key_file: id.key
tls: {cert: tls.crt, key: tls.key, client_ca: "my ca.pem"}
limits:
  connections: 100
  header: 8KiB
  body: 2MiB
  line: 4096
  batch: 10
  attributes: 20
  name: 64
  value: 1KiB
timeouts: {header: 1s, read: 2s, write: 1m30s, idle: 5m}
drain: {delay: 3s, timeout: 20s}
log: {level: debug, format: json, access: true}
memory: {max_keys: 1000, max_bytes: 2GiB, sketch_bytes: 0}
state: {dir: state, durability: every, interval: 100ms, snapshot_every: 1m, start_empty: true}
auth:
  tokens:
    - {name: gateway, scopes: [check], file: gateway.token}
    - {name: "null", scopes: [read, admin], env: OPS_TOKEN}
`

func wholeConfig() *config.Config {
	return &config.Config{
		Rules: "/etc/sg/rules.yaml", Instances: 3, Listen: []config.Address{{"tcp", "127.0.0.1:9000"}, {"unix", "/run/slidegate.sock"}, {"tcp", "[::1]:0"}},
		SocketMode: 0o600, Insecure: config.WithoutAuth, SecretKeyFile: "/keys/secret", IDKeyFile: "/etc/sg/id.key",
		TLS:      config.TLS{Cert: "/etc/sg/tls.crt", Key: "/etc/sg/tls.key", ClientCA: "/etc/sg/my ca.pem"},
		Limits:   config.Limits{Connections: 100, HeaderBytes: 8 << 10, BodyBytes: 2 << 20, LineBytes: 4096, Batch: 10, Attributes: 20, NameBytes: 64, ValueBytes: 1 << 10},
		Timeouts: config.Timeouts{Header: time.Second, Read: 2 * time.Second, Write: 90 * time.Second, Idle: 5 * time.Minute},
		Drain:    config.Drain{Delay: 3 * time.Second, Timeout: 20 * time.Second},
		Log:      config.Log{Level: "debug", Format: "json", Access: true},
		Memory:   config.Memory{MaxKeys: 1000, MaxBytes: 2 << 30},
		State:    config.State{Dir: "/etc/sg/state", Durability: "every", Interval: 100 * time.Millisecond, SnapshotEvery: time.Minute, StartEmpty: true},
		Tokens:   []config.Token{{Name: "gateway", Scopes: []string{"check"}, File: "/etc/sg/gateway.token"}, {Name: "null", Scopes: []string{"read", "admin"}, Env: "OPS_TOKEN"}},
	}
}

// TestParse: every setting is read, and what is printed reads back as the same.
func TestParse(t *testing.T) {
	c := config.Default()
	if err := c.Parse("daemon.yaml", "/etc/sg", []byte(whole)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(c, wholeConfig()) {
		t.Errorf("got %+v", c)
	}
	for _, c := range []*config.Config{wholeConfig(), config.Default()} {
		var printed bytes.Buffer
		if err := c.Print(&printed); err != nil {
			t.Fatal(err)
		}
		again := config.Default()
		if err := again.Parse("printed", "/elsewhere", printed.Bytes()); err != nil || !reflect.DeepEqual(again, c) {
			t.Errorf("%v: printed as\n%sand read as %+v", err, &printed, again)
		}
	}
}

// TestParseNothing: a file that says nothing changes nothing.
func TestParseNothing(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "{}", "\ufeff"} {
		c := config.Default()
		if err := c.Parse("f", "", []byte(text)); err != nil || !reflect.DeepEqual(c, config.Default()) {
			t.Errorf("%q: %v, %+v", text, err, c)
		}
	}
}

// TestBadFiles: what is wrong is told with its place and the way out.
func TestBadFiles(t *testing.T) {
	for text, want := range map[string]string{
		"rulez: r.yaml":                            `f:1:1: unknown setting "rulez"; did you mean rules?`,
		"port: 80":                                 `f:1:1: unknown setting "port"; there are rules, instances, watch, `,
		"limits:\n  bodi: 1":                       `f:2:3: unknown setting "limits.bodi"; did you mean body?`,
		"limits:\n  x: 1":                          `f:2:3: unknown setting "limits.x"; limits has connections, header, body, line, batch, attributes, name, value`,
		"rules: a\nrules: b":                       `f:2:1: rules: it is given twice`,
		"rules: [a]":                               `f:1:8: rules: want one value, got a list`,
		"rules: ''":                                `f:1:8: rules: want the path of a file`,
		"rules:":                                   `f:1:1: rules: it has no value; leave the line out, or write one`,
		"rules: &a x":                              `f:1:8: rules: anchors and aliases are not taken: write the value out`,
		"limits: 5":                                `f:1:9: limits: want names and values, got a value`,
		"- a":                                      `f:1:1: want names and values, got a list`,
		"watch: yes":                               `f:1:8: watch: "yes": want true or false`,
		"listen: {a: b}":                           `f:1:9: listen: want a list, got a mapping`,
		"listen: [8080]":                           `f:1:10: listen[0]: "8080": it takes an address and a port, as in 127.0.0.1:8080, or a socket, as in unix:/run/slidegate.sock`,
		"listen: [[a]]":                            `f:1:10: listen[0]: want one value, got a list`,
		"listen: unix:run/s":                       `f:1:9: listen[0]: "unix:run/s": a socket has a path from the root`,
		"listen: unix:/" + manyX(99):               `the path of a socket has 88 bytes at most`,
		"socket_mode: 0888":                        `f:1:14: socket_mode: "0888": want the permissions of a socket in octal, such as 0660`,
		"insecure: true":                           `f:1:11: insecure: "true": want listen without auth`,
		"limits: {connections: ten}":               `f:1:23: limits.connections: "ten": want a whole number from 1 to 1048576`,
		"limits: {connections: 0}":                 `limits.connections: "0": want a whole number from 1 to 1048576`,
		"limits: {body: 1MB}":                      `f:1:16: limits.body: "1MB": want a size from 1KiB to 64MiB, in bytes or with KiB, MiB or GiB behind it`,
		"limits: {body: 99999999999TiB}":           `want a size from 1KiB to 64MiB`,
		"limits: {body: -1}":                       `want a size from 1KiB to 64MiB`,
		"limits: {header: 2GiB}":                   `limits.header: "2GiB": want a size from 1KiB to 1MiB`,
		"timeouts: {read: 30}":                     `f:1:18: timeouts.read: "30": want a time from 1ms to 1h0m0s, such as 5s`,
		"timeouts: {read: 0s}":                     `want a time from 1ms to 1h0m0s`,
		"drain: {delay: -1s}":                      `want a time from 0s to 1h0m0s`,
		"log: {level: loud}":                       `f:1:14: log.level: "loud": want debug or info or warn or error`,
		"auth: {token: x}":                         `f:1:8: unknown setting "auth.token"; did you mean tokens?`,
		"auth: {tokens: x}":                        `f:1:16: auth.tokens: want a list, got a value`,
		"auth: {tokens: [{key: x}]}":               `f:1:18: unknown setting "auth.tokens[0].key"; auth.tokens[0] has name, scopes, file, env`,
		"auth: {tokens: [{scopes: check}]}":        `f:1:26: auth.tokens[0].scopes: want a list of check, report, read, admin, got a value`,
		"auth: {tokens: [{scopes: [all]}]}":        `f:1:27: auth.tokens[0].scopes: unknown scope "all"; there are check, report, read, admin`,
		"auth: {tokens: [{scopes: [read, read]}]}": `f:1:33: auth.tokens[0].scopes: read is given twice`,
		"auth: {tokens: [{name: [a]}]}":            `f:1:24: auth.tokens[0].name: want one value, got a list`,
		"rules: a\n---\nrules: b":                  `f:1:1: a second document begins in it: settings are one`,
		"rules: [":                                 `f:`,
		"rules: \xff":                              `f:`,
		"\trules: a":                               `f:1:1: not valid YAML: `,
		"watch: 1\nrules: [a]\nlimits: {x: 1}":     "f:1:8: watch: \"1\": want true or false\nf:2:8: rules: want one value, got a list\nf:3:10: unknown setting \"limits.x\"",
	} {
		err := config.Default().Parse("f", "", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

func manyX(n int) string { return strings.Repeat("x", n) }

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "daemon.yaml")
	if err := os.WriteFile(path, []byte("rules: sub/rules.yaml\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	if err := c.ReadFile(path); err != nil || c.Rules != filepath.Join(dir, "sub/rules.yaml") {
		t.Errorf("%v, %s", err, c.Rules)
	}
	for _, name := range []string{dir, filepath.Join(dir, "none")} {
		if err := c.ReadFile(name); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, bytes.Repeat([]byte("#"), 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.ReadFile(large); err == nil || !strings.Contains(err.Error(), "over 1MiB") {
		t.Error(err)
	}
}

// TestEnvironment: a variable wins over the file, and a flag over the variable.
func TestEnvironment(t *testing.T) {
	env := map[string]string{
		"SLIDEGATE_LISTEN": "127.0.0.1:1, unix:/s", "SLIDEGATE_LIMITS_BODY": "2MiB", "SLIDEGATE_LOG_FORMAT": "json", "SLIDEGATE_RULES": "r.yaml",
		"SLIDEGATE_WATCH": "", "SLIDEGATE_PORT": "tcp://10.0.0.1:80", "SLIDEGATE_SERVICE_HOST": "10.0.0.1",
	}
	c := config.Default()
	if err := c.Parse("f", "/d", []byte("{limits: {body: 1KiB, batch: 7}, rules: f.yaml}")); err != nil {
		t.Fatal(err)
	}
	if err := c.ReadEnv(func(name string) string { return env[name] }); err != nil {
		t.Fatal(err)
	}
	if err := c.Set("rules", "flag.yaml"); err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Listen, want.Log.Format, want.Rules = []config.Address{{"tcp", "127.0.0.1:1"}, {"unix", "/s"}}, "json", "flag.yaml"
	want.Limits.BodyBytes, want.Limits.Batch = 2<<20, 7
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v", c)
	}
	env["SLIDEGATE_LIMITS_BODY"], env["SLIDEGATE_LISTEN"] = "much", "here"
	err := c.ReadEnv(func(name string) string { return env[name] })
	if err == nil || !strings.Contains(err.Error(), `SLIDEGATE_LIMITS_BODY: "much": want a size`) || !strings.Contains(err.Error(), `SLIDEGATE_LISTEN: "here": it takes an address`) {
		t.Error(err)
	}
	if err := c.Set("nothing", "x"); err == nil {
		t.Error("there is no such setting")
	}
	if names := config.Environment(); names[0] != "SLIDEGATE_RULES" || len(names) < 20 {
		t.Error(names)
	}
}

func TestValidate(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                                     "",
		"listen: []":                             "listen: there is no address; say 127.0.0.1:8080 or unix:/run/slidegate.sock",
		"listen: ['127.0.0.1:1', '127.0.0.1:1']": "listen: 127.0.0.1:1 is named twice",
		"listen: ['127.0.0.1:0', '127.0.0.1:0']": "",
		"listen: ['127.9.9.9:80', '[::1]:80', 'localhost:80', 'unix:/s', '[::ffff:127.0.0.1]:80']": "",
		"listen: ':8080'":                                "others than this machine can connect to :8080, and nobody is asked who he is: listen on 127.0.0.1, give auth.tokens or tls.client_ca, or say insecure: listen without auth",
		"listen: '0.0.0.0:80'":                           "others than this machine can connect to 0.0.0.0:80",
		"listen: 'localhost.example:80'":                 "others than this machine can connect to",
		"{listen: ':80', insecure: listen without auth}": "",
		"{listen: ':80', auth: {tokens: [{name: a, scopes: [read], env: A}]}}": "",
		"{listen: ':80', tls: {cert: c, key: k, client_ca: ca}}":               "",
		"{listen: ':80', tls: {cert: c, key: k}}":                              "others than this machine",
		"tls: {cert: c}":                                                                         "tls: cert and key go together: name both files",
		"tls: {client_ca: c}":                                                                    "tls.client_ca: clients can only show a certificate where there is one of the server",
		"auth: {tokens: [{scopes: [read], env: A}]}":                                             "auth.tokens[0]: it has no name",
		"auth: {tokens: [{name: a, scopes: [], env: A}]}":                                        "auth.tokens[0]: it is for nothing; give it scopes among check, report, read, admin",
		"auth: {tokens: [{name: a, scopes: [read]}]}":                                            "auth.tokens[0]: say where the token stands",
		"auth: {tokens: [{name: a, scopes: [read], env: A, file: b}]}":                           "one of the two",
		"auth: {tokens: [{name: a, scopes: [read], env: A}, {name: a, scopes: [read], env: B}]}": `auth.tokens[1]: the name "a" is taken`,
		"drain: {delay: 1s, timeout: 0s}":                                                        "drain.timeout: 0 would cut every request",
	} {
		c := config.Default()
		if err := c.Parse("f", "/d", []byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		err := c.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

// FuzzParse: whatever is in a file, it is read or refused with a place, and what was
// read is printed so that it reads back.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("auth: {tokens: [{name: 1}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := config.Default()
		if err := c.Parse("f", "/d", data); err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("no place: %v", err)
			}
			return
		}
		if c.Validate() != nil {
			return
		}
		var printed bytes.Buffer
		if err := c.Print(&printed); err != nil {
			t.Fatal(err)
		}
		again := config.Default()
		if err := again.Parse("f", "/d", printed.Bytes()); err != nil || !reflect.DeepEqual(c, again) {
			t.Errorf("%v\n%s", err, &printed)
		}
	})
}
