package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Bounds of waiting for the connect service.
const (
	taskWait    = commerce.ConnectTaskLife + time.Minute
	taskAsk     = 300 * time.Millisecond
	serviceGone = time.Minute // a service that did not say for so long that it runs does not
)

const firstDayUsage = "first day, YYYY-MM-DD, whose orders earn commissions (default today, or that of an earlier connection of the shop)"

func newConnectAdd() *cobra.Command {
	var credentials, from string
	var days int
	var draft bool
	var report reportFlag
	cmd := companyCommand("add PLATFORM", "Connect a shop: test its credentials, and take its orders", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			if _, err := firstDay(ctx, db, company, from, commerce.Connection{}); err != nil {
				return err // before anything is stored
			}
			offer, err := runningOffer(ctx, db)
			if err != nil {
				return err
			}
			text, err := readSecret(cmd.InOrStdin(), "credentials", credentials, commerce.MaxCredentialBytes)
			if err != nil {
				return err
			}
			id, err := newConnectionID()
			if err != nil {
				return err
			}
			sealed, err := sealCredentials(offer, args[0], company, id, text)
			if err != nil {
				return err
			}
			author := commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}
			if err := db.AddConnection(ctx, author, commerce.NewConnection{ID: id, Platform: args[0], Sealed: sealed,
				KeyID: offer.KeyID}); err != nil {
				return err
			}
			preview, err := testConnection(ctx, db, author, id)
			if err != nil {
				// Nothing is half connected.
				return errors.Join(err, db.EndConnection(context.WithoutCancel(ctx), author, id))
			}
			if !draft {
				if err := startConnection(ctx, db, author, offer, id, days, from); err != nil {
					return errors.Join(err, db.EndConnection(context.WithoutCancel(ctx), author, id))
				}
			}
			writePreview(report.text(cmd), preview)
			told := "Connection %s has begun: `tributary connect show %s --company %s` tells how far it is.\n"
			if draft {
				told = "Connection %s brings nothing yet: `tributary connect start %s --company %s` begins.\n"
			}
			fmt.Fprintf(report.text(cmd), told, id, id, company)
			return report.write(cmd, map[string]any{"connection_id": id, "preview": preview, "started": !draft})
		})
	cmd.Long = `Connect a shop. Its credentials are tested by one request; then orders of the last --days days come, and new
ones by themselves. Orders created before --commissions-from earn nothing: they were paid by hand.
The credentials are a JSON object, such as {"token": "…"}, in a file or from the standard input. They are sealed to the
connect service, and nobody can read them again. A platform whose app the merchant installs is connected on the dashboard.`
	cmd.Example = `  tributary connect add woocommerce --company c_… --credentials shop.json`
	flags := cmd.Flags()
	flags.StringVar(&credentials, "credentials", "", "file with the credentials, as JSON; - is the standard input")
	backfillVar(cmd, &days)
	flags.StringVar(&from, "commissions-from", "", firstDayUsage)
	flags.BoolVar(&draft, "draft", false, "test only: `tributary connect start` begins")
	report.registerPlain(cmd, "write JSON, for programs")
	needs(cmd, "credentials")
	return cmd
}

func backfillVar(cmd *cobra.Command, days *int) {
	daysVar(cmd.Flags(), days, "days", commerce.DefaultBackfill, fmt.Sprintf("days of earlier orders that are read, at most %d",
		commerce.MaxBackfillDays))
}

// sealCredentials checks credentials as they were given, and seals them to the connect service for one connection.
func sealCredentials(offer commerce.ConnectOffer, platform, company, id string, text []byte) ([]byte, error) {
	plain, err := checkedCredentials(offer, platform, text)
	if err != nil {
		return nil, err
	}
	return account.Seal(offer.PublicKey, offer.KeyID,
		account.SealedFor{CompanyID: company, ConnectionID: id, Purpose: account.SealCredentials}, plain)
}

