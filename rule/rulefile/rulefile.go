// Package rulefile reads rules from a YAML file.
//
//	version: 1
//	rules:
//	  - name: order-query
//	    match: {event: order.query}
//	    key: [user, api]
//	    limits: [100 per 1m]
//
// Most programs call [Load] once and give the plan to the engine. On a change
// they call it again: a file with any error is refused whole, so the old plan
// can go on.
//
// The reader is strict, since a typing error in a rule file is an open door:
//
//   - an unknown field, a name that is written twice and an empty value are
//     errors;
//   - texts are taken as written: 007 stays 007 and true stays true;
//   - numbers are plain integers, and true and false are the only booleans,
//     all without quotes;
//   - anchors, aliases, merge keys, tags and a second document are refused. A
//     value is written out where it is needed, so that a reader of a rule sees
//     all of it. This also catches the unquoted glob *bot*, which YAML takes
//     for an alias;
//   - the file is UTF-8 of at most 4 MiB, nested at most 32 levels deep. A
//     byte order mark at its start and CRLF line ends are accepted.
//
// Everything that is wrong is reported at once, each with file, line and
// column. Columns count characters, from 1.
package rulefile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/slidegate/slidegate/rule"
)

// Limits on what is read. They bound the memory and the time that a file can
// take, and are far above what people write.
const (
	maxFile    = 4 << 20  // bytes of one file
	maxFiles   = 16 << 20 // bytes of all files of overrides, each time they are named
	maxDepth   = 32       // levels of lists and mappings
	maxName    = 256      // bytes of a name before a colon
	maxPath    = 512      // bytes of all names around a list or mapping
	maxMessage = 1 << 10  // bytes of a message
	maxErrors  = 1000     // errors that are kept
)

// File is what a rule file holds. It is safe for concurrent use as long as
// nobody changes Set.
type File struct {
	// Set is the rules as written.
	Set *rule.Set
	// Plan is the compiled set.
	Plan *rule.Plan
	// Warnings are what is probably not meant, with their places, in the
	// order of the file.
	Warnings []*rule.Error
}

// Load reads and compiles the rule file at path. Files that it names are
// looked up from its folder.
//
// The error is a [rule.Errors] with everything that is wrong, in the order of
// the file, unless the file itself cannot be read.
func Load(path string) (*File, error) { return Options{}.Load(path) }

// Options say how to read rules. The zero value is what [Load] and [Parse] do.
type Options struct {
	// Instances is among how many processes without a common store the limits are
	// divided: each gets its part, rounded down. 0 and 1 divide nothing; a limit of
	// which nothing is left is an error.
	Instances int
}

// Load is the function Load with these options.
func (o Options) Load(path string) (*File, error) {
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		// Opening one would wait for a writer, and could not be interrupted.
		return nil, fmt.Errorf("rulefile: %s is a named pipe; a rule file is a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("rulefile: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("rulefile: %s is a folder, not a rule file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("rulefile: %w", err)
	}
	return o.Parse(path, filepath.Dir(path), data)
}

// Parse is [Load] for bytes. The name is used in messages, and files that the
// rules name are looked up from dir ("" is the working directory). Parse does
// not keep data.
func Parse(name, dir string, data []byte) (*File, error) { return Options{}.Parse(name, dir, data) }

// Parse is the function Parse with these options.
func (o Options) Parse(name, dir string, data []byte) (*File, error) {
	r := newReader(name, dir)
	set := r.read(data)
	var plan *rule.Plan
	var warnings []*rule.Error
	if set != nil {
		var err error
		set.Instances = o.Instances
		plan, warnings, err = rule.Compile(set)
		r.merge(err)
	}
	if errs := r.errors(); len(errs) > 0 {
		return nil, errs
	}
	return &File{Set: set, Plan: plan, Warnings: r.locate(warnings)}, nil
}
