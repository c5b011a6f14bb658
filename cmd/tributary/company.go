package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/cases"
)

// actor is named in the audit log for what these commands change.
const actor = "cli"

func newCompany() *cobra.Command {
	return group("company", "Make stores, and list, show, change and archive their companies",
		newCompanyCreate(), newCompanyList(), newCompanyShow(), newCompanySet(), newCompanyArchive(), newCompanyUnarchive())
}

func newCompanyCreate() *cobra.Command {
	var report reportFlag
	store := commerce.NewStore{Actor: actor, Random: rand.Reader}
	store.Defaults()
	cmd := databaseCommand(&cobra.Command{
		Use:     "create NAME",
		Short:   "Make a store with its two companies, live and sandbox",
		Example: `  tributary company create "Loja Exemplo" --origin https://loja.example.com --host loja.example.com --postgres "$DSN"`,
		Args:    oneArgument,
	}, func(ctx context.Context, cmd *cobra.Command, db stores, _ []string) error {
		made, err := db.CreateStore(ctx, store)
		if err != nil {
			return err
		}
		fmt.Fprintf(report.text(cmd), "store    %s\nlive     %s\nsandbox  %s\n", made.StoreID, made.Live.CompanyID, made.Sandbox.CompanyID)
		return report.write(cmd,
			map[string]any{"store_id": made.StoreID, "name": made.Name, "live": made.Live.CompanyID, "sandbox": made.Sandbox.CompanyID})
	}, func(cmd *cobra.Command, args []string) error {
		store.Name = strings.TrimSpace(args[0])
		return settingsProblem(cmd, store.Check())
	})
	report.registerPlain(cmd, "write the ids as JSON, for programs")
	for _, x := range settings {
		x.register(cmd.Flags(), &store.Settings)
	}
	return cmd
}

// mostCompanies bounds a list. Large installations have hundreds.
const mostCompanies = 10_000

func newCompanyList() *cobra.Command {
	var report reportFlag
	cmd := databaseCommand(&cobra.Command{
		Use: "list", Short: "List stores and their companies", Args: noArguments,
		Example: "  tributary company list --json",
	},
		func(ctx context.Context, cmd *cobra.Command, db stores, _ []string) error {
			companies, err := db.Companies(ctx, mostCompanies)
			if err != nil {
				return err
			}
			if report.asJSON {
				list := make([]map[string]any, len(companies))
				for i, c := range companies {
					list[i] = companyObject(c)
				}
				return writeJSON(cmd.OutOrStdout(), list)
			}
			return writeList(cmd.OutOrStdout(), listing{}, companyColumns, companies)
		})
	report.registerPlain(cmd, "write JSON, with all settings, for programs")
	return cmd
}

// companyColumns are those of the list for people.
var companyColumns = []column[commerce.Company]{
	{"", "COMPANY", func(c *commerce.Company) any { return c.CompanyID }},
	{"", "ENVIRONMENT", func(c *commerce.Company) any { return c.Environment }},
	{"", "NAME", func(c *commerce.Company) any { return c.Name }},
	{"", "STORE", func(c *commerce.Company) any { return c.StoreID }},
	{"", "COUNTRY", func(c *commerce.Company) any { return c.Country }},
	{"", "TIMEZONE", func(c *commerce.Company) any { return c.Timezone }},
	{"", "CURRENCY", func(c *commerce.Company) any { return c.Currency }},
	{"", "ORIGINS", func(c *commerce.Company) any { return listed(c.Origins) }},
	{"", "HOSTS", func(c *commerce.Company) any { return listed(c.Hosts) }},
	{"", "CREATED", func(c *commerce.Company) any { return momentOrNone(c.CreatedAt) }},
	{"", "ARCHIVED", func(c *commerce.Company) any {
		if c.ArchivedAt.IsZero() {
			return "-"
		}
		return moment(c.ArchivedAt)
	}},
}

func newCompanyShow() *cobra.Command {
	var report reportFlag
	cmd := databaseCommand(&cobra.Command{
		Use: "show COMPANY", Short: "Show a company and its settings", Args: oneArgument,
		Example: "  tributary company show c_…",
	},
		func(ctx context.Context, cmd *cobra.Command, db stores, args []string) error {
			company, err := findCompany(ctx, db, args[0])
			if err != nil {
				return err
			}
			own, err := ownUnproven(ctx, db, args[0])
			if err != nil {
				return err
			}
			if report.asJSON {
				return writeCompany(cmd.OutOrStdout(), company, own)
			}
			return printCompany(cmd.OutOrStdout(), company, own)
		})
	report.registerPlain(cmd, "write JSON, for programs")
	return cmd
}

