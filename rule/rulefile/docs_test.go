package rulefile

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var reYAML = regexp.MustCompile("(?s)```yaml\n(version: .*?)```")

// TestDocs loads every rule file that stands in the documents.
func TestDocs(t *testing.T) {
	paths, err := filepath.Glob("../../docs/guide/*.md")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, path := range append(paths, "../../README.md", "../../README.zh-CN.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range reYAML.FindAllSubmatch(text, -1) {
			files++
			f, err := Parse(filepath.Base(path), "", m[1])
			if err != nil {
				t.Errorf("%v\nof\n%s", err, m[1])
			} else if len(f.Warnings) > 0 {
				t.Errorf("%s: warns: %v", path, f.Warnings)
			}
		}
	}
	if files < 3 {
		t.Errorf("only %d rule files were found", files)
	}
}
