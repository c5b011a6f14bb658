package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tributary-io/tributary/internal/commerce"
)

// errArchived is what people are told where commerce.ErrArchived refuses a change.
var errArchived = errors.New("the company is archived, and nothing of it can be changed: `tributary company unarchive COMPANY` takes it " +
	"back into use")

func newCompanyArchive() *cobra.Command {
	cmd := archiveCommand("archive COMPANY", "Archive a company: it takes no events, orders and changes any more", false)
	cmd.Long = `Archive a company that is used no more. From then on edges refuse its events, the admin
API refuses its keys, and nothing of it can be changed. Its short links still lead to
the shop, and are not counted. The dashboard shows it as before. What is owed can still
be closed and paid (tributary statement), and persons can be erased. Nothing is deleted:
tributary company unarchive takes it back into use.

It asks before it does so. --yes is the answer for a script.`
	cmd.Example = `  tributary company archive c_…
  tributary company archive c_… --both --yes`
	return cmd
}

func newCompanyUnarchive() *cobra.Command {
	cmd := archiveCommand("unarchive COMPANY", "Take an archived company back into use", true)
	cmd.Long = `Take an archived company back into use: it takes events, orders and changes again, and its
keys work again, unless they have ended meanwhile.

It asks before it does so. --yes is the answer for a script.`
	cmd.Example = `  tributary company unarchive c_…
  tributary company unarchive c_… --both --yes`
	return cmd
}

// archiveCommand archives companies, or takes them back.
func archiveCommand(use, short string, back bool) *cobra.Command {
	var both, yes bool
	var report reportFlag
	cmd := databaseCommand(&cobra.Command{Use: use, Short: short, Args: oneArgument},
		func(ctx context.Context, cmd *cobra.Command, db stores, args []string) error {
			company, err := findCompany(ctx, db, args[0])
			if err != nil {
				return err
			}
			companies := []commerce.Company{company}
			if both {
				if companies, err = companiesOf(ctx, db, company.StoreID); err != nil {
					return err
				}
			}
			// Of a company that is so already nobody is asked.
			if left := slices.DeleteFunc(slices.Clone(companies), func(c commerce.Company) bool {
				return c.ArchivedAt.IsZero() == back
			}); len(left) > 0 && !yes {
				if err := askToArchive(cmd, left, back); err != nil {
					return err
				}
			}
			archiving := commerce.Archiving{Back: back, Actor: actor}
			for _, c := range companies {
				archiving.CompanyIDs = append(archiving.CompanyIDs, c.CompanyID)
			}
			list, changed, err := db.Archive(ctx, archiving)
			if err != nil {
				return err
			}
			for _, c := range list {
				fmt.Fprintln(report.text(cmd), archivedWords(c, slices.Contains(changed, c.CompanyID)))
			}
			return report.write(cmd, objects(archivedColumns(changed), list))
		})
	cmd.Flags().BoolVar(&both, "both", false, "the store's other environment too")
	report.registerPlain(cmd, "write what was done as JSON, for programs")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// companiesOf returns a store's companies.
func companiesOf(ctx context.Context, db stores, storeID string) (list []commerce.Company, err error) {
	all, err := db.Companies(ctx, mostCompanies)
	for _, c := range all {
		if c.StoreID == storeID {
			list = append(list, c)
		}
	}
	return list, err
}

func archivedColumns(changed []string) []column[commerce.Company] {
	return []column[commerce.Company]{
		{"company_id", "", func(c *commerce.Company) any { return c.CompanyID }},
		{"environment", "", func(c *commerce.Company) any { return c.Environment }},
		{"name", "", func(c *commerce.Company) any { return c.Name }},
		{"archived_at", "", func(c *commerce.Company) any { return archivedAt(c) }},
		{"changed", "", func(c *commerce.Company) any { return slices.Contains(changed, c.CompanyID) }},
	}
}

// archivedAt is since when a company is archived, nil where it is not.
func archivedAt(c *commerce.Company) any {
	if c.ArchivedAt.IsZero() {
		return nil
	}
	return moment(c.ArchivedAt)
}

// archivedWords says what became of a company.
func archivedWords(c commerce.Company, changed bool) string {
	what := fmt.Sprintf("%s (%s, %s)", c.CompanyID, printable(c.Name), c.Environment)
	switch {
	case c.ArchivedAt.IsZero() && changed:
		return what + " is in use again; edges and admins learn of it within seconds."
	case c.ArchivedAt.IsZero():
		return what + " is not archived: nothing was changed."
	case changed:
		return what + " is archived; edges and admins learn of it within seconds."
	}
	return fmt.Sprintf("%s is archived since %s: nothing was changed.", what, moment(c.ArchivedAt))
}

// askToArchive asks at a terminal. Without one it is an error that says how to answer.
func askToArchive(cmd *cobra.Command, companies []commerce.Company, back bool) error {
	var names []string
	for _, c := range companies {
		names = append(names, fmt.Sprintf("%s (%s, %s)", c.CompanyID, printable(c.Name), c.Environment))
	}
	if back {
		return askYes(cmd, strings.Join(names, " and ")+" would take events, orders and changes again, and its API keys would work again",
			"Type yes to take it back: ")
	}
	return askYes(cmd, strings.Join(names, " and ")+" would take no events, orders and changes any more, and its API keys would be refused",
		"Type yes to archive: ")
}

// askYes says what would be done and asks at a terminal. Without one, and where the answer is
// not yes, it is an error.
func askYes(cmd *cobra.Command, what, prompt string) error {
	if file, ok := cmd.InOrStdin().(*os.File); ok && !term.IsTerminal(int(file.Fd())) {
		return fmt.Errorf("%s: give --yes, since nobody can be asked here", what)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s.\n%s", what, prompt)
	answer, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 100)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !strings.EqualFold(strings.TrimSpace(answer), "yes") {
		return errors.New("nothing was changed: the answer was not yes")
	}
	return nil
}
