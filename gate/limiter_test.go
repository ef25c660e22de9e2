package gate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestLimiter(t *testing.T) {
	c := newClock()
	l, err := NewLimiter(3, time.Minute, LimiterOptions{Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	if !l.AllowN("a", 2) || l.AllowN("a", 2) || !l.Allow("a") || l.Allow("a") {
		t.Error("3 a minute were not 3")
	}
	if !l.AllowN("a", 0) || l.AllowN("a", -1) || !l.Allow("b") || l.AllowN("b", 4) {
		t.Error("0 looks, a negative number and one over the maximum never pass, keys are apart")
	}
	c.move(59 * time.Second)
	if s := l.Peek("a"); s.Used != 3 || s.Max != 3 || s.Remaining != 0 || !s.Refused || s.RetryAfter != time.Second {
		t.Errorf("Peek = %+v", s)
	}
	if s := l.Peek("new"); s.Used != 0 || s.Remaining != 3 || s.Refused || s.RetryAfter != 0 {
		t.Errorf("Peek = %+v", s)
	}
	c.move(time.Second)
	if !l.AllowN("a", 3) {
		t.Error("refused after a minute")
	}
	goleak.VerifyNone(t)
}

func TestLimiterErrors(t *testing.T) {
	for _, c := range []struct {
		max  int64
		per  time.Duration
		want string
	}{{-1, time.Second, "max -1"}, {100_001, time.Second, "sliding log holds"}, {1, time.Microsecond, "1ms to 400d"}, {1, 401 * 24 * time.Hour, "1ms to 400d"}, {1, time.Second + 1, "whole microseconds"}} {
		if _, err := NewLimiter(c.max, c.per, LimiterOptions{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d per %v: %v", c.max, c.per, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("MustLimiter did not panic")
		}
	}()
	MustLimiter(-1, time.Second, LimiterOptions{})
}

// TestLimiterForgets: without a goroutine, idle keys go as others are used, and
// at the ceiling those who are counted stay counted.
func TestLimiterForgets(t *testing.T) {
	c := newClock()
	l := MustLimiter(1, time.Second, LimiterOptions{Now: c.now, MaxKeys: 1000})
	for i := range 1000 {
		l.Allow(fmt.Sprint(i))
	}
	if l.Allow("one more") || l.Allow("0") {
		t.Error("the ceiling gave way")
	}
	c.move(time.Second)
	for i := range 100_000 {
		c.move(100 * time.Millisecond)
		if !l.Allow(fmt.Sprint("later", i)) {
			t.Fatalf("refused at the ceiling %d keys later", i)
		}
	}
	if n := l.store.Stats().Keys; n > 1000 {
		t.Errorf("%d keys are held", n)
	}
}

// TestIdleKeysMakeRoom: at a ceiling of few keys, those that expired give way to
// new ones wherever they lie.
func TestIdleKeysMakeRoom(t *testing.T) {
	c := newClock()
	l := MustLimiter(1, time.Second, LimiterOptions{Now: c.now, MaxKeys: 10})
	for i := range 10 {
		l.Allow(fmt.Sprint(i))
	}
	for i := range 1000 {
		c.move(time.Hour)
		if !l.Allow(fmt.Sprint("later", i)) {
			t.Fatalf("key %d is refused, though all before it have expired", i)
		}
	}
}

func ExampleLimiter() {
	logins := MustLimiter(2, time.Minute, LimiterOptions{})
	for range 3 {
		fmt.Println(logins.Allow("alice"))
	}
	// Output:
	// true
	// true
	// false
}
