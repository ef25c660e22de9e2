package replay

// Skip is what could not be read for one reason.
type Skip struct {
	// File and Line say where it was met first, as in [Record].
	File string
	Line int
	// Text is the beginning of that line, with control characters escaped.
	Text string
	// Reason is what is wrong with it.
	Reason string
	// Count is how many there were for this reason.
	Count int64
}

// Skips counts what could not be read, and keeps the first of each reason. The
// zero Skips keeps none.
type Skips struct {
	// Keep bounds the reasons that are kept.
	Keep int
	// Total counts all, also those whose reason was not kept.
	Total int64
	// First are the first of each reason, in the order in which they were met.
	First []Skip
}

// Add counts one. text is only asked for what is kept.
func (s *Skips) Add(file string, line int, reason string, text func() string) {
	s.Total++
	for i := range s.First {
		if s.First[i].Reason == reason {
			s.First[i].Count++
			return
		}
	}
	if len(s.First) < s.Keep {
		s.First = append(s.First, Skip{File: file, Line: line, Text: text(), Reason: reason, Count: 1})
	}
}

// Others counts those whose reason was not kept.
func (s *Skips) Others() int64 {
	n := s.Total
	for i := range s.First {
		n -= s.First[i].Count
	}
	return n
}
