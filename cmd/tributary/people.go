package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/admin/dashboard/login"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// mostPeople bounds a list of a store's people.
const mostPeople = 10_000

func newPersonList() *cobra.Command {
	var asJSON bool
	cmd := companyCommand("list", "List who may log in to a store", noArguments,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, _ []string) error {
			c, err := db.Company(ctx, company)
			if err != nil {
				return err
			}
			members, err := db.Members(ctx, c.StoreID, mostPeople)
			if err != nil {
				return err
			}
			if asJSON {
				list := []map[string]any{}
				for _, m := range members {
					list = append(list, map[string]any{"person_id": m.PersonID, "email": m.Email, "role": m.Role, "last_seen": moment(m.LastSeen)})
				}
				return writeJSON(cmd.OutOrStdout(), list)
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "EMAIL\tROLE\tLAST SEEN")
			for _, m := range members {
				fmt.Fprintf(table, "%s\t%s\t%s\n", printable(m.Email), m.Role, moment(m.LastSeen))
			}
			return table.Flush()
		})
	cmd.Example = `  tributary person list --company c_…`
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

func newPersonRemove() *cobra.Command {
	var membership membershipFlags
	var asJSON bool
	cmd := personCommand("remove EMAIL", "Take somebody from a store: their access ends at once",
		func(ctx context.Context, cmd *cobra.Command, db stores, email string) error {
			storeID, person, err := membership.findWith(ctx, db, email)
			if err != nil {
				return err
			}
			live, err := liveCompanyOf(ctx, db, storeID)
			if err != nil {
				return err
			}
			err = db.ChangeMembership(ctx, account.MembershipChange{StoreID: storeID, CompanyID: live, PersonID: person.ID, Actor: actor})
			switch {
			case errors.Is(err, commerce.ErrNotFound):
				return fmt.Errorf("%s is not one of store %s's people", email, storeID)
			case errors.Is(err, account.ErrLastOwner):
				return fmt.Errorf("%s is the last owner of store %s: make somebody else an owner first (`tributary person grant`)", email, storeID)
			case err != nil:
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), map[string]any{"email": email, "store_id": storeID, "removed": true})
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s may no longer log in to store %s.\n", email, storeID)
			return nil
		})
	cmd.Example = `  tributary person remove ana@loja.example.com --company c_…`
	cmd.Flags().BoolVar(&asJSON, "json", false, "write what was done as JSON, for programs")
	membership.registerStore(cmd)
	return cmd
}

// liveCompanyOf returns a store's live company.
func liveCompanyOf(ctx context.Context, db stores, storeID string) (string, error) {
	companies, err := db.Companies(ctx, mostCompanies)
	if err != nil {
		return "", err
	}
	for _, c := range companies {
		if c.StoreID == storeID && c.Environment == commerce.Live {
			return c.CompanyID, nil
		}
	}
	return "", fmt.Errorf("no such store: %s", storeID)
}

// inviteFlags say where the dashboard is, for the link.
type inviteFlags struct{ dashboard string }

func newPersonInvite() *cobra.Command {
	var membership membershipFlags
	var by inviteFlags
	var asJSON bool
	cmd := personCommand("invite EMAIL", "Make a one-time link by which somebody comes into a store and chooses a password",
		func(ctx context.Context, cmd *cobra.Command, db stores, email string) error {
			storeID, err := membership.find(ctx, db)
			if err != nil {
				return err
			}
			return by.invite(ctx, cmd, db, storeID, email, membership.role, asJSON)
		})
	cmd.Example = `  tributary person invite ana@loja.example.com --company c_… --role analyst --dashboard https://painel.example.com`
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the link as JSON, for programs")
	membership.register(cmd)
	by.register(cmd)
	return cmd
}

func (by *inviteFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&by.dashboard, "dashboard", "http://127.0.0.1:7701", "where browsers reach the dashboard: scheme and host")
}

// invite makes a one-time link into a store and writes it.
func (by *inviteFlags) invite(ctx context.Context, cmd *cobra.Command, db stores, storeID, email, role string, asJSON bool) error {
	live, err := liveCompanyOf(ctx, db, storeID)
	if err != nil {
		return err
	}
	link, err := invitationLink(ctx, db,
		account.NewInvitation{StoreID: storeID, CompanyID: live, Email: email, Role: role, Random: rand.Reader}, by.dashboard)
	if errors.Is(err, account.ErrTooManyInvitations) {
		return fmt.Errorf("store %s has %d open links: withdraw some in the dashboard", storeID, account.MaxInvitations)
	}
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(cmd.OutOrStdout(), map[string]any{"email": email, "store_id": storeID, "role": role, "link": link,
			"expires_at": moment(time.Now().Add(login.InvitationLife))})
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Hand this link to %s. It works once, for 7 days, and cannot be shown again:\n", email)
	fmt.Fprintln(cmd.OutOrStdout(), link)
	return nil
}
