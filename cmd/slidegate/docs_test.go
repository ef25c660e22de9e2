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

// What the guide shows of a Go test is a file that is compiled and run.
func TestDocumentedGoTest(t *testing.T) {
	file, err := os.ReadFile("../../examples/rules_test.go")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../docs/guide/testing-rules.md")
	if err != nil || !strings.Contains(string(guide), "```go\n"+string(file)+"```") {
		t.Errorf("docs/guide/testing-rules.md does not hold examples/rules_test.go: %v", err)
	}
}

// Every line of output that the guide quotes comes from the command before it.
func TestDocumentedOutput(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile("docs/guide/replay.md")
	if err != nil {
		t.Fatal(err)
	}
	out, quoted, lines := "", false, 0
	for line := range strings.Lines(string(text)) {
		rest, isCommand := strings.CutPrefix(line, "go run ./cmd/slidegate ")
		switch {
		case isCommand:
			out = command(t, arguments(rest)...).out
		case strings.HasPrefix(line, "```"):
			quoted = line == "```text\n"
		case quoted:
			if lines++; !strings.Contains(out, line) {
				t.Errorf("%s is not in\n%s", line, out)
			}
		}
	}
	if lines != 7 {
		t.Errorf("%d lines are quoted", lines)
	}
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
