package measure

import (
	"fmt"
	"time"
)

// Disturbance is what the machine did while something was timed.
type Disturbance struct {
	// Workers is how many goroutines were timed.
	Workers int
	// Wall is the time that passed, CPU the processor time of the process.
	Wall, CPU time.Duration
	// Waited is how long threads of the process were ready to run and had no
	// processor; 0 where the system does not say.
	Waited time.Duration
	// Lost is the time in gaps: moments in which a worker stood still for
	// longer than gap.
	Lost time.Duration
}

// gap is how long a worker must stand still for it to count as a gap in the
// schedule. The longest thing that a limiter does of itself in a block of
// decisions, moving a large map, takes less.
const gap = 4 * time.Millisecond

// tolerated is the share of the time of the workers that may be lost.
const tolerated = 0.02

// Reason says why the timing is not to be trusted, or "".
func (d *Disturbance) Reason() string {
	share := func(t time.Duration) float64 { return float64(t) / float64(d.Wall) / float64(max(d.Workers, 1)) }
	switch {
	case d.Wall <= 0:
		return "no time passed"
	case share(d.Waited) > tolerated:
		return fmt.Sprintf("waited for a processor for %.0f %% of the time", 100*share(d.Waited))
	case float64(d.CPU) < 0.95*float64(d.Wall):
		// Workers may sleep on a lock, but never all of them at once.
		return fmt.Sprintf("wall time %v, processor time only %v", d.Wall, d.CPU)
	case share(d.Lost) > tolerated:
		return fmt.Sprintf("stood still for %.0f %% of the time", 100*share(d.Lost))
	}
	return ""
}

// watch notes the counters of the system, and returns a function that says what
// passed since.
func watch(workers int) func() Disturbance {
	start, cpu, waited := time.Now(), cpuTime(), waitTime()
	return func() Disturbance {
		return Disturbance{Workers: workers, Wall: time.Since(start), CPU: cpuTime() - cpu, Waited: waitTime() - waited}
	}
}