func newConnectCredentials() *cobra.Command {
	var credentials string
	var report reportFlag
	cmd := companyCommand("credentials CONNECTION", "Give a connection other credentials, and test them", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			offer, err := runningOffer(ctx, db)
			if err != nil {
				return err
			}
			c, err := db.Connection(ctx, company, args[0])
			if err != nil {
				return connectionProblem(err, args[0])
			}
			text, err := readSecret(cmd.InOrStdin(), "credentials", credentials, commerce.MaxCredentialBytes)
			if err != nil {
				return err
			}
			sealed, err := sealCredentials(offer, c.Platform, company, c.ID, text)
			if err != nil {
				return err
			}
			author := commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}
			if err := db.ReplaceCredentials(ctx, author, c.ID, sealed, offer.KeyID); err != nil {
				return connectionProblem(err, c.ID)
			}
			preview, err := testConnection(ctx, db, author, c.ID)
			if err != nil {
				return err
			}
			writePreview(report.text(cmd), preview)
			return report.write(cmd, preview)
		})
	cmd.Long = `Store other credentials of a connection in the place of those that it has: the shop's keys were changed, or revoked.
They are tested at once; a connection that fails goes on. They are given as to ` + "`tributary connect add`" + `.`
	cmd.Example = `  tributary connect credentials abcdefghijklmnopqrstuvwxyz --company c_… --credentials shop.json`
	cmd.Flags().StringVar(&credentials, "credentials", "", "file with the credentials, as JSON; - is the standard input")
	report.registerPlain(cmd, "write JSON, for programs")
	needs(cmd, "credentials")
	return cmd
}

// firstDay is the first moment of a day in the company's time zone; where none is given, that which is proposed for a connection.
func firstDay(ctx context.Context, db stores, companyID, day string, c commerce.Connection) (time.Time, error) {
	company, err := db.Company(ctx, companyID)
	if err != nil {
		return time.Time{}, err
	}
	zone, err := time.LoadLocation(company.Timezone)
	if err != nil {
		return time.Time{}, err
	}
	if day == "" {
		list, err := db.Connections(ctx, companyID)
		if err != nil {
			return time.Time{}, err
		}
		now := time.Now().In(zone)
		today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, zone)
		return commerce.CommissionsFrom(list, c, today), nil
	}
	at, err := time.ParseInLocation(time.DateOnly, day, zone)
	if err != nil {
		return time.Time{}, misuse(fmt.Errorf("--commissions-from %q is no day: YYYY-MM-DD", day))
	}
	return at, nil
}

// runningOffer is what a connect service offers that runs now.
func runningOffer(ctx context.Context, db stores) (commerce.ConnectOffer, error) {
	offer, err := db.ConnectOffer(ctx)
	if err != nil || time.Since(offer.SeenAt) <= serviceGone {
		return offer, err
	}
	last := ""
	if !offer.SeenAt.IsZero() {
		last = "it last ran at " + moment(offer.SeenAt)
	}
	return offer, errors.New(shopSentence(commerce.ShopNoService, last))
}

// readSecret reads the file that a flag names, of at most most bytes; - is the standard input.
func readSecret(stdin io.Reader, flag, path string, most int64) ([]byte, error) {
	in := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(text)) > most {
		err = misuse(fmt.Errorf("--%s has more than %d bytes", flag, most))
	}
	return text, err
}

