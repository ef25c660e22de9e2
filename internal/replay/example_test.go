package replay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/slidegate/slidegate/internal/replay"
)

// Reading a log, with what there is to report about it.
func ExampleReader() {
	log := strings.NewReader(`192.0.2.7 - - [01/Mar/2026:10:00:00 +0100] "GET /cart?step=2 HTTP/1.1" 200 512 "-" "curl/8.5.0"
a line of something else
192.0.2.8 - - [01/Mar/2026:10:00:01 +0100] "POST /login HTTP/1.1" 401 - "-" "-"
`)
	r, err := replay.Open([]string{"-"}, log, replay.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		path, _ := rec.Event.Attr("path")
		fmt.Println(rec.Line, rec.Event.Time.Format("15:04:05"), rec.Event.Name, path)
	}
	for _, f := range r.Files() {
		fmt.Printf("%s: %s, %s: %d events, %d skipped\n", f.Name, f.Format, f.Times, f.Events, f.Skipped)
	}
	for _, s := range r.Skips().First {
		fmt.Printf("%s:%d: %s\n", s.File, s.Line, s.Text)
	}
	// Output:
	// 1 09:00:00 http /cart
	// 3 09:00:01 http /login
	// stdin: combined, access log time: 2 events, 1 skipped
	// stdin:2: a line of something else
}

// Two kinds of time in one file stop the reading.
func ExampleReader_Next_mixedTimes() {
	log := strings.NewReader(`{"ts":1770000000,"user":"a"}
{"ts":1770000000500,"user":"a"}
`)
	r, err := replay.Open([]string{"-"}, log, replay.Options{Event: "login"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for err == nil {
		_, err = r.Next()
	}
	fmt.Println(err)
	// Output:
	// stdin:2: two kinds of time in one file: epoch in milliseconds here, epoch in seconds in line 1; split the file, or name another field with --time
}

// The order of time, whatever the order of the lines.
func ExampleSort() {
	log := strings.NewReader("when;device\n" +
		"2026-03-01 10:00:03;pump\n" +
		"2026-03-01 10:00:01;valve\n" +
		"2026-03-01 10:00:02;pump\n")
	r, err := replay.Open([]string{"-"}, log, replay.Options{TimeField: "when", Event: "sample"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	s, err := replay.Sort(context.Background(), r, replay.SortOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for {
		rec, err := s.Next()
		if err != nil {
			break
		}
		device, _ := rec.Event.Attr("device")
		fmt.Println(rec.Event.Time.Format("15:04:05"), device, "of line", rec.Line)
	}
	// Output:
	// 10:00:01 valve of line 3
	// 10:00:02 pump of line 4
	// 10:00:03 pump of line 2
}
