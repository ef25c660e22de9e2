package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func newServe() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve [--rules FILE] [--listen ADDR] [--secret-key-file FILE] [--config FILE] [--set NAME=VALUE]",
		Short: "Check events over HTTP, and show and settle what was counted",
		Long: `Serve answers over HTTP and JSON, with its state in memory. Without --rules it
starts with a few rules to try. It stops on SIGINT and SIGTERM, after the requests
under way are answered; a second signal ends it at once.

    POST /v1/check             may these events happen, and what is to be done?
    GET /v1/auth               the same for proxies, with the event in the query
    POST /v1/report            what happened: how logins went, what calls came to
    POST /v1/refund            gives back what a decision charged
    POST /v1/release           ends what a decision has in flight
    POST /v1/renew             lets that stay for longer
    GET /v1/windows/RULE       how the windows of a rule stand for a key
    DELETE /v1/windows/RULE    empties them
    GET /v1/locks              the keys that are locked
    DELETE /v1/locks           lifts a lock
    GET /v1/top                what is going on
    POST /v1/explain           which rules an event meets now, and why
    GET /v1/rules              the rules in force
    POST /v1/reload            reads the rules again
    GET /metrics               numbers for Prometheus
    GET /healthz, /readyz      ok, as long as it serves; whether it wants requests
    GET /version               which build this is
    GET /openapi.json          all of this as OpenAPI

On SIGHUP, and when the rule file changes, it reads its rules again; if anything
is wrong with them, those before go on.

Its settings come from flags, from the environment (SLIDEGATE_LOG_FORMAT for
log.format), and from the file of --config, in this order: the first that says
something wins. See docs/guide/daemon.md.

` + secretHelp + `
The setting secret_key_file names one as well.`,
		Example: `  slidegate serve
  slidegate serve --rules rules.yaml --listen 127.0.0.1:9000
  slidegate serve --config daemon.yaml --set log.level=debug
  curl -s localhost:8080/v1/check -d '{"event":"sms.send","attrs":{"phone":"13800000000","ip":"192.0.2.9"}}'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("serve takes its rule file as a flag: write --rules %s", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.read(cmd.Flags(), os.Getenv)
			if err != nil {
				return err
			}
			if f.print {
				return fail(printConfig(cmd.OutOrStdout(), c, os.Getenv))
			}
			return serve(cmd.Context(), c, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.add(cmd.Flags())
	return cmd
}

// serve serves until ctx ends.
func serve(ctx context.Context, c *settings, stdout, stderr io.Writer) error {
	d, err := newDaemon(c, stderr)
	if err != nil {
		return err
	}
	defer d.close()
	if err := d.listen(ctx); err != nil {
		return fail(err)
	}
	d.announce(stdout)
	if err := d.serve(ctx); err != nil {
		return fail(err)
	}
	fmt.Fprintln(stdout, "slidegate has stopped.")
	return nil
}
