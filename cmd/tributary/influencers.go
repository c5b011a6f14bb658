package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

const (
	// mostImported bounds the lines of a spreadsheet, and maxSpreadsheet its bytes.
	mostImported   = 10_000
	maxSpreadsheet = 16 << 20
)

// spreadsheetColumns are the columns that are read, by their names in the first
// line. Only name is needed.
var spreadsheetColumns = []string{"name", "category", "campaign", "links", "coupon", "coupon_start", "coupon_end",
	"var_fee", "fixed_fee", "cost_start", "cost_end", "coupon_only"}

// importedLine is one line of a spreadsheet.
type importedLine struct {
	number int // of the line in the file
	asked  commerce.Registration
	bad    []string // what is wrong with it
	words  fileLanguage
}

func newInfluencers() *cobra.Command {
	return group("influencers", "Register influencers from a spreadsheet", newInfluencersImport())
}

func newInfluencersImport() *cobra.Command {
	var dryRun, asJSON bool
	var tag string
	cmd := companyCommand("import FILE.csv", "Register a spreadsheet's influencers with links, coupons and fees", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			file, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			in, err := languageOf(tag)
			if err != nil {
				return err
			}
			lines, err := readSpreadsheet(file, in)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			for i := range lines {
				checkLinks(ctx, &lines[i])
			}
			results, err := importInfluencers(ctx, db, company, lines, dryRun)
			if asJSON {
				return errors.Join(writeJSON(cmd.OutOrStdout(), results), err)
			}
			for _, r := range results {
				fmt.Fprintln(cmd.OutOrStdout(), r.words())
			}
			return err
		})
	cmd.Long = `Register a spreadsheet's influencers with links, coupons and fees. The file is CSV in
UTF-8, separated by commas or semicolons; its first line names the columns:
` + strings.Join(spreadsheetColumns, ", ") + `.
Several links of one line are separated by spaces; a line with a coupon needs none. A name that is known already adds
to that influencer. Nothing is stored while a line breaks a rule.
Numbers and days are read as --lang writes them: with pt-BR, 1.500 is one thousand five
hundred and 11/01/2026 is 11 January; with en, 1,500 is, and days are YYYY-MM-DD. What can
be read both ways is refused, with both.`
	cmd.Example = `  tributary influencers import parceiros.csv --company c_… --dry-run`
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be registered, and store nothing")
	cmd.Flags().StringVar(&tag, "lang", lang.Tags[0],
		"the language in which the file's numbers and days are written: "+strings.Join(lang.Tags, " or "))
	cmd.Flags().BoolVar(&asJSON, "json", false, "write what became of each line as JSON, for programs")
	return cmd
}

// fileLanguage reads what a file has, and tells in English what is wrong with it.
type fileLanguage struct{ file, english *lang.Printer }

func languageOf(tag string) (fileLanguage, error) {
	texts, err := site.LoadTexts()
	if err != nil {
		return fileLanguage{}, err
	}
	l := fileLanguage{file: texts.Of(tag), english: texts.Of(lang.Tags[0])}
	if l.file == nil {
		return l, fmt.Errorf("--lang %q: there are %s", tag, strings.Join(lang.Tags, " and "))
	}
	return l, nil
}

