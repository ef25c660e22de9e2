package store_test

import (
	"context"
	"fmt"
	"time"

	"github.com/slidegate/slidegate/limit"
	"github.com/slidegate/slidegate/store"
)

// One text message in 60 s and ten in 24 h for each phone, decided at once: a
// refusal charges neither.
func Example() {
	now := int64(1_700_000_000_000_000)
	m, err := store.NewMemory(store.MemoryOptions{Now: func() int64 { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()

	perMinute, err1 := limit.New(limit.SlidingLog, 1, time.Minute.Microseconds(), 0, 0)
	perDay, err2 := limit.New(limit.SlidingLog, 10, (24 * time.Hour).Microseconds(), 0, 0)
	if err1 != nil || err2 != nil {
		fmt.Println(err1, err2)
		return
	}
	minute, day, phone := store.NewWindow("sms/60s"), store.NewWindow("sms/24h"), []byte("13800138000")
	for _, after := range []time.Duration{0, 20 * time.Second, 40 * time.Second} {
		now += after.Microseconds()
		reqs := []store.Request{{Items: []store.Item{
			{Window: minute, Key: phone, Limit: &perMinute, Cost: 1},
			{Window: day, Key: phone, Limit: &perDay, Cost: 1},
		}}}
		if err := m.Decide(context.Background(), reqs); err != nil {
			fmt.Println(err)
			return
		}
		wait := time.Duration(reqs[0].Items[0].Result.Retry) * time.Microsecond
		fmt.Printf("admitted %v, wait %v, %d left today\n", reqs[0].Admitted, wait, reqs[0].Items[1].Result.Remaining)
	}
	// Output:
	// admitted true, wait 0s, 9 left today
	// admitted false, wait 40s, 9 left today
	// admitted true, wait 0s, 8 left today
}
