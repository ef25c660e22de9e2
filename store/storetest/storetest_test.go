package storetest

import (
	"os"
	"os/exec"
	"regexp"
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

// faults are what may go wrong, and the clause that must find it, by how it begins;
// where that is empty, any of them.
var faults = []found{
	{"a closed window", ""},
	{"an open window", ""},
	{"a key ends at NUL", "any bytes are a key"},
	{"windows share keys", "windows of different identity"},
	{"identity and key run together", "windows of different identity"},
	{"takes duplicates", "a window and key named twice"},
	{"shadows decide", "a shadow item never decides"},
	{"a refusal charges the others", "a request is charged everywhere or nowhere"},
	{"checks and charges apart", "200 at once"},
	{"no pull", "a clock that steps back"},
	{"refused checks do not enter", "events: every check enters"},
	{"retry before recording", "count_refused: the retry"},
	{"refunds twice", "a refund gives back exactly"},
	{"refunds refusals", "a refusal that was only recorded"},
	{"refunds what is out", "a refund that comes late"},
	{"a refund survives Reset", "a refund after Reset"},
	{"a refund survives Reset", "in flight: after Reset"},
	{"a second time is as good as the first", "in flight: a place is free when"},
	{"refunds what is out", "in flight: a release that comes late"},
	{"refunds twice", "in flight: places of one instant"},
	{"releases what is not in flight", "in flight: Release touches nothing"},
	{"believes receipts", "in flight: receipts that lie"},
	{"a renewed receipt stays good", "in flight: Renew moves"},
	{"renews in part and says all", "in flight: Renew says false"},
	{"a place stays too long", "in flight: a place that nobody releases"},
	{"a refused request holds a place", "in flight: a refused request"},
	{"checks and charges apart", "64 at once hold"},
	{"what yields decides", "an item that yields neither"},
	{"what yields is charged when full", "an item that yields neither"},
	{"a refusal charges the others", "an item that yields is charged"},
	{"a queue does not say how long to wait", "queue: who has to wait"},
	{"a queue waits as long as it lets, not the others", "queue: a request takes its places in several"},
	{"queues take places apart", "queue: a request takes its places in several"},
	{"queues take places apart", "queue: in any span of the instants waited for in several"},
	{"a queue gives back places in the middle", "queue: the last place"},
	{"a queue gives back places in the middle", "queue: places stay"},
	{"a queue gives back places in the middle", "queue: in any span"},
	{"a refused request takes a place in a queue", "queue: a refused request"},
	{"a recorded request takes no place in a queue", "queue: a request that counts refusals"},
	{"known members are not renewed", "distinct: known members pass"},
	{"a refusal charges the others", "distinct: members are charged whole"},
	{"a member named twice counts twice", "distinct: a member named twice"},
	{"members are kept by reference", "distinct: members are read"},
	{"a look charges", "distinct: without members"},
	{"takes stray members", "distinct: members of another algorithm"},
	{"a refund takes out who was seen since", "distinct: a refund takes out"},
	{"refunds what is out", "distinct: a refund that comes late"},
	{"all members must leave", "distinct: the retry"},
	{"members stay too long", "distinct: known members pass"},
	{"recorded members get in", "distinct: count_refused"},
	{"known members are not renewed", "distinct: ten thousand"},
	{"what is held does not count", "reports: a check has room"},
	{"what is held does not count", "held: 200 at once"},
	{"a report charges nothing", "reports: a window holds every report"},
	{"a report charges nothing", "held: a success frees"},
	{"settles twice", "held: a place is settled"},
	{"settles late", "held: a place is settled"},
	{"who is not named frees nothing", "held: a report that names no decision"},
	{"the retry overlooks what is held", "held: the retry"},
	{"the retry overlooks what is held", "held: what nobody settles"},
	{"settles twice", "unsettled: a report changes"},
	{"what is held locks", "locks: what is held"},
	{"locks do not rise", "locks: one after another"},
	{"a lock empties nothing", "locks: a lock empties"},
	{"shadows lock", "locks: shadows"},
	{"a lock decides nothing", "locks: a locked key refuses"},
	{"a lock decides nothing", "locks: the report that fills"},
	{"periods end late", "calendar: a window begins anew"},
	{"periods end late", "golden vectors of calendar"},
	{"the window before weighs nothing", "golden vectors of sliding_counter"},
	{"a place stays too long", "golden vectors of inflight"},
	{"a queue does not say how long to wait", "golden vectors of queue"},
	{"known members are not renewed", "golden vectors of distinct"},
}

type found struct{ fault, by string }

// clause is the clause as the end of a pattern of tests.
func (f found) clause() string {
	if f.by == "" {
		return ""
	}
	return "/^" + regexp.QuoteMeta(strings.ReplaceAll(f.by, " ", "_"))
}

// TestFaults shows that the suite finds what may go wrong in a store: for each
// fault the clause must fail, so it runs in a process of its own.
func TestFaults(t *testing.T) {
	if os.Getenv(faultEnv) != "" {
		t.Skip("in the process of a fault")
	}
	for _, c := range faults {
		t.Run(c.fault, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestListStore$"+c.clause(), "-test.failfast", "-rapid.nofailfile", "-rapid.shrinktime=0s")
			cmd.Env = append(os.Environ(), faultEnv+"="+c.fault)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatal("the suite did not find it")
			}
			if !strings.Contains(string(out), "--- FAIL: TestListStore/") {
				t.Fatalf("it failed, but not in a subtest: %v\n%s", err, out)
			}
		})
	}
}
