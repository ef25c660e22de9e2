package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/slidegate/slidegate/bench/internal/exact"
	"github.com/slidegate/slidegate/bench/internal/measure"
	"github.com/slidegate/slidegate/bench/internal/peer"
)

// childWord, as the only argument, makes the program measure the one job that
// it reads, as JSON, and write the outcome.
const childWord = "child"

// longest is how long a child may take.
const longest = 2 * time.Minute

// child is the other half of [spawn].
func child(stdin io.Reader, stdout, stderr io.Writer) int {
	var j job
	err := json.NewDecoder(stdin).Decode(&j)
	var out measure.Outcome
	if err == nil {
		out, err = perform(&j)
	}
	if err == nil {
		err = json.NewEncoder(stdout).Encode(&out)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// perform measures a job in this process.
func perform(j *job) (measure.Outcome, error) {
	switch j.Table {
	case peer.Speed:
		return measure.Speed(j)
	case peer.Memory:
		return measure.Memory(j)
	case peer.Exact:
		return exact.Run(j)
	default:
		return measure.Outcome{}, fmt.Errorf("bench: no table %q", j.Table)
	}
}

// spawn measures a job in a new process, so that no limiter inherits the heap,
// the goroutines or the luck of another.
func spawn(ctx context.Context, j job, procs int) (out measure.Outcome, err error) {
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	text, err := json.Marshal(j)
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, self, childWord) //nolint:gosec // it starts itself
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &stdout, &stderr
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", procs), "GOGC=100", "GOMEMLIMIT=off", "GODEBUG=")
	if err := cmd.Run(); err != nil {
		return out, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		return out, fmt.Errorf("answer of the child: %w", err)
	}
	return out, nil
}
