package cond

import (
	"net/netip"
	"regexp"
	"time"

	"github.com/slidegate/slidegate"
)

// op is what a node does.
type op uint8

const (
	// Values.
	opText op = iota
	opNumber
	opAttr
	opEvent
	opCost
	opHour
	opWeekday
	opOutcome
	opNeg
	opAdd
	opSub
	opMul
	opDiv

	// Comparisons, from here on.
	opEQ
	opNE
	opLT
	opLE
	opGT
	opGE
	opIn
	opInList
	opMatches
	opStarts
	opEnds
	opContains
	opNot
	opAnd
	opOr
	opFailed
)

var binaries = map[string]op{
	"+": opAdd, "-": opSub, "*": opMul, "/": opDiv,
	"==": opEQ, "!=": opNE, "<": opLT, "<=": opLE, ">": opGT, ">=": opGE,
	"startsWith": opStarts, "endsWith": opEnds, "contains": opContains,
}

// node is a condition, or a value in it. It is one type for all of them, and
// evaluation one function over it: through interfaces or closures the event
// would have to live on the heap.
type node struct {
	op   op
	mode Type // of opEQ, opNE, opIn: how both sides are compared; open: as what they are
	pos  int
	x, y *node
	kids []*node // of opAnd, opOr

	value   slidegate.Value // opText
	number  float64         // opNumber
	name    string          // opAttr, opInList
	attr    *attribute      // opAttr
	zone    *time.Location  // opHour, opWeekday; nil is UTC
	addr    netip.Addr      // opText that is compared with an address
	set     set             // opIn
	list    List            // opInList
	pattern *regexp.Regexp  // opMatches

	fold   bool // of a comparison: upper and lower case of texts are the same
	hidden bool // of a text, opIn and opMatches: the literal is not printed
}

// set is the items of a literal list: those of one type, sorted, each once.
type set struct {
	numbers []float64
	texts   []string
	folded  []string // texts as they are compared, where case is the same
	addrs   []netip.Addr
}

// variable is a name beside attributes.
type variable struct {
	is    Vars // 0: not known to any condition yet
	op    op
	where string // what to say where it cannot be read
}

var variables = map[string]variable{
	"event":   {Event, opEvent, "is the name of an event, and there is no event here"},
	"cost":    {Cost, opCost, "is the cost of an event, and there is none here"},
	"hour":    {Hour, opHour, "is the hour of the day, which cannot be read here"},
	"weekday": {Weekday, opWeekday, "is the day of the week, which cannot be read here"},
	"outcome": {Outcome, opOutcome, "is known once an event is reported, and this condition is asked before"},
	"failed":  {Failed, opFailed, "is known once an event is reported, and this condition is asked before"},
	"action":  {where: "is known once an event is decided, and this condition is asked before"},
}

// typ is the type of what n comes to.
func (n *node) typ() Type {
	switch n.op {
	case opText, opEvent, opOutcome:
		return Text
	case opAttr:
		return n.attr.typ
	case opNumber, opCost, opHour, opWeekday, opNeg, opAdd, opSub, opMul, opDiv:
		return Number
	default:
		return truth
	}
}

// describe says what n is, for messages.
func (n *node) describe() string {
	switch {
	case n.op == opAttr:
		return "an attribute"
	case n.op == opText:
		return "a text"
	case n.op == opNumber:
		return "a number"
	case n.op <= opOutcome:
		return "a variable"
	case n.op <= opDiv:
		return "a computed number"
	default:
		return "a comparison"
	}
}

func (t Type) describe() string {
	switch t {
	case Number:
		return "a number"
	case Address:
		return "an address"
	case truth:
		return "a comparison"
	default:
		return "a text"
	}
}

// String returns the word of the rule file: "text", "number" or "address".
func (t Type) String() string {
	switch t {
	case Text:
		return "text"
	case Number:
		return "number"
	case Address:
		return "address"
	default:
		return "unknown"
	}
}