// readSpreadsheet reads and checks every line.
func readSpreadsheet(in io.Reader, words fileLanguage) ([]importedLine, error) {
	limited := &io.LimitedReader{R: in, N: maxSpreadsheet + 1}
	buffered := bufio.NewReaderSize(limited, 64<<10)
	first, _ := buffered.Peek(4 << 10) // shorter files are fine
	head, _, _ := strings.Cut(string(first), "\n")
	reader := csv.NewReader(buffered)
	if strings.Count(head, ";") > strings.Count(head, ",") {
		reader.Comma = ';'
	}
	names, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("its first line: %w", err)
	}
	for i := range names {
		names[i] = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(names[i], "\ufeff")))
		if !slices.Contains(spreadsheetColumns, names[i]) {
			return nil, fmt.Errorf("its first line has a column %q: there are %s", names[i], strings.Join(spreadsheetColumns, ", "))
		}
		if slices.Contains(names[:i], names[i]) {
			return nil, fmt.Errorf("its first line has the column %q twice", names[i])
		}
	}
	if !slices.Contains(names, "name") {
		return nil, errors.New("its first line needs the column name")
	}
	var lines []importedLine
	for {
		cells, err := reader.Read()
		if limited.N <= 0 {
			return nil, fmt.Errorf("it has more than %d MiB: split it", maxSpreadsheet>>20)
		}
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		if len(lines) == mostImported {
			return nil, fmt.Errorf("it has more than %d lines: split it", mostImported)
		}
		at, _ := reader.FieldPos(0)
		row := map[string]string{}
		for i, name := range names {
			row[name] = strings.TrimSpace(cells[i])
		}
		lines = append(lines, readImportedLine(at, row, words))
	}
}

func readImportedLine(number int, row map[string]string, words fileLanguage) importedLine {
	line := importedLine{number: number, words: words,
		asked: commerce.Registration{Name: row["name"], Category: row["category"], Campaign: row["campaign"],
			Links: strings.Fields(row["links"]), CouponOnly: row["links"] == ""}}
	if row["coupon"] != "" {
		line.asked.Coupons = []commerce.CouponTerms{{Code: strings.ToUpper(row["coupon"]), StartDate: line.day(row, "coupon_start"),
			EndDate: line.day(row, "coupon_end")}}
	} else {
		line.refuseWithout("a coupon", row, "coupon_start", "coupon_end")
	}
	if row["var_fee"]+row["fixed_fee"] != "" {
		line.asked.Costs = []commerce.CostTerms{line.readCost(row)}
	} else {
		line.refuseWithout("var_fee or fixed_fee", row, "cost_start", "cost_end")
	}
	if len(line.bad) > 0 {
		return line
	}
	for _, v := range line.asked.Check().List {
		line.bad = append(line.bad, v.Field+" "+v.Message)
	}
	return line
}

// refuseWithout refuses cells that say something about what the line does not have.
func (l *importedLine) refuseWithout(what string, row map[string]string, names ...string) {
	for _, name := range names {
		if row[name] != "" {
			l.bad = append(l.bad, name+" needs "+what)
		}
	}
}

// day reads a cell with a day; empty where there is none.
func (l *importedLine) day(row map[string]string, name string) string {
	if row[name] == "" {
		return ""
	}
	day, err := l.words.file.ReadDay(row[name])
	l.refuse(row, name, err)
	return day
}

// refuse says why a cell could not be read.
func (l *importedLine) refuse(row map[string]string, name string, err error) {
	if err != nil {
		l.bad = append(l.bad, fmt.Sprintf("%s %q: %s", name, row[name], site.TypedText(l.words.english, err)))
	}
}

// readCost reads the cells of an agreement. What cannot be read is in bad.
func (l *importedLine) readCost(row map[string]string) commerce.CostTerms {
	cost := commerce.CostTerms{StartDate: l.day(row, "cost_start"), EndDate: l.day(row, "cost_end")}
	if row["cost_start"] == "" {
		cost.StartDate = time.Now().UTC().Format(time.DateOnly)
	}
	switch strings.ToLower(row["coupon_only"]) {
	case "yes", "true", "1", "sim":
		cost.CouponCost = true
	case "", "no", "false", "0", "não", "nao":
	default:
		l.bad = append(l.bad, fmt.Sprintf("coupon_only %q is neither yes nor no", row["coupon_only"]))
	}
	var err error
	if row["var_fee"] != "" {
		cost.VarFee, err = l.words.file.ReadPercent(row["var_fee"])
		l.refuse(row, "var_fee", err)
	}
	if row["fixed_fee"] != "" {
		cost.FixedFeeMinor, err = l.words.file.ReadMoney(row["fixed_fee"], commerce.BRL)
		l.refuse(row, "fixed_fee", err)
	}
	return cost
}

