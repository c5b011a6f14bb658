package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nyaruka/phonenumbers"
	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// actor is who the audit log says has done what this program does.
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
			if err := checkStore(store); err != nil {
				return err
			}
			hasher, err := hashing.hasher()
			if err != nil {
				return err
			}
			db, err := database.open(cmd.Context())
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
	flags.StringVar(&store.PayoutRule, "payout-rule", facts.CouponFirst, "who is paid where a coupon and a link name different influencers: "+facts.CouponFirst+" or "+facts.LastTouch)
	flags.IntVar(&store.WindowDays, "window-days", 30, "how many days before an order a touch counts")
	flags.IntVar(&store.HalfLifeDays, "half-life-days", 7, "days after which a touch counts half in the model time_decay")
	flags.BoolVar(&store.CountDirect, "count-direct", false, "let direct visits count in every model, not in the last touch's alone")
	flags.BoolVar(&store.PayRecurring, "pay-recurring", false, "let recurring subscription orders earn commission")
	return cmd
}

// The schema's bounds of a company's settings.
var consentPolicies = []string{"none", "required", "honor_gpc"}

const mostDays = 365

// checkStore refuses settings that the services could not work with, before
// they are stored for years.
func checkStore(s commerce.NewStore) error {
	if s.Name == "" {
		return errors.New("give the store a name")
	}
	if !phonenumbers.GetSupportedRegions()[s.Country] { // phone numbers without a country are read by it
		return fmt.Errorf("--country %q is no ISO 3166-1 code in capitals, such as BR", s.Country)
	}
	if _, err := time.LoadLocation(s.Timezone); err != nil || s.Timezone == "" || s.Timezone == "Local" {
		return fmt.Errorf("--timezone %q is no IANA time zone, such as America/Sao_Paulo", s.Timezone)
	}
	if _, err := commerce.Exponent(s.Currency); err != nil {
		return fmt.Errorf("--currency %q %w, such as BRL", s.Currency, err)
	}
	if !slices.Contains(consentPolicies, s.ConsentPolicy) {
		return fmt.Errorf("--consent %q is none of %s", s.ConsentPolicy, strings.Join(consentPolicies, ", "))
	}
	if s.PayoutRule != facts.CouponFirst && s.PayoutRule != facts.LastTouch {
		return fmt.Errorf("--payout-rule %q is neither %s nor %s", s.PayoutRule, facts.CouponFirst, facts.LastTouch)
	}
	if s.WindowDays < 1 || s.WindowDays > mostDays {
		return fmt.Errorf("--window-days must be from 1 to %d", mostDays)
	}
	if s.HalfLifeDays < 1 || s.HalfLifeDays > mostDays {
		return fmt.Errorf("--half-life-days must be from 1 to %d", mostDays)
	}
	for _, text := range s.Origins {
		if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme+"://"+u.Host != text || (u.Scheme != "https" && u.Scheme != "http") {
			return fmt.Errorf("--origin %q is no origin, such as https://loja.example.com: scheme and host, without a path or a slash", text)
		}
	}
	for _, text := range s.Hosts {
		if u, err := url.Parse("//" + text); err != nil || u.Hostname() != text || text == "" {
			return fmt.Errorf("--host %q is no host, such as loja.example.com: without scheme, port or path", text)
		}
	}
	return nil
}

// mostCompanies bounds a list; an installation has hundreds.
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
