package examples

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

// message is one line of a log of sshd and its neighbours.
type message struct {
	at   int // seconds from the start
	app  string
	text string
}

// users log in with their keys, and now and then mistype a password first.
func users(rnd *rand.Rand) []message {
	var all []message
	for i, name := range []string{"alice", "bob", "carol", "dave"} {
		ip := fmt.Sprintf("192.0.2.%d", 10+i)
		for range 3 {
			at, port := rnd.IntN(7200), 40_000+rnd.IntN(20_000)
			if i == 3 {
				all = append(all, message{at - 4, "sshd[%d]", fmt.Sprintf("Failed password for %s from %s port %d ssh2", name, ip, port)})
			}
			all = append(all,
				message{at, "sshd[%d]", fmt.Sprintf("Accepted publickey for %s from %s port %d ssh2: ED25519 SHA256:wUexample", name, ip, port)},
				message{at + 600, "sshd[%d]", fmt.Sprintf("Received disconnect from %s port %d:11: disconnected by user", ip, port)})
		}
	}
	for i := range 12 {
		all = append(all, message{i*600 + 1, "CRON[%d]", "pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)"})
	}
	return all
}

// attacker tries names and passwords, one of them made to look as if another did.
func attacker() []message {
	const ip = "203.0.113.66"
	names := []string{"admin", "oracle", "test", "x from 192.0.2.10 port 22", "ubuntu"}
	var all []message
	for i := range 40 {
		name, at, port := names[i%len(names)], 3000+i*40, 50_000+i
		all = append(all,
			message{at, "sshd[%d]", fmt.Sprintf("Invalid user %s from %s port %d", name, ip, port)},
			message{at + 2, "sshd[%d]", fmt.Sprintf("Failed password for invalid user %s from %s port %d ssh2", name, ip, port)})
		if i%8 == 7 {
			all = append(all, message{at + 9, "sshd[%d]", fmt.Sprintf("message repeated 2 times: [ Failed password for invalid user %s from %s port %d ssh2]", name, ip, port)})
		}
		all = append(all, message{at + 10, "sshd[%d]", fmt.Sprintf("Connection closed by invalid user %s %s port %d [preauth]", name, ip, port)})
	}
	return all
}

func authLog() []byte {
	all := slices.Concat(users(rand.New(rand.NewPCG(3, 4))), attacker())
	slices.SortStableFunc(all, func(a, b message) int { return cmp.Compare(a.at, b.at) })
	start := time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)
	var b bytes.Buffer
	for i, m := range all {
		fmt.Fprintf(&b, "%s gate1 %s: %s\n", start.Add(time.Duration(m.at)*time.Second).Format(time.Stamp), fmt.Sprintf(m.app, 1000+i*3), m.text)
	}
	return b.Bytes()
}

// The log is what this file writes.
func TestAuthLog(t *testing.T) {
	want := authLog()
	if *rewrite {
		if err := os.WriteFile("auth.log", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("auth.log")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("auth.log is not what this file writes, %v; go test ./examples -rewrite", err)
	}
}
