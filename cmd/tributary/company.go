package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
)

// actor is named in the audit log for what these commands change.
const actor = "cli"

func newCompany() *cobra.Command {
	return group("company", "Make and list stores and their companies", newCompanyCreate(), newCompanyList())
}

func newCompanyCreate() *cobra.Command {
	var database postgresFlags
	var hashing hashingFlags
	store := commerce.NewStore{Actor: actor, Random: rand.Reader}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a store with its two companies, live and sandbox",
		Example: `  tributary company create "Loja Exemplo" --origin https://loja.example.com --host loja.example.com \
    --postgres "$DSN" --hashing-secret-file /run/secrets/hashing`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store.Name = strings.TrimSpace(args[0])
			var wrong problems
			wrong.add(checkStore(store))
			hasher, err := hashing.hasher()
			wrong.add(err)
			dsn, err := database.require()
			wrong.add(err)
			if err := wrong.err(); err != nil {
				return err
			}
			db, err := openStores(cmd.Context(), dsn)
			if err != nil {
				return err
			}
			defer db.Close()
			store.KeyCheck = hasher.Check
			made, err := db.CreateStore(cmd.Context(), store)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "store    %s\nlive     %s\nsandbox  %s\n", made.StoreID, made.Live.CompanyID, made.Sandbox.CompanyID)
			return nil
		},
	}
	flags := cmd.Flags()
	database.register(flags)
	hashing.register(flags)
	flags.StringVar(&store.Country, "country", "BR", "ISO 3166-1 code of the country that phone numbers without one belong to")
	flags.StringVar(&store.Timezone, "timezone", "America/Sao_Paulo", "IANA time zone of the store's days")
	flags.StringVar(&store.Currency, "currency", "BRL", "ISO 4217 code of the store's currency")
	flags.StringSliceVar(&store.Origins, "origin", nil, "origin whose pages may send events, https://loja.example.com; repeat or separate by commas")
	flags.StringSliceVar(&store.Hosts, "host", nil, "the store's own host, never a touch; repeat or separate by commas")
	flags.StringVar(&store.ConsentPolicy, "consent", "none", "none, required (no cookie before consent, a denial or Global Privacy Control joins nothing) or honor_gpc (the latter only)")
	flags.StringVar(&store.PayoutRule, "payout-rule", commerce.CouponFirst, "who is paid where a coupon and a link name different influencers: "+commerce.CouponFirst+" or "+commerce.LastTouch)
	flags.IntVar(&store.WindowDays, "window-days", 30, "how many days before an order a touch counts")
	flags.IntVar(&store.HalfLifeDays, "half-life-days", 7, "days after which a touch counts half in the model time_decay")
	flags.BoolVar(&store.CountDirect, "count-direct", false, "let direct visits count in every model, not in the last touch's alone")
	flags.BoolVar(&store.PayRecurring, "pay-recurring", false, "let recurring subscription orders earn commission")
	return cmd
}

// settingFlags are the flags that set a store's settings, by the settings' names.
var settingFlags = map[string]string{
	"country": "--country", "timezone": "--timezone", "currency": "--currency", "consent_policy": "--consent", "payout_rule": "--payout-rule",
	"window_days": "--window-days", "half_life_days": "--half-life-days", "origins": "--origin", "hosts": "--host",
}

// checkStore returns all that is wrong with a store's settings.
func checkStore(s commerce.NewStore) error {
	var wrong []error
	for _, v := range s.Check().List {
		setting, _, _ := strings.Cut(v.Field, "[")
		flag := settingFlags[setting]
		if flag == "" {
			flag = v.Field
		}
		wrong = append(wrong, errors.New(flag+" "+v.Message))
	}
	return errors.Join(wrong...)
}

// mostCompanies bounds a list. Large installations have hundreds.
const mostCompanies = 10_000

func newCompanyList() *cobra.Command {
	var database postgresFlags
	cmd := &cobra.Command{
		Use: "list", Short: "List stores and their companies", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			db, err := database.open(cmd.Context())
			if err != nil {
				return err
			}
			defer db.Close()
			companies, err := db.Companies(cmd.Context(), mostCompanies)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "COMPANY\tENVIRONMENT\tNAME\tSTORE\tCOUNTRY\tTIMEZONE\tCURRENCY\tORIGINS\tHOSTS\tCREATED")
			for _, c := range companies {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.CompanyID, c.Environment, printable(c.Name), c.StoreID,
					c.Country, c.Timezone, c.Currency, listed(c.Origins), listed(c.Hosts), moment(c.CreatedAt))
			}
			return table.Flush()
		},
	}
	database.register(cmd.Flags())
	return cmd
}
