package config

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// setting is one value of the settings: its path in the file, what it may be, and
// how it is read and written.
type setting struct {
	path string
	list bool // of values; in the environment and in flags with commas between them
	file bool // a path, which is looked up from the folder of the settings
	set  func(c *Config, text string) error
	get  func(c *Config) []string
}

// settings are all of them but the tokens, in the order in which they are printed.
var settings = []setting{
	path("rules", func(c *Config) *string { return &c.Rules }),
	number("instances", 10_000, func(c *Config) *int64 { return &c.Instances }),
	boolean("watch", func(c *Config) *bool { return &c.Watch }),
	{path: "listen", list: true, set: addAddress, get: addresses},
	{path: "socket_mode", set: setMode, get: func(c *Config) []string { return []string{fmt.Sprintf("%#o", c.SocketMode)} }},
	word("insecure", func(c *Config) *string { return &c.Insecure }, WithoutAuth),
	path("secret_key_file", func(c *Config) *string { return &c.SecretKeyFile }),
	path("id_key_file", func(c *Config) *string { return &c.IDKeyFile }),
	path("tls.cert", func(c *Config) *string { return &c.TLS.Cert }),
	path("tls.key", func(c *Config) *string { return &c.TLS.Key }),
	path("tls.client_ca", func(c *Config) *string { return &c.TLS.ClientCA }),
	number("limits.connections", 1<<20, func(c *Config) *int64 { return &c.Limits.Connections }),
	size("limits.header", 1<<10, 1<<20, func(c *Config) *int64 { return &c.Limits.HeaderBytes }),
	size("limits.body", 1<<10, 64<<20, func(c *Config) *int64 { return &c.Limits.BodyBytes }),
	size("limits.line", 256, 16<<20, func(c *Config) *int64 { return &c.Limits.LineBytes }),
	number("limits.batch", 100_000, func(c *Config) *int64 { return &c.Limits.Batch }),
	number("limits.attributes", 10_000, func(c *Config) *int64 { return &c.Limits.Attributes }),
	size("limits.name", 16, 64<<10, func(c *Config) *int64 { return &c.Limits.NameBytes }),
	size("limits.value", 16, 16<<20, func(c *Config) *int64 { return &c.Limits.ValueBytes }),
	duration("timeouts.header", func(c *Config) *time.Duration { return &c.Timeouts.Header }),
	duration("timeouts.read", func(c *Config) *time.Duration { return &c.Timeouts.Read }),
	duration("timeouts.write", func(c *Config) *time.Duration { return &c.Timeouts.Write }),
	duration("timeouts.idle", func(c *Config) *time.Duration { return &c.Timeouts.Idle }),
	delay("drain.delay", func(c *Config) *time.Duration { return &c.Drain.Delay }),
	delay("drain.timeout", func(c *Config) *time.Duration { return &c.Drain.Timeout }),
	word("log.level", func(c *Config) *string { return &c.Log.Level }, "debug", "info", "warn", "error"),
	word("log.format", func(c *Config) *string { return &c.Log.Format }, "text", "json"),
	boolean("log.access", func(c *Config) *bool { return &c.Log.Access }),
	number("memory.max_keys", 1<<31, func(c *Config) *int64 { return &c.Memory.MaxKeys }),
	size("memory.max_bytes", 1<<20, 1<<50, func(c *Config) *int64 { return &c.Memory.MaxBytes }),
	size("memory.sketch_bytes", 0, 1<<40, func(c *Config) *int64 { return &c.Memory.SketchBytes }),
	path("state.dir", func(c *Config) *string { return &c.State.Dir }),
	word("state.durability", func(c *Config) *string { return &c.State.Durability }, "none", "interval", "every"),
	duration("state.interval", func(c *Config) *time.Duration { return &c.State.Interval }),
	duration("state.snapshot_every", func(c *Config) *time.Duration { return &c.State.SnapshotEvery }),
	boolean("state.start_empty", func(c *Config) *bool { return &c.State.StartEmpty }),
}

// settingAt returns the setting at a path, or nil.
func settingAt(path string) *setting {
	for i := range settings {
		if settings[i].path == path {
			return &settings[i]
		}
	}
	return nil
}

// env is the variable of the environment for a setting.
func (s *setting) env() string {
	return "SLIDEGATE_" + strings.ToUpper(strings.ReplaceAll(s.path, ".", "_"))
}

// Environment returns the names of the variables that the daemon reads, in the order
// of the settings.
func Environment() []string {
	names := make([]string, len(settings))
	for i := range settings {
		names[i] = settings[i].env()
	}
	return names
}

// Names returns the paths of the settings, in their order.
func Names() []string {
	names := make([]string, len(settings))
	for i := range settings {
		names[i] = settings[i].path
	}
	return names
}

// Set sets the setting at a path, for a flag or a variable. A list has commas between
// its values, and takes the place of the one before. An error does not name the path.
func (c *Config) Set(path, text string) error {
	s := settingAt(path)
	switch {
	case s == nil:
		return errors.New("there is no such setting")
	case !s.list:
		return s.set(c, text)
	}
	return s.setAll(c, strings.Split(text, ","))
}

