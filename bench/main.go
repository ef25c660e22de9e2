// Command bench measures slidegate beside other limiters of Go, each in a
// process of its own, in interleaved rounds, and writes Markdown tables.
//
//	go run . -o RESULTS.md
//
// See README.md for what is measured, and how to read it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/slidegate/slidegate/bench/internal/peer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program. The word child in front is how it calls itself.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 1 && args[0] == childWord {
		return child(stdin, stdout, stderr)
	}
	o, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, err)
		return 2
	case o.list:
		list(stdout)
		return 0
	}
	if err := bench(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

// bench measures and reports.
func bench(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	began := time.Now()
	m := thisMachine()
	r, err := measureAll(ctx, o, stderr)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	d := document{options: o, machine: m, results: r, began: began, took: time.Since(began)}
	if err := d.write(&text); err != nil {
		return err
	}
	if _, err := stdout.Write(text.Bytes()); err != nil {
		return err
	}
	if o.output != "" {
		if err := os.WriteFile(o.output, text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("results were printed, but not kept: %w", err)
		}
	}
	if n := len(r.failures); n > 0 {
		return fmt.Errorf("%d measurements failed; see the notes of the results", n)
	}
	return nil
}

// list prints the words that select limiters.
func list(w io.Writer) {
	for _, l := range peer.All() {
		fmt.Fprintf(w, "%-14s %-40s %-22s %v\n", l.ID, l.Name, l.Kind, l.Tables)
	}
}