// influencerUnproven is an influencer's own setting of what is done with evidence that
// nothing proves.
type influencerUnproven struct {
	Influencer string `json:"influencer"`
	Unproven   string `json:"unproven"`
}

// ownUnproven returns the own settings of the influencers that have one and are not
// archived.
func ownUnproven(ctx context.Context, db stores, companyID string) ([]influencerUnproven, error) {
	rules, err := cases.NewReader(db.db).Rules(ctx, companyID)
	if err != nil {
		return nil, err
	}
	own := []influencerUnproven{}
	for _, f := range rules.Influencers {
		if n := len(f.Unproven); n > 0 && f.Unproven[n-1].Unproven != "" && f.ArchivedAt.IsZero() {
			own = append(own, influencerUnproven{f.Name, f.Unproven[n-1].Unproven})
		}
	}
	slices.SortFunc(own, func(a, b influencerUnproven) int { return cmp.Compare(a.Influencer, b.Influencer) })
	return own, nil
}

// companyObject is a company as JSON: its ids, and under "settings" each setting by its
// name.
func companyObject(c commerce.Company) map[string]any {
	values := map[string]any{}
	for _, x := range settings {
		values[x.field] = x.value(&c.Settings)
	}
	return map[string]any{
		"company_id": c.CompanyID, "store_id": c.StoreID, "environment": c.Environment, "name": c.Name,
		"rules_rev": c.RulesRev, "created_at": moment(c.CreatedAt), "archived_at": archivedAt(&c), "settings": values,
	}
}

// writeCompany writes a company as JSON, with the influencers' own settings.
func writeCompany(out io.Writer, c commerce.Company, own []influencerUnproven) error {
	object := companyObject(c)
	object["influencers_unproven"] = own
	return writeJSON(out, object)
}

func printCompany(out io.Writer, c commerce.Company, own []influencerUnproven) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := [][2]string{{"company", c.CompanyID}, {"environment", c.Environment}, {"name", printable(c.Name)}, {"store", c.StoreID},
		{"created", moment(c.CreatedAt)}}
	if !c.ArchivedAt.IsZero() {
		head = append(head, [2]string{"archived", moment(c.ArchivedAt)})
	}
	for _, line := range head {
		fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
	}
	for _, x := range settings {
		fmt.Fprintf(table, "%s\t%s\n", x.flag, x.text(&c.Settings))
	}
	for _, o := range own {
		fmt.Fprintf(table, "unproven of %s\t%s\n", printable(o.Influencer), o.Unproven)
	}
	return table.Flush()
}

func newCompanySet() *cobra.Command {
	var given commerce.Settings
	var influencer string
	var shows previewFlags
	var origins originFlags
	change := func(cmd *cobra.Command) func(s *commerce.Settings) {
		return func(s *commerce.Settings) {
			for _, x := range settings {
				if cmd.Flags().Changed(x.flag) {
					x.take(s, &given)
				}
			}
			origins.apply(s)
		}
	}
	cmd := databaseCommand(&cobra.Command{
		Use:   "set COMPANY",
		Short: "Change settings of a company",
		Long: `Change settings of one company: a store's other environment keeps its own. What
is not given stays. A list replaces the one before; --origin "" empties it.
--add-origin and --remove-origin change the origins and keep the others.
Services use the new settings within seconds.

Those that decide about orders (--payout-rule, --window-days, --half-life-days,
--count-direct, --pay-recurring, --unproven, --hold-days,
--delivered-hold-days) count for orders created
from now on. With --preview nothing is changed: it says which orders the change
would move, and from whom to whom. With --influencer NAME, --unproven is that influencer's own;
--unproven "" gives it back to the company's.`,
		Example: `  tributary company set c_… --add-origin https://loja.example.com --add-origin https://checkout.example.com --consent required
  tributary company set c_… --hold-days 14
  tributary company set c_… --influencer "Ana Prado" --unproven pay`,
		Args: oneArgument,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("influencer") {
				return checkOfInfluencer(cmd, given.Unproven)
			}
			return checkChange(cmd, change(cmd))
		},
	},
		func(ctx context.Context, cmd *cobra.Command, db stores, args []string) error {
			if _, err := findCompany(ctx, db, args[0]); err != nil {
				return err
			}
			if cmd.Flags().Changed("influencer") {
				return setOfInfluencer(ctx, cmd, db, &shows, args[0], influencer, given.Unproven)
			}
			var before, after commerce.Settings
			err := shows.change(ctx, cmd, db, args[0], func(ctx context.Context) (err error) {
				before, after, err = db.ChangeSettings(ctx, commerce.SettingsChange{CompanyID: args[0], Actor: actor, Change: change(cmd)})
				return err
			})
			var refused *commerce.SettingsError
			if errors.As(err, &refused) {
				return settingsProblem(cmd, refused.Bad)
			}
			if err != nil {
				return err
			}
			origins.printUnlisted(cmd.ErrOrStderr(), before.Origins)
			if shows.asked {
				return nil
			}
			if shows.asJSON {
				return writeJSON(cmd.OutOrStdout(), changesObject(args[0], before, after))
			}
			return printChanges(cmd.OutOrStdout(), before, after)
		})
	for _, x := range settings {
		x.register(cmd.Flags(), &given)
	}
	shows.register(cmd.Flags())
	origins.register(cmd)
	cmd.Flags().BoolVar(&shows.asked, "preview", false, "change nothing; say what the change would move")
	cmd.Flags().StringVar(&influencer, "influencer", "", "set --unproven for the influencer of this name alone")
	return cmd
}

