package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

var networkAccounts = receivers{group: "conversions", prefix: commerce.NetworkPrefix, one: "account",
	idField: "id", example: "net_abcdefghijklmnop", states: commerce.NetworkStates,
	table: messageTable[:len(messageTable)-1], // without the id of Standard Webhooks
	messages: `List an account's messages: each says that an order is to be looked at. Delivered and skipped ones are kept for 7 days, those
that were given up (parked) for 30. A skipped one was not sent: no_consent (the shopper did not agree to the network), not_asked
(the page said nothing of consent), erased, not_sold, not_proven, told (the network has it as it is), too_old, no_refund (the
network knows none) or nobody (nothing says who bought). A failure is refused (the network's words are its answer), account (it
refuses the account or its secret), processing (Google took it, and is asked for a day what became of it), status, timeout,
no_answer or secret_lost.`,
	test:   "Send a sale that is made up, in the network's test mode",
	replay: "Look again at what was sold in some time",
	replayLong: `Look again at orders that changed from --from on and before --to: at most %d at once. One is sent where the network does
not have it as it is now, and takes what is so old.`,
	changeLong: `Change what is given, and nothing else; the network cannot change. One that is enabled again gets what waited for it, and what
happens from then on; what was sold while it was disabled is told by ` + "`tributary conversions replay`" + `.`,
	changeExample: "--test-code ''"}

func newConversions() *cobra.Command {
	return group("conversions", "Tell advertising networks of sales, where the shopper agreed", append(networkAccounts.commands(),
		newConversionsAdd(), newConversionsList(), newConversionsChange(), newConversionsSecret())...)
}

// networkFlags are what a merchant sets of an account at a network.
type networkFlags struct {
	name    string
	account commerce.NetworkAccount
	all     bool
	cmd     *cobra.Command
}

func (f *networkFlags) register(cmd *cobra.Command) {
	f.cmd = cmd
	cmd.Flags().StringVar(&f.name, "name", "", "what you call it")
	cmd.Flags().StringVar(&f.account.ID, "account-id", "",
		"meta: dataset (pixel); ga4: measurement id; google: customer id, ten digits; tiktok: pixel")
	cmd.Flags().StringVar(&f.account.Action, "action-id", "", "google: the conversion action's id")
	cmd.Flags().StringVar(&f.account.Login, "login-id", "", "google: the manager account's customer id, where there is one")
	cmd.Flags().StringVar(&f.account.Test, "test-code", "",
		"meta, tiktok: the code that the network shows for tests; ga4, google: check; empty: real conversions")
	cmd.Flags().BoolVar(&f.all, "all-orders", false, "every approved order, not only those that are proven to be an influencer's")
}

// into changes what was given, and adds what is wrong with the whole.
func (f *networkFlags) into(n *commerce.Network, bad *commerce.Violations) {
	if f.name != "" {
		n.Name = f.name
	}
	for flag, field := range map[string][2]*string{"account-id": {&n.Account.ID, &f.account.ID},
		"action-id": {&n.Account.Action, &f.account.Action}, "login-id": {&n.Account.Login, &f.account.Login},
		"test-code": {&n.Account.Test, &f.account.Test}} {
		if f.cmd.Flags().Changed(flag) {
			*field[0] = *field[1]
		}
	}
	if f.cmd.Flags().Changed("all-orders") {
		n.AllOrders = f.all
	}
	n.Check(bad)
}

// networkSecret is what lets us into an account, from a file: an argument would be in lists of processes.
type networkSecret struct{ file string }

func (s *networkSecret) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.file, "secret-file", "", "file with the access token (meta, tiktok), API secret (ga4) or "+
		"service account key (google); - is the standard input")
}

// read reads the secret, and adds what is wrong with it.
func (s *networkSecret) read(cmd *cobra.Command, network commerce.DestinationKind, bad *commerce.Violations) (string, error) {
	text, err := readSecret(cmd.InOrStdin(), "secret-file", s.file, commerce.MaxNetworkSecret)
	secret, wrong := strings.TrimSpace(string(text)), commerce.Violations{}
	if commerce.CheckNetworkSecret(network, secret, &wrong); wrong.Any() {
		bad.Add("secret_file", wrong.List[0].Code, "%s", wrong.List[0].Message)
	}
	return secret, err
}

// sealNetworkSecret seals it to the connect service.
func sealNetworkSecret(ctx context.Context, db stores, company, id, secret string) (sealed commerce.SealedSecret, err error) {
	offer, err := runningOffer(ctx, db)
	if err != nil {
		return sealed, err
	}
	return account.SealNetworkSecret(offer, company, id, secret)
}

