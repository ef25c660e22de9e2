package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/slidegate/slidegate/internal/auth"
	"github.com/slidegate/slidegate/internal/config"
)

// defaultListen is where the server listens when it is not told.
const defaultListen = "127.0.0.1:8080"

// configEnv names the variable that names the file of settings.
const configEnv = "SLIDEGATE_CONFIG"

// serveFlags are the flags of serve.
type serveFlags struct {
	config string
	set    []string
	print  bool
}

// flagSettings are the flags that stand for a setting.
var flagSettings = map[string]string{
	"rules": "rules", "listen": "listen", "secret-key-file": "secret_key_file", "log-level": "log.level", "log-format": "log.format",
}

func (f *serveFlags) add(flags *pflag.FlagSet) {
	flags.String("rules", "", "rule file (default: a few rules to try)")
	flags.String("listen", defaultListen, "address to listen on, several with commas; port 0 takes a free one, unix:/PATH is a socket")
	flags.String("secret-key-file", "", "file with the key that hides secret attributes")
	flags.String("log-level", "info", "what to log: debug, info, warn or error")
	flags.String("log-format", "text", "how to log: text or json")
	flags.StringVar(&f.config, "config", "", "file of settings")
	flags.StringArrayVar(&f.set, "set", nil, "a setting, as in --set limits.body=2MiB; may be repeated")
	flags.BoolVar(&f.print, "print-config", false, "print the settings that hold, and stop")
}

// settings are those of the daemon, with the keys and tokens that they name.
type settings struct {
	*config.Config

	secretKey, idKey []byte       // nil: a random one
	keeper           *auth.Keeper // nil: nobody is asked
}

// read puts the settings together: flags win over the environment, and that over the
// file.
func (f *serveFlags) read(flags *pflag.FlagSet, getenv func(string) string) (*settings, error) {
	c := &settings{Config: config.Default()}
	name := f.config
	if name == "" {
		name = getenv(configEnv)
	}
	if name != "" {
		if err := c.ReadFile(name); err != nil {
			return nil, fail(err)
		}
	}
	if err := c.ReadEnv(getenv); err != nil {
		return nil, fail(err)
	}
	if err := f.apply(flags, c.Config); err != nil {
		return nil, err
	}
	if err := c.Validate(); err != nil {
		return nil, fail(err)
	}
	return c, fail(c.readKeys(flags.Changed("secret-key-file"), getenv))
}

// apply sets what the command line says.
func (f *serveFlags) apply(flags *pflag.FlagSet, c *config.Config) error {
	var err error
	for _, s := range f.set {
		path, text, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("--set %q: write NAME=VALUE, as in --set limits.body=2MiB", s)
		}
		if err := c.Set(path, text); err != nil {
			return fmt.Errorf("--set %s: %w", path, err)
		}
	}
	flags.Visit(func(flag *pflag.Flag) {
		path, ok := flagSettings[flag.Name]
		if !ok || flag.Name == "rules" && flag.Value.String() == "" {
			return
		}
		if e := c.Set(path, flag.Value.String()); e != nil && err == nil {
			err = fmt.Errorf("--%s %w", flag.Name, e)
		}
	})
	return err
}

// readKeys reads the keys and tokens that the settings name.
func (c *settings) readKeys(byFlag bool, getenv func(string) string) error {
	var err error
	switch {
	case byFlag:
		c.secretKey, err = secretKey(c.SecretKeyFile, getenv)
	case getenv(secretKeyEnv) != "" || getenv(secretKeyFileEnv) != "":
		c.secretKey, err = secretKey("", getenv)
	case c.SecretKeyFile != "":
		c.secretKey, err = readKey("secret_key_file "+c.SecretKeyFile, c.SecretKeyFile)
	}
	errs := []error{err}
	if c.IDKeyFile != "" {
		c.idKey, err = readKey("id_key_file "+c.IDKeyFile, c.IDKeyFile)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, c.readTokens(getenv))...)
}

func (c *settings) readTokens(getenv func(string) string) error {
	if len(c.Tokens) == 0 {
		return nil
	}
	c.keeper = &auth.Keeper{}
	var errs []error
	for i := range c.Tokens {
		t := &c.Tokens[i]
		from, text := t.Env, getenv(t.Env)
		var err error
		if t.File != "" {
			from = t.File
			text, err = readToken(t.File)
		}
		if err == nil {
			err = c.keeper.Add(t.Name, text, t.Scopes)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("slidegate: auth.tokens[%d], %s, from %s: %w", i, t.Name, from, err))
		}
	}
	return errors.Join(errs...)
}

// readToken reads a token, which may end its line.
func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", errors.Unwrap(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecretKey))
	if err != nil {
		return "", errors.Unwrap(err)
	}
	return string(bytes.TrimRight(data, "\r\n")), nil
}

// printConfig prints the settings that hold. A key in the environment is not shown.
func printConfig(w io.Writer, c *settings, getenv func(string) string) error {
	if getenv(secretKeyEnv) != "" {
		fmt.Fprintf(w, "# the key of secret attributes stands in %s\n", secretKeyEnv)
	}
	return c.Print(w)
}
