// Package config reads the settings of the daemon, which are apart from the rules:
// from a strict YAML file, from the environment, and from flags. A flag wins over
// the environment, and that over the file.
//
// Begin with [Default], then call [Config.ReadFile], [Config.ReadEnv], [Config.Set]
// for each flag, and [Config.Validate]. Errors name the place, what is wrong with it,
// and what to write instead.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Scopes are what a token may be for.
var Scopes = []string{"check", "report", "read", "admin"}

// WithoutAuth is what the setting insecure says where the daemon is to listen for
// everybody and ask nobody who he is.
const WithoutAuth = "listen without auth"

// Config is the settings of the daemon. [Default] has the defaults.
type Config struct {
	// Rules is the path of the rule file; empty means the starter rules.
	Rules string
	// Instances is among how many daemons without a common store the limits are
	// divided.
	Instances int64
	// Watch says that the rule file and the certificates are read again when they
	// change.
	Watch bool
	// Listen is where the daemon listens.
	Listen []Address
	// SocketMode is the permissions of the unix sockets.
	SocketMode fs.FileMode
	// Insecure is empty or WithoutAuth.
	Insecure string
	// TLS holds the certificates of TCP listeners.
	TLS TLS
	// Tokens are who may ask; none means that nobody is asked for one.
	Tokens []Token
	// Limits bound what a client may send.
	Limits Limits
	// Timeouts cut slow clients.
	Timeouts Timeouts
	// Drain is how the daemon stops.
	Drain Drain
	// Log is what it writes down.
	Log Log
	// Memory is the ceiling of the store.
	Memory Memory
	// State is where the windows are kept over a restart.
	State State
	// SecretKeyFile and IDKeyFile hold the keys that hide secret attributes and
	// sign the ids of decisions. Empty means a random key.
	SecretKeyFile, IDKeyFile string
}

// Address is where to listen: "tcp" and an address with a port, or "unix" and a path.
type Address struct{ Network, Address string }

// String returns the address as it is written in the settings.
func (a Address) String() string {
	if a.Network == "unix" {
		return "unix:" + a.Address
	}
	return a.Address
}