// checkedCredentials are credentials as they are sealed. An error names the field, and no value.
func checkedCredentials(offer commerce.ConnectOffer, name string, text []byte) ([]byte, error) {
	var names []string
	for _, p := range offer.Platforms {
		names = append(names, p.Name)
	}
	n := slices.Index(names, name)
	if n < 0 {
		return nil, misuse(fmt.Errorf("there is no platform %q: the connect service offers %s", name, strings.Join(names, ", ")))
	}
	fields := offer.Platforms[n].Fields
	if len(fields) == 0 {
		return nil, misuse(fmt.Errorf("a shop at %s is connected by its merchant, on the dashboard: they allow the app there", name))
	}
	given := map[string]string{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&given); err != nil {
		return nil, misuse(errors.New("--credentials is no JSON object of texts, such as {\"token\": \"…\"}"))
	}
	var wrong problems
	for _, f := range fields {
		value := given[f.Name]
		delete(given, f.Name)
		if fits, err := regexp.MatchString("^(?:"+f.Pattern+")$", value); err != nil || !fits {
			wrong.add(fmt.Errorf("--credentials: %s is missing, or has not the form of one: %s", f.Name, f.Label["en"]))
		}
	}
	for other := range given {
		wrong.add(fmt.Errorf("--credentials: %s knows no field %q", name, printable(other)))
	}
	if err := wrong.err(); err != nil {
		return nil, err
	}
	var all map[string]string
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

func newConnectionID() (string, error) {
	var b [16]byte
	_, err := rand.Read(b[:])
	return commerce.LowerBase32.EncodeToString(b[:]), err
}

// testConnection has the service test a connection, and waits for what it found.
func testConnection(ctx context.Context, db stores, author commerce.Author, id string) (preview commerce.ShopPreview, err error) {
	answer, err := doTask(ctx, db, author, commerce.ConnectTask{ConnectionID: id, Kind: commerce.TaskTest})
	if err == nil {
		err = json.Unmarshal(answer, &preview)
	}
	return preview, err
}

// doTask gives the service a task and waits for its answer, for at most taskWait.
func doTask(ctx context.Context, db stores, author commerce.Author, task commerce.ConnectTask) (json.RawMessage, error) {
	id, err := db.AddConnectTask(ctx, author, task)
	if err != nil {
		return nil, connectionProblem(err, task.ConnectionID)
	}
	ctx, cancel := context.WithTimeout(ctx, taskWait)
	defer cancel()
	for {
		done, err := db.ConnectTask(ctx, author.CompanyID, id)
		switch {
		case err != nil:
			return nil, err
		case done.Reason != "":
			return nil, errors.New(shopSentence(done.Reason, done.Detail))
		case !done.DoneAt.IsZero():
			return done.Answer, nil
		}
		if !background.Sleep(ctx, taskAsk) {
			return nil, fmt.Errorf("no answer for %v: is the connect service well? `tributary connect show` tells more", taskWait)
		}
	}
}

// startConnection connects a shop that was tested. day is its first day of commissions; empty: that which is proposed.
func startConnection(ctx context.Context, db stores, author commerce.Author, offer commerce.ConnectOffer, id string, days int,
	day string) error {
	c, err := db.Connection(ctx, author.CompanyID, id)
	if err != nil {
		return connectionProblem(err, id)
	}
	from, err := firstDay(ctx, db, author.CompanyID, day, c)
	if err != nil {
		return err
	}
	return connectionProblem(db.StartConnection(ctx, author, commerce.ConnectionStart{ID: id, Days: days, CommissionsFrom: from,
		KeyID: offer.KeyID,
		SealKey: func(apiKey string) ([]byte, error) {
			return account.Seal(offer.PublicKey, offer.KeyID,
				account.SealedFor{CompanyID: author.CompanyID, ConnectionID: id, Purpose: account.SealAPIKey}, []byte(apiKey))
		}}), id)
}

// connectionProblem is an error of a connection, as people are told it.
func connectionProblem(err error, id string) error {
	switch {
	case errors.Is(err, commerce.ErrNotFound):
		return fmt.Errorf("no such connection: %s; `tributary connect list` shows those there are", printable(id))
	case errors.Is(err, commerce.ErrConnectionState):
		return errors.New("this cannot be done in the connection's present state: `tributary connect show` tells it")
	case errors.Is(err, commerce.ErrShopConnected):
		return errors.New("this shop is connected already: `tributary connect list` shows it")
	case errors.Is(err, commerce.ErrTooManyConnections):
		return fmt.Errorf("a company has at most %d connections: remove one", commerce.MaxConnections)
	case errors.Is(err, commerce.ErrTooManyTasks):
		return errors.New("too many tasks wait already: look again in some minutes")
	}
	return err
}

func writePreview(out io.Writer, p commerce.ShopPreview) {
	more := ""
	if p.More {
		more = "more than "
	}
	fmt.Fprintf(out, "%s (%s), %s\n%s%d orders in the last 30 days, %s %s paid\n", printable(p.Name), printable(p.Shop), printable(p.URL),
		more, p.Orders, printable(p.Currency), printable(p.Total))
	for _, c := range p.Codes {
		known := "no influencer has it"
		if c.Known {
			known = "known"
		}
		fmt.Fprintf(out, "  coupon %s: %d orders, %s\n", printable(c.Code), c.Orders, known)
	}
	for _, lack := range p.Lacks {
		fmt.Fprintf(out, "  missing: %s\n", printable(lack))
	}
}
