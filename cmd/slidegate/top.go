package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/slidegate/slidegate"
	"github.com/spf13/cobra"
)

func newTop() *cobra.Command {
	var f clientFlags
	var every time.Duration
	var once bool
	var keys int
	cmd := &cobra.Command{
		Use:   "top [--server URL] [--every 1s] [--keys N] [--once]",
		Short: "Watch a running server: rules, rates, refusals, keys, locks",
		Long: `Top shows, again and again until it is stopped, what each rule of a running server
decides and how often, the keys that are refused most, how many locks hold, and
how much memory the windows take. With --once it shows that once, after one
interval.

` + clientHelp,
		Example: `  slidegate top
  slidegate top --server unix:/run/slidegate.sock --every 5s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < 100*time.Millisecond {
				return errors.New("--every is 100ms or more")
			}
			if keys < 0 || keys > topKeys {
				return fmt.Errorf("--keys is 0 to %d", topKeys)
			}
			c, err := f.open(os.Getenv)
			if err != nil {
				return fail(err)
			}
			defer c.http.CloseIdleConnections()
			return fail(watchTop(cmd.Context(), c, cmd.OutOrStdout(), every, keys, once))
		},
	}
	f.add(cmd)
	cmd.Flags().DurationVar(&every, "every", time.Second, "how often to ask")
	cmd.Flags().IntVar(&keys, "keys", 10, "how many keys to show")
	cmd.Flags().BoolVar(&once, "once", false, "show it once and end")
	return cmd
}

// clearScreen moves to the upper left corner and clears what follows.
const clearScreen = "\x1b[H\x1b[J"

// watchTop shows what is going on until ctx ends, or once.
func watchTop(ctx context.Context, c *client, w io.Writer, every time.Duration, keys int, once bool) error {
	var before topAnswer
	if err := c.ask(ctx, http.MethodGet, "/v1/top", nil, &before); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
		var now topAnswer
		if err := c.ask(ctx, http.MethodGet, "/v1/top", nil, &now); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // it was stopped while it asked
			}
			return err
		}
		text := showTop(c.base, &before, &now, keys)
		if !once {
			text = clearScreen + text
		}
		if _, err := io.WriteString(w, text); err != nil || once {
			return err
		}
		before = now
	}
}

// showTop draws what is going on.
func showTop(server string, before, now *topAnswer, keys int) string {
	var b strings.Builder
	span := max(now.Now.Sub(before.Now).Seconds(), 1e-3)
	fmt.Fprintf(&b, "%s, for %v; %d locked; %.0f of %.0f keys, %.1f of %.1f MB", server, now.Now.Sub(now.Since).Round(time.Second), now.Locks,
		now.Store["keys"], now.Store["max_keys"], now.Store["bytes"]/1e6, now.Store["max_bytes"]/1e6)
	if now.Store["full"] > 0 {
		fmt.Fprintf(&b, "; %.0f refused at the ceiling", now.Store["full"])
	}
	if now.Store["sketch_hits"] > 0 {
		fmt.Fprintf(&b, "; %.0f in the sketch (wrongly refused: under %.2g)", now.Store["sketch_hits"], now.Store["sketch_wrong"])
	}
	b.WriteString("\n\n")
	b.WriteString(ruleTable(before, now, span).Render() + "\n")
	if t := keyTable(now, keys); t != nil {
		b.WriteString("\n" + t.Render() + "\n")
	}
	return b.String()
}

func ruleTable(before, now *topAnswer, span float64) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	header := table.Row{"decided by"}
	actions := slidegate.Actions()
	for _, a := range actions {
		header = append(header, a.String())
	}
	t.AppendHeader(append(header, "a second"))
	earlier := map[string]map[string]int64{}
	for _, r := range before.Rules {
		earlier[r.Rule] = r.Actions
	}
	for _, r := range now.Rules {
		row := table.Row{cmp.Or(r.Rule, "(no rule)")}
		var more int64
		for _, a := range actions {
			n := r.Actions[a.String()]
			more += n - earlier[r.Rule][a.String()]
			row = append(row, number(n))
		}
		t.AppendRow(append(row, fmt.Sprintf("%.1f", max(float64(more), 0)/span)))
	}
	if len(now.Rules) == 0 {
		t.AppendRow(table.Row{"nothing yet"})
	}
	return t
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// keyTable lists the keys that were refused most; nil if there are none.
func keyTable(now *topAnswer, keys int) table.Writer {
	shown := slices.Clone(now.Keys)[:min(keys, len(now.Keys))]
	if len(shown) == 0 {
		return nil
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"refused", "rule", "key", "last"})
	for _, k := range shown {
		count := strconv.FormatInt(k.Refused, 10)
		if k.Over > 0 {
			count = fmt.Sprintf("%d to %d", k.Refused-k.Over, k.Refused)
		}
		t.AppendRow(table.Row{count, k.Rule, shownKey(k.Key), now.Now.Sub(k.Last).Round(time.Second).String() + " ago"})
	}
	return t
}
