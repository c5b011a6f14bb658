package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

func newErase() *cobra.Command {
	var database postgresFlags
	var hashing hashingFlags
	var former formerHashing
	var company string
	var subject commerce.DataSubject
	var wait time.Duration
	var report reportFlag
	cmd := &cobra.Command{
		Use:   "erase",
		Short: "Erase a customer or a visitor for good",
		Long: `Erase a customer or a visitor of one company, named by --email, --phone,
--customer, --visitor or several of these: the personal fields of the orders, the
keyed hashes and the visits go. Orders, credits, commissions and statements keep their
amounts. It cannot be undone.

A running processor does it, once this is published by a running admin. Where orders or
events were exported, it is done when "tributary export" has written their files anew.
A store has two companies, live and sandbox: each is asked on its own.`,
		Example: `  tributary erase --company c_… --email ana@example.com
  tributary erase --company c_… --customer 4711 --phone '+55 11 98765-4321'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var wrong problems
			if company == "" {
				wrong.add(errors.New("give --company or $" + environmentName("company")))
			}
			hasher, _, err := former.hashers(&hashing)
			wrong.add(err)
			dsn, err := database.require()
			wrong.add(err)
			if len(subject.Kinds()) == 0 {
				wrong.add(errors.New("give whom to erase: --email, --phone, --customer or --visitor"))
			}
			if err := wrong.err(); err != nil {
				return err
			}
			db, err := openStores(cmd.Context(), dsn)
			if err != nil {
				return err
			}
			defer db.Close()
			found, err := findCompany(cmd.Context(), db, company)
			if err != nil {
				return err
			}
			keys, unknown := facts.SubjectKeys(subject, hasher.Company(company, found.Country))
			for _, field := range unknown {
				wrong.add(fmt.Errorf("%s names nobody: no order and no visit can have it", flagOfSubject[field]))
			}
			if err := wrong.err(); err != nil {
				return err
			}
			asked, err := db.AskErasure(cmd.Context(), commerce.Author{CompanyID: company, Actor: actor, At: time.Now()},
				subject.Kinds(), keys, rand.Reader)
			if err != nil {
				return err
			}
			return waitForErasure(cmd, db, company, asked, wait, report)
		},
	}
	report.register(cmd, erasureReport{"…", "c_…", "erasing | waiting_for_exports | erased", 2, 40, []string{"orders host:/srv/tributary"},
		[]commerce.ToldConversion{{Network: commerce.ToMeta, Account: "1234567890", OrderID: "1001"}}, false})
	flags := cmd.Flags()
	database.register(flags)
	hashing.register(flags)
	former.registerSecret(flags, "the former hashing secret, so that what only it hashed is found as well")
	flags.StringVar(&company, "company", "", "companyId; the environment, live or sandbox, is the company's")
	flags.StringVar(&subject.Email, "email", "", "e-mail of the customer")
	flags.StringVar(&subject.Phone, "phone", "", "phone of the customer; without a country code it is read in the store's country")
	flags.StringVar(&subject.CustomerID, "customer", "", "customerId of the customer's orders")
	flags.StringVar(&subject.Visitor, "visitor", "", "the browser's cookie trb_id or trb_vid, or the userId of its orders")
	durationVar(flags, &wait, "wait", time.Minute, "how long to wait at most until it is done; 0: not at all")
	return cmd
}

// flagOfSubject are the flags of commerce.DataSubject's fields.
var flagOfSubject = map[string]string{"email": "--email", "phone": "--phone", "customer_id": "--customer", "visitor": "--visitor"}

// erasurePause is the wait until an erasure is looked at again.
const erasurePause = 250 * time.Millisecond

// erasureReport is an erasure as JSON.
type erasureReport struct {
	ErasureID string `json:"erasure_id"`
	CompanyID string `json:"company_id"`
	State     string `json:"state"`
	Orders    int64  `json:"orders"` // erased so far
	Events    int64  `json:"events"`

	Exports []string `json:"exports"` // that it waits for

	Conversions     []commerce.ToldConversion `json:"conversions"` // to whom the erasure is to be passed on
	ConversionsMore bool                      `json:"conversions_more"`
}

// toldWords says what networks were told of a person.
func toldWords(list []commerce.ToldConversion, more bool) string {
	if len(list) == 0 {
		return ""
	}
	text := strings.Builder{}
	text.WriteString("Networks were told of the person, or may have been. Pass the erasure on to each.\n")
	for _, t := range list {
		fmt.Fprintf(&text, "  %s  %s  order %s\n", t.Network, printable(t.Account), printable(t.OrderID))
	}
	if more {
		text.WriteString("  and more\n")
	}
	return text.String()
}

// waitForErasure prints an erasure's id and its state, once it is done or the wait is over.
func waitForErasure(cmd *cobra.Command, db stores, company string, e commerce.Erasure, wait time.Duration, report reportFlag) (err error) {
	for deadline := time.Now().Add(wait); e.State == commerce.Erasing && time.Now().Before(deadline); {
		if !background.Sleep(cmd.Context(), erasurePause) {
			return cmd.Context().Err()
		}
		if e, err = db.Erasure(cmd.Context(), company, e.ErasureID); err != nil {
			return err
		}
	}
	fmt.Fprintf(report.text(cmd), "erasure  %s  %s  %d orders, %d events\n", e.ErasureID, e.State, e.Orders, e.Events)
	list, more, err := db.ErasedConversions(cmd.Context(), company, e.ErasureID)
	if err != nil {
		return err
	}
	fmt.Fprint(report.text(cmd), toldWords(list, more))
	switch {
	case e.State == commerce.ErasingFiles:
		fmt.Fprintf(cmd.ErrOrStderr(), "The database has nothing of the person any more. Exported files may: "+
			"run these again, `tributary export list` shows which.\n  %s\n", strings.Join(e.Exports, "\n  "))
	case e.State == commerce.Erasing:
		fmt.Fprintln(cmd.ErrOrStderr(), "It goes on by itself: admin publishes it and a processor does it. "+
			"The dashboard and GET /erasures/{id} say then which networks were told of the person.")
	case e.Orders == 0 && e.Events == 0:
		fmt.Fprintln(cmd.ErrOrStderr(),
			"Nobody was found. Is the hashing secret that of edge and admin? Of somebody seen before a rotation, the former one is needed too.")
	}
	return report.write(cmd, erasureReport{e.ErasureID, company, e.State, e.Orders, e.Events, append([]string{}, e.Exports...),
		append([]commerce.ToldConversion{}, list...), more})
}
