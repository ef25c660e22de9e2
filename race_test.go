//go:build race

package slidegate

// raced is set under the race detector, where sync.Pool drops things at random.
const raced = true
