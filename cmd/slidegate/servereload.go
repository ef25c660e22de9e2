package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/slidegate/slidegate/internal/watch"
	"github.com/slidegate/slidegate/rule"
	"github.com/slidegate/slidegate/rule/rulefile"
)

// watchQuiet is how long files are left alone before they are read again, so that
// changes which belong together are read together.
const watchQuiet = 200 * time.Millisecond

// maxNamedFiles bounds how many files that a rule file names are watched.
const maxNamedFiles = 1000

// reloader reads the rules again. A file that is wrong is refused whole, and the rules
// before it go on.
type reloader struct {
	d  *daemon
	mu sync.Mutex // one at a time

	at             sync.Mutex
	loaded, failed time.Time
}

func newReloader(d *daemon) *reloader {
	d.metrics.Reloaded("rules", nil)
	return &reloader{d: d, loaded: time.Now()}
}

// state says when the rules in force were read, and when reading them failed since.
func (r *reloader) state() (loaded, failed time.Time) {
	r.at.Lock()
	defer r.at.Unlock()
	return r.loaded, r.failed
}

// reload reads the rules again and returns the limits whose history ends. why stands
// in the log.
func (r *reloader) reload(why string) ([]rule.Forgotten, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lost, err := r.read()
	r.d.metrics.Reloaded("rules", err)
	r.at.Lock()
	defer r.at.Unlock()
	if err != nil {
		r.failed = time.Now()
		r.d.log.Error("the rules were not read again; those before go on", "because", why, "error", message(err))
		return nil, err
	}
	r.loaded, r.failed = time.Now(), time.Time{}
	r.d.log.Info("rules read again", "because", why, "rules", len(r.d.gate.Plan().Rules()), "forgotten", len(lost))
	for _, f := range lost {
		r.d.log.Warn("the history of a limit ends", "rule", f.Rule, "limit", f.Limit, "why", f.Why)
	}
	return lost, nil
}

// loadRules reads the rule file, or the starter file where none is named.
func (c *settings) loadRules() (*rulefile.File, error) {
	o := rulefile.Options{Instances: int(c.Instances)}
	if c.Rules == "" {
		return o.Parse("starter.yaml", "", starter)
	}
	return o.Load(c.Rules)
}

func (r *reloader) read() ([]rule.Forgotten, error) {
	f, err := r.d.c.loadRules()
	if err != nil {
		return nil, err
	}
	for _, w := range f.Warnings {
		r.d.log.Warn("rules", "warning", w.Error())
	}
	lost, err := r.d.gate.Reload(f.Plan)
	if err == nil {
		r.d.metrics.Keep(f.Plan)
		r.d.busy.Keep(func(name string) bool { return f.Plan.Rule(name) != nil })
	}
	return lost, err
}

// reloadCertificates reads the certificates again, if there are any.
func (d *daemon) reloadCertificates(why string) {
	if d.certs == nil {
		return
	}
	err := d.certs.Reload()
	d.metrics.Reloaded("certificates", err)
	if err != nil {
		d.log.Error("the certificates were not read again; those before go on", "because", why, "error", err.Error())
		return
	}
	d.log.Info("certificates read again", "because", why)
}

// watch reads rules and certificates again on SIGHUP and, unless it is told not to,
// when their files change, until ctx ends.
func (d *daemon) watch(ctx context.Context, background *sync.WaitGroup) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	background.Go(func() {
		defer signal.Stop(hangups)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				_, _ = d.rules.reload("SIGHUP") // has been logged
				d.reloadCertificates("SIGHUP")
			}
		}
	})
	if d.certs != nil {
		d.metrics.Reloaded("certificates", nil)
	}
	if !d.c.Watch {
		return
	}
	const changed = "a file changed"
	if d.c.Rules != "" {
		d.watchFiles(ctx, background, d.ruleFiles, func() { _, _ = d.rules.reload(changed) })
	}
	if d.certs != nil {
		d.watchFiles(ctx, background, d.certs.Files, func() { d.reloadCertificates(changed) })
	}
}

func (d *daemon) watchFiles(ctx context.Context, background *sync.WaitGroup, files func() []string, changed func()) {
	wait, err := watch.Files(ctx, files, watchQuiet, changed)
	if err != nil {
		d.log.Warn("files are not watched; use SIGHUP after a change", "error", err.Error())
		return
	}
	background.Go(wait)
}

// reFile finds what a rule file names for lists and overrides: file: PATH.
var reFile = regexp.MustCompile(`\bfile["']?\s*:\s*(?:"([^"]+)"|'([^']+)'|([^\s"',}\]#][^,}\]#\n]*))`)

// ruleFiles are the rule file and those that it names. One too many does no harm: its
// changes are read, and change nothing.
func (d *daemon) ruleFiles() []string {
	files := []string{d.c.Rules}
	data, err := os.ReadFile(d.c.Rules)
	if err != nil {
		return files
	}
	for _, m := range reFile.FindAllStringSubmatch(string(data), maxNamedFiles) {
		name := strings.TrimSpace(m[1] + m[2] + m[3])
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(d.c.Rules), name)
		}
		files = append(files, name)
	}
	return files
}
