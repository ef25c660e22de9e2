package slidegate_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/slidegate/slidegate"

// floors is a statement of policy: which of our packages each package may
// import. Do not change it to make a build pass; change it when the house is
// to be built differently.
//
//	cmd → adapters → gate → rule, store → limit → window;  the root below all
var floors = map[string][]string{
	"":                               {},
	"window":                         {},
	"internal/spell":                 {},
	"internal/fold":                  {},
	"internal/parts":                 {}, // for tests only
	"internal/cond":                  {"", "internal/spell", "internal/fold"},
	"internal/model":                 {},
	"internal/model/genvectors":      {"internal/model"},
	"limit":                          {"", "window"},
	"rule":                           {"", "limit", "window", "internal/spell", "internal/fold", "internal/cond"},
	"store":                          {"", "limit", "window"},
	"store/journal":                  {"", "store"},
	"store/storetest":                {"", "limit", "window", "store", "internal/model"},
	"gate":                           {"", "limit", "window", "rule", "store"},
	"gate/gatetest":                  {"", "rule", "gate"},
	"rule/rulefile":                  {"", "rule", "internal/spell"},
	"rule/rulefile/schema":           {}, // a text, which needs nothing at run time
	"rule/rulefile/schema/genschema": {"rule"},
	"internal/httpapi":               {"", "limit", "rule", "gate"},
	"internal/metrics":               {"", "rule", "store", "store/journal", "gate"},
	"internal/auth":                  {},
	"internal/config":                {"internal/spell"},
	"internal/listen":                {},
	"internal/listen/certtest":       {}, // for tests only
	"internal/watch":                 {},
	"internal/busy":                  {""},
	"internal/replay":                {"", "rule", "store", "gate"},
	"cmd/slidegate":                  {"", "rule", "store", "store/journal", "gate", "gate/gatetest", "rule/rulefile", "rule/rulefile/schema", "internal/httpapi", "internal/replay", "internal/auth", "internal/busy", "internal/config", "internal/listen", "internal/metrics", "internal/watch"},
}

// libraries lists the modules that the core may use, beside the standard
// library, and why. Adapters may use others; see docs/decisions.
var libraries = map[string]string{
	"github.com/gaissmai/bart":  "rule: sets of networks",
	"github.com/expr-lang/expr": "internal/cond: the parser of conditions",
	"github.com/zeebo/xxh3":     "store: 128-bit seeded hashes of keys",
	"pgregory.net/rapid":        "store/storetest: property tests",
}

// core is what a program that embeds the engine links.
var core = []string{"", "window", "limit", "rule", "store", "store/storetest", "gate", "internal/spell", "internal/fold", "internal/cond"}

// pure packages know no clock, lock, context or I/O.
var pure = []string{"window", "limit"}

var impure = []string{"context", "io", "log", "net", "os", "sync", "time", "math/rand", "math/rand/v2"}

func TestFloors(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		dir := filepath.ToSlash(filepath.Dir(f))
		if dir == "." {
			dir = ""
		}
		seen[dir] = true
		allowed, known := floors[dir]
		if !known {
			t.Errorf("%s: the package has no floor; add it to the table with what it may import", f)
			continue
		}
		for _, path := range imports(t, f) {
			checkImport(t, f, dir, path, allowed)
		}
	}
	for dir := range floors {
		if !seen[dir] {
			t.Errorf("floors: there is no package %q", dir)
		}
	}
}

func checkImport(t *testing.T, file, dir, path string, allowed []string) {
	t.Helper()
	if path == module || strings.HasPrefix(path, module+"/") {
		ours := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
		if !slices.Contains(allowed, ours) {
			t.Errorf("%s imports %s: from %q only %q may be imported", file, path, dir, allowed)
		}
		return
	}
	if slices.Contains(pure, dir) && slices.Contains(impure, path) {
		t.Errorf("%s imports %s: %s is pure", file, path, dir)
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") || !slices.Contains(core, dir) {
		return // the standard library, or an adapter
	}
	for lib := range libraries {
		if path == lib || strings.HasPrefix(path, lib+"/") {
			return
		}
	}
	t.Errorf("%s imports %s: the core uses the standard library and %v only", file, path, libraries)
}

// goFiles returns all Go files of the module.
func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "testdata" || d.Name() == "bench") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func imports(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, i := range parsed.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// TestNamesCarryMeaning refuses folders whose names say nothing.
func TestNamesCarryMeaning(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, word := range []string{"util", "common", "types", "base", "manager", "helpers", "misc"} {
			if slices.Contains(strings.Split(filepath.ToSlash(filepath.Dir(f)), "/"), word) {
				t.Errorf("%s: a folder called %s says nothing about what is in it", f, word)
			}
		}
	}
}
