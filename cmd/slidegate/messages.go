package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

var (
	rePlace = regexp.MustCompile(`^[^"]+:\d+(:\d+)?: `) // file:line: or file:line:column:
	reCall  = regexp.MustCompile(`^(open|stat|read) ([^:]+): `)
	reFlag  = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)`)
)

// message writes an error in the form of the command: what has a place in a file
// begins with it, everything else with the name of the program.
func message(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "Try: ") || strings.HasPrefix(line, "slidegate: ") || strings.HasPrefix(line, "\t") {
			continue
		}
		line = strings.TrimPrefix(strings.TrimPrefix(line, "rulefile: "), "gate: ")
		if !rePlace.MatchString(line) {
			line = "slidegate: " + reCall.ReplaceAllString(line, "$2: ")
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// usage says what is wrong with a command line, and where to look.
func usage(cmd *cobra.Command, err error) string {
	if cmd.Name() == "help" {
		cmd = cmd.Root() // who asked for help wants no help on help
	}
	return fmt.Sprintf("slidegate: %v\nTry: %s --help", err, cmd.CommandPath())
}

// flagError names the flag that was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	name, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return err
	}
	var names []string
	for _, m := range reFlag.FindAllStringSubmatch(cmd.LocalFlags().FlagUsages(), -1) {
		names = append(names, m[1])
	}
	return fmt.Errorf("%w%s", err, meant("--", name, names))
}

// meant asks whether one of words was meant, if one is near.
func meant(prefix, got string, words []string) string {
	c := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, w := range words {
		c.AddCommand(&cobra.Command{Use: w, Run: func(*cobra.Command, []string) {}})
	}
	near := c.SuggestionsFor(got)
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, near[0])
}