// Loopback reports whether only this machine can connect: by a unix socket, or by
// an address of the loopback.
func (a Address) Loopback() bool {
	if a.Network == "unix" {
		return true
	}
	host, _, err := net.SplitHostPort(a.Address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// TLS names the files of certificates, in PEM. Cert and Key go together; with
// ClientCA clients must show a certificate that it signed.
type TLS struct{ Cert, Key, ClientCA string }

// Token is who may ask for what. The token itself stands in a file or in a variable
// of the environment.
type Token struct {
	// Name stands in logs.
	Name string
	// Scopes are what it is for.
	Scopes []string
	// File or Env says where the token stands.
	File, Env string
}

// Limits bound what a client may send.
type Limits struct {
	// Connections is how many may be open at once, over all listeners.
	Connections int64
	// HeaderBytes, BodyBytes and LineBytes are the sizes of the head of a request,
	// of its body, and of a line of a stream.
	HeaderBytes, BodyBytes, LineBytes int64
	// Batch is how many events an array may hold, Attributes how many an event.
	Batch, Attributes int64
	// NameBytes and ValueBytes are the lengths of an attribute's name and value.
	NameBytes, ValueBytes int64
}

// Timeouts cut slow clients.
type Timeouts struct {
	// Header is how long the head of a request may take, Read the whole of it, and
	// Write the answer. Idle is how long a connection may wait for a request.
	Header, Read, Write, Idle time.Duration
}

// Drain is how the daemon stops: for Delay it says that it is not ready and goes on
// answering, then requests under way have Timeout to finish.
type Drain struct{ Delay, Timeout time.Duration }

// Log is what is written down, on standard error.
type Log struct {
	// Level is debug, info, warn or error; Format is text or json.
	Level, Format string
	// Access says that every request is written down.
	Access bool
}

// Memory is the ceiling of the store, and how much memory beside it may count what has
// no room there; 0 is none.
type Memory struct{ MaxKeys, MaxBytes, SketchBytes int64 }

// State is where the windows are kept over a restart. Without a Dir they begin empty.
type State struct {
	// Dir is the folder of snapshots, journal and keys.
	Dir string
	// Durability is none, interval or every: what a crash may lose. Interval is how
	// often the journal is synced, SnapshotEvery how often a snapshot is written.
	Durability              string
	Interval, SnapshotEvery time.Duration
	// StartEmpty starts with empty windows where the files are damaged, and keeps them
	// aside.
	StartEmpty bool
}

// Default returns the settings that hold where nothing is said.
func Default() *Config {
	return &Config{
		Instances:  1,
		Watch:      true,
		Listen:     []Address{{"tcp", "127.0.0.1:8080"}},
		SocketMode: 0o660,
		Limits: Limits{
			Connections: 4096, HeaderBytes: 16 << 10, BodyBytes: 1 << 20, LineBytes: 64 << 10,
			Batch: 1000, Attributes: 100, NameBytes: 256, ValueBytes: 64 << 10,
		},
		Timeouts: Timeouts{Header: 5 * time.Second, Read: 30 * time.Second, Write: 30 * time.Second, Idle: 2 * time.Minute},
		Drain:    Drain{Timeout: 10 * time.Second},
		Log:      Log{Level: "info", Format: "text"},
		Memory:   Memory{MaxKeys: 10_000_000, MaxBytes: 1 << 30, SketchBytes: 64 << 20},
		State:    State{Durability: "interval", Interval: time.Second, SnapshotEvery: 5 * time.Minute},
	}
}

// Validate reports what does not fit together.
func (c *Config) Validate() error {
	errs := []error{c.validateTLS(), c.validateTokens()}
	if len(c.Listen) == 0 {
		errs = append(errs, errors.New("listen: there is no address; say 127.0.0.1:8080 or unix:/run/slidegate.sock"))
	}
	for i, a := range c.Listen {
		if a.Network == "tcp" && strings.HasSuffix(a.Address, ":0") {
			continue // a free port each
		}
		if slices.Contains(c.Listen[:i], a) {
			errs = append(errs, fmt.Errorf("listen: %s is named twice", a))
		}
	}
	if c.Drain.Delay > 0 && c.Drain.Timeout == 0 {
		errs = append(errs, errors.New("drain.timeout: 0 would cut every request; give it a second or more"))
	}
	return errors.Join(append(errs, c.validateAccess())...)
}

func (c *Config) validateTLS() error {
	t := c.TLS
	switch {
	case (t.Cert == "") != (t.Key == ""):
		return errors.New("tls: cert and key go together: name both files")
	case t.ClientCA != "" && t.Cert == "":
		return errors.New("tls.client_ca: clients can only show a certificate where there is one of the server: name tls.cert and tls.key")
	}
	return nil
}

func (c *Config) validateTokens() error {
	var errs []error
	names := map[string]bool{}
	for i := range c.Tokens {
		t := &c.Tokens[i]
		switch {
		case t.Name == "":
			errs = append(errs, fmt.Errorf("auth.tokens[%d]: it has no name; a name stands in logs in its place", i))
		case names[t.Name]:
			errs = append(errs, fmt.Errorf("auth.tokens[%d]: the name %q is taken", i, t.Name))
		}
		names[t.Name] = true
		if len(t.Scopes) == 0 {
			errs = append(errs, fmt.Errorf("auth.tokens[%d]: it is for nothing; give it scopes among %s", i, strings.Join(Scopes, ", ")))
		}
		if (t.File == "") == (t.Env == "") {
			errs = append(errs, fmt.Errorf("auth.tokens[%d]: say where the token stands: file: PATH or env: VARIABLE, one of the two", i))
		}
	}
	return errors.Join(errs...)
}

// validateAccess refuses to listen for everybody and ask nobody who he is.
func (c *Config) validateAccess() error {
	if c.Asks() || c.Insecure == WithoutAuth {
		return nil
	}
	for _, a := range c.Listen {
		if !a.Loopback() {
			return fmt.Errorf("listen: others than this machine can connect to %s, and nobody is asked who he is: listen on 127.0.0.1, give auth.tokens or tls.client_ca, or say insecure: %s", a, WithoutAuth)
		}
	}
	return nil
}

// Asks reports whether clients are asked who they are.
func (c *Config) Asks() bool { return len(c.Tokens) > 0 || c.TLS.ClientCA != "" }
