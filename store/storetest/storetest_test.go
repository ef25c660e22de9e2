package storetest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/store"
)

// faultEnv names the fault that a child process tests a store with.
const faultEnv = "STORETEST_FAULT"

func TestListStore(t *testing.T) {
	fault := os.Getenv(faultEnv)
	Run(t, func(_ *testing.T, clock *Clock) store.Store { return newListStore(clock.Now, fault) })
}

// TestFaults shows that the suite finds what may go wrong in a store: for each
// fault it must fail, so it runs in a process of its own.
func TestFaults(t *testing.T) {
	if os.Getenv(faultEnv) != "" {
		t.Skip("in the process of a fault")
	}
	for _, fault := range []string{
		"a closed window", "an open window", "a key ends at NUL", "windows share keys", "identity and key run together",
		"takes duplicates", "shadows decide", "a refusal charges the others", "checks and charges apart", "no pull",
		"refused checks do not enter", "retry before recording", "refunds twice", "refunds refusals", "refunds what is out", "a refund survives Reset",
	} {
		t.Run(fault, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestListStore$", "-test.failfast", "-rapid.nofailfile", "-rapid.shrinktime=0s")
			cmd.Env = append(os.Environ(), faultEnv+"="+fault)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatal("the suite did not find it")
			}
			if !strings.Contains(string(out), "--- FAIL: TestListStore/") {
				t.Fatalf("it failed, but not in a subtest: %v\n%s", err, out)
			}
			if testing.Verbose() {
				_, line, _ := strings.Cut(string(out), "--- FAIL: TestListStore/")
				line, _, _ = strings.Cut(line, " (")
				t.Log("found by ", line)
			}
		})
	}
}
