package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/slidegate/slidegate/store/journal"
)

// registerJournal tells how what is decided is written down.
func registerJournal(r *prometheus.Registry, j *journal.Store) {
	stat := func(get func(*journal.Stats) float64) func() float64 {
		return func() float64 {
			st := j.JournalStats()
			return get(&st)
		}
	}
	for name, c := range map[string]struct {
		help string
		f    func(*journal.Stats) float64
	}{
		"slidegate_journal_records_total":   {"Records that were written to the journal.", func(s *journal.Stats) float64 { return float64(s.Records) }},
		"slidegate_journal_bytes_total":     {"Bytes of them.", func(s *journal.Stats) float64 { return float64(s.Bytes) }},
		"slidegate_journal_syncs_total":     {"How often the journal was synced.", func(s *journal.Stats) float64 { return float64(s.Syncs) }},
		"slidegate_journal_lost_total":      {"Records that could not be written; a snapshot that came later holds what they say.", func(s *journal.Stats) float64 { return float64(s.Lost) }},
		"slidegate_journal_failures_total":  {"How often writing failed, of journal and snapshots.", func(s *journal.Stats) float64 { return float64(s.Failures) }},
		"slidegate_journal_snapshots_total": {"Snapshots that were written.", func(s *journal.Stats) float64 { return float64(s.Snapshots) }},
	} {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: c.help}, stat(c.f)))
	}
	for name, g := range map[string]struct {
		help string
		f    func() float64
	}{
		"slidegate_journal_ok": {"1 while everything is as durable as the settings say, else 0.", func() float64 {
			if j.Health() != nil {
				return 0
			}
			return 1
		}},
		"slidegate_journal_segment_bytes":                   {"Length of the journal since the last snapshot.", stat(func(s *journal.Stats) float64 { return float64(s.SegmentBytes) })},
		"slidegate_journal_snapshot_bytes":                  {"Length of the last snapshot.", stat(func(s *journal.Stats) float64 { return float64(s.SnapshotBytes) })},
		"slidegate_journal_snapshot_duration_seconds":       {"How long the last snapshot took.", stat(func(s *journal.Stats) float64 { return s.SnapshotTook.Seconds() })},
		"slidegate_journal_snapshot_hold_seconds":           {"How long the last snapshot held the lock of a part of the windows, at most.", stat(func(s *journal.Stats) float64 { return s.SnapshotHold.Seconds() })},
		"slidegate_journal_last_snapshot_timestamp_seconds": {"When the last snapshot was written.", stat(func(s *journal.Stats) float64 { return float64(s.SnapshotAt.UnixMilli()) / 1e3 })},
	} {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: g.help}, g.f))
	}
}
