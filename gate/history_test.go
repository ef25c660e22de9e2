package gate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

// The history checker: calls of Check, CheckAll, Refund, Release and Reset by many
// goroutines at once must have answers that some order of the same calls, one
// after another, would give. Time stands still.

// call is what was asked.
type call struct {
	verb       string
	phone, ip  int
	cost       int64
	id         int // of the decision, which the caller numbers
	otherPhone int // of CheckAll
}

// reply is what came back.
type reply struct {
	ok bool
	// phone, ip and inflight are what was used afterwards, of a check.
	phone, ip, inflight int64
}

// history is the state of the model: what every decision holds.
type history struct{ held []holding }

// holding is what one decision was charged. It is a value, so states can share.
type holding struct {
	id        int
	phone, ip int
	other     int // -1: none
	cost      int64
	flying    bool
	ipHeld    bool
	phoneHeld bool
	otherHeld bool
}

const (
	perPhone = 3
	perIP    = 7
	flights  = 4
)

func (h *history) phone(n int) (used int64) {
	for _, x := range h.held {
		if x.phone == n && x.phoneHeld {
			used += x.cost
		}
		if x.other == n && x.otherHeld {
			used += x.cost
		}
	}
	return used
}

func (h *history) ip(n int) (used int64) {
	for _, x := range h.held {
		if x.ip == n && x.ipHeld {
			used += x.cost
			if x.other >= 0 {
				used += x.cost
			}
		}
	}
	return used
}

// inflight counts the places of an ip.
func (h *history) inflight(n int) (used int64) {
	for _, x := range h.held {
		if x.ip == n && x.flying {
			used++
			if x.other >= 0 {
				used++
			}
		}
	}
	return used
}

func (h *history) clone() *history { return &history{held: slices.Clone(h.held)} }

// step says whether a reply is right in a state, and which state follows.
func (h *history) step(c call, r reply) (bool, *history) {
	switch c.verb {
	case "check", "checkall":
		return h.check(c, r)
	case "reset":
		next := h.clone()
		for i := range next.held {
			x := &next.held[i]
			x.phoneHeld = x.phoneHeld && x.phone != c.phone
			x.otherHeld = x.otherHeld && x.other != c.phone
		}
		return true, next
	}
	at := slices.IndexFunc(h.held, func(x holding) bool { return x.id == c.id })
	if at < 0 {
		return !r.ok, h
	}
	next := h.clone()
	x := &next.held[at]
	if c.verb == "release" {
		given := x.flying
		x.flying = false
		return r.ok == given, next
	}
	given := x.flying || x.phoneHeld || x.ipHeld || x.otherHeld
	x.flying, x.phoneHeld, x.ipHeld, x.otherHeld = false, false, false, false
	return r.ok == given, next
}

func (h *history) check(c call, r reply) (bool, *history) {
	x := holding{id: c.id, phone: c.phone, ip: c.ip, other: -1, cost: c.cost, phoneHeld: true, ipHeld: true, flying: true}
	fits := h.phone(c.phone)+c.cost <= perPhone
	all, places := c.cost, int64(1)
	if c.verb == "checkall" {
		x.other, x.otherHeld = c.otherPhone, true
		all, places = 2*all, 2
		fits = fits && h.phone(c.otherPhone)+c.cost <= perPhone
		if c.otherPhone == c.phone {
			fits = h.phone(c.phone)+all <= perPhone
		}
	}
	fits = fits && h.ip(c.ip)+all <= perIP && h.inflight(c.ip)+places <= flights
	next := h
	if fits {
		next = h.clone()
		next.held = append(next.held, x)
	}
	same := r.ok == fits && r.phone == next.phone(c.phone) && r.ip == next.ip(c.ip) && r.inflight == next.inflight(c.ip)
	return same, next
}

func historyModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return &history{} },
		Step: func(state, input, output any) (bool, any) {
			h, _ := state.(*history)
			c, _ := input.(call)
			r, _ := output.(reply)
			ok, next := h.step(c, r)
			return ok, next
		},
		Equal: func(a, b any) bool {
			x, _ := a.(*history)
			y, _ := b.(*history)
			return slices.Equal(x.held, y.held)
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
	}
}

// recorder makes calls and notes when each began and ended.
type recorder struct {
	g     *Gate
	clock atomic.Int64
	mu    sync.Mutex
	ops   []porcupine.Operation
	ids   []string // of decisions that were admitted, by number; "" elsewhere
}

