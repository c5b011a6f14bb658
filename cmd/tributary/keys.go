package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

func newKeys() *cobra.Command {
	return group("keys", "Make, list, rotate and revoke API keys", newKeysCreate(), newKeysList(), newKeysRotate(), newKeysRevoke())
}

func newKeysCreate() *cobra.Command {
	var scopes []string
	var keyType string
	var lifetime time.Duration
	var report reportFlag
	cmd := companyCommand("create NAME", "Make an API key and show it, once", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			key := account.NewAPIKey{CompanyID: company, Name: strings.TrimSpace(args[0]), Type: keyType, Actor: actor, Random: rand.Reader}
			for _, name := range scopes {
				scope, err := account.ParseScope(name)
				if err != nil {
					return misuse(fmt.Errorf("--scope: %w", err))
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
			fmt.Fprintf(report.notes(cmd), "Key %s of the %s environment. It is stored hashed and cannot be shown again:\n",
				made.KeyID, made.Environment)
			fmt.Fprintln(report.text(cmd), text)
			return report.write(cmd, keyObject(made, text))
		})
	cmd.Example = `  tributary keys create erp --company c_… --expires-in 365d
  tributary keys create backend --company c_… --scope events.write`
	report.registerPlain(cmd, "write the key as JSON, for programs")
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		switch {
		case strings.TrimSpace(args[0]) == "":
			return misuse(errors.New("give the key a name: who will hold it"))
		case lifetime < 0:
			return misuse(fmt.Errorf("--expires-in %s is in the past: give how long the key is valid, or 0 for ever", lifetime))
		case keyType != account.OwnPlatform && keyType != account.Integration:
			return misuse(fmt.Errorf("--type %q is neither %s nor %s", keyType, account.OwnPlatform, account.Integration))
		case len(scopes) == 0:
			return misuse(errors.New("--scope: a key needs at least one"))
		}
		return nil
	}
	cmd.Flags().StringSliceVar(&scopes, "scope", scopeNames(account.AdminScopes), "what the key may do; repeat or separate by commas; also "+
		strings.Join(scopeNames(account.Scopes[len(account.AdminScopes):]), ", "))
	cmd.Flags().StringVar(&keyType, "type", account.OwnPlatform, account.OwnPlatform+" or "+account.Integration)
	durationVar(cmd.Flags(), &lifetime, "expires-in", 0, "how long the key is valid; 0 is for ever")
	return cmd
}

func newKeysList() *cobra.Command {
	var report reportFlag
	cmd := companyCommand("list", "List a company's API keys", noArguments,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, _ []string) error {
			const most = 1000
			keys, err := db.ListAPIKeys(ctx, company, most)
			if err != nil {
				return err
			}
			if report.asJSON {
				list := []map[string]any{}
				for _, k := range keys {
					list = append(list, keyObject(k, ""))
				}
				return writeJSON(cmd.OutOrStdout(), list)
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "KEY\tNAME\tTYPE\tENDS IN\tCREATED\tLAST USED\tSTATE\tSCOPES")
			for _, k := range keys {
				fmt.Fprintf(table, "%s\t%s\t%s\t…%s\t%s\t%s\t%s\t%s\n", k.KeyID, printable(k.Name), k.Type, k.Hint,
					moment(k.CreatedAt), moment(k.LastUsedAt), keyState(k, time.Now()), strings.Join(scopeNames(k.Scopes), ","))
			}
			return table.Flush()
		})
	cmd.Example = `  tributary keys list --company c_…`
	report.registerPlain(cmd, "write JSON, for programs")
	return cmd
}

// keyObject is a key as JSON; text, which is known once alone, is left out where it is empty.
func keyObject(k account.APIKey, text string) map[string]any {
	object := map[string]any{"key_id": k.KeyID, "name": k.Name, "type": k.Type, "ends_in": k.Hint, "scopes": scopeNames(k.Scopes),
		"created_at": moment(k.CreatedAt), "last_used_at": moment(k.LastUsedAt), "state": keyState(k, time.Now())}
	if text != "" {
		object["key"] = text
	}
	return object
}

