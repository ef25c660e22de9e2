package slidegate

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The encoder by reflection, which AppendJSON must not differ from.

type oldDecision struct {
	ID               string      `json:"id,omitempty"`
	Action           string      `json:"action"`
	Admitted         bool        `json:"admitted"`
	Rule             string      `json:"rule,omitempty"`
	Reason           string      `json:"reason,omitempty"`
	Message          string      `json:"message,omitempty"`
	With             string      `json:"with,omitempty"`
	RetryAfter       int64       `json:"retry_after_us,omitempty"`
	RetryAfterEvents int64       `json:"retry_after_events,omitempty"`
	Never            bool        `json:"never,omitempty"`
	Windows          []oldWindow `json:"windows,omitempty"`
	Shadow           []oldWindow `json:"shadow,omitempty"`
}

type oldWindow struct {
	Rule             string      `json:"rule,omitempty"`
	Limit            string      `json:"limit,omitempty"`
	Used             json.Number `json:"used"`
	Max              json.Number `json:"max"`
	Remaining        json.Number `json:"remaining"`
	RetryAfter       int64       `json:"retry_after_us,omitempty"`
	RetryAfterEvents int64       `json:"retry_after_events,omitempty"`
	ResetAfter       int64       `json:"reset_after_us,omitempty"`
	Refused          bool        `json:"refused,omitempty"`
	Yielded          bool        `json:"yielded,omitempty"`
	Never            bool        `json:"never,omitempty"`
	Locked           bool        `json:"locked,omitempty"`
}

func oldMarshal(t *rapid.T, d *Decision) string {
	t.Helper()
	out, err := marshal(oldDecision{
		ID: d.ID.String(), Action: d.Action.String(), Admitted: d.Admitted(),
		Rule: d.Rule, Reason: d.Reason, Message: d.Message, With: d.With,
		RetryAfter: d.RetryAfter.Microseconds(), RetryAfterEvents: d.RetryAfterEvents, Never: d.Never,
		Windows: oldWindows(d.Windows()), Shadow: oldWindows(d.Shadow()),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func oldWindows(ws []WindowState) (all []oldWindow) {
	for i := range ws {
		w := &ws[i]
		all = append(all, oldWindow{
			Rule: w.Rule, Limit: w.Limit,
			Used: oldUnits(w.Used, w.Scale), Max: oldUnits(w.Max, w.Scale), Remaining: oldUnits(w.Remaining, w.Scale),
			RetryAfter: w.RetryAfter.Microseconds(), RetryAfterEvents: w.RetryAfterEvents,
			ResetAfter: w.ResetAfter.Microseconds(), Refused: w.Refused, Yielded: w.Yielded, Never: w.Never, Locked: w.Locked,
		})
	}
	return all
}

func oldUnits(n int64, scale uint8) json.Number {
	text := strconv.FormatInt(n, 10)
	if scale == 0 {
		return json.Number(text)
	}
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	if pad := int(scale) + 1 - len(text); pad > 0 {
		text = strings.Repeat("0", pad) + text
	}
	whole, frac := text[:len(text)-int(scale)], strings.TrimRight(text[len(text)-int(scale):], "0")
	if frac == "" {
		return json.Number(sign + whole)
	}
	return json.Number(sign + whole + "." + frac)
}

// texts are of all kinds: what is written often, what is escaped, and what is no UTF-8.
var texts = rapid.OneOf(
	rapid.SampledFrom([]string{"", "sms-phone", "3 count where links > 0 per 1h", "<b>&amp;</b>", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "\u2028\u2029\u2027", "\xff", "a\xc3", "\xed\xa0\x80", "é操😀\ufffd"}),
	rapid.String(),
	rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) }),
)

// numbers are often 0, and at times as large as can be.
var numbers = rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(-2000, 2000), rapid.Int64(), rapid.SampledFrom([]int64{-1 << 63, 1<<63 - 1, 1000, -1000}))

func drawDelay(t *rapid.T) time.Duration { return time.Duration(numbers.Draw(t, "delay")) }

func drawWindow(t *rapid.T) WindowState {
	yes := rapid.Bool()
	return WindowState{
		Rule: texts.Draw(t, "rule"), Limit: texts.Draw(t, "limit"),
		Used: numbers.Draw(t, "used"), Max: numbers.Draw(t, "max"), Remaining: numbers.Draw(t, "remaining"),
		RetryAfter: drawDelay(t), RetryAfterEvents: numbers.Draw(t, "events"), ResetAfter: drawDelay(t),
		Scale:   rapid.OneOf(rapid.Uint8Range(0, 20), rapid.Uint8()).Draw(t, "scale"),
		Refused: yes.Draw(t, "refused"), Yielded: yes.Draw(t, "yielded"), Never: yes.Draw(t, "never"), Locked: yes.Draw(t, "locked"),
	}
}

// mirror is a Sealer that hides nothing.
type mirror struct{}

