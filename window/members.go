package window

// Hash names a member of a [Members]: 128 bits that nobody can make collide.
type Hash struct{ Hi, Lo uint64 }

// Member is one member and when it was last seen. Its fields are for Members,
// which needs slots to keep them in.
type Member struct {
	Hash

	Seen int64
	// Batch numbers the call that brought it in; 0 once it was seen again.
	Batch uint64

	older, newer  uint32 // neighbours in the order of last sight, from 1
	chain, bucket uint32 // next of the same bucket; first of bucket number i, from 1
}

// Members is a set of members in the order in which they were last seen. It is
// exact: each member is kept, 48 bytes for one. It lives in slots that its owner
// gives it, and holds no pointer but these.
//
// The zero Members is empty. Times given to Touch and Add never decrease (Pull
// mends a clock that stepped back). Everything but Pull, Move and Batch is O(1).
type Members struct {
	// Len is the number of members.
	Len uint32
	// Oldest and Newest are the places, from 1, of the members that were last
	// seen first and last; 0 when there are none.
	Oldest, Newest uint32
	// Slots hold the members. Their number is the capacity.
	Slots []Member
}

func (m *Members) at(place uint32) *Member { return &m.Slots[place-1] }

// bucketOf returns where the list of members with such a hash begins.
func (m *Members) bucketOf(h Hash) *uint32 {
	return &m.Slots[h.Lo%uint64(len(m.Slots))].bucket
}

// Find returns the place of a member, or 0.
func (m *Members) Find(h Hash) uint32 {
	if m.Len == 0 {
		return 0
	}
	place := *m.bucketOf(h)
	for place != 0 && m.at(place).Hash != h {
		place = m.at(place).chain
	}
	return place
}

// Seen returns when the member at a place was last seen.
func (m *Members) Seen(place uint32) int64 { return m.at(place).Seen }

// Hash returns the name of the member at a place.
func (m *Members) Hash(place uint32) Hash { return m.at(place).Hash }

// Newer returns the place of the member that was seen next, or 0.
func (m *Members) Newer(place uint32) uint32 { return m.at(place).newer }

// Add adds a member, which must not be there, as seen at now. Slots must have
// room.
func (m *Members) Add(h Hash, now int64, batch uint64) {
	m.Len++
	place := m.Len
	e := m.at(place)
	first := m.bucketOf(h)
	e.Hash, e.Seen, e.Batch = h, now, batch
	e.chain = *first
	*first = place
	m.link(place)
}

// Touch notes that the member at a place was seen at now.
func (m *Members) Touch(place uint32, now int64) {
	m.unlink(place)
	e := m.at(place)
	e.Seen, e.Batch = now, 0
	m.link(place)
}

// link makes the member at a place the newest.
func (m *Members) link(place uint32) {
	e := m.at(place)
	e.older, e.newer = m.Newest, 0
	if m.Newest != 0 {
		m.at(m.Newest).newer = place
	} else {
		m.Oldest = place
	}
	m.Newest = place
}

func (m *Members) unlink(place uint32) {
	e := m.at(place)
	m.join(e.older, e.newer)
}

// join makes two places neighbours; 0 is the end.
func (m *Members) join(older, newer uint32) {
	if older != 0 {
		m.at(older).newer = newer
	} else {
		m.Oldest = newer
	}
	if newer != 0 {
		m.at(newer).older = older
	} else {
		m.Newest = older
	}
}

// Remove takes the member at a place out. The last slot moves to its place.
func (m *Members) Remove(place uint32) {
	m.unlink(place)
	*m.chainTo(place) = m.at(place).chain
	if last := m.Len; last != place {
		*m.chainTo(last) = place
		e, moved := m.at(place), m.at(last)
		e.Hash, e.Seen, e.Batch, e.chain = moved.Hash, moved.Seen, moved.Batch, moved.chain
		e.older, e.newer = moved.older, moved.newer
		m.join(e.older, place)
		m.join(place, e.newer)
	}
	m.Len--
}

// chainTo returns what holds a place in the list of its bucket.
func (m *Members) chainTo(place uint32) *uint32 {
	at := m.bucketOf(m.at(place).Hash)
	for *at != place {
		at = &m.at(*at).chain
	}
	return at
}

// Pull moves sights that lie later than now to now, as after a clock that stepped
// back. O(members moved).
func (m *Members) Pull(now int64) {
	for place := m.Newest; place != 0 && m.at(place).Seen > now; place = m.at(place).older {
		m.at(place).Seen = now
	}
}

// Batch takes out the members that one call brought in and that were not seen
// since, at most n, and returns how many. O(Len).
func (m *Members) Batch(batch uint64, n int) (removed int) {
	for place := m.Len; place > 0 && removed < n; place-- {
		if m.at(place).Batch == batch {
			m.Remove(place) // the last one, already looked at, takes its place
			removed++
		}
	}
	return removed
}

// Move puts the members into other slots, which must have room for them.
func (m *Members) Move(slots []Member) {
	from := *m
	clear(slots)
	*m = Members{Slots: slots}
	for place := from.Oldest; place != 0; place = from.at(place).newer {
		e := from.at(place)
		m.Add(e.Hash, e.Seen, e.Batch)
	}
}