// checkOfInfluencer is checkChange of the one setting that an influencer may have of its own.
func checkOfInfluencer(cmd *cobra.Command, unproven string) error {
	for _, x := range settings {
		if cmd.Flags().Changed(x.flag) != (x.field == "unproven") {
			return misuse(errors.New("--influencer goes with --unproven, and with no other setting"))
		}
	}
	if unproven != "" && !slices.Contains(commerce.UnprovenRules, unproven) {
		return misuse(fmt.Errorf("--unproven must be one of %s, or empty for the company's", strings.Join(commerce.UnprovenRules, ", ")))
	}
	return nil
}

// setOfInfluencer changes the one setting that an influencer may have of its own.
func setOfInfluencer(ctx context.Context, cmd *cobra.Command, db stores, shows *previewFlags, company, name, unproven string) error {
	err := shows.change(ctx, cmd, db, company, func(ctx context.Context) error {
		return db.SetUnproven(ctx, commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}, name, unproven)
	})
	if errors.Is(err, commerce.ErrNotFound) {
		return fmt.Errorf("%s has no influencer %q", company, name)
	}
	if err == nil && !shows.asked && shows.asJSON {
		return writeJSON(cmd.OutOrStdout(), map[string]any{"company_id": company, "influencer": name, "unproven": orNone(unproven)})
	}
	if err == nil && !shows.asked {
		fmt.Fprintf(cmd.OutOrStdout(), "unproven of %s: %s, for orders created from now on\n", printable(name),
			cmp.Or(unproven, "as the company's"))
	}
	return err
}

// changesObject is what a change of settings changed, by the settings' names.
func changesObject(company string, before, after commerce.Settings) map[string]any {
	changed := map[string]any{}
	for _, x := range settings {
		if x.text(&before) != x.text(&after) {
			changed[x.field] = map[string]any{"from": x.value(&before), "to": x.value(&after)}
		}
	}
	return map[string]any{"company_id": company, "changed": changed}
}

// checkChange tells what is wrong with a change before the database is opened. How long
// events must be kept depends on the company's other settings: the database's answer says it.
func checkChange(cmd *cobra.Command, change func(*commerce.Settings)) error {
	var names []string
	some := false
	for _, x := range settings {
		names = append(names, "--"+x.flag)
		some = some || cmd.Flags().Changed(x.flag)
	}
	some = some || cmd.Flags().Changed("add-origin") || cmd.Flags().Changed("remove-origin")
	if !some {
		return misuse(fmt.Errorf("give what to change: %s", strings.Join(names, ", ")))
	}
	var s commerce.Settings
	s.Defaults()
	change(&s)
	bad := s.Check()
	bad.List = slices.DeleteFunc(bad.List, func(v commerce.Violation) bool { return v.Field == "retention_days" })
	return settingsProblem(cmd, bad)
}

// printChanges prints each setting that changed.
func printChanges(out io.Writer, before, after commerce.Settings) error {
	changed := false
	for _, x := range settings {
		if from, to := x.text(&before), x.text(&after); from != to {
			changed = true
			fmt.Fprintf(out, "%s: %s, before %s\n", x.flag, to, from)
			if x.flag == "origin" {
				printRemoved(out, before.Origins, after.Origins)
			}
		}
	}
	if !changed {
		fmt.Fprintln(out, "Nothing was changed: the settings are so already.")
	}
	return nil
}
