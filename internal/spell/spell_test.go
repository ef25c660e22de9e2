package spell

import "testing"

func TestNearest(t *testing.T) {
	words := []string{"limits", "match", "except", "key", "missing_key", "phone"}
	for got, want := range map[string]string{
		"limit": "limits", "phnoe": "phone", "Match": "match", "kye": "key", "missing-key": "missing_key",
		"ladder": "", "": "", "x": "", "limits": "limits", "exceptions_of_all_kinds": "",
	} {
		if is := Nearest(got, words); is != want {
			t.Errorf("Nearest(%q) = %q, want %q", got, is, want)
		}
	}
}
