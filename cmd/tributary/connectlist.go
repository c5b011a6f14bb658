package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
)

// shopSentence says what a reason (commerce.Shop…) means, and what mends it.
func shopSentence(reason, detail string) string {
	sentence, known := shopSentences[reason]
	if !known {
		sentence = "The reason is " + printable(reason) + "."
	}
	if detail != "" {
		sentence += " (" + printable(detail) + ")"
	}
	return sentence
}

var shopSentences = map[string]string{
	commerce.ShopRefusedKey:   "The shop refused the credentials: make new ones at the platform, and connect again.",
	commerce.ShopLacksScope:   "The credentials lack a permission: add it at the platform.",
	commerce.ShopNotFound:     "The platform has no such shop: look at its name or number.",
	commerce.ShopSuspended:    "The platform has suspended the shop, or the app in it: see the shop's account there.",
	commerce.ShopLimited:      "The platform asks to wait: it is tried again by itself.",
	commerce.ShopUnavailable:  "The shop's server did not answer, or failed: it is tried again by itself.",
	commerce.ShopUnknownShape: "The answer is not as the platform documents it: report it, with what is in brackets.",
	commerce.ShopOtherShop:    "The credentials are of another shop than this connection's.",
	commerce.ShopCurrency:     "The shop has another currency than the store: a store has one.",
	commerce.ShopAddress:      "The address is none at which a shop may be: it must be https, and public.",
	commerce.ShopUninstalled:  "The app was removed at the platform: connect the shop again.",
	commerce.ShopOrderRefused: "The admin API refused the order: what is in brackets names the field.",
	commerce.ShopNoService:    "No connect service runs: start `tributary connect`.",
	commerce.ShopUnknownWrite: "There was no answer, so it is not known whether the platform has it: look there before you try again.",
	"disconnected":            "It was disconnected here.",
}

// connectionObject is a connection as JSON.
func connectionObject(c commerce.Connection) map[string]any {
	return map[string]any{
		"connection_id": c.ID, "platform": c.Platform, "shop": c.Shop, "shop_name": c.ShopName, "shop_url": c.ShopURL, "currency": c.Currency,
		"state": c.State, "since": moment(c.Since), "reason": c.Reason, "detail": c.Detail, "created_at": moment(c.CreatedAt),
		"commissions_from": moment(c.CommissionsFrom), "poll_seconds": int(c.PollEvery / time.Second), "cursor": moment(c.Cursor),
		"polled_at": moment(c.PolledAt), "last_order_at": moment(c.LastOrderAt), "notice_at": moment(c.NoticeAt), "notices": c.NoticesOn,
		"orders": c.Orders, "test_orders": c.Tests, "set_aside": c.AsideCount, "compared_at": moment(c.Reconciled),
		"backfill": map[string]any{"days": c.Backfill.Days, "done": c.Backfill.Done, "total": c.Backfill.Total, "at": moment(c.Backfill.At),
			"to": moment(c.Backfill.To), "ended_at": moment(c.Backfill.Ended)},
	}
}

var connectionTable = []column[commerce.Connection]{
	{"connection_id", "CONNECTION", func(c *commerce.Connection) any { return c.ID }},
	{"platform", "PLATFORM", func(c *commerce.Connection) any { return c.Platform }},
	{"shop_name", "SHOP", func(c *commerce.Connection) any { return c.ShopName }},
	{"state", "STATE", func(c *commerce.Connection) any { return string(c.State) }},
	{"reason", "REASON", func(c *commerce.Connection) any { return c.Reason }},
	{"orders", "ORDERS", func(c *commerce.Connection) any { return c.Orders }},
	{"set_aside", "SET ASIDE", func(c *commerce.Connection) any { return c.AsideCount }},
	{"polled_at", "READ AT", func(c *commerce.Connection) any { return momentOrNone(c.PolledAt) }},
	{"last_order_at", "LAST ORDER", func(c *commerce.Connection) any { return momentOrNone(c.LastOrderAt) }},
}

func newConnectList() *cobra.Command {
	var how listing
	cmd := companyCommand("list", "List a company's connections to shops", noArguments,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, _ []string) error {
			list, err := db.Connections(ctx, company)
			if err != nil {
				return err
			}
			if how.asJSON {
				objects := []map[string]any{}
				for _, c := range list {
					objects = append(objects, connectionObject(c))
				}
				return writeJSON(cmd.OutOrStdout(), objects)
			}
			return writeList(cmd.OutOrStdout(), how, connectionTable, list)
		})
	cmd.Example = "  tributary connect list --company c_…"
	how.register(cmd)
	return cmd
}

// shownAside is how many orders that are set aside `show` lists.
const shownAside = 50

