package prove

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// head is the page's beginning.
const head = `# Proof

What ` + "`make prove`" + ` saw. It writes this page; the code is in ` + "`test/prove/cmd`" + ` and ` + "`test/prove`" + `.

` + "```sh" + `
make prove                                         # everything; it needs Java 17 and Maven, and root for one of the faults
go run ./test/prove/cmd -only 'broker-gone-*'      # some cases; the other lines stay as they are
go run ./test/prove/cmd -seed 7                    # the same load once more
go run ./test/prove/cmd -list                      # what there is
` + "```" + `

The seed decides who sends what and the pauses between. When a process dies, and in which order requests arrive, no seed decides: a run
is repeated in kind, not to the instant.
`

// WritePage writes the record as Markdown. A section of which no line was ever run is left out.
func (r *Record) WritePage(w io.Writer, sections []Section) error {
	page := &strings.Builder{}
	page.WriteString(head)
	for _, section := range sections {
		if len(r.Sections[section.Name]) == 0 {
			continue
		}
		fmt.Fprintf(page, "\n## %s\n\n%s\n\n", section.Title, strings.TrimSpace(section.Text))
		fmt.Fprintf(page, "| |%s run |\n|---|%s---|\n", joined(section.Columns), strings.Repeat("---|", len(section.Columns)))
		var wrong []string
		for _, c := range section.Cases {
			line, there := r.Sections[section.Name][c.Name]
			if !there {
				fmt.Fprintf(page, "| %s |%s not run yet |\n", c.Title, strings.Repeat(" |", len(section.Columns)))
				continue
			}
			fmt.Fprintf(page, "| %s |%s %d |\n", c.Title, joined(line.Cells), line.Run)
			for _, problem := range line.Problems {
				wrong = append(wrong, fmt.Sprintf("* %s: %s", c.Title, problem))
			}
		}
		if len(wrong) > 0 {
			fmt.Fprintf(page, "\n**What is wrong:**\n\n%s\n", strings.Join(wrong, "\n"))
		}
	}
	page.WriteString("\n## Runs\n\n| run | when | commit | seed | versions | machine, and its load before |\n|---|---|---|---|---|---|\n")
	for _, run := range slices.Backward(r.Runs) {
		fmt.Fprintf(page, "| %d | %s | %s | %d | Kafka %s, %s | %s |\n", run.Number, run.When, run.Commit, run.Seed,
			run.Kafka, run.Go, run.Machine)
	}
	_, err := io.WriteString(w, page.String())
	return err
}

func joined(cells []string) string {
	text := ""
	for _, cell := range cells {
		text += " " + cell + " |"
	}
	return text
}

// Print writes the lines of one run as a table for a terminal.
func (r *Record) Print(to io.Writer, sections []Section, run int) {
	for _, section := range sections {
		w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
		some := false
		for _, c := range section.Cases {
			line, there := r.Sections[section.Name][c.Name]
			if !there || line.Run != run {
				continue
			}
			if !some {
				fmt.Fprintf(w, "%s\t%s\t\n", section.Title, strings.Join(section.Columns, "\t"))
			}
			some = true
			fmt.Fprintf(w, "%s\t%s\t\n", c.Title, strings.Join(line.Cells, "\t"))
		}
		_ = w.Flush()
	}
}
