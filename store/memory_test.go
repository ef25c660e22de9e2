package store_test

import (
	"testing"

	"github.com/slidegate/slidegate/store"
	"github.com/slidegate/slidegate/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		m, err := store.NewMemory(store.MemoryOptions{Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		return m
	})
}
