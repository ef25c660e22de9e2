package journal

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate/store"
)

var kills = flag.Int("kills", 20, "how often a process is killed in each durability")

const (
	childDir  = "SLIDEGATE_JOURNAL_TEST_DIR"
	childMode = "SLIDEGATE_JOURNAL_TEST_MODE"

	killMax  = 100
	killSize = 2 * second
	killKeys = 4
)

// child decides as fast as it can, and prints each admission once it is answered.
func child(dir string) {
	d, err := ParseDurability(os.Getenv(childMode))
	if err != nil {
		panic(err)
	}
	s, err := Open(dir, Options{Durability: d, Interval: killInterval, SnapshotEvery: 30 * time.Millisecond})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stdout, "error", err)
		os.Exit(1)
	}
	w, p := store.NewWindow("kill"), sliding(killMax, killSize)
	var out sync.Mutex
	for range 8 {
		go func() {
			for n := 0; ; n++ {
				key := rand.IntN(killKeys)
				reqs := []store.Request{{Items: []store.Item{{Window: w, Key: []byte(strconv.Itoa(key)), Limit: p, Cost: 1}}}}
				if err := s.Decide(context.Background(), reqs); err != nil {
					_, _ = fmt.Fprintln(os.Stdout, "error", err)
					os.Exit(1)
				}
				if reqs[0].Admitted {
					line := fmt.Sprintf("%d %d\n", key, reqs[0].Items[0].Receipt.Stamp)
					out.Lock()
					_, _ = os.Stdout.WriteString(line)
					out.Unlock()
				} else {
					time.Sleep(time.Millisecond)
				}
			}
		}()
	}
	select {}
}

const killInterval = 20 * time.Millisecond

// TestKill kills a process that decides, at random instants, and starts it again. With
// Every no window of real time holds more answered admissions than the limit. With
// Interval it holds at most what was admitted in the last interval before each kill
// besides.
func TestKill(t *testing.T) {
	for _, d := range []Durability{Every, Interval} {
		t.Run(d.String(), func(t *testing.T) {
			dir := t.TempDir()
			hits := make([][]int64, killKeys)
			for n := range *kills {
				answered, killed := runAndKill(t, dir, d)
				for key, stamps := range answered {
					if d == Interval {
						stamps = before(stamps, killed.Add(-2*killInterval).UnixMicro())
					}
					hits[key] = append(hits[key], stamps...)
				}
				for key, stamps := range hits {
					if at, over := overfull(stamps); over {
						t.Fatalf("after %d kills: more than %d answered admissions of key %d in the window that ends at %d", n+1, killMax, key, at)
					}
				}
			}
			total := 0
			for _, stamps := range hits {
				total += len(stamps)
			}
			t.Logf("%d kills, %d answered admissions", *kills, total)
			if total < killMax {
				t.Errorf("only %d admissions: the test tests nothing", total)
			}
			s := open(t, dir, Options{})
			closeStore(t, s)
		})
	}
}

// runAndKill runs the child for a random while and returns what it answered, by key, and
// when it was killed.
func runAndKill(t *testing.T, dir string, d Durability) (hits [][]int64, killed time.Time) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childMode+"="+d.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	life := time.Duration(50+rand.IntN(250)) * time.Millisecond
	kill := time.AfterFunc(life, func() {
		killed = time.Now()
		_ = cmd.Process.Kill()
	})
	defer kill.Stop()
	hits = make([][]int64, killKeys)
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break // a line that was not printed whole was answered all the same, perhaps
		}
		key, stamp, ok := strings.Cut(strings.TrimSpace(line), " ")
		k, err1 := strconv.Atoi(key)
		at, err2 := strconv.ParseInt(stamp, 10, 64)
		if !ok || err1 != nil || err2 != nil {
			t.Fatalf("the child says %q", line)
		}
		hits[k] = append(hits[k], at)
	}
	_ = cmd.Wait()
	return hits, killed
}

// before returns the stamps before a time: what a crash may have lost is left out, and
// that is of the last interval, and of the time that syncing takes, which is less than
// as much again.
func before(stamps []int64, end int64) []int64 {
	return slices.DeleteFunc(stamps, func(at int64) bool { return at >= end })
}

// overfull reports whether a window holds too much. Stamps may be out of order by what
// goroutines do.
func overfull(stamps []int64) (at int64, over bool) {
	sorted := slices.Sorted(slices.Values(stamps))
	for i := killMax; i < len(sorted); i++ {
		if sorted[i]-sorted[i-killMax] < killSize {
			return sorted[i], true
		}
	}
	return 0, false
}
