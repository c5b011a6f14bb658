package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tributary-io/tributary/admin/dashboard/login"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
)

func newPerson() *cobra.Command {
	return group("person", "Let people log in to the dashboard", newPersonCreate(), newPersonList(), newPersonInvite(), newPersonGrant(),
		newPersonRemove(), newPersonPasswd())
}

// personCommand returns a command about one person, with the flags of the database.
func personCommand(use, short string, run func(ctx context.Context, cmd *cobra.Command, db stores, email string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: oneArgument}
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		email := merchant.FoldEmail(args[0])
		if parsed, err := mail.ParseAddress(email); err != nil || parsed.Address != email {
			return fmt.Errorf("%q is no e-mail address", args[0])
		}
		return nil
	}
	return databaseCommand(cmd, func(ctx context.Context, cmd *cobra.Command, db stores, args []string) error {
		return run(ctx, cmd, db, merchant.FoldEmail(args[0]))
	})
}

func newPersonCreate() *cobra.Command {
	var membership membershipFlags
	var password passwordFlag
	var report reportFlag
	cmd := personCommand("create EMAIL", "Make a log-in for a store's dashboard",
		func(ctx context.Context, cmd *cobra.Command, db stores, email string) error {
			storeID, err := membership.find(ctx, db)
			if err != nil {
				return err
			}
			// Checked before the person has to type a password.
			if _, err := db.PersonByEmail(ctx, email); !errors.Is(err, commerce.ErrNotFound) {
				return alreadyThere(email, err)
			}
			text, generated, hash, err := password.readAndHash(cmd)
			if err != nil {
				return err
			}
			_, err = db.CreateMember(ctx, storeID, membership.role, email, hash)
			if errors.Is(err, commerce.ErrConflict) {
				return alreadyThere(email, nil)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(report.notes(cmd), "%s may log in to store %s as %s.\n", email, storeID, membership.role)
			return showGenerated(cmd, report, map[string]any{"email": email, "store_id": storeID, "role": membership.role}, text, generated)
		})
	report.registerPlain(cmd, "write what was done, and a password that was made, as JSON, for programs")
	cmd.Example = `  tributary person create ana@loja.example.com --company c_… --role owner
  pass show tributary/ana | tributary person create ana@loja.example.com --company c_… --password-file -`
	membership.register(cmd)
	password.register(cmd)
	return cmd
}

func alreadyThere(email string, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%s has a log-in already: `tributary person grant` lets them into another store, `person passwd` sets a new password",
		email)
}