func (rec *recorder) do(client int, c call) {
	began := rec.clock.Add(1)
	r, id := rec.call(c)
	ended := rec.clock.Add(1)
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if c.verb == "check" || c.verb == "checkall" {
		rec.ids[c.id] = id
	}
	rec.ops = append(rec.ops, porcupine.Operation{ClientId: client, Input: c, Output: r, Call: began, Return: ended})
}

func (rec *recorder) id(n int) string {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return rec.ids[n]
}

func (rec *recorder) call(c call) (r reply, id string) {
	ctx := context.Background()
	sms := func(phone int) slidegate.Event {
		return slidegate.Event{Name: "sms", Attrs: []slidegate.Attr{slidegate.Int("phone", int64(phone)), slidegate.Int("host", int64(c.ip))}, Cost: slidegate.CostOf(c.cost)}
	}
	var d slidegate.Decision
	var err error
	switch c.verb {
	case "check":
		d, err = rec.g.Check(ctx, sms(c.phone))
	case "checkall":
		d, err = rec.g.CheckAll(ctx, []slidegate.Event{sms(c.phone), sms(c.otherPhone)})
	case "refund":
		r.ok, err = rec.g.Refund(ctx, rec.id(c.id))
	case "release":
		r.ok, err = rec.g.Release(ctx, rec.id(c.id))
	case "reset":
		err = rec.g.Reset(ctx, "phone", slidegate.Int("phone", int64(c.phone)))
	}
	if err != nil {
		panic(err)
	}
	if c.verb == "check" || c.verb == "checkall" {
		ws := d.Windows()
		r = reply{ok: d.Admitted(), phone: ws[0].Used, ip: ws[1].Used, inflight: ws[2].Used}
		id = d.ID.String()
	}
	return r, id
}

func TestHistories(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 10
	}
	for round := range rounds {
		g := newGate(t, compile(t,
			rule.Rule{Name: "phone", Match: []rule.Matcher{{"event": {"sms"}}}, Key: []string{"phone"}, Limits: limits("3 per 1h")},
			rule.Rule{Name: "host", Match: []rule.Matcher{{"event": {"sms"}}}, Key: []string{"host"}, Hold: "1h", Limits: limits("7 per 1h", "4 inflight")},
		), Options{Now: func() time.Time { return time.Unix(1_700_000_000, 0) }})
		rec := &recorder{g: g, ids: make([]string, 1000)}
		var all sync.WaitGroup
		for client := range 6 {
			all.Go(func() { rec.client(client, rand.New(rand.NewPCG(uint64(round), uint64(client)))) })
		}
		all.Wait()
		result, _ := porcupine.CheckOperationsVerbose(historyModel(), rec.ops, 20*time.Second)
		if result != porcupine.Ok {
			for _, op := range rec.ops {
				t.Logf("%d: %d-%d %+v -> %+v", op.ClientId, op.Call, op.Return, op.Input, op.Output)
			}
			t.Fatalf("round %d: %v", round, result)
		}
	}
}

// client makes calls of all kinds. It gives back decisions of its own, and, as far
// as they are known, of others.
func (rec *recorder) client(client int, r *rand.Rand) {
	for i := range 12 {
		c := call{phone: r.IntN(3), ip: r.IntN(2), cost: 1 + r.Int64N(2), id: client*100 + i, otherPhone: r.IntN(3)}
		known := r.IntN(6)*100 + r.IntN(i+1)
		switch n := r.IntN(10); {
		case n < 4 || rec.id(known) == "" && n != 9:
			c.verb = "check"
		case n < 5:
			c.verb = "checkall"
		case n < 7:
			c.verb, c.id = "refund", known
		case n < 9:
			c.verb, c.id = "release", known
		default:
			c.verb = "reset"
		}
		rec.do(client, c)
	}
}

// TestHistoriesCatch: the checker refuses a history in which one more passed than
// fits.
func TestHistoriesCatch(t *testing.T) {
	var ops []porcupine.Operation
	for i := range 4 {
		ops = append(ops, porcupine.Operation{
			ClientId: i, Input: call{verb: "check", cost: 1, id: i},
			Output: reply{ok: true, phone: int64(i + 1), ip: int64(i + 1), inflight: int64(i + 1)}, Call: int64(2 * i), Return: int64(2*i + 1),
		})
	}
	if result, _ := porcupine.CheckOperationsVerbose(historyModel(), ops, time.Minute); result != porcupine.Illegal {
		t.Errorf("four checks of three were %v", result)
	}
	if result, _ := porcupine.CheckOperationsVerbose(historyModel(), ops[:3], time.Minute); result != porcupine.Ok {
		t.Errorf("three checks of three were %v", result)
	}
}
