package main

import (
	"context"
	"crypto/rand"
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
	"github.com/tributary-io/tributary/admin/spreadsheet"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/lang"
)

func newInfluencers() *cobra.Command {
	return group("influencers", "Register influencers from a spreadsheet", newInfluencersImport())
}

func newInfluencersImport() *cobra.Command {
	var dryRun bool
	var report reportFlag
	var tag, sheet string
	var hashing secretFlag
	cmd := companyCommand("import FILE", "Register a spreadsheet's influencers with links, coupons and fees", oneArgument,
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
			secret, err := hashing.read()
			if err != nil {
				return err
			}
			if len(secret) > 0 {
				if in.hasher, err = identity.NewHasher(secret); err != nil {
					return err
				}
			}
			lines, err := readSpreadsheet(ctx, db, company, file, sheet, in)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			spreadsheet.CheckLinks(ctx, lines, admin.CheckLinks, in.english)
			results, err := importInfluencers(ctx, db, company, lines, dryRun)
			if report.asJSON {
				return errors.Join(writeJSON(cmd.OutOrStdout(), results), err)
			}
			for _, r := range results {
				fmt.Fprintln(cmd.OutOrStdout(), r.words())
			}
			return err
		})
	cmd.Long = `Register a spreadsheet's influencers with links, coupons, fees and details, as the dashboard does.
The file is CSV in UTF-8, UTF-16 or Windows-1252, or a sheet of an .xlsx workbook: the first, or --sheet's.
Its first line names the columns, in English or Portuguese: ` + strings.Join(spreadsheet.Fields, ", ") + `.
Other columns are not read. Several links of one line are separated by spaces; a line with a
coupon needs none. A name that is known already adds to that influencer what is new. Nothing is stored
while a line is refused; --dry-run does all that the import does, and rolls it back.
Numbers and days are read as --lang writes them: with pt-BR, 1.500 is one thousand five
hundred and 11/01/2026 is 11 January; with en, 1,500 is, and days are YYYY-MM-DD. What can
be read both ways is refused, with both.`
	cmd.Example = `  tributary influencers import parceiros.csv --company c_… --dry-run`
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be registered, and store nothing")
	cmd.Flags().StringVar(&tag, "lang", lang.Tags[0],
		"the language in which the file's numbers and days are written: "+strings.Join(lang.Tags, " or "))
	cmd.Flags().StringVar(&sheet, "sheet", "", "the name of the workbook's sheet that is read, where it is not the first visible one")
	hashing.register(cmd.Flags(), "hashing-secret",
		"the secret of edge and admin: without it, an influencer whose e-mail, telephone or document the file has is not recognised as a buyer")
	report.registerPlain(cmd, "write what became of each line as JSON, for programs")
	return cmd
}

// fileLanguage reads what a file has, and tells in English what is wrong with it.
type fileLanguage struct {
	file, english *lang.Printer
	hasher        *identity.Hasher // nil: an influencer is not recognised as a buyer
}

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

// readSpreadsheet reads and checks every line. sheet is the name of a workbook's sheet; empty: the first.
func readSpreadsheet(ctx context.Context, db stores, company string, in io.Reader, sheet string,
	words fileLanguage) ([]spreadsheet.Line, error) {
	raw, err := io.ReadAll(io.LimitReader(in, spreadsheet.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	table, err := spreadsheet.Parse(raw, sheet, words.file)
	if err == nil {
		err = table.Check()
	}
	if err != nil {
		return nil, errors.New(site.TypedText(words.english, err))
	}
	store, err := db.Company(ctx, company)
	if err != nil {
		return nil, err
	}
	return table.Lines(spreadsheet.Reading{File: words.file, Page: words.english,
		Today: time.Now().In(site.ZoneOf(store.Timezone)).Format(time.DateOnly), Company: company, Country: store.Country,
		Hasher: words.hasher}), nil
}

// What became of a line.
const (
	lineBroken     = "broken" // breaks a rule
	lineRefused    = "refused"
	lineRegistered = "registered"
	lineWould      = "would be registered"
	lineUnchanged  = "no change"
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

// importInfluencers stores the lines, or says what it would do. A line that is refused keeps all from being stored.
func importInfluencers(ctx context.Context, db stores, company string, lines []spreadsheet.Line, dryRun bool) ([]importedResult, error) {
	results, asked, bad := make([]importedResult, len(lines)), make([]commerce.Registration, len(lines)), 0
	for i, line := range lines {
		r := importedResult{Line: line.Number, Name: line.Asked.Name, Links: len(line.Asked.Links), Cost: len(line.Asked.Costs) > 0,
			Result: lineLeft, Problems: line.Problems}
		if len(line.Asked.Coupons) > 0 {
			r.Coupon = line.Asked.Coupons[0].Code
		}
		if len(line.Problems) > 0 {
			r.Result = lineBroken
		}
		results[i], asked[i], bad = r, line.Asked, bad+len(line.Problems)
	}
	if bad > 0 {
		return slices.DeleteFunc(results, func(r importedResult) bool { return r.Result == lineLeft }),
			fmt.Errorf("%d problems: nothing was stored", bad)
	}
	none := func(became []commerce.Imported) bool {
		return !slices.ContainsFunc(became, func(i commerce.Imported) bool { return i.Refused != nil })
	}
	became, err := db.RegisterAll(ctx, commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}, asked,
		func(became []commerce.Imported) bool { return !dryRun && none(became) }, rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("nothing was stored: %w", err)
	}
	for i, of := range became {
		why := of.Refused
		var conflict *commerce.CouponConflictError
		var taken *commerce.NameTakenError
		switch {
		case errors.As(why, &taken):
			why = taken
		case errors.As(why, &conflict) && len(conflict.Conflicts) == 0:
			why = errors.New(results[i].Coupon + " is the coupon of a line before")
		case errors.As(why, &conflict):
			why = errors.New(conflict.Conflicts[0].Code + " is already " + conflict.Conflicts[0].Influencer + "'s")
		}
		switch {
		case why != nil:
			results[i].Result, results[i].Problems = lineRefused, []string{why.Error()}
			bad++
		case of.Unchanged:
			results[i].Result = lineUnchanged
		case dryRun:
			results[i].Result = lineWould
		case none(became):
			results[i].Result = lineRegistered
		}
	}
	if bad > 0 {
		return results, fmt.Errorf("%d of %d lines are refused: nothing was stored", bad, len(lines))
	}
	return results, nil
}
