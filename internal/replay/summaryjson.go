package replay

import "encoding/json"

type jsonSummary struct {
	Events    int64      `json:"events"`
	Skipped   int64      `json:"skipped"`
	Unjudged  int64      `json:"unjudged,omitempty"`
	Late      int64      `json:"late"`
	LateMaxUS int64      `json:"late_max_us,omitempty"`
	Admitted  int64      `json:"admitted"`
	Refused   int64      `json:"refused"`
	Ceiling   int64      `json:"ceiling,omitempty"`
	Rules     []jsonRule `json:"rules"`
}

type jsonRule struct {
	Name        string      `json:"name"`
	Shadow      bool        `json:"shadow,omitempty"`
	Admitted    int64       `json:"admitted"`
	Refused     int64       `json:"refused"`
	Trial       int64       `json:"shadow_refused,omitempty"`
	Keys        int64       `json:"keys"`
	KeysRefused int64       `json:"keys_refused"`
	KeysCapped  bool        `json:"keys_capped,omitempty"`
	Top         []jsonKey   `json:"top"`
	Limits      []jsonLimit `json:"limits"`
}

type jsonKey struct {
	Key     map[string]string `json:"key"`
	Refused int64             `json:"refused"`
}

type jsonLimit struct {
	Limit   string `json:"limit"`
	Shadow  bool   `json:"shadow,omitempty"`
	Refused int64  `json:"refused"`
}

// MarshalJSON returns the summary in its stable form. Fields may be added to
// it; none is renamed or removed.
func (s *Summary) MarshalJSON() ([]byte, error) {
	out := jsonSummary{s.Events, s.Skipped, s.Unjudged, s.Late, s.LateMax.Microseconds(), s.Admitted, s.Refused, s.Ceiling, []jsonRule{}}
	for _, r := range s.Rules {
		j := jsonRule{r.Name, r.Shadow, r.Admitted, r.Refused, r.ShadowRefused, r.Keys, r.KeysRefused, r.KeysCapped, []jsonKey{}, []jsonLimit{}}
		for _, k := range r.Top {
			key := map[string]string{}
			for _, a := range k.Key {
				key[a.Name] = a.Value.String()
			}
			j.Top = append(j.Top, jsonKey{key, k.Refused})
		}
		for _, l := range r.Limits {
			j.Limits = append(j.Limits, jsonLimit(l))
		}
		out.Rules = append(out.Rules, j)
	}
	return json.Marshal(out)
}
