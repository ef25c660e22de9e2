package main

import (
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/config"
	"github.com/slidegate/slidegate/rule/rulefile"
	"github.com/spf13/cobra"
)

var (
	ruleFiles = cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
	folders   = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	anyFile   = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	nothing   = cobra.NoFileCompletions
)

// flagCompletions are what a shell offers for the flags that take a value. One
// name means the same in every command.
var flagCompletions = map[string]cobra.CompletionFunc{
	"rules":   ruleFiles,
	"against": ruleFiles,
	"test":    folders,
	"event":   namedEvents,
	"listen":  nothing,
	"time":    nothing,
	"zone":    nothing,
	"year":    nothing,
	"format": words("auto\tfrom the first lines of each file", "combined\taccess logs of Apache and nginx", "json\tan object a line",
		"csv\twith a header line", "syslog\tof RFC 3164 or RFC 5424", "sshd\tlogins of sshd"),
	"summary":         words("table\tfor people", "json\tfor programs"),
	"timeline":        words("auto\ton a terminal", "on", "off"),
	"compare":         wordList("sliding_log", "sliding_buckets", "sliding_counter", "gcra", "fixed"),
	"candidate":       ruleFiles,
	"secret-key-file": anyFile,
	"config":          ruleFiles,
	"set":             settingNames,
	"log-level":       words("debug", "info", "warn", "error"),
	"log-format":      words("text", "json"),
	"server":          words("http://127.0.0.1:8080", "unix:"),
	"token-file":      anyFile,
	"ca-file":         anyFile,
	"reason":          nothing,
	"every":           nothing,
	"keys":            nothing,
}

// argCompletions are what a shell offers for the arguments of commands.
var argCompletions = map[string]cobra.CompletionFunc{
	"check": ruleFiles, "replay": anyFile, "serve": nothing, "explain": nothing, "schema": nothing, "version": nothing,
	"top": nothing, "key": nothing, "show": nothing, "reset": nothing, "unlock": nothing,
}

// addCompletions tells the commands below root what to offer.
func addCompletions(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		addCompletions(cmd) // of those below it
		cmd.ValidArgsFunction = argCompletions[cmd.Name()]
		for name, offer := range flagCompletions {
			if cmd.Flags().Lookup(name) != nil {
				_ = cmd.RegisterFlagCompletionFunc(name, offer) // fails for flags that are not there
			}
		}
	}
}

// words offers these words, each with what it means behind a tab.
func words(all ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return beginning(all, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// wordList offers words for a list with commas between them, each once.
func wordList(all ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		before := begun[:strings.LastIndex(begun, ",")+1]
		var lists []string
		for _, w := range all {
			if !slices.Contains(strings.Split(before, ","), w) {
				lists = append(lists, before+w)
			}
		}
		return beginning(lists, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
	}
}

func beginning(all []string, begun string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(w string) bool { return !strings.HasPrefix(w, begun) })
}

// namedEvents offers the events that the rules of the command line name. An event
// may go on with attributes, so no blank ends it.
func namedEvents(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	path, err := cmd.Flags().GetString("rules")
	if err != nil {
		return nil, none
	}
	f, err := rulefile.Parse("starter.yaml", "", starter)
	if path != "" {
		f, err = rulefile.Load(path)
	}
	if err != nil {
		return nil, none
	}
	var names []string
	for i := range f.Set.Rules {
		for _, m := range f.Set.Rules[i].Match {
			for _, v := range m["event"] {
				if name := string(v); !strings.ContainsAny(name, "*\x00\n\t") {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return beginning(slices.Compact(names), begun), none
}

// settingNames offers the settings of the daemon, each with the sign behind it.
func settingNames(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, name := range config.Names() {
		names = append(names, name+"=")
	}
	return beginning(names, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
