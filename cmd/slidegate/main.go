//go:generate go test -run ^TestManPages -man .

// Command slidegate limits and watches events by sliding windows: a server, a
// checker of rule files, and a replay of recorded logs.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/slidegate/slidegate/rule/rulefile"
	"github.com/spf13/cobra"
)

// Exit codes, as documented in --help.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

const exitCodes = `0 success; 1 the work failed (a file is wrong, a test failed, a port
is taken); 2 the command line is wrong.`

//go:embed starter.yaml
var starter []byte

func main() {
	os.Exit(run(untilSignal(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// untilSignal returns a context that ends with the first signal. By then the
// signals have their usual meaning again: a second one ends the program at once.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		signal.Stop(signals)
		cancel(fmt.Errorf("%s signal received", s))
	}()
	return ctx
}

// run runs the command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &output{w: stdout}
	root := newRoot()
	root.SetArgs(append([]string{}, args...)) // nil would be those of the process
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	addHelp(root) // which writes where root does by now
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil && out.err != nil {
		err = fail(fmt.Errorf("slidegate: the answer could not be written: %w", out.err))
	}
	var failed *failure
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &failed):
		if failed.err != nil {
			fmt.Fprintln(stderr, message(failed.err))
		}
		return exitFailed
	default:
		fmt.Fprintln(stderr, usage(cmd, err))
		return exitUsage
	}
}

// output remembers the first error of writing, so that an answer that was lost
// is not taken for a success.
type output struct {
	w   io.Writer
	err error
}

// Write writes to the writer behind it.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// failure is an error of the work, not of the command line. Its text, if any,
// is printed as it is.
type failure struct{ err error }

func (f *failure) Error() string {
	if f.err == nil {
		return "failed"
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// fail marks err as a failure of the work.
func fail(err error) error {
	if err == nil {
		return nil
	}
	return &failure{err}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "slidegate COMMAND",
		Short: "Sliding windows that watch the recent past and act on it",
		Long: `Slidegate watches the recent past and acts on it: rate limits that are exact,
several windows and keys in one atomic verdict, tried on yesterday's log before
they are enforced.`,
		Example: `  slidegate serve
  slidegate check rules.yaml
  slidegate explain --rules rules.yaml --event 'sms.send phone=13800000000 ip=192.0.2.9'
  slidegate replay --rules rules.yaml access.log`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	usage := strings.Replace(root.UsageTemplate(), "{{if .HasAvailableSubCommands}}\n  {{.CommandPath}} [command]{{end}}", "", 1) // Use says it
	root.SetUsageTemplate(usage + "\nExit codes: " + exitCodes + "\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newServe(), newCheck(), newExplain(), newReplay(), newTop(), newKey(), newSchema(), newVersion())
	root.DisableFlagsInUseLine = true
	for _, cmd := range root.Commands() {
		cmd.DisableFlagsInUseLine = true // Use names them
	}
	addCompletions(root)
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say which build this is",
		Example: "  slidegate version",
		Args:    cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintf(cmd.OutOrStdout(), "slidegate version %s\n", version())
		},
	}
}

// version says which build this is.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown build)"
	}
	return info.Main.Version
}

// loadRules reads a rule file, or the starter file when path is empty, and
// prints its warnings.
func loadRules(path string, stderr io.Writer) (*rulefile.File, error) {
	var f *rulefile.File
	var err error
	if path == "" {
		f, err = rulefile.Parse("starter.yaml", "", starter)
	} else {
		f, err = rulefile.Load(path)
	}
	if err != nil {
		return nil, fail(err)
	}
	printWarnings(stderr, f)
	return f, nil
}

func printWarnings(w io.Writer, f *rulefile.File) {
	for _, warning := range f.Warnings {
		fmt.Fprintf(w, "warning: %v\n", warning)
	}
}

// plural writes a number and its noun.
func plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// were writes a number, its noun, and what agrees with it.
func were(n int64, noun string) string {
	if n == 1 {
		return plural(n, noun) + " was"
	}
	return plural(n, noun) + " were"
}
