package main

import (
	"os"
	"strings"
	"testing"
)

// arguments splits a command line of the documents: blanks separate, single
// quotes hold together, # begins a comment.
func arguments(line string) []string {
	line, _, _ = strings.Cut(line, " #")
	var args []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args
}

// Every command that the documents tell to run in a clone works as it is
// written there.
func TestDocuments(t *testing.T) {
	t.Chdir("../..")
	for path, least := range map[string]int{"README.md": 5, "README.zh-CN.md": 5, "docs/guide/replay.md": 1, "docs/guide/testing-rules.md": 1} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		ran := 0
		for line := range strings.Lines(string(text)) {
			rest, ok := strings.CutPrefix(line, "go run ./cmd/slidegate ")
			if args := arguments(rest); ok && args[0] != "serve" {
				ran++
				if r := command(t, args...); r.code != exitOK || r.err != "" || r.out == "" {
					t.Errorf("%s: %s%+v", path, line, r)
				}
			}
		}
		if ran < least {
			t.Errorf("%s: only %d commands were found", path, ran)
		}
	}
}
