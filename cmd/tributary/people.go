package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/admin/dashboard/login"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// mostPeople bounds a list of a store's people.
const mostPeople = 10_000

var memberColumns = []column[account.Member]{
	{"person_id", "", func(m *account.Member) any { return m.PersonID }},
	{"email", "EMAIL", func(m *account.Member) any { return m.Email }},
	{"role", "ROLE", func(m *account.Member) any { return m.Role }},
	{"last_seen", "LAST SEEN", func(m *account.Member) any { return moment(m.LastSeen) }},
}

func newPersonList() *cobra.Command {
	var report reportFlag
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
			return writeList(cmd.OutOrStdout(), listing{asJSON: report.asJSON}, memberColumns, members)
		})
	cmd.Example = `  tributary person list --company c_…`
	report.registerPlain(cmd, "write JSON, for programs")
	return cmd
}

func newPersonRemove() *cobra.Command {
	var membership membershipFlags
	var report reportFlag
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
			fmt.Fprintf(report.notes(cmd), "%s may no longer log in to store %s.\n", email, storeID)
			return report.write(cmd, map[string]any{"email": email, "store_id": storeID, "removed": true})
		})
	cmd.Example = `  tributary person remove ana@loja.example.com --company c_…`
	report.registerPlain(cmd, "write what was done as JSON, for programs")
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
	var report reportFlag
	cmd := personCommand("invite EMAIL", "Make a one-time link by which somebody comes into a store and chooses a password",
		func(ctx context.Context, cmd *cobra.Command, db stores, email string) error {
			storeID, err := membership.find(ctx, db)
			if err != nil {
				return err
			}
			return by.invite(ctx, cmd, db, storeID, email, membership.role, report)
		})
	cmd.Example = `  tributary person invite ana@loja.example.com --company c_… --role analyst --dashboard https://painel.example.com`
	report.registerPlain(cmd, "write the link as JSON, for programs")
	membership.register(cmd)
	by.register(cmd)
	return cmd
}

func (by *inviteFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&by.dashboard, "dashboard", "http://127.0.0.1:7701", "where browsers reach the dashboard: scheme and host")
}

// invite makes a one-time link into a store and writes it.
func (by *inviteFlags) invite(ctx context.Context, cmd *cobra.Command, db stores, storeID, email, role string, report reportFlag) error {
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
	fmt.Fprintf(report.notes(cmd), "Hand this link to %s. It works once, for 7 days, and cannot be shown again:\n", email)
	fmt.Fprintln(report.text(cmd), link)
	return report.write(cmd, map[string]any{"email": email, "store_id": storeID, "role": role, "link": link,
		"expires_at": moment(time.Now().Add(login.InvitationLife))})
}
