package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/parts"
)

// TestNginx: the configuration of the guide, in a real nginx: a client is denied by
// its address, whatever it says of it.
func TestNginx(t *testing.T) {
	program := parts.Debian(t, "nginx", "nginx")
	guide, err := os.ReadFile("../../docs/guide/http.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```nginx\n(.*?)```").FindStringSubmatch(string(guide))
	if m == nil {
		t.Fatal("the guide has no configuration")
	}
	dir := t.TempDir()
	s := startServe(t, "--rules", writeFile(t, dir, "r.yaml", "version: 1\nrules: [{name: api, match: {event: api}, key: [ip], missing_key: skip, limits: [2 per 1h]}]\n"))
	if err := os.MkdirAll(filepath.Join(dir, "www", "api"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "www", "api"), "x", "passed")
	front, behind := freePort(t), freePort(t)
	conf := strings.NewReplacer("127.0.0.1:8080", strings.TrimPrefix(s.url, "http://"), "http://backend", "http://"+behind).Replace(m[1])
	temp := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += kind + "_temp_path " + dir + "/temp;\n"
	}
	path := writeFile(t, dir, "nginx.conf", fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log stderr; events {}
http { access_log off; %[2]s
server { listen %[3]s; root %[1]s/www; }
server { listen %[4]s; %[5]s } }
`, dir, temp, behind, front, conf))
	cmd := exec.CommandContext(t.Context(), program, "-c", path)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(t, "nginx", func() bool {
		conn, err := net.Dial("tcp", front)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusForbidden, http.StatusForbidden} {
		r := ask(t, nil, "GET", "http://"+front+"/api/x", "", fmt.Sprintf("X-Forwarded-For: 198.51.100.%d", i))
		if r.StatusCode != want || want == http.StatusOK && r.body != "passed" || (want == http.StatusOK) != (r.Header.Get("Retry-After") == "") {
			t.Errorf("%d: %d, %s; want %d", i, r.StatusCode, r.body, want)
		}
	}
}

// freePort returns an address on which nobody listens.
func freePort(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
