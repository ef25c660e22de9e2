package peer

import (
	"context"
	"fmt"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/rule"
)

// IDs of our own limiters that goals are about.
const (
	OursID  = "limiter"
	RulesID = "check"
	LogID   = "check-log"
)

func ours() []Limiter {
	return []Limiter{
		{ID: OursID, Name: "gate.Limiter", Kind: ExactLog, Tables: []string{Speed, Memory, Exact}, Open: openLimiter},
		{ID: RulesID, Name: "gate.Check, 2 rules, 3 windows", Kind: ExactLog, Tables: []string{Speed}, Open: openRules},
		checked(LogID, "sliding_log", ExactLog),
		checked("check-buckets", "sliding_buckets", Buckets),
		checked("check-gcra", "gcra", GCRA),
		checked("check-fixed", "fixed", FixedWindow),
	}
}

func openLimiter(q Quota) (Allow, func(), error) {
	l, err := gate.NewLimiter(q.Max, q.Per, gate.LimiterOptions{})
	if err != nil {
		return nil, nil, err
	}
	return l.Allow, nil, nil
}

// checked is the engine with one rule of one limit.
func checked(id, algorithm string, kind Kind) Limiter {
	return Limiter{
		ID: id, Name: "gate.Check, " + algorithm, Kind: kind, Tables: []string{Exact},
		Open: func(q Quota) (Allow, func(), error) {
			l := rule.Limit{Limit: limitText(q), Algorithm: algorithm}
			if kind == GCRA {
				l.Burst = &q.Max
			}
			g, err := newGate(rule.Rule{Name: "hits", Key: []string{"key"}, Limits: []rule.Limit{l}})
			if err != nil {
				return nil, nil, err
			}
			ctx := context.Background()
			allow := func(key string) bool {
				d, err := g.Check(ctx, slidegate.Event{Name: "hit", Attrs: []slidegate.Attr{slidegate.String("key", key)}})
				return err == nil && d.Admitted()
			}
			return allow, func() { _ = g.Close() }, nil
		},
	}
}

// openRules is one verdict over two rules with three windows: a phone's two and
// an address's one. Phones share addresses only where there are more than
// 65 536 of them.
func openRules(q Quota) (Allow, func(), error) {
	twice := Quota{Max: q.Max, Per: 2 * q.Per}
	event := []rule.Matcher{{"event": {"sms.send"}}}
	g, err := newGate(
		rule.Rule{Name: "sms-phone", Match: event, Key: []string{"phone"}, Limits: []rule.Limit{{Limit: limitText(q)}, {Limit: limitText(twice)}}},
		rule.Rule{Name: "sms-ip", Match: event, Key: []string{"ip"}, Limits: []rule.Limit{{Limit: limitText(q)}}},
	)
	if err != nil {
		return nil, nil, err
	}
	ctx, ips := context.Background(), addresses()
	allow := func(key string) bool {
		d, err := g.Check(ctx, slidegate.Event{Name: "sms.send", Attrs: []slidegate.Attr{
			slidegate.String("phone", key), slidegate.String("ip", ips[number(key)%len(ips)]),
		}})
		return err == nil && d.Admitted()
	}
	return allow, func() { _ = g.Close() }, nil
}

func newGate(rules ...rule.Rule) (*gate.Gate, error) {
	plan, _, err := rule.Compile(&rule.Set{Rules: rules})
	if err != nil {
		return nil, err
	}
	return gate.New(plan, gate.Options{})
}

// limitText writes a quota as rule files do.
func limitText(q Quota) string {
	if q.Per%time.Second == 0 {
		return fmt.Sprintf("%d per %ds", q.Max, int64(q.Per/time.Second))
	}
	return fmt.Sprintf("%d per %dms", q.Max, q.Per.Milliseconds())
}

func addresses() []string {
	ips := make([]string, 1<<16)
	for i := range ips {
		ips[i] = fmt.Sprintf("10.1.%d.%d", i>>8, i&0xff)
	}
	return ips
}

// number reads the digits at the end of a key.
func number(key string) int {
	n, unit := 0, 1
	for i := len(key) - 1; i >= 0 && key[i] >= '0' && key[i] <= '9'; i-- {
		n += int(key[i]-'0') * unit
		unit *= 10
	}
	return n
}
