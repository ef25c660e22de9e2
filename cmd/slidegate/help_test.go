package main

import (
	"strings"
	"testing"
)

// TestUnknownWords: a command or shell that is not there is an error of the command
// line, wherever it stands.
func TestUnknownWords(t *testing.T) {
	const commands = "; there are check, completion, explain, help, key, replay, schema, serve, top, version"
	for line, want := range map[string]string{
		"frobnicate":          `unknown command "frobnicate"` + commands + "\nTry: slidegate --help",
		"help frobnicate":     `unknown command "frobnicate"` + commands + "\nTry: slidegate --help",
		"help chek":           `unknown command "chek"; did you mean check?` + "\nTry: slidegate --help",
		"help check nope":     `check has no command "nope"` + "\nTry: slidegate --help",
		"help completion foo": `unknown shell "foo"; there are bash, fish, powershell, zsh` + "\nTry: slidegate --help",
		"completion foo":      `unknown shell "foo"; there are bash, fish, powershell, zsh` + "\nTry: slidegate completion --help",
		"completion fis":      `unknown shell "fis"; did you mean fish?` + "\nTry: slidegate completion --help",
	} {
		command(t, strings.Fields(line)...).want(t, exitUsage, "", "slidegate: "+want+"\n")
	}
}

// TestHelpCommand: help says what the flag says, with one line of synopsis.
func TestHelpCommand(t *testing.T) {
	for line, synopsis := range map[string]string{
		"":                "slidegate COMMAND",
		"serve":           "slidegate serve [--rules FILE] [--listen ADDR] [--secret-key-file FILE] [--config FILE] [--set NAME=VALUE]",
		"explain":         "slidegate explain [--rules FILE] [--secret-key-file FILE] --event 'NAME name=value …'",
		"completion":      "slidegate completion SHELL",
		"completion bash": "slidegate completion bash",
		"help":            "slidegate help [COMMAND]",
	} {
		words := strings.Fields(line)
		got := command(t, append([]string{"help"}, words...)...)
		if flag := command(t, append(words, "--help")...); got != flag || got.code != exitOK {
			t.Errorf("%q: help says\n%+v\nthe flag\n%+v", line, got, flag)
		}
		if _, usage, _ := strings.Cut(got.out, "\nUsage:\n"); !strings.HasPrefix(usage, "  "+synopsis+"\n\n") {
			t.Errorf("%q: %s", line, got.out)
		}
	}
}
