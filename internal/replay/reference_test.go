package replay

import (
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"
)

// The public logs have answers that were computed once by brute force, by a
// program that shares nothing with this one. What is read here must lead to
// the same answers.

// slidingLog admits max events in any span of size, per key, and remembers
// nothing else: an event exactly size old is out.
type slidingLog struct {
	max  int
	size time.Duration
	hits map[string][]time.Time
}

// fits reports whether one more fits at now, and drops what is out.
func (l *slidingLog) fits(key string, now time.Time) bool {
	live := slices.DeleteFunc(l.hits[key], func(at time.Time) bool { return now.Sub(at) >= l.size })
	l.hits[key] = live
	return len(live) < l.max
}

func (l *slidingLog) add(key string, now time.Time) { l.hits[key] = append(l.hits[key], now) }

// sortedLog returns the events of a public log in the order of time.
func sortedLog(t *testing.T, name string, opt SortOptions) *Sorted {
	t.Helper()
	r, err := Open([]string{realLog(t, name)}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	s, err := Sort(t.Context(), r, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestReferenceLimits(t *testing.T) {
	const log = "elastic_apache_access.log"
	for _, c := range []struct {
		name              string
		limits            []slidingLog
		admitted, refused int
		by, addresses     []int
	}{
		{"5 per 10 s", []slidingLog{{max: 5, size: 10 * time.Second}}, 9243, 757, []int{757}, []int{61}},
		{"5 per 10 s and 100 per 24 h", []slidingLog{{max: 5, size: 10 * time.Second}, {max: 100, size: 24 * time.Hour}},
			8966, 1034, []int{651, 387}, []int{61, 4}},
		{"20 per 60 s", []slidingLog{{max: 20, size: time.Minute}}, 9069, 931, []int{931}, nil},
	} {
		admitted, by, addresses := judge(t, sortedLog(t, log, SortOptions{MaxEvents: 700, Dir: t.TempDir()}), c.limits)
		if refused := 10_000 - admitted; admitted != c.admitted || refused != c.refused || !slices.Equal(by, c.by) {
			t.Errorf("%s: %d admitted, %d refused, by each %v; want %d, %d, %v", c.name, admitted, refused, by, c.admitted, c.refused, c.by)
		}
		if c.addresses != nil && !slices.Equal(addresses, c.addresses) {
			t.Errorf("%s: %v addresses were refused, want %v", c.name, addresses, c.addresses)
		}
	}
}

// judge gives each event to all limits at once and returns how many were
// admitted, how many each limit refused, and of how many addresses.
func judge(t *testing.T, s *Sorted, limits []slidingLog) (admitted int, by, addresses []int) {
	t.Helper()
	by = make([]int, len(limits))
	refused := make([]map[string]bool, len(limits))
	for i := range limits {
		limits[i].hits, refused[i] = map[string][]time.Time{}, map[string]bool{}
	}
	for {
		rec, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		v, _ := rec.Event.Attr("ip")
		key, pass := v.String(), true
		for i := range limits {
			if !limits[i].fits(key, rec.Event.Time) {
				pass = false
				by[i]++
				refused[i][key] = true
			}
		}
		if pass {
			admitted++
			for i := range limits {
				limits[i].add(key, rec.Event.Time)
			}
		}
	}
	for i := range refused {
		addresses = append(addresses, len(refused[i]))
	}
	return admitted, by, addresses
}

func TestReferenceDistinct(t *testing.T) {
	type hit struct {
		at time.Time
		ip string
	}
	var hits []hit
	s := sortedLog(t, "elastic_apache_access.log", SortOptions{})
	for {
		rec, err := s.Next()
		if err != nil {
			break
		}
		v, _ := rec.Event.Attr("ip")
		hits = append(hits, hit{rec.Event.Time, v.String()})
	}
	newest := hits[len(hits)-1].at
	events, distinct := 0, map[string]bool{}
	for _, h := range hits {
		if newest.Sub(h.at) < 24*time.Hour {
			events++
			distinct[h.ip] = true
		}
	}
	if events != 2821 || len(distinct) != 543 {
		t.Errorf("%d events of %d addresses in the last day, want 2821 of 543", events, len(distinct))
	}
}

func TestReferenceSamples(t *testing.T) {
	r, err := Open([]string{realLog(t, "machine_temperature_system_failure.csv")}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var values []float64
	var stepsBack, twice int
	var last time.Time
	seen := map[time.Time]bool{}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.Event.Time.Before(last) {
			stepsBack++
		}
		if last = rec.Event.Time; seen[last] {
			twice++
		}
		seen[last] = true
		v, _ := rec.Event.Attr("value")
		f, err := strconv.ParseFloat(v.String(), 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, f)
	}
	if stepsBack != 1 || twice != 12 {
		t.Errorf("the clock steps back %d times, %d stamps occur twice; want 1 and 12", stepsBack, twice)
	}
	mean, variance := moments(values[len(values)-100:])
	for name, c := range map[string][2]float64{
		"mean":     {mean, 93.54217945529999},
		"variance": {variance, 5.559025929822878},
		"min":      {slices.Min(values[len(values)-100:]), 88.82703554},
		"max":      {slices.Max(values[len(values)-100:]), 98.18541493},
	} {
		if math.Abs(c[0]-c[1]) > 1e-9*math.Abs(c[1]) {
			t.Errorf("%s of the last 100 is %v, want %v", name, c[0], c[1])
		}
	}
}

// moments returns the mean and the variance of a sample.
func moments(values []float64) (mean, variance float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		variance += (v - mean) * (v - mean) / float64(len(values)-1)
	}
	return mean, variance
}

// Half of the steps of the access log go back, by less than a minute; sorted,
// none does. That is what sorting is for.
func TestReferenceShuffledSeconds(t *testing.T) {
	r, err := Open([]string{realLog(t, "elastic_apache_access.log")}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	count := func(src Source) (back int, furthest time.Duration) {
		var last time.Time
		for {
			rec, err := src.Next()
			if errors.Is(err, io.EOF) {
				return back, furthest
			}
			if err != nil {
				t.Fatal(err)
			}
			if step := last.Sub(rec.Event.Time); step > 0 {
				back++
				furthest = max(furthest, step)
			}
			last = rec.Event.Time
		}
	}
	back, furthest := count(r)
	if back < 4000 || back > 6000 || furthest > 59*time.Second {
		t.Errorf("%d steps go back, at most %s; want about 5000 and 59s", back, furthest)
	}
	if back, _ := count(sortedLog(t, "elastic_apache_access.log", SortOptions{})); back != 0 {
		t.Errorf("sorted: %d steps go back", back)
	}
}
