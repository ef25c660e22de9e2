package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is a Markdown table. The first columns are aligned to the left, the
// others to the right.
type Table struct {
	head []string
	left int
	rows [][]string
}

// NewTable returns a table with the titles of its columns, of which the first
// left hold words.
func NewTable(left int, head ...string) *Table { return &Table{head: head, left: left} }

// Add adds a row; cells that are missing are empty.
func (t *Table) Add(cells ...string) {
	row := make([]string, len(t.head))
	copy(row, cells)
	t.rows = append(t.rows, row)
}

// Write writes the table with its columns padded, so that it can be read as it
// is.
func (t *Table) Write(w io.Writer) error {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(escape(cell)), 3)
		}
	}
	var b strings.Builder
	t.line(&b, t.head, widths)
	for i, width := range widths {
		if i < t.left {
			b.WriteString("|" + strings.Repeat("-", width+2))
		} else {
			b.WriteString("|" + strings.Repeat("-", width+1) + ":")
		}
	}
	b.WriteString("|\n")
	for _, row := range t.rows {
		t.line(&b, row, widths)
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

func (t *Table) line(b *strings.Builder, cells []string, widths []int) {
	for i, cell := range cells {
		cell = escape(cell)
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i < t.left {
			cell += pad
		} else {
			cell = pad + cell
		}
		b.WriteString("| " + cell + " ")
	}
	b.WriteString("|\n")
}

// escape keeps a cell from ending early.
func escape(cell string) string { return strings.ReplaceAll(cell, "|", `\|`) }
