package config

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Print writes the settings as a file that reads back as the same. Keys and tokens
// are not in them: only where they stand is.
func (c *Config) Print(w io.Writer) error {
	var b strings.Builder
	section := ""
	for i := range settings {
		s := &settings[i]
		under, name, nested := strings.Cut(s.path, ".")
		if !nested {
			under, name = "", s.path
		}
		values := s.get(c)
		if !s.list && values[0] == "" {
			continue
		}
		if under != section {
			section = under
			fmt.Fprintf(&b, "%s:\n", section)
		}
		if nested {
			b.WriteString("  ")
		}
		if s.list {
			fmt.Fprintf(&b, "%s: [%s]\n", name, strings.Join(quoted(values), ", "))
		} else {
			fmt.Fprintf(&b, "%s: %s\n", name, quote(values[0]))
		}
	}
	c.printTokens(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Config) printTokens(b *strings.Builder) {
	if len(c.Tokens) == 0 {
		return
	}
	b.WriteString("auth:\n  tokens:\n")
	for i := range c.Tokens {
		t := &c.Tokens[i]
		from := "file: " + quote(t.File)
		if t.Env != "" {
			from = "env: " + quote(t.Env)
		}
		fmt.Fprintf(b, "    - {name: %s, scopes: [%s], %s}\n", quote(t.Name), strings.Join(t.Scopes, ", "), from)
	}
}

// quote writes a text as YAML reads it back: as it is where it is plain.
func quote(text string) string {
	for i := range len(text) {
		if c := text[i]; c != '_' && c != '.' && c != '/' && c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return strconv.Quote(text)
		}
	}
	if text == "" || strings.EqualFold(text, "null") {
		return strconv.Quote(text)
	}
	return text
}

func quoted(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = quote(text)
	}
	return out
}
