package listen_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/slidegate/slidegate/internal/listen"
	"github.com/slidegate/slidegate/internal/listen/certtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestUnix(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	ln, err := listen.Unix(t.Context(), path, 0o640)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if ln.Addr().String() != path || ln.Addr().Network() != "unix" {
		t.Error(ln.Addr())
	}
	if _, err := listen.Unix(t.Context(), path, 0o600); err == nil || err.Error() != path+": another process listens on it" {
		t.Errorf("a socket that is in use: %v", err)
	}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "hello")
			conn.Close()
		}
	}()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, err := io.ReadAll(conn); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestUnixStale: a socket that a process left behind is replaced.
func TestUnixStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	old.Close()
	ln, err := listen.Unix(t.Context(), path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	next, err := func() (net.Listener, error) { // takes the place, as after a crash of ours
		if err := os.Remove(path); err != nil {
			return nil, err
		}
		return listen.Unix(t.Context(), path, 0o600)
	}()
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the socket of another was removed: %v", err)
	}
	next.Close()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestUnixOther: what is no socket stays as it is.
func TestUnixOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listen.Unix(t.Context(), path, 0o600); err == nil || !strings.Contains(err.Error(), "is there and is no socket") {
		t.Error(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := listen.Unix(t.Context(), filepath.Join(t.TempDir(), "none", "s"), 0o600); err == nil {
		t.Error("a folder that is not there")
	}
}

// TestLimit: no more connections are served than there are places, over all
// listeners; who waits is served when one is closed.
func TestLimit(t *testing.T) {
	limit := listen.NewLimit(2)
	accepted := make(chan net.Conn, 10)
	var addrs []string
	var serving sync.WaitGroup
	var lns []net.Listener
	for range 2 {
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ln := limit.Listener(inner)
		lns, addrs = append(lns, ln), append(addrs, ln.Addr().String())
		serving.Go(func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				accepted <- conn
			}
		})
	}
	for i := range 5 {
		conn, err := net.Dial("tcp", addrs[i%2])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	first, second := <-accepted, <-accepted
	time.Sleep(50 * time.Millisecond)
	if n := limit.Open(); n != 2 || len(accepted) != 0 {
		t.Errorf("%d are open, %d more", n, len(accepted))
	}
	first.Close()
	first.Close() // once is enough
	third := <-accepted
	time.Sleep(50 * time.Millisecond)
	if n := limit.Open(); n != 2 || len(accepted) != 0 {
		t.Errorf("%d are open, %d more", n, len(accepted))
	}
	second.Close()
	fourth := <-accepted
	for _, ln := range lns {
		ln.Close()
		ln.Close()
	}
	serving.Wait()
	third.Close()
	fourth.Close()
	if n := limit.Open(); n != 0 || len(accepted) != 0 {
		t.Errorf("%d are open, %d more", n, len(accepted))
	}
}

// served is what a server with these certificates says of itself and of the client.
func served(t testing.TB, c *listen.Certificates) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{TLSConfig: c.Config(), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := "nobody"
		if len(r.TLS.PeerCertificates) > 0 {
			who = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		fmt.Fprint(w, r.Proto, " ", who)
	})}
	srv.ErrorLog = nil
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.ServeTLS(ln, "", "") }()
	t.Cleanup(func() { srv.Close(); <-done })
	return "https://" + ln.Addr().String()
}

// get asks once, on a connection of its own.
func get(url string, c *tls.Config) (body, server string, err error) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return string(data), resp.TLS.PeerCertificates[0].Subject.CommonName, err
}

// TestCertificates: a new certificate serves new connections, and a bad one leaves the
// old in its place.
func TestCertificates(t *testing.T) {
	ca, dir := certtest.NewAuthority(t, "ca"), t.TempDir()
	cert, key := ca.Write(t, dir, "first")
	c, err := listen.NewCertificates(cert, key, "")
	if err != nil {
		t.Fatal(err)
	}
	url := served(t, c)
	want := func(name string) {
		t.Helper()
		if body, server, err := get(url, &tls.Config{RootCAs: ca.Pool()}); err != nil || server != name || body != "HTTP/2.0 nobody" {
			t.Errorf("%q of %q, %v; want %s", body, server, err, name)
		}
	}
	want("first")
	ca.Write(t, dir, "second")
	want("first")
	if err := c.Reload(); err != nil {
		t.Error(err)
	}
	want("second")
	other, _ := ca.Issue(t, "third")
	for _, bad := range [][]byte{nil, []byte("no certificate"), other} {
		if err := os.WriteFile(cert, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.Reload(); err == nil || !strings.Contains(err.Error(), cert) {
			t.Errorf("%.20q: %v", bad, err)
		}
		want("second")
	}
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11} {
		if _, _, err := get(url, &tls.Config{RootCAs: ca.Pool(), MinVersion: version, MaxVersion: version}); err == nil {
			t.Errorf("version %#x is served", version)
		}
	}
	if _, err := listen.NewCertificates(cert, filepath.Join(dir, "none"), ""); err == nil {
		t.Error("a key that is not there")
	}
}

// TestClientCertificates: without a certificate of the authority nobody is let in, and
// who may is another after a reload.
func TestClientCertificates(t *testing.T) {
	ca, dir := certtest.NewAuthority(t, "ca"), t.TempDir()
	cert, key := ca.Write(t, dir, "server")
	clients, others := certtest.NewAuthority(t, "clients"), certtest.NewAuthority(t, "clients")
	pool := filepath.Join(dir, "clients.pem")
	write := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(pool, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(clients.PEM())
	c, err := listen.NewCertificates(cert, key, pool)
	if err != nil {
		t.Fatal(err)
	}
	if files := fmt.Sprint(c.Files()); files != fmt.Sprint([]string{cert, key, pool}) {
		t.Error(files)
	}
	url := served(t, c)
	mine, theirs := clients.Pair(t, "mine"), others.Pair(t, "theirs")
	ask := func(pairs ...tls.Certificate) (string, error) {
		body, _, err := get(url, &tls.Config{RootCAs: ca.Pool(), Certificates: pairs, ClientSessionCache: tls.NewLRUClientSessionCache(1)})
		return body, err
	}
	if body, err := ask(mine); err != nil || body != "HTTP/2.0 mine" {
		t.Errorf("%q, %v", body, err)
	}
	for name, pairs := range map[string][]tls.Certificate{"no certificate": nil, "one of another authority": {theirs}, "one of the server's": {ca.Pair(t, "x")}} {
		if body, err := ask(pairs...); err == nil {
			t.Errorf("%s: let in: %s", name, body)
		}
	}
	write([]byte("none"))
	if err := c.Reload(); err == nil || !strings.Contains(err.Error(), "there is no certificate in it") {
		t.Error(err)
	}
	if _, err := ask(mine); err != nil {
		t.Error(err)
	}
	write(others.PEM())
	if err := c.Reload(); err != nil {
		t.Error(err)
	}
	if _, err := ask(mine); err == nil {
		t.Error("who may no longer is let in")
	}
	if _, err := ask(theirs); err != nil {
		t.Error(err)
	}
}