// checkLinks looks up the hosts of a line's links, where all else is right.
func checkLinks(ctx context.Context, line *importedLine) {
	if len(line.bad) > 0 {
		return
	}
	for i, err := range admin.CheckLinks(ctx, line.asked.Links) {
		if err != nil {
			line.bad = append(line.bad, line.asked.Links[i]+" "+err.Error())
		}
	}
}

// What became of a line.
const (
	lineBroken     = "broken" // breaks a rule
	lineRefused    = "refused"
	lineRegistered = "registered"
	lineWould      = "would be registered"
	lineLeft       = "not stored" // since another one is broken
)

// importedResult is what became of a line of the spreadsheet.
type importedResult struct {
	Line     int      `json:"line"`
	Name     string   `json:"name"`
	Links    int      `json:"links"`
	Coupon   string   `json:"coupon,omitempty"`
	Cost     bool     `json:"cost"` // has an agreement
	Result   string   `json:"result"`
	Problems []string `json:"problems,omitempty"`
}

// words tells the result in a line, or one line for each problem.
func (r importedResult) words() string {
	if r.Result == lineBroken {
		var lines []string
		for _, text := range r.Problems {
			lines = append(lines, fmt.Sprintf("line %d, %s: %s", r.Line, printable(r.Name), printable(text)))
		}
		return strings.Join(lines, "\n")
	}
	what := fmt.Sprintf("line %d: %s, %d links", r.Line, printable(r.Name), r.Links)
	if r.Coupon != "" {
		what += ", coupon " + printable(r.Coupon)
	}
	if r.Cost {
		what += ", an agreement"
	}
	for i, text := range r.Problems {
		r.Problems[i] = printable(text)
	}
	return strings.Join(append([]string{what + ": " + r.Result}, r.Problems...), ", ")
}

// importInfluencers stores the lines one by one, or says what it would do. Lines that
// break a rule keep all from being stored.
func importInfluencers(ctx context.Context, db stores, company string, lines []importedLine, dryRun bool) ([]importedResult, error) {
	results, bad := make([]importedResult, len(lines)), 0
	for i, line := range lines {
		r := importedResult{Line: line.number, Name: line.asked.Name, Links: len(line.asked.Links), Cost: len(line.asked.Costs) > 0,
			Result: lineLeft, Problems: line.bad}
		if len(line.asked.Coupons) > 0 {
			r.Coupon = line.asked.Coupons[0].Code
		}
		if len(line.bad) > 0 {
			r.Result = lineBroken
		}
		results[i], bad = r, bad+len(line.bad)
	}
	if bad > 0 {
		return slices.DeleteFunc(results, func(r importedResult) bool { return r.Result == lineLeft }),
			fmt.Errorf("%d problems: nothing was stored", bad)
	}
	refused := 0
	for i, line := range lines {
		if dryRun {
			results[i].Result = lineWould
			continue
		}
		author := commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}
		_, err := db.RegisterInfluencer(ctx, author, line.asked, rand.Reader)
		var conflict *commerce.CouponConflictError
		switch {
		case errors.As(err, &conflict):
			c := conflict.Conflicts[0]
			results[i].Result, results[i].Problems = lineRefused, []string{c.Code + " is already " + c.Influencer + "'s"}
			refused++
		case errors.Is(err, commerce.ErrConflict):
			results[i].Result, results[i].Problems = lineRefused, []string{err.Error()}
			refused++
		case err != nil:
			return results[:i], fmt.Errorf("line %d: %w; the lines before are stored", line.number, err)
		default:
			results[i].Result = lineRegistered
		}
	}
	if refused > 0 {
		return results, fmt.Errorf("%d of %d lines were refused; the others are stored", refused, len(lines))
	}
	return results, nil
}
