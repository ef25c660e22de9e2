package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

func newKey() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key COMMAND",
		Short: "Show, empty or unlock the windows of a key in a running server",
		Long: `Key looks at the windows of one key of a rule in a running server, empties them,
or lifts its lock. The key is named by the attributes that it is built from.

` + clientHelp,
		Example: `  slidegate key show sms-phone phone=13800000000
  slidegate key reset sms-phone phone=13800000000
  slidegate key unlock login account=ann --reason "the owner called"`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newKeyShow(), newKeyReset(), newKeyUnlock())
	for _, c := range cmd.Commands() {
		c.DisableFlagsInUseLine = true
	}
	return cmd
}

// keyCommand makes a command about one key.
func keyCommand(use, short, example string, do func(context.Context, *cobra.Command, *client, string, url.Values) error) *cobra.Command {
	var f clientFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Long: short + ".\n\n" + clientHelp, Example: example,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			query, err := keyQuery(args[1:])
			if err != nil {
				return err
			}
			c, err := f.open(os.Getenv)
			if err != nil {
				return fail(err)
			}
			defer c.http.CloseIdleConnections()
			return fail(do(cmd.Context(), cmd, c, args[0], query))
		},
	}
	f.add(cmd)
	return cmd
}

// keyQuery makes a query of NAME=VALUE words.
func keyQuery(words []string) (url.Values, error) {
	query := url.Values{}
	for _, w := range words {
		if name, _, ok := strings.Cut(w, "="); !ok || name == "" {
			return nil, fmt.Errorf("%q: a part of the key is NAME=VALUE, as in phone=13800000000", w)
		}
		query.Add("key", w)
	}
	return query, nil
}

// windowAnswer is a window as the server tells of it.
type windowAnswer struct {
	Limit      string      `json:"limit"`
	Used       json.Number `json:"used"`
	Max        json.Number `json:"max"`
	Remaining  json.Number `json:"remaining"`
	ResetAfter int64       `json:"reset_after_us"`
	RetryAfter int64       `json:"retry_after_us"`
	Locked     bool        `json:"locked"`
}

func newKeyShow() *cobra.Command {
	return keyCommand("show RULE NAME=VALUE… [--server URL]", "Show how the windows of a key stand",
		"  slidegate key show sms-phone phone=13800000000",
		func(ctx context.Context, cmd *cobra.Command, c *client, rule string, query url.Values) error {
			var out struct{ Windows []windowAnswer }
			if err := c.ask(ctx, http.MethodGet, "/v1/windows/"+url.PathEscape(rule), query, &out); err != nil {
				return err
			}
			t := table.NewWriter()
			t.SetStyle(table.StyleLight)
			t.AppendHeader(table.Row{"limit", "used", "max", "remaining", "empty in", ""})
			for _, w := range out.Windows {
				locked := ""
				if w.Locked {
					locked = "locked for " + microseconds(w.RetryAfter)
				}
				t.AppendRow(table.Row{w.Limit, w.Used, w.Max, w.Remaining, microseconds(w.ResetAfter), locked})
			}
			if len(out.Windows) == 0 {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "No limit holds for this key: it is unlimited.")
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), t.Render())
			return err
		})
}

func newKeyReset() *cobra.Command {
	return keyCommand("reset RULE NAME=VALUE… [--server URL]", "Empty the windows of a key",
		"  slidegate key reset sms-phone phone=13800000000",
		func(ctx context.Context, cmd *cobra.Command, c *client, rule string, query url.Values) error {
			var out struct{ Reset bool }
			if err := c.ask(ctx, http.MethodDelete, "/v1/windows/"+url.PathEscape(rule), query, &out); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "The windows are empty.")
			return err
		})
}

func newKeyUnlock() *cobra.Command {
	var reason string
	cmd := keyCommand("unlock RULE NAME=VALUE… --reason TEXT [--server URL]", "Lift the lock of a key, and empty its windows",
		`  slidegate key unlock login account=ann --reason "the owner called"`,
		func(ctx context.Context, cmd *cobra.Command, c *client, rule string, query url.Values) error {
			if reason == "" {
				return errors.New("slidegate: say why, for the log of the server: --reason TEXT")
			}
			query.Set("rule", rule)
			query.Set("reason", reason)
			var out struct{ Unlocked bool }
			if err := c.ask(ctx, http.MethodDelete, "/v1/locks", query, &out); err != nil {
				return err
			}
			text := "It was not locked."
			if out.Unlocked {
				text = "The lock is lifted, and the windows are empty."
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), text)
			return err
		})
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the log of the server (required)")
	return cmd
}

// microseconds writes a delay for people; "-" for none.
func microseconds(us int64) string {
	if us == 0 {
		return "-"
	}
	d := time.Duration(us) * time.Microsecond
	if d > time.Second {
		d = d.Round(100 * time.Millisecond)
	}
	return d.String()
}
