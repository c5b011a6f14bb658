package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	pgpreview "github.com/tributary-io/tributary/internal/postgres/preview"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/preview"
)

// stores is the database as the admin API, the pages and the commands use it.
type stores struct {
	*merchant.Store
	*report.Reader
	*preview.Previewer
	db *postgres.DB
}

// openStores opens the database. Call Close when it is no longer needed. Where its schema refuses this program, the error
// is postgres.ErrOldProgram; where it is of before 0.1.0, postgres.ErrFormer.
func openStores(ctx context.Context, dsn string) (stores, error) {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return stores{}, err
	}
	// A database that does not answer, or has no schema yet, is told of by what follows.
	asked, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if state, err := db.Schema(asked); err == nil && state.Refusal() != nil {
		db.Close()
		return stores{}, state.Refusal()
	}
	return stores{merchant.New(db), report.New(db), preview.New(pgpreview.New(db), preview.Limits{}), db}, nil
}

// Close waits for connections in use and closes all connections.
func (s stores) Close() { s.db.Close() }

// open opens the database that the flags name. Call Close when it is no longer needed.
func (p *postgresFlags) open(ctx context.Context) (stores, error) {
	dsn, err := p.require()
	if err != nil {
		return stores{}, err
	}
	return openStores(ctx, dsn)
}

// databaseCommand makes a command open the database before it runs. checks tell what else is wrong before that.
func databaseCommand(cmd *cobra.Command, run func(ctx context.Context, cmd *cobra.Command, db stores, args []string) error,
	checks ...func(cmd *cobra.Command, args []string) error) *cobra.Command {
	var database postgresFlags
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var wrong problems
		for _, check := range checks {
			wrong.add(check(cmd, args))
		}
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
		return run(cmd.Context(), cmd, db, args)
	}
	database.register(cmd.Flags())
	return cmd
}

// companyCommand returns a command on one company's data. It opens the database
// and checks that the company exists.
func companyCommand(use, short string, args cobra.PositionalArgs,
	run func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error) *cobra.Command {
	var company string
	cmd := databaseCommand(&cobra.Command{Use: use, Short: short, Args: args},
		func(ctx context.Context, cmd *cobra.Command, db stores, args []string) error {
			if _, err := findCompany(ctx, db, company); err != nil {
				return err
			}
			return run(ctx, cmd, db, company, args)
		},
		func(*cobra.Command, []string) error {
			if company == "" {
				return errors.New("give --company or $" + environmentName("company"))
			}
			return nil
		})
	cmd.Flags().StringVar(&company, "company", "", "companyId; the environment, live or sandbox, is the company's")
	return cmd
}

// findCompany returns a company. The error for an unknown one says how to list them.
func findCompany(ctx context.Context, db stores, companyID string) (commerce.Company, error) {
	company, err := db.Company(ctx, companyID)
	if errors.Is(err, commerce.ErrNotFound) {
		return company, fmt.Errorf("no such company: %s; `tributary company list` shows those there are", companyID)
	}
	return company, err
}
