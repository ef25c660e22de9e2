package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/replay"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completed is what a shell is told after this command line: the words to offer,
// without what they mean, and how to go on.
func completed(t *testing.T, args ...string) (offered []string, directive cobra.ShellCompDirective) {
	t.Helper()
	r := command(t, append([]string{cobra.ShellCompRequestCmd}, args...)...)
	lines := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
	if _, err := fmt.Sscanf(lines[len(lines)-1], ":%d", &directive); r.code != exitOK || err != nil {
		t.Fatalf("%q: %+v", args, r)
	}
	for _, line := range lines[:len(lines)-1] {
		word, _, _ := strings.Cut(line, "\t")
		offered = append(offered, word)
	}
	return offered, directive
}

func TestCompletion(t *testing.T) {
	const (
		file     = cobra.ShellCompDirectiveDefault
		words    = cobra.ShellCompDirectiveNoFileComp
		inOrder  = words | cobra.ShellCompDirectiveKeepOrder
		ofKind   = cobra.ShellCompDirectiveFilterFileExt
		folder   = cobra.ShellCompDirectiveFilterDirs
		openWord = words | cobra.ShellCompDirectiveNoSpace
	)
	own := rules(t, `{name: a, match: {event: [b, a, "c*"]}, limits: [1 per 1s]}`, "{name: b, match: {event: b}, limits: [1 per 1s]}", "{name: c, limits: [1 per 1s]}")
	for _, c := range []struct {
		line      string
		offered   string
		directive cobra.ShellCompDirective
	}{
		{"check ", "yaml yml", ofKind},
		{"check a.yaml ", "yaml yml", ofKind},
		{"check --against ", "yaml yml", ofKind},
		{"check --test ", "", folder},
		{"serve ", "", words},
		{"serve --rules ", "yaml yml", ofKind},
		{"serve --rules=", "yaml yml", ofKind},
		{"serve --listen ", "", words},
		{"explain ", "", words},
		{"explain --event ", "login order.query sms.send", openWord},
		{"explain --event s", "sms.send", openWord},
		{"explain --rules " + own + " --event ", "a b", openWord},
		{"explain --rules nowhere.yaml --event ", "", openWord},
		{"replay ", "", file},
		{"replay --rules ", "yaml yml", ofKind},
		{"replay --format ", "auto combined json csv syslog sshd", inOrder},
		{"replay --format c", "combined csv", inOrder},
		{"replay --summary ", "table json", inOrder},
		{"replay --time ", "", words},
		{"replay --timeline ", "auto on off", inOrder},
		{"replay --candidate ", "yaml yml", ofKind},
		{"replay --compare ", "sliding_log sliding_buckets sliding_counter gcra fixed", inOrder | openWord},
		{"replay --compare g", "gcra", inOrder | openWord},
		{"replay --compare gcra,sliding_log,", "gcra,sliding_log,sliding_buckets gcra,sliding_log,sliding_counter gcra,sliding_log,fixed", inOrder | openWord},
		{"replay --compare gcra,fi", "gcra,fixed", inOrder | openWord},
		{"serve --secret-key-file ", "", file},
		{"schema ", "", words},
		{"version ", "", words},
		{"ver", "version", words},
		{"replay --su", "--summary", words},
		{"completion z", "zsh", words},
	} {
		offered, directive := completed(t, strings.Split(c.line, " ")...)
		if strings.Join(offered, " ") != c.offered || directive != c.directive {
			t.Errorf("%s: %q :%d, want %q :%d", c.line, offered, directive, c.offered, c.directive)
		}
	}
}

// TestCompletionIsWhole: no command and no flag that takes a value falls back on
// files of any kind.
func TestCompletionIsWhole(t *testing.T) {
	used := map[string]bool{}
	root := newRoot()
	key, _, err := root.Find([]string{"key"})
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range append(root.Commands(), key.Commands()...) {
		if cmd.ValidArgsFunction == nil {
			t.Errorf("%s: say in argCompletions what its arguments are", cmd.Name())
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			used[f.Name] = true
			if _, offers := cmd.GetFlagCompletionFunc(f.Name); !offers && f.Value.Type() != "bool" {
				t.Errorf("%s --%s: say in flagCompletions what its value is", cmd.Name(), f.Name)
			}
		})
	}
	for name := range flagCompletions {
		if !used[name] {
			t.Errorf("no command has a flag --%s", name)
		}
	}
}

// TestCompletedWords: what is offered is taken, and what is taken is offered.
func TestCompletedWords(t *testing.T) {
	if formats, _ := completed(t, "replay", "--format", ""); !slices.Equal(formats, replay.FormatNames()) {
		t.Errorf("the formats %q are offered, want %q", formats, replay.FormatNames())
	}
	algorithms, _ := completed(t, "replay", "--compare", "")
	plain := rules(t, "{name: r, limits: [1 per 1s]}")
	log := file(t, "a.json", `{"time":"2026-01-02T03:04:05Z","event":"e"}`+"\n")
	for _, a := range algorithms {
		if r := command(t, "replay", "--rules", plain, "--compare", a, log); r.code != exitOK {
			t.Errorf("--compare %s: %+v", a, r)
		}
	}
}

// TestCompletionScripts: each shell gets a script that asks this program.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if r := command(t, "completion", shell); r.code != exitOK || r.err != "" || !strings.Contains(r.out, "slidegate") || !strings.Contains(r.out, cobra.ShellCompRequestCmd) {
			t.Errorf("%s: exit %d, %q, %d bytes", shell, r.code, r.err, len(r.out))
		}
	}
}