func (mirror) Seal(dst, body []byte) []byte              { return append(dst, body...) }
func (mirror) Open(sealed []byte) (body []byte, ok bool) { return sealed, true }

func drawDecision(t *rapid.T) *Decision {
	d := &Decision{
		Action: Action(rapid.OneOf(rapid.Uint8(), rapid.SampledFrom([]uint8{0, 10, 20, 30, 40, 50})).Draw(t, "action")),
		Rule:   texts.Draw(t, "rule"), Reason: texts.Draw(t, "reason"), Message: texts.Draw(t, "message"), With: texts.Draw(t, "with"),
		RetryAfter: drawDelay(t), RetryAfterEvents: numbers.Draw(t, "events"), Never: rapid.Bool().Draw(t, "never"),
	}
	if rapid.Bool().Draw(t, "id") {
		d.ID.Start(mirror{}, rapid.Uint64().Draw(t, "nonce"))
		for range rapid.IntRange(0, 6).Draw(t, "receipts") {
			d.ID.Add(Receipt{
				Window: [2]uint64{rapid.Uint64().Draw(t, "high"), rapid.Uint64().Draw(t, "low")},
				Stamp:  numbers.Draw(t, "stamp"), Amount: numbers.Draw(t, "amount"), Seq: rapid.Uint64().Draw(t, "seq"), Kind: ReceiptKind(rapid.Uint8Range(0, 3).Draw(t, "kind")),
			})
		}
	}
	d.Reserve(rapid.IntRange(0, 5).Draw(t, "enforced"), rapid.IntRange(0, 5).Draw(t, "shadow"))
	for i := range d.Windows() {
		d.Windows()[i] = drawWindow(t)
	}
	for i := range d.Shadow() {
		d.Shadow()[i] = drawWindow(t)
	}
	return d
}

// TestAppendJSON: what is written is what reflection wrote, also through package json.
func TestAppendJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDecision(t)
		want := oldMarshal(t, d)
		if got := d.AppendJSON([]byte("before")); string(got) != "before"+want {
			t.Fatalf("got  %s\nwant before%s", got, want)
		}
		for _, v := range []any{d, *d} {
			if got, err := marshal(v); err != nil || string(got) != want {
				t.Fatalf("%T, %v\ngot  %s\nwant %s", v, err, got, want)
			}
		}
		if escaped, err := json.Marshal(d); err != nil || bytes.ContainsAny(escaped, "<>&") {
			t.Fatalf("%s, %v", escaped, err)
		}
		for i := range d.Windows() {
			w := d.Windows()[i : i+1]
			if got, err := w[0].MarshalJSON(); err != nil || !strings.Contains(want, string(got)) {
				t.Fatalf("%s, %v; want %s", got, err, want)
			}
		}
	})
}

// TestAppendJSONAllocatesNothing beside what the Sealer does.
func TestAppendJSONAllocatesNothing(t *testing.T) {
	if raced {
		t.Skip("sync.Pool drops things at random under the race detector")
	}
	d := benchDecision()
	b := d.AppendJSON(nil)
	if n := testing.AllocsPerRun(100, func() { b = d.AppendJSON(b[:0]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAppendQuoted: every byte, alone and among others, is written as package json
// writes it.
func TestAppendQuoted(t *testing.T) {
	for c := range rune(0x110000 >> 4) {
		for _, s := range []string{string(c), string([]byte{byte(c), byte(c >> 8)}), "a" + string(c) + "b", string(c << 4)} {
			want, err := marshal(s)
			if got := appendQuoted(nil, s); err != nil || string(got) != string(want) {
				t.Fatalf("%q: %s, want %s", s, got, want)
			}
		}
	}
}

func benchDecision() *Decision {
	d := &Decision{Action: Reject, Rule: "sms-phone", Reason: ReasonLimit, Message: "Slow down, <friend>.", RetryAfter: 1500 * time.Millisecond}
	d.ID.Start(mirror{}, 1<<63)
	d.ID.Add(Receipt{Window: [2]uint64{1 << 60, 1 << 61}, Stamp: 1 << 50, Amount: 1, Seq: 1 << 20})
	d.Reserve(3, 0)
	for i := range d.Windows() {
		d.Windows()[i] = WindowState{Rule: "sms-phone", Limit: "10 per 24h", Used: 10, Max: 10, Scale: uint8(i), RetryAfter: time.Hour, ResetAfter: time.Hour, Refused: true}
	}
	return d
}

// BenchmarkDecisionJSON is what it takes to write a decision with three windows.
func BenchmarkDecisionJSON(b *testing.B) {
	d := benchDecision()
	b.Run("append", func(b *testing.B) {
		var out []byte
		b.ReportAllocs()
		for b.Loop() {
			out = d.AppendJSON(out[:0])
		}
	})
	b.Run("marshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(d); err != nil {
				b.Fatal(err)
			}
		}
	})
}
