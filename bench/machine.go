package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// machine is what the figures were taken on.
type machine struct {
	cpu, load string
}

func thisMachine() machine { return machine{cpu: cpuModel(), load: loadAverage()} }

// String describes the machine in one line.
func (m machine) String() string {
	return fmt.Sprintf("%s, %d processors, %s/%s", m.cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}

// cpuModel is the name of the processor, where the system tells it.
func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// loadAverage is how many processes wanted a processor in the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// version returns the version of a module that this program was built with.
func version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, d := range info.Deps {
		if d.Path == module {
			return d.Version
		}
	}
	return "unknown"
}
