//go:build race

package store

// raced is set under the race detector, where a test of one goroutine need not
// be as large.
const raced = true