func newConversionsAdd() *cobra.Command {
	var f networkFlags
	var s networkSecret
	var report reportFlag
	var network string
	cmd := companyCommand("add", "Add an account at a network", noArguments,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, _ []string) error {
			n := commerce.Network{Endpoint: commerce.Endpoint{Kind: commerce.DestinationKind(network), Active: true}}
			var bad commerce.Violations
			f.into(&n, &bad)
			secret, err := s.read(cmd, n.Kind, &bad)
			if err != nil {
				return err
			}
			if err := brokenFlags(bad); err != nil {
				return err
			}
			if n.ID, err = commerce.NewID(rand.Reader, commerce.NetworkPrefix); err != nil {
				return err
			}
			sealed, err := sealNetworkSecret(ctx, db, company, n.ID, secret)
			if err == nil {
				err = db.AddNetwork(ctx, commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}, n, sealed)
			}
			if err != nil {
				return networkAccounts.problem(err, n.ID)
			}
			fmt.Fprintf(report.text(cmd), "Account %s is told of what is sold from now on.\n", n.ID)
			return report.write(cmd, networkAccounts.said(n.ID, "state", n.State()))
		})
	cmd.Long = `Add an account at meta, ga4, google or tiktok, which is told of each approved order that is proven to be an influencer's, where
the shopper agreed to that network. The connect service sends. Begin with --test-code. What was sold before is told by
` + "`tributary conversions replay`" + `.`
	cmd.Example = "  tributary conversions add --company c_… --network meta --name Meta --account-id 1234567890 " +
		"--secret-file token --test-code TEST123"
	cmd.Flags().StringVar(&network, "network", "", strings.Join(commerce.NetworkNames(), ", "))
	f.register(cmd)
	s.register(cmd)
	report.register(cmd, networkAccounts.said(networkAccounts.example, "state", commerce.EndpointActive))
	needs(cmd, "network", "name", "account-id", "secret-file")
	return cmd
}

var networkTable = append([]column[commerce.Network]{
	{"id", "ACCOUNT", func(n *commerce.Network) any { return n.ID }},
	{"name", "NAME", func(n *commerce.Network) any { return n.Name }},
	{"network", "NETWORK", func(n *commerce.Network) any { return string(n.Kind) }},
	{"account_id", "ITS ID", func(n *commerce.Network) any { return n.Account.ID }},
	{"action_id", "", func(n *commerce.Network) any { return orNone(n.Account.Action) }},
	{"login_id", "", func(n *commerce.Network) any { return orNone(n.Account.Login) }},
	{"test_code", "TEST", func(n *commerce.Network) any { return orNone(n.Account.Test) }},
	{"all_orders", "ALL ORDERS", func(n *commerce.Network) any { return n.AllOrders }},
}, stateColumns(func(n *commerce.Network) *commerce.Endpoint { return &n.Endpoint })...)

func newConversionsList() *cobra.Command {
	var how listing
	cmd := companyCommand("list", "List a company's accounts at networks, and how each is", noArguments,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, _ []string) error {
			list, err := db.Networks(ctx, company)
			if err != nil {
				return err
			}
			return writeList(cmd.OutOrStdout(), how, networkTable, list)
		})
	cmd.Long = `List a company's accounts at networks. One is disabled by you (merchant), since nothing reached it for five days (dead), or
since too many messages waited (overflow). It gets nothing until it is enabled again.`
	cmd.Example = "  tributary conversions list --company c_…"
	how.register(cmd)
	return cmd
}

func newConversionsChange() *cobra.Command {
	var f networkFlags
	return networkAccounts.newChange(f.register,
		func(ctx context.Context, db stores, author commerce.Author, id string, active func(was bool) bool) error {
			return db.ChangeNetwork(ctx, author, id, func(n *commerce.Network) error {
				n.Active = active(n.Active)
				var bad commerce.Violations
				f.into(n, &bad)
				return brokenFlags(bad)
			})
		})
}

func newConversionsSecret() *cobra.Command {
	var s networkSecret
	var report reportFlag
	cmd := networkAccounts.with("secret", "Give an account's new secret",
		func(ctx context.Context, cmd *cobra.Command, db stores, author commerce.Author, id string) error {
			n, err := db.Network(ctx, author.CompanyID, id)
			if err != nil {
				return err
			}
			var bad commerce.Violations
			secret, err := s.read(cmd, n.Kind, &bad)
			if err == nil {
				err = brokenFlags(bad)
			}
			if err != nil {
				return err
			}
			sealed, err := sealNetworkSecret(ctx, db, author.CompanyID, id, secret)
			if err == nil {
				err = db.RotateSecret(ctx, author, id, sealed)
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(report.text(cmd), "What is sent from now on is sent with the new secret.")
			return report.write(cmd, networkAccounts.said(id, "state", n.State()))
		})
	cmd.Example += " --secret-file token"
	s.register(cmd)
	report.register(cmd, networkAccounts.said(networkAccounts.example, "state", commerce.EndpointActive))
	needs(cmd, "secret-file")
	return cmd
}
