package store

import (
	"math/rand/v2"
	"testing"
)

// TestClasses: every length has the smallest class that holds it, and no class
// wastes more than a fifth.
func TestClasses(t *testing.T) {
	for n := 1; n <= 200_000; n++ {
		c := classFor(n)
		if classSize(c) < n || c > 0 && classSize(c-1) >= n {
			t.Fatalf("%d elements: class %d of %d", n, c, classSize(c))
		}
		if n > 4 && (classSize(c)-n)*5 > classSize(c) {
			t.Fatalf("%d elements: class %d of %d wastes more than a fifth", n, c, classSize(c))
		}
	}
	for c := range maxClass {
		if classSize(c) < 0 {
			break // longer than any ring
		}
		if classFor(classSize(c)) != c {
			t.Fatalf("class %d of %d is class %d", c, classSize(c), classFor(classSize(c)))
		}
		if b := pageBlocks(c); b < 1 || b > 1<<blockBits {
			t.Fatalf("class %d: %d blocks in a page", c, b)
		}
	}
	if classFor(0) != 0 {
		t.Error("an empty block has a class of its own")
	}
}

// lent is a block that a test holds: every element is mark.
type lent struct {
	ref   uint32
	block []uint64
	mark  uint64
}

func (l *lent) intact(a *arena[uint64]) bool {
	now := a.block(l.ref)
	if len(now) != len(l.block) {
		return false
	}
	for i := range now {
		if now[i] != l.mark || l.block[i] != l.mark {
			return false
		}
	}
	return true
}

// TestArena lends and takes back at random: no two blocks overlap, grows tells
// what alloc will take, and in the end nothing is held.
func TestArena(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var a arena[uint64]
	var held []lent
	give := func(i int) {
		l := held[i]
		if !l.intact(&a) {
			t.Fatalf("block %d of %d elements was written by another", l.ref, len(l.block))
		}
		a.free(l.ref)
		held[i] = held[len(held)-1]
		held = held[:len(held)-1]
	}
	for step := range 40_000 {
		if len(held) > 0 && (r.IntN(100) < 45 || len(held) > 700) {
			give(r.IntN(len(held)))
			continue
		}
		n := 1 + r.IntN(1<<r.IntN(11))
		before, grows := a.bytes, a.grows(n)
		l := lent{mark: uint64(step) + 1}
		l.ref, l.block = a.alloc(n)
		if len(l.block) < n || l.ref == 0 {
			t.Fatalf("alloc(%d): ref %d, %d elements", n, l.ref, len(l.block))
		}
		if a.bytes != before+grows {
			t.Fatalf("alloc(%d) took %d bytes, grows said %d", n, a.bytes-before, grows)
		}
		for i := range l.block {
			l.block[i] = l.mark
		}
		if cap(l.block) != len(l.block) {
			t.Fatalf("alloc(%d): a block can be appended to", n)
		}
		held = append(held, l)
	}
	for len(held) > 0 {
		give(len(held) - 1)
	}
	if a.bytes != 0 {
		t.Errorf("%d bytes held by nobody", a.bytes)
	}
	if len(a.spare) != len(a.pages) {
		t.Errorf("%d of %d pages given up", len(a.spare), len(a.pages))
	}
}

func TestArenaOfNothing(t *testing.T) {
	var a arena[uint32]
	a.free(0)
	if a.block(0) != nil || a.bytes != 0 {
		t.Errorf("ref 0: %v, %d bytes", a.block(0), a.bytes)
	}
}
