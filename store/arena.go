package store

import (
	"math/bits"
	"unsafe"
)

// arena lends blocks of T out of pages that hold no pointers, so that millions
// of rings cost the garbage collector nothing. A page holds up to 64 blocks of
// one size class. It is guarded by the lock of its shard.
//
// The zero arena is ready for use. A block is named by a ref; 0 names none.
type arena[T any] struct {
	pages []page[T]        // refs count from page 1
	spare []uint32         // numbers of pages that were given up
	room  [maxClass]uint32 // per class, the first page with a free block
	bytes int64            // what the pages hold
}

type page[T any] struct {
	data       []T
	free       uint64 // a bit for each free block
	next, prev uint32 // pages of the class that have a free block
	size       uint32 // of a block
	class      uint8
	blocks     uint8
}

const (
	blockBits  = 6
	pageTarget = 512 // elements of a page, where blocks are small
	maxClass   = 96
)

// classSize returns the number of elements in a block of a class: 1, 2, 3, 4,
// then four sizes for every doubling.
func classSize(c int) int {
	if c < 4 {
		return c + 1
	}
	shift := uint(c-4) / 4
	return (5 + (c-4)%4) << shift
}

// classFor returns the smallest class whose blocks hold n elements.
func classFor(n int) int {
	if n <= 4 {
		return max(n, 1) - 1
	}
	// n-1 in binary is 1xy…: its top three bits choose the class.
	shift := bits.Len(uint(n-1)) - 3
	return 4*shift + int(uint(n-1)>>shift)&3 + 4
}

func pageBlocks(class int) int {
	size := classSize(class)
	if size > pageTarget {
		return 1
	}
	return min(max(pageTarget/size, 4), 1<<blockBits)
}

// pageBytes returns what a new page of a class takes.
func (a *arena[T]) pageBytes(class int) int64 {
	var t T
	return int64(pageBlocks(class)*classSize(class))*int64(unsafe.Sizeof(t)) + int64(unsafe.Sizeof(page[T]{}))
}

// grows returns how many bytes alloc(n) would add.
func (a *arena[T]) grows(n int) int64 {
	class := classFor(n)
	if a.room[class] != 0 {
		return 0
	}
	return a.pageBytes(class)
}

// alloc returns a block of at least n elements, not cleared.
func (a *arena[T]) alloc(n int) (ref uint32, block []T) {
	class := classFor(n)
	num := a.room[class]
	if num == 0 {
		num = a.newPage(class)
	}
	p := &a.pages[num-1]
	b := bits.TrailingZeros64(p.free)
	p.free &^= 1 << b
	if p.free == 0 {
		a.unlink(num)
	}
	ref = num<<blockBits | uint32(b)
	return ref, a.block(ref)
}

// block returns the block that ref names; nil for 0.
func (a *arena[T]) block(ref uint32) []T {
	if ref == 0 {
		return nil
	}
	p := &a.pages[ref>>blockBits-1]
	size := int(p.size)
	at := int(ref&(1<<blockBits-1)) * size
	return p.data[at : at+size : at+size]
}

// free takes a block back. A page with no block in use is given up.
func (a *arena[T]) free(ref uint32) {
	if ref == 0 {
		return
	}
	num := ref >> blockBits
	p := &a.pages[num-1]
	if p.free == 0 {
		a.link(num)
	}
	p.free |= 1 << (ref & (1<<blockBits - 1))
	if bits.OnesCount64(p.free) < int(p.blocks) {
		return
	}
	a.unlink(num)
	a.bytes -= a.pageBytes(int(p.class))
	*p = page[T]{}
	a.spare = append(a.spare, num)
}

func (a *arena[T]) newPage(class int) uint32 {
	blocks := pageBlocks(class)
	fresh := page[T]{
		data:   make([]T, blocks*classSize(class)),
		free:   1<<blocks - 1,
		size:   uint32(classSize(class)),
		class:  uint8(class),
		blocks: uint8(blocks),
	}
	var num uint32
	if n := len(a.spare); n > 0 {
		num = a.spare[n-1]
		a.spare = a.spare[:n-1]
		a.pages[num-1] = fresh
	} else {
		a.pages = append(a.pages, fresh)
		num = uint32(len(a.pages))
	}
	a.bytes += a.pageBytes(class)
	a.link(num)
	return num
}

// link puts a page at the front of its class's list of pages with room.
func (a *arena[T]) link(num uint32) {
	p := &a.pages[num-1]
	p.prev, p.next = 0, a.room[p.class]
	if p.next != 0 {
		a.pages[p.next-1].prev = num
	}
	a.room[p.class] = num
}

func (a *arena[T]) unlink(num uint32) {
	p := &a.pages[num-1]
	if p.prev != 0 {
		a.pages[p.prev-1].next = p.next
	} else {
		a.room[p.class] = p.next
	}
	if p.next != 0 {
		a.pages[p.next-1].prev = p.prev
	}
	p.prev, p.next = 0, 0
}