func newConnectShow() *cobra.Command {
	var report reportFlag
	cmd := companyCommand("show CONNECTION", "Show a connection: its state, its orders set aside, how its days compare", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			c, err := db.Connection(ctx, company, args[0])
			if err != nil {
				return connectionProblem(err, args[0])
			}
			aside, err := db.Aside(ctx, company, c.ID, "", shownAside)
			if err != nil {
				return err
			}
			days, err := db.ConnectionDays(ctx, company, c.ID)
			if err != nil {
				return err
			}
			object := connectionObject(c)
			object["aside"], object["differing_days"] = asideObjects(aside), dayObjects(days)
			writeConnection(report.text(cmd), c, aside, days)
			return report.write(cmd, object)
		})
	cmd.Example = "  tributary connect show abcdefghijklmnopqrstuvwxyz --company c_…"
	report.registerPlain(cmd, "write JSON, for programs")
	return cmd
}

func asideObjects(list []commerce.AsideOrder) []map[string]any {
	objects := []map[string]any{}
	for _, o := range list {
		objects = append(objects, map[string]any{"order_id": o.OrderID, "reason": o.Reason, "detail": o.Detail, "fields": o.Fields,
			"at": moment(o.At), "attempts": o.Attempts})
	}
	return objects
}

// differs reports whether a day is not the same on both sides.
func differs(d commerce.ConnectionDay) bool { return d.Missing+d.Differ+d.OursAlone > 0 }

func dayObjects(days []commerce.ConnectionDay) []map[string]any {
	objects := []map[string]any{}
	for _, d := range days {
		if differs(d) {
			objects = append(objects, map[string]any{"day": d.Day, "shop_orders": d.ShopOrders, "orders": d.Orders, "shop_total": d.ShopTotal,
				"total": d.Total, "missing": d.Missing, "differ": d.Differ, "ours_alone": d.OursAlone, "compared_at": moment(d.ComparedAt)})
		}
	}
	return objects
}

func writeConnection(out io.Writer, c commerce.Connection, aside []commerce.AsideOrder, days []commerce.ConnectionDay) {
	fmt.Fprintf(out, "%s  %s  %s (%s) %s\n", c.ID, c.Platform, printable(c.ShopName), printable(c.Shop), printable(c.ShopURL))
	fmt.Fprintf(out, "state        %s since %s\n", c.State, moment(c.Since))
	if c.Reason != "" {
		fmt.Fprintf(out, "reason       %s\n", shopSentence(c.Reason, c.Detail))
	}
	fmt.Fprintf(out, "orders       %d sent, last at %s; %d test orders; %d set aside\n", c.Orders, moment(c.LastOrderAt), c.Tests,
		c.AsideCount)
	fmt.Fprintf(out, "read         %s, every %v; the shop's changes up to %s\n", moment(c.PolledAt), c.PollEvery, moment(c.Cursor))
	notices := "not asked for"
	if c.NoticesOn {
		notices = "on, last at " + moment(c.NoticeAt)
	}
	fmt.Fprintf(out, "notices      %s\n", notices)
	fmt.Fprintf(out, "commissions  from %s\n", moment(c.CommissionsFrom))
	if c.Backfill.Days > 0 {
		of := ""
		if c.Backfill.Total > 0 {
			of = fmt.Sprintf(" of %d", c.Backfill.Total)
		}
		ended := "it goes on"
		if !c.Backfill.Ended.IsZero() {
			ended = "ended " + moment(c.Backfill.Ended)
		}
		fmt.Fprintf(out, "backfill     %d days, %d%s orders read, up to %s; %s\n", c.Backfill.Days, c.Backfill.Done, of,
			moment(c.Backfill.At), ended)
	}
	fmt.Fprintf(out, "compared     %s\n", moment(c.Reconciled))
	for _, d := range days {
		if differs(d) {
			fmt.Fprintf(out, "  %s: the shop %d orders, %s; here %d, %s; %d missing, %d differ, %d here alone\n", d.Day, d.ShopOrders,
				d.ShopTotal, d.Orders, d.Total, d.Missing, d.Differ, d.OursAlone)
		}
	}
	for _, o := range aside {
		fmt.Fprintf(out, "  order %s is set aside: %s\n", printable(o.OrderID), shopSentence(o.Reason, o.Detail))
	}
}

func newConnectTest() *cobra.Command {
	var report reportFlag
	cmd := companyCommand("test CONNECTION", "Ask a connection's shop once, and show what it has", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			if _, err := runningOffer(ctx, db); err != nil {
				return err
			}
			preview, err := testConnection(ctx, db, commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}, args[0])
			if err != nil {
				return err
			}
			writePreview(report.text(cmd), preview)
			return report.write(cmd, preview)
		})
	cmd.Example = "  tributary connect test abcdefghijklmnopqrstuvwxyz --company c_…"
	report.registerPlain(cmd, "write JSON, for programs")
	return cmd
}

func newConnectStart() *cobra.Command {
	var days int
	var from string
	var done connectionDone
	cmd := companyCommand("start CONNECTION", "Take the orders of a shop that was tested", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			offer, err := runningOffer(ctx, db)
			if err != nil {
				return err
			}
			err = startConnection(ctx, db, commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}, offer, args[0], days, from)
			return done.told(ctx, cmd, db, company, args[0], "has begun", err)
		})
	cmd.Example = "  tributary connect start abcdefghijklmnopqrstuvwxyz --company c_… --days 30"
	backfillVar(cmd, &days)
	cmd.Flags().StringVar(&from, "commissions-from", "", firstDayUsage)
	done.register(cmd)
	return cmd
}

