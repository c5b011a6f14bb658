package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/cmd/tributary/export"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
)

func newExport() *cobra.Command {
	about := map[string]string{ //nolint:gosec // none of these is a secret
		"events":     "Write events to files, without what the page sent along",
		"orders":     "Write orders to files, with who is paid for them",
		"credits":    "Write to files what each touch has of an order under each model",
		"ledger":     "Write the ledger to files",
		"statements": "Write closed statements to files",
	}
	var commands []*cobra.Command
	for _, kind := range commerce.ExportKinds {
		commands = append(commands, newExportOf(kind, about[kind]))
	}
	return group("export", "Write rows to Parquet or CSV files for analysis", append(commands, newExportList(), newExportForget())...)
}

// exportedCompanies bounds the companies that one command exports.
const exportedCompanies = 100_000

// exportFlags are those of the commands that write files.
type exportFlags struct {
	database   postgresFlags
	key        secretFlag
	to, format string
	company    string
	all        bool
	report     reportFlag
}

func newExportOf(kind, short string) *cobra.Command {
	var f exportFlags
	personal := slices.Contains(commerce.PersonalExports, kind)
	cmd := &cobra.Command{
		Use: kind, Short: short,
		Long: short + `, of all companies or one: a file for each day, below
` + kind + `/company=…/day=…/. Another run writes the days anew whose rows have changed, and
no others. It may be stopped or killed at any moment: there are whole files only, and
the next run goes on.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, kind, personal) },
	}
	example := "  tributary export " + kind + " --to /srv/tributary"
	if personal {
		cmd.Long += `

What names a person is there as a digest under the export key: keep that key, and let
it be no other secret. Erasures wait until the files are written without their persons.`
		example += " --export-key-file export.key"
	}
	cmd.Example = example
	f.report.register(cmd, exportReport{kind, "parquet", []exportedCompany{{"c_…", export.Result{New: 1, Anew: []string{"…"}, Unchanged: 364,
		Removed: []string{}, Rows: 12_000, Bytes: 400_000, Erasures: []string{}}}}})
	flags := cmd.Flags()
	f.database.register(flags)
	flags.StringVar(&f.to, "to", "", "directory of the files; it is made where there is none")
	flags.StringVar(&f.format, "format", export.Formats[0], "parquet or csv")
	flags.StringVar(&f.company, "company", "", "of this company alone")
	required(flags, "to")
	if kind == "events" {
		flags.BoolVar(&f.all, "all", false, "compare the files of all days with their rows, not of the last 30 alone")
	}
	if personal {
		f.key.register(flags, "export-key", "the secret of the files' digests, kept for this alone, at least 32 bytes")
		required(flags, "export-key-file")
	}
	return cmd
}

// run exports one kind.
func (f *exportFlags) run(cmd *cobra.Command, kind string, personal bool) error {
	var wrong problems
	dsn, err := f.database.require()
	wrong.add(err)
	if f.to == "" {
		wrong.add(errors.New("give --to or $" + environmentName("to")))
	}
	if !slices.Contains(export.Formats, f.format) {
		wrong.add(fmt.Errorf("--format %q is none of %s", f.format, strings.Join(export.Formats, ", ")))
	}
	var hasher *identity.Hasher
	if personal {
		secret, err := f.key.require()
		if err == nil {
			if hasher, err = identity.NewHasher(secret); err != nil {
				err = fmt.Errorf("--export-key-file: at least %d bytes are needed", identity.MinSecret)
			}
		}
		wrong.add(err)
	}
	if err := wrong.err(); err != nil {
		return err
	}
	db, err := openStores(cmd.Context(), dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	companies, err := f.companies(cmd.Context(), db)
	if err != nil {
		return err
	}
	dir, err := export.Open(f.to, f.format)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	defer dir.Close() // it holds a lock alone
	done := exportReport{Kind: kind, Format: f.format, Companies: []exportedCompany{}}
	var failed []error
	for _, company := range companies {
		var digests *identity.Digests
		if personal {
			digests = hasher.Export(company)
		}
		result, err := export.Export(cmd.Context(), db, dir, company, kind, digests, f.all)
		done.add(f.report.text(cmd), company, result)
		failed = append(failed, err)
		if cmd.Context().Err() != nil {
			failed = append(failed, fmt.Errorf("stopped; the next run goes on: %w", cmd.Context().Err()))
			break
		}
	}
	return errors.Join(append(failed, f.report.write(cmd, done))...)
}

// companies are those to export.
func (f *exportFlags) companies(ctx context.Context, db stores) (ids []string, err error) {
	if f.company != "" {
		_, err := findCompany(ctx, db, f.company)
		return []string{f.company}, err
	}
	list, err := db.Companies(ctx, exportedCompanies+1)
	if len(list) > exportedCompanies {
		return nil, fmt.Errorf("there are more than %d companies: give --company", exportedCompanies)
	}
	for _, c := range list {
		ids = append(ids, c.CompanyID)
	}
	return ids, err
}

// exportReport is what an export did, as JSON.
type exportReport struct {
	Kind      string            `json:"kind"`
	Format    string            `json:"format"`
	Companies []exportedCompany `json:"companies"`
}

type exportedCompany struct {
	CompanyID string `json:"company_id"`
	export.Result
}

func (r *exportReport) add(out io.Writer, company string, x export.Result) {
	for _, list := range []*[]string{&x.Anew, &x.Removed, &x.Erasures} {
		*list = append([]string{}, *list...) // [], not null
	}
	r.Companies = append(r.Companies, exportedCompany{company, x})
	if x.Former != "" {
		fmt.Fprintf(out, "%s: the run before wrote to %s. If its files are still there, they are a copy that no run renews\n", company, x.Former)
	}
	for _, path := range x.Anew {
		fmt.Fprintln(out, "written anew", path)
	}
	for _, path := range x.Removed {
		fmt.Fprintln(out, "removed", path)
	}
	fmt.Fprintf(out, "%s: %d new files, %d written anew, %d unchanged, %d not compared, %d removed; %d rows, %d bytes written\n",
		company, x.New, len(x.Anew), x.Unchanged, x.Old, len(x.Removed), x.Rows, x.Bytes)
	for _, id := range x.Erasures {
		fmt.Fprintf(out, "erasure %s is done\n", id)
	}
}

var exportColumns = []column[commerce.Export]{
	{"export_id", "EXPORT", func(e *commerce.Export) any { return e.ExportID }},
	{"kind", "KIND", func(e *commerce.Export) any { return e.Kind }},
	{"format", "FORMAT", func(e *commerce.Export) any { return e.Format }},
	{"place", "PLACE", func(e *commerce.Export) any { return e.Place }},
	{"done_at", "DONE", func(e *commerce.Export) any {
		if e.DoneAt.IsZero() {
			return nil
		}
		return e.DoneAt.UTC().Format(time.RFC3339)
	}},
	{"files", "FILES", func(e *commerce.Export) any { return e.Days }},
	{"rows", "ROWS", func(e *commerce.Export) any { return e.Rows }},
	{"bytes", "BYTES", func(e *commerce.Export) any { return e.Bytes }},
	{"erasures_waiting", "ERASURES WAITING", func(e *commerce.Export) any { return e.Erasures }},
}

func newExportList() *cobra.Command {
	var how listing
	cmd := companyCommand("list", "List where a company's rows are exported to, and what waits for it", noArguments,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, _ []string) error {
			list, err := db.Exports(ctx, company)
			if err != nil {
				return err
			}
			return writeList(cmd.OutOrStdout(), how, exportColumns, list)
		})
	cmd.Example = "  tributary export list --company c_…"
	how.register(cmd)
	return cmd
}

func newExportForget() *cobra.Command {
	var report reportFlag
	cmd := companyCommand("forget EXPORT", "Note that the files of a directory are deleted for good: no erasure waits for them", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			id := args[0]
			if uuid.Validate(id) != nil {
				dir, err := emptyExport(ctx, db, args[0], company)
				if err != nil {
					return err
				}
				defer dir.Close() // no run begins before all is noted
				id = dir.ID
			}
			erasures, err := db.ForgetExport(ctx, company, id)
			if errors.Is(err, commerce.ErrNotFound) {
				return fmt.Errorf("nothing of %s was exported to %s; `tributary export list --company %[1]s` shows the exports", company, args[0])
			}
			if err != nil {
				return err
			}
			done := forgottenReport{id, append([]string{}, erasures...)}
			fmt.Fprintln(report.text(cmd), "forgotten", id)
			for _, erasure := range erasures {
				fmt.Fprintf(report.text(cmd), "erasure %s is done\n", erasure)
			}
			return report.write(cmd, done)
		})
	cmd.Long = cmd.Short + `. EXPORT is the
export's id, its directory, or its place as the list has it. Delete the files and all copies first: what is left
of them can name a person whom an erasure has removed.`
	cmd.Example = "  tributary export forget 5f0c… --company c_…"
	report.register(cmd, forgottenReport{"…", []string{"…"}})
	return cmd
}

// emptyExport is a directory of exported files, or one that is gone, in which a company has none any more.
func emptyExport(ctx context.Context, db stores, name, company string) (*export.Dir, error) {
	path, place, err := export.Place(name)
	if err != nil {
		return nil, err
	}
	var dir *export.Dir
	_, format, err := export.Read(path)
	switch {
	case err == nil:
		dir, err = export.Open(path, format)
	case errors.Is(err, fs.ErrNotExist):
		dir, err = goneExport(ctx, db, company, name, place)
	}
	if err != nil {
		return nil, err
	}
	left, err := export.Left(path, company)
	if err == nil && left != "" {
		err = fmt.Errorf("%s is still there: delete the company's files and all copies first", left)
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// goneExport finds the export that wrote to a place.
func goneExport(ctx context.Context, db stores, company string, places ...string) (*export.Dir, error) {
	list, err := db.Exports(ctx, company)
	var ids []string
	for _, e := range list {
		if slices.Contains(places, e.Place) && !slices.Contains(ids, e.ExportID) {
			ids = append(ids, e.ExportID)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case len(ids) == 0:
		return nil, fmt.Errorf("nothing of %s was exported to %s; `tributary export list --company %[1]s` shows the exports", company, places[0])
	case len(ids) > 1:
		return nil, fmt.Errorf("several exports wrote to %s, one after another: give one of the ids %s", places[0], strings.Join(ids, ", "))
	}
	return &export.Dir{ID: ids[0]}, nil
}

// forgottenReport is what came of forgetting an export, as JSON.
type forgottenReport struct {
	ExportID string   `json:"export_id"`
	Erasures []string `json:"erasures_done"`
}
