//go:build race

package cond

// raced is set under the race detector, which allocates on its own.
const raced = true
