//go:build !linux

package measure

import "time"

// On systems other than Linux only gaps are seen: the processor time is taken
// to be the wall time, and resident memory is left out.

func cpuTime() time.Duration { return time.Duration(time.Now().UnixNano()) }

func waitTime() time.Duration { return 0 }

func residentBytes() int64 { return 0 }
