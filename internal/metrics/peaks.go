package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rule"
)

// peakSpan is half of the time that a peak is told.
const peakSpan = 30 // seconds

// peaks remember the most that decisions found in the windows of keys, of each limit.
type peaks struct {
	now  func() time.Time
	all  sync.Map // [2]string → *peak
	desc *prometheus.Desc
}

// peak is the most of one limit, in the span of now and in the one before.
type peak struct {
	mu                sync.Mutex
	span, now, before int64
	scale             uint8 // decimals of now and before
}

func newPeaks(now func() time.Time) *peaks {
	return &peaks{now: now, desc: prometheus.NewDesc("slidegate_window_used_max",
		"The most that a decision of the last minute, or half of it, found in the window of any key of a rule with a key.", []string{"rule", "limit"}, nil)}
}

// see notes what a decision found.
func (p *peaks) see(ws []slidegate.WindowState) {
	if len(ws) == 0 {
		return
	}
	span := p.now().Unix() / peakSpan
	for i := range ws {
		key := [2]string{ws[i].Rule, ws[i].Limit}
		x, ok := p.all.Load(key)
		if !ok {
			x, _ = p.all.LoadOrStore(key, &peak{scale: ws[i].Scale})
		}
		x.(*peak).see(span, ws[i].Used, ws[i].Scale)
	}
}

func (p *peak) see(span, used int64, scale uint8) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(span)
	if scale != p.scale { // another plan counts with other decimals
		p.now, p.before, p.scale = 0, 0, scale
	}
	p.now = max(p.now, used)
}

// turn begins a span, if it is a new one.
func (p *peak) turn(span int64) {
	switch p.span {
	case span:
	case span - 1:
		p.before, p.now = p.now, 0
	default:
		p.before, p.now = 0, 0
	}
	p.span = span
}

// most returns the most of this span and the one before.
func (p *peak) most(span int64) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(span)
	return decimal(max(p.now, p.before), p.scale)
}

// Describe implements [prometheus.Collector].
func (p *peaks) Describe(to chan<- *prometheus.Desc) { to <- p.desc }

// collect tells the peaks of limits of rules with a key, each once.
func (p *peaks) collect(plan *rule.Plan, to chan<- prometheus.Metric) {
	span := p.now().Unix() / peakSpan
	p.all.Range(func(k, x any) bool {
		key, peak := k.([2]string), x.(*peak)
		r := plan.Rule(key[0])
		if r == nil {
			p.all.Delete(k)
			return true
		}
		if len(r.Key()) > 0 {
			to <- prometheus.MustNewConstMetric(p.desc, prometheus.GaugeValue, peak.most(span), key[0], key[1])
		}
		return true
	})
}
