package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// actor is who the audit log says has done what this program does.
const actor = "cli"

func newCompany() *cobra.Command {
	cmd := &cobra.Command{Use: "company", Short: "Make stores and their companies"}
	cmd.AddCommand(newCompanyCreate())
	return cmd
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
			dsn, err := database.require()
			if err != nil {
				return err
			}
			hasher, err := hashing.hasher()
			if err != nil {
				return err
			}
			if args[0] == "" {
				return errors.New("give the store a name")
			}
			db, err := postgres.Open(cmd.Context(), dsn)
			if err != nil {
				return err
			}
			defer db.Close()
			store.Name, store.KeyCheck = args[0], hasher.Check
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
	return cmd
}

// findCompany is a company that someone named; an unknown one is said in words.
func findCompany(ctx context.Context, db *postgres.DB, companyID string) (commerce.Company, error) {
	company, err := db.Company(ctx, companyID)
	if errors.Is(err, commerce.ErrNotFound) {
		return company, fmt.Errorf("no such company: %s; `tributary company list` shows those there are", companyID)
	}
	return company, err
}
