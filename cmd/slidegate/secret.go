package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/slidegate/slidegate/rule"
)

// secretKeyEnv names the variables of the environment that hold the key of secret
// attributes: itself, or the name of a file.
const (
	secretKeyEnv     = "SLIDEGATE_SECRET_KEY"
	secretKeyFileEnv = "SLIDEGATE_SECRET_KEY_FILE"
)

// secretHelp is what the commands say about the key that they take.
const secretHelp = `Attributes that the rules call secret are hidden by a key: from
--secret-key-file, SLIDEGATE_SECRET_KEY or SLIDEGATE_SECRET_KEY_FILE, or a random
one, which is enough while all state is in memory.`

// maxSecretKey bounds the size of a key file.
const maxSecretKey = 4096

// secretKey returns the key that hides secret attributes: from the file of the
// flag, or from the environment. It is nil where none is given.
func secretKey(file string, getenv func(string) string) ([]byte, error) {
	from := "--secret-key-file " + file
	if file == "" {
		if key := getenv(secretKeyEnv); key != "" {
			return checkSecretKey([]byte(key), secretKeyEnv)
		}
		if file = getenv(secretKeyFileEnv); file == "" {
			return nil, nil
		}
		from = secretKeyFileEnv + "=" + file
	}
	return readKey(from, file)
}

// readKey reads a key from a file; from says who named it.
func readKey(from, file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("slidegate: %s: %w", from, errors.Unwrap(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("slidegate: %s: not a regular file", from)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSecretKey+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("slidegate: %s: %w", from, err)
	case len(data) > maxSecretKey:
		return nil, fmt.Errorf("slidegate: %s: a key is at most %d bytes", from, maxSecretKey)
	}
	return checkSecretKey(bytes.TrimRight(data, "\r\n"), from)
}

// checkSecretKey refuses a key that is too short to be one. It never shows it.
func checkSecretKey(key []byte, from string) ([]byte, error) {
	if len(key) < rule.MinSecretKey {
		return nil, fmt.Errorf("slidegate: %s: the key has %d bytes; want %d or more, such as: head -c 32 /dev/urandom | base64", from, len(key), rule.MinSecretKey)
	}
	return key, nil
}
