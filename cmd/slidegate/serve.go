package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/internal/httpapi"
	"github.com/spf13/cobra"
)

// defaultListen is where the server listens when it is not told.
const defaultListen = "127.0.0.1:8080"

// drainTime is how long the requests under way have to finish.
const drainTime = 10 * time.Second

func newServe() *cobra.Command {
	var rules, listen string
	cmd := &cobra.Command{
		Use:   "serve [--rules FILE] [--listen ADDR]",
		Short: "Answer checks over HTTP",
		Long: `Serve answers checks over HTTP and JSON, with its state in memory. Without
--rules it starts with a few rules to try. It stops on SIGINT and SIGTERM, after
the requests under way are answered; a second signal ends it at once.`,
		Example: `  slidegate serve
  slidegate serve --rules rules.yaml --listen 127.0.0.1:9000
  curl -s localhost:8080/v1/check -d '{"event":"sms.send","attrs":{"phone":"13800000000","ip":"192.0.2.9"}}'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("serve takes its rule file as a flag: write --rules %s", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, _, err := net.SplitHostPort(listen); err != nil {
				return fmt.Errorf("--listen %q: it takes an address and a port, as in --listen %s", listen, defaultListen)
			}
			return serve(cmd.Context(), rules, listen, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&rules, "rules", "", "rule file (default: a few rules to try)")
	cmd.Flags().StringVar(&listen, "listen", defaultListen, "address to listen on; port 0 takes a free one")
	return cmd
}

func serve(ctx context.Context, rules, listen string, stdout, stderr io.Writer) error {
	f, err := loadRules(rules, stderr)
	if err != nil {
		return err
	}
	g, err := gate.New(f.Plan, gate.Options{})
	if err != nil {
		return fail(err)
	}
	defer g.Close()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return fail(fmt.Errorf("slidegate: cannot listen on %s: %w\nTry: slidegate serve --listen 127.0.0.1:0", listen, err))
	}
	announce(stdout, ln.Addr(), rules, len(f.Plan.Rules()))
	srv := &http.Server{
		Handler:           httpapi.New(g),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	if err := serveUntil(ctx, srv, ln, drainTime); err != nil {
		return fail(err)
	}
	fmt.Fprintln(stdout, "slidegate has stopped.")
	return nil
}

// serveUntil serves until ctx ends, then lets the requests under way finish, as
// long as drain.
func serveUntil(ctx context.Context, srv *http.Server, ln net.Listener, drain time.Duration) error {
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	select {
	case err := <-done:
		return fmt.Errorf("slidegate: %w", err)
	case <-ctx.Done():
	}
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := srv.Shutdown(draining); err != nil {
		_ = srv.Close()
		return fmt.Errorf("slidegate: some requests were cut off: %w", err)
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("slidegate: %w", err)
	}
	return nil
}

func announce(w io.Writer, addr net.Addr, rules string, n int) {
	where := reachable(addr)
	from := rules
	if from == "" {
		from = "the starter rules (order-query, sms-phone, sms-ip)"
	}
	fmt.Fprintf(w, "slidegate listens on http://%s with %s from %s.\n", where, plural(n, "rule"), from)
	if rules == "" {
		fmt.Fprintf(w, "Try it (twice: one SMS per phone in 60 seconds):\n\n  curl -s http://%s/v1/check -d '%s'\n\n",
			where, `{"event":"sms.send","attrs":{"phone":"13800000000","ip":"192.0.2.9"}}`)
	}
}

// reachable returns an address to connect to: one that listens on all is
// reached by the loopback.
func reachable(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