// setAll replaces a list.
func (s *setting) setAll(c *Config, texts []string) error {
	c.Listen = nil // the only list
	var errs []error
	for _, text := range texts {
		errs = append(errs, s.set(c, strings.TrimSpace(text)))
	}
	return errors.Join(errs...)
}

// ReadEnv reads the variables of the environment. One that is empty says nothing.
// Names that are not known are left alone: orchestrators put variables of their own
// beside ours.
func (c *Config) ReadEnv(getenv func(string) string) error {
	var errs []error
	for i := range settings {
		s := &settings[i]
		text := getenv(s.env())
		if text == "" {
			continue
		}
		if err := c.Set(s.path, text); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.env(), err))
		}
	}
	return errors.Join(errs...)
}

func path(path string, at func(*Config) *string) setting {
	return setting{path: path, file: true, get: func(c *Config) []string { return []string{*at(c)} }, set: func(c *Config, text string) error {
		if text == "" || strings.ContainsRune(text, 0) {
			return errors.New("want the path of a file")
		}
		*at(c) = text
		return nil
	}}
}

func boolean(path string, at func(*Config) *bool) setting {
	return setting{path: path, get: func(c *Config) []string { return []string{strconv.FormatBool(*at(c))} }, set: func(c *Config, text string) error {
		if text != "true" && text != "false" {
			return fmt.Errorf("%.40q: want true or false", text)
		}
		*at(c) = text == "true"
		return nil
	}}
}

func word(path string, at func(*Config) *string, words ...string) setting {
	return setting{path: path, get: func(c *Config) []string { return []string{*at(c)} }, set: func(c *Config, text string) error {
		if !slices.Contains(words, text) {
			return fmt.Errorf("%.40q: want %s", text, strings.Join(words, " or "))
		}
		*at(c) = text
		return nil
	}}
}

func number(path string, most int64, at func(*Config) *int64) setting {
	return setting{path: path, get: func(c *Config) []string { return []string{strconv.FormatInt(*at(c), 10)} }, set: func(c *Config, text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || n > most {
			return fmt.Errorf("%.40q: want a whole number from 1 to %d", text, most)
		}
		*at(c) = n
		return nil
	}}
}

// units are those of sizes, the largest first.
var units = []struct {
	name  string
	shift uint
}{{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"", 0}}

func size(path string, least, most int64, at func(*Config) *int64) setting {
	return setting{path: path, get: func(c *Config) []string { return []string{sizeText(*at(c))} }, set: func(c *Config, text string) error {
		n, ok := parseSize(text)
		if !ok || n < least || n > most {
			return fmt.Errorf("%.40q: want a size from %s to %s, in bytes or with KiB, MiB or GiB behind it", text, sizeText(least), sizeText(most))
		}
		*at(c) = n
		return nil
	}}
}

func parseSize(text string) (int64, bool) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		return n << u.shift, err == nil && n >= 0 && n <= math.MaxInt64>>u.shift
	}
	return 0, false
}

// sizeText writes a size in the largest unit that it is a whole number of.
func sizeText(n int64) string {
	for _, u := range units {
		if n >= 1<<u.shift && n%(1<<u.shift) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.name
		}
	}
	return "0"
}

// maxDuration bounds the times that may be set.
const maxDuration = time.Hour

func duration(path string, at func(*Config) *time.Duration) setting {
	return between(path, time.Millisecond, at)
}

// delay is a duration that may be 0.
func delay(path string, at func(*Config) *time.Duration) setting { return between(path, 0, at) }

func between(path string, least time.Duration, at func(*Config) *time.Duration) setting {
	return setting{path: path, get: func(c *Config) []string { return []string{at(c).String()} }, set: func(c *Config, text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < least || d > maxDuration {
			return fmt.Errorf("%.40q: want a time from %v to %v, such as 5s", text, least, maxDuration)
		}
		*at(c) = d
		return nil
	}}
}

func setMode(c *Config, text string) error {
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || n > 0o777 || n == 0 {
		return fmt.Errorf("%.40q: want the permissions of a socket in octal, such as 0660", text)
	}
	c.SocketMode = fs.FileMode(n)
	return nil
}

// maxSocketPath is what a path may have that the system takes for a socket, less the
// folder in which the socket is made.
const maxSocketPath = 88

func addAddress(c *Config, text string) error {
	path, isUnix := strings.CutPrefix(text, "unix:")
	switch {
	case isUnix && !strings.HasPrefix(path, "/"):
		return fmt.Errorf("%.80q: a socket has a path from the root, as in unix:/run/slidegate.sock", text)
	case isUnix && (len(path) > maxSocketPath || strings.ContainsRune(path, 0)):
		return fmt.Errorf("%.80q: the path of a socket has %d bytes at most", text, maxSocketPath)
	case isUnix:
		c.Listen = append(c.Listen, Address{"unix", path})
		return nil
	}
	if _, _, err := net.SplitHostPort(text); err != nil {
		return fmt.Errorf("%.80q: it takes an address and a port, as in 127.0.0.1:8080, or a socket, as in unix:/run/slidegate.sock", text)
	}
	c.Listen = append(c.Listen, Address{"tcp", text})
	return nil
}

func addresses(c *Config) []string {
	texts := make([]string, len(c.Listen))
	for i, a := range c.Listen {
		texts[i] = a.String()
	}
	return texts
}