func newPersonGrant() *cobra.Command {
	var membership membershipFlags
	var by inviteFlags
	var report reportFlag
	cmd := personCommand("grant EMAIL", "Change somebody's role in a store, or let a person with a log-in into another one by a one-time link",
		func(ctx context.Context, cmd *cobra.Command, db stores, email string) error {
			storeID, person, err := membership.findWith(ctx, db, email)
			if err != nil {
				return err
			}
			if member, err := isMember(ctx, db, person.ID, storeID); err != nil {
				return err
			} else if !member {
				// Whoever was first to be invited with the e-mail made the log-in, and it is no proof of whose it is.
				fmt.Fprintf(cmd.ErrOrStderr(),
					"%s has a log-in, which may be anybody's who was invited with this e-mail. Who uses the link sets a new password for it.\n", email)
				return by.invite(ctx, cmd, db, storeID, email, membership.role, report)
			}
			err = db.SetMembership(ctx, storeID, person.ID, membership.role)
			if errors.Is(err, account.ErrLastOwner) {
				return fmt.Errorf("%s is the last owner of store %s: make somebody else an owner first", email, storeID)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(report.notes(cmd), "%s may log in to store %s as %s.\n", email, storeID, membership.role)
			return report.write(cmd, map[string]any{"email": email, "store_id": storeID, "role": membership.role})
		})
	cmd.Example = `  tributary person grant ana@loja.example.com --company c_… --role analyst`
	report.registerPlain(cmd, "write what was done, or the link, as JSON, for programs")
	membership.register(cmd)
	by.register(cmd)
	return cmd
}

// isMember reports whether a person is one of a store's people.
func isMember(ctx context.Context, db stores, personID, storeID string) (bool, error) {
	accesses, err := db.Accesses(ctx, personID)
	return slices.ContainsFunc(accesses, func(a account.Access) bool { return a.StoreID == storeID }), err
}

func newPersonPasswd() *cobra.Command {
	var password passwordFlag
	var report reportFlag
	var factorOff bool
	cmd := personCommand("passwd EMAIL", "Set a new password and end every session of someone",
		func(ctx context.Context, cmd *cobra.Command, db stores, email string) error {
			person, err := findPerson(ctx, db, email)
			if err != nil {
				return err
			}
			text, generated, hash, err := password.readAndHash(cmd)
			if err != nil {
				return err
			}
			if err := db.SetPassword(ctx, person.ID, hash); err != nil {
				return err
			}
			if factorOff {
				if err := db.SetSecondFactor(ctx, account.SecondFactorChange{PersonID: person.ID, Actor: "cli", Any: true}); err != nil {
					return err
				}
			}
			fmt.Fprintf(report.notes(cmd), "The password of %s is changed; their sessions are ended.\n", email)
			return showGenerated(cmd, report, map[string]any{"email": email, "sessions": "ended"}, text, generated)
		})
	cmd.Example = `  tributary person passwd ana@loja.example.com
  tributary person passwd ana@loja.example.com --second-factor-off  # the phone and the recovery codes are lost
  pass show tributary/ana | tributary person passwd ana@loja.example.com --password-file -`
	cmd.Flags().BoolVar(&factorOff, "second-factor-off", false, "turn the second factor off too; else it is asked for as before")
	report.registerPlain(cmd, "write what was done, and a password that was made, as JSON, for programs")
	password.register(cmd)
	return cmd
}

func findPerson(ctx context.Context, db stores, email string) (account.Person, error) {
	person, err := db.PersonByEmail(ctx, email)
	if errors.Is(err, commerce.ErrNotFound) {
		return person, fmt.Errorf("no such person: %s; `tributary person create` makes a log-in", email)
	}
	return person, err
}

// membershipFlags say which store a person may see, and in which role.
type membershipFlags struct{ store, company, role string }

func (m *membershipFlags) register(cmd *cobra.Command) {
	m.registerStore(cmd)
	cmd.Flags().StringVar(&m.role, "role", account.RoleOwner,
		account.RoleOwner+", who may change things, "+account.RoleFinance+", who reads, closes and pays statements, or "+account.RoleAnalyst+
			", who reads")
}

// registerStore is register without a role.
func (m *membershipFlags) registerStore(cmd *cobra.Command) {
	m.role = account.RoleOwner // find checks it
	cmd.Flags().StringVar(&m.store, "store", "", "id of the store (tributary company list)")
	cmd.Flags().StringVar(&m.company, "company", "", "companyId of either of the store's companies, where --store is not given")
}

func (m *membershipFlags) find(ctx context.Context, db stores) (storeID string, err error) {
	if !slices.Contains(account.Roles, m.role) {
		return "", misuse(fmt.Errorf("--role %q is none of %s", m.role, strings.Join(account.Roles, ", ")))
	}
	if m.store == "" && m.company == "" {
		return "", misuse(errors.New("give --store or --company"))
	}
	if m.store == "" { // --store first: the variable of --company may be set for other commands
		company, err := findCompany(ctx, db, m.company)
		return company.StoreID, err
	}
	companies, err := db.Companies(ctx, mostCompanies)
	if err != nil {
		return "", err
	}
	for _, c := range companies {
		if c.StoreID == m.store {
			return m.store, nil
		}
	}
	return "", fmt.Errorf("no such store: %s; `tributary company list` shows those there are", m.store)
}

// findWith returns the store, and the person with an e-mail.
func (m *membershipFlags) findWith(ctx context.Context, db stores, email string) (storeID string, person account.Person, err error) {
	if storeID, err = m.find(ctx, db); err == nil {
		person, err = findPerson(ctx, db, email)
	}
	return storeID, person, err
}

// passwordFlag is a password from a file, standard input or the environment. It
// is never on the command line, which process lists show.
type passwordFlag struct{ file string }

func (p *passwordFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.file, "password-file", "",
		`file whose first line is the password, "-" for standard input, or `+
			`give it in $`+environmentName("password")+" (default one is made and shown once)")
}

// read returns the password: the first line, with its spaces.
func (p *passwordFlag) read(cmd *cobra.Command) (text string, generated bool, err error) {
	switch p.file {
	case "":
		if text := os.Getenv(environmentName("password")); text != "" {
			return text, false, nil
		}
		return rand.Text()[:20], true, nil // 100 random bits
	case "-":
		text, err = askPassword(cmd)
	default:
		var file *os.File
		if file, err = os.Open(p.file); err == nil {
			defer file.Close()
			text, err = firstLine(file)
		}
	}
	if err == nil && text == "" {
		err = errors.New("its first line is empty")
	}
	if err != nil {
		return "", false, fmt.Errorf("--password-file %s: %w", p.file, err)
	}
	return text, false, nil
}

// askPassword reads standard input. On a terminal, what is typed is not shown.
func askPassword(cmd *cobra.Command) (string, error) {
	in := cmd.InOrStdin()
	if file, ok := in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		fmt.Fprint(cmd.ErrOrStderr(), "Password: ")
		text, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(cmd.ErrOrStderr())
		return string(text), err
	}
	return firstLine(in)
}

func firstLine(in io.Reader) (string, error) {
	// One byte more than the longest password, and the line's end: a longer one is refused, not cut.
	line, err := bufio.NewReader(io.LimitReader(in, login.MaxPasswordBytes+3)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// readAndHash returns the password and its hash.
func (p *passwordFlag) readAndHash(cmd *cobra.Command) (text string, generated bool, hash string, err error) {
	if text, generated, err = p.read(cmd); err != nil {
		return "", false, "", err
	}
	hash, err = hashPassword(text)
	return text, generated, hash, err
}

func hashPassword(text string) (string, error) {
	hash, err := login.HashPassword(text)
	if errors.Is(err, login.ErrPasswordLength) {
		return "", fmt.Errorf("the password must have %d characters or more, and %d bytes at most", login.MinPasswordCharacters,
			login.MaxPasswordBytes)
	}
	return hash, err
}

// showGenerated prints a password that was made here, or object with it. Standard output has nothing else.
func showGenerated(cmd *cobra.Command, report reportFlag, object map[string]any, text string, generated bool) error {
	if generated {
		object["password"] = text
		fmt.Fprintln(report.notes(cmd), "This password is stored hashed and cannot be shown again:")
		fmt.Fprintln(report.text(cmd), text)
	}
	return report.write(cmd, object)
}
