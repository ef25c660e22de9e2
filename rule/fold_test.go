package rule

import (
	"slices"
	"testing"

	"github.com/slidegate/slidegate"
)

// TestFoldEverywhere: an attribute of which case does not matter is the same in
// matchers, lists, conditions, keys and members.
func TestFoldEverywhere(t *testing.T) {
	set := &Set{
		Attributes: map[string]Attribute{"user": {Fold: true}, "name": {}, "other": {Fold: true}},
		Lists:      map[string][]string{"staff": {"Root", "OPS*"}},
	}
	for name, r := range map[string]Rule{
		"match":      {Match: []Matcher{{"user": {"ROOT"}}}},
		"glob":       {Match: []Matcher{{"user": {"R*T"}}}},
		"list":       {Match: []Matcher{{"user": {InList("staff")}}}},
		"equal":      {Where: `user == "ROOT"`},
		"turned":     {Where: `"ROOT" == user`},
		"attributes": {Where: `name == user`},
		"unequal":    {Where: `not (user != "ROOT")`},
		"in":         {Where: `user in ["x", "ROOT"]`},
		"in a list":  {Where: `user in staff`},
		"starts":     {Where: `user startsWith "RO"`},
		"ends":       {Where: `user endsWith "OT"`},
		"contains":   {Where: `user contains "OO" and (name == "RooT" or other == "X")`},
		"matches":    {Where: `user matches "^ROO[T]$"`},
	} {
		r.Name, r.Limits = "r", []Limit{{Limit: "1 per 1s"}}
		set.Rules = []Rule{r}
		p, _, err := Compile(set)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, text := range []string{"root", "ROOT", "rOOt"} {
			ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("user", text), slidegate.String("name", "RooT")}}
			ok, err := p.Rule("r").Match(&ev)
			if ok = ok && p.Rule("r").Where(&ev, 0); !ok || err != nil {
				t.Errorf("%s: %s is another, %v", name, text, err)
			}
		}
	}
	set.Rules = []Rule{{Name: "r", Where: `name == "ROOT"`, Limits: []Limit{{Limit: "1 per 1s"}}}}
	p, _, err := Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("name", "root")}}
	if p.Rule("r").Where(&ev, 0) {
		t.Error("case matters of an attribute that is not folded")
	}
}

// TestFoldKeys: keys and members of texts that differ in case are the same.
func TestFoldKeys(t *testing.T) {
	set := &Set{
		Attributes: map[string]Attribute{"user": {Fold: true}},
		Rules:      []Rule{{Name: "r", Key: []string{"user/4"}, MissingKey: "skip", Limits: []Limit{{Limit: "1 distinct(user) per 1s"}}}},
	}
	p, _, err := Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	r := p.Rule("r")
	var keys, members []string
	for _, text := range []string{"Kasimir", "kASIMIR", "\u212aasimir", "\u212aASImir"} {
		ev := slidegate.Event{Name: "e", Attrs: []slidegate.Attr{slidegate.String("user", text)}}
		key, _, err := r.AppendKey(nil, &ev, nil)
		if err != nil {
			t.Fatal(err)
		}
		member, err := r.All()[0].AppendMember(nil, &ev, nil)
		if err != nil {
			t.Fatal(err)
		}
		keys, members = append(keys, string(key)), append(members, string(member))
	}
	if keys, members = slices.Compact(keys), slices.Compact(members); len(keys) != 1 || keys[0] != "4:kasi" || len(members) != 1 || members[0] != "7:kasimir" {
		t.Errorf("keys %q, members %q", keys, members)
	}
}