func scopeNames(scopes []account.Scope) []string {
	names := make([]string, len(scopes))
	for i, scope := range scopes {
		names[i] = string(scope)
	}
	return names
}

func keyState(k account.APIKey, now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero() && !now.Before(k.RevokedAt):
		return "revoked"
	case !k.RevokedAt.IsZero():
		return "until " + moment(k.RevokedAt)
	case !k.ActiveAt(now):
		return "expired"
	case !k.ArchivedAt.IsZero():
		return "refused: the company is archived"
	}
	return "active"
}

func newKeysRotate() *cobra.Command {
	var grace time.Duration
	var report reportFlag
	cmd := companyCommand("rotate KEY_ID",
		"Replace an API key by a new one and show it, once; the old one stays valid for a time", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			now := time.Now()
			made, text, err := db.RotateAPIKey(ctx,
				account.KeyRotation{CompanyID: company, KeyID: args[0], At: now, Grace: grace, Actor: actor, Random: rand.Reader})
			if errors.Is(err, commerce.ErrNotFound) {
				return fmt.Errorf("no such key of %s that still works: %s", company, args[0])
			}
			if err != nil {
				return err
			}
			object := keyObject(made, text)
			object["replaces"] = args[0]
			// "At the latest": an earlier end may have been set before.
			fmt.Fprintf(report.notes(cmd), "%s ends at %s at the latest. Key %s takes its place; it is stored hashed and cannot be shown again:\n",
				args[0], moment(now.Add(grace)), made.KeyID)
			fmt.Fprintln(report.text(cmd), text)
			return report.write(cmd, object)
		})
	cmd.Example = `  tributary keys rotate key_… --company c_… --grace 2d`
	report.registerPlain(cmd, "write the new key as JSON, for programs")
	cmd.PreRunE = refuseNegative(&grace)
	durationVar(cmd.Flags(), &grace, "grace", 24*time.Hour, "how long the old key stays valid, to replace it everywhere")
	return cmd
}

func newKeysRevoke() *cobra.Command {
	var grace time.Duration
	var report reportFlag
	cmd := companyCommand("revoke KEY_ID", "Revoke an API key, at once or after a time", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			now := time.Now().Truncate(time.Microsecond) // as it is stored
			at := now.Add(grace)
			ends, err := db.RevokeAPIKey(ctx, company, args[0], at, actor)
			if errors.Is(err, commerce.ErrNotFound) {
				return fmt.Errorf("no such key of %s: %s", company, args[0])
			}
			if err != nil {
				return err
			}
			out := report.text(cmd)
			switch {
			case ends.Equal(at):
				fmt.Fprintf(out, "%s ends at %s; services forget it within 5 s.\n", args[0], moment(ends))
			case ends.After(now):
				fmt.Fprintf(out, "%s already ends sooner, at %s: nothing was changed.\n", args[0], moment(ends))
			default:
				fmt.Fprintf(out, "%s already ended at %s: nothing was changed.\n", args[0], moment(ends))
			}
			return report.write(cmd, map[string]any{"key_id": args[0], "ends_at": moment(ends), "changed": ends.Equal(at)})
		})
	cmd.Example = `  tributary keys revoke key_… --company c_…`
	report.registerPlain(cmd, "write what was done as JSON, for programs")
	cmd.PreRunE = refuseNegative(&grace)
	durationVar(cmd.Flags(), &grace, "grace", 0, "how long the key stays valid, to replace it everywhere")
	return cmd
}

// refuseNegative checks --grace before the database is opened.
func refuseNegative(grace *time.Duration) func(*cobra.Command, []string) error {
	return func(*cobra.Command, []string) error {
		if *grace < 0 {
			return misuse(fmt.Errorf("--grace %s is in the past: give how long the key stays valid, or 0 to end it now", *grace))
		}
		return nil
	}
}
