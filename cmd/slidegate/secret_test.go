package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretKey(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good", "0123456789abcdef\r\n")
	other := write("other", "another key of 26 bytes...")
	for name, c := range map[string]struct {
		file      string
		env       map[string]string
		want, err string
	}{
		"none":                 {},
		"a file":               {file: good, want: "0123456789abcdef"},
		"a variable":           {env: map[string]string{secretKeyEnv: "fedcba9876543210"}, want: "fedcba9876543210"},
		"a variable of a file": {env: map[string]string{secretKeyFileEnv: good}, want: "0123456789abcdef"},
		"the flag wins":        {file: other, env: map[string]string{secretKeyEnv: "fedcba9876543210", secretKeyFileEnv: good}, want: "another key of 26 bytes..."},
		"no such file":         {file: filepath.Join(dir, "none"), err: "--secret-key-file " + filepath.Join(dir, "none") + ": no such file"},
		"a folder":             {file: dir, err: "not a regular file"},
		"no such file, by env": {env: map[string]string{secretKeyFileEnv: filepath.Join(dir, "none")}, err: secretKeyFileEnv},
		"short":                {file: write("short", "short-key"), err: "the key has 9 bytes; want 16 or more"},
		"short, by env":        {env: map[string]string{secretKeyEnv: "short-key"}, err: secretKeyEnv + ": the key has 9 bytes"},
		"empty":                {file: write("empty", "\n"), err: "the key has 0 bytes"},
		"too long":             {file: write("long", strings.Repeat("x", maxSecretKey+1)), err: "at most 4096 bytes"},
	} {
		got, err := secretKey(c.file, func(name string) string { return c.env[name] })
		if string(got) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "short-key") {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
	}
}

// TestServeSecretKeyErrors: a bad key stops the server before it listens.
func TestServeSecretKeyErrors(t *testing.T) {
	got := command(t, "serve", "--listen", "127.0.0.1:0", "--secret-key-file", t.TempDir())
	if got.code != exitFailed || !strings.Contains(got.err, "not a regular file") || got.out != "" {
		t.Errorf("%+v", got)
	}
}
