package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
)

// Variables of the environment that say which server a command asks, and with which
// token.
const (
	serverEnv    = "SLIDEGATE_SERVER"
	tokenEnv     = "SLIDEGATE_TOKEN"
	tokenFileEnv = "SLIDEGATE_TOKEN_FILE"
)

const clientHelp = `It asks a running server: that of --server or SLIDEGATE_SERVER, which is
http://127.0.0.1:8080 unless it is said, or unix:/path for a socket. Where the
server wants a token, it is in SLIDEGATE_TOKEN, or in the file of --token-file or
SLIDEGATE_TOKEN_FILE.`

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// clientFlags are the flags of commands that ask a server.
type clientFlags struct{ server, tokenFile, caFile string }

func (f *clientFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.server, "server", "", "URL of the server, or unix:/path")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "file with the token for the server")
	cmd.Flags().StringVar(&f.caFile, "ca-file", "", "file with the certificates that the server's is to be signed by")
}

// client asks a server.
type client struct {
	base, token string
	http        *http.Client
}

// open makes a client of the flags and the environment.
func (f *clientFlags) open(getenv func(string) string) (*client, error) {
	c := &client{base: firstText(f.server, getenv(serverEnv), "http://"+defaultListen), token: getenv(tokenEnv)}
	if file := firstText(f.tokenFile, getenv(tokenFileEnv)); file != "" && (f.tokenFile != "" || c.token == "") {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("slidegate: the token: %w", err)
		}
		c.token = strings.TrimSpace(string(data))
	}
	transport := &http.Transport{}
	if path, ok := strings.CutPrefix(c.base, "unix:"); ok {
		c.base = "http://slidegate"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}
	}
	if u, err := url.Parse(c.base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("slidegate: %q is no server; say one such as http://127.0.0.1:8080, or unix:/path", c.base)
	}
	if f.caFile != "" {
		pem, err := os.ReadFile(f.caFile)
		if err != nil {
			return nil, fmt.Errorf("slidegate: --ca-file: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("slidegate: --ca-file %s: there is no certificate in it", f.caFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	c.http = &http.Client{Transport: transport, Timeout: 10 * time.Second}
	return c, nil
}

func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// ask sends a request without a body and reads the answer into v. What the server says
// is wrong is the error.
func (c *client) ask(ctx context.Context, method, path string, query url.Values, v any) error {
	target := strings.TrimSuffix(c.base, "/") + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, http.NoBody)
	if err != nil {
		return fmt.Errorf("slidegate: %w", err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err
		}
		return fmt.Errorf("slidegate: %s does not answer: %w", c.base, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("slidegate: %s: the answer ends too early: %w", c.base, err)
	}
	if resp.StatusCode != http.StatusOK {
		var p struct{ Detail string }
		if json.Unmarshal(data, &p) != nil || p.Detail == "" {
			p.Detail = "it is perhaps no Slidegate"
		}
		if strings.ContainsFunc(p.Detail, unicode.IsControl) {
			p.Detail = strconv.Quote(p.Detail)
		}
		return fmt.Errorf("slidegate: %s answers %s: %s", c.base, resp.Status, p.Detail)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("slidegate: %s: the answer cannot be read; is it another version? %w", c.base, err)
	}
	return nil
}
