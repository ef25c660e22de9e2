package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/parts"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// The man pages are written by a test, so that what writes them is linked into
// no program.
var writeMan = flag.Bool("man", false, "write the man pages instead of comparing them")

const manDir = "../../man"

// manPages returns the man page of each command, by its file. They hold no
// date, so that they change only when the commands do.
func manPages(t *testing.T) map[string][]byte {
	t.Helper()
	root := newRoot()
	pages := map[string][]byte{}
	for _, cmd := range append(root.Commands(), root) {
		cmd.DisableAutoGenTag = true
		var b bytes.Buffer
		date := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
		if err := doc.GenMan(cmd, &doc.GenManHeader{Section: "1", Date: &date, Source: "Slidegate", Manual: "Slidegate"}, &b); err != nil {
			t.Fatal(err)
		}
		page := tagged(strings.Replace(b.String(), `"Jan 0001"`, `""`, 1)) + "\n.SH EXIT STATUS\n" + exitCodes + "\n"
		pages[strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"] = []byte(withMinus(page))
	}
	return pages
}

// tagged makes a list of the flags, each of which is a paragraph with a tab
// before what it means.
func tagged(page string) string {
	var lines []string
	for line := range strings.SplitSeq(page, "\n") {
		if meaning, ok := strings.CutPrefix(line, "\t"); ok {
			n := len(lines) - 1
			flags := lines[n]
			if lines[n-1] == ".PP" {
				n--
			}
			lines, line = append(lines[:n], ".TP", flags), meaning
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// withMinus makes a minus of each hyphen in the text of a page: formatters print
// others as typographic ones, and a flag that is copied would not work.
func withMinus(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, ".") {
			line = strings.ReplaceAll(strings.ReplaceAll(line, `\-`, "-"), "-", `\-`)
		}
		b.WriteString(line)
	}
	return b.String()
}

// TestManPages: the pages that are kept are those of the commands.
func TestManPages(t *testing.T) {
	pages := manPages(t)
	if *writeMan {
		for name, page := range pages {
			if err := os.WriteFile(filepath.Join(manDir, name), page, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	kept, err := filepath.Glob(filepath.Join(manDir, "*"))
	if err != nil || len(kept) != len(pages) {
		t.Errorf("%d pages are kept, want %d (%v)", len(kept), len(pages), err)
	}
	for name, page := range pages {
		if got, err := os.ReadFile(filepath.Join(manDir, name)); err != nil || !bytes.Equal(got, page) {
			t.Errorf("%s is not what go generate ./cmd/slidegate writes: commit what it wrote (%v)", name, err)
		}
	}
}

// TestManPagesAreWhole: a page has its sections, and all flags of its command.
func TestManPagesAreWhole(t *testing.T) {
	pages := manPages(t)
	for _, cmd := range append(newRoot().Commands(), newRoot()) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		page := string(pages[name+".1"])
		first, rest, _ := strings.Cut(strings.TrimPrefix(page, ".nh\n"), "\n")
		title := fmt.Sprintf(`.TH "%s" "1" "" "Slidegate" "Slidegate"`, strings.ToUpper(name))
		if first != title {
			t.Errorf("%s: begins with %s, want %s", name, first, title)
		}
		for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLE", "EXIT STATUS"} {
			if !strings.Contains(rest, "\n.SH "+section+"\n") && !strings.HasPrefix(rest, ".SH "+section+"\n") {
				t.Errorf("%s has no section %s", name, section)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(page, `\fB\-\-`+strings.ReplaceAll(f.Name, "-", `\-`)) {
				t.Errorf("%s: no --%s", name, f.Name)
			}
		})
	}
}

// TestManPagesFormat: mandoc has nothing to complain of.
func TestManPagesFormat(t *testing.T) {
	pages, mandoc := manPages(t), parts.Debian(t, "mandoc", "mandoc")
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		cmd := exec.CommandContext(t.Context(), mandoc, "-Tlint", "-Werror", "-man")
		cmd.Stdin = bytes.NewReader(pages[name])
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
