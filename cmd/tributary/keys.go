package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

func newKeys() *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Make, list and revoke API keys"}
	cmd.AddCommand(newKeysCreate(), newKeysList(), newKeysRevoke())
	return cmd
}

// keysCommand is what the three have in common: a database and a company.
func keysCommand(use, short string, args cobra.PositionalArgs, run func(ctx context.Context, cmd *cobra.Command, db *postgres.DB, company string, args []string) error) *cobra.Command {
	var database postgresFlags
	var company string
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			dsn, err := database.require()
			if err != nil {
				return err
			}
			if company == "" {
				return fmt.Errorf("give --company")
			}
			db, err := postgres.Open(cmd.Context(), dsn)
			if err != nil {
				return err
			}
			defer db.Close()
			return run(cmd.Context(), cmd, db, company, args)
		},
	}
	database.register(cmd.Flags())
	cmd.Flags().StringVar(&company, "company", "", "companyId; the environment, live or sandbox, is the company's")
	return cmd
}

func newKeysCreate() *cobra.Command {
	var scopes []string
	var keyType string
	var lifetime time.Duration
	cmd := keysCommand("create NAME", "Make an API key and show it, once", cobra.ExactArgs(1),
		func(ctx context.Context, cmd *cobra.Command, db *postgres.DB, company string, args []string) error {
			key := commerce.NewAPIKey{CompanyID: company, Name: args[0], Type: keyType, Actor: actor, Random: rand.Reader}
			for _, name := range scopes {
				scope, err := commerce.ParseScope(name)
				if err != nil {
					return err
				}
				key.Scopes = append(key.Scopes, scope)
			}
			if lifetime > 0 {
				key.ExpiresAt = time.Now().Add(lifetime)
			}
			made, text, err := db.CreateAPIKey(ctx, key)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "Key %s of the %s environment. It is stored hashed and cannot be shown again:\n", made.KeyID, made.Environment)
			fmt.Fprintln(cmd.OutOrStdout(), text)
			return nil
		})
	all := make([]string, len(commerce.Scopes))
	for i, scope := range commerce.Scopes {
		all[i] = string(scope)
	}
	cmd.Flags().StringSliceVar(&scopes, "scope", all, "what the key may do; repeat or separate by commas")
	cmd.Flags().StringVar(&keyType, "type", commerce.OwnPlatform, commerce.OwnPlatform+" or "+commerce.Integration)
	cmd.Flags().DurationVar(&lifetime, "expires-in", 0, "how long the key is good for; 0 is for ever")
	return cmd
}

func newKeysList() *cobra.Command {
	return keysCommand("list", "List a company's API keys", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *postgres.DB, company string, _ []string) error {
			const most = 1000
			keys, err := db.ListAPIKeys(ctx, company, most)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "KEY\tNAME\tTYPE\tENDS IN\tCREATED\tLAST USED\tSTATE\tSCOPES")
			for _, k := range keys {
				scopes := make([]string, len(k.Scopes))
				for i, scope := range k.Scopes {
					scopes[i] = string(scope)
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t…%s\t%s\t%s\t%s\t%s\n", k.KeyID, k.Name, k.Type, k.Hint,
					moment(k.CreatedAt), moment(k.LastUsedAt), keyState(k, time.Now()), strings.Join(scopes, ","))
			}
			return table.Flush()
		})
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

func keyState(k commerce.APIKey, now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero() && !now.Before(k.RevokedAt):
		return "revoked"
	case !k.RevokedAt.IsZero():
		return "until " + moment(k.RevokedAt)
	case !k.ActiveAt(now):
		return "expired"
	}
	return "active"
}

func newKeysRevoke() *cobra.Command {
	var grace time.Duration
	cmd := keysCommand("revoke KEY_ID", "Revoke an API key, at once or after a time", cobra.ExactArgs(1),
		func(ctx context.Context, cmd *cobra.Command, db *postgres.DB, company string, args []string) error {
			at := time.Now().Add(grace)
			if err := db.RevokeAPIKey(ctx, company, args[0], at, actor); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s ends %s; services forget it within 5 s.\n", args[0], moment(at))
			return nil
		})
	cmd.Flags().DurationVar(&grace, "grace", 0, "leave the key good for this long, to change it over")
	return cmd
}
