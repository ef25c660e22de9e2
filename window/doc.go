// Package window holds the structures that remember the recent past. They are
// pure: time is an argument, and they know no clock, lock or goroutine.
//
// Their memory may be lent: each keeps its hits in a ring that the owner can
// replace, so that a store can hold millions of windows without a pointer per
// key. None is safe for concurrent use.
package window