// connectionReport is what a command that does one thing to a connection writes with --json; `connect show` has the rest.
type connectionReport struct {
	ID    string                   `json:"connection_id"`
	State commerce.ConnectionState `json:"state"`
}

// connectionDone is --json of such a command.
type connectionDone struct{ reportFlag }

func (d *connectionDone) register(cmd *cobra.Command) {
	d.reportFlag.register(cmd, connectionReport{"abcdefghijklmnopqrstuvwxyz", commerce.ConnectionPaused})
}

// told says what was done with a connection.
func (d *connectionDone) told(ctx context.Context, cmd *cobra.Command, db stores, company, id, what string, err error) error {
	if err != nil {
		return connectionProblem(err, id)
	}
	fmt.Fprintf(d.text(cmd), "Connection %s %s.\n", id, what)
	c, err := db.Connection(ctx, company, id)
	if err != nil {
		return connectionProblem(err, id)
	}
	return d.write(cmd, connectionReport{c.ID, c.State})
}

func newConnectBackfill() *cobra.Command {
	var days int
	var done connectionDone
	cmd := companyCommand("backfill CONNECTION", "Read a shop's earlier orders again", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			if days < 1 || days > commerce.MaxBackfillDays {
				return misuse(fmt.Errorf("--days must be between 1 and %d", commerce.MaxBackfillDays))
			}
			question, err := json.Marshal(commerce.BackfillAsked{Days: days})
			if err != nil {
				return err
			}
			_, err = db.AddConnectTask(ctx, commerce.Author{CompanyID: company, Actor: actor, At: time.Now()},
				commerce.ConnectTask{ConnectionID: args[0], Kind: commerce.TaskBackfill, Question: question})
			return done.told(ctx, cmd, db, company, args[0], fmt.Sprintf("reads the orders of the last %d days again", days), err)
		})
	cmd.Example = "  tributary connect backfill abcdefghijklmnopqrstuvwxyz --company c_… --days 90"
	backfillVar(cmd, &days)
	done.register(cmd)
	return cmd
}

// connectionCommand returns a command that does one thing to a connection.
func connectionCommand(use, short, what string,
	do func(ctx context.Context, db stores, author commerce.Author, id string) error) *cobra.Command {
	var done connectionDone
	cmd := companyCommand(use+" CONNECTION", short, oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			err := do(ctx, db, commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}, args[0])
			return done.told(ctx, cmd, db, company, args[0], what, err)
		})
	cmd.Example = "  tributary connect " + use + " abcdefghijklmnopqrstuvwxyz --company c_…"
	done.register(cmd)
	return cmd
}

func newConnectPause() *cobra.Command {
	return connectionCommand("pause", "Stop reading a shop, until it is resumed", "is paused",
		func(ctx context.Context, db stores, author commerce.Author, id string) error {
			return db.PauseConnection(ctx, author, id)
		})
}

func newConnectResume() *cobra.Command {
	return connectionCommand("resume", "Go on with a connection that is paused or fails", "goes on",
		func(ctx context.Context, db stores, author commerce.Author, id string) error {
			return db.ResumeConnection(ctx, author, id)
		})
}

func newConnectRemove() *cobra.Command {
	return connectionCommand("remove", "Disconnect a shop: its orders stay, its API key is revoked", "has ended; the orders that came stay",
		func(ctx context.Context, db stores, author commerce.Author, id string) error {
			return db.EndConnection(ctx, author, id)
		})
}

var couponTable = []column[commerce.ShopCoupon]{
	{"code", "CODE", func(c *commerce.ShopCoupon) any { return c.Code }},
	{"influencer", "INFLUENCER", func(c *commerce.ShopCoupon) any { return orNone(c.InfluencerOur) }},
	{"at_the_shop", "AT THE SHOP", func(c *commerce.ShopCoupon) any { return c.OnTheirSide }},
	{"enabled", "ENABLED", func(c *commerce.ShopCoupon) any { return c.Enabled }},
	{"percent", "PERCENT", func(c *commerce.ShopCoupon) any { return orNone(c.Percent) }},
	{"amount", "AMOUNT", func(c *commerce.ShopCoupon) any { return orNone(c.Amount) }},
	{"difference", "DIFFERENCE", func(c *commerce.ShopCoupon) any { return orNone(c.Difference) }},
	{"checked_at", "COMPARED", func(c *commerce.ShopCoupon) any { return momentOrNone(c.CheckedAt) }},
}

func newConnectCoupons() *cobra.Command {
	var how listing
	cmd := companyCommand("coupons CONNECTION", "List how influencers' coupons compare with the shop's", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			if _, err := db.Connection(ctx, company, args[0]); err != nil {
				return connectionProblem(err, args[0])
			}
			list, err := db.ConnectionCoupons(ctx, company, args[0])
			if err != nil {
				return err
			}
			return writeList(cmd.OutOrStdout(), how, couponTable, list)
		})
	cmd.Example = "  tributary connect coupons abcdefghijklmnopqrstuvwxyz --company c_…"
	how.register(cmd)
	return cmd
}
